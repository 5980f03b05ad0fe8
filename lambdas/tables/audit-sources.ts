import { HOUR_MS } from '../time.ts';

/**
 * The sources of an audit; each is read separately, with its own deadline and its own failure.
 *
 * - `nodes`, `signing-requests`, `trust-configmaps`, `webhooks`, `api-services`, `crd-conversions`, `cert-manager`,
 * `tls-secrets`, `kubelet-metrics`: the cluster's API server.
 * - `machines`, `kubeadm-configs`, `kubeadm-control-plane`, `etcdadm-cluster`, `eks-anywhere`, `cluster-secrets`: its
 * management cluster.
 * - `eks-cluster`, `eks-authorities`: EKS.
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
  'tls',
  'clock',
] as const;
export type SourceId = (typeof SOURCE_IDS)[number];

/**
 * Sources that show a certificate only for a while: its object is deleted within the hour (kube-controller-manager, the
 * cleaner of requests). Not seeing it any more proves nothing; it holds until they show a newer one at the same place,
 * or its member is gone.
 */
export const REMEMBERED_SOURCES: ReadonlySet<SourceId> = new Set<SourceId>(['signing-requests']);

/** They share one API rate for all clusters of an account and Region: they wait, and not every audit reads them. */
export const EKS_SOURCES: ReadonlySet<SourceId> = new Set(['eks-cluster', 'eks-authorities']);

/**
 * A stored snapshot is never older than this plus one audit interval, so it says when such a source was last read.
 * Milliseconds.
 */
export const STORED_MS = 2 * HOUR_MS;

/**
 * How the expiry of a certificate is known, best first: the certificate was read; its managing object says so; an
 * annotation says so; it follows from the age of a machine.
 */
export const BASES = ['certificate', 'status', 'annotation', 'inference'] as const;
export type Basis = (typeof BASES)[number];
