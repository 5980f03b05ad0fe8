import type { SweepReport } from '../approval/report.ts';
import { MAX_SWEEP_PROBLEMS, type SweepOutcome, type WorkloadCluster } from '../contracts/outcome.ts';
import type { Problem } from '../contracts/problem.ts';
import type { Target } from '../contracts/target.ts';
import { verdictLines } from '../fleet/verdict-lines.ts';
import { SERVER } from '../identifiers.ts';

interface Swept {
  readonly report?: SweepReport;
  readonly problems: readonly Problem[];
  /** URL of the API server. */
  readonly server?: string;
  readonly workloadClusters?: readonly WorkloadCluster[];
  readonly workloadClustersCut?: true;
  readonly untried?: true;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly finishedAt: number;
}

/** Folds what became of a target into what report is told. Pure. */
export function outcomeOf({ id, cluster }: Target, swept: Swept): SweepOutcome {
  const { report, problems, workloadClusters, workloadClustersCut, untried, startedAt, finishedAt } = swept;
  // Before it let us in, any server may have answered, or none: it says nothing about the cluster.
  const server = report?.readable === true && swept.server !== undefined ? serverName(swept.server) : undefined;
  const at = new Date(startedAt).toISOString();
  const verdicts = verdictLines(report?.rows ?? [], at);
  return {
    version: 1,
    kind: 'sweep',
    id,
    name: cluster.name,
    provider: cluster.provider,
    startedAt: at,
    durationMs: Math.round(finishedAt - startedAt),
    untried,
    readable: report?.readable ?? false,
    complete: report !== undefined && problems.length === 0,
    counts: report?.counts,
    problems: problems.slice(0, MAX_SWEEP_PROBLEMS),
    problemCount: problems.length,
    server,
    workloadClusters,
    workloadClustersCut,
    fates: report?.fates,
    verdicts: verdicts.length === 0 ? undefined : verdicts,
  };
}

/** Host, port and path of the URL of an API server, in one spelling however it spells them; undefined when report would not take it. */
export function serverName(url: string): string | undefined {
  const { hostname, port, pathname } = new URL(url);
  const path = pathname.replace(/\/+$/, '');
  const server = `${unmapped(hostname.replace(/\.+$/, ''))}:${port === '' ? 443 : port}${path}`;
  return SERVER.test(server) ? server : undefined;
}

/** `[::ffff:a00:5]`, as URL spells an IPv4 address that came as IPv6, is 10.0.0.5. */
function unmapped(hostname: string): string {
  const [, high, low] = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(hostname) ?? [];
  if (high === undefined || low === undefined) return hostname;
  return [high, low]
    .map((part) => Number.parseInt(part, 16))
    .flatMap((pair) => [pair >> 8, pair & 0xff])
    .join('.');
}
