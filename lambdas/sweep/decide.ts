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
 * Decides on every open request of one cluster, one at a time as they are asked for, so that the first writes are under way while
 * the last requests are judged. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function* decide(
  cluster: ClusterContext,
  { open, evidence }: Observed,
  policies: readonly ApprovalPolicy[],
  now: number,
): Generator<Decision> {
  const longestWait = Math.max(0, ...policies.map(({ age }) => age[cluster.provider].maxSeconds));
  const siblingsOf = relateSiblings(
    open.map(({ csr }) => csr),
    now,
    longestWait,
  );
  for (const { csr, subject } of open) {
    const request: ApprovalRequest = { cluster, csr, siblings: siblingsOf(csr) };
    yield { csr, subject, request, verdict: decideApproval(request, evidence, policies, now) };
  }
}
