import type { VerdictFacts } from '../../contracts/verdict-facts.ts';
import { canonicalAddress, canonicalDnsName, isDnsName, isNodeName } from '../../names.ts';
import { printable } from '../../printable.ts';
import type { SigningRequest } from '../../resources/signing-request.ts';
import type { Reason } from '../../tables/reasons.ts';
import { verdictSentence } from '../../words/verdict-words.ts';
import type {
  CertificateRequest,
  DecodedRequest,
  DecodeRefusalCode,
  GeneralName,
} from '../../x509/certificate-request.ts';
import type { Evidence } from '../evidence/evidence.ts';
import type { ApprovalPolicy, KeyPolicy } from '../policy.ts';
import type { ClusterContext } from '../request.ts';
import type { Check } from '../verdict.ts';
import type { OwnershipResult } from './ownership.ts';
import { type Reserved, reservedAddress, reservedDnsName } from './reserved-names.ts';

export const NODE_PREFIX = 'system:node:';

/** The input of the rules. Everything was read before: rules do no I/O. */
export interface Judged {
  readonly csr: SigningRequest;
  readonly cluster: ClusterContext;
  readonly policy: ApprovalPolicy;
  /** The node of the requested certificate; for serving, the username without its prefix. Empty if none is named. */
  readonly node: string;
  readonly decoded: DecodedRequest;
  /** Whether the request is signed by its own key; undefined if it could not be decoded. */
  readonly signature: { readonly valid: boolean; readonly problem?: string } | undefined;
  readonly evidence: Evidence;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly ownership: OwnershipResult | undefined;
  /** An address of another node that the requester claims for longer than sources are late. */
  readonly claimOfAnother: VerdictFacts | undefined;
  /** Whether the node is of the control plane by its Machine or instance, or not known yet. */
  readonly mayBeControlPlane: boolean;
}

export type Outcome =
  | { readonly passed: true; readonly found: string }
  | {
      readonly passed: false;
      readonly found: string;
      readonly reason: Reason;
      readonly hostile: boolean;
      readonly facts?: VerdictFacts;
    };

/** One rule: a request passes it, or is not approved. */
export interface Rule<Id extends string = string> {
  readonly id: Id;
  readonly expected: string | ((judged: Judged) => string);
  readonly judge: (judged: Judged) => Outcome;
}

export const pass = (found: string): Outcome => ({ passed: true, found });
export const fail = (reason: Reason, found: string): Outcome => ({ passed: false, found, reason, hostile: false });
/**
 * A failure that no honest kubelet causes, in any state of the cluster; everything else is only not proven. A kubelet
 * copies the names of its Node from the guest or the cloud, whatever they are. So these are hostile: what it never
 * writes (here), the names of the API server and of Services (`reserved-names.ts`), a name of another live node
 * (`ownership.ts`), and an address of one that is claimed for 20 minutes (`claims.ts`).
 *
 * Source: client-go `certificate_manager.go`; kubelet `certificate/kubelet.go`, `addressesToHostnamesAndIPs`.
 */
export const hostile = (reason: Reason, found: string): Outcome => ({ passed: false, found, reason, hostile: true });

/** A rule about the decoded request; fails with `RequestMalformed` if it could not be decoded. */
function onRequest(judge: (request: CertificateRequest, judged: Judged) => Outcome): (judged: Judged) => Outcome {
  return (judged) =>
    judged.decoded.ok
      ? judge(judged.decoded.request, judged)
      : malformed(judged.decoded.refusal.code, 'not evaluated: the request cannot be decoded');
}

/** A Node with too many addresses can make its request too large. */
function malformed(code: DecodeRefusalCode, found: string): Outcome {
  return (code === 'TooLarge' ? fail : hostile)('RequestMalformed', found);
}

const COMMON_NAME = '2.5.4.3';
const ORGANIZATION = '2.5.4.10';
const SUBJECT_ALT_NAME = '2.5.29.17';

