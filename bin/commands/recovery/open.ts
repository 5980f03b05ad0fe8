import { pasteable } from '../../../lambdas/command.ts';
import type { RecoveryWindow } from '../../../lambdas/contracts/recovery-window.ts';
import { isOfExpiredEndpoint } from '../../../lambdas/expired-endpoint.ts';
import { recoveryEntries } from '../../../lambdas/journal/recovery-entry.ts';
import { KubernetesError, type KubernetesErrorKind } from '../../../lambdas/kubernetes/errors.ts';
import { printable } from '../../../lambdas/printable.ts';
import type { RecoveryTarget } from '../../../lambdas/recovery/observe.ts';
import { endWindow, RECOVERY_LEASE } from '../../../lambdas/recovery/reservations.ts';
import { type RecoveryReport, type RecoveryRow, sweepRecovery } from '../../../lambdas/recovery/sweep-recovery.ts';
import { counted, date } from '../../../lambdas/words.ts';
import { EXIT } from '../../exit-codes.ts';
import { type Io, PROCESS, print, printJson } from '../../io.ts';
import { type KeyboardJournal, keepAtKeyboard } from '../../keyboard-journal.ts';
import { type NamedServer, serverWords } from '../../target.ts';
import { hang, type Lines, table } from '../../terminal/draw.ts';
import { bad, faint, good, warn } from '../../terminal/paint.ts';
import { nextLine, problemLines } from '../../terminal/phrases.ts';
import { during } from '../../terminal/progress.ts';
import { span } from '../../terminal/words.ts';
import { lengthOf } from './window.ts';

export interface RecoveryOptions {
  /** Opens the window; without it, only shows what it would do. */
  readonly yes?: boolean;
  readonly output: 'table' | 'json';
  readonly program: string;
  /** Version of certmarshal, for the journal. */
  readonly version: string;
  /** Keeps every decision. @default only the output keeps a record */
  readonly journal?: KeyboardJournal;
  /** The command again, without `--yes` and without its output options. */
  readonly repeat: string;
  /** The options that say which cluster, for other commands. */
  readonly repeatCluster: string;
}

/** Dependencies of the command; tests pass their own. */
export interface RecoveryPorts extends Io {
  readonly sweep: typeof sweepRecovery;
  readonly end: typeof endWindow;
}

export const RECOVERY_PORTS: RecoveryPorts = { ...PROCESS, sweep: sweepRecovery, end: endWindow };

/** A waiting kubelet retries after some seconds, then less often. */
const EVERY_MS = 10_000;
/** Deadline for closing the window in the cluster after Ctrl-C. Milliseconds. */
const END_MS = 10_000;

/** The result for a node of the window. */
interface NodeOutcome {
  readonly node: string;
  /** Approvals in this window. */
  readonly approvals: number;
  /** Its newest approved request, else its newest one; absent without requests. */
  readonly last?: RecoveryRow;
}

/**
 * Keeps a recovery window open from this terminal: sweeps every 10 seconds, prints each verdict once, and closes the
 * window at its end or when the signal aborts; then also in the cluster, so that another window can open at once.
 * Without `yes`, sweeps once, writes nothing and returns `incomplete`. Closes the window, too, if the journal cannot be
 * written or the first sweep does not reach the cluster, and prints what to fix first. JSON: the window, one document
 * per sweep, and the result of each node.
 *
 * @returns the exit status: `done` if every node was approved or has a valid certificate, and the journal is complete
 */
export async function recoveryOpenCommand(
  target: RecoveryTarget & { readonly server: NamedServer },
  window: RecoveryWindow,
  options: RecoveryOptions,
  signal: AbortSignal,
  ports: RecoveryPorts,
): Promise<number> {
  const { stderr, clock, sleep, sweep } = ports;
  const isJson = options.output === 'json';
  const told = new Set<string>();
  const rows = new Map<string, RecoveryRow>();
  const given = new Map<string, number>();
  const left = () => Date.parse(window.until) - clock();
  if (options.yes !== true) return wouldOpen(target, window, options, signal, ports);
  stderr.write(opening(target, window, 'is'));
  stderr.write(recordNotice(window, options));
  if (isJson) printJson(ports, { version: 1, kind: 'window', window });
  let unkept: string | undefined;
  let reach: 'unknown' | 'reached' | 'unreached' = 'unknown';
  while (!signal.aborted && left() > 0) {
    const report = await during(ports, `${target.cluster.name}: window open for ${span(left())} more`, () =>
      sweep(target, window, { clock, signal, given }),
    );
    const news = isJson ? [] : newsOf(report, told, options.program);
    if (isJson) printJson(ports, { kind: 'sweep', ...report });
    else if (news.length > 0) print(ports, news);
    for (const row of report.rows) rows.set(row.uid, row);
    unkept = await keep(report, window, options);
    if (reach === 'unknown') reach = isUnreached(report) ? 'unreached' : 'reached';
    const rest = left();
    if (unkept !== undefined || reach === 'unreached' || report.closed !== undefined || rest <= 0) break;
    // Ctrl-C is not an error: the loop checks the signal.
    await sleep(Math.min(EVERY_MS, rest), signal).catch(() => {});
  }
  const outcomes = window.nodes.map((node) => outcomeOf(node, [...rows.values()]));
  const isRecovered = outcomes.every(({ approvals, last }) => approvals > 0 || last?.reason === 'StillValid');
  if (isJson) printJson(ports, { version: 1, kind: 'closed', window: window.id, nodes: outcomes });
  else if (reach !== 'unreached') print(ports, closing(window, outcomes, options));
  if (unkept !== undefined) stderr.write(`${unkept}\n`);
  if (reach === 'unreached')
    stderr.write(
      `The window is closed: the first look did not reach the cluster, so nothing was approved. ${startFirst(options)} Then again: ${options.repeat} --yes\n`,
    );
  else if (left() > 0) stderr.write(await closeEarly(target, window, ports));
  return isRecovered && unkept === undefined ? EXIT.done : EXIT.incomplete;
}

