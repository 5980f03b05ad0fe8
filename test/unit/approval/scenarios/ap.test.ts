import { type ApprovalPolicy, DEFAULT_POLICY } from '../../../../lambdas/approval/policy.ts';
import { bitString, integer, nullValue, oid, sequence, setOf, tlv } from '../../x509/der-writer.ts';
import {
  type Attribute,
  extension,
  extensionRequest,
  OID,
  type RequestOptions,
  type San,
  subjectAltName,
} from '../../x509/request-factory.ts';
import { type CsrFields, dns, machine, RSA_USAGES } from '../fixtures.ts';
import { testScenarios, type World } from './scenario.ts';

// cert-manager/approver-policy: attacks on the bytes of a request, as requests of kubelets; and how policies combine.
const node = 'node-1';
const owner = machine(node, { InternalDNS: ['node-1.example.com'] });
const made = (request: RequestOptions): CsrFields => ({ node, request });
const beside = (kind: Exclude<San, { value: unknown }>['kind']): CsrFields => made({ sans: [...dns(node), { kind }] });

const O: Attribute = { oid: OID.organization, value: 'system:nodes' };
const CN: Attribute = { oid: OID.commonName, value: 'system:node:node-1' };
const subject = (...rdns: Attribute[]): CsrFields => made({ subject: rdns.map((attribute) => [attribute]) });
/** O and CN, one of them with a value of that tag. */
const tagged = (type: string, tag: number, value: Uint8Array): CsrFields => {
  const odd = setOf(sequence(oid(type), tlv(tag, value)));
  return made({ subject: type === OID.organization ? [odd, [CN]] : [[O], odd] });
};
const GENERAL_STRING = 0x1b;
const INTEGER = 0x02;

/** 9,216 bits, more than is ever calculated with. */
const hugeKey = sequence(
  sequence(oid('1.2.840.113549.1.1.1'), nullValue()),
  bitString(sequence(tlv(INTEGER, Buffer.from([0]), Buffer.alloc(1152, 0xff)), tlv(INTEGER, Buffer.from([1, 0, 1])))),
);

const under = (...changes: Partial<ApprovalPolicy>[]): World => ({
  machines: [owner],
  policies: (onHostile) =>
    changes.map((change, index) => ({ ...DEFAULT_POLICY, name: `policy-${index}`, onHostile, ...change })),
});
const elsewhere = { clusters: ['other-*'] };
const byEc2 = { evidence: ['ec2'] } as const;
const foreign = made({ sans: dns('auth.evil.io') });

