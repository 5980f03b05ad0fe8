import type { Provider } from '../identifiers.ts';
import { DAY_MS } from '../time.ts';

/** Where the certificates of a class are; `workload`: not the cluster's own, so their number is unlimited. */
export type Layer = 'control plane' | 'etcd' | 'node' | 'authority' | 'client' | 'workload';

/**
 * When a certificate is a finding: when less than `share` of its validity period is left, or less than `floorMs` where that is more, but never more than
 * twice the share, and never more than `ceilingMs`. So one rule fits certificates of ten minutes, 45 days and ten years: a floor of days does not fire all
 * the time for a short one, and a share does not fire years before a long one expires.
 */
export interface Threshold {
  /** Of the validity period, from 0 to 1. */
  readonly share: number;
  readonly floorMs: number;
  /** Milliseconds. @default no ceiling */
  readonly ceilingMs?: number;
}

export interface ClassThresholds {
  readonly warning: Threshold;
  readonly critical: Threshold;
}

interface ClassEntry {
  /** For people: `etcd server`. */
  readonly title: string;
  readonly layer: Layer;
  /** A CA, or a bundle: it lives ten years, and may live longer than three. */
  readonly authority: boolean;
  /**
   * What renews it, by provider; the beginning of a sentence: `the kubelet, automatically`. With `automatically` no one
   * has to act. Absent for a provider without such certificates.
   */
  readonly renewedBy: { readonly eks?: string; readonly 'eks-anywhere'?: string };
  /** Its own thresholds, if those of the fleet do not fit. */
  readonly thresholds: ClassThresholds | undefined;
  /**
   * Renewed by people, or by something that they start: the floor of its thresholds counts in full, however short its
   * lifetime.
   */
  readonly needsPeople: boolean;
  /** Every cluster of the provider has one; others exist where an owner wants them. */
  readonly expected: boolean;
  /** Self-signed, or signed by any CA of its owner's choice: an unknown issuer is no finding. */
  readonly anyIssuer: boolean;
  /** Its expiry may be harmless: no one verifies the server, or it is unused. Never critical. */
  readonly mild: boolean;
  /** A more specific class wins: its place only says that a certificate exists. */
  readonly generic: boolean;
  /** A requester with several certificates of one name may hold all: each counts until it expires. */
  readonly severalAtAPlace: boolean;
  /**
   * kubeadm or etcdadm issue all of them on a machine in one run, with one validity period. Source: `init` and `join`
   * phases of both.
   */
  readonly ofOneRun: boolean;
  /** What happens once it has expired, for a person on call; undefined if that depends on its owner. */
  readonly onceExpired: string | undefined;
  /** Share of its validity period after which its kubelet should have renewed it (client-go, certificate manager). */
  readonly overdueAfter: number | undefined;
}

const EKS = 'EKS, automatically';
const CONTROL_PLANE_ROLLOUT = 'a rollout of the control plane machines';
const ETCD_ROLLOUT = 'a rollout of the machines that run etcd';
const KUBELET = 'the kubelet, automatically, once its request is approved';
/** Its rollout needs controllers, which need it. Source: docs/runbooks/certificate-expired.md. */
const EXPIRED_CONTROL_PLANE = 'not automatic once it has expired: renew by hand, in place';
const EXPIRED_KUBELET_CLIENT =
  'not automatic once it has expired: give the kubelet a bootstrap kubeconfig, or replace the machine';
const NOTHING = 'not automatic: renew by hand';
const WITHOUT_ETCD = 'the API server loses its storage';

/**
 * Renewed by people or by a rollout, which takes time. The ceilings are above the shares of 398 days, the longest usual
 * lifetime (365 by kubeadm), and `critical` is well below the 45 days in which a rollout begins.
 */
export const BY_HAND: ClassThresholds = {
  warning: { share: 0.2, floorMs: 14 * DAY_MS, ceilingMs: 90 * DAY_MS },
  critical: { share: 0.05, floorMs: 3 * DAY_MS, ceilingMs: 21 * DAY_MS },
};
/** No API rotates one: it takes people weeks. Anything it signs in its last year expires early. */
const OF_AUTHORITY: ClassThresholds = {
  warning: { share: 0.2, floorMs: 14 * DAY_MS, ceilingMs: 365 * DAY_MS },
  critical: { share: 0.05, floorMs: 3 * DAY_MS, ceilingMs: 90 * DAY_MS },
};
/** Renewed by a kubelet between 70 % and 90 % of its validity period (client-go, certificate manager): earlier is no news. */
const BY_KUBELET: ClassThresholds = {
  warning: { share: 0.1, floorMs: 0, ceilingMs: 90 * DAY_MS },
  critical: { share: 0.03, floorMs: 0, ceilingMs: 21 * DAY_MS },
};
/**
 * The kubeadm control plane provider renews its kubeconfig after half of its lifetime (Cluster API,
 * util/certs/consts.go).
 */
