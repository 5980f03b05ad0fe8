import { type MachineState, readMachine, readMachineState } from '../resources/machine.ts';
import { serverAddresses } from '../resources/status-addresses.ts';
import { MISSING, shownCondition } from '../resources/values.ts';
import type { ObservedMachine } from './observed.ts';

/**
 * A missing condition counts as unhealthy: Cluster API waits for all of them before each step. Source: Cluster API,
 * `preflightChecks` of its control plane.
 */
const NEEDED = ['NodeHealthy', 'APIServerPodHealthy', 'ControllerManagerPodHealthy', 'SchedulerPodHealthy'] as const;
const NEEDED_STACKED = ['EtcdPodHealthy', 'EtcdMemberHealthy'] as const;
/** Missing in some versions, or at times. */
const WHERE_THERE = [
  'Ready',
  'BootstrapReady',
  'BootstrapConfigReady',
  'InfrastructureReady',
  'NodeReady',
  'HealthCheckSucceeded',
  'OwnerRemediated',
];
/** A machine of etcd never becomes a Node, so conditions about a Node are never True. */
const WHERE_THERE_ETCD = ['BootstrapReady', 'BootstrapConfigReady', 'InfrastructureReady', 'OwnerRemediated'];

/** For clients. */
export const ETCD_PORT = 2379;
export const ETCD_PEER_PORT = 2380;
/** Besides the port of `served`. */
const ETCD_PORTS = { stacked: [ETCD_PORT, ETCD_PEER_PORT], 'control-plane': [], etcd: [ETCD_PEER_PORT] } as const;

export interface MachineReading {
  /** uid of the observed control plane or EtcdadmCluster; undefined if missing. */
  readonly owner: string | undefined;
  /** Its role: `stacked` is a control plane with etcd. */
  readonly role: 'stacked' | 'control-plane' | 'etcd';
  /** `spec.controlPlaneEndpoint.host`. */
  readonly endpoint?: string | undefined;
}

/** A Machine with `served` and `etcdPorts` none; undefined without name, namespace, uid or time of creation. Pure; never throws. */
export function observedMachine(
  object: unknown,
  { owner, role, endpoint }: MachineReading,
): ObservedMachine | undefined {
  const machine = readMachine(object);
  if (machine === undefined) return undefined;
  const { namespace, name, uid, createdAt, deleting, node, addresses, phase } = machine;
  if (namespace === undefined || uid === undefined || createdAt === undefined) return undefined;
  const state = readMachineState(object);
  return {
    namespace,
    name,
    uid,
    createdAt,
    deleting,
    owned: owner !== undefined && state.controller === owner,
    node,
    addresses: serverAddresses(addresses, endpoint),
    phase,
    unhealthy: unhealthyOf({ ...state, phase }, role),
    hooks: state.hooks,
    served: { kind: 'none' },
    etcdPorts: ETCD_PORTS[role].map((port) => ({ port, served: { kind: 'none' } })),
    kubelet: role === 'stacked' ? { kind: 'none' } : undefined,
    etcdReady: state.etcdReady,
  };
}

function unhealthyOf(
  { conditions, phase, failureReason }: MachineState & { readonly phase: string | undefined },
  role: MachineReading['role'],
): readonly string[] {
  const needed = role === 'etcd' ? [] : role === 'stacked' ? [...NEEDED, ...NEEDED_STACKED] : NEEDED;
  const wrong = [
    ...needed.map((type) => [type, conditions.get(type) ?? MISSING] as const),
    ...(role === 'etcd' ? WHERE_THERE_ETCD : WHERE_THERE).flatMap((type) => {
      const condition = conditions.get(type);
      return condition === undefined ? [] : [[type, condition] as const];
    }),
  ].filter(([, { status }]) => status !== 'True');
  return [
    ...(role !== 'etcd' || phase === 'Running' ? [] : [`its phase is ${phase ?? 'not known'}`]),
    ...(failureReason === undefined ? [] : [`it failed: ${failureReason}`]),
    ...wrong.map(([type, condition]) => `${type} is ${shownCondition(condition)}`),
  ];
}
