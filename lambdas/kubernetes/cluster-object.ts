import { isIP } from 'node:net';
import { MAX_SERVICE_CIDRS } from '../identifiers.ts';
import type { KubernetesClient } from './client.ts';
import { KubernetesError } from './errors.ts';
import { isJsonObject } from './json.ts';
import { listKind } from './list.ts';
import type { MachineSelection } from './machines.ts';

const LONGEST_TEXT = 253;

/** What the `Cluster` of Cluster API says of its network. */
export interface ClusterObject {
  /** `spec.clusterNetwork.services.cidrBlocks`; empty when it has none, or one that is no CIDR. */
  readonly serviceCidrs: readonly string[];
  /** `spec.controlPlaneEndpoint.host`: a name or an address. */
  readonly endpoint?: string;
  /** Kind of `spec.infrastructureRef`: `VSphereCluster`, `TinkerbellCluster`, … */
  readonly infrastructure?: string;
}

/**
 * The Cluster of this name; with one LIST.
 *
 * Source: Cluster API `ClusterSpec`; v1beta1 and v1beta2 have the same paths.
 *
 * @throws KubernetesError also when there is none
 */
export async function readClusterObject(client: KubernetesClient, selection: MachineSelection): Promise<ClusterObject> {
  for await (const [object] of listKind(client, 'clusters', selection))
    if (object !== undefined) return clusterObjectOf(object);
  throw new KubernetesError({
    kind: 'not-found',
    object: `list clusters on ${client.server}`,
    problem: `there is no Cluster called ${selection.clusterName} in namespace ${selection.namespace}`,
    remedy:
      'Name the cluster as its Cluster is named, and the namespace that it is in: kubectl get clusters.cluster.x-k8s.io -A.',
  });
}

function clusterObjectOf(object: unknown): ClusterObject {
  const cidrs = serviceCidrsOf(object);
  const spec = isJsonObject(object) ? object['spec'] : undefined;
  const endpoint = textIn(spec, 'controlPlaneEndpoint', 'host');
  const infrastructure = textIn(spec, 'infrastructureRef', 'kind');
  return {
    serviceCidrs: Array.isArray(cidrs) ? cidrs : [],
    endpoint,
    infrastructure,
  };
}

function textIn(spec: unknown, part: string, key: string): string | undefined {
  const inner = isJsonObject(spec) ? spec[part] : undefined;
  const value = isJsonObject(inner) ? inner[key] : undefined;
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_TEXT ? value : undefined;
}

/** The service CIDRs of a Cluster. */
export function serviceCidrsOf(object: unknown): readonly string[] | 'none' | 'unusable' {
  const spec = isJsonObject(object) ? object['spec'] : undefined;
  const network = isJsonObject(spec) ? spec['clusterNetwork'] : undefined;
  const services = isJsonObject(network) ? network['services'] : undefined;
  const blocks: unknown = isJsonObject(services) ? services['cidrBlocks'] : undefined;
  // Go writes an empty list as null.
  if (blocks === undefined || blocks === null || (Array.isArray(blocks) && blocks.length === 0)) return 'none';
  if (!Array.isArray(blocks) || blocks.length > MAX_SERVICE_CIDRS) return 'unusable';
  return blocks.every(isCidr) ? blocks : 'unusable';
}

function isCidr(block: unknown): block is string {
  if (typeof block !== 'string' || block.length > 50) return false;
  const [, address = '', prefix = ''] = /^([^/]+)\/(\d{1,3})$/.exec(block) ?? [];
  const family = isIP(address);
  return family !== 0 && !address.includes('%') && Number(prefix) <= (family === 4 ? 32 : 128);
}
