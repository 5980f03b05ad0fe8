import { MAX_SWEEP_PROBLEMS, type SweepOutcome } from '../contracts/outcome.ts';
import type { Target } from '../contracts/target.ts';
import { verdictLines } from '../fleet/verdict-lines.ts';
import { SERVER } from '../identifiers.ts';
import type { StageEnd } from './stage.ts';
import type { Approved } from './stages/approval.ts';

/**
 * Turns the result of the approvals of a target into an outcome for report. Pure.
 *
 * @param times milliseconds since the epoch
 */
export function outcomeOf(
  { id, cluster }: Target,
  { result, problems, failures }: Omit<StageEnd<Omit<Approved, 'open' | 'moved'>>, 'decisions'>,
  { startedAt, finishedAt }: { readonly startedAt: number; readonly finishedAt: number },
): SweepOutcome {
  const { report, workloadClusters, workloadClustersCut, endpointAddresses = [] } = result ?? {};
  const readable = report?.readable ?? false;
  // No credentials were presented: certmarshal failed before, or has none.
  const isUntried =
    (report === undefined && failures.length > 0) || (!readable && problems.some(({ kind }) => kind === 'credentials'));
  const at = new Date(startedAt).toISOString();
  const verdicts = verdictLines(report?.rows ?? [], at);
  return {
    id,
    name: cluster.name,
    provider: cluster.provider,
    startedAt: at,
    // A clock may be set back.
    durationMs: Math.max(0, Math.round(finishedAt - startedAt)),
    untried: isUntried ? true : undefined,
    readable,
    complete: report !== undefined && problems.length === 0,
    counts: report?.counts,
    problems: problems.slice(0, MAX_SWEEP_PROBLEMS),
    problemCount: problems.length,
    // Before authentication any server may have answered, or none: it says nothing about the cluster.
    server: result !== undefined && readable ? serverName(result.server) : undefined,
    workloadClusters,
    workloadClustersCut,
    // An address of EKS goes back to the VPC, where EC2 says whose it is.
    endpointAddresses: cluster.provider === 'eks' || endpointAddresses.length === 0 ? undefined : endpointAddresses,
    counted: report?.counted,
    verdicts: verdicts.length === 0 ? undefined : verdicts,
  };
}

/** Host, port and path of the URL of an API server, normalized; undefined if report would reject it. */
export function serverName(url: string): string | undefined {
  const { hostname, port, pathname } = new URL(url);
  const path = pathname.replace(/\/+$/, '');
  const server = `${unmapped(hostname.replace(/\.+$/, ''))}:${port === '' ? 443 : port}${path}`;
  return SERVER.test(server) ? server : undefined;
}

/** `[::ffff:a00:5]`, which is how URL writes an IPv4-mapped address, is 10.0.0.5. */
function unmapped(hostname: string): string {
  const [, high, low] = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(hostname) ?? [];
  if (high === undefined || low === undefined) return hostname;
  return [high, low]
    .map((part) => Number.parseInt(part, 16))
    .flatMap((pair) => [pair >> 8, pair & 0xff])
    .join('.');
}
