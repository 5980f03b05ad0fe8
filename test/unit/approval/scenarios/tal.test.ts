import { DEFAULT_POLICY } from '../../../../lambdas/approval/policy.ts';
import { makeRequest, toPem } from '../../x509/request-factory.ts';
import { type CsrFields, csrObject, dns, ips, machine, nodeObject, RSA_USAGES } from '../fixtures.ts';
import { testScenarios, type World } from './scenario.ts';

// siderolabs/talos-cloud-controller-manager believes what Nodes say about themselves: so do the rows with `byNode`.
const node = 'node-a';
const owner = machine(node, { InternalIP: ['1.2.3.4'], ExternalIP: ['2001:db8::4'] });
const other = machine('node-b', { InternalIP: ['1.2.3.9', '2000::1'] });
const asking = (...sans: ReturnType<typeof dns>): CsrFields => ({ node, request: { sans } });
const both = [...dns(node), ...ips('1.2.3.4')];
const rsa = (...sans: ReturnType<typeof dns>): CsrFields => ({
  node,
  usages: RSA_USAGES,
  request: { key: 'rsa2048', sans },
});
const email = { kind: 'rfc822Name', value: 'root@example.com' } as const;
const uri = { kind: 'uniformResourceIdentifier', value: 'https://example.com' } as const;

const byNode = (...nodes: unknown[]): World => ({
  nodes,
  policies: (onHostile) => [{ ...DEFAULT_POLICY, onHostile, evidence: ['node'] }],
});
const pem = Buffer.from(csrObject(asking(...both)).spec.request, 'base64');

testScenarios('TA', 29, { machines: [owner, other] }, [
  ['TA1: decided', { node, conditions: ['Approved'] }, 'ignore AlreadyApproved'],
  ['TA2: another signer', { node, signerName: 'example.com/signer' }, 'ignore NotKubeletServing'],
  ['TA3: requester is not a node', { node, username: 'invalid' }, 'ignore RequesterMisnamed'],
  ['TA4: issued', { node, certificate: 'Y2VydGlmaWNhdGU=' }, 'ignore AlreadyIssued'],
  ['TA5: not PEM', { node, pem: Buffer.from('certificate') }, 'deny RequestMalformed'],
  ['TA5: DER cut short', { node, pem: toPem(makeRequest().der.subarray(0, 60)) }, 'deny RequestMalformed'],
  [
    'TA5: PEM of another type',
    { node, pem: Buffer.from(pem.toString().replaceAll('CERTIFICATE REQUEST', 'CERTIFICATE')) },
    'deny RequestMalformed',
  ],
  ['TA6: no name', asking(), 'deny SanMissing'],
  ['TA7: host name and address', asking(...both), 'approve Proven'],
  [
    'TA8: host name that no provider knows',
    { node: 'invalid', request: { sans: dns('invalid') } },
    'leave EvidenceMissing',
  ],
  ['TA9: the provider fails', asking(...both), 'leave EvidenceUnreadable', { unreadable: ['machine'] }],
  ['TA10: DNS name only', asking(...dns(node)), 'approve Proven'],
  ['TA11: address only', asking(...ips('1.2.3.4')), 'approve Proven'],
  ['TA12: both, RSA', rsa(...both), 'approve Proven'],
  ['TA13: both, without key encipherment', asking(...both), 'approve Proven'],
  ['TA14: the name of the API server', asking(...dns('kubernetes')), 'deny SanReserved'],
  ['TA15: the Service of the API server', asking(...dns('kubernetes.default.svc')), 'deny SanReserved'],
  [
    'TA16: foreign organization',
    { node, request: { organizations: ['invalid'], sans: both } },
    'deny OrganizationMismatch',
  ],
  ['TA17: foreign common name', { node, request: { commonName: 'invalid', sans: both } }, 'deny CommonNameMismatch'],
  ['TA18: email', asking(...both, email), 'deny SanKindNotAllowed'],
  ['TA19: URI', asking(...both, uri), 'deny SanKindNotAllowed'],
  [
    'TA20: client auth too',
    { ...asking(...both), usages: ['digital signature', 'server auth', 'client auth'] },
    'deny UsagesNotAllowed',
  ],
  [
    'TA21: digital signature twice, no server auth',
    { ...asking(...both), usages: ['digital signature', 'digital signature'] },
    'deny UsagesNotAllowed',
  ],
  ['TA22: DNS name of a Node that is not there', asking(...dns(node)), 'leave EvidenceMissing', byNode()],
  ['TA23: Node without addresses', asking(...dns(node)), 'leave SanNotOwned', byNode(nodeObject(node))],
  [
    // P/A: the annotation is the kubelet's own wish, never evidence.
    'TA24: address only in an annotation of the Node',
    asking(...both),
    'leave SanNotOwned',
    byNode({
      ...nodeObject(node, { Hostname: [node] }),
      metadata: { name: node, annotations: { 'alpha.kubernetes.io/provided-node-ip': '1.2.3.4' } },
    }),
  ],
  ['TA25: second address is of another node', asking(...both, ...ips('2000::1')), 'leave SanNotOwned'],
  ['TA26: IPv4 and IPv6 of the Machine', asking(...both, ...ips('2001:db8::4')), 'approve Proven'],
  [
    'TA26: IPv4 and IPv6 of the Node',
    asking(...both, ...ips('2001:db8::4')),
    'approve Proven',
    byNode(nodeObject(node, { Hostname: [node], InternalIP: ['1.2.3.4'], ExternalIP: ['2001:db8::4'] })),
  ],
  ['TA27: DNS name and address of another node', asking(...dns('node-b'), ...ips('1.2.3.9')), 'deny SanNotOwned'],
  [
    'TA28: DNS name of another node and of an API',
    asking(...dns('node-b', 'kubernetes-api.corp.example.com')),
    'deny SanNotOwned',
  ],
  ['TA29: address only, not owned', asking(...ips('1.2.3.77')), 'leave SanNotOwned'],
  ['TA29: address only, owned', asking(...ips('1.2.3.4')), 'approve Proven'],
]);
