import type { Command } from 'commander';
import { regionOfEksEndpoint } from '../lambdas/aws/eks-endpoint.ts';
import type { KubernetesClient } from '../lambdas/kubernetes/client.ts';
import { parseServerUrl } from '../lambdas/kubernetes/connection.ts';
import { KubernetesError } from '../lambdas/kubernetes/errors.ts';
import {
  FILE_LIMITS,
  KubeconfigError,
  type ListedContext,
  listContexts,
} from '../lambdas/kubernetes/kubeconfig-document.ts';
import { printable } from '../lambdas/printable.ts';
import { counted, firstOf } from '../lambdas/words.ts';
import { EXIT, UsageError } from './exit-codes.ts';
import { type Io, print, printJson } from './io.ts';
import { kubeconfigFiles, nameOf, readKubeconfigFiles, type TargetOptions } from './target.ts';
import { hang, type Lines } from './terminal/draw.ts';
import { bad, faint } from './terminal/paint.ts';
import { startProgress } from './terminal/progress.ts';

/** More than any real kubeconfig has. */
const MAX_CONTEXTS = 1_000;
/** Clusters read concurrently. */
const AT_ONCE = 6;

/** File of the page where none is named, for each command: none replaces the page of the other. */
export const DEFAULT_PAGE = 'report.html';
export const DEFAULT_REQUESTS_PAGE = 'requests.html';

/** Enough for the small version request. Milliseconds. */
const ANSWERS_WITHIN_MS = 5_000;

export interface AllContextsOptions extends TargetOptions {
  readonly allContexts?: boolean;
  /** File of the page. */
  readonly report?: string;
}

/** The one cluster of a context. */
export interface FleetContext {
  readonly context: string;
  /** Id in the fleet: its name, or a longer form of its kubeconfig name if several clusters share a name. */
  readonly id: string;
  /** URL of its API server in the kubeconfig. */
  readonly server: string | undefined;
  /** Other contexts of the same API server. */
  readonly also: readonly string[];
}

/** The result for the cluster of a context. */
export interface ContextResult {
  readonly status: number;
  /** One line per cluster. */
  readonly lines: Lines;
  /** For programs. */
  readonly document: object;
}

/** @param file of the page where none is named */
export function withAllContexts(command: Command, page: string, file: string): Command {
  return command
    .option(
      '--all-contexts',
      `every cluster of the kubeconfig; those that do not answer are skipped; writes one page of all ${page}`,
    )
    .option('--report <file>', `with --all-contexts: file of that page, named .html; default: ${file}`);
}

/** @throws UsageError for options that need --all-contexts */
export function requireOneCluster({ report }: AllContextsOptions): void {
  if (report !== undefined) throw new UsageError('--report needs --all-contexts: add it, or leave out --report.');
}

/**
 * The clusters of a kubeconfig, each once, in the order of its contexts.
 *
 * @throws UsageError if the kubeconfig cannot be read, or an option names one cluster
 */
export async function fleetContexts(
  options: AllContextsOptions,
  env: NodeJS.ProcessEnv,
): Promise<readonly FleetContext[]> {
  const { context, cluster, provider } = options;
  for (const [flag, given] of Object.entries({ '--context': context, '--cluster': cluster, '--provider': provider }))
    if (given !== undefined)
      throw new UsageError(`${flag} names one cluster, --all-contexts takes all: leave out one of them.`);
  const files = kubeconfigFiles(options, env);
  const read = await readKubeconfigFiles(files);
  try {
    const listed = listContexts(read, FILE_LIMITS);
    if (listed.length > MAX_CONTEXTS)
      throw new UsageError(
        `The kubeconfig has ${listed.length} contexts; --all-contexts takes at most ${MAX_CONTEXTS}.`,
      );
    return clustersOf(listed);
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    throw new UsageError(files.length === 1 ? `${files[0]}: ${error.message}` : error.message, { cause: error });
  }
}

/**
 * The clusters of the contexts, each API server once. Pure.
 *
 * @param listed of several contexts with one API server, the first counts
 */
export function clustersOf(listed: readonly ListedContext[]): readonly FleetContext[] {
  const byServer = Map.groupBy(listed, ({ context, cluster, server, serverName }) => {
    const url = parseServerUrl(server ?? '');
    if (typeof url === 'string') return `context ${context}`;
    // Another host may be a proxy to many clusters.
    return regionOfEksEndpoint(url.href) !== undefined ? url.href : JSON.stringify([url.href, serverName, cluster]);
  });
  const clusters = [...byServer.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : { ...first, also: others.map(({ context }) => context) },
  );
  const names = Map.groupBy(clusters, ({ cluster }) => cluster && nameOf({ cluster }));
  const taken = new Set<string>();
  return clusters.map(({ context, cluster, server, also }) => {
    const name = cluster && nameOf({ cluster });
    const isAlone = names.get(name)?.length === 1;
    let id = cluster === undefined || name === undefined ? `context ${context}` : isAlone ? name : longName(cluster);
    while (taken.has(id)) id = `${id} (context ${context})`;
    taken.add(id);
    return { context, id, server, also };
  });
}

/** `111122223333/eu-central-1/dublin`, the fleet's id, from the ARN that EKS writes as cluster name. */
function longName(cluster: string): string {
  const { region, account, name } =
    /^arn:[^:]+:eks:(?<region>[^:]+):(?<account>[^:]+):cluster\/(?<name>.+)$/.exec(cluster)?.groups ?? {};
  return name === undefined ? cluster : `${account}/${region}/${name}`;
}

/** A cluster that was read, with its lines. */
export interface ReadContext extends Pick<ContextResult, 'lines'> {
  readonly cluster: FleetContext;
}

