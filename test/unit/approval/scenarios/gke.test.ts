import { toPem } from '../../x509/request-factory.ts';
import {
  CLIENT_SIGNER,
  CLIENT_USAGES,
  type CsrFields,
  csrObject,
  DUBLIN,
  dns,
  instance,
  ips,
  machine,
  RSA_USAGES,
} from '../fixtures.ts';
import { testScenarios } from './scenario.ts';

// The approver of kubernetes/cloud-provider-gcp, as it was until 2024: its instances are Machines here.
const node = 'i0';
const zonal = 'i0.z0.c.p0.internal';
const global = 'i0.c.p0.internal';
const INTERNAL_IPV6 = 'fd20:fbc:b0e2::b:0:0';
const EXTERNAL_IPV6 = '2600:1900:1:1:0:5::';
const owner = machine(node, {
  InternalDNS: [zonal, global, node],
  InternalIP: ['1.2.3.4', INTERNAL_IPV6],
  ExternalIP: [EXTERNAL_IPV6],
});
const names = dns(zonal, global, node);
const sans = [...names, ...ips('1.2.3.4')];
const good: CsrFields = { node, request: { sans } };
const asking = (...list: typeof sans): CsrFields => ({ node, request: { sans: list } });

const client: CsrFields = {
  node,
  username: 'kubelet',
  groups: ['system:authenticated'],
  signerName: CLIENT_SIGNER,
  usages: CLIENT_USAGES,
  request: { sans: [] },
};

function attested(fields: CsrFields): Buffer {
  const blocks = ['VM IDENTITY', 'ATTESTATION DATA', 'ATTESTATION SIGNATURE'];
  const request = Buffer.from(csrObject(fields).spec.request, 'base64');
  return Buffer.concat([request, ...blocks.map((label) => toPem(Buffer.from(label), label))]);
}

