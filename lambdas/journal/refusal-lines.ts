import type { ApprovalPolicy } from '../approval/policy.ts';
import type { ClusterContext } from '../approval/request.ts';
import { isFor } from '../approval/selection.ts';
import type { ServerClock } from '../kubernetes/server-clock.ts';
import type { SigningRequest } from '../resources/signing-request.ts';
import { HOUR_MS } from '../time.ts';

/** `metadata.creationTimestamp` is cut to seconds, and clocks with NTP differ by less than a second. Milliseconds. */
const CREATED_WITHIN_MS = 2_000;

/** When a CSR was created, and from when a sweep may judge it. Milliseconds. */
export interface RefusedCsr {
  /** Since the epoch, by the clock of the API server. */
  readonly createdAt: number;
  /** The least that this clock is ahead of ours. */
  readonly skewMs: number;
  /** The youngest age at which a policy judges it. */
  readonly minAgeMs: number;
}

/**
 * Whether the refusal of a CSR is a line: in the first sweep that may judge it, then once an hour of its age. Pure. A
 * CSR from the seconds around the last sweep may get its first line twice; none loses it, however many ticks are
 * missed.
 *
 * @param now when this sweep began, in milliseconds since the epoch
 * @param lastHeard when the last sweep that read the cluster began; undefined if unknown: then it is the first
 */
export function isRefusalLine({ createdAt, skewMs, minAgeMs }: RefusedCsr, now: number, lastHeard?: number): boolean {
  if (lastHeard === undefined) return true;
  const created = createdAt - skewMs;
  // Ages are measured by the clock of the API server, also where it is wrong.
  const judgedFrom = Math.max(created + CREATED_WITHIN_MS, minAgeMs > 0 ? createdAt + minAgeMs : 0);
  const hoursAt = (time: number): number => Math.floor((time - created) / HOUR_MS);
  return judgedFrom > lastHeard || hoursAt(now) > hoursAt(lastHeard);
}

interface SweptCluster {
  readonly cluster: ClusterContext;
  /** The client: its clock is known when it has read. */
  readonly workload: { readonly clock?: ServerClock | undefined };
}

/** {@link isRefusalLine} for the CSRs of one sweep. */
export function refusalLines(
  { cluster, workload }: SweptCluster,
  policies: readonly ApprovalPolicy[],
  now: number,
  lastHeard: number | undefined,
): (csr: SigningRequest) => boolean {
  const ages = policies
    .filter((policy) => isFor(policy, cluster))
    .map(({ age }) => age[cluster.provider].minSeconds * 1_000);
  const minAgeMs = ages.length === 0 ? 0 : Math.min(...ages);
  return ({ createdAt }) =>
    createdAt === undefined ||
    isRefusalLine({ createdAt, skewMs: workload.clock?.skewMs ?? 0, minAgeMs }, now, lastHeard);
}
