import type { Problem } from '../problem.ts';
import type { SweepReport } from '../sweep/report.ts';
import type { SweepOutcome, WorkloadCluster } from './outcome.ts';
import type { Target } from './target.ts';

/** An outcome travels through SQS and stays in the index; whoever has to mend more than these mends these first. */
const KEPT_PROBLEMS = 20;

interface Swept {
  readonly report?: SweepReport;
  readonly problems: readonly Problem[];
  /** URL of the API server. */
  readonly server?: string;
  readonly workloadClusters?: readonly WorkloadCluster[];
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly finishedAt: number;
}

/** Folds what became of a target into what report is told. Pure. */
export function outcomeOf({ id, cluster }: Target, swept: Swept): SweepOutcome {
  const { report, problems, server, workloadClusters, startedAt, finishedAt } = swept;
  return {
    version: 1,
    kind: 'sweep',
    id,
    name: cluster.name,
    provider: cluster.provider,
    startedAt: new Date(startedAt).toISOString(),
    durationMs: Math.round(finishedAt - startedAt),
    readable: report?.readable ?? false,
    complete: report !== undefined && problems.length === 0,
    ...(report === undefined ? {} : { counts: report.counts }),
    problems: problems.slice(0, KEPT_PROBLEMS),
    problemCount: problems.length,
    ...(server === undefined ? {} : { server: hostAndPort(server) }),
    ...(workloadClusters === undefined ? {} : { workloadClusters }),
  };
}

/** With the port also where it is the ordinary one. */
function hostAndPort(server: string): string {
  const { hostname, port } = new URL(server);
  return `${hostname}:${port === '' ? 443 : port}`;
}
