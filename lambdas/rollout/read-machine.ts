import { canonicalAddress } from '../approval/names.ts';
import { field, list, text } from '../approval/wire.ts';
import { printable } from '../printable.ts';
import type { ObservedMachine } from './observed.ts';
import { conditionsAt, isDeleting, MISSING, nameAt, shownCondition, timeAt } from './read-values.ts';

const CLUSTER_LABEL = 'cluster.x-k8s.io/cluster-name';
const CONTROL_PLANE_LABEL = 'cluster.x-k8s.io/control-plane';
const ETCD_LABEL = 'cluster.x-k8s.io/etcd-cluster';
const ETCD_READY_LABEL = 'cluster.x-k8s.io/etcd-ready';

const MOST_ADDRESSES = 16;
const MOST_ANNOTATIONS = 1000;
const MOST_HOOKS = 16;
const MOST_OWNERS = 64;
const HOOK = /^pre-(?:drain|terminate)\.delete\.hook\.machine\.cluster\.x-k8s\.io(?:\/|$)/;
/** Of the control plane itself: it moves the leader of etcd and removes the member. */
const OWN_HOOK = 'pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup';

/** What is not there counts as not healthy: Cluster API waits for all of them before each step. Source: Cluster API, `preflightChecks` of its control plane. */
const NEEDED = ['NodeHealthy', 'APIServerPodHealthy', 'ControllerManagerPodHealthy', 'SchedulerPodHealthy'] as const;
const NEEDED_STACKED = ['EtcdPodHealthy', 'EtcdMemberHealthy'] as const;
/** Not every version has these, or always. */
const WHERE_THERE = [
  'Ready',
  'BootstrapReady',
  'BootstrapConfigReady',
  'InfrastructureReady',
  'NodeReady',
  'HealthCheckSucceeded',
  'OwnerRemediated',
];
/** A machine of etcd never becomes a Node, so what waits for one is never True. */
const WHERE_THERE_ETCD = ['BootstrapReady', 'BootstrapConfigReady', 'InfrastructureReady', 'OwnerRemediated'];

export interface MachineReading {
  /** uid of the control plane or EtcdadmCluster that was observed; undefined where there is none. */
  readonly owner: string | undefined;
  /** What runs on it: `stacked` is a control plane with etcd. */
  readonly role: 'stacked' | 'control-plane' | 'etcd';
  /** `spec.controlPlaneEndpoint.host`: on vSphere the machine that has it just now has it among its own, and another one may answer there later. */
  readonly endpoint?: string | undefined;
}

/**
 * A Machine, v1beta1 or v1beta2, with `served` none; undefined when it has no name, uid or time of creation. Pure; never throws.
 *
 * Source: Cluster API, `Machine` of both versions.
 */
export function readMachine(object: unknown, { owner, role, endpoint }: MachineReading): ObservedMachine | undefined {
  const namespace = nameAt(object, 'metadata', 'namespace');
  const name = nameAt(object, 'metadata', 'name');
  const uid = nameAt(object, 'metadata', 'uid');
  const createdAt = timeAt(object, 'metadata', 'creationTimestamp');
  if (namespace === undefined || name === undefined || uid === undefined || createdAt === undefined) return undefined;
  const node = nameAt(object, 'status', 'nodeRef', 'name');
  const phase = nameAt(object, 'status', 'phase');
  return {
    namespace,
    name,
    uid,
    createdAt,
    deleting: isDeleting(object) || phase === 'Deleting' || phase === 'Deleted',
    owned: owner !== undefined && controllerOf(object) === owner,
    ...(node === undefined ? {} : { node }),
    addresses: addressesOf(object, endpoint),
    ...(phase === undefined ? {} : { phase }),
    unhealthy: unhealthyOf(object, role),
    hooks: hooksOf(object),
    served: { kind: 'none' },
    ...(role === 'etcd' ? { etcdReady: text(object, 'metadata', 'labels', ETCD_READY_LABEL) === 'true' } : {}),
  };
}

