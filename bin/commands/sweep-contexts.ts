import { approve } from '../../lambdas/approval/approve.ts';
import { outcomeOf } from '../../lambdas/cluster/sweep-outcome.ts';
import type { Fleet } from '../../lambdas/config/fleet.ts';
import type { SweepOutcome } from '../../lambdas/contracts/outcome.ts';
import type { RegisteredCluster } from '../../lambdas/contracts/registry.ts';
import { foldOutcomes } from '../../lambdas/fleet/fold-outcomes.ts';
import packageJson from '../../package.json' with { type: 'json' };
import {
  type AllContextsOptions,
  type ContextResult,
  DEFAULT_REQUESTS_PAGE,
  eachCluster,
  type FleetContext,
  fleetContexts,
  printContexts,
  skipped,
  withContext,
} from '../all-contexts.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import type { Io } from '../io.ts';
import { openTarget } from '../target.ts';
import { auditRepeat, typedCommands } from './audit/repeat.ts';
import { checkedOutput, idsByUrgency, writeReport } from './report/report.ts';
import type { FleetState } from './report/sources.ts';
import type { SweepOptions } from './sweep.ts';
import { HOSTILE_PASSES, isHostile, sweepStory, unreadableNext } from './sweep-view.ts';

interface Options extends AllContextsOptions, Pick<SweepOptions, 'yes' | 'failOn' | 'program'> {
  readonly output: 'table' | 'json';
  readonly every?: string;
  readonly journal?: string;
  readonly policy?: string;
}

/** One cluster of the page. */
interface Swept {
  readonly registered: RegisteredCluster;
  readonly outcome?: SweepOutcome;
}

interface SweptContext extends Swept {
  /** Whether a request is provably hostile. */
  readonly hostile: boolean;
  readonly result: ContextResult;
}

const SOURCE = 'kubeconfig';

/**
 * Judges the pending requests of every cluster of a kubeconfig, and makes one report page. Never writes to a cluster,
 * whatever the policies say: approve one cluster at a time.
 *
 * @returns the worst exit status
 * @throws UsageError
 */
export async function sweepAllContexts(options: Options, fleet: Fleet, signal: AbortSignal, io: Io): Promise<number> {
  const { output, report = DEFAULT_REQUESTS_PAGE } = options;
  if (options.every !== undefined)
    throw new UsageError('--every sweeps one cluster, --all-contexts takes all: leave out one of them.');
  if (options.journal !== undefined)
    throw new UsageError('--journal records one cluster, --all-contexts takes all: leave out one of them.');
  if (options.yes === true)
    throw new UsageError(
      '--all-contexts only reads: leave out --yes. To approve, sweep one cluster: --context NAME --yes',
    );
  await checkedOutput(report, '--report');
  const clusters = await fleetContexts(options, io.env);
  const swept = new Map<string, Swept>();
  let anyHostile = false;
  const work = {
    read: async (cluster: FleetContext) => {
      const read = await sweepContext(cluster, options, fleet, signal, io);
      if (read === undefined) return undefined;
      const { result, hostile, ...one } = read;
      swept.set(cluster.id, one);
      anyHostile ||= hostile;
      return result;
    },
    skip: async (cluster: FleetContext, message: string) => {
      const { id, context } = cluster;
      const remedy = `${options.program} doctor${auditRepeat({ ...options, context }).repeat}`;
      const problem = { kind: 'kubeconfig', object: id, message, remedy };
      swept.set(id, { registered: { ...entryOf(id, io.clock()), problem } });
      return skipped(cluster, message, remedy);
    },
  };
  const { status: worst, read, isNothingRead } = await eachCluster(clusters, work, output, signal, io);
  const state = stateOf([...swept.values()], io.clock());
  printContexts(read, idsByUrgency(state, 'sweep', fleet.monitoring, io.clock()), io);
  if (isNothingRead) {
    io.stderr.write('Nothing was read, so no page is written.\n');
    return EXIT.incomplete;
  }
  // Standard output has the documents.
  const shown = output === 'json' ? { ...io, stdout: io.stderr } : io;
  if (output === 'table') io.stdout.write('\n');
  const typed = typedCommands(clusters, options);
  const { program } = options;
  const other = `${program} audit --all-contexts${auditRepeat(options).repeatAudit}`;
  const given = { output: report, version: packageJson.version, program, basis: 'sweep', typed, other } as const;
  const written = await writeReport(state, given, fleet.monitoring, shown);
  const status = Math.max(worst, written);
  if (status === EXIT.done && anyHostile && io.stdout.isTTY !== true) io.stderr.write(HOSTILE_PASSES);
  return status;
}

async function sweepContext(
  cluster: FleetContext,
  options: Options,
  fleet: Fleet,
  signal: AbortSignal,
  { clock }: Io,
): Promise<SweptContext | undefined> {
  const { id, context } = cluster;
  const startedAt = clock();
  return withContext(
    () => openTarget({ ...options, context }, fleet),
    async (target) => {
      const report = await approve(target, fleet.policies, clock, signal, {}, { dryRun: true });
      // An interruption hides no hostile request that was found before it.
      if (signal.aborted && !report.complete && !isHostile(report)) return undefined;
      const { name, provider } = target.cluster;
      const repeated = auditRepeat({ ...options, context });
      const remedy = unreadableNext(report, options.program, repeated.repeat);
      const problems = report.readable ? report.problems : report.problems.map((one) => ({ ...one, remedy }));
      const shown = { ...report, problems };
      const swept = { id, cluster: { name, provider }, access: { kind: 'kubeconfig', secret: '' }, lane: '' } as const;
      return {
        registered: { ...entryOf(id, startedAt), target: swept },
        hostile: isHostile(report),
        outcome: outcomeOf(
          swept,
          { result: { report: shown, server: target.workload.server }, problems: shown.problems, failures: [] },
          { startedAt, finishedAt: clock() },
        ),
        result: {
          status: report.complete && (options.failOn === undefined || !isHostile(report)) ? EXIT.done : EXIT.incomplete,
          lines: sweepStory(report, {
            program: options.program,
            repeat: repeated.repeatExplain,
            repeatNames: repeated.repeatNames,
            doctor: repeated.repeat,
          }),
          document: report,
        },
      };
    },
    signal,
  );
}

/** @param now milliseconds since the epoch */
function entryOf(id: string, now: number): RegisteredCluster {
  const at = new Date(now).toISOString();
  return { id, source: SOURCE, foundAt: at, seenAt: at };
}

/** @param now milliseconds since the epoch */
function stateOf(swept: readonly Swept[], now: number): FleetState {
  const at = new Date(now).toISOString();
  const index = foldOutcomes(
    undefined,
    swept.flatMap(({ outcome }) => outcome ?? []),
    now,
  );
  const dispatch = { at, registered: swept.length, dispatched: swept.length, problems: [] };
  return {
    registry: {
      version: 1,
      writtenAt: at,
      sources: { [SOURCE]: { triedAt: at, readAt: at } },
      clusters: Object.fromEntries(swept.map(({ registered }) => [registered.id, registered])),
    },
    index: { ...index, dispatch },
    problems: [],
  };
}
