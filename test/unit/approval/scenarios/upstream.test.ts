import type { RequestOptions } from '../../x509/request-factory.ts';
import { CLIENT_SIGNER, CLIENT_USAGES, type CsrFields, dns, ips, machine, RSA_USAGES } from '../fixtures.ts';
import { testScenarios } from './scenario.ts';

// kubernetes/kubernetes: defaulting, signer, self approver, NodeRestriction. They look at no ownership.
const node = 'node-server-name';
const owner = machine(node, { InternalDNS: ['example.internal'], InternalIP: ['10.0.0.7'] });
const sans = [...dns(node), ...ips('10.0.0.7')];
const good: CsrFields = { node, usages: RSA_USAGES, request: { key: 'rsa2048', sans } };
const asking = (request: RequestOptions): CsrFields => ({ ...good, request: { ...good.request, ...request } });
const uri = { kind: 'uniformResourceIdentifier', value: 'http://something' } as const;
const email = { kind: 'rfc822Name', value: 'something' } as const;

const client: CsrFields = {
  node,
  signerName: CLIENT_SIGNER,
  usages: CLIENT_USAGES,
  request: { key: 'rsa2048', sans: [] },
};
const clientAsking = (request: RequestOptions): CsrFields => ({
  ...client,
  request: { ...client.request, ...request },
});

