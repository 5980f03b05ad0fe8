import { AwsError } from '../../../lambdas/aws/errors.ts';
import type { JsonObjects } from '../../../lambdas/aws/json-objects.ts';
import { parseFleetIndex } from '../../../lambdas/contracts/fleet-index.ts';
import {
  MAX_WINDOWS,
  parseRecoveryWindows,
  type RecoveryWindow,
  type StoredWindow,
} from '../../../lambdas/contracts/recovery-window.ts';
import { parseRegistry } from '../../../lambdas/contracts/registry.ts';
import { didYouMean } from '../../../lambdas/did-you-mean.ts';
import { STATE_KEYS } from '../../../lambdas/fleet/state-keys.ts';
import { printable } from '../../../lambdas/printable.ts';
import { RECOVERY_LEASE } from '../../../lambdas/recovery/reservations.ts';
import { DAY_MS } from '../../../lambdas/time.ts';
import { counted, date } from '../../../lambdas/words.ts';
import { awsErrorWords } from '../../doctor/at-the-keyboard.ts';
import { EXIT, UsageError } from '../../exit-codes.ts';
import { type Io, print, printJson } from '../../io.ts';
import { quote } from '../../target.ts';
import { type Lines, table } from '../../terminal/draw.ts';
import { faint, warn } from '../../terminal/paint.ts';
import { ago, span } from '../../terminal/words.ts';
import { type ChangedWindows, stateOf, withClosed, withOpened } from './stored.ts';
import { lengthOf } from './window.ts';

/** The state bucket of a deployed certmarshal, and our identity. */
export interface RecoveryBucket {
  readonly name: string;
  readonly objects: JsonObjects;
  /** ARN, from STS. @throws AwsError */
  readonly caller: (signal: AbortSignal) => Promise<string>;
}

export interface BucketCommandOptions {
  readonly output: 'table' | 'json';
  readonly program: string;
  /** Writes; without it, only shows what would be written. */
  readonly yes?: boolean | undefined;
}

/** Two concurrent users conflict once. */
const TRIES = 4;
/** Dispatch runs every minute, and an order waits no longer than another minute. */
const BY_THEN = 'within 2 minutes';

/**
 * Opens a window of a cluster in a deployed certmarshal: its dispatch reads the window, its sweep approves. The fleet
 * must have the cluster, and no other window of it may be open. Without `yes`, only shows the window.
 *
 * @param windowBy makes the window, given the ARN of the caller
 * @returns the exit status
 * @throws UsageError
 */
export function recoveryOpenInBucket(
  bucket: RecoveryBucket,
  windowBy: (by: string, now: number) => RecoveryWindow,
  { output, program, yes = false }: BucketCommandOptions,
  signal: AbortSignal,
  io: Io,
): Promise<number> {
  const { clock } = io;
  return told(io, async () => {
    const [by, state] = await Promise.all([bucket.caller(signal), readFleet(bucket, clock(), signal)]);
    const { cluster } = windowBy(by, clock());
    const doubt = requireSweepable(cluster, state, program);
    const { window } = await change(bucket, yes, signal, (windows) => {
      const now = clock();
      const changed = withOpened(windows, windowBy(by, now), now);
      if (changed === 'full')
        throw new UsageError(
          `${MAX_WINDOWS} recovery windows are open in ${place(bucket)}: close those that are not needed.`,
        );
      if ('open' in changed) throw new UsageError(alreadyOpen(changed.open, bucket, program, now));
      return changed;
    });
    if (doubt !== undefined) io.stderr.write(`! ${doubt}\n`);
    if (output === 'json')
      printJson(io, { version: 1, kind: yes ? 'opened' : 'would-open', bucket: bucket.name, window });
    else io.stdout.write(yes ? opened(window, bucket, program) : wouldBeOpened(window));
    return yes ? EXIT.done : unwritten(io, '--yes opens the window');
  });
}

/**
 * Closes the window of a cluster in a deployed certmarshal before its end. Without `yes`, only shows the window.
 *
 * @returns the exit status
 * @throws UsageError if none is open
 */
