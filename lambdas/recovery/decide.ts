import { DEFAULT_POLICY } from '../approval/policy.ts';
import { printable } from '../printable.ts';
import type { SigningRequest } from '../resources/signing-request.ts';
import type { DecodedRequest } from '../x509/certificate-request.ts';
import { decodeCertificateRequest } from '../x509/decode-certificate-request.ts';
import { verifyRequestSignature } from '../x509/verify-signature.ts';
import type { RecoveryReason } from './reasons.ts';
import { KUBELET_CLIENT_SIGNER, type RecoveryRequest } from './request.ts';
import { evaluateRecoveryRules, nodeOf, type RecoveryCheck, type RecoveryContext } from './rules.ts';

/** The decision on one request: plain data, safe to print, to log and to serialize. A window never denies. */
export interface RecoveryVerdict {
  readonly verdict: 'approve' | 'leave' | 'ignore';
  readonly reason: RecoveryReason;
  /** One sentence: what was proven and by what, or what was looked at and not found. */
  readonly message: string;
  /** The node that the certificate would be for; absent when the request names none. */
  readonly node?: string;
  /** True when a check failed in a way that has no innocent cause. */
  readonly hostile: boolean;
  readonly checks: readonly RecoveryCheck[];
}

/** A request and what becomes of it. */
export interface RecoveryDecision {
  readonly request: RecoveryRequest;
  readonly verdict: RecoveryVerdict;
}

const COMMON_NAME = '2.5.4.3';

/**
 * Decides on one request for a client certificate. Pure: no I/O, no clock, and a value for every input. Every rule has to pass, and whatever is not known does not.
 *
 * @param now milliseconds since the epoch
 */
export function decideRecovery(request: RecoveryRequest, context: RecoveryContext, now: number): RecoveryVerdict {
  try {
    return judge(request, context, now);
  } catch (error) {
    // A bug. Whoever finds an input for it must not be able to stop the judgement of all others.
    return {
      verdict: 'leave',
      reason: 'JudgeFailed',
      message: printable(error instanceof Error ? `${error.name}: ${error.message}` : String(error)),
      hostile: false,
      checks: [],
    };
  }
}

/**
 * The decisions on all open requests of a cluster, each made alone before: of those of one node that pass, only the newest is approved, because its kubelet has given up
 * on the others. One that does not pass never stands in the way of one that does. Pure.
 */
export function onlyNewest(decisions: readonly RecoveryDecision[]): readonly RecoveryDecision[] {
  const newest = new Map<string, SigningRequest>();
  for (const { request, verdict } of decisions) {
    if (verdict.verdict !== 'approve' || verdict.node === undefined) continue;
    const known = newest.get(verdict.node);
    if (known === undefined || isNewer(request.csr, known)) newest.set(verdict.node, request.csr);
  }
  return decisions.map(({ request, verdict }) => {
    const last = newest.get(verdict.node ?? '');
    if (verdict.verdict !== 'approve' || last === undefined || last === request.csr) return { request, verdict };
    const message = `the node has a newer request: ${printable(last.name, 100)}`;
    return { request, verdict: { ...verdict, verdict: 'leave', reason: 'Superseded', message } };
  });
}

/** Why a request is none of a window's business; undefined for one that is judged. */
export function recoveryGate(csr: SigningRequest): { reason: RecoveryReason; message: string } | undefined {
  if (csr.signerName !== KUBELET_CLIENT_SIGNER)
    return { reason: 'NotKubeletClient', message: `signer ${printable(csr.signerName, 100)}` };
  if (csr.deleting) return { reason: 'Deleting', message: 'metadata.deletionTimestamp is set' };
  for (const [type, reason] of DECIDED)
    if (csr.conditions.some((condition) => condition.type === type)) return { reason, message: `it is ${type}` };
  return csr.issued ? { reason: 'AlreadyIssued', message: 'status.certificate is set' } : undefined;
}

const DECIDED = [
  ['Approved', 'AlreadyApproved'],
  ['Denied', 'AlreadyDenied'],
  ['Failed', 'AlreadyFailed'],
] as const;

function judge({ csr, credentials }: RecoveryRequest, context: RecoveryContext, now: number): RecoveryVerdict {
  const gate = recoveryGate(csr);
  if (gate !== undefined) return { verdict: 'ignore', ...gate, hostile: false, checks: [] };
  const decoded = decode(csr);
  const node = decoded.ok ? nodeOf(commonNames(decoded)) : undefined;
  const checks = evaluateRecoveryRules({
    ...context,
    credentials,
    node,
    now,
    judged: {
      csr,
      cluster: context.cluster,
      // Its keys and its cap on the lifetime, which are those of every kubelet.
      policy: DEFAULT_POLICY,
      node: node ?? '',
      decoded,
      // Only where a rule asks: it takes the longest of all.
      get signature() {
        return decoded.ok ? verifyRequestSignature(decoded.request) : undefined;
      },
      ownership: undefined,
      mayBeControlPlane: false,
    },
  });
  const failed = checks.find((check) => !check.passed);
  const about = { node, hostile: checks.some((check) => check.hostile), checks };
  if (failed === undefined)
    return {
      verdict: 'approve',
      reason: 'Recovered',
      message: `window ${context.window.id}, opened by ${printable(context.window.by, 150)}: ${node ?? ''} ← ${found(checks, 'control-plane')}`,
      ...about,
    };
  return {
    verdict: 'leave',
    reason: failed.reason ?? 'ObjectMalformed',
    message: `${failed.rule}: ${failed.found}; expected ${failed.expected}`,
    ...about,
  };
}

function found(checks: readonly RecoveryCheck[], id: RecoveryCheck['rule']): string {
  return checks.find(({ rule }) => rule === id)?.found ?? '';
}

/** The node that a request names; undefined when it names none. Never throws for what is in it. */
export function nodeOfRequest(csr: SigningRequest): string | undefined {
  const decoded = decode(csr);
  return decoded.ok ? nodeOf(commonNames(decoded)) : undefined;
}

function commonNames({ request }: Extract<DecodedRequest, { ok: true }>): readonly string[] {
  return request.subject.flat().flatMap((attribute) => (attribute.oid === COMMON_NAME ? [attribute.value] : []));
}

function decode(csr: SigningRequest): DecodedRequest {
  if (csr.request !== undefined) return decodeCertificateRequest(csr.request);
  return { ok: false, refusal: { code: 'NotPem', message: 'spec.request is missing, not base64, or too large' } };
}

/** Creation times have whole seconds; the name decides between equals so that every sweep picks the same one. */
function isNewer(a: SigningRequest, b: SigningRequest): boolean {
  const difference = (a.createdAt ?? 0) - (b.createdAt ?? 0);
  return difference === 0 ? a.name > b.name : difference > 0;
}
