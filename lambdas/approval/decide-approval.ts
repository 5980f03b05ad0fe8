import type { VerdictFacts } from '../contracts/verdict-facts.ts';
import { printable } from '../printable.ts';
import type { SigningRequest } from '../resources/signing-request.ts';
import { REASONS, type Reason } from '../tables/reasons.ts';
import type { DecodedRequest } from '../x509/certificate-request.ts';
import { decodeCertificateRequest } from '../x509/decode-certificate-request.ts';
import { verifyRequestSignature } from '../x509/verify-signature.ts';
import { standingClaims } from './claims.ts';
import type { Evidence } from './evidence/evidence.ts';
import { type EnginePolicy, KUBELET_SERVING_SIGNER, type Mode } from './policy.ts';
import type { ApprovalRequest, ClusterContext } from './request.ts';
import { claimedOfAnother, mayBeControlPlane, proveOwnership } from './rules/ownership.ts';
import { commonNames, evaluateRules, type Judged, NODE_PREFIX } from './rules/rules.ts';
import { isFor } from './selection.ts';
import type { Check, NameProof, Verdict } from './verdict.ts';

/** A kubelet waits 15 minutes for one request before it makes the next; more than this many pending ones is a flood. */
export const FLOOD_LIMIT = 50;

const CLOCK_TOLERANCE_MS = 5 * 60_000;

/**
 * Decides on one CertificateSigningRequest. Pure: no I/O, no clock, a verdict for every input. Policies combine by OR
 * (one that approves is enough), the rules of a policy by AND. A request is denied only if every policy that judges it
 * finds it hostile, and every policy that selects it has `onHostile: deny`.
 *
 * @param now milliseconds since the epoch
 */
export function decideApproval(
  request: ApprovalRequest,
  evidence: Evidence,
  policies: readonly EnginePolicy[],
  now: number,
): Verdict {
  try {
    return judge(request, evidence, policies, now);
  } catch (error) {
    // A bug. A request that triggers it must not stop the judgement of all others.
    return unjudged('JudgeFailed', fault(printable(String(error))));
  }
}

function judge(request: ApprovalRequest, evidence: Evidence, policies: readonly EnginePolicy[], now: number): Verdict {
  const { csr, cluster } = request;
  const own = policies.find(({ signerRules }) => signerRules?.signer === csr.signerName)?.signerRules;
  const gate = gateReason(csr, own?.signer);
  if (gate !== undefined) return unjudged(gate.reason, gate.facts);

  const selected = policies.filter(
    (policy) =>
      policy.signerRules?.signer === own?.signer && policy.signers.includes(csr.signerName) && isFor(policy, cluster),
  );
  if (selected.length === 0)
    return unjudged('NoPolicySelected', {
      cause: 'unselected',
      cluster: printable(cluster.name, 100),
      provider: cluster.provider,
    });

  if (csr.createdAt === undefined)
    return unjudged('ObjectMalformed', fault('metadata.creationTimestamp is missing or unreadable'));
  const ageMs = now - csr.createdAt;
  if (ageMs < -CLOCK_TOLERANCE_MS) return unjudged('ClockSkew', { cause: 'future', seconds: seconds(-ageMs) });
  const inTime = selected.filter((policy) => ageReason(ageMs, policy, cluster) === undefined);
  // A policy for another age still counts: no other policy denies what it would leave pending.
  const mayDeny = selected.every(({ onHostile }) => onHostile === 'deny');
  const { claims } = request.siblings;
  const standing = claims === undefined ? [] : standingClaims(claims, now);
  const [first] = selected;
  if (inTime.length === 0 && first !== undefined) {
    // A theft that stands is older than what a kubelet waits for.
    const late =
      standing.length > 0
        ? combine(judgeByEach(request, evidence, selected, now, standing), cluster, mayDeny)
        : undefined;
    if (late?.checks.some(({ rule, hostile }) => rule === 'san-standing' && hostile) === true) return late;
    const { minSeconds: min, maxSeconds: max } = first.age[cluster.provider];
    const facts = { cause: 'age', seconds: seconds(Math.max(0, ageMs)), min, max } as const;
    const policy = { policy: first.name, mode: first.mode[cluster.provider] };
    return { ...unjudged(ageReason(ageMs, first, cluster) ?? 'Orphaned', facts), ...policy };
  }

  if (request.siblings.supersededBy !== undefined)
    return unjudged('Superseded', { cause: 'newer', csr: printable(request.siblings.supersededBy, 100) });
  if (request.siblings.pending > FLOOD_LIMIT)
    return unjudged('RequesterQuarantined', {
      cause: 'flood',
      requester: printable(csr.username, 100),
      count: request.siblings.pending,
      most: FLOOD_LIMIT,
    });

  return combine(judgeByEach(request, evidence, inTime, now, standing), cluster, mayDeny);
}