/** What an open window would do now. */
async function wouldOpen(
  target: Parameters<typeof recoveryOpenCommand>[0],
  window: RecoveryWindow,
  options: RecoveryOptions,
  signal: AbortSignal,
  ports: RecoveryPorts,
): Promise<number> {
  const { output, program, repeat } = options;
  const { stderr, clock, sweep } = ports;
  stderr.write(opening(target, window, 'would be'));
  const report = await during(ports, `${target.cluster.name}: reading requests and evidence`, () =>
    sweep(target, window, { clock, signal, dryRun: true }),
  );
  if (output === 'json') {
    printJson(ports, { version: 1, kind: 'would-open', window });
    printJson(ports, { kind: 'sweep', ...report });
  } else print(ports, newsOf(report, new Set(), program));
  if (report.complete && report.rows.length === 0) stderr.write('No request is pending there now.\n');
  stderr.write(`Nothing was written${fixFirst(report, options) ?? `: --yes opens the window. ${repeat} --yes`}\n`);
  return EXIT.incomplete;
}

/** A window opened now would approve nothing, either. Problems of single nodes have their remedy. */
function fixFirst({ rows, problems }: RecoveryReport, options: RecoveryOptions): string | undefined {
  const { program, repeat, repeatCluster } = options;
  if (isUnreached({ rows, problems })) return `. ${startFirst(options)}`;
  const isExpired = problems.some(isOfExpiredEndpoint);
  if (isExpired && !repeat.includes(' --tolerate-expired '))
    return `. The certificate of the API server has expired; to accept it: ${repeat} --tolerate-expired authority`;
  return problems.some(({ kind }) => REFUSED.has(kind))
    ? `. What is refused, and why: ${program} doctor${repeatCluster}`
    : undefined;
}

const REFUSED: ReadonlySet<string> = new Set<KubernetesErrorKind>([
  'certificate',
  'credentials',
  'forbidden',
  'unauthorized',
]);

function startFirst({ program }: RecoveryOptions): string {
  return `First start etcd and the API server, steps 2 and 3 of ${program} runbook recovery.`;
}

/**
 * The API server did not answer at all. Only the first sweep ends the window for that: later the server may be
 * restarting.
 */
function isUnreached({ rows, problems }: Pick<RecoveryReport, 'rows' | 'problems'>): boolean {
  return rows.length === 0 && problems.some(({ kind }) => kind === 'unreachable' || kind === 'timeout');
}

/** Also ends the window in the cluster: otherwise a deployed sweep or another terminal must wait for its end. */
async function closeEarly(
  { workload }: RecoveryTarget,
  window: RecoveryWindow,
  { clock, end }: RecoveryPorts,
): Promise<string> {
  const { namespace, name } = RECOVERY_LEASE;
  const otherwise = (why: string): string =>
    `The window is closed: nothing more is approved. ${why} Another one for this cluster before ${date(Date.parse(window.until))} needs: kubectl -n ${namespace} delete lease ${name}\n`;
  try {
    const ended = await end(workload, window, clock(), AbortSignal.timeout(END_MS));
    if (ended === 'busy') return otherwise('Its Lease could not be written: others keep writing it.');
    if (ended === 'other')
      return `The window is closed: nothing more is approved. The Lease ${namespace}/${name} is no longer its own.\n`;
    return 'The window is closed: nothing more is approved. Another one for this cluster may be opened at once.\n';
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    return otherwise(`Its Lease could not be written: ${printable(`${error.object}: ${error.problem}`, 400)}.`);
  }
}

