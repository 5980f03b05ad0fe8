import { type CsrFields, dns, ips, machine } from '../fixtures.ts';
import { testScenarios } from './scenario.ts';

// kontena/kubelet-rubber-stamp and SUSE/kucero recognise requests and prove nothing.
const node = 'node-1';
const good: CsrFields = { node, request: { sans: [...dns(node), ...ips('10.0.1.23')] } };

testScenarios('RS', 6, { machines: [machine(node, { InternalIP: ['10.0.1.23'] })] }, [
  [
    'RS1: foreign organization',
    { ...good, request: { ...good.request, organizations: ['foobar'] } },
    'deny OrganizationMismatch',
  ],
  ['RS2: no name', { node, request: { sans: [] } }, 'deny SanMissing'],
  ['RS3: address only', { node, request: { sans: ips('10.0.1.23') } }, 'approve Proven'],
  [
    'RS3: node that is called by its address',
    { node: '10.0.1.23', request: { sans: ips('10.0.1.23') } },
    'approve Proven',
    { machines: [machine('10.0.1.23', { InternalIP: ['10.0.1.23'] })] },
  ],
  ['RS4: DNS name only', { node, request: { sans: dns(node) } }, 'approve Proven'],
  ['RS5: other usages', { ...good, usages: ['server auth'] }, 'deny UsagesNotAllowed'],
  [
    'RS6: common name of another node',
    { ...good, request: { ...good.request, commonName: 'system:node:node-2' } },
    'deny CommonNameMismatch',
  ],
]);