/** Whether a Machine is of the control plane of a cluster: of its etcd, and of its workers, are others. */
export function isControlPlaneMachine(object: unknown, cluster: string): boolean {
  return isOf(object, cluster) && field(object, 'metadata', 'labels', CONTROL_PLANE_LABEL) !== undefined;
}

/** Whether a Machine has the label of an EtcdadmCluster, which stays on those that it no longer owns. */
export function isEtcdMachine(object: unknown, cluster: string, etcd: string): boolean {
  return isOf(object, cluster) && text(object, 'metadata', 'labels', ETCD_LABEL) === etcd;
}

/** The CRD requires spec.clusterName; the label repeats it. Either one naming another cluster is decisive. */
function isOf(object: unknown, cluster: string): boolean {
  const claims = [text(object, 'spec', 'clusterName'), text(object, 'metadata', 'labels', CLUSTER_LABEL)];
  return claims.includes(cluster) && claims.every((claim) => claim === undefined || claim === cluster);
}

function controllerOf(object: unknown): string | undefined {
  const owners = list(object, 'metadata', 'ownerReferences').slice(0, MOST_OWNERS);
  return nameAt(
    owners.find((owner) => field(owner, 'controller') === true),
    'uid',
  );
}

function addressesOf(object: unknown, endpoint: string | undefined): readonly string[] {
  const entries = list(object, 'status', 'addresses').slice(0, MOST_ADDRESSES * 4);
  const ofType = (type: string) =>
    entries.flatMap((entry) => {
      const address = text(entry, 'type') === type ? canonicalAddress(text(entry, 'address') ?? '') : undefined;
      return address === undefined ? [] : [address];
    });
  const all = [...new Set([...ofType('InternalIP'), ...ofType('ExternalIP')])];
  const shared = endpoint === undefined ? undefined : canonicalAddress(endpoint);
  const own = all.filter((address) => address !== shared);
  return (own.length > 0 ? own : all).slice(0, MOST_ADDRESSES);
}

function unhealthyOf(object: unknown, role: MachineReading['role']): readonly string[] {
  const newer = conditionsAt(object, 'status', 'v1beta2', 'conditions');
  const conditions = newer.size > 0 ? newer : conditionsAt(object, 'status', 'conditions');
  const needed = role === 'etcd' ? [] : role === 'stacked' ? [...NEEDED, ...NEEDED_STACKED] : NEEDED;
  const wrong = [
    ...needed.map((type) => [type, conditions.get(type) ?? MISSING] as const),
    ...(role === 'etcd' ? WHERE_THERE_ETCD : WHERE_THERE).flatMap((type) => {
      const condition = conditions.get(type);
      return condition === undefined ? [] : [[type, condition] as const];
    }),
  ].filter(([, { status }]) => status !== 'True');
  return [
    ...(role !== 'etcd' || text(object, 'status', 'phase') === 'Running' ? [] : [phaseOf(object)]),
    ...failuresOf(object),
    ...wrong.map(([type, condition]) => `${type} is ${shownCondition(condition)}`),
  ];
}

function phaseOf(object: unknown): string {
  return `its phase is ${nameAt(object, 'status', 'phase') ?? 'not known'}`;
}

/** Of v1beta1, and where v1beta2 keeps them. */
function failuresOf(object: unknown): readonly string[] {
  const reason =
    nameAt(object, 'status', 'failureReason') ?? nameAt(object, 'status', 'deprecated', 'v1beta1', 'failureReason');
  return reason === undefined ? [] : [`it failed: ${reason}`];
}

function hooksOf(object: unknown): readonly string[] {
  const annotations = field(object, 'metadata', 'annotations');
  if (typeof annotations !== 'object' || annotations === null || Array.isArray(annotations)) return [];
  return Object.keys(annotations)
    .slice(0, MOST_ANNOTATIONS)
    .filter((key) => HOOK.test(key) && key !== OWN_HOOK)
    .slice(0, MOST_HOOKS)
    .map((key) => printable(key));
}
