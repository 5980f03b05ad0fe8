import { type ToldRow, WAIT_BOUNDS } from '../contracts/fates.ts';
import { eachInTurns } from '../processor-time.ts';
import type { SigningRequest } from '../resources/signing-request.ts';
import { FATES, type Fate, toldMinutes } from '../slo/fates.ts';
import type { Reason } from '../tables/reasons.ts';
import { instant, MINUTE_MS } from '../time.ts';
import { type Acted, CONDITION_REASONS } from './act.ts';
import { decideApproval } from './decide-approval.ts';
import type { Evidence } from './evidence/evidence.ts';
import type { OpenRequest } from './open-requests.ts';
import { ANY_AGE, type ApprovalPolicy, KUBELET_SERVING_SIGNER } from './policy.ts';
import type { ClusterContext } from './request.ts';
import { NODE_PREFIX } from './rules/rules.ts';
import { isFor } from './selection.ts';
import type { Verdict } from './verdict.ts';

/** Four times the nodes that Kubernetes supports in a cluster: the minutes of so many requesters take 6 MiB. */
const MAX_REQUESTERS = 20_000;
/** About a second of judging, in every sweep while they wait; a look at the cluster is due again in a minute. */
const MAX_JUDGED = 2_000;
/** The name of a Node has at most 253 characters; nobody with a longer one is a node. */
const MAX_USERNAME = NODE_PREFIX.length + 253;

/** Of a minute: as many as `FATES`, then as many as `WAIT_BOUNDS`. */
type Counts = number[];
const none = (): Counts => [...FATES, ...WAIT_BOUNDS].map(() => 0);

/** The requests of nodes, 15 to 60 minutes old, that one look found. Counters only, whatever the cluster sends. */
export interface AskedRequests {
  /** When it began; milliseconds since the epoch. */
  readonly lookedAt: number;
  /** Of those that are decided, by minute; a minute in which all are undecided is there too. */
  readonly decided: ReadonlyMap<number, Readonly<Counts>>;
  /** The undecided ones by username: how many of each minute, from the first that can be told. */
  readonly undecided: ReadonlyMap<string, Uint32Array>;
}

/** Counts the requests whose fate can be told, as they are listed. Those of others than nodes, and those being deleted, do not count. */
export function collectAsked(lookedAt: number): { add(csr: SigningRequest): void; all(): AskedRequests } {
  const { first, end } = toldMinutes(lookedAt);
  const decided = new Map<number, Counts>();
  const undecided = new Map<string, Uint32Array>();
  return {
    add(csr) {
      const { createdAt, username } = csr;
      if (createdAt === undefined || csr.deleting || csr.signerName !== KUBELET_SERVING_SIGNER) return;
      const minute = Math.floor(createdAt / MINUTE_MS);
      if (minute < first || minute >= end || !username.startsWith(NODE_PREFIX)) return;
      const counts = decided.get(minute) ?? none();
      decided.set(minute, counts);
      const fate = username.length > MAX_USERNAME ? 'refused' : fateOfDecided(csr);
      if (fate !== undefined) {
        counts[FATES.indexOf(fate)]! += 1;
        const wait = fate === 'us' || fate === 'others' ? waitOf(csr, createdAt) : undefined;
        if (wait !== undefined) counts[FATES.length + wait]! += 1;
        return;
      }
      let minutes = undecided.get(username);
      if (minutes === undefined) {
        if (undecided.size >= MAX_REQUESTERS) return;
        minutes = new Uint32Array(end - first);
        undecided.set(username, minutes);
      }
      minutes[minute - first]! += 1;
    },
    all: () => ({ lookedAt, decided, undecided }),
  };
}

/** Undefined for one that is undecided. What the signer refused was accepted all the same, by whoever approved it. */
function fateOfDecided({ conditions, issued }: SigningRequest): Fate | undefined {
  const approved = conditions.find(({ type }) => type === 'Approved');
  if (approved !== undefined) return approved.reason === CONDITION_REASONS.approve ? 'us' : 'others';
  if (issued) return 'others';
  return conditions.some(({ type }) => type === 'Denied' || type === 'Failed') ? 'refused' : undefined;
}

/**
 * The first of `WAIT_BOUNDS` that it did not outwait, by its index; undefined where nobody says when it was approved. An approver may say so by its own clock,
 * and one that is behind makes no wait. Source: kube-apiserver, populateConditionTimestamps, sets `lastUpdateTime` where the approver leaves it out.
 */
function waitOf({ conditions }: SigningRequest, createdAt: number): number | undefined {
  const approvedAt = instant(conditions.find(({ type }) => type === 'Approved')?.updated);
  if (approvedAt === undefined) return undefined;
  const bound = WAIT_BOUNDS.findIndex((seconds) => approvedAt - createdAt <= seconds * 1_000);
  return bound === -1 ? WAIT_BOUNDS.length - 1 : bound;
}