testScenarios('AP', 32, { machines: [owner] }, [
  ['AP1: otherName beside a DNS name', beside('otherName'), 'deny SanKindNotAllowed'],
  ['AP5: x400Address', beside('x400Address'), 'deny SanKindNotAllowed'],
  ['AP6: directoryName', beside('directoryName'), 'deny SanKindNotAllowed'],
  ['AP7: ediPartyName', beside('ediPartyName'), 'deny SanKindNotAllowed'],
  ['AP8: registeredID', beside('registeredID'), 'deny SanKindNotAllowed'],
  ['AP9: two DNS names', made({ sans: dns(node, 'node-1.example.com') }), 'approve Proven'],
  [
    'AP10: two subjectAltName extensions',
    made({ extensions: [subjectAltName(dns('kubernetes'))] }),
    'deny RequestMalformed',
  ],
  [
    'AP10: two extension requests',
    made({
      attributes: [extensionRequest(subjectAltName(dns(node))), extensionRequest(subjectAltName(dns('kubernetes')))],
    }),
    'deny RequestMalformed',
  ],
  [
    'AP11: subjectAltName that cannot be decoded',
    made({ attributes: [extensionRequest(extension(OID.subjectAltName, integer(1)))] }),
    'deny RequestMalformed',
  ],
  [
    'AP12: two common names, the first of an administrator',
    subject(O, { oid: OID.commonName, value: 'kubernetes-admin' }, CN),
    'deny CommonNameMismatch',
  ],
  ['AP13: the right common name twice', subject(O, CN, CN), 'deny CommonNameMismatch'],
  [
    'AP14: two serial numbers',
    subject(O, CN, { oid: '2.5.4.5', value: '1' }, { oid: '2.5.4.5', value: '2' }),
    'deny SubjectNotAllowed',
  ],
  [
    'AP15: emailAddress in the subject',
    subject(O, CN, { oid: '1.2.840.113549.1.9.1', value: 'root@example.com', form: 'ia5String' }),
    'deny SubjectNotAllowed',
  ],
  [
    'AP15: domainComponent in the subject',
    subject(O, CN, { oid: '0.9.2342.19200300.100.1.25', value: 'example', form: 'ia5String' }),
    'deny SubjectNotAllowed',
  ],
  [
    'AP15: userId in the subject',
    subject(O, CN, { oid: '0.9.2342.19200300.100.1.1', value: 'root' }),
    'deny SubjectNotAllowed',
  ],
  ['AP16: common name as BMPString', subject(O, { ...CN, form: 'bmpString' }), 'deny SubjectNotAllowed'],
  ['AP16: common name as TeletexString', subject(O, { ...CN, form: 'teletexString' }), 'deny SubjectNotAllowed'],
  ['AP17: common name as UniversalString', subject(O, { ...CN, form: 'universalString' }), 'deny SubjectNotAllowed'],
  [
    'AP17: common name as GeneralString',
    tagged(OID.commonName, GENERAL_STRING, Buffer.from(CN.value)),
    'deny CommonNameMismatch',
  ],
  ['AP17: organization as UniversalString', subject({ ...O, form: 'universalString' }, CN), 'deny SubjectNotAllowed'],
  [
    'AP17: organization as GeneralString',
    tagged(OID.organization, GENERAL_STRING, Buffer.from(O.value)),
    'deny OrganizationMismatch',
  ],
  ['AP18: common name as OCTET STRING', subject(O, { ...CN, form: 'octetString' }), 'deny CommonNameMismatch'],
  ['AP18: common name as INTEGER', tagged(OID.commonName, INTEGER, Buffer.from([1])), 'deny CommonNameMismatch'],
  // They deny. No kubelet asks for a lifetime, and a request without one gets the signer's.
  ['AP19: no lifetime asked', { node }, 'approve Proven'],
  ['AP20: lifetime too short', { node, expirationSeconds: 60 }, 'leave ObjectMalformed'],
  ['AP21: lifetime too long', { node, expirationSeconds: 400 * 86_400 }, 'leave ExpirationTooLong'],
  ['AP22: key too small', { node, usages: RSA_USAGES, request: { key: 'rsa1024' } }, 'leave KeyNotAllowed'],
  [
    'AP22: key too large',
    { node, usages: RSA_USAGES, request: { key: 'rsa2048', publicKeyInfo: hugeKey } },
    'deny SignatureInvalid',
  ],
  ['AP23: algorithm', { node }, 'leave KeyNotAllowed', under({ keys: { ...DEFAULT_POLICY.keys, ecdsaCurves: [] } })],
  [
    'AP24: Ed25519 has no size',
    made({ key: 'ed25519' }),
    'approve Proven',
    under({ keys: { ...DEFAULT_POLICY.keys, rsaMinBits: 4096 } }),
  ],
  ['AP25: no policy', { node }, 'leave NoPolicySelected', under()],
  ['AP27: no policy for this cluster', { node }, 'leave NoPolicySelected', under(elsewhere)],
  ['AP28: the only policy denies', foreign, 'leave SanNotOwned', under({})],
  ['AP29: the only policy allows', { node }, 'approve Proven', under({})],
  ['AP30: one of two policies allows', { node }, 'approve Proven', under(byEc2, {})],
  ['AP31: two policies deny', foreign, 'leave SanNotOwned', under({}, { evidence: ['machine'] })],
  [
    'AP32: one of two policies denies, the other has no opinion',
    foreign,
    'leave SanNotOwned',
    under({}, { onHostile: 'leave' }),
  ],
]);
