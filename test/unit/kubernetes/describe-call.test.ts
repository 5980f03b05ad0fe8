import { expect, test } from 'vitest';
import { describeCall } from '../../../lambdas/kubernetes/describe-call.ts';

test.each([
  ['GET', '/api/v1/nodes', 'list nodes'],
  ['GET', '/api/v1/namespaces/a', 'get namespaces/a'],
  ['GET', '/apis/cluster.x-k8s.io/v1beta2/namespaces/eksa-system/machines', 'list machines in eksa-system'],
  ['GET', '/api/v1/namespaces/kube-system/serviceaccounts/a', 'get serviceaccounts/a in kube-system'],
  ['GET', '/apis/certificates.k8s.io/v1/certificatesigningrequests/a%0Ab', 'get certificatesigningrequests/a%0Ab'],
  ['PUT', '/apis/g/v1/certificatesigningrequests/a/approval', 'update certificatesigningrequests/a/approval'],
  ['POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', 'create selfsubjectaccessreviews'],
  ['PATCH', '/apis/g/v1/namespaces/n/kubeadmcontrolplanes/a', 'patch kubeadmcontrolplanes/a in n'],
  ['GET', '/apis/cluster.x-k8s.io', 'get /apis/cluster.x-k8s.io'],
] as const)('%s %s', (method, path, expected) => {
  expect(describeCall(method, path, 'https://h')).toBe(`${expected} on https://h`);
});
