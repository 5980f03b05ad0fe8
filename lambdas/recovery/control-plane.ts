import { ownerFromInstance } from '../approval/evidence/ec2.ts';
import { ownerFromMachine } from '../approval/evidence/machine.ts';

/** An object outside of the cluster's reach that says what a node is. */
export interface Voucher {
  readonly source: 'machine' | 'ec2';
  /** For people: `Machine eksa-system/berlin-prod-x7k2`. */
  readonly object: string;
  readonly nodes: readonly string[];
  readonly controlPlane: boolean;
  /** It is being deleted. */
  readonly going: boolean;
}

/** What was read of one source, of the nodes of a window. One that could not be read proves nothing, and says why. */
export type ControlPlaneReading =
  | { readonly source: Voucher['source']; readonly ok: true; readonly vouchers: readonly Voucher[] }
  | { readonly source: Voucher['source']; readonly ok: false; readonly problem: string; readonly remedy: string };

/**
 * What a Cluster API Machine says of the node that its `status.nodeRef` names. Only a nodeRef counts: the name that a node is expected to have is told by the node.
 * Undefined for one without, or of another cluster.
 */
export function voucherFromMachine(machine: unknown, clusterName: string): Voucher | undefined {
  const owner = ownerFromMachine(machine, clusterName);
  if (owner === undefined || owner.nodes.length === 0) return undefined;
  const { object, nodes } = owner;
  return {
    source: 'machine',
    object,
    nodes,
    controlPlane: owner.controlPlane === true,
    going: owner.notLive !== undefined,
  };
}

/** What a running EC2 instance of the cluster says; undefined for all others. */
export function voucherFromInstance(instance: unknown, clusterName: string, vpcId?: string): Voucher | undefined {
  const owner = ownerFromInstance(instance, clusterName, vpcId);
  if (owner === undefined || owner.notLive !== undefined) return undefined;
  return {
    source: 'ec2',
    object: owner.object,
    nodes: owner.nodes,
    controlPlane: owner.controlPlane === true,
    going: false,
  };
}
