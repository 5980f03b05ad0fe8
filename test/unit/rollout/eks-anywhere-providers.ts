import { type Fields, NAME, NAMESPACE } from './fixtures.ts';

/** What the Cluster of Cluster API has of each provider of EKS Anywhere. The KubeadmControlPlane has no label at first on any; Cluster API adds the name of the cluster. */
export const EKS_ANYWHERE_PROVIDERS = {
  /** Source: EKS Anywhere, pkg/providers/vsphere/config/template-cp.yaml. */
  vSphere: { labels: { 'cluster.x-k8s.io/cluster-name': NAME }, kind: 'VSphere' },
  /** Source: pkg/providers/tinkerbell/config/template-cp.yaml. */
  'bare metal': { labels: { 'cluster.x-k8s.io/cluster-name': NAME }, kind: 'Tinkerbell' },
  /** Source: pkg/providers/nutanix/config/cp-template.yaml. */
  Nutanix: { labels: { 'cluster.x-k8s.io/cluster-name': NAME }, kind: 'Nutanix' },
  /** Source: pkg/providers/cloudstack/config/template-cp.yaml. */
  CloudStack: { labels: { 'cluster.x-k8s.io/cluster-name': NAME }, kind: 'CloudStack' },
  /** Source: pkg/providers/docker/config/template-cp.yaml. */
  Docker: { labels: undefined, kind: 'Docker' },
  /** Source: pkg/providers/snow/apibuilder_test.go, `wantCAPICluster`. */
  Snow: {
    labels: {
      'cluster.x-k8s.io/cluster-name': NAME,
      'cluster.anywhere.eks.amazonaws.com/cluster-name': NAME,
      'cluster.anywhere.eks.amazonaws.com/cluster-namespace': 'default',
    },
    kind: 'AWSSnow',
  },
} as const;
export type EksAnywhereProvider = keyof typeof EKS_ANYWHERE_PROVIDERS;

/** The Cluster of Cluster API as EKS Anywhere writes it. */
export function madeByEksAnywhere(provider: EksAnywhereProvider): Fields {
  const { labels, kind } = EKS_ANYWHERE_PROVIDERS[provider];
  return {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Cluster',
    metadata: { name: NAME, namespace: NAMESPACE, labels },
    spec: {
      controlPlaneRef: { apiGroup: 'controlplane.cluster.x-k8s.io', kind: 'KubeadmControlPlane', name: NAME },
      infrastructureRef: { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: `${kind}Cluster`, name: NAME },
    },
  };
}
