import { DEFAULT_POLICY } from '../../../../lambdas/approval/policy.ts';
import type { RequestOptions } from '../../x509/request-factory.ts';
import {
  CLIENT_SIGNER,
  CLIENT_USAGES,
  type CsrFields,
  dns,
  ips,
  machine,
  nodeObject,
  RSA_USAGES,
} from '../fixtures.ts';
import { testScenarios, type World } from './scenario.ts';

// openshift/cluster-machine-approver, Test_authorizeCSR. Its 127.0.0.1 is 10.0.0.7 here, because loopback is reserved.
const node = 'test';
const sans = [...dns('node1', 'node1.local'), ...ips('10.0.0.7', '10.0.0.1')];
const good: CsrFields = { node, usages: RSA_USAGES, request: { key: 'rsa2048', sans } };
const asking = (request: RequestOptions): CsrFields => ({ ...good, request: { ...good.request, ...request } });
const usages = (...list: string[]): CsrFields => ({ ...good, usages: list });
const groups = (...list: string[]): CsrFields => ({ ...good, groups: list });
const owning = (change: Partial<Parameters<typeof machine>[1]>): World => ({
  machines: [
    machine(node, {
      InternalIP: ['10.0.0.7'],
      ExternalIP: ['10.0.0.1'],
      InternalDNS: ['node1.local'],
      ExternalDNS: ['node1'],
      ...change,
    }),
  ],
});

// The client certificate of a kubelet that joins: asked for by the service account that bootstraps it.
const BOOTSTRAPPER = 'system:serviceaccount:openshift-machine-config-operator:node-bootstrapper';
const client: CsrFields = {
  node: 'panda',
  signerName: CLIENT_SIGNER,
  usages: CLIENT_USAGES,
  username: BOOTSTRAPPER,
  groups: [
    'system:serviceaccounts',
    'system:serviceaccounts:openshift-machine-config-operator',
    'system:authenticated',
  ],
  request: { key: 'rsa2048', sans: [] },
};
const pandas: World = { machines: [machine('panda', { InternalDNS: ['panda'] })] };

const extra = asking({ sans: [...sans, ...ips('99.0.1.1')] });
const withEgress = (cidr: string): World => ({
  ...owning({}),
  nodes: [nodeObject(node, { InternalIP: ['10.0.0.7', '99.0.1.1'] })],
  policies: (onHostile) => [
    {
      ...DEFAULT_POLICY,
      onHostile,
      evidence: ['machine', 'patterns'],
      patterns: { cidrs: [cidr], dnsNames: [] },
    },
  ],
});