/** A verdict and why, without a check. */
type Gate = Pick<Verdict, 'reason' | 'facts'>;

/**
 * The checks that need neither policy nor evidence. A sweep runs them first and keeps nothing of a request that fails
 * one.
 *
 * @returns why the request is not judged; undefined for an open request for `signer`, which for serving is made by a
 * node
 */
export function gateReason(csr: SigningRequest, signer: string = KUBELET_SERVING_SIGNER): Gate | undefined {
  const isServing = signer === KUBELET_SERVING_SIGNER;
  if (csr.signerName !== signer)
    return {
      reason: isServing ? 'NotKubeletServing' : 'NotKubeletClient',
      facts: { cause: 'signer', signer: printable(csr.signerName, 100) },
    };
  if (csr.deleting) return { reason: 'Deleting', facts: { cause: 'deleting' } };
  if (csr.issued) return { reason: 'AlreadyIssued', facts: { cause: 'issued' } };
  for (const [type, reason] of DECIDED) {
    const condition = csr.conditions.find((candidate) => candidate.type === type);
    if (condition !== undefined)
      return { reason, facts: { cause: 'decided', condition: type, reason: printable(condition.reason, 100) } };
  }
  return isServing && !csr.username.startsWith(NODE_PREFIX) ? notOfNode(csr) : undefined;
}

/** A kubelet names its node whatever the API server takes it for; the webhook of an operator asks as a service account. */
function notOfNode(csr: SigningRequest): Gate {
  const requester = printable(csr.username, 100);
  const decoded = csr.username.startsWith('system:serviceaccount:') ? undefined : decodeRequest(csr);
  const [name = ''] = decoded?.ok === true ? commonNames(decoded.request) : [];
  return name.startsWith(NODE_PREFIX)
    ? { reason: 'RequesterMisnamed', facts: { cause: 'misnamed', requester, commonName: printable(name, 100) } }
    : { reason: 'RequesterNotNode', facts: { cause: 'requester', requester } };
}

// A request that was approved and then failed at the signer has both conditions; Failed says more.
const DECIDED: readonly (readonly [type: string, reason: Reason])[] = [
  ['Failed', 'AlreadyFailed'],
  ['Denied', 'AlreadyDenied'],
  ['Approved', 'AlreadyApproved'],
];

function ageReason(ageMs: number, policy: EnginePolicy, cluster: ClusterContext): Reason | undefined {
  const { minSeconds, maxSeconds } = policy.age[cluster.provider];
  if (Math.max(0, ageMs) < minSeconds * 1000) return 'TooYoung';
  return ageMs > maxSeconds * 1000 ? 'Orphaned' : undefined;
}

interface Judgement {
  readonly policy: EnginePolicy;
  readonly checks: readonly Check[];
  readonly names: readonly NameProof[];
}

