import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { AwsError } from '../../lambdas/aws/errors.ts';
import type { OpenTarget } from '../../lambdas/cluster/connect/connect.ts';
import { UnusableTargetError } from '../../lambdas/cluster/connect/open-target.ts';
import type { Fleet, RecoveryEntry } from '../../lambdas/config/fleet.ts';
import { problemOf } from '../../lambdas/contracts/problem.ts';
import type { HubIdentity } from '../../lambdas/fleet/sources.ts';
import type { FleetHealth } from '../../lambdas/health/fleet-health.ts';
import type { Journal } from '../../lambdas/journal/journal.ts';
import { KubernetesError } from '../../lambdas/kubernetes/errors.ts';
import type { Typed } from '../../lambdas/page/cluster-details.ts';
import { type PageOptions, renderPage } from '../../lambdas/page/page.ts';
import { printable } from '../../lambdas/printable.ts';
import { MINUTE_MS } from '../../lambdas/time.ts';
import { verdictDocument } from '../../lambdas/words/verdict-words.ts';
import { kebab } from '../../lambdas/words.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { serverPorts } from '../commands/audit/ports.ts';
import { typedCommands } from '../commands/audit/repeat.ts';
import { type AuditTargetOptions, openAuditTarget } from '../commands/audit/target.ts';
import { createDirectoryState } from '../directory-state.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { type Io, printJson } from '../io.ts';
import { systemErrorCode, systemErrorWords } from '../system-error.ts';
import { expiredServerOf, repeatOptions, requireServiceCidrs, validCidrs } from '../target.ts';
import { draw, type Lines, screenOf } from '../terminal/draw.ts';
import { startProgress } from '../terminal/progress.ts';
import { replaceTextFile } from '../text-file.ts';
import { type ContextCluster, contextTarget, everyContext, oneContext } from './contexts.ts';
import { type Clusters, createHome } from './home.ts';

/** Which clusters, and where the state and the page are. */
export interface MinuteCommandOptions extends AuditTargetOptions {
  readonly allContexts?: boolean;
  readonly fleet?: string;
  readonly state?: string;
  /** File of the page. */
  readonly report?: string;
  readonly policy?: string;
  readonly output: 'table' | 'json';
  /** The command that starts this program. */
  readonly program: string;
}

export interface Work {
  readonly writes: boolean;
  readonly auditsAll?: boolean;
  readonly recovery?: (cluster: ContextCluster) => readonly RecoveryEntry[];
  readonly journal?: Journal | undefined;
  /** Pause between two minutes. @default one minute is made */
  readonly everyMs?: number | undefined;
  /** What is printed of a minute, and its exit status. */
  readonly show: (health: FleetHealth, also: ReadonlyMap<string, readonly string[]>) => Lines;
  readonly statusOf: (health: FleetHealth) => number;
}

/** File of the page where neither a directory of state nor a file is named. */
export const DEFAULT_PAGE = 'report.html';

/**
 * Makes minutes until the signal aborts, or one. JSON is one document a minute, on one line.
 *
 * @returns the worst exit status
 * @throws UsageError
 */