testScenarios('UP', 45, { machines: [owner] }, [
  ['UP1: DNS name and address', good, 'approve Proven'],
  ['UP1: with the address of nobody', asking({ sans: [...dns(node), ...ips('0.0.0.0')] }), 'leave SanReserved'],
  ['UP2: foreign organization', asking({ organizations: ['not-system:nodes'] }), 'deny OrganizationMismatch'],
  [
    'UP3: neither common name nor username of a node',
    { ...asking({ commonName: 'notprefixed' }), username: 'notprefixed' },
    'ignore RequesterNotNode',
  ],
  ['UP4: client auth too', { ...good, usages: [...RSA_USAGES, 'client auth'] }, 'deny UsagesNotAllowed'],
  ['UP5: no digital signature', { ...good, usages: ['key encipherment', 'server auth'] }, 'deny UsagesNotAllowed'],
  ['UP6: no name', asking({ sans: [] }), 'deny SanMissing'],
  ['UP7: URI', asking({ sans: [...sans, uri] }), 'deny SanKindNotAllowed'],
  ['UP8: email', asking({ sans: [...sans, email] }), 'deny SanKindNotAllowed'],
  ['UP9: invalid bytes', { ...good, pem: Buffer.from('invalid') }, 'deny RequestMalformed'],
  ['UP10: signer set before', { ...good, signerName: 'example.com/not-kubelet-serving' }, 'ignore NotKubeletServing'],
  ['UP11: client certificate', client, 'ignore NotKubeletServing'],
  [
    'UP12: client certificate, foreign organization',
    clientAsking({ organizations: ['not-system:nodes'] }),
    'ignore NotKubeletServing',
  ],
  ['UP13: client certificate, DNS name', clientAsking({ sans: dns('host') }), 'ignore NotKubeletServing'],
  ['UP14: client certificate, email', clientAsking({ sans: [email] }), 'ignore NotKubeletServing'],
  ['UP15: client certificate, URI', clientAsking({ sans: [uri] }), 'ignore NotKubeletServing'],
  ['UP16: client certificate, address', clientAsking({ sans: ips('0.0.0.0') }), 'ignore NotKubeletServing'],
  [
    'UP17: client certificate, common name without prefix',
    clientAsking({ commonName: 'notprefixed' }),
    'ignore NotKubeletServing',
  ],
  [
    'UP18: client certificate, server auth too',
    { ...client, usages: [...CLIENT_USAGES, 'server auth'] },
    'ignore NotKubeletServing',
  ],
  [
    'UP19: client certificate, no digital signature',
    { ...client, usages: ['key encipherment', 'client auth'] },
    'ignore NotKubeletServing',
  ],
  // The signer issues this once it is approved: nothing but the approver stands in the way.
  ['UP20: foreign DNS name', asking({ sans: dns('example.com') }), 'leave SanNotOwned'],
  [
    'UP20: foreign DNS name, approved',
    { ...asking({ sans: dns('example.com') }), conditions: ['Approved'] },
    'ignore AlreadyApproved',
  ],
  ['UP21: approved and failed', { ...good, conditions: ['Approved', 'Failed'] }, 'ignore AlreadyFailed'],
  ['UP22: not approved yet', good, 'approve Proven'],
  [
    'UP23: kube-apiserver-client with server auth',
    { ...good, signerName: 'kubernetes.io/kube-apiserver-client' },
    'ignore NotKubeletServing',
  ],
  [
    'UP24: kube-apiserver-client',
    { ...client, signerName: 'kubernetes.io/kube-apiserver-client' },
    'ignore NotKubeletServing',
  ],
  ['UP24: kube-apiserver-client-kubelet', client, 'ignore NotKubeletServing'],
  ['UP24: legacy-unknown', { ...good, signerName: 'kubernetes.io/legacy-unknown' }, 'ignore NotKubeletServing'],
  ['UP25: signer nobody knows', { ...good, signerName: 'unknown' }, 'ignore NotKubeletServing'],
  ['UP26: signer of others', { ...good, signerName: 'example.com/signer' }, 'ignore NotKubeletServing'],
  [
    'UP27: no signer of Kubernetes',
    { ...good, signerName: 'kubernetes.io/not-a-real-signer' },
    'ignore NotKubeletServing',
  ],
  // The signer cuts and stretches lifetimes; kube-apiserver refuses less than 10 minutes at creation.
  ['UP28: 30 minutes asked', { ...good, expirationSeconds: 1800 }, 'approve Proven'],
  ['UP29: 3 hours asked', { ...good, expirationSeconds: 10_800 }, 'approve Proven'],
  ['UP30: negative lifetime', { ...good, expirationSeconds: -10_800 }, 'leave ObjectMalformed'],
  ['UP31: a second under 10 minutes', { ...good, expirationSeconds: 599 }, 'leave ObjectMalformed'],
  ['UP32: 10 minutes', { ...good, expirationSeconds: 600 }, 'approve Proven'],
  ['UP33: the lifetime of the signer', { ...good, expirationSeconds: 3600 }, 'approve Proven'],
  ['UP34: no lifetime asked', good, 'approve Proven'],
  ['UP35: client certificate, common name mike', clientAsking({ commonName: 'mike' }), 'ignore NotKubeletServing'],
  ['UP35: client certificate, no organization', clientAsking({ organizations: [] }), 'ignore NotKubeletServing'],
  [
    'UP35: client certificate, system:master',
    clientAsking({ organizations: ['system:master'] }),
    'ignore NotKubeletServing',
  ],
  [
    'UP35: client certificate, server auth too',
    { ...client, usages: [...CLIENT_USAGES, 'server auth'] },
    'ignore NotKubeletServing',
  ],
  ['UP36: client certificate for joe', { ...client, username: 'joe' }, 'ignore NotKubeletServing'],
  [
    'UP36: client certificate of another node',
    clientAsking({ commonName: 'system:node:bar' }),
    'ignore NotKubeletServing',
  ],
  // What NodeRestriction stops at creation; it is not there for users who are no nodes, nor when it is off.
  ['UP37: serving certificate for itself', good, 'approve Proven'],
  ['UP38: client certificate for itself', client, 'ignore NotKubeletServing'],
  [
    'UP39: kube-apiserver-client, any common name',
    {
      ...clientAsking({ commonName: 'admin' }),
      signerName: 'kubernetes.io/kube-apiserver-client',
    },
    'ignore NotKubeletServing',
  ],
  [
    'UP40: serving certificate for another node',
    asking({ commonName: 'system:node:othernode' }),
    'deny CommonNameMismatch',
  ],
  [
    'UP41: serving certificate for another node, with its names',
    asking({ commonName: 'system:node:othernode', sans: dns('othernode') }),
    'deny CommonNameMismatch',
  ],
  ['UP42: bytes that cannot be parsed', { ...good, pem: Buffer.from('unparsable') }, 'deny RequestMalformed'],
  // Left, not denied: a kubelet of a version that does not know the rule would ask like this.
  ['UP43: ML-DSA with key encipherment', asking({ key: 'mldsa65' }), 'leave UsagesNotAllowed'],
  [
    'UP43: ML-DSA without key encipherment',
    { ...asking({ key: 'mldsa65' }), usages: ['digital signature', 'server auth'] },
    'approve Proven',
  ],
  ['UP44: one usage twice', { ...good, usages: ['digital signature', 'server auth', 'server auth'] }, 'approve Proven'],
]);
