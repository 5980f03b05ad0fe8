import type { AuditSource } from './audit-source.ts';
import { apiServices, crdConversions, webhooks } from './sources/ca-bundles.ts';
import { certManager } from './sources/cert-manager.ts';
import { clusterSecrets } from './sources/cluster-secrets.ts';
import { eksAuthorities, eksCluster } from './sources/eks.ts';
import { eksAnywhere } from './sources/eks-anywhere.ts';
import { kubeadmConfigs } from './sources/kubeadm-configs.ts';
import { kubeletMetrics } from './sources/kubelet-metrics.ts';
import { etcdadmCluster, kubeadmControlPlane } from './sources/machine-groups.ts';
import { machines } from './sources/machines.ts';
import { nodes } from './sources/nodes.ts';
import { signingRequests } from './sources/signing-requests.ts';
import { tlsSource } from './sources/tls.ts';
import { tlsSecrets } from './sources/tls-secrets.ts';
import { trustConfigMaps } from './sources/trust-configmaps.ts';

export const AUDIT_SOURCES: readonly AuditSource[] = [
  // Members and CAs, which the others use.
  nodes,
  machines,
  trustConfigMaps,
  eksCluster,
  // The cluster itself.
  signingRequests,
  webhooks,
  apiServices,
  crdConversions,
  certManager,
  tlsSecrets,
  kubeletMetrics,
  // Its management cluster.
  kubeadmConfigs,
  kubeadmControlPlane,
  etcdadmCluster,
  eksAnywhere,
  clusterSecrets,
  // EKS.
  eksAuthorities,
  // The network.
  tlsSource,
];