/**
 * All rules. The first that fails gives the verdict its reason.
 *
 * Sources: KEP-267 and the kubelet TLS bootstrapping reference (approver's duties); `ValidateKubeletServingCSR` in
 * kubernetes/pkg/apis/certificates (signer's conditions, ML-DSA usages); RFC 2986, RFC 5280 §4.2.1.6.
 */
export const RULES = [
  {
    id: 'requester',
    expected: 'username system:node:<name of a Node>',
    judge: ({ csr, node }) =>
      isNodeName(node) || (node === canonicalDnsName(node) && canonicalAddress(node) !== undefined)
        ? pass(printable(csr.username, 300))
        : fail('NodeNameInvalid', quote(csr.username)),
  },
  {
    id: 'groups',
    expected: 'system:nodes and system:authenticated among the groups',
    judge: ({ csr }) =>
      csr.groups.includes('system:nodes') && csr.groups.includes('system:authenticated')
        ? pass(enumerate(csr.groups, false))
        : fail('GroupsMissing', enumerate(csr.groups)),
  },
  usagesFor('server auth'),
  {
    id: 'expiration',
    expected: ({ policy }) => `at most ${policy.maxExpirationSeconds} s, or none`,
    judge: ({ csr, policy }) => {
      const seconds = csr.expirationSeconds;
      if (seconds === undefined) return pass('none: the signer decides');
      // kube-apiserver rejects less than 600 s at creation.
      if (seconds < 600) return fail('ObjectMalformed', `${seconds} s`);
      return seconds <= policy.maxExpirationSeconds ? pass(`${seconds} s`) : fail('ExpirationTooLong', `${seconds} s`);
    },
  },
  {
    id: 'request',
    expected: 'one PKCS#10 request in strict PEM and DER',
    judge: ({ decoded }) =>
      decoded.ok
        ? pass('decoded')
        : malformed(decoded.refusal.code, `${decoded.refusal.code}: ${decoded.refusal.message}`),
  },
  {
    id: 'signature',
    expected: 'signed by its own key',
    judge: onRequest((_, { signature }) =>
      signature?.valid === true ? pass('valid') : hostile('SignatureInvalid', signature?.problem ?? 'it is invalid'),
    ),
  },
  {
    id: 'key',
    expected: ({ policy }) => describeKeyPolicy(policy.keys),
    judge: onRequest(({ publicKey }, { policy: { keys } }) => {
      switch (publicKey.kind) {
        case 'ECDSA':
          return keys.ecdsaCurves.includes(publicKey.curve)
            ? pass(publicKey.curve)
            : fail('KeyNotAllowed', publicKey.curve);
        case 'RSA': {
          const found = `RSA ${publicKey.bits}`;
          return publicKey.bits >= keys.rsaMinBits ? pass(found) : fail('KeyNotAllowed', found);
        }
        case 'Ed25519':
          return keys.ed25519 ? pass('Ed25519') : fail('KeyNotAllowed', 'Ed25519');
        case 'ML-DSA':
          return keys.mlDsa ? pass(publicKey.parameterSet) : fail('KeyNotAllowed', publicKey.parameterSet);
        case 'unknown':
          return fail('KeyNotAllowed', printable(publicKey.algorithm, 80));
      }
    }),
  },
  {
    id: 'common-name',
    expected: ({ csr }) => `exactly ${quote(csr.username)}`,
    judge: onRequest((request, { csr }) => {
      const names = commonNames(request);
      return names.length === 1 && names[0] === csr.username
        ? pass(printable(csr.username, 300))
        : hostile('CommonNameMismatch', enumerate(names));
    }),
  },
  {
    id: 'organization',
    expected: 'exactly system:nodes, once',
    judge: onRequest((request) => {
      const names = values(request, ORGANIZATION);
      return names.length === 1 && names[0] === 'system:nodes'
        ? pass('system:nodes')
        : hostile('OrganizationMismatch', enumerate(names));
    }),
  },
  {
    id: 'subject',
    expected: 'one O and one CN, each UTF8String or PrintableString in an RDN of its own',
    judge: onRequest(({ subject }) => {
      const odd = subject.find((rdn) => rdn.length !== 1) ?? subject.find((rdn) => !rdn.every(isKubeletAttribute));
      if (odd !== undefined)
        return hostile('SubjectNotAllowed', enumerate(odd.map(({ oid, stringType }) => `${oid} ${stringType}`)));
      return subject.length === 2 ? pass('O, CN') : hostile('SubjectNotAllowed', `${subject.length} attributes`);
    }),
  },
  noExtensionBut(SUBJECT_ALT_NAME, 'subjectAltName and nothing else', 'ExtensionNotAllowed'),
  {
    id: 'san-present',
    expected: 'at least one DNS name or IP address',
    judge: onRequest(({ subjectAltNames }) => {
      const count = subjectAltNames.filter(({ kind }) => kind === 'dNSName' || kind === 'iPAddress').length;
      return count > 0 ? pass(`${count}`) : hostile('SanMissing', 'none');
    }),
  },
  {
    id: 'san-kind',
    expected: 'DNS names and IP addresses only',
    judge: onRequest(({ subjectAltNames }) => {
      const others = subjectAltNames.filter(({ kind }) => kind !== 'dNSName' && kind !== 'iPAddress');
      return others.length === 0
        ? pass('no other kind')
        : hostile('SanKindNotAllowed', enumerate(others.map((name) => name.kind)));
    }),
  },
  {
    id: 'san-wildcard',
    expected: 'no wildcard',
    judge: onRequest(({ subjectAltNames }) => {
      const wild = dnsNames(subjectAltNames).filter((name) => name.includes('*'));
      return wild.length === 0 ? pass('none') : hostile('SanWildcard', enumerate(wild));
    }),
  },
  {
    id: 'san-well-formed',
    expected: 'DNS names that a Node can have',
    judge: onRequest(({ subjectAltNames }) => {
      const bad = dnsNames(subjectAltNames).filter((name) => !isDnsName(canonicalDnsName(name)));
      return bad.length === 0 ? pass('all') : fail('SanMalformed', enumerate(bad));
    }),
  },
  {
    id: 'san-reserved',
    expected: 'no name of the API server, a Service, loopback or link-local',
    judge: onRequest(({ subjectAltNames }, { cluster, mayBeControlPlane }) => {
      const taken = subjectAltNames.flatMap((name) => {
        const reserved = reservedName(name, cluster, mayBeControlPlane);
        return reserved === undefined ? [] : [{ name, ...reserved }];
      });
      if (taken.length === 0) return pass('none');
      const found = enumerate(
        taken.map(({ name, why }) => `${'value' in name ? name.value : ''} is ${why}`),
        false,
      );
      return taken.some((entry) => entry.hostile) ? hostile('SanReserved', found) : fail('SanReserved', found);
    }),
  },
  {
    id: 'san-proven',
    expected: ({ policy }) => `every name proven by ${policy.evidence.join(' or ')}`,
    judge: onRequest((_, { ownership }) => {
      if (ownership === undefined || ownership.proofs.length === 0) return fail('SanMissing', 'no name to prove');
      const { failure, proofs } = ownership;
      if (failure === undefined) return pass(`${proofs.length} of ${proofs.length}`);
      const { isOfAnother: _isOfAnother, ...found } = failure;
      return { passed: false, found: verdictSentence(failure.facts), ...found };
    }),
  },
  {
    id: 'san-standing',
    expected: 'no address of another node, claimed for 20 minutes without an approval',
    judge: ({ claimOfAnother }) =>
      claimOfAnother === undefined
        ? pass('none')
        : { ...hostile('SanNotOwned', verdictSentence(claimOfAnother)), facts: claimOfAnother },
  },
] as const satisfies readonly Rule[];

