import { canonicalAddress, canonicalDnsName } from '../names.ts';
import { printable } from '../printable.ts';
import { readSigningRequest, type SigningRequest } from '../resources/signing-request.ts';
import { REASONS, type Reason } from '../tables/reasons.ts';
import { verdictSentence } from '../words/verdict-words.ts';
import { decideApproval, gateReason } from './decide-approval.ts';
import type { Evidence } from './evidence/evidence.ts';
import { ANY_AGE, type EnginePolicy } from './policy.ts';
import type { ClusterContext } from './request.ts';
import { reservedAddress, reservedDnsName } from './rules/reserved-names.ts';
import type { RuleId } from './rules/rules.ts';
import type { NameProof, Verdict } from './verdict.ts';

/** A person's decision on one request. */
export interface DecidedByPerson {
  readonly decision: 'approve' | 'deny';
  /** Why, in their own words. */
  readonly because: string;
  /** Their user name, as the API server reports it. */
  readonly by: string;
}

export const MIN_BECAUSE = 10;
export const MAX_BECAUSE = 500;

/** What is wrong with a person's reason; undefined if it is valid. Pure. */
export function becauseProblem(because: string): string | undefined {
  const words = because.trim();
  if (words.length < MIN_BECAUSE || because.length > MAX_BECAUSE)
    return `takes ${MIN_BECAUSE} to ${MAX_BECAUSE} characters; got ${words.length < MIN_BECAUSE ? words.length : because.length}`;
  if (printable(because, MAX_BECAUSE) !== because)
    return 'takes printable characters on one line, no control characters, and none that change the direction of text';
  return undefined;
}

/**
 * Judges one request by every check, even where a sweep does not: too young, too old, superseded, or of a node that
 * floods. A person must not approve unchecked a request that sweeps no longer judge. Pure.
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

/** A person's decision, and what they saw. */
export interface Vouched {
  readonly decision: DecidedByPerson['decision'];
  /** From {@link judgeForPerson}. */
  readonly verdict: Verdict;
  /** With the endpoints and service CIDRs that were learned. */
  readonly cluster: ClusterContext;
  /** False if a source of evidence could not be read. */
  readonly allRead: boolean;
  /** Names that the person typed. */
  readonly names: readonly string[];
}

/** Why a person may not make this decision. */
export interface Refusal {
  /** One sentence without a full stop. */
  readonly message: string;
  readonly remedy: string;
  /** Names that have to be typed to decide anyway; absent if nothing helps. */
  readonly names?: readonly string[];
}

const NOTHING_TO_DECIDE: ReadonlySet<Reason> = new Set([
  'Deleting',
  'AlreadyApproved',
  'AlreadyDenied',
  'AlreadyFailed',
  'AlreadyIssued',
]);

/** Rules that a request of a node always passes, hostile or not. */
const ABOUT_NODES: ReadonlySet<string> = new Set(['requester', 'groups', 'request'] satisfies readonly RuleId[]);

/** Rules whose hostile failures a person can override by typing names. */
const ABOUT_NAMES: ReadonlySet<string> = new Set([
  'san-wildcard',
  'san-well-formed',
  'san-reserved',
  'san-proven',
] satisfies readonly RuleId[]);

/**
 * Why a person may not make this decision; undefined if they may. A denial needs no judgement: the kubelet asks again.
 * An approval needs one. If a name makes the request hostile, belongs to another node, is contested or reserved, if a DNS
 * name is not proven, or if evidence could not be read, every name that is not proven has to be typed. A reserved name is
 * never proven. A request that is hostile otherwise, or not of a node, is never approved. Pure.
 */
export function refusalOf({ decision, verdict, cluster, allRead, names }: Vouched): Refusal | undefined {
  const { reason, hostile, checks } = verdict;
  const message = verdictSentence(verdict.facts);
  if (reason === 'NotKubeletServing') return { message, remedy: 'certmarshal judges no requests for other signers.' };
  if (NOTHING_TO_DECIDE.has(reason)) return { message, remedy: REASONS[reason].next };
  if (decision === 'deny') return undefined;
  if (checks.length === 0) return { message: `it was not judged: ${message}`, remedy: REASONS[reason].next };

  const unproven = verdict.names.filter((name) => !name.proven || isReserved(name, cluster));
  const beyondNames = checks.filter(
    ({ rule, passed, hostile: isHostile }) =>
      !passed && (isHostile === true || ABOUT_NODES.has(rule)) && !ABOUT_NAMES.has(rule),
  );
  if (beyondNames.length > 0 || (hostile && unproven.length === 0))
    return {
      message: `it fails not only because of a name that a person could vouch for: ${failedRules(verdict)}`,
      remedy: REASONS[reason].next,
    };
  const wanted = [...new Set(unproven.map(({ name }) => name))];
  const remedy =
    wanted.length === 0
      ? 'Every name is proven: type no name.'
      : 'Only if you know that the node has them: type every name that is not proven, and no other.';
  if (names.length > 0)
    return isSameSet(names, wanted)
      ? undefined
      : { message: 'the typed names are not exactly the unproven names', remedy, names: wanted };
  const why = whyTyped(verdict, cluster, allRead);
  return why === undefined || wanted.length === 0 ? undefined : { message: why, remedy, names: wanted };
}

/** Why the object is no longer the one that was shown. Pure. */
export function overtakenBy(uid: string, now: unknown): string {
  const read = readSigningRequest(now);
  if (!read.ok) return `it cannot be read any more: ${read.problem}`;
  if (read.csr.uid !== uid) return `another request has its name now, uid ${printable(read.csr.uid, 100)}`;
  const gate = gateReason(read.csr);
  return gate === undefined ? 'it was changed, and is still pending' : verdictSentence(gate.facts);
}

/** Why `--yes` alone does not approve it; undefined if it does. */
function whyTyped({ hostile, names, checks }: Verdict, cluster: ClusterContext, allRead: boolean): string | undefined {
  if (hostile) return 'it is provably hostile';
  if (names.some((name) => isReserved(name, cluster))) return 'it has a name that no node may have';
  if (names.some(({ ownedBy }) => ownedBy !== undefined)) return 'a name in it belongs to another node';
  if (checks.some(({ reason }) => reason === 'SanContested')) return 'a name in it is claimed by others too';
  if (checks.some(({ reason }) => reason === 'SanNotOwned' || reason === 'SanMalformed') && names.some(isUnprovenDns))
    return 'a DNS name in it is not known to be the node’s';
  return allRead ? undefined : 'evidence could not be read, so the owner of its names is unknown';
}

function isUnprovenDns({ kind, proven }: NameProof): boolean {
  return kind === 'dns' && !proven;
}

function isReserved({ name }: NameProof, cluster: ClusterContext): boolean {
  const address = canonicalAddress(name);
  const reserved =
    address === undefined ? reservedDnsName(canonicalDnsName(name), cluster) : reservedAddress(address, cluster);
  return reserved !== undefined;
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
