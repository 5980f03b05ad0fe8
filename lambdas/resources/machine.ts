import { printable } from '../printable.ts';
import { field, isJsonObject, list, text } from './fields.ts';
import { type StatusAddresses, statusAddresses } from './status-addresses.ts';
import { annotation, type Condition, conditionsAt, isDeleting, nameAt, timeAt } from './values.ts';

export const CLUSTER_LABEL = 'cluster.x-k8s.io/cluster-name';
/** Source: Cluster API, `MachineControlPlaneLabel`. Its value is empty. */
export const CONTROL_PLANE_LABEL = 'cluster.x-k8s.io/control-plane';
const ETCD_LABEL = 'cluster.x-k8s.io/etcd-cluster';
const ETCD_READY_LABEL = 'cluster.x-k8s.io/etcd-ready';
/** A user's value wins over that of the control plane provider. Source: Cluster API, `reconcileCertificateExpiry`. */
export const EXPIRY_ANNOTATION = 'machine.cluster.x-k8s.io/certificates-expiry';

const MAX_ANNOTATIONS = 1000;
const MAX_HOOKS = 16;
const MAX_OWNERS = 64;
const HOOK = /^pre-(?:drain|terminate)\.delete\.hook\.machine\.cluster\.x-k8s\.io(?:\/|$)/;
/** The control plane's own hook: it moves the leader of etcd and removes the member. */
const OWN_HOOK = 'pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup';

/** A Cluster API Machine, v1beta1 or v1beta2. Source: Cluster API, `Machine` of both versions. */
export interface Machine {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  /** Milliseconds since the epoch. */
  readonly createdAt?: number;
  readonly deleting: boolean;
  readonly phase?: string;
  readonly role: 'control-plane' | 'etcd' | 'worker';
  /** Kind of `spec.infrastructureRef`: `TinkerbellMachine`, `VSphereMachine`, … */
  readonly infrastructure?: string;
  /** `status.nodeRef.name`. */
  readonly node?: string;
  readonly addresses: StatusAddresses;
  /** When its certificates expire: `EXPIRY_ANNOTATION` and `status.certificatesExpiryDate`, as read. */
  readonly expiryAnnotation?: string;
  readonly certificatesExpiryDate?: unknown;
}

/** Undefined without a name. Never throws. */
export function readMachine(object: unknown): Machine | undefined {
  const name = nameAt(object, 'metadata', 'name');
  if (name === undefined) return undefined;
  const phase = nameAt(object, 'status', 'phase');
  return {
    name,
    namespace: nameAt(object, 'metadata', 'namespace'),
    uid: nameAt(object, 'metadata', 'uid'),
    createdAt: timeAt(object, 'metadata', 'creationTimestamp'),
    deleting: isDeleting(object) || phase === 'Deleting' || phase === 'Deleted',
    phase,
    role: roleOfMachine(object),
    infrastructure: nameAt(object, 'spec', 'infrastructureRef', 'kind'),
    node: nameAt(object, 'status', 'nodeRef', 'name'),
    addresses: statusAddresses(object),
    expiryAnnotation: annotation(object, EXPIRY_ANNOTATION),
    certificatesExpiryDate: field(object, 'status', 'certificatesExpiryDate') ?? undefined,
  };
}

/** Health of a Machine. Read only by a rollout, for a few Machines. */
export interface MachineState {
  readonly etcdReady: boolean;
  /** uid of the controller that owns it. */
  readonly controller?: string;
  readonly conditions: ReadonlyMap<string, Condition>;
  readonly failureReason?: string;
  /** Hooks that delay its deletion, except that of the control plane itself. */
  readonly hooks: readonly string[];
}

/** Never throws. */
export function readMachineState(object: unknown): MachineState {
  const newer = conditionsAt(object, 'status', 'v1beta2', 'conditions');
  return {
    etcdReady: text(object, 'metadata', 'labels', ETCD_READY_LABEL) === 'true',
    controller: controllerOf(object),
    conditions: newer.size > 0 ? newer : conditionsAt(object, 'status', 'conditions'),
    // v1beta1, and its place in v1beta2.
    failureReason:
      nameAt(object, 'status', 'failureReason') ?? nameAt(object, 'status', 'deprecated', 'v1beta1', 'failureReason'),
    hooks: hooksOf(object),
  };
}

/**
 * Whether a Machine belongs to a cluster. The CRD requires spec.clusterName, and the label repeats it. Either naming
 * another cluster is decisive.
 */
export function isMachineOf(object: unknown, cluster: string): boolean {
  return claimsOf(object).includes(cluster) && !isMachineOfAnother(object, cluster);
}

export function isMachineOfAnother(object: unknown, cluster: string): boolean {
  return claimsOf(object).some((claim) => claim !== undefined && claim !== cluster);
}

function claimsOf(object: unknown): readonly (string | undefined)[] {
  return [text(object, 'spec', 'clusterName'), text(object, 'metadata', 'labels', CLUSTER_LABEL)];
}

export function roleOfMachine(object: unknown): Machine['role'] {
  if (text(object, 'metadata', 'labels', CONTROL_PLANE_LABEL) !== undefined) return 'control-plane';
  return etcdClusterOf(object) === undefined ? 'worker' : 'etcd';
}

/** Name of the EtcdadmCluster of a Machine; the label stays on Machines that it no longer owns. */
export function etcdClusterOf(object: unknown): string | undefined {
  return text(object, 'metadata', 'labels', ETCD_LABEL);
}

function controllerOf(object: unknown): string | undefined {
  const owners = list(object, 'metadata', 'ownerReferences').slice(0, MAX_OWNERS);
  return nameAt(
    owners.find((owner) => field(owner, 'controller') === true),
    'uid',
  );
}

function hooksOf(object: unknown): readonly string[] {
  const annotations = field(object, 'metadata', 'annotations');
  return Object.keys(isJsonObject(annotations) ? annotations : {})
    .slice(0, MAX_ANNOTATIONS)
    .filter((key) => HOOK.test(key) && key !== OWN_HOOK)
    .slice(0, MAX_HOOKS)
    .map((key) => printable(key));
}
