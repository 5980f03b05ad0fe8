import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { auditUnopened } from '../../../lambdas/audit/audit.ts';
import { directorySnapshots } from '../../../lambdas/audit/directory-snapshots.ts';
import { word } from '../../../lambdas/command.ts';
import type { Fleet } from '../../../lambdas/config/fleet.ts';
import { printable } from '../../../lambdas/printable.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import {
  type AllContextsOptions,
  type ContextResult,
  DEFAULT_PAGE,
  eachCluster,
  type FleetContext,
  fleetContexts,
  skipped,
  withContext,
} from '../../all-contexts.ts';
import { EXIT, UsageError } from '../../exit-codes.ts';
import { systemErrorWords } from '../../system-error.ts';
import { providerOf } from '../../target.ts';
import { checkedOutput, reportCommand } from '../report/report.ts';
import { viewOf } from './groups.ts';
import { auditJson } from './json.ts';
import { type AuditIo, type AuditOnceOptions, auditOnce } from './once.ts';
import { type AuditTargetOptions, openAuditTarget } from './target.ts';
import { storyLine } from './view.ts';

interface Options extends AuditTargetOptions, AllContextsOptions, AuditOnceOptions {
  readonly output: string;
  readonly verbose?: boolean;
}

/**
 * Audits every cluster of a kubeconfig and ends in one report page. The snapshots that the page is made of are kept only where `snapshots` names a directory for them.
 *
 * @returns the exit status of the worst
 * @throws UsageError
 */
export async function auditAllContexts(
  options: Options,
  fleet: Fleet,
  signal: AbortSignal,
  io: AuditIo,
): Promise<number> {
  const { output, report = DEFAULT_PAGE } = options;
  if (output !== 'table' && output !== 'json')
    throw new UsageError(`--all-contexts prints a table or json; ${output} is of one cluster.`);
  await checkedOutput(report, '--report');
  const clusters = await fleetContexts(options, io.env);
  const { snapshots } = options;
  if (snapshots !== undefined) return auditInto(snapshots, clusters, options, fleet, signal, io);
  const directory = await mkdtemp(join(tmpdir(), 'certmarshal-'));
  // Also where the reader of the output has gone, or Ctrl-C was pressed twice.
  const remove = () => rmSync(directory, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    return await auditInto(directory, clusters, options, fleet, signal, io);
  } finally {
    process.off('exit', remove);
    remove();
  }
}

async function auditInto(
  snapshots: string,
  clusters: readonly FleetContext[],
  options: Options,
  fleet: Fleet,
  signal: AbortSignal,
  io: AuditIo,
): Promise<number> {
  const work = (cluster: FleetContext) => auditContext(cluster, { ...options, snapshots }, fleet, signal, io);
  const worst = await eachCluster(clusters, work, options.output === 'json' ? 'json' : 'table', signal, io);
  return Math.max(worst, await pageOf(snapshots, options, fleet, io));
}

async function auditContext(
  cluster: FleetContext,
  options: Options & { readonly snapshots: string },
  fleet: Fleet,
  signal: AbortSignal,
  io: AuditIo,
): Promise<ContextResult> {
  const { id, context } = cluster;
  const { thresholds } = fleet.audit;
  const skip = async (problem: string): Promise<ContextResult> => {
    await keepSkipped(cluster, problem, options, fleet, io);
    return skipped(cluster, problem);
  };
  return withContext(
    () => openAuditTarget({ ...options, context }, fleet),
    skip,
    async (target) => {
      const { report, status } = await auditOnce({ ...target, id }, thresholds, options, signal, io);
      const now = io.clock();
      const view = viewOf(report, thresholds, now);
      return { status, lines: storyLine(view, now), document: auditJson(view, options.verbose === true) };
    },
    signal,
  );
}

/** The cluster is on the page too, with what was known of it before. */
async function keepSkipped(
  { id, server = '', context }: FleetContext,
  message: string,
  { snapshots: directory }: { readonly snapshots: string },
  { audit: { thresholds } }: Fleet,
  { clock, stderr }: AuditIo,
): Promise<void> {
  const provider = providerOf(undefined, URL.canParse(server) ? server : 'https://unknown.invalid');
  const problem = {
    kind: 'kubeconfig',
    object: id,
    message,
    remedy: `certmarshal doctor --context ${word(context, 'CONTEXT')}`,
  };
  const snapshots = directorySnapshots(directory);
  const never = new AbortController().signal;
  try {
    const stored = await snapshots.read(id, never);
    const given = { previous: stored?.snapshot, thresholds, clock };
    const { snapshot } = await auditUnopened({ id, cluster: { name: id, provider } }, problem, given);
    const before = stored?.snapshot;
    // What was lost before is not found by an audit that looked at nothing.
    const partial = stored !== undefined && (before === undefined || before.partial === true) ? true : undefined;
    await snapshots.write({ ...snapshot, server: before?.server, partial }, stored?.etag, never);
  } catch (error) {
    stderr.write(`The snapshot of ${printable(id)} cannot be written: ${systemErrorWords(error)}.\n`);
  }
}

/** @returns the exit status */
async function pageOf(
  snapshots: string,
  { report, output }: Options,
  { monitoring }: Fleet,
  io: AuditIo,
): Promise<number> {
  // Standard output is for the documents.
  const shown = output === 'json' ? { ...io, stdout: io.stderr } : io;
  if (output === 'table') io.stdout.write('\n');
  const given = { snapshots, output: report ?? DEFAULT_PAGE, version: packageJson.version };
  try {
    return await reportCommand(given, monitoring, new AbortController().signal, shown);
  } catch (error) {
    // Interrupted before the first cluster was read.
    if (!(error instanceof UsageError)) throw error;
    io.stderr.write('Nothing was read, so there is no page.\n');
    return EXIT.incomplete;
  }
}