testScenarios('CM', 75, owning({}), [
  ['CM1: every name in the Machine, RSA', good, 'approve Proven'],
  ['CM2: every name in the Machine, ECDSA', { node, request: { sans } }, 'approve Proven'],
  ['CM3: broken PEM', { ...good, pem: Buffer.from('-----BEGIN??') }, 'deny RequestMalformed'],
  ['CM4: requester is not a node', { ...good, username: 'test' }, 'ignore RequesterMisnamed'],
  ['CM5: requester is a node without a name', { ...good, username: 'system:node:' }, 'deny CommonNameMismatch'],
  ['CM6: no Machine has become that node', good, 'leave EvidenceMissing', { machines: [machine('other')] }],
  ['CM7: not authenticated', groups('system:nodes'), 'leave GroupsMissing'],
  ['CM8: not a node', groups('system:authenticated'), 'leave GroupsMissing'],
  ['CM9: one more group', groups('system:authenticated', 'system:nodes', 'foo-bar'), 'approve Proven'],
  ['CM10: another group of the system', groups('system:authenticated', 'system:foo-bar'), 'leave GroupsMissing'],
  ['CM11: no usages', usages(), 'deny UsagesNotAllowed'],
  ['CM12: client auth instead', usages(...CLIENT_USAGES), 'deny UsagesNotAllowed'],
  ['CM13: no digital signature', usages('key encipherment', 'server auth'), 'deny UsagesNotAllowed'],
  ['CM14: no server auth', usages('digital signature', 'key encipherment'), 'deny UsagesNotAllowed'],
  ['CM15: signing too', usages(...RSA_USAGES, 'signing'), 'deny UsagesNotAllowed'],
  ['CM16: common name of another node', asking({ commonName: 'system:node:foobar' }), 'deny CommonNameMismatch'],
  ['CM17: common name without prefix', asking({ commonName: 'test' }), 'deny CommonNameMismatch'],
  ['CM18: no organization', asking({ organizations: [] }), 'deny OrganizationMismatch'],
  // D or P: nobody owns that address.
  ['CM19: one more address', extra, 'leave SanNotOwned'],
  ['CM20: the address of the Machine drifted', good, 'leave SanNotOwned', owning({ ExternalIP: ['10.0.0.2'] })],
  ['CM21: another DNS name in the Machine', good, 'leave SanNotOwned', owning({ ExternalDNS: ['node2'] })],
  ['CM22: trailing dot in the Machine', good, 'approve Proven', owning({ InternalDNS: ['node1.local.'] })],
  ['CM23: client certificate', client, 'ignore NotKubeletServing', pandas],
  ['CM24: upper case in the Machine', good, 'approve Proven', owning({ InternalDNS: ['NODE1.Local'] })],
  ['CM25: upper case and trailing dot', good, 'approve Proven', owning({ InternalDNS: ['NODE1.local.'] })],
  ['CM26: one more organization', asking({ organizations: ['bamboo', 'system:nodes'] }), 'deny OrganizationMismatch'],
  [
    'CM26: one more organization, client certificate',
    { ...client, request: { sans: [], organizations: ['bamboo', 'system:nodes'] } },
    'ignore NotKubeletServing',
    pandas,
  ],
  [
    'CM27: client certificate with a DNS name',
    { ...client, request: { sans: dns('banana') } },
    'ignore NotKubeletServing',
    pandas,
  ],
  [
    'CM28: client certificate with server auth',
    { ...client, usages: [...CLIENT_USAGES, 'server auth'] },
    'ignore NotKubeletServing',
    pandas,
  ],
  ['CM29: client certificate, server usages', { ...client, usages: RSA_USAGES }, 'ignore NotKubeletServing', pandas],
  [
    'CM30: client certificate without digital signature',
    { ...client, usages: ['key encipherment', 'client auth'] },
    'ignore NotKubeletServing',
    pandas,
  ],
  ['CM31: common name of no node', asking({ commonName: 'system:notnode:zebra' }), 'deny CommonNameMismatch'],
  [
    'CM31: common name of no node, client certificate',
    { ...client, request: { sans: [], commonName: 'system:notnode:zebra' } },
    'ignore NotKubeletServing',
    pandas,
  ],
  [
    'CM32: client certificate for another service account',
    { ...client, username: `${BOOTSTRAPPER}-not` },
    'ignore NotKubeletServing',
    pandas,
  ],
  ['CM32: serving certificate for a service account', { ...good, username: BOOTSTRAPPER }, 'ignore RequesterNotNode'],
  [
    'CM33: client certificate, one more group',
    { ...client, groups: [...(client.groups ?? []), 'foo-bar'] },
    'ignore NotKubeletServing',
    pandas,
  ],
  ['CM34: common name is the bare prefix', asking({ commonName: 'system:node:' }), 'deny CommonNameMismatch'],
  [
    'CM34: common name is the bare prefix, client certificate',
    { ...client, request: { sans: [], commonName: 'system:node:' } },
    'ignore NotKubeletServing',
    pandas,
  ],
  [
    'CM35: client certificate, the Node exists',
    client,
    'ignore NotKubeletServing',
    { ...pandas, nodes: [nodeObject('panda')] },
  ],
  [
    'CM36: client certificate, name is ExternalDNS',
    client,
    'ignore NotKubeletServing',
    { machines: [machine('', { ExternalDNS: ['panda'] })] },
  ],
  [
    'CM37: client certificate, Machine is another node',
    client,
    'ignore NotKubeletServing',
    { machines: [machine('other', { InternalDNS: ['panda'] })] },
  ],
  ['CM38: client certificate, flow disabled', client, 'ignore NotKubeletServing', pandas],
  ['CM39: client certificate, 8 min old', { ...client, ageSeconds: 480 }, 'ignore NotKubeletServing', pandas],
  ['CM40: client certificate, from 9 s ahead', { ...client, ageSeconds: -9 }, 'ignore NotKubeletServing', pandas],
  ['CM41: client certificate, too early', { ...client, ageSeconds: -60 }, 'ignore NotKubeletServing', pandas],
  ['CM42: client certificate, 25 h late', { ...client, ageSeconds: 90_000 }, 'ignore NotKubeletServing', pandas],
  // D: approved there by the certificate that the kubelet serves.
  ['CM43: renewal without a Machine', good, 'leave EvidenceMissing', { machines: [] }],
  ['CM44: no Node, but a Machine', good, 'approve Proven', { ...owning({}), nodes: [] }],
  ['CM47: one more address, allowed and shown by the Node', extra, 'approve Proven', withEgress('99.0.1.1/32')],
  ['CM48: one more address, in a CIDR and shown by the Node', extra, 'approve Proven', withEgress('99.0.1.0/24')],
  ['CM72: client auth as third', usages('digital signature', 'server auth', 'client auth'), 'deny UsagesNotAllowed'],
  ['CM73: no name', asking({ sans: [] }), 'deny SanMissing'],
  ['CM74: masters too', asking({ organizations: ['system:nodes', 'system:masters'] }), 'deny OrganizationMismatch'],
  [
    'CM75: URI too',
    asking({ sans: [...sans, { kind: 'uniformResourceIdentifier', value: 'spiffe://cluster.local/ns/x' }] }),
    'deny SanKindNotAllowed',
  ],
]);
