import { type Owner, ownedNames } from './evidence.ts';
import { statusAddresses } from './status-addresses.ts';
import { field, text } from './wire.ts';

const CLUSTER_LABEL = 'cluster.x-k8s.io/cluster-name';

/** Source: Cluster API, `MachineControlPlaneLabel`. Its value is empty. */
const CONTROL_PLANE_LABEL = 'cluster.x-k8s.io/control-plane';

/**
 * What a Cluster API Machine says (v1beta1 and v1beta2 have the same paths): the node that `status.nodeRef` names owns
 * that name and every address in `status.addresses`. It is not live without nodeRef and while it is being deleted: its server may answer at its
 * addresses anyway. Undefined for a Machine of another cluster of the same management cluster.
 *
 * Source: Cluster API `MachineStatus`, `MachineAddress`.
 */
export function ownerFromMachine(machine: unknown, clusterName: string): Owner | undefined {
  const name = text(machine, 'metadata', 'name');
  if (name === undefined) return undefined;
  // The CRD requires spec.clusterName; the label repeats it. Either one naming another cluster is decisive.
  const claims = [text(machine, 'spec', 'clusterName'), text(machine, 'metadata', 'labels', CLUSTER_LABEL)];
  if (claims.some((claim) => claim !== undefined && claim !== clusterName)) return undefined;

  const node = text(machine, 'status', 'nodeRef', 'name');
  const nodes = node === undefined || node === '' ? [] : [node];
  const { dnsNames, addresses } = statusAddresses(machine);
  const namespace = text(machine, 'metadata', 'namespace');
  const notLive = whyNotLive(machine, nodes);
  return {
    source: 'machine',
    object: `Machine ${namespace === undefined ? name : `${namespace}/${name}`}`,
    nodes,
    ...ownedNames([...nodes, ...dnsNames], addresses),
    ...(dnsNames.length === 0 ? { listsNoDnsName: true } : {}),
    ...(text(machine, 'metadata', 'labels', CONTROL_PLANE_LABEL) === undefined ? {} : { controlPlane: true }),
    ...(notLive === undefined ? {} : { notLive }),
  };
}

function whyNotLive(machine: unknown, nodes: readonly string[]): string | undefined {
  if (isGoing(machine)) return 'is being deleted';
  return nodes.length === 0 ? 'has no node yet' : undefined;
}

function isGoing(machine: unknown): boolean {
  if (field(machine, 'metadata', 'deletionTimestamp') != null) return true;
  const phase = text(machine, 'status', 'phase');
  return phase === 'Deleting' || phase === 'Deleted';
}
