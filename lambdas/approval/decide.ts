import { printable } from '../printable.ts';
import type { ApprovalSubject } from '../resources/approval-subject.ts';
import type { SigningRequest } from '../resources/signing-request.ts';
import { decideApproval, fault, unjudged } from './decide-approval.ts';
import type { Observed } from './observe.ts';
import type { EnginePolicy } from './policy.ts';
import { type ApprovalRequest, type ClusterContext, isNewer } from './request.ts';
import { type OwnApproval, unissuedApprovals } from './unissued.ts';
import type { Verdict } from './verdict.ts';

export interface Decision {
  readonly csr: SigningRequest;
  readonly subject: ApprovalSubject | undefined;
  readonly request: ApprovalRequest;
  readonly verdict: Verdict;
}

/**
 * Decides on every open request of one cluster, one at a time as the caller iterates, so that the first writes start
 * while later requests are still judged. While the signer does not issue, only the newest that a policy approves is
 * approved. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function* decide(
  cluster: ClusterContext,
  { open, evidence }: Pick<Observed, 'open' | 'evidence'>,
  policies: readonly EnginePolicy[],
  now: number,
  approvals: readonly OwnApproval[] = [],
): Generator<Decision> {
  const longestWait = Math.max(...policies.map(({ age }) => age[cluster.provider].maxSeconds)) * 1000;
  const unissued = unissuedApprovals(approvals, now);
  const isHeld = unissued.length > 0;
  const requests = isHeld ? open.toSorted(({ csr: a }, { csr: b }) => (isNewer(a, b) ? -1 : 1)) : open;
  let isOneApproved = false;
  for (const { csr, subject, askedAt, claims } of requests) {
    const pending = askedAt.filter((time) => time >= now - longestWait).length;
    const request: ApprovalRequest = { cluster, csr, siblings: { pending, claims } };
    const verdict = subject === undefined ? UNWRITABLE : decideApproval(request, evidence, policies, now);
    const isApproved = verdict.verdict === 'approve' && verdict.mode === 'enforce';
    yield { csr, subject, request, verdict: isHeld && isApproved && isOneApproved ? held(verdict, unissued) : verdict };
    isOneApproved ||= isApproved;
  }
}

function held(verdict: Verdict, unissued: readonly OwnApproval[]): Verdict {
  const csrs = unissued.slice(0, 4).map(({ name }) => printable(name, 100));
  const facts = { cause: 'unissued', count: unissued.length, csrs } as const;
  return { ...verdict, verdict: 'leave', reason: 'SignerDoesNotIssue', facts };
}

const UNWRITABLE = unjudged(
  'ObjectMalformed',
  fault('metadata lacks uid or resourceVersion, or is too large to be written back'),
);
