import type { SigningRequest } from '../resources/signing-request.ts';
import { instant, MINUTE_MS } from '../time.ts';
import { CONDITION_REASONS } from './condition-reasons.ts';
import { KUBELET_SERVING_SIGNER } from './policy.ts';

/** A signer takes seconds. */
const ISSUE_MS = 10 * MINUTE_MS;
const NEWEST = 3;
/** The newest approvals decide; a cluster of 5,000 nodes has far fewer in ten minutes. */
const MAX_APPROVALS = 2_000;

/** A CSR for a kubelet serving certificate that certmarshal approved. */
export interface OwnApproval {
  readonly name: string;
  readonly requester: string;
  /** Milliseconds since the epoch, by the clock of the API server. */
  readonly approvedAt: number;
  readonly state: 'issued' | 'failed' | 'approved';
}

/** Collects what certmarshal approved, in bounded memory: the newest stay. */
export function collectApprovals(): { add(csr: SigningRequest): void; all(): readonly OwnApproval[] } {
  let approvals: OwnApproval[] = [];
  return {
    add({ name, username: requester, signerName, conditions, issued }) {
      const approved = conditions.find(({ type }) => type === 'Approved');
      const approvedAt = instant(approved?.updated);
      if (approved?.reason !== CONDITION_REASONS.approve || approvedAt === undefined) return;
      if (signerName !== KUBELET_SERVING_SIGNER) return;
      const answered = conditions.some(({ type }) => type === 'Failed') ? 'failed' : 'approved';
      approvals.push({ name, requester, approvedAt, state: issued ? 'issued' : answered });
      if (approvals.length >= 2 * MAX_APPROVALS) approvals = approvals.toSorted(newestFirst).slice(0, MAX_APPROVALS);
    },
    all: () => approvals,
  };
}

/**
 * The approvals that the signer left without a certificate since it last issued or failed one, if they show that it
 * does not issue: three, or the only two, that are ten minutes old, of at least two nodes, because one may have a fault
 * of its own. Otherwise empty.
 * Pure.
 *
 * @param now milliseconds since the epoch
 */
export function unissuedApprovals(approvals: readonly OwnApproval[], now: number): readonly OwnApproval[] {
  const standing = approvals.filter(({ approvedAt }) => now - approvedAt >= ISSUE_MS).toSorted(newestFirst);
  const [newest] = standing;
  if (newest === undefined || approvals.some((one) => one.state === 'issued' && one.approvedAt >= newest.approvedAt))
    return [];
  const end = standing.findIndex(({ state }) => state !== 'approved');
  const unissued = end === -1 ? standing : standing.slice(0, end);
  const nodes = new Set(unissued.map(({ requester }) => requester));
  return unissued.length >= Math.min(NEWEST, standing.length) && nodes.size > 1 ? unissued : [];
}

/** Of the same second, what the signer answered counts as newer. */
function newestFirst(a: OwnApproval, b: OwnApproval): number {
  return b.approvedAt - a.approvedAt || Number(a.state === 'approved') - Number(b.state === 'approved');
}