const BY_CLUSTER_API: ClassThresholds = {
  warning: { share: 0.4, floorMs: 0, ceilingMs: 180 * DAY_MS },
  critical: { share: 0.1, floorMs: 3 * DAY_MS, ceilingMs: 45 * DAY_MS },
};

// Families: a row states only its differences.

/** Part of every cluster, renewed without people. */
const OF_CLUSTER = {
  authority: false,
  thresholds: undefined,
  needsPeople: false,
  expected: true,
  anyIssuer: false,
  mild: false,
  generic: false,
  severalAtAPlace: false,
  ofOneRun: false,
  onceExpired: undefined,
  overdueAfter: undefined,
} as const;
const BY_PEOPLE = { ...OF_CLUSTER, needsPeople: true } as const;
const BY_KUBEADM = { ...BY_PEOPLE, ofOneRun: true } as const;
const AUTHORITY = { ...BY_PEOPLE, layer: 'authority', authority: true, thresholds: OF_AUTHORITY } as const;
const OF_KUBELET = { ...OF_CLUSTER, layer: 'node', thresholds: BY_KUBELET, overdueAfter: 0.9 } as const;
/** Exists where its owner wants it, signed as its owner likes. */
const OF_ITS_OWNER = { ...OF_CLUSTER, expected: false, anyIssuer: true } as const;
const OF_WORKLOADS = { ...OF_ITS_OWNER, layer: 'workload', generic: true } as const;
const ISSUED = { ...OF_WORKLOADS, anyIssuer: false, mild: true, severalAtAPlace: true } as const;