/** @returns why the decisions could not be kept */
async function keep(
  report: RecoveryReport,
  window: RecoveryWindow,
  { journal, version }: RecoveryOptions,
): Promise<string | undefined> {
  if (journal === undefined) return undefined;
  const entries = recoveryEntries(report, window, version);
  const unkept = await keepAtKeyboard(journal, entries);
  return unkept === undefined ? undefined : `The window is closed: ${unkept}`;
}

/** Who was approved, and why, must stay traceable. */
function recordNotice(window: RecoveryWindow, { journal, output, repeat }: RecoveryOptions): string {
  if (journal !== undefined) return `! Every decision is kept in ${printable(journal.file)}.\n`;
  const nothing = '! Only this output records what is approved.';
  return output === 'json'
    ? `${nothing} Keep it.\n`
    : `${nothing} To keep a record, add --journal FILE, or: ${repeat} --yes --output json | tee recovery-${window.id}.ndjson\n`;
}

/** Prominent, so that no one opens a window without knowing it. */
function opening(
  { cluster, server }: Parameters<typeof recoveryOpenCommand>[0],
  window: RecoveryWindow,
  verb: 'is' | 'would be',
): string {
  const { nodes, approvals, by, id } = window;
  return `! Recovery window ${id} of ${printable(cluster.name)} (${serverWords(server)}) ${verb} open for ${lengthOf(window)}, by ${by}.
! Client certificates of kubelets ${verb === 'is' ? 'are' : verb} approved for ${nodes.join(', ')}: ${approvals} each, and only where a Machine of the control plane vouches for the Node and its certificate has expired.
${verb === 'is' ? '! Ctrl-C closes it.\n' : ''}`;
}

/** What has not been printed yet. */
function newsOf(report: RecoveryReport, told: Set<string>, program: string): readonly Lines[] {
  const isNew = (key: string): boolean => !told.has(key) && told.add(key).has(key);
  const time = faint(report.startedAt.slice(11, 19));
  const { recovering } = report;
  return [
    ...(recovering !== undefined && isNew(recovering.sha256)
      ? [
          hang(
            `${warn('!')} `,
            `tolerated: the certificate of the API server expired ${date(Date.parse(recovering.notAfter))} (sha256:${recovering.sha256}, proven by ${recovering.pin})`,
          ),
        ]
      : []),
    ...report.rows
      .filter(({ csr, reason, outcome }) => isNew(`${csr}\n${reason}\n${outcome}`))
      .map((row) => hang(`${time}  ${symbolOf(row)} `, rowWords(row))),
    ...report.problems
      .filter(({ object, message }) => isNew(`${object}\n${message}`))
      .map(({ object, message, remedy }) =>
        problemLines(printable(`${object}: ${message}`, 600), pasteable(printable(remedy, 600), program)),
      ),
  ];
}

function symbolOf({ verdict, outcome, hostile }: RecoveryRow): string {
  if (hostile) return bad('✖');
  if (verdict !== 'approve') return warn('◌');
  if (outcome === 'observed') return warn('◇');
  return outcome === 'written' ? good('✔') : bad('✖');
}

const APPROVED: Readonly<Partial<Record<RecoveryRow['outcome'], string>>> = {
  written: 'approved',
  observed: 'would be approved',
};

function rowWords({ csr, node, verdict, outcome, reason, message, requester }: RecoveryRow): string {
  const what = verdict === 'approve' ? (APPROVED[outcome] ?? `approve: ${outcome}`) : 'not approved';
  return printable(`${csr}  ${node ?? 'no node'}  ${what}  ${message} (${reason}; asked by ${requester})`, 900);
}

function outcomeOf(node: string, rows: readonly RecoveryRow[]): NodeOutcome {
  const own = rows.filter((row) => row.node === node);
  const given = own.filter(({ outcome }) => outcome === 'written');
  const last = given.at(-1) ?? own.at(-1);
  return { node, approvals: given.length, last };
}

function closing(
  { id, approvals: most }: RecoveryWindow,
  outcomes: readonly NodeOutcome[],
  { program, repeatCluster }: RecoveryOptions,
): Lines {
  const given = outcomes.filter(({ approvals }) => approvals > 0).length;
  const paint = given === outcomes.length ? good : warn;
  return [
    '',
    hang(
      '',
      `${paint(`${given} of ${counted(outcomes.length, 'node')}`)} got a certificate approved; window ${id} is closed.`,
    ),
    '',
    table(
      [
        ['', ...['NODE', 'APPROVED', 'LAST REQUEST'].map(faint)],
        ...outcomes.map(({ node, approvals, last }) => [
          approvals > 0 ? good('✔') : warn('◌'),
          node,
          `${approvals} of ${most}`,
          last === undefined ? 'it did not ask' : printable(`${last.csr}: ${last.message} (${last.reason})`, 600),
        ]),
      ],
      80,
    ),
    '',
    hang('  ', 'What else has expired:'),
    nextLine(`${program} audit${repeatCluster}`),
  ];
}