function judgeByEach(
  { csr, cluster }: ApprovalRequest,
  evidence: Evidence,
  policies: readonly EnginePolicy[],
  now: number,
  standing: readonly string[],
): readonly Judgement[] {
  const decoded = decodeRequest(csr);
  let verified: Judged['signature'];
  return policies.map((policy) => {
    const { signerRules } = policy;
    const node =
      signerRules === undefined ? csr.username.slice(NODE_PREFIX.length) : (signerRules.nodeOf(decoded) ?? '');
    const ownership =
      decoded.ok && signerRules === undefined
        ? proveOwnership(decoded.request.subjectAltNames, node, evidence, policy, cluster)
        : undefined;
    const judged: Judged = {
      csr,
      cluster,
      policy,
      node,
      decoded,
      evidence,
      now,
      ownership,
      claimOfAnother: claimedOfAnother(standing, node, evidence, policy, cluster),
      mayBeControlPlane: mayBeControlPlane(node, evidence),
      // The slowest step: runs once, and only if a rule asks.
      get signature() {
        if (decoded.ok) verified ??= verifyRequestSignature(decoded.request);
        return verified;
      },
    };
    return { policy, checks: evaluateRules(judged, signerRules?.rules), names: ownership?.proofs ?? [] };
  });
}

/** Decodes the PKCS#10 request in `spec.request`. */
export function decodeRequest(csr: SigningRequest): DecodedRequest {
  if (csr.request !== undefined) return decodeCertificateRequest(csr.request);
  return { ok: false, refusal: { code: 'TooLarge', message: 'spec.request is missing, not base64, or too large' } };
}

function combine(judgements: readonly Judgement[], { provider }: ClusterContext, mayDeny: boolean): Verdict {
  const modeOf = ({ policy }: Judgement): Mode => policy.mode[provider];
  const passed = judgements.filter(({ checks }) => checks.every((check) => check.passed));
  const approving = passed.find((judgement) => modeOf(judgement) === 'enforce') ?? passed[0];
  if (approving !== undefined)
    return {
      verdict: 'approve',
      ...(approving.policy.signerRules?.approval(approving.checks) ?? {
        reason: 'Proven',
        facts: proof(approving.names),
      }),
      policy: approving.policy.name,
      mode: modeOf(approving),
      hostile: false,
      checks: approving.checks,
      names: approving.names,
    };

  const deny = mayDeny && judgements.every(({ checks }) => checks.some((check) => check.hostile));
  // The policy with the fewest failed checks has the most useful explanation.
  const nearest = judgements.reduce((best, next) => (failures(next) < failures(best) ? next : best));
  const failed = nearest.checks.filter((check) => !check.passed);
  const hostile = failed.filter((check) => check.hostile);
  // No other fault of a request may hide whose name it asks for.
  const decisive = hostile.find(({ reason }) => reason === 'SanNotOwned') ?? hostile[0] ?? failed[0];
  const enforced = judgements.every((judgement) => modeOf(judgement) === 'enforce');
  return {
    verdict: deny ? 'deny' : 'leave',
    reason: decisive?.reason ?? 'ObjectMalformed',
    facts: decisive === undefined ? fault('') : factsOf(decisive),
    policy: nearest.policy.name,
    mode: enforced ? modeOf(nearest) : 'observe',
    hostile: hostile.length > 0,
    checks: nearest.checks,
    names: nearest.names,
  };
}

function failures({ checks }: Judgement): number {
  return checks.filter((check) => !check.passed).length;
}

function proof(names: readonly NameProof[]): VerdictFacts {
  const byObject = Map.groupBy(names, ({ provenBy }) => provenBy?.object ?? '');
  const proofs = [...byObject].map(([object, proven]) => ({
    object: printable(object, 150),
    names: proven.slice(0, 6).map(({ name }) => name),
    count: proven.length,
  }));
  return { cause: 'proven', proofs };
}

function factsOf({ rule, expected, found, facts = { cause: 'rule', rule, found, expected } }: Check): VerdictFacts {
  return facts;
}

/** Facts of a fault of the object, or of certmarshal itself. @param problem printable */
export function fault(problem: string): VerdictFacts {
  return { cause: 'fault', problem };
}

/** A verdict before any rule. */
export function unjudged(reason: Reason, facts: VerdictFacts): Verdict {
  return { verdict: REASONS[reason].verdict, reason, facts, hostile: false, checks: [], names: [] };
}

function seconds(ms: number): number {
  return Math.round(ms / 1000);
}