export async function runMinutes(
  options: MinuteCommandOptions,
  fleet: Fleet,
  work: Work,
  signal: AbortSignal,
  io: Io,
): Promise<number> {
  const page = pageOf(options);
  if (page !== undefined && options.report !== undefined) await checkPage(page);
  const { clusters, contexts, typed } = await clustersOf(options, fleet, signal, io);
  const [only] = contexts;
  const directory = options.state ?? mkdtempSync(join(tmpdir(), 'certmarshal-'));
  const state = createDirectoryState(directory, io.clock());
  if (page !== undefined && options.report === undefined) await checkPage(page);
  const progress = startProgress(io.stderr, io.clock);
  let swept = 0;
  const home = createHome({
    ...work,
    fleet,
    clusters,
    state,
    handshakes: options.handshakes,
    recovery: only && work.recovery?.(only),
    clock: io.clock,
    sleep: io.sleep,
    onBug: (error) => io.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`),
    onSwept: (id, all) => {
      swept += 1;
      progress.say(`${swept}${all > 0 ? ` of ${all}` : ''} clusters read, ${printable(id, 100)} last`);
    },
  });
  const also = new Map(contexts.map((cluster) => [cluster.id, cluster.also]));
  let status: number = EXIT.done;
  try {
    for (;;) {
      swept = 0;
      status = Math.max(status, await minute());
      if (work.everyMs === undefined || signal.aborted) return status;
      if (!(await isSlept(work.everyMs))) return status;
    }
  } finally {
    progress.done();
    home.close();
    state.release();
    if (options.state === undefined) rmSync(directory, { recursive: true, force: true });
  }

  async function minute(): Promise<number> {
    try {
      state.touch(io.clock());
      const health = await home.tick(signal);
      progress.clear();
      if (options.output === 'json') printJson(io, documentOf(health));
      else io.stdout.write(`${draw(work.show(health, also), screen())}\n`);
      if (signal.aborted) io.stderr.write('Interrupted: what was not read by then is not judged.\n');
      const { runbooks } = fleet.monitoring;
      const paged = health.clusters.length > 1 ? page : undefined;
      const written =
        paged === undefined
          ? EXIT.done
          : writePage(paged, health, { version: packageJson.version, program: options.program, typed, runbooks }, io);
      if (paged !== undefined && written === EXIT.done && work.everyMs === undefined)
        io.stderr.write(`The page of all: ${printable(paged)}\n`);
      if (paged === undefined && options.report !== undefined)
        io.stderr.write(`${printable(options.report)} was not written: the page is about at least two clusters.\n`);
      return Math.max(work.statusOf(health), signal.aborted ? EXIT.incomplete : EXIT.done, written);
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
      progress.clear();
      io.stderr.write(`${error.message}\n`);
      return EXIT.incomplete;
    }
  }

  function screen(): ReturnType<typeof screenOf> {
    return { width: 80, ...screenOf(io.stdout, io.env) };
  }

  async function isSlept(everyMs: number): Promise<boolean> {
    for (let left = everyMs - (io.clock() % everyMs); left > 0; left -= MINUTE_MS) {
      try {
        await io.sleep(Math.min(left, MINUTE_MS), signal);
        // The lock of a process that sleeps for long must not look dead. A minute touches it itself.
        if (left > MINUTE_MS) state.touch(io.clock());
      } catch (error) {
        if (signal.aborted) return false;
        // The next minute says what is wrong with the disk.
        if (!(error instanceof AwsError)) throw error;
      }
    }
    return true;
  }
}

function pageOf({ allContexts, fleet, state, report }: MinuteCommandOptions): string | undefined {
  if (allContexts !== true && fleet === undefined) {
    if (report === undefined) return undefined;
    throw new UsageError('--report is about several clusters: add --all-contexts or --fleet FILE, or leave it out.');
  }
  return report ?? (state === undefined ? DEFAULT_PAGE : join(state, DEFAULT_PAGE));
}

interface Named {
  readonly clusters: Clusters;
  readonly contexts: readonly ContextCluster[];
  readonly typed?: Typed;
}

async function clustersOf(
  options: MinuteCommandOptions,
  fleet: Fleet,
  signal: AbortSignal,
  { env }: Io,
): Promise<Named> {
  // Not a problem of a cluster, but wrong usage.
  expiredServerOf(options);
  validCidrs(options.serviceCidr ?? []);
  serverPorts(options.port ?? []);
  if (options.fleet !== undefined) return { clusters: await ofFleet(options, fleet, signal), contexts: [] };
  const contexts =
    options.allContexts === true ? await everyContext(options, env) : [await oneContext(options, fleet, env)];
  return {
    clusters: {
      targets: contexts.map((cluster) => contextTarget(cluster, options, fleet)),
      openContext: async (context, ended) => openContext(context, options, fleet, ended),
    },
    contexts,
    typed: typedCommands(contexts, options),
  };
}

/** With the AWS credentials of the user. @throws UsageError */
async function ofFleet(options: MinuteCommandOptions, fleet: Fleet, signal: AbortSignal): Promise<Clusters> {
  const of = ['context', 'kubeconfig', 'allContexts', 'cluster', 'provider', 'serviceCidr', 'tolerateExpired'] as const;
  const [flag] = of.filter((key) => options[key] !== undefined).map((key) => `--${kebab(key)}`);
  if (flag !== undefined)
    throw new UsageError(`${flag} is about clusters of a kubeconfig, --fleet those of a file: leave out one of them.`);
  const [{ connectAws }, { createEksReader }, { createCredentials }] = await Promise.all([
    import('../doctor/aws-calls.ts'),
    import('../../lambdas/aws/eks-clusters.ts'),
    import('../../lambdas/aws/spoke-credentials.ts'),
  ]);
  try {
    const { caller } = await connectAws(signal);
    const hub: HubIdentity = {
      partition: caller.partition,
      account: fleet.hub.account ?? caller.account,
      region: fleet.hub.region ?? caller.region,
    };
    const reader = createEksReader({ credentials: createCredentials({ sessionName: 'certmarshal' }) });
    return { hub, principalArn: caller.arn, reader };
  } catch (error) {
    if (error instanceof AwsError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

/** Enough for the small version request: one that is silent must delay no other. Milliseconds. */
const ANSWERS_WITHIN_MS = 5_000;

/**
 * Opens a context as the command line says, and asks for the version of its API server before anything else. Any answer
 * counts, also an error status.
 *
 * @throws UnusableTargetError
 */
async function openContext(
  context: string,
  options: AuditTargetOptions,
  fleet: Fleet,
  signal: AbortSignal,
): Promise<OpenTarget> {
  const object = `context ${printable(context, 200)}`;
  const remedy = `Run certmarshal doctor${repeatOptions({ ...options, context })}`;
  try {
    const target = await openAuditTarget({ ...options, context }, fleet, (cluster) =>
      requireServiceCidrs(cluster, fleet.policies),
    );
    const problem = await silenceOf(target, signal);
    if (problem === undefined) return target;
    target.close();
    throw new UnusableTargetError({ kind: 'unreachable', object, message: problem, remedy });
  } catch (error) {
    if (error instanceof KubernetesError) throw new UnusableTargetError(problemOf(error));
    if (!(error instanceof UsageError)) throw error;
    const message = error.message.replaceAll('\n', ' ');
    throw new UnusableTargetError({ kind: 'kubeconfig', object, message, remedy });
  }
}

async function silenceOf({ workload }: Pick<OpenTarget, 'workload'>, signal: AbortSignal): Promise<string | undefined> {
  const deadline = AbortSignal.timeout(ANSWERS_WITHIN_MS);
  try {
    await workload.request({ method: 'GET', path: '/version', signal: AbortSignal.any([signal, deadline]) });
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    if (signal.aborted) return 'it was not read before the end';
    const server = printable(workload.server, 300);
    if (deadline.aborted) return `${server} does not answer within ${ANSWERS_WITHIN_MS / 1_000} s`;
    if (error.kind === 'unreachable' || error.kind === 'unresolved') return `${server}: ${error.problem}`;
  }
  return undefined;
}

function documentOf({ clusters, ...health }: FleetHealth): object {
  return { ...health, clusters: clusters.map((one) => ({ ...one, verdicts: one.verdicts.map(verdictDocument) })) };
}

const PAGE_NAME = /[^/\\]\.html?$/i;
/** Enough of a file to recognize a report by its title. Bytes. */
const HEAD_BYTES = 2_000;

/** @returns the exit status: `incomplete` if it could not be written */
function writePage(file: string, health: FleetHealth, options: PageOptions, { stderr }: Io): number {
  try {
    replaceTextFile(file, renderPage(health, options));
    return EXIT.done;
  } catch (error) {
    stderr.write(
      `${printable(file)} cannot be written: ${systemErrorWords(error)}. What was there is unchanged; name a file elsewhere.\n`,
    );
    return EXIT.incomplete;
  }
}

/**
 * Checks that the page may be written to this file, before anything is read.
 *
 * @throws UsageError if the name is not that of a page, the existing file is not a report, or its directory is not
 * writable
 */
async function checkPage(file: string): Promise<void> {
  if (!PAGE_NAME.test(file))
    throw new UsageError(`--report takes a file that ends in .html; got ${file === '' ? 'nothing' : printable(file)}.`);
  const directory = dirname(file);
  try {
    await tryFile(directory);
  } catch (error) {
    throw new UsageError(
      `--report ${printable(file)}: no file can be written in ${directory === '.' ? 'this directory' : printable(directory)}: ${systemErrorWords(error)}. Name a file in another directory.`,
      { cause: error },
    );
  }
  const head = await headOf(file);
  if (head !== '' && !(head.startsWith('<!doctype html>') && head.includes(' · certmarshal</title>')))
    throw new UsageError(`${printable(file)} exists and is not a report of certmarshal: it is not overwritten.`);
}

/** Writes and removes a file in a directory: permissions alone do not show whether that works. */
async function tryFile(directory: string): Promise<void> {
  const file = join(directory, `.${randomUUID()}.tmp`);
  try {
    await (await open(file, 'wx', 0o600)).close();
  } finally {
    await rm(file, { force: true });
  }
}

/** Empty if the file does not exist. @throws UsageError */
async function headOf(path: string): Promise<string> {
  try {
    await using file = await open(path, 'r');
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return '';
    throw new UsageError(
      `--report ${printable(path)} cannot be replaced: ${systemErrorWords(error)}. Name another file.`,
      { cause: error },
    );
  }
}
