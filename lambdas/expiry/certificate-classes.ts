import type { Provider } from '../contracts/identifiers.ts';

/** Where the certificates of a class live. */
export type Layer = 'control plane' | 'etcd' | 'node' | 'authority' | 'client' | 'workload';

interface ClassEntry {
  /** For people: `etcd server`. */
  readonly title: string;
  readonly layer: Layer;
  /** What renews it, by how the cluster is run; the first words of a sentence: `the kubelet, on its own`. */
  readonly renewedBy: { readonly eks?: string; readonly 'eks-anywhere'?: string };
}

const EKS = 'EKS, on its own';
const CONTROL_PLANE_ROLLOUT = 'a rollout of the control plane machines';
const ETCD_ROLLOUT = 'a rollout of the etcd machines';
const KUBELET = 'the kubelet, on its own, once its request is approved';
const NOTHING = 'nothing: by hand';

/** Every kind of certificate that a cluster has, with how it is renewed. `docs/coverage.md` says where each is seen; a test compares them. */
export const CERTIFICATE_CLASSES = {
  'kube-apiserver': {
    title: 'kube-apiserver',
    layer: 'control plane',
    renewedBy: { 'eks-anywhere': CONTROL_PLANE_ROLLOUT },
  },
  'eks-api-server': { title: 'EKS API endpoint', layer: 'control plane', renewedBy: { eks: EKS } },
  'control-plane-clients': {
    title: 'control plane clients',
    layer: 'control plane',
    renewedBy: { 'eks-anywhere': CONTROL_PLANE_ROLLOUT },
  },
  'kube-controller-manager': {
    title: 'kube-controller-manager',
    layer: 'control plane',
    renewedBy: { 'eks-anywhere': 'kube-controller-manager, with its next start, where it made the certificate itself' },
  },
  'kube-scheduler': {
    title: 'kube-scheduler',
    layer: 'control plane',
    renewedBy: { 'eks-anywhere': 'kube-scheduler, with its next start, where it made the certificate itself' },
  },
  'etcd-server': { title: 'etcd server', layer: 'etcd', renewedBy: { 'eks-anywhere': ETCD_ROLLOUT } },
  'etcd-peer': { title: 'etcd peer', layer: 'etcd', renewedBy: { 'eks-anywhere': ETCD_ROLLOUT } },
  'etcd-healthcheck-client': {
    title: 'etcd health check client',
    layer: 'etcd',
    renewedBy: { 'eks-anywhere': CONTROL_PLANE_ROLLOUT },
  },
  'apiserver-etcd-client': {
    title: 'etcd client',
    layer: 'etcd',
    renewedBy: { 'eks-anywhere': 'the end of an etcd rollout, then a rollout of the control plane machines' },
  },
  'cluster-ca': { title: 'cluster CA', layer: 'authority', renewedBy: { 'eks-anywhere': NOTHING } },
  'eks-cluster-ca': {
    title: 'EKS cluster CA',
    layer: 'authority',
    renewedBy: { eks: 'EKS, or you, by activating its successor' },
  },
  'client-ca': { title: 'client CA', layer: 'authority', renewedBy: { eks: EKS, 'eks-anywhere': NOTHING } },
  'front-proxy-ca': { title: 'front proxy CA', layer: 'authority', renewedBy: { eks: EKS, 'eks-anywhere': NOTHING } },
  'etcd-ca': { title: 'etcd CA', layer: 'authority', renewedBy: { 'eks-anywhere': NOTHING } },
  'aws-iam-authenticator-ca': {
    title: 'IAM authenticator CA',
    layer: 'authority',
    renewedBy: { 'eks-anywhere': NOTHING },
  },
  'cluster-kubeconfig': {
    title: 'kubeconfig of Cluster API',
    layer: 'client',
    renewedBy: { 'eks-anywhere': 'the kubeadm control plane provider, on its own' },
  },
  'user-kubeconfig': {
    title: "users' kubeconfigs",
    layer: 'client',
    renewedBy: { eks: NOTHING, 'eks-anywhere': NOTHING },
  },
  'kubelet-client': {
    title: 'kubelet client',
    layer: 'node',
    renewedBy: { 'eks-anywhere': 'the kubelet, on its own; kube-controller-manager approves it' },
  },
  'kubelet-serving': { title: 'kubelet serving', layer: 'node', renewedBy: { eks: KUBELET, 'eks-anywhere': KUBELET } },
  'kubelet-self-signed': {
    title: 'kubelet, self-signed',
    layer: 'node',
    renewedBy: {
      eks: 'a restart of the kubelet without its files, or a new machine',
      'eks-anywhere': 'a restart of the kubelet without its files, or a new machine',
    },
  },
  'hybrid-node': { title: 'hybrid node', layer: 'node', renewedBy: { eks: 'your own PKI' } },
  'hybrid-activation': {
    title: 'hybrid activation',
    layer: 'node',
    renewedBy: { eks: 'a new activation in Systems Manager' },
  },
  'app-serving': {
    title: 'EKS app serving',
    layer: 'workload',
    renewedBy: { eks: 'its owner, with a new request that somebody approves' },
  },
  'issued-client': {
    title: 'client, issued by request',
    layer: 'client',
    renewedBy: { eks: 'its owner, with a new request', 'eks-anywhere': 'its owner, with a new request' },
  },
  'issued-other': {
    title: 'issued by request',
    layer: 'workload',
    renewedBy: { eks: 'its owner, with a new request', 'eks-anywhere': 'its owner, with a new request' },
  },
  'ca-bundle': {
    title: 'CA bundle',
    layer: 'authority',
    renewedBy: { eks: 'whoever wrote it there', 'eks-anywhere': 'whoever wrote it there' },
  },
  'cert-manager': {
    title: 'cert-manager',
    layer: 'workload',
    renewedBy: { eks: 'cert-manager, on its own', 'eks-anywhere': 'cert-manager, on its own' },
  },
  'tls-secret': {
    title: 'TLS Secret',
    layer: 'workload',
    renewedBy: { eks: 'its owner', 'eks-anywhere': 'its owner' },
  },
  endpoint: { title: 'TLS endpoint', layer: 'workload', renewedBy: { eks: 'its owner', 'eks-anywhere': 'its owner' } },
} as const satisfies Record<string, ClassEntry>;

export type CertificateClass = keyof typeof CERTIFICATE_CLASSES;

/** What renews a certificate of a class, for people; undefined where a cluster of that provider has none. */
export function renewedBy(what: CertificateClass, provider: Provider): string | undefined {
  const entry: ClassEntry = CERTIFICATE_CLASSES[what];
  return entry.renewedBy[provider];
}

/** Whether a rollout of machines renews it: what `certmarshal rollout plan` is about. */
export function isRolled({
  what,
  provider,
}: {
  readonly what?: CertificateClass | undefined;
  readonly provider: Provider;
}): boolean {
  const renewer = what && renewedBy(what, provider);
  return renewer === CONTROL_PLANE_ROLLOUT || renewer === ETCD_ROLLOUT;
}