testScenarios('GK', 51, { machines: [owner] }, [
  ['GK1: usages nil', { ...good, usages: null }, 'deny UsagesNotAllowed'],
  ['GK1: usages empty', { ...good, usages: [] }, 'deny UsagesNotAllowed'],
  ['GK1: usages without auth', { ...good, usages: ['key encipherment', 'digital signature'] }, 'deny UsagesNotAllowed'],
  ['GK1: the usages of the other signer', { ...good, usages: CLIENT_USAGES }, 'deny UsagesNotAllowed'],
  ['GK2: exact usages of a client certificate', client, 'ignore NotKubeletServing'],
  ['GK12: legacy client', client, 'ignore NotKubeletServing'],
  ['GK13: legacy client, signer empty', { ...client, signerName: '' }, 'ignore NotKubeletServing'],
  [
    'GK14: legacy client, signer kubelet-serving',
    { ...client, signerName: 'kubernetes.io/kubelet-serving' },
    'ignore RequesterMisnamed',
  ],
  [
    'GK15: legacy client, common name mike',
    { ...client, request: { sans: [], commonName: 'mike' } },
    'ignore NotKubeletServing',
  ],
  ['GK16: client certificate for a node', { ...client, username: 'system:node:i0' }, 'ignore NotKubeletServing'],
  [
    'GK17: legacy client, no organization',
    { ...client, request: { sans: [], organizations: [] } },
    'ignore NotKubeletServing',
  ],
  [
    'GK18: legacy client, system:master',
    { ...client, request: { sans: [], organizations: ['system:master'] } },
    'ignore NotKubeletServing',
  ],
  ['GK19: legacy client, server usages', { ...client, usages: RSA_USAGES }, 'ignore NotKubeletServing'],
  ['GK20: serving certificate', { ...good, usages: RSA_USAGES }, 'approve Proven'],
  ['GK21: client usages', { ...good, usages: CLIENT_USAGES }, 'deny UsagesNotAllowed'],
  ['GK21: signer empty', { ...good, signerName: '' }, 'ignore NotKubeletServing'],
  ['GK21: signer of client certificates', { ...good, signerName: CLIENT_SIGNER }, 'ignore NotKubeletServing'],
  ['GK21: common name mike', { node, request: { sans, commonName: 'mike' } }, 'deny CommonNameMismatch'],
  ['GK21: no organization', { node, request: { sans, organizations: [] } }, 'deny OrganizationMismatch'],
  ['GK21: system:master', { node, request: { sans, organizations: ['system:master'] } }, 'deny OrganizationMismatch'],
  ['GK21: requester joe', { ...good, username: 'joe' }, 'ignore RequesterMisnamed'],
  [
    'GK21: common name of another node',
    { node, request: { sans, commonName: 'system:node:bar' } },
    'deny CommonNameMismatch',
  ],
  ['GK22: address and the three DNS names', good, 'approve Proven'],
  ['GK23: internal IPv6 too', asking(...sans, ...ips(INTERNAL_IPV6)), 'approve Proven'],
  ['GK24: external IPv6 too', asking(...sans, ...ips(EXTERNAL_IPV6)), 'approve Proven'],
  [
    // Their domain-scoped project; ours is a VPC whose DHCP options set a domain, which EC2 then shows.
    'GK25: names under a domain of the owner',
    {
      node: 'ip-10-0-1-23.corp.example.com',
      ageSeconds: 180,
      request: { sans: [...dns('ip-10-0-1-23.corp.example.com'), ...ips('10.0.1.23')] },
    },
    'approve Proven',
    {
      cluster: DUBLIN,
      instances: [{ ...instance('i-0123456789abcdef0', '10.0.1.23'), PrivateDnsName: 'ip-10-0-1-23.corp.example.com' }],
    },
  ],
  ['GK26: nothing set', { node, request: { subject: [], sans: [] } }, 'deny CommonNameMismatch'],
  // They deny. kube-apiserver sets the username: an empty one is no node, so the request is none of ours.
  ['GK27: username empty', { ...good, username: '' }, 'ignore RequesterMisnamed'],
  // They want an address. Here the names alone are judged: proven they are approved (as AX22), else left.
  ['GK28: no address, names not known yet', asking(...names), 'leave EvidenceMissing', { machines: [] }],
  ['GK28: no address, names proven', asking(...names), 'approve Proven'],
  [
    'GK29: instance of another project',
    good,
    'leave EvidenceMissing',
    {
      machines: [
        {
          ...owner,
          metadata: { name: 'md-0', namespace: 'eksa-system' },
          spec: { clusterName: 'other' },
        },
      ],
    },
  ],
  [
    'GK29: instance of another zone',
    { node: 'ip-10-0-1-23.eu-west-1.compute.internal', ageSeconds: 180, request: { sans: ips('10.0.1.23') } },
    'leave SanNotOwned',
    {
      cluster: DUBLIN,
      instances: [
        {
          ...instance('i-0123456789abcdef0', '10.0.1.23'),
          PrivateDnsName: 'ip-10-0-1-23.us-west-2.compute.internal',
        },
      ],
    },
  ],
  ['GK29: instance unknown', good, 'leave EvidenceMissing', { machines: [machine('i1')] }],
  [
    'GK30: address of another node',
    asking(...names, ...ips('1.2.3.5')),
    'leave SanNotOwned',
    { machines: [owner, machine('i1', { InternalIP: ['1.2.3.5'] })] },
  ],
  ['GK31: zonal DNS name of another node', asking(...dns('i1.z0.c.p0.internal', global, node)), 'leave SanNotOwned'],
  ['GK31: global DNS name of another node', asking(...dns(zonal, 'i1.c.p0.internal', node)), 'leave SanNotOwned'],
  ['GK31: Windows name of another node', asking(...dns(zonal, global, 'i1')), 'leave SanNotOwned'],
  // A kubelet with a TPM appends proof of its instance to the request for a client certificate.
  ['GK33: attested client', { ...client, pem: attested({ node, request: { sans: [] } }) }, 'ignore NotKubeletServing'],
  ['GK33: attested serving request', { node, pem: attested(good) }, 'deny RequestMalformed'],
]);
