import { HOUR_MS } from '../time.ts';

/**
 * Where an audit looks; each is read on its own, with its own deadline, and fails on its own.
 *
 * - `nodes`, `signing-requests`, `trust-configmaps`, `webhooks`, `api-services`, `crd-conversions`, `cert-manager`, `tls-secrets`,
 *   `kubelet-metrics`: the cluster's API server.
 * - `machines`, `kubeadm-configs`, `kubeadm-control-plane`, `etcdadm-cluster`, `eks-anywhere`, `cluster-secrets`: its management cluster.
 * - `eks-cluster`, `eks-authorities`, `eks-nodegroups`: EKS.
 * - `tls`: handshakes.
 * - `clock`: the Date of the answers of the API server.
 */
export const SOURCE_IDS = [
  'nodes',
  'signing-requests',
  'trust-configmaps',
  'webhooks',
  'api-services',
  'crd-conversions',
  'cert-manager',
  'tls-secrets',
  'kubelet-metrics',
  'machines',
  'kubeadm-configs',
  'kubeadm-control-plane',
  'etcdadm-cluster',
  'eks-anywhere',
  'cluster-secrets',
  'eks-cluster',
  'eks-authorities',
  'eks-nodegroups',
  'tls',
  'clock',
] as const;
export type SourceId = (typeof SOURCE_IDS)[number];

/**
 * Sources that show a certificate only for a while: the object it was issued in is removed within the hour (kube-controller-manager, the cleaner of
 * requests). That they no longer show one proves nothing; it holds until they show a newer one at the same place, or its member is gone.
 */
export const REMEMBERED_SOURCES: ReadonlySet<SourceId> = new Set<SourceId>(['signing-requests']);

/** Sources that change rarely, and whose API has one rate for all clusters of an account and Region: of a cluster without a warning they are read once in {@link STORED_MS}. */
export const RESTING_SOURCES: ReadonlySet<SourceId> = new Set<SourceId>(['eks-authorities', 'eks-nodegroups']);

/** A stored snapshot is never older than that and one cadence of audits, so it tells when a source was read that rests for as long. Milliseconds. */
export const STORED_MS = 2 * HOUR_MS;

/** So many certificates of a class with `severalAtAPlace` at one place: the newest, and those that end first. */
export const REMEMBERED_OF_ONE_PLACE = 16;

/**
 * How the end of a certificate is known, the best first: the certificate itself was read; the object that manages it says so; an annotation says so; it follows from the age of a machine.
 */
export const BASES = ['certificate', 'status', 'annotation', 'inference'] as const;
export type Basis = (typeof BASES)[number];
