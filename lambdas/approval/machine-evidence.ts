import { type Owner, ownedNames, type Veto } from './evidence.ts';
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
  if (isGoing(machine)) return undefined;
  const owner = readMachine(machine, clusterName);
  return owner === undefined || owner.nodes.length === 0 ? undefined : owner;
}

/** A Machine of this cluster that proves nothing, and yet has its names: it has no node yet, or it is being deleted. */
export function vetoFromMachine(machine: unknown, clusterName: string): Veto | undefined {
  const owner = readMachine(machine, clusterName);
  if (owner === undefined) return undefined;
  if (isGoing(machine)) return { ...owner, why: 'is being deleted' };
  return owner.nodes.length === 0 ? { ...owner, why: 'has no node yet' } : undefined;
}

function isGoing(machine: unknown): boolean {
  if (field(machine, 'metadata', 'deletionTimestamp') != null) return true;
  const phase = text(machine, 'status', 'phase');
  return phase === 'Deleting' || phase === 'Deleted';
}

/** Without a nodeRef it has no nodes. */
function readMachine(machine: unknown, clusterName: string): Owner | undefined {
  const name = text(machine, 'metadata', 'name');
  if (name === undefined) return undefined;
  // The CRD requires spec.clusterName; the label repeats it. Either one naming another cluster is decisive.
  const claims = [text(machine, 'spec', 'clusterName'), text(machine, 'metadata', 'labels', CLUSTER_LABEL)];
  if (claims.some((claim) => claim !== undefined && claim !== clusterName)) return undefined;

  const node = text(machine, 'status', 'nodeRef', 'name');
  const nodes = node === undefined || node === '' ? [] : [node];
  const { dnsNames, addresses } = statusAddresses(machine);
  const namespace = text(machine, 'metadata', 'namespace');
  return {
    source: 'machine',
    object: `Machine ${namespace === undefined ? name : `${namespace}/${name}`}`,
    ...(namespace === undefined ? {} : { namespace }),
    nodes,
    ...ownedNames([...nodes, ...dnsNames], addresses),
    ...(dnsNames.length === 0 ? { listsNoDnsName: true } : {}),
  };
}
