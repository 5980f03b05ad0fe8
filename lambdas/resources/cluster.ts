import { isIP } from 'node:net';
import { MAX_CIDRS } from '../identifiers.ts';
import { PAUSED_ANNOTATION } from './annotations.ts';
import { field, list } from './fields.ts';
import { annotation, countAt, isDeleting, nameAt } from './values.ts';

/** A `Cluster` of Cluster API, v1beta1 or v1beta2. */
export interface Cluster {
  readonly namespace: string;
  readonly name: string;
  readonly deleting: boolean;
  /** `spec.paused` or the annotation. */
  readonly paused: boolean;
  /** From a ClusterClass, which owns the KubeadmControlPlane. */
  readonly topology: boolean;
  /** Kind of `spec.infrastructureRef`: `TinkerbellCluster`, `VSphereCluster`, … */
  readonly infrastructure?: string;
  /** EKS Anywhere: etcd has machines of its own, in an EtcdadmCluster. */
  readonly managedEtcd: boolean;
  /** `spec.controlPlaneEndpoint.host`: a name or an address. */
  readonly endpoint?: string;
  /** Port of the API server on each control plane machine. */
  readonly apiServerPort?: number;
  /** `spec.clusterNetwork.services.cidrBlocks`; empty if absent. */
  readonly serviceCidrs: readonly string[] | 'unusable';
  /** `spec.clusterNetwork.serviceDomain`. */
  readonly serviceDomain?: string;
}

/**
 * Undefined without name and namespace. Never throws.
 *
 * Source: Cluster API, `ClusterSpec` of both versions: these fields did not move.
 */
export function readCluster(object: unknown): Cluster | undefined {
  const namespace = nameAt(object, 'metadata', 'namespace');
  const name = nameAt(object, 'metadata', 'name');
  if (namespace === undefined || name === undefined) return undefined;
  const paused = field(object, 'spec', 'paused');
  const port = countAt(object, 'spec', 'clusterNetwork', 'apiServerPort');
  return {
    namespace,
    name,
    deleting: isDeleting(object),
    // Neither true nor false is unknown, and nothing begins on a guess.
    paused: (paused != null && paused !== false) || annotation(object, PAUSED_ANNOTATION) !== undefined,
    topology: field(object, 'spec', 'topology') != null,
    infrastructure: nameAt(object, 'spec', 'infrastructureRef', 'kind'),
    managedEtcd: field(object, 'spec', 'managedExternalEtcdRef') != null,
    endpoint: nameAt(object, 'spec', 'controlPlaneEndpoint', 'host'),
    apiServerPort: port !== undefined && port > 0 && port < 65_536 ? port : undefined,
    serviceCidrs: cidrsAt(object, 'spec', 'clusterNetwork', 'services', 'cidrBlocks'),
    serviceDomain: nameAt(object, 'spec', 'clusterNetwork', 'serviceDomain'),
  };
}

export function cidrsAt(object: unknown, ...path: readonly string[]): Cluster['serviceCidrs'] {
  const blocks = list(object, ...path);
  // Go writes an empty list as null.
  if (!Array.isArray(field(object, ...path) ?? [])) return 'unusable';
  return blocks.length <= MAX_CIDRS && blocks.every(isCidr) ? blocks : 'unusable';
}

function isCidr(block: unknown): block is string {
  if (typeof block !== 'string' || block.length > 50) return false;
  const [, address = '', prefix = ''] = /^([^/]+)\/(\d{1,3})$/.exec(block) ?? [];
  const family = isIP(address);
  return family !== 0 && !address.includes('%') && Number(prefix) <= (family === 4 ? 32 : 128);
}
