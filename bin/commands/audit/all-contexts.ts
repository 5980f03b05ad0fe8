import { auditUnopened } from '../../../lambdas/audit/audit.ts';
import { pasteable } from '../../../lambdas/command.ts';
import type { Fleet } from '../../../lambdas/config/fleet.ts';
import type { IndexedCluster } from '../../../lambdas/contracts/fleet-index.ts';
import type { Problem } from '../../../lambdas/contracts/problem.ts';
import type { Snapshot } from '../../../lambdas/contracts/snapshot.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import {
  type AllContextsOptions,
  type ContextResult,
  DEFAULT_PAGE,
  eachCluster,
  type FleetContext,
  fleetContexts,
  printContexts,
  type ReadContext,
  skipped,
  withContext,
} from '../../all-contexts.ts';
import { EXIT } from '../../exit-codes.ts';
import { type NamedServer, providerOf } from '../../target.ts';
import { checkedOutput, idsByUrgency, writeReport } from '../report/report.ts';
import { auditedOf, stateOfAudits } from '../report/sources.ts';
import { viewOf } from './groups.ts';
import { auditJson } from './json.ts';
import {
  type Audited as AuditedOnce,
  type AuditIo,
  type AuditOnceOptions,
  auditOnce,
  CRITICAL_PASSES,
} from './once.ts';
import { auditRepeat, typedCommands } from './repeat.ts';
import { auditedSources } from './sources.ts';
import { type AuditTargetOptions, openAuditTarget } from './target.ts';
import { storyLine } from './view.ts';

interface Options extends AuditTargetOptions, AllContextsOptions, AuditOnceOptions {
  readonly output: 'table' | 'json';
  readonly verbose?: boolean;
  readonly policy?: string;
  /** The command that starts this program. */
  readonly program: string;
}

/**
 * Audits every cluster of a kubeconfig, and makes one report page of them.
 *
 * @returns the worst exit status
 * @throws UsageError
 */
export async function auditAllContexts(
  options: Options,
  fleet: Fleet,
  signal: AbortSignal,
  io: AuditIo,
): Promise<number> {
  const { output, report = DEFAULT_PAGE } = options;
  await checkedOutput(report, '--report');
  const clusters = await fleetContexts(options, io.env);
  const audited = new Map<string, IndexedCluster>();
  const problems = new Map<string, Problem>();
  const eks = new Map<string, NamedServer['eks']>();
  let anyCritical = false;
  const work = {
    read: (cluster: FleetContext) =>
      auditContext(cluster, options, fleet, signal, io, ({ report: { snapshot }, critical }, server) => {
        anyCritical ||= critical;
        audited.set(cluster.id, auditedOf(snapshot));
        eks.set(cluster.id, server.eks);
      }),
    skip: async (cluster: FleetContext, message: string) => {
      const { id, context } = cluster;
      const remedy = `certmarshal doctor${auditRepeat({ ...options, context }).repeat}`;
      const problem = { kind: 'kubeconfig', object: id, message, remedy };
      problems.set(id, problem);
      audited.set(id, auditedOf(await auditSkipped(cluster, problem, fleet, io)));
      return skipped(cluster, message, pasteable(remedy, options.program));
    },
  };
  const { status, read, isNothingRead } = await eachCluster(clusters, work, output, signal, io);
  if (isNothingRead) {
    io.stderr.write('Nothing was read, so no page is written.\n');
    return EXIT.incomplete;
  }
  const written = await pageOf(audited, { ...options, report, clusters, problems, eks, read }, fleet, io);
  const worst = Math.max(status, written);
  if (worst === EXIT.done && anyCritical && io.stdout.isTTY !== true) io.stderr.write(CRITICAL_PASSES);
  return worst;
}

// oxlint-disable-next-line max-params -- internal
async function auditContext(
  cluster: FleetContext,
  options: Options,
  fleet: Fleet,
  signal: AbortSignal,
  io: AuditIo,
  onAudit: (audited: AuditedOnce, server: NamedServer) => void,
): Promise<ContextResult | undefined> {
  const { id, context } = cluster;
  const { thresholds } = fleet.audit;
  return withContext(
    () => openAuditTarget({ ...options, context }, fleet),
    async (target) => {
      const once = await auditOnce({ ...target, id }, thresholds, options, signal, io);
      const { report, status, critical } = once;
      // An interruption hides nothing critical that was found before it.
      if (signal.aborted && !critical && auditedSources(report.snapshot.observations).unread.length > 0)
        return undefined;
      onAudit(once, target.server);
      const now = io.clock();
      const view = viewOf(report, now);
      const repeated = { ...options, ...auditRepeat({ ...options, context }, target.server.eks), now };
      return { status, lines: storyLine(view, repeated), document: auditJson(view, repeated) };
    },
    signal,
  );
}

/** Puts a skipped cluster on the page. */
async function auditSkipped(
  { id, server = '' }: FleetContext,
  problem: Problem,
  { audit: { thresholds } }: Fleet,
  { clock }: AuditIo,
): Promise<Snapshot> {
  const provider = providerOf(undefined, URL.canParse(server) ? server : 'https://unknown.invalid');
  const options = { previous: undefined, thresholds, clock };
  const { snapshot } = await auditUnopened({ id, cluster: { name: id, provider } }, problem, options);
  return snapshot;
}

/** Prints what was read, the first to need a person in front, and writes the page. @returns the exit status */
async function pageOf(
  audited: ReadonlyMap<string, IndexedCluster>,
  options: Options & {
    readonly report: string;
    readonly clusters: readonly FleetContext[];
    readonly problems: ReadonlyMap<string, Problem>;
    readonly eks: ReadonlyMap<string, NamedServer['eks']>;
    readonly read: readonly ReadContext[];
  },
  { monitoring }: Fleet,
  io: AuditIo,
): Promise<number> {
  const { report, output, clusters, problems, eks, read, program } = options;
  const state = stateOfAudits([...audited.values()], io.clock(), problems);
  printContexts(read, idsByUrgency(state, 'audits', monitoring, io.clock()), io);
  // Standard output has the documents.
  const shown = output === 'json' ? { ...io, stdout: io.stderr } : io;
  if (output === 'table') io.stdout.write('\n');
  const given = {
    output: report,
    version: packageJson.version,
    program,
    basis: 'audits',
    typed: typedCommands(clusters, options, eks),
    other: `${program} sweep --all-contexts${auditRepeat(options).repeatExplain}`,
  } as const;
  return writeReport(state, given, monitoring, shown);
}