interface Look {
  readonly cluster: ClusterContext;
  readonly open: readonly OpenRequest[];
  readonly evidence: Evidence;
  readonly acted: readonly Acted[];
  /** Those in mode enforce are the promise, also while nothing is written to the cluster. */
  readonly policies: readonly ApprovalPolicy[];
  readonly signal: AbortSignal;
}

/**
 * The fates of the requests of a look, and how long the approved ones waited: one row for each minute in which nodes asked. Whether an undecided one was missed
 * is the verdict on the newest undecided request of its requester, as if that were of an age at which it is judged.
 *
 * A request that no policy in mode enforce selects is in no count; its minute has a row all the same, so that a policy which comes later changes nothing of
 * before. Neither counted are the undecided ones of more than 2,000 requesters, or of those for which a sweep has no room: to judge them is to let a storm
 * take the time of all other requests; to call them missed without looking is to let whoever can make up names spend the budget. The names of requests are
 * random, so those that were judged stand for the others.
 *
 * Gives way to others as `act` does. When the signal aborts, minutes with a request that was not judged have no row: a later look tells them.
 */
export async function tellFates(asked: AskedRequests, look: Look): Promise<readonly ToldRow[]> {
  const promised = promisedBy(look.policies, look.cluster);
  const rows = new Map<number, Counts>(
    [...asked.decided].map(([minute, counts]) => [minute, promised.length === 0 ? none() : [...counts]]),
  );
  if (promised.length > 0 && asked.undecided.size > 0) await addUndecided(rows, asked, look, promised);
  return [...rows].toSorted(([a], [b]) => a - b).map(([minute, counts]) => rowOf(minute, counts));
}

function rowOf(
  minute: number,
  [us = 0, others = 0, missed = 0, refused = 0, unprovable = 0, ...waits]: Readonly<Counts>,
): ToldRow {
  return [minute, us, others, missed, refused, unprovable, ...(waits.some((count) => count > 0) ? waits : [])];
}

async function addUndecided(
  rows: Map<number, Counts>,
  { lookedAt, undecided }: AskedRequests,
  look: Look,
  promised: readonly ApprovalPolicy[],
): Promise<void> {
  const { first } = toldMinutes(lookedAt);
  const fateOf = judgeNewest(look, promised, lookedAt);
  await eachInTurns([...undecided].slice(0, MAX_JUDGED), ([username, minutes]) => {
    const fate = look.signal.aborted ? 'untold' : fateOf(username);
    if (fate === undefined) return;
    for (const [index, count] of minutes.entries()) {
      if (count === 0) continue;
      if (fate === 'untold') rows.delete(first + index);
      else {
        const counts = rows.get(first + index);
        if (counts !== undefined) counts[FATES.indexOf(fate)]! += count;
      }
    }
  });
}

/** The policies that promise something to the nodes of a cluster, for requests of any age. */
function promisedBy(policies: readonly ApprovalPolicy[], cluster: ClusterContext): readonly ApprovalPolicy[] {
  return policies.filter(
    (policy) => policy.mode === 'enforce' && policy.signers.includes(KUBELET_SERVING_SIGNER) && isFor(policy, cluster),
  );
}

function judgeNewest(
  { cluster, open, evidence, acted }: Look,
  promised: readonly ApprovalPolicy[],
  lookedAt: number,
): (username: string) => Fate | undefined {
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
    if (approved.has(username)) return 'missed';
    const request = newest.get(username);
    if (request === undefined) return undefined;
    const { csr, subject, askedAt } = request;
    if (subject === undefined) return 'refused';
    const then = csr.createdAt ?? lookedAt;
    const pending = askedAt.filter((time) => time >= then - longestWait).length;
    // One that was made while requests were listed is not of the future.
    const now = Math.max(lookedAt, then);
    return fateOfUndecided(decideApproval({ cluster, csr, siblings: { pending } }, evidence, policies, now), allRead);
  };
}

/** What a source that knows more would change; with all sources read, nothing proves the request. */
const WITHOUT_PROOF: ReadonlySet<Reason> = new Set([
  'EvidenceMissing',
  'EvidenceAmbiguous',
  'SanContested',
  'SanNotOwned',
]);
/** Nobody knows whether it should have been approved, and that is our fault. */
const NOT_KNOWN: ReadonlySet<Reason> = new Set(['EvidenceUnreadable', 'JudgeFailed']);

function fateOfUndecided({ verdict, reason, hostile }: Verdict, allRead: boolean): Fate {
  if (verdict === 'approve') return 'missed';
  if (hostile) return 'refused';
  if (NOT_KNOWN.has(reason)) return 'missed';
  if (!WITHOUT_PROOF.has(reason)) return 'refused';
  return allRead ? 'unprovable' : 'missed';
}
