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
  skipped,
  withContext,
} from '../all-contexts.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import type { Io } from '../io.ts';
import { openTarget } from '../target.ts';
import { auditRepeat, typedCommands } from './audit/repeat.ts';
import { checkedOutput, writeReport } from './report/report.ts';
import type { FleetState } from './report/sources.ts';
import type { SweepOptions } from './sweep.ts';
import { isHostile, sweepStory } from './sweep-view.ts';

interface Options extends AllContextsOptions, Pick<SweepOptions, 'yes' | 'failOn' | 'program'> {
  readonly output: 'table' | 'json';
  readonly every?: string;
  readonly policy?: string;
}

/** One cluster of the page. */
interface Swept {
  readonly registered: RegisteredCluster;
  readonly outcome?: SweepOutcome;
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
  if (options.yes === true)
    throw new UsageError(
      '--all-contexts only reads: leave out --yes. To approve, sweep one cluster: --context NAME --yes',
    );
  await checkedOutput(report, '--report');
  const clusters = await fleetContexts(options, io.env);
  const swept: Swept[] = [];
  const work = async (cluster: FleetContext) => {
    const { result, ...one } = await sweepContext(cluster, options, fleet, signal, io);
    swept.push(one);
    return result;
  };
  const worst = await eachCluster(clusters, work, output, signal, io);
  if (swept.length === 0) {
    io.stderr.write('Nothing was read, so there is no page.\n');
    return EXIT.incomplete;
  }
  // Standard output has the documents.
  const shown = output === 'json' ? { ...io, stdout: io.stderr } : io;
  if (output === 'table') io.stdout.write('\n');
  const typed = typedCommands(clusters, options);
  const { program } = options;
  const given = { output: report, version: packageJson.version, program, basis: 'sweep', typed } as const;
  return Math.max(worst, await writeReport(stateOf(swept, io.clock()), given, fleet.monitoring, shown));
}

async function sweepContext(
  cluster: FleetContext,
  options: Options,
  fleet: Fleet,
  signal: AbortSignal,
  { clock }: Io,
): Promise<Swept & { readonly result: ContextResult }> {
  const { id, context } = cluster;
  const startedAt = clock();
  const at = new Date(startedAt).toISOString();
  const entry = { id, source: SOURCE, foundAt: at, seenAt: at };
  const skip = (message: string) => {
    const problem = {
      kind: 'kubeconfig',
      object: id,
      message,
      remedy: `${options.program} doctor${auditRepeat({ ...options, context }).repeat}`,
    };
    return { registered: { ...entry, problem }, result: skipped(cluster, message) };
  };
  return withContext<Awaited<ReturnType<typeof openTarget>>, Swept & { readonly result: ContextResult }>(
    () => openTarget({ ...options, context }, fleet),
    skip,
    async (target) => {
      const report = await approve(target, fleet.policies, clock, signal, {}, { dryRun: true });
      const { name, provider } = target.cluster;
      const swept = { id, cluster: { name, provider }, access: { kind: 'kubeconfig', secret: '' }, lane: '' } as const;
      return {
        registered: { ...entry, target: swept },
        outcome: outcomeOf(
          swept,
          { result: { report, server: target.workload.server }, problems: report.problems, failures: [] },
          { startedAt, finishedAt: clock() },
        ),
        result: {
          status: report.complete && (options.failOn === undefined || !isHostile(report)) ? EXIT.done : EXIT.incomplete,
          lines: sweepStory(report),
          document: report,
        },
      };
    },
    signal,
  );
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
