import { canonicalAddress, canonicalDnsName } from '../names.ts';
import { printable } from '../printable.ts';
import { readSigningRequest, type SigningRequest } from '../resources/signing-request.ts';
import { REASONS, type Reason } from '../tables/reasons.ts';
import { decideApproval, gateReason } from './decide-approval.ts';
import type { Evidence } from './evidence/evidence.ts';
import { ANY_AGE, type EnginePolicy } from './policy.ts';
import type { ClusterContext } from './request.ts';
import type { Verdict } from './verdict.ts';

/** What a person decided on one request. */
export interface DecidedByPerson {
  readonly decision: 'approve' | 'deny';
  /** Why, in their own words. */
  readonly because: string;
  /** The user that the API server takes them for. */
  readonly by: string;
}

export const MIN_BECAUSE = 10;
export const MAX_BECAUSE = 500;

/** What is wrong with the words of a person; undefined where they can be written down. Pure. */
export function becauseProblem(because: string): string | undefined {
  const words = because.trim();
  if (words.length < MIN_BECAUSE || because.length > MAX_BECAUSE)
    return `takes ${MIN_BECAUSE} to ${MAX_BECAUSE} characters; got ${words.length < MIN_BECAUSE ? words.length : because.length}`;
  if (printable(because, MAX_BECAUSE) !== because)
    return 'takes printable characters on one line: no control character, and none that changes the direction of text';
  return undefined;
}

/**
 * Judges one request by every check, also where a sweep does not: too young, too old, not the newest of its node, of a node that floods. Who waits until a request is
 * not judged any more must not get it approved unseen. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function judgeForPerson(
  cluster: ClusterContext,
  csr: SigningRequest,
  evidence: Evidence,
  policies: readonly EnginePolicy[],
  now: number,
): Verdict {
  const atAnyAge = policies.map((policy) => ({ ...policy, age: { eks: ANY_AGE, 'eks-anywhere': ANY_AGE } }));
  return decideApproval({ cluster, csr, siblings: { pending: 1 } }, evidence, atAnyAge, now);
}

/** What a person looked at. */
export interface Vouched {
  readonly decision: DecidedByPerson['decision'];
  /** By every check: {@link judgeForPerson}. */
  readonly verdict: Verdict;
  /** False where a source of evidence could not be read: what it would have said is not known. */
  readonly allRead: boolean;
  /** Names that the person typed. */
  readonly names: readonly string[];
}

/** Why a person may not decide so. */
export interface Refusal {
  /** One sentence without a full stop. */
  readonly message: string;
  readonly remedy: string;
  /** What has to be typed for it all the same; absent where nothing helps. */
  readonly names?: readonly string[];
}

const NOTHING_TO_DECIDE: ReadonlySet<Reason> = new Set([
  'Deleting',
  'AlreadyApproved',
  'AlreadyDenied',
  'AlreadyFailed',
  'AlreadyIssued',
]);

/**
 * Undefined where a person may decide so. An approval needs a judgement; where that is hostile, where a name is another's, or where evidence could not be read, every
 * name that is not proven has to be typed. A denial takes nothing from anybody that a kubelet does not ask for again. Pure.
 */
export function refusalOf({ decision, verdict, allRead, names }: Vouched): Refusal | undefined {
  const { reason, message, hostile, checks } = verdict;
  if (reason === 'NotKubeletServing')
    return { message, remedy: 'Requests of other signers are no business of certmarshal.' };
  if (NOTHING_TO_DECIDE.has(reason)) return { message, remedy: REASONS[reason].next };
  if (decision === 'deny') return undefined;
  if (checks.length === 0) return { message: `it was not judged: ${message}`, remedy: REASONS[reason].next };

  const unproven = [...new Set(verdict.names.flatMap(({ name, proven }) => (proven ? [] : [name])))];
  const foreign = verdict.names.some(({ ownedBy }) => ownedBy !== undefined);
  if (hostile && unproven.length === 0)
    return {
      message: `it is provably hostile, and not by a name that a person could vouch for: ${failedRules(verdict)}`,
      remedy: REASONS[reason].next,
    };
  const mustType = hostile || foreign || !allRead;
  if (names.length > 0 ? isSameSet(names, unproven) : !mustType || unproven.length === 0) return undefined;
  return {
    message: names.length > 0 ? 'the names that were typed are not those that are not proven' : why(hostile, foreign),
    remedy:
      unproven.length === 0
        ? 'Every name is proven: type none.'
        : 'Only if you know that the node has them: type every name that is not proven, and no other.',
    names: unproven,
  };
}

/** Why a write met another object than the one that was shown. Pure. */
export function overtakenBy(uid: string, now: unknown): string {
  const read = readSigningRequest(now);
  if (!read.ok) return `it cannot be read any more: ${read.problem}`;
  if (read.csr.uid !== uid) return `another request has its name now, uid ${printable(read.csr.uid, 100)}`;
  return gateReason(read.csr)?.message ?? 'it was changed, and is still undecided';
}

function why(hostile: boolean, foreign: boolean): string {
  if (hostile) return 'it is provably hostile';
  return foreign
    ? 'a name of it belongs to another'
    : 'evidence could not be read, so whose its names are is not known';
}

function failedRules({ checks }: Verdict): string {
  return checks.flatMap(({ passed, rule }) => (passed ? [] : [rule])).join(', ');
}

function isSameSet(typed: readonly string[], wanted: readonly string[]): boolean {
  const a = new Set(typed.map(canonical));
  const b = new Set(wanted.map(canonical));
  return a.size === b.size && [...a].every((name) => b.has(name));
}

function canonical(name: string): string {
  return canonicalAddress(name) ?? canonicalDnsName(name);
}
