import { type Owner, ownedNames } from './evidence.ts';
import { statusAddresses } from './status-addresses.ts';
import { field, text } from './wire.ts';

const CLUSTER_LABEL = 'cluster.x-k8s.io/cluster-name';

/**
 * What a Cluster API Machine proves (v1beta1 and v1beta2 have the same paths): the node that `status.nodeRef` names owns
 * that name and every address in `status.addresses`. Undefined when it proves nothing for this cluster: no nodeRef,
 * being deleted, or a Machine of another cluster of the same management cluster.
 *
 * Source: Cluster API `MachineStatus`, `MachineAddress`.
 */
export function ownerFromMachine(machine: unknown, clusterName: string): Owner | undefined {
  const name = text(machine, 'metadata', 'name');
  const node = text(machine, 'status', 'nodeRef', 'name');
  if (name === undefined || node === undefined || node === '') return undefined;
  if (field(machine, 'metadata', 'deletionTimestamp') != null) return undefined;
  const phase = text(machine, 'status', 'phase');
  if (phase === 'Deleting' || phase === 'Deleted') return undefined;
  // The CRD requires spec.clusterName; the label repeats it. Either one naming another cluster is decisive.
  const claims = [text(machine, 'spec', 'clusterName'), text(machine, 'metadata', 'labels', CLUSTER_LABEL)];
  if (claims.some((claim) => claim !== undefined && claim !== clusterName)) return undefined;

  const { dnsNames, addresses } = statusAddresses(machine);
  const namespace = text(machine, 'metadata', 'namespace');
  return {
    source: 'machine',
    object: `Machine ${namespace === undefined ? name : `${namespace}/${name}`}`,
    ...(namespace === undefined ? {} : { namespace }),
    nodes: [node],
    ...ownedNames([node, ...dnsNames], addresses),
  };
}