/** What is done with each cluster. */
export interface ContextWork {
  /** Undefined if an interruption cut it off. May throw UsageError and KubernetesError: then it is skipped. */
  readonly read: (cluster: FleetContext) => Promise<ContextResult | undefined>;
  /** Puts a cluster that was not read on the page. */
  readonly skip: (cluster: FleetContext, problem: string) => Promise<ContextResult>;
}

/**
 * Reads every cluster, a few at a time. A cluster does not affect the others. Each is read or skipped, also after an
 * interruption. Prints JSON as soon as it is known; lines are for {@link printContexts}, and printed here only before
 * an unexpected error.
 *
 * @returns the worst exit status; the lines; and whether an interruption came before everything
 */
export async function eachCluster(
  clusters: readonly FleetContext[],
  work: ContextWork,
  output: 'table' | 'json',
  signal: AbortSignal,
  io: Io,
): Promise<{ readonly status: number; readonly read: readonly ReadContext[]; readonly isNothingRead: boolean }> {
  const progress = startProgress(io.stderr);
  const read: ReadContext[] = [];
  const waiting = [...clusters];
  const cut: FleetContext[] = [];
  const running = new Set<string>();
  let status: number = EXIT.done;
  const say = () =>
    progress.say(
      `${clusters.length - waiting.length - running.size} of ${counted(clusters.length, 'cluster')}, waiting for ${printable(firstOf([...running]))}`,
    );
  const next = async (): Promise<void> => {
    while (!signal.aborted) {
      const cluster = waiting.shift();
      if (cluster === undefined) return;
      running.add(cluster.id);
      say();
      const result = await resultOf(cluster, work, signal).catch((error: unknown) => {
        // What is under way is finished and printed first.
        waiting.length = 0;
        throw error;
      });
      running.delete(cluster.id);
      if (result === undefined) {
        cut.push(cluster);
        return;
      }
      status = Math.max(status, result.status);
      progress.clear();
      if (output === 'json') printJson(io, result.document);
      else read.push({ cluster, lines: result.lines });
    }
  };
  try {
    const ended = await Promise.allSettled(Array.from({ length: AT_ONCE }, next));
    const failed = ended.find((one) => one.status === 'rejected');
    if (failed !== undefined) {
      progress.clear();
      printContexts(read, [], io);
      throw failed.reason;
    }
  } finally {
    progress.done();
  }
  cut.push(...waiting);
  if (cut.length > 0) {
    status = Math.max(status, EXIT.incomplete);
    for (const cluster of cut) await work.skip(cluster, 'you stopped certmarshal before it was read');
    io.stderr.write(
      `Interrupted: ${counted(cut.length, 'cluster')} not read: ${printable(firstOf(cut.map(({ id }) => id)))}.\n`,
    );
  }
  return { status, read, isNothingRead: cut.length === clusters.length };
}

/** @param ids the first to print in front; others were not opened, and come before them */
export function printContexts(read: readonly ReadContext[], ids: readonly string[], io: Io): void {
  const rank = ({ cluster }: ReadContext) => ids.indexOf(cluster.id);
  for (const { cluster, lines } of read.toSorted((a, b) => rank(a) - rank(b))) print(io, [lines, alsoLine(cluster)]);
}

/** @returns undefined if an interruption cut it off: that is not the fault of the cluster */
async function resultOf(
  cluster: FleetContext,
  { read, skip }: ContextWork,
  signal: AbortSignal,
): Promise<ContextResult | undefined> {
  try {
    return await read(cluster);
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof KubernetesError)) throw error;
    return signal.aborted ? undefined : skip(cluster, error.message);
  }
}

/**
 * Requests the version of an API server before anything else. Any answer counts, also an error status.
 *
 * @param signal aborts when the user interrupts
 * @throws UsageError if it does not answer, and the signal does not abort
 */
async function requireAnswer(client: KubernetesClient, signal: AbortSignal): Promise<void> {
  const deadline = AbortSignal.timeout(ANSWERS_WITHIN_MS);
  try {
    await client.request({ method: 'GET', path: '/version', signal: AbortSignal.any([signal, deadline]) });
  } catch (error) {
    if (!(error instanceof KubernetesError) || signal.aborted) return;
    const server = printable(client.server, 300);
    if (deadline.aborted) throw new UsageError(`${server} does not answer within ${ANSWERS_WITHIN_MS / 1_000} s`);
    if (error.kind === 'unreachable') throw new UsageError(`${server}: ${error.problem}`);
  }
}

/**
 * Opens the cluster of a context, and closes it after the work.
 *
 * @throws UsageError or KubernetesError if the cluster cannot be opened or does not answer
 */
export async function withContext<T extends { readonly workload: KubernetesClient; close(): void }, R>(
  open: () => Promise<T>,
  work: (target: T) => Promise<R>,
  signal: AbortSignal,
): Promise<R> {
  const target = await open();
  try {
    await requireAnswer(target.workload, signal);
    return await work(target);
  } finally {
    target.close();
  }
}

/** The result for a context without a usable cluster. @param command to run next */
export function skipped({ id, context }: FleetContext, problem: string, command?: string): ContextResult {
  const name = printable(id, 200);
  return {
    status: EXIT.incomplete,
    lines: [
      hang(bad('✖ '), bad(`${name} · skipped: ${printable(problem.replaceAll('\n', ' '), 1_000)}`)),
      command !== undefined && `    → ${command}`,
    ],
    document: { version: 1, cluster: name, context: printable(context), skipped: problem },
  };
}

function alsoLine({ also }: FleetContext): Lines {
  return (
    also.length > 0 &&
    hang('    ', faint(`the same API server: ${counted(also.length, 'more context')}, ${printable(firstOf(also))}`))
  );
}
