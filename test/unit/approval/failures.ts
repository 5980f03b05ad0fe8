import { type ApprovalPolicy, DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import type { RuleId } from '../../../lambdas/approval/rules/rules.ts';
import type { Reason } from '../../../lambdas/tables/reasons.ts';
import { octetString } from '../x509/der-writer.ts';
import { extension, OID } from '../x509/request-factory.ts';
import { type CsrFields, dns, ips, machine, nodeObject, RSA_USAGES, type Sources } from './fixtures.ts';

/** One way in which a rule fails, with requests that do so. `docs/verdicts.md` has the reasons, in this order. */
export interface Failure {
  readonly rule: RuleId;
  readonly when: string;
  readonly reason: Reason;
  /** No honest kubelet does this by accident. */
  readonly hostile: boolean;
  readonly examples: readonly [Example, ...Example[]];
}

interface Example {
  /** Default: what the kubelet of node-1 asks. */
  readonly csr?: CsrFields;
  /** Default: a Machine that is node-1, with 10.0.0.1. */
  readonly sources?: Sources;
  /** What differs from the built-in policy. */
  readonly policy?: Partial<ApprovalPolicy>;
  /** When other CSRs of node-1 named 10.0.0.2, each dropped by a CSR of the same second. */
  readonly claimedMinutesAgo?: readonly number[];
}

const mine = machine('node-1', { InternalIP: ['10.0.0.1'], Hostname: ['node-1'] });
export const KNOWN: Sources = { machines: [mine] };
const theirs = machine('node-2', { InternalIP: ['10.0.0.2'] });

const { keys } = DEFAULT_POLICY;
const O = { oid: OID.organization, value: 'system:nodes' };
const CN = { oid: OID.commonName, value: 'system:node:node-1' };
const named = (username: string): Example => ({ csr: { username } });
const usages = (...list: string[]): Example => ({ csr: { usages: list } });
const asking = (...sans: NonNullable<NonNullable<CsrFields['request']>['sans']>): Example => ({
  csr: { request: { sans } },
});

export const FAILURES: readonly Failure[] = [
  {
    rule: 'requester',
    when: 'no name follows the prefix, or one that no Node can have',
    reason: 'NodeNameInvalid',
    hostile: false,
    examples: [
      named('system:node:'),
      named('system:node:Node-1'),
      named('system:node:node-1.'),
      named('system:node:a b'),
      named('system:node:*'),
      named('system:node:FD00::1'),
    ],
  },
  {
    rule: 'groups',
    when: 'one of the two is missing',
    reason: 'GroupsMissing',
    hostile: false,
    examples: [
      { csr: { groups: ['system:nodes'] } },
      { csr: { groups: ['system:authenticated'] } },
      { csr: { groups: [] } },
      { csr: { groups: ['System:nodes', 'system:authenticated'] } },
    ],
  },
  {
    rule: 'usages',
    when: 'one of the two is missing, or there is another one',
    reason: 'UsagesNotAllowed',
    hostile: true,
    examples: [
      usages(),
      usages('server auth'),
      usages('digital signature', 'key encipherment'),
      usages('digital signature', 'server auth', 'client auth'),
      usages('Digital Signature', 'server auth'),
    ],
  },
  {
    rule: 'usages',
    when: 'key encipherment with an ML-DSA key',
    reason: 'UsagesNotAllowed',
    hostile: false,
    examples: [{ csr: { usages: RSA_USAGES, request: { key: 'mldsa44' } } }],
  },
  {
    rule: 'expiration',
    when: 'longer than the policy allows',
    reason: 'ExpirationTooLong',
    hostile: false,
    examples: [
      { csr: { expirationSeconds: DEFAULT_POLICY.maxExpirationSeconds + 1 } },
      { csr: { expirationSeconds: 601 }, policy: { maxExpirationSeconds: 600 } },
    ],
  },
  {
    rule: 'expiration',
    when: 'shorter than kube-apiserver accepts (600 s)',
    reason: 'ObjectMalformed',
    hostile: false,
    examples: [{ csr: { expirationSeconds: 599 } }, { csr: { expirationSeconds: -1 } }],
  },
  {
    rule: 'request',
    when: 'it is too large, as too many addresses make it',
    reason: 'RequestMalformed',
    hostile: false,
    examples: [asking(...ips(...Array.from({ length: 1_025 }, (_, index) => `10.1.${index >> 8}.${index & 255}`)))],
  },
  {
    rule: 'request',
    when: 'anything else, however small the difference',
    reason: 'RequestMalformed',
    hostile: true,
    examples: [
      { csr: { pem: Buffer.from('garbage') } },
      { csr: { request: { version: 1 } } },
      { csr: { request: { tamper: (der) => Buffer.concat([der, Buffer.from([0])]) } } },
    ],
  },
  {
    rule: 'signature',
    when: 'the signature does not verify, or its algorithm is not accepted',
    reason: 'SignatureInvalid',
    hostile: true,
    examples: [
      { csr: { request: { tamper: 'signature' } } },
      { csr: { request: { tamper: 'subject' } } },
      { csr: { usages: RSA_USAGES, request: { key: 'rsa2048', digest: 'sha1' } } },
    ],
  },
  {
    rule: 'key',
    when: 'another kind, curve or size',
    reason: 'KeyNotAllowed',
    hostile: false,
    examples: [
      { csr: { usages: RSA_USAGES, request: { key: 'rsa1024' } } },
      { csr: { request: { key: 'p256' } }, policy: { keys: { ...keys, ecdsaCurves: ['P-384'] } } },
      { csr: { request: { key: 'ed25519' } }, policy: { keys: { ...keys, ed25519: false } } },
      { csr: { request: { key: 'mldsa87' } }, policy: { keys: { ...keys, mlDsa: false } } },
      { csr: { request: { key: 'secp256k1' } } },
    ],
  },
  {
    rule: 'common-name',
    when: 'another one, none, or two',
    reason: 'CommonNameMismatch',
    hostile: true,
    examples: [
      { csr: { request: { commonName: 'system:node:node-2' } } },
      { csr: { request: { commonName: 'System:node:node-1' } } },
      { csr: { request: { subject: [[O]] } } },
      { csr: { request: { subject: [[O], [CN], [CN]] } } },
    ],
  },
  {
    rule: 'organization',
    when: 'another one, none, or two',
    reason: 'OrganizationMismatch',
    hostile: true,
    examples: [
      { csr: { request: { organizations: [] } } },
      { csr: { request: { organizations: ['system:masters'] } } },
      { csr: { request: { organizations: ['system:nodes', 'system:nodes'] } } },
    ],
  },
  {
    rule: 'subject',
    when: 'another attribute, another string type, or two attributes in one RDN',
    reason: 'SubjectNotAllowed',
    hostile: true,
    examples: [
      { csr: { request: { subject: [[O], [CN], [{ oid: '2.5.4.5', value: '1' }]] } } },
      { csr: { request: { subject: [[O], [{ ...CN, form: 'bmpString' }]] } } },
      { csr: { request: { subject: [[O, CN]] } } },
      { csr: { request: { subject: [[O]] } } },
      { csr: { request: { subject: [[O], [CN, { ...CN, value: 'system:node:node-2' }]] } } },
    ],
  },
  {
    rule: 'extensions',
    when: 'any other extension is asked for',
    reason: 'ExtensionNotAllowed',
    hostile: true,
    examples: [
      { csr: { request: { extensions: [extension(OID.keyUsage, octetString(Buffer.from([7])))] } } },
      { csr: { request: { extensions: [extension('1.2.3', octetString(Buffer.alloc(0)), true)] } } },
    ],
  },
  {
    rule: 'san-present',
    when: 'there is none',
    reason: 'SanMissing',
    hostile: true,
    examples: [asking(), asking({ kind: 'rfc822Name', value: 'a@example.com' })],
  },
  {
    rule: 'san-kind',
    when: 'email, URI, otherName, directoryName, registeredID, x400Address or ediPartyName',
    reason: 'SanKindNotAllowed',
    hostile: true,
    examples: [
      asking(...dns('node-1'), { kind: 'rfc822Name', value: 'a@example.com' }),
      asking(...dns('node-1'), { kind: 'uniformResourceIdentifier', value: 'spiffe://x' }),
      asking(...dns('node-1'), { kind: 'otherName' }),
      asking(...dns('node-1'), { kind: 'directoryName' }),
      asking(...dns('node-1'), { kind: 'registeredID' }),
      asking(...dns('node-1'), { kind: 'x400Address' }),
      asking(...dns('node-1'), { kind: 'ediPartyName' }),
    ],
  },
  {
    rule: 'san-wildcard',
    when: 'an asterisk anywhere in a DNS name',
    reason: 'SanWildcard',
    hostile: true,
    examples: [asking(...dns('*')), asking(...dns('node-1', '*.example.com')), asking(...dns('n*de.example.com'))],
  },
  {
    rule: 'san-well-formed',
    when: 'a DNS name that is empty, an address, too long or has other characters',
    reason: 'SanMalformed',
    hostile: false,
    examples: [
      asking(...dns('')),
      asking(...dns('10.0.0.1')),
      asking(...dns('010.0.0.1')),
      asking(...dns('node_1')),
      asking(...dns('node 1')),
      asking(...dns('a'.repeat(254))),
      asking(...dns('node-1\0.example.com')),
    ],
  },
  {
    rule: 'san-reserved',
    when: 'a name of the API server, its endpoint or a Service',
    reason: 'SanReserved',
    hostile: true,
    examples: [
      asking(...dns('kubernetes', 'localhost')),
      asking(...dns('Kubernetes.default.')),
      asking(...dns('vault.prod.svc')),
      asking(...dns('vault.prod.svc.cluster.local')),
      asking(...dns('BERLIN.example.com')),
    ],
  },
  {
    rule: 'san-reserved',
    when: 'another name of the domain of the cluster, localhost, or an address that is loopback, link-local, unspecified, multicast, IPv4-mapped, of a Service or the endpoint’s',
    reason: 'SanReserved',
    hostile: false,
    examples: [
      asking(...dns('localhost')),
      asking(...dns('localhost.localdomain')),
      asking(...dns('x.cluster.local')),
      asking(...ips('10.96.0.1')),
      asking(...ips('127.0.0.1')),
      asking(...ips('::1')),
      asking(...ips('169.254.169.254')),
      asking(...ips('fe80::1')),
      asking(...ips('0.0.0.0')),
      asking(...ips('224.0.0.1')),
      asking(...ips('::ffff:10.0.0.1')),
    ],
  },
  {
    rule: 'san-proven',
    when: 'a Machine or an instance shows that the DNS name is another node’s, and the requester has one',
    reason: 'SanNotOwned',
    hostile: true,
    examples: [
      { ...asking(...dns('node-2')), sources: { machines: [mine, theirs] } },
      {
        ...asking(...dns('web.example.com')),
        sources: { machines: [mine, machine('node-2', { InternalDNS: ['web.example.com'] })] },
      },
    ],
  },
  {
    rule: 'san-proven',
    when: 'no one has the name, or it is an address, which moves, or spells one',
    reason: 'SanNotOwned',
    hostile: false,
    examples: [
      asking(...ips('10.0.0.77')),
      asking(...dns('auth.evil.io')),
      { ...asking(...ips('10.0.0.2')), sources: { machines: [mine, theirs] } },
      {
        ...asking(...dns('ec2-203-0-113-25.compute-1.amazonaws.com')),
        sources: { machines: [mine, machine('node-2', { ExternalDNS: ['ec2-203-0-113-25.compute-1.amazonaws.com'] })] },
      },
      asking(...dns('node-1', 'node-1.evil.io')),
      asking(...dns('ip-10-0-0-77.ec2.internal')),
      { ...asking(...ips('10.0.0.2')), sources: { machines: [theirs] } },
    ],
  },
  {
    rule: 'san-proven',
    when: 'another node has the name too, by a source at least as independent',
    reason: 'SanContested',
    hostile: false,
    examples: [
      {
        ...asking(...ips('10.0.0.1')),
        sources: { machines: [mine, machine('node-2', { InternalIP: ['10.0.0.1'] })] },
      },
      {
        ...asking(...ips('10.0.0.1')),
        sources: {
          nodes: [
            nodeObject('node-1', { InternalIP: ['10.0.0.1'] }),
            nodeObject('node-2', { InternalIP: ['10.0.0.1'] }),
          ],
        },
        policy: { evidence: ['node'] },
      },
    ],
  },
  {
    rule: 'san-proven',
    when: 'no source of the policy names the node',
    reason: 'EvidenceMissing',
    hostile: false,
    examples: [{ sources: { machines: [] } }, { sources: {} }, { policy: { evidence: ['ec2'] } }],
  },
  {
    rule: 'san-proven',
    when: 'several objects of one source claim to be the node',
    reason: 'EvidenceAmbiguous',
    hostile: false,
    examples: [{ sources: { machines: [mine, machine('node-1', {}, 'other')] } }],
  },
  {
    rule: 'san-proven',
    when: 'a source of the policy could not be read, and the others do not prove the name',
    reason: 'EvidenceUnreadable',
    hostile: false,
    examples: [
      { sources: { unreadable: ['machine'] } },
      { ...asking(...dns('auth.evil.io')), sources: { machines: [mine], unreadable: ['ec2'] } },
    ],
  },
  {
    rule: 'san-proven',
    when: 'there is no name to prove',
    reason: 'SanMissing',
    hostile: false,
    examples: [asking()],
  },
  {
    rule: 'san-standing',
    when: 'CSRs of the node that nobody approved name the address of another for 20 minutes',
    reason: 'SanNotOwned',
    hostile: true,
    examples: [
      { ...asking(...ips('10.0.0.2')), sources: { machines: [mine, theirs] }, claimedMinutesAgo: [20] },
      { ...asking(...dns('node-1')), sources: { machines: [mine, theirs] }, claimedMinutesAgo: [30, 5] },
    ],
  },
];