export type RuleId = (typeof RULES)[number]['id'];

/** One of {@link RULES}, for the rules of another signer. */
export function ruleOf(id: RuleId): Rule {
  const found = RULES.find((rule) => rule.id === id);
  if (found === undefined) throw new RangeError(`there is no rule ${id}`);
  return found;
}

/** The rule for usages, as the signers of kubelet certificates require them. */
export function usagesFor(purpose: 'server auth' | 'client auth'): Rule<'usages'> {
  return {
    id: 'usages',
    expected: `digital signature, ${purpose}; key encipherment allowed`,
    judge: ({ csr, decoded }) => {
      const usages = new Set(csr.usages);
      const found = enumerate(csr.usages);
      const hasBoth = usages.delete('digital signature') && usages.delete(purpose);
      const encipherment = usages.delete('key encipherment');
      if (!hasBoth || usages.size > 0) return hostile('UsagesNotAllowed', found);
      if (encipherment && decoded.ok && decoded.request.publicKey.kind === 'ML-DSA')
        return fail('UsagesNotAllowed', 'key encipherment with an ML-DSA key');
      return pass(found);
    },
  };
}

/** @param allowed object identifier of the only accepted extension; undefined for none */
export function noExtensionBut(allowed: string | undefined, expected: string, reason: Reason): Rule<'extensions'> {
  return {
    id: 'extensions',
    expected,
    judge: onRequest(({ extensions }) => {
      const others = extensions.filter(({ oid }) => oid !== allowed);
      return others.length === 0
        ? pass(extensions.length === 0 ? 'none' : 'subjectAltName')
        : hostile(reason, enumerate(others.map(({ oid }) => oid)));
    }),
  };
}