/** Every kind of certificate that a cluster has, with how it is renewed. `docs/coverage.md` says where each is seen; a test compares them. */
export const CERTIFICATE_CLASSES = {
  'kube-apiserver': {
    ...BY_KUBEADM,
    title: 'kube-apiserver',
    layer: 'control plane',
    onceExpired: 'kubectl, controllers and kubelets of the cluster fail; running containers continue',
    renewedBy: { 'eks-anywhere': CONTROL_PLANE_ROLLOUT },
  },
  'eks-api-server': {
    ...OF_CLUSTER,
    title: 'EKS API endpoint',
    layer: 'control plane',
    thresholds: BY_KUBELET,
    anyIssuer: true,
    onceExpired: 'kubectl, controllers and kubelets of the cluster fail; running containers continue',
    renewedBy: { eks: EKS },
  },
  'control-plane-clients': {
    ...BY_KUBEADM,
    title: 'control plane clients',
    layer: 'control plane',
    onceExpired: 'scheduling, controllers, kubectl logs and exec fail; running containers continue',
    renewedBy: { 'eks-anywhere': CONTROL_PLANE_ROLLOUT },
  },
  'kube-controller-manager': {
    ...OF_CLUSTER,
    title: 'kube-controller-manager',
    layer: 'control plane',
    anyIssuer: true,
    renewedBy: { 'eks-anywhere': 'kube-controller-manager at its next start, if it made the certificate itself' },
  },
  'kube-scheduler': {
    ...OF_CLUSTER,
    title: 'kube-scheduler',
    layer: 'control plane',
    anyIssuer: true,
    renewedBy: { 'eks-anywhere': 'kube-scheduler at its next start, if it made the certificate itself' },
  },
  'etcd-server': {
    ...BY_KUBEADM,
    title: 'etcd server',
    layer: 'etcd',
    onceExpired: WITHOUT_ETCD,
    renewedBy: { 'eks-anywhere': ETCD_ROLLOUT },
  },
  'etcd-peer': {
    ...BY_KUBEADM,
    title: 'etcd peer',
    layer: 'etcd',
    onceExpired: WITHOUT_ETCD,
    renewedBy: { 'eks-anywhere': ETCD_ROLLOUT },
  },
  'etcd-healthcheck-client': {
    ...BY_KUBEADM,
    title: 'etcd health check client',
    layer: 'etcd',
    renewedBy: { 'eks-anywhere': CONTROL_PLANE_ROLLOUT },
  },
  'apiserver-etcd-client': {
    ...BY_PEOPLE,
    title: 'etcd client',
    layer: 'etcd',
    onceExpired: WITHOUT_ETCD,
    renewedBy: { 'eks-anywhere': 'an etcd rollout, then a rollout of the control plane machines' },
  },
  'cluster-ca': {
    ...AUTHORITY,
    title: 'cluster CA',
    onceExpired: 'everything that it signed fails, and nothing new is signed',
    renewedBy: { 'eks-anywhere': NOTHING },
  },
  'eks-cluster-ca': {
    ...AUTHORITY,
    title: 'EKS cluster CA',
    needsPeople: false,
    renewedBy: { eks: 'EKS; you can activate the successor earlier' },
  },
  'client-ca': {
    ...AUTHORITY,
    title: 'client CA',
    onceExpired: 'every login with a client certificate fails: administrators, kubelets, control plane',
    renewedBy: { eks: EKS, 'eks-anywhere': NOTHING },
  },
  'front-proxy-ca': {
    ...AUTHORITY,
    title: 'front proxy CA',
    onceExpired: 'aggregated APIs such as metrics-server fail',
    renewedBy: { eks: EKS, 'eks-anywhere': NOTHING },
  },
  'etcd-ca': { ...AUTHORITY, title: 'etcd CA', onceExpired: WITHOUT_ETCD, renewedBy: { 'eks-anywhere': NOTHING } },
  'aws-iam-authenticator-ca': {
    ...AUTHORITY,
    title: 'IAM authenticator CA',
    needsPeople: false,
    expected: false,
    renewedBy: { 'eks-anywhere': NOTHING },
  },
  'cluster-kubeconfig': {
    ...OF_CLUSTER,
    title: 'kubeconfig of Cluster API',
    layer: 'client',
    thresholds: BY_CLUSTER_API,
    renewedBy: { 'eks-anywhere': 'the kubeadm control plane provider, automatically' },
  },
  'user-kubeconfig': {
    ...OF_CLUSTER,
    title: "users' kubeconfigs",
    layer: 'client',
    renewedBy: { eks: NOTHING, 'eks-anywhere': NOTHING },
  },
  'kubelet-client': {
    ...OF_KUBELET,
    title: 'kubelet client',
    onceExpired: 'its node goes NotReady',
    renewedBy: { 'eks-anywhere': 'the kubelet, automatically; kube-controller-manager approves it' },
  },
  'kubelet-serving': {
    ...OF_KUBELET,
    title: 'kubelet serving',
    onceExpired: 'kubectl logs, exec and metrics of its node fail',
    renewedBy: { eks: KUBELET, 'eks-anywhere': KUBELET },
  },
  'kubelet-self-signed': {
    ...OF_ITS_OWNER,
    title: 'kubelet, self-signed',
    layer: 'node',
    mild: true,
    renewedBy: {
      eks: 'a kubelet restart after deleting its certificate files, or a new machine',
      'eks-anywhere': 'a kubelet restart after deleting its certificate files, or a new machine',
    },
  },
  'hybrid-node': { ...OF_ITS_OWNER, title: 'hybrid node', layer: 'node', renewedBy: { eks: 'your own PKI' } },
  'hybrid-activation': {
    ...OF_ITS_OWNER,
    title: 'hybrid activation',
    layer: 'node',
    renewedBy: { eks: 'a new activation in Systems Manager' },
  },
  'app-serving': {
    ...OF_WORKLOADS,
    title: 'EKS app serving',
    anyIssuer: false,
    generic: false,
    renewedBy: { eks: 'its owner, with a new request that a person approves' },
  },
  'issued-client': {
    ...ISSUED,
    title: 'client, issued by request',
    renewedBy: { eks: 'its owner, with a new request', 'eks-anywhere': 'its owner, with a new request' },
  },
  'issued-other': {
    ...ISSUED,
    title: 'issued by request',
    renewedBy: { eks: 'its owner, with a new request', 'eks-anywhere': 'its owner, with a new request' },
  },
  'ca-bundle': {
    ...OF_WORKLOADS,
    title: 'CA bundle',
    authority: true,
    renewedBy: { eks: 'the person or tool that wrote it', 'eks-anywhere': 'the person or tool that wrote it' },
  },
  'cert-manager': {
    ...OF_WORKLOADS,
    title: 'cert-manager',
    renewedBy: { eks: 'cert-manager, automatically', 'eks-anywhere': 'cert-manager, automatically' },
  },
  'tls-secret': {
    ...OF_WORKLOADS,
    title: 'TLS Secret',
    mild: true,
    renewedBy: { eks: 'its owner', 'eks-anywhere': 'its owner' },
  },
  endpoint: { ...OF_WORKLOADS, title: 'TLS endpoint', renewedBy: { eks: 'its owner', 'eks-anywhere': 'its owner' } },
} as const satisfies Record<string, ClassEntry>;

export type CertificateClass = keyof typeof CERTIFICATE_CLASSES;

/** A certificate of the control plane or of etcd. */
export function isOfControlPlane(what: CertificateClass): boolean {
  const { layer } = CERTIFICATE_CLASSES[what];
  return layer === 'control plane' || layer === 'etcd';
}

/** kubeadm and etcdadm give it the notBefore of its CA. */
export function isDatedBack(what: CertificateClass): boolean {
  return isOfControlPlane(what) && CERTIFICATE_CLASSES[what].needsPeople;
}

/** What renews a certificate of a class, for people; undefined for a provider without such certificates. */
export function renewedBy(what: CertificateClass, provider: Provider): string | undefined {
  const entry: ClassEntry = CERTIFICATE_CLASSES[what];
  return entry.renewedBy[provider];
}

/** The same for an expired one, if its usual renewal no longer works; undefined if it does. */
export function renewedOnceExpired(what: CertificateClass, provider: Provider): string | undefined {
  if (provider !== 'eks-anywhere') return undefined;
  if (what === 'kubelet-client') return EXPIRED_KUBELET_CLIENT;
  return isDatedBack(what) ? EXPIRED_CONTROL_PLANE : undefined;
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
