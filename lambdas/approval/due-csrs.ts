import { COUNTED_BACK_MS, type CsrCounts } from '../contracts/outcome.ts';
import { eachInTurns } from '../processor-time.ts';
import type { SigningRequest } from '../resources/signing-request.ts';
import type { Reason } from '../tables/reasons.ts';
import { instant, MINUTE_MS } from '../time.ts';
import type { Acted } from './act.ts';
import { CONDITION_REASONS } from './condition-reasons.ts';
import { decideApproval } from './decide-approval.ts';
import type { Observed } from './observe.ts';
import { ANY_AGE, type ApprovalPolicy, KUBELET_SERVING_SIGNER } from './policy.ts';
import { NODE_PREFIX } from './rules/rules.ts';
import { enforcing } from './selection.ts';
import type { Verdict } from './verdict.ts';

/** Source: kubelet certificate manager, certificateWaitTimeout: then it creates another CSR. */
const WAIT_MS = 15 * MINUTE_MS;
/** Four times the nodes that Kubernetes supports in a cluster. */
const MAX_REQUESTERS = 20_000;
/** About a second of judging. Names are random, so they are a fair sample; the rest is not counted. */
const MAX_JUDGED = 2_000;
/** The name of a Node has at most 253 characters. */
const MAX_USERNAME = NODE_PREFIX.length + 253;

/** The CSRs of nodes whose fifteenth minute lies between two times. Only counters, which bounds memory. */
export interface DueCsrs extends Pick<CsrCounts, 'from' | 'to' | 'issued' | 'late'> {
  /** Pending ones by username. */
  readonly pending: ReadonlyMap<string, number>;
}

/**
 * Counts CSRs while they are listed. The result of an issued one depends on its object only, so the next sweep counts
 * the same where the outcome of this one is lost.
 *
 * @param countedTo where the last counted sweep ended; without it nothing is due yet: the cluster was not watched
 * @param now milliseconds since the epoch
 */
export function collectDue(
  countedTo: number | undefined,
  now: number,
): { add(csr: SigningRequest): void; all(): DueCsrs } {
  const first = Math.max(countedTo ?? now, now - COUNTED_BACK_MS);
  const pending = new Map<string, number>();
  let [issued, late] = [0, 0];
  return {
    add(csr) {
      const { createdAt, username } = csr;
      if (createdAt === undefined || csr.deleting || csr.signerName !== KUBELET_SERVING_SIGNER) return;
      const dueAt = createdAt + WAIT_MS;
      if (dueAt < first || dueAt >= now || !username.startsWith(NODE_PREFIX) || username.length > MAX_USERNAME) return;
      const result = resultOf(csr, dueAt);
      if (result === 'issued') issued += 1;
      else if (result === 'late') late += 1;
      else if (result === 'pending' && (pending.has(username) || pending.size < MAX_REQUESTERS))
        pending.set(username, (pending.get(username) ?? 0) + 1);
    },
    all: () => ({ from: countedTo, to: now, issued, late, pending }),
  };
}

/** Rightly refused: denied, or approved by another and failed by the signer, because it is invalid. */
function resultOf({ conditions, issued }: SigningRequest, dueAt: number): 'issued' | 'late' | 'pending' | 'refused' {
  const approved = conditions.find(({ type }) => type === 'Approved');
  // kube-apiserver sets the time if the approver omits it (populateConditionTimestamps).
  if (issued) return (instant(approved?.updated) ?? 0) <= dueAt ? 'issued' : 'late';
  const isOurs = approved?.reason === CONDITION_REASONS.approve;
  if (!isOurs && conditions.some(({ type }) => type === 'Denied' || type === 'Failed')) return 'refused';
  return approved === undefined ? 'pending' : 'late';
}

interface Sweep extends Pick<Observed, 'cluster' | 'open' | 'evidence'> {
  readonly acted: readonly Acted[];
  /** Those in mode enforce are the promise, even while nothing is written to the cluster. */
  readonly policies: readonly ApprovalPolicy[];
  readonly signal: AbortSignal;
}

/**
 * Judges what is still pending: the verdict on the newest CSR of a requester, whatever its age, is that of all its due
 * ones. Rightly refused ones are not counted, and nothing where no policy in mode enforce selects the cluster. Evidence
 * that could not be read makes a CSR late: a failed read never looks like a success.
 *
 * @returns undefined if the signal aborted first: the next sweep counts them
 */
export async function countDue(due: DueCsrs, sweep: Sweep): Promise<CsrCounts | undefined> {
  const { from, to, issued, pending } = due;
  const promised = enforcing(sweep.policies, sweep.cluster);
  if (promised.length === 0) return { from, to, issued: 0, late: 0, notProvable: 0 };
  let { late } = due;
  let notProvable = 0;
  let isWhole = true;
  const judge = judgeNewest(sweep, promised, to);
  await eachInTurns([...pending].slice(0, MAX_JUDGED), ([username, csrs]) => {
    isWhole &&= !sweep.signal.aborted;
    const result = isWhole ? judge(username) : undefined;
    if (result === 'late') late += csrs;
    if (result === 'not provable') notProvable += csrs;
  });
  return isWhole ? { from, to, issued, late, notProvable } : undefined;
}

type Late = 'late' | 'not provable' | undefined;

function judgeNewest(
  { cluster, open, evidence, acted }: Sweep,
  promised: readonly ApprovalPolicy[],
  lookedAt: number,
): (username: string) => Late {
  const newest = new Map(open.map((request) => [request.csr.username, request]));
  const approved = new Set(
    acted
      .filter(({ verdict: { verdict, mode } }) => verdict === 'approve' && mode === 'enforce')
      .map(({ csr }) => csr.username),
  );
  const policies = promised.map((policy) => ({ ...policy, age: { eks: ANY_AGE, 'eks-anywhere': ANY_AGE } }));
  const longestWait = Math.max(...promised.map(({ age }) => age[cluster.provider].maxSeconds)) * 1000;
  const allRead = evidence.readings.every(
    ({ ok, source }) => ok || !promised.some((policy) => policy.evidence.includes(source)),
  );
  return (username) => {
    if (approved.has(username)) return 'late';
    const request = newest.get(username);
    if (request?.subject === undefined) return undefined;
    const { csr, askedAt, claims } = request;
    const createdAt = csr.createdAt ?? lookedAt;
    const siblings = { pending: askedAt.filter((time) => time >= createdAt - longestWait).length, claims };
    // A CSR made during the listing is not in the future.
    const now = Math.max(lookedAt, createdAt);
    return lateOf(decideApproval({ cluster, csr, siblings }, evidence, policies, now), allRead);
  };
}

/** More evidence could change these; if all sources were read, nothing proves the CSR. */
const WITHOUT_PROOF: ReadonlySet<Reason> = new Set([
  'EvidenceMissing',
  'EvidenceAmbiguous',
  'SanContested',
  'SanNotOwned',
]);
/** Whether it should have been approved is unknown, and that is our fault. */
const NOT_KNOWN: ReadonlySet<Reason> = new Set(['EvidenceUnreadable', 'JudgeFailed']);

function lateOf({ verdict, reason, hostile }: Verdict, allRead: boolean): Late {
  if (verdict === 'approve') return 'late';
  if (hostile) return undefined;
  if (NOT_KNOWN.has(reason)) return 'late';
  if (!WITHOUT_PROOF.has(reason)) return undefined;
  return allRead ? 'not provable' : 'late';
}
