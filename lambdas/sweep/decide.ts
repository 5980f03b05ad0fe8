import { decideApproval } from '../approval/decide.ts';
import type { ApprovalPolicy } from '../approval/policy.ts';
import type { ApprovalRequest, ClusterContext } from '../approval/request.ts';
import { relateSiblings } from '../approval/siblings.ts';
import type { Verdict } from '../approval/verdict.ts';
import type { Observed } from './observe.ts';
import type { OpenRequest } from './open-requests.ts';

/** One open request and what becomes of it. */
export interface Decision extends OpenRequest {
  readonly request: ApprovalRequest;
  readonly verdict: Verdict;
}

/**
 * Decides on every open request of one cluster. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function decide(
  cluster: ClusterContext,
  { open, evidence }: Observed,
  policies: readonly ApprovalPolicy[],
  now: number,
): readonly Decision[] {
  const longestWait = Math.max(0, ...policies.map(({ age }) => age[cluster.provider].maxSeconds));
  const siblingsOf = relateSiblings(
    open.map(({ csr }) => csr),
    now,
    longestWait,
  );
  return open.map(({ csr, subject }) => {
    const request: ApprovalRequest = { cluster, csr, siblings: siblingsOf(csr) };
    return { csr, subject, request, verdict: decideApproval(request, evidence, policies, now) };
  });
}
