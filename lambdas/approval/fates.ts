import { type ToldRow, WAIT_BOUNDS } from '../contracts/fates.ts';
import { eachInTurns } from '../processor-time.ts';
import type { SigningRequest } from '../resources/signing-request.ts';
import { FATES, type Fate, toldMinutes } from '../slo/fates.ts';
import type { Reason } from '../tables/reasons.ts';
import { instant, MINUTE_MS } from '../time.ts';
import type { Acted } from './act.ts';
import { CONDITION_REASONS } from './condition-reasons.ts';
import { decideApproval } from './decide-approval.ts';
import type { Evidence } from './evidence/evidence.ts';
import type { OpenRequest } from './open-requests.ts';
import { ANY_AGE, type ApprovalPolicy, KUBELET_SERVING_SIGNER } from './policy.ts';
import type { ClusterContext } from './request.ts';
import { NODE_PREFIX } from './rules/rules.ts';
import { enforcing } from './selection.ts';
import type { Verdict } from './verdict.ts';

/** Four times the nodes that Kubernetes supports in a cluster; their counters take 6 MiB. */
const MAX_REQUESTERS = 20_000;
/** About a second of judging, in every sweep while they wait; the next sweep is due in a minute. */
const MAX_JUDGED = 2_000;
/** The name of a Node has at most 253 characters. */
const MAX_USERNAME = NODE_PREFIX.length + 253;

/** Counters of a minute: one for each of `FATES`, then one for each of `WAIT_BOUNDS`. */
type Counts = [number, number, number, number, number, ...number[]];
const none = (): Counts => [0, 0, 0, 0, 0, ...WAIT_BOUNDS.map(() => 0)];

/** Requests of nodes, 15 to 60 minutes old, found by one sweep. Only counters, which bounds memory. */
export interface AskedRequests {
  /** When the sweep began; milliseconds since the epoch. */
  readonly lookedAt: number;
  /** Counters of decided requests by minute; a minute with only pending ones has an entry too. */
  readonly decided: ReadonlyMap<number, Readonly<Counts>>;
  /** Pending requests by username: how many in each minute, from the first of `toldMinutes`. */
  readonly undecided: ReadonlyMap<string, Uint32Array>;
}

/**
 * Counts the requests with a known fate while they are listed. Skips those of others than nodes, and those being
 * deleted.
 */
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

/** Undefined for a pending request. What another approved and the signer failed was invalid. */
function fateOfDecided({ conditions, issued }: SigningRequest): Fate | undefined {
  const approved = conditions.find(({ type }) => type === 'Approved');
  const isOurs = approved?.reason === CONDITION_REASONS.approve;
  if (issued) return isOurs ? 'us' : 'others';
  if (!isOurs && conditions.some(({ type }) => type === 'Denied' || type === 'Failed')) return 'refused';
  return approved === undefined ? undefined : 'missed';
}

/**
 * Index of the first of `WAIT_BOUNDS` that covers the wait, else of the last; undefined if the time of approval is
 * missing. An approver may set that time by its own clock; if that is slow, the wait counts as the shortest. Source:
 * kube-apiserver, populateConditionTimestamps, sets `lastUpdateTime` if the approver omits it.
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
  /** Those in mode enforce are the promise, even while nothing is written to the cluster. */
  readonly policies: readonly ApprovalPolicy[];
  readonly signal: AbortSignal;
}

/**
 * The fates of the requests of one sweep, and the waits of the approved ones: one row for each minute in which nodes
 * asked. The verdict on the newest pending request of a requester, regardless of its age, decides the fate of all its
 * pending ones.
 *
 * A request that no policy in mode enforce selects is not counted. Its minute still has a row, so that a future policy
 * does not change the past. Pending requests of more than 2,000 requesters, or beyond the memory of a sweep, are not
 * counted either: judging them would let a storm take the time of all other requests; counting them as missed would let
 * anyone who invents names spend the error budget. Names of requests are random, so the judged ones are a fair sample.
 *
 * Yields to other work like `act`. If the signal aborts, minutes with a request that was not judged have no row: a
 * later sweep adds them.
 */
export async function tellFates(asked: AskedRequests, look: Look): Promise<readonly ToldRow[]> {
  const promised = enforcing(look.policies, look.cluster);
  const rows = new Map<number, Counts>(
    [...asked.decided].map(([minute, counts]) => [minute, promised.length === 0 ? none() : [...counts]]),
  );
  if (promised.length > 0 && asked.undecided.size > 0) await addUndecided(rows, asked, look, promised);
  return [...rows].toSorted(([a], [b]) => a - b).map(([minute, counts]) => rowOf(minute, counts));
}

function rowOf(minute: number, [us, others, missed, refused, unprovable, ...waits]: Readonly<Counts>): ToldRow {
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
    const { csr, subject, askedAt, claims } = request;
    if (subject === undefined) return 'refused';
    const then = csr.createdAt ?? lookedAt;
    const pending = askedAt.filter((time) => time >= then - longestWait).length;
    // A request made during the listing is not in the future.
    const now = Math.max(lookedAt, then);
    const siblings = { pending, claims };
    return fateOfUndecided(decideApproval({ cluster, csr, siblings }, evidence, policies, now), allRead);
  };
}

/** More evidence could change these; if all sources were read, nothing proves the request. */
const WITHOUT_PROOF: ReadonlySet<Reason> = new Set([
  'EvidenceMissing',
  'EvidenceAmbiguous',
  'SanContested',
  'SanNotOwned',
]);
/** Whether it should have been approved is unknown, and that is our fault. */
const NOT_KNOWN: ReadonlySet<Reason> = new Set(['EvidenceUnreadable', 'JudgeFailed']);

function fateOfUndecided({ verdict, reason, hostile }: Verdict, allRead: boolean): Fate {
  if (verdict === 'approve') return 'missed';
  if (hostile) return 'refused';
  if (NOT_KNOWN.has(reason)) return 'missed';
  if (!WITHOUT_PROOF.has(reason)) return 'refused';
  return allRead ? 'unprovable' : 'missed';
}
