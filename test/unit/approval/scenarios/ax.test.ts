import { dns, ips, machine, RSA_USAGES } from '../fixtures.ts';
import { testScenarios } from './scenario.ts';

// alex1989hu/kubelet-serving-cert-approver proves no ownership at all: where it approves, a Machine owns the names here.
const node = 'node-01';
const owner = machine(node, { InternalDNS: ['node-01.example.com'], InternalIP: ['1.2.3.4'] });
const email = { kind: 'rfc822Name', value: 'foo@no-reply.bar' } as const;
const uri = { kind: 'uniformResourceIdentifier', value: 'https://foo.bar.acme' } as const;

testScenarios('AX', 26, { machines: [owner] }, [
  ['AX1: another signer', { node, signerName: 'foobar' }, 'ignore NotKubeletServing'],
  ['AX2: being deleted', { node, deleting: true }, 'ignore Deleting'],
  ['AX3: issued', { node, certificate: 'Y2VydGlmaWNhdGU=' }, 'ignore AlreadyIssued'],
  ['AX4: approved', { node, conditions: ['Approved'] }, 'ignore AlreadyApproved'],
  ['AX5: denied', { node, conditions: ['Denied'] }, 'ignore AlreadyDenied'],
  ['AX6: failed', { node, conditions: ['Failed'] }, 'ignore AlreadyFailed'],
  [
    'AX7: foreign DNS name, RSA',
    { node, usages: RSA_USAGES, request: { key: 'rsa2048', sans: dns('foo.bar') } },
    'leave SanNotOwned',
  ],
  ['AX8: bytes that are no PEM', { node, pem: Buffer.from('foobar') }, 'deny RequestMalformed'],
  ['AX9: requester is not a node', { node, username: 'foo-system' }, 'ignore RequesterMisnamed'],
  ['AX13: foreign organization', { node, request: { organizations: ['invalid'] } }, 'deny OrganizationMismatch'],
  [
    'AX14: common name without the prefix',
    { node, request: { commonName: 'bad:prefix:node:node-01' } },
    'deny CommonNameMismatch',
  ],
  [
    'AX15: common name is longer than the username',
    { node, request: { commonName: 'system:node:node-01mismatch' } },
    'deny CommonNameMismatch',
  ],
  // The missing name is named first, as upstream does; the kind of the others fails a rule of its own.
  ['AX16: email only', { node, request: { sans: [email] } }, 'deny SanMissing'],
  ['AX17: URI only', { node, request: { sans: [uri] } }, 'deny SanMissing'],
  ['AX18: email and URI', { node, request: { sans: [email, uri] } }, 'deny SanMissing'],
  ['AX19: no name', { node, request: { sans: [] } }, 'deny SanMissing'],
  ['AX20: code signing too', { node, usages: [...RSA_USAGES, 'code signing'] }, 'deny UsagesNotAllowed'],
  [
    'AX21: code signing instead of server auth',
    { node, usages: ['key encipherment', 'digital signature', 'code signing'] },
    'deny UsagesNotAllowed',
  ],
  ['AX22: DNS name only', { node, request: { sans: dns(node) } }, 'approve Proven'],
  ['AX23: address only', { node, request: { sans: ips('1.2.3.4') } }, 'approve Proven'],
  ['AX24: all three usages', { node, usages: RSA_USAGES, request: { key: 'rsa2048' } }, 'approve Proven'],
  ['AX25: no bytes', { node, pem: Buffer.alloc(0) }, 'deny RequestMalformed'],
  [
    'AX25: PEM with an empty body',
    {
      node,
      pem: Buffer.from('-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n'),
    },
    'deny RequestMalformed',
  ],
  ['AX26: no server auth', { node, usages: ['digital signature'] }, 'deny UsagesNotAllowed'],
]);
