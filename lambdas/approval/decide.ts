import type { ApprovalSubject } from '../resources/approval-subject.ts';
import type { SigningRequest } from '../resources/signing-request.ts';
import { decideApproval } from './decide-approval.ts';
import type { Observed } from './observe.ts';
import type { EnginePolicy } from './policy.ts';
import type { ApprovalRequest, ClusterContext } from './request.ts';
import type { Verdict } from './verdict.ts';

/** One open request and its verdict. */
export interface Decision {
  readonly csr: SigningRequest;
  readonly subject: ApprovalSubject | undefined;
  readonly request: ApprovalRequest;
  readonly verdict: Verdict;
}

/**
 * Decides on every open request of one cluster, one at a time as the caller iterates, so that the first writes start
 * while later requests are still judged. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function* decide(
  cluster: ClusterContext,
  { open, evidence }: Pick<Observed, 'open' | 'evidence'>,
  policies: readonly EnginePolicy[],
  now: number,
): Generator<Decision> {
  const longestWait = Math.max(...policies.map(({ age }) => age[cluster.provider].maxSeconds)) * 1000;
  for (const { csr, subject, askedAt, claims } of open) {
    const pending = askedAt.filter((time) => time >= now - longestWait).length;
    const request: ApprovalRequest = { cluster, csr, siblings: { pending, claims } };
    const verdict = subject === undefined ? UNWRITABLE : decideApproval(request, evidence, policies, now);
    yield { csr, subject, request, verdict };
  }
}

const UNWRITABLE: Verdict = {
  verdict: 'leave',
  reason: 'ObjectMalformed',
  message: 'metadata lacks uid or resourceVersion, or is too large to be written back',
  hostile: false,
  checks: [],
  names: [],
};