export function recoveryCloseInBucket(
  bucket: RecoveryBucket,
  cluster: string,
  { output, yes = false }: BucketCommandOptions,
  signal: AbortSignal,
  io: Io,
): Promise<number> {
  return told(io, async () => {
    const by = await bucket.caller(signal);
    const { window } = await change(bucket, yes, signal, (windows) => {
      const now = io.clock();
      const changed = withClosed(windows, cluster, now, by);
      if (changed !== undefined) return changed;
      const open = windows.filter((each) => stateOf(each, now) === 'open').map((each) => each.cluster);
      throw new UsageError(
        `No recovery window of ${printable(cluster, 310)} is open in ${place(bucket)}. ${open.length === 0 ? 'None is open at all.' : `Open are those of: ${printable(open.join(', '), 1_000)}.`}`,
      );
    });
    if (output === 'json')
      printJson(io, { version: 1, kind: yes ? 'closed' : 'would-close', bucket: bucket.name, window });
    else
      io.stdout.write(
        `Recovery window ${window.id} of ${window.cluster} ${yes ? 'is' : 'would be'} closed, by ${printable(by, 2_048)}. ${yes ? `No new sweep uses it; one that runs ends ${BY_THEN}.` : `It is open until ${date(Date.parse(window.until))}.`}\n`,
      );
    return yes ? EXIT.done : unwritten(io, '--yes closes it');
  });
}

/** Shows open windows, and those that ended within the last day. @returns the exit status */
export function recoveryListInBucket(
  bucket: RecoveryBucket,
  { output }: BucketCommandOptions,
  signal: AbortSignal,
  io: Io,
): Promise<number> {
  return told(io, async () => {
    const { windows } = await readWindows(bucket, signal);
    const now = io.clock();
    const shown = windows
      .map((window) => ({ state: stateOf(window, now), ...window }))
      .filter(({ until }) => now - Date.parse(until) < DAY_MS)
      .toSorted(
        (a, b) =>
          Number(b.state === 'open') - Number(a.state === 'open') || Date.parse(b.openedAt) - Date.parse(a.openedAt),
      );
    if (output === 'json') printJson(io, { version: 1, kind: 'windows', bucket: bucket.name, windows: shown });
    else print(io, windowLines(shown, bucket, now));
    return EXIT.done;
  });
}

type ShownWindow = StoredWindow & { readonly state: ReturnType<typeof stateOf> };

function windowLines(windows: readonly ShownWindow[], bucket: RecoveryBucket, now: number): Lines {
  const open = windows.filter(({ state }) => state === 'open').length;
  return [
    `${counted(open, 'recovery window')} ${open === 1 ? 'is' : 'are'} open in ${place(bucket)}.`,
    windows.length > 0 && [
      '',
      table(
        [
          ['', ...['CLUSTER', 'STATE', 'NODES', 'OPENED BY'].map(faint)],
          ...windows.map((window) => [
            window.state === 'open' ? warn('!') : ' ',
            printable(window.cluster, 310),
            stateWords(window, now),
            window.nodes.map((node) => printable(node, 253)).join(', '),
            printable(`${window.by}, at ${window.openedAt}`, 2_100),
          ]),
        ],
        100,
      ),
    ],
  ];
}

function stateWords({ state, until, closed }: ShownWindow, now: number): string {
  switch (state) {
    case 'open':
      return `open for ${span(Date.parse(until) - now)} more`;
    case 'opens':
      return 'opens later';
    case 'closed':
      return `closed ${ago((now - Date.parse(closed?.at ?? until)) / 1000)}`;
    case 'ended':
      return `ended ${ago((now - Date.parse(until)) / 1000)}`;
  }
}

function place({ name }: RecoveryBucket): string {
  return `s3://${printable(name, 63)}`;
}

function alreadyOpen(
  { id, cluster, until, by }: StoredWindow,
  bucket: RecoveryBucket,
  program: string,
  now: number,
): string {
  return `Recovery window ${id} of ${cluster} is open for ${span(Date.parse(until) - now)} more, until ${date(Date.parse(until))}, by ${printable(by, 2_048)}. To open another one before that: ${closeCommand(bucket, cluster, program)}`;
}

function closeCommand({ name }: RecoveryBucket, cluster: string, program: string): string {
  return `${program} recovery close --bucket ${quote(name)} --cluster ${quote(cluster)} --yes`;
}

function wouldBeOpened(window: RecoveryWindow): string {
  const { cluster, nodes, approvals, by } = window;
  return `A recovery window of ${cluster} would be open for ${lengthOf(window)}, by ${printable(by, 2_048)}, for client certificates of ${nodes.join(', ')}: ${approvals} each.\n`;
}

function unwritten({ stderr }: Io, how: string): number {
  stderr.write(`Nothing was written: ${how}.\n`);
  return EXIT.incomplete;
}

function opened(window: RecoveryWindow, bucket: RecoveryBucket, program: string): string {
  const { id, cluster, nodes, approvals, by } = window;
  const { namespace, name } = RECOVERY_LEASE;
  return `Recovery window ${id} of ${cluster} is open for ${lengthOf(window)}, by ${printable(by, 2_048)}.
The deployed sweep begins ${BY_THEN}, looks every minute and ends automatically. It approves client certificates of kubelets for ${nodes.join(', ')}: ${approvals} each, and only where a Machine or an EC2 instance of the control plane vouches for the Node and its certificate has expired. In the cluster, the user it connects as needs: ${program} rbac --recovery --service-account kube-system/certmarshal | kubectl apply -f -

  What it approved kubectl -n ${namespace} get lease ${name} -o yaml
  What it decided  its lines in the journal: docs/journal.md
  Close it now     ${closeCommand(bucket, cluster, program)}
`;
}