/** Evaluates every rule, in order. */
export function evaluateRules(judged: Judged, rules: readonly Rule[] = RULES): Check[] {
  return rules.map((rule) => {
    const expected = typeof rule.expected === 'string' ? rule.expected : rule.expected(judged);
    return { rule: rule.id, expected, ...rule.judge(judged) };
  });
}

export function commonNames(request: CertificateRequest): readonly string[] {
  return values(request, COMMON_NAME);
}

function values(request: CertificateRequest, oid: string): string[] {
  return request.subject.flat().flatMap((attribute) => (attribute.oid === oid ? [attribute.value] : []));
}

function isKubeletAttribute({ oid, stringType }: { oid: string; stringType: string }): boolean {
  return (
    (oid === COMMON_NAME || oid === ORGANIZATION) && (stringType === 'UTF8String' || stringType === 'PrintableString')
  );
}

function dnsNames(names: readonly GeneralName[]): string[] {
  return names.flatMap((name) => (name.kind === 'dNSName' ? [name.value] : []));
}

function reservedName(name: GeneralName, cluster: ClusterContext, mayBeControlPlane: boolean): Reserved | undefined {
  if (name.kind === 'dNSName') return reservedDnsName(canonicalDnsName(name.value), cluster, mayBeControlPlane);
  return name.kind === 'iPAddress' ? reservedAddress(name.value, cluster) : undefined;
}

function describeKeyPolicy({ ecdsaCurves, rsaMinBits, ed25519, mlDsa }: KeyPolicy): string {
  return [...ecdsaCurves, `RSA ≥ ${rsaMinBits}`, ...(ed25519 ? ['Ed25519'] : []), ...(mlDsa ? ['ML-DSA'] : [])].join(
    ', ',
  );
}

function quote(text: string): string {
  return `“${printable(text, 100)}”`;
}

/** At most five entries, quoted, with the count of the rest. */
export function enumerate(entries: readonly string[], quoted = true): string {
  if (entries.length === 0) return 'none';
  const shown = entries.slice(0, 5).map((entry) => (quoted ? quote(entry) : printable(entry, 150)));
  return entries.length > 5 ? `${shown.join(', ')} and ${entries.length - 5} more` : shown.join(', ');
}
