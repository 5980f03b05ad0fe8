import { expect, test } from 'vitest';
import { missingRight } from '../../../lambdas/kubernetes/missing-right.ts';

test.each([
  ['/apis/certificates.k8s.io/v1/certificatesigningrequests', 'certmarshal rbac | kubectl apply -f -'],
  ['/apis/certificates.k8s.io/v1/certificatesigningrequests/a/approval', 'certmarshal rbac | kubectl apply -f -'],
  ['/api/v1/nodes', 'certmarshal rbac | kubectl apply -f -'],
  ['/api/v1/nodes/worker-3/proxy/metrics', 'certmarshal rbac --kubelet-metrics | kubectl apply -f -'],
  [
    '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases',
    'certmarshal rbac --recovery --service-account kube-system/certmarshal | kubectl apply -f - (the subject must be',
  ],
  ['/api/v1/secrets', 'certmarshal rbac --audit-secrets | kubectl apply -f -'],
  ['/api/v1/namespaces/kube-public/configmaps/cluster-info', 'certmarshal rbac | kubectl apply -f -'],
  ['/apis/cert-manager.io/v1/certificates', 'certmarshal rbac | kubectl apply -f -'],
  ['/apis/bootstrap.cluster.x-k8s.io/v1beta1/kubeadmconfigs', 'certmarshal rbac --management | kubectl apply -f -'],
  ['/apis/anywhere.eks.amazonaws.com/v1alpha1/clusters', 'certmarshal rbac --management | kubectl apply -f -'],
  [
    '/api/v1/namespaces/eksa-system/secrets/berlin-ca-etcd',
    'certmarshal rbac --management --audit-secrets --cluster-secrets-of eksa-system/berlin-ca | kubectl apply -f -',
  ],
  [
    '/api/v1/namespaces/eksa-system/secrets/berlin-aws-iam-authenticator-ca',
    'certmarshal rbac --management --audit-secrets --cluster-secrets-of eksa-system/berlin | kubectl apply -f -',
  ],
  [
    '/api/v1/namespaces/eksa-system/secrets/berlin-apiserver-etcd-client',
    'certmarshal rbac --management --audit-secrets --cluster-secrets-of eksa-system/berlin | kubectl apply -f -',
  ],
  ['/apis/cluster.x-k8s.io/v1beta2/machines', 'certmarshal rbac --management | kubectl apply -f -'],
  [
    '/apis/cluster.x-k8s.io/v1beta2/namespaces/eksa-system/machines',
    'certmarshal rbac --management | kubectl apply -f -',
  ],
  ['/apis/cluster.x-k8s.io/v1beta1/clusters', 'certmarshal rbac --management | kubectl apply -f -'],
  [
    '/apis/cluster.x-k8s.io/v1beta1/namespaces/eksa-system/clusters',
    'certmarshal rbac --management | kubectl apply -f -',
  ],
  [
    '/api/v1/namespaces/eksa-system/secrets/berlin-prod-kubeconfig',
    'certmarshal rbac --management --kubeconfig-of eksa-system/berlin-prod | kubectl apply -f -',
  ],
  [
    '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/certmarshal-rollout',
    'certmarshal rbac --management --rollouts --service-account kube-system/certmarshal | kubectl apply -f - (the subject must be',
  ],
  [
    '/apis/cluster.x-k8s.io/v1beta2/namespaces/eksa-system/machinehealthchecks',
    'certmarshal rbac --management --rollouts --service-account kube-system/certmarshal | kubectl apply -f - (the subject must be',
  ],
  [
    '/apis/anywhere.eks.amazonaws.com/v1alpha1/controlplaneupgrades',
    'certmarshal rbac --management --rollouts --service-account kube-system/certmarshal | kubectl apply -f - (the subject must be',
  ],
  [
    '/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/eksa-system/vspheremachinetemplates/berlin-1',
    'certmarshal rbac --management --rollouts --service-account kube-system/certmarshal | kubectl apply -f - (the subject must be',
  ],
  [
    '/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/eksa-system/kubeadmcontrolplanes/berlin',
    'certmarshal rbac --management --rollouts --rollout-of eksa-system/berlin --service-account kube-system/certmarshal | kubectl apply -f - (the subject must be',
  ],
  [
    '/apis/etcdcluster.cluster.x-k8s.io/v1beta1/namespaces/eksa-system/etcdadmclusters/berlin-etcd',
    'certmarshal rbac --management --rollouts --rollout-of eksa-system/berlin --rollout-etcd --service-account kube-system/certmarshal | kubectl apply -f - (the subject must be',
  ],
  [
    '/apis/infrastructure.example.com/v1/namespaces/eksa-system/proxmoxmachinetemplates/berlin-1',
    'kubectl create role certmarshal-templates -n eksa-system --verb=get --resource=proxmoxmachinetemplates.infrastructure.example.com',
  ],
  ['/apis/cluster.x-k8s.io', 'system:discovery'],
])('403 on %s: %s', (path, expected) => {
  expect(missingRight(path)).toContain(expected);
});

test('grants a rollout and a recovery to whoever is to enter, in one line', () => {
  const remedy = missingRight('/apis/cluster.x-k8s.io/v1beta2/namespaces/eksa-system/machinehealthchecks');
  expect(remedy).toMatch(
    / \| kubectl apply -f - \(the subject must be the user of certmarshal.*--user or --group\)\.$/,
  );
  expect(missingRight('/api/v1/secrets')).not.toContain('kube-system/certmarshal');
});