interface FleetKnown {
  readonly registry: ReturnType<typeof parseRegistry>;
  readonly index: ReturnType<typeof parseFleetIndex>;
}

async function readFleet({ objects }: RecoveryBucket, now: number, signal: AbortSignal): Promise<FleetKnown> {
  const [registry, index] = await Promise.all([
    objects.read(STATE_KEYS.registry, signal),
    objects.read(STATE_KEYS.index, signal),
  ]);
  return {
    registry: registry && parseRegistry(registry.value, now),
    index: index && parseFleetIndex(index.value, now),
  };
}

/**
 * A window of a cluster that is not swept would only look open.
 *
 * @returns why the sweep may still do nothing
 * @throws UsageError
 */
function requireSweepable(cluster: string, { registry, index }: FleetKnown, program: string): string | undefined {
  if (registry === undefined)
    throw new UsageError(
      `There is no ${STATE_KEYS.registry} of certmarshal there. Name the state bucket: the output FleetBucketName of the hub stack.`,
    );
  const known = Object.hasOwn(registry.clusters, cluster) ? registry.clusters[cluster] : undefined;
  if (known === undefined) {
    const guess = didYouMean(cluster, Object.keys(registry.clusters));
    throw new UsageError(
      `The fleet has no cluster ${printable(cluster, 310)}${guess === undefined ? '' : `; did you mean ${printable(guess, 310)}`}? --cluster takes its id, as ${program} report shows it.`,
    );
  }
  if (known.target === undefined)
    throw new UsageError(
      `Cluster ${printable(cluster, 310)} is not swept: ${printable(known.problem?.message ?? 'how to reach it is not known', 600)}. ${printable(known.problem?.remedy ?? '', 600)}`,
    );
  if (known.target.access.kind === 'eks')
    throw new UsageError('This is an EKS cluster: AWS runs its control plane, so there is nothing to recover.');
  const swept = index !== undefined && Object.hasOwn(index.clusters, cluster) ? index.clusters[cluster] : undefined;
  if (swept === undefined) return 'It was not swept yet: it is not known whether certmarshal reaches it.';
  if (swept.readable) return undefined;
  const [finding] = swept.findings;
  return `The last sweep could not read it${finding === undefined ? '' : `: ${printable(`${finding.object}: ${finding.message}`, 600)}`}. Where only the certificate of its API server has expired, recovery in fleet.yaml lets certmarshal in.`;
}

interface ReadWindows {
  readonly windows: readonly StoredWindow[];
  readonly etag: string | undefined;
}

async function readWindows(bucket: RecoveryBucket, signal: AbortSignal): Promise<ReadWindows> {
  const found = await bucket.objects.read(STATE_KEYS.recovery, signal);
  if (found === undefined) return { windows: [], etag: undefined };
  const windows = parseRecoveryWindows(found.value);
  if (windows === undefined) throw new DamagedError(bucket);
  return { windows, etag: found.etag };
}

/** The damaged object is evidence, so it is not overwritten: a person must inspect it first. */
class DamagedError extends Error {
  override readonly name = 'DamagedError';

  constructor({ name }: RecoveryBucket) {
    const object = `s3://${name}/${STATE_KEYS.recovery}`;
    super(
      `${object} is not what certmarshal wrote there: none of its windows is open. Find out who else writes to the bucket; then remove it: aws s3 rm ${object}`,
    );
  }
}

/** @throws AwsError, DamagedError, and the errors of `decide` */
async function change(
  bucket: RecoveryBucket,
  yes: boolean,
  signal: AbortSignal,
  decide: (windows: readonly StoredWindow[]) => ChangedWindows,
): Promise<ChangedWindows> {
  for (let tries = 1; ; tries += 1) {
    const { windows, etag } = await readWindows(bucket, signal);
    const changed = decide(windows);
    if (!yes) return changed;
    try {
      await bucket.objects.write(STATE_KEYS.recovery, { version: 1, windows: changed.windows }, etag, signal);
      return changed;
    } catch (error) {
      if (!(error instanceof AwsError) || error.kind !== 'conflict' || tries >= TRIES) throw error;
    }
  }
}

/** An AWS error becomes one sentence on stderr. @returns the exit status */
async function told({ stderr }: Io, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    stderr.write(`${error instanceof DamagedError ? error.message : awsErrorWords(error)}\n`);
    return EXIT.incomplete;
  }
}
