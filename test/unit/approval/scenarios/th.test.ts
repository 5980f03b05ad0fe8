import { octetString, sequence } from '../../x509/der-writer.ts';
import { extension, OID, type RequestOptions, toPem } from '../../x509/request-factory.ts';
import { type CsrFields, csrObject, dns, ips, machine, type Sources } from '../fixtures.ts';
import { testScenarios } from './scenario.ts';

// TruongHoangPhuLoc/kubelet-serving-csr-approver: its Node addresses are Machine addresses here.
const node = 'worker-1';
const owner = machine(node, {
  Hostname: [node],
  InternalDNS: ['worker-1.internal.example.com'],
  ExternalDNS: ['worker-1.example.com'],
  InternalIP: ['10.0.0.5', 'fd00::5'],
  ExternalIP: ['203.0.113.5'],
});
const sans = [...dns(node), ...ips('10.0.0.5')];
const good: CsrFields = { node, request: { sans } };
const asking = (...list: typeof sans): CsrFields => ({ node, request: { sans: list } });
const made = (request: RequestOptions): CsrFields => ({ node, request: { sans, ...request } });
const usages = (...list: string[]): CsrFields => ({ ...good, usages: list });
const beside = (addresses: Parameters<typeof machine>[1]): Sources => ({
  machines: [owner, machine('worker-2', addresses)],
});
const email = { kind: 'rfc822Name', value: 'root@example.com' } as const;
const uri = { kind: 'uniformResourceIdentifier', value: 'spiffe://cluster.local/ns/default' } as const;
const pem = Buffer.from(csrObject(good).spec.request, 'base64').toString();

testScenarios('TH', 41, { machines: [owner] }, [
  ['TH1: nothing wrong', good, 'approve Proven'],
  ['TH2: another signer', { ...good, signerName: 'example.com/signer' }, 'ignore NotKubeletServing'],
  ['TH3: requester is not a node', { ...good, username: 'jane' }, 'ignore RequesterMisnamed'],
  ['TH4: requester is a node without a name', { ...good, username: 'system:node:' }, 'deny CommonNameMismatch'],
  ['TH5: group system:nodes missing', { ...good, groups: ['system:authenticated'] }, 'leave GroupsMissing'],
  ['TH6: request empty', { node, pem: Buffer.alloc(0) }, 'deny RequestMalformed'],
  ['TH7: request is not PEM', { node, pem: Buffer.from('not PEM') }, 'deny RequestMalformed'],
  [
    'TH8: PEM of another type',
    { node, pem: Buffer.from(pem.replaceAll('CERTIFICATE REQUEST', 'PRIVATE KEY')) },
    'deny RequestMalformed',
  ],
  ['TH9: DER is garbage', { node, pem: toPem(Buffer.from('garbage')) }, 'deny RequestMalformed'],
  ['TH10: signature tampered with', made({ tamper: 'signature' }), 'deny SignatureInvalid'],
  ['TH11: common name of another node', made({ commonName: 'system:node:worker-2' }), 'deny CommonNameMismatch'],
  ['TH12: common name without prefix', made({ commonName: node }), 'deny CommonNameMismatch'],
  ['TH13: common name empty', made({ commonName: '' }), 'deny CommonNameMismatch'],
  ['TH14: no organization', made({ organizations: [] }), 'deny OrganizationMismatch'],
  ['TH15: foreign organization', made({ organizations: ['system:masters'] }), 'deny OrganizationMismatch'],
  [
    'TH16: one more organization',
    made({ organizations: ['system:nodes', 'system:masters'] }),
    'deny OrganizationMismatch',
  ],
  ['TH17: system:nodes twice', made({ organizations: ['system:nodes', 'system:nodes'] }), 'deny OrganizationMismatch'],
  ['TH18: without key encipherment', usages('digital signature', 'server auth'), 'approve Proven'],
  ['TH19: no server auth', usages('digital signature', 'key encipherment'), 'deny UsagesNotAllowed'],
  [
    'TH20: client auth too',
    usages('digital signature', 'key encipherment', 'server auth', 'client auth'),
    'deny UsagesNotAllowed',
  ],
  ['TH21: one usage twice', usages('digital signature', 'server auth', 'digital signature'), 'approve Proven'],
  ['TH22: nothing knows the node', good, 'leave EvidenceMissing', { machines: [] }],
  ['TH23: DNS name is the host name', asking(...dns(node)), 'approve Proven'],
  [
    'TH24: internal and external DNS names',
    asking(...dns('worker-1.internal.example.com', 'worker-1.example.com')),
    'approve Proven',
  ],
  ['TH25: upper case and trailing dot', asking(...dns('Worker-1.Example.COM.')), 'approve Proven'],
  ['TH26: DNS name not listed', asking(...dns(node, 'worker-9')), 'leave SanNotOwned'],
  ['TH27: address of the node as DNS name', asking(...dns('10.0.0.5')), 'leave SanMalformed'],
  ['TH28: wildcard', asking(...dns(node, '*.example.com')), 'deny SanWildcard'],
  ['TH29: internal address', asking(...ips('10.0.0.5')), 'approve Proven'],
  ['TH30: external address', asking(...ips('203.0.113.5')), 'approve Proven'],
  ['TH31: IPv6 address', asking(...ips('fd00::5')), 'approve Proven'],
  ['TH32: address of another', asking(...ips('10.0.0.9')), 'leave SanNotOwned', beside({ InternalIP: ['10.0.0.9'] })],
  [
    'TH33: address that the Machine has as a host name, and another as an address',
    asking(...ips('10.0.0.9')),
    'leave SanNotOwned',
    {
      machines: [
        machine(node, { Hostname: ['10.0.0.9'], InternalIP: ['10.0.0.5'] }),
        machine('worker-2', { InternalIP: ['10.0.0.9'] }),
      ],
    },
  ],
  [
    'TH33: address that the Machine has as a host name only',
    asking(...ips('10.0.0.9')),
    'leave SanNotOwned',
    { machines: [machine(node, { Hostname: ['10.0.0.9'], InternalIP: ['10.0.0.5'] })] },
  ],
  [
    'TH34: one of two addresses is of another node',
    asking(...sans, ...ips('10.0.0.9')),
    'leave SanNotOwned',
    beside({ InternalIP: ['10.0.0.9'] }),
  ],
  ['TH35: email', asking(...sans, email), 'deny SanKindNotAllowed'],
  ['TH36: SPIFFE identity', asking(...sans, uri), 'deny SanKindNotAllowed'],
  ['TH37: email and SPIFFE identity', asking(...sans, email, uri), 'deny SanKindNotAllowed'],
  [
    'TH38: unknown extension',
    made({ extensions: [extension('1.2.3.4.5', octetString(Buffer.from('x')))] }),
    'deny ExtensionNotAllowed',
  ],
  [
    'TH39: basic constraints',
    made({ extensions: [extension(OID.basicConstraints, sequence())] }),
    'deny ExtensionNotAllowed',
  ],
  ['TH40: only subjectAltName', good, 'approve Proven'],
  ['TH41: decided', { ...good, conditions: ['Denied'] }, 'ignore AlreadyDenied'],
]);
