import { ETCD_CONDITIONS, type EtcdCondition } from '../../../lambdas/resources/etcdadm-cluster.ts';
import {
  CONTROL_PLANE_CONDITIONS,
  type ControlPlaneCondition,
} from '../../../lambdas/resources/kubeadm-control-plane.ts';
import type { Condition } from '../../../lambdas/resources/values.ts';
import type { RolloutHistory } from '../../../lambdas/rollout/history.ts';
import type {
  ObservedControlPlane,
  ObservedEksAnywhere,
  ObservedEtcd,
  ObservedMachine,
  ObservedRollout,
  PortServed,
  Served,
} from '../../../lambdas/rollout/observed.ts';
import { DEFAULT_ROLLOUT_POLICY, type RolloutPolicy } from '../../../lambdas/rollout/policy.ts';
import type { WeeklyWindow } from '../../../lambdas/window/window.ts';
import {
  controlPlaneMachine,
  eksAnywhereCluster,
  etcdadmCluster,
  type Fields,
  healthCheck,
  kubeadmControlPlane,
  capiCluster as madeCapiCluster,
  etcdMachine as madeEtcdMachine,
  type Version,
} from '../../providers/objects.ts';
import { type Born, PROVIDERS, type Provider } from '../../providers/table.ts';

export type { Fields } from '../../providers/objects.ts';

/** A Saturday night, in the maintenance window of `policy()`: half past three in Berlin. */
export const NOW = Date.parse('2026-11-28T02:30:00Z');
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** RFC 3339 of so many days from now. */
export function days(count: number): string {
  return new Date(NOW + count * DAY).toISOString().replace('.000Z', 'Z');
}

export const CLUSTER_ID = 'berlin-mgmt/eksa-system/berlin-prod';
export const NAMESPACE = 'eksa-system';
export const NAME = 'berlin-prod';
export const CONTROL_PLANE_UID = '6f1c9b1e-6f2b-4d66-9a3e-0d7d3b6a0c01';
export const ETCD_UID = '6f1c9b1e-6f2b-4d66-9a3e-0d7d3b6a0c02';

export const SATURDAY_NIGHT: WeeklyWindow = {
  days: ['sat'],
  from: '02:00',
  until: '06:00',
  timeZone: 'Europe/Berlin',
};

export function policy(changes: Partial<RolloutPolicy> = {}): RolloutPolicy {
  return {
    ...DEFAULT_ROLLOUT_POLICY,
    clusters: ['berlin-mgmt/eksa-system/*'],
    windows: [SATURDAY_NIGHT],
    accepted: ['spare-capacity', 'etcd-backup'],
    ...changes,
  };
}

export function history(changes: Partial<RolloutHistory> = {}): RolloutHistory {
  return { rollouts: [], limits: { atOnce: 1, pauseMs: HOUR }, ...changes };
}

export function served(changes: Partial<Extract<Served, { kind: 'certificate' }>> = {}): Served {
  return {
    kind: 'certificate',
    address: '10.0.1.31:6443',
    // kubeadm dates a leaf back to the beginning of its authority.
    notBefore: NOW - 800 * DAY,
    notAfter: NOW + 40 * DAY,
    fingerprint: 'ab'.repeat(32),
    ...changes,
  };
}

/** The further ports of an etcd, with the lives of its machine's `served`; none where that was not seen. */
export function etcdPorts(number: number, ports: readonly number[], shown: Served): readonly PortServed[] {
  if (shown.kind !== 'certificate') return [];
  return ports.map((port) => ({
    port,
    served: { ...shown, address: `10.0.1.${30 + number}`, fingerprint: `${port}${number}`.padEnd(64, '0') },
  }));
}

/** A kubelet without `serverTLSBootstrap` makes its certificate itself. */
export const OWN_KUBELET: Served = { kind: 'failed', problem: 'not issued', remedy: 'None.', foreign: true };

/** A machine of the control plane: `berlin-prod-1` and so on, each with its own address and certificates. */
export function machine(number: number, changes: Partial<ObservedMachine> = {}): ObservedMachine {
  const address = `10.0.1.${30 + number}`;
  const { served: shown = served({ address: `${address}:6443`, fingerprint: `0${number}`.repeat(32) }) } = changes;
  return {
    namespace: NAMESPACE,
    name: `berlin-prod-${number}`,
    uid: `0a5d3c6e-0000-4000-8000-00000000000${number}`,
    createdAt: NOW - 325 * DAY,
    deleting: false,
    owned: true,
    node: `berlin-prod-${number}`,
    addresses: [address],
    phase: 'Running',
    unhealthy: [],
    hooks: [],
    served: shown,
    etcdPorts: etcdPorts(number, [2379, 2380], shown),
    kubelet: OWN_KUBELET,
    ...changes,
  };
}

/** A machine of external etcd: it has no Node. */
export function etcdMachine(number: number, changes: Partial<ObservedMachine> = {}): ObservedMachine {
  const address = `10.0.1.${50 + number}`;
  const { node: _none, kubelet: _kubelet, ...without } = machine(number);
  const { served: shown = served({ address: `${address}:2379`, fingerprint: `e${number}`.repeat(32) }) } = changes;
  return {
    ...without,
    name: `berlin-prod-etcd-${number}`,
    uid: `0a5d3c6e-0000-4000-8000-0000000000e${number}`,
    addresses: [address],
    served: shown,
    etcdPorts: etcdPorts(20 + number, [2380], shown),
    etcdReady: true,
    ...changes,
  };
}

const SINCE = NOW - 30 * DAY;
const TRUE: Condition = { status: 'True', since: SINCE };
const FALSE: Condition = { status: 'False', since: SINCE };

const GOOD: ReadonlySet<string> = new Set([
  'CertificatesAvailable',
  'ControlPlaneComponentsHealthy',
  'EtcdClusterHealthy',
]);

export function controlPlaneConditions(
  changes: Partial<Record<ControlPlaneCondition, Condition>> = {},
): Record<ControlPlaneCondition, Condition> {
  const healthy = CONTROL_PLANE_CONDITIONS.map((type) => [type, GOOD.has(type) ? TRUE : FALSE] as const);
  return { ...(Object.fromEntries(healthy) as Record<ControlPlaneCondition, Condition>), ...changes };
}

export function etcdConditions(
  changes: Partial<Record<EtcdCondition, Condition>> = {},
): Record<EtcdCondition, Condition> {
  const healthy = ETCD_CONDITIONS.map((type) => [type, TRUE] as const);
  return { ...(Object.fromEntries(healthy) as Record<EtcdCondition, Condition>), ...changes };
}

export function controlPlane(changes: Partial<ObservedControlPlane> = {}): ObservedControlPlane {
  return {
    namespace: NAMESPACE,
    name: NAME,
    uid: CONTROL_PLANE_UID,
    resourceVersion: '812345',
    apiVersion: 'v1beta2',
    generation: 4,
    observedGeneration: 4,
    deleting: false,
    replicas: 3,
    status: { replicas: 3, ready: 3, available: 3, upToDate: 3 },
    conditions: controlPlaneConditions(),
    strategy: 'RollingUpdate',
    maxSurge: 1,
    kubernetesVersion: 'v1.36.3',
    remediating: false,
    inPlaceUpgrade: false,
    etcd: 'stacked',
    template: {
      group: 'infrastructure.cluster.x-k8s.io',
      kind: 'VSphereMachineTemplate',
      namespace: NAMESPACE,
      name: 'berlin-prod-control-plane-1',
    },
    templateFound: true,
    ...changes,
  };
}

export function eksAnywhere(changes: Partial<ObservedEksAnywhere> = {}): ObservedEksAnywhere {
  return {
    namespace: 'default',
    name: NAME,
    deleting: false,
    paused: false,
    mode: 'auto',
    ready: TRUE,
    generation: 7,
    observedGeneration: 7,
    reconciledGeneration: 7,
    datacenter: 'VSphereDatacenterConfig',
    controlPlaneUpgrade: false,
    ...changes,
  };
}

export function etcd(changes: Partial<ObservedEtcd> = {}): ObservedEtcd {
  return {
    namespace: NAMESPACE,
    name: 'berlin-prod-etcd',
    uid: ETCD_UID,
    resourceVersion: '812399',
    generation: 2,
    observedGeneration: 2,
    deleting: false,
    paused: false,
    replicas: 3,
    ready: true,
    endpoints: [1, 2, 3].map((number) => `https://10.0.1.${50 + number}:2379`),
    upgrading: false,
    upgradeComplete: false,
    conditions: etcdConditions(),
    postEtcdadmCommands: [],
    machines: [1, 2, 3].map((number) => etcdMachine(number)),
    clientCertificate: { notBefore: NOW - 800 * DAY, notAfter: NOW + 40 * DAY },
    controllerStartedAt: NOW - 10 * DAY,
    ...changes,
  };
}

/**
 * A cluster of EKS Anywhere with stacked etcd whose three machines show certificates that end in 40 days: with `policy()` and `history()` at `NOW` every check passes,
 * for the schedule too.
 */
export function healthyRollout(changes: Partial<ObservedRollout> = {}): ObservedRollout {
  return {
    cluster: { id: CLUSTER_ID, name: NAME, managesItself: false },
    capiCluster: {
      namespace: NAMESPACE,
      name: NAME,
      deleting: false,
      paused: false,
      topology: false,
      infrastructure: 'VSphereCluster',
    },
    eksAnywhere: eksAnywhere(),
    controlPlane: controlPlane(),
    machines: [1, 2, 3].map((number) => machine(number)),
    healthChecks: [{ namespace: NAMESPACE, name: 'berlin-prod-kcp-unhealthy', expected: 3, healthy: 3 }],
    siblings: [
      { namespace: NAMESPACE, cluster: 'milan-prod', rolling: false, optedIn: true, soonestEnd: NOW + 200 * DAY },
    ],
    lease: { uid: '6f1c9b1e-6f2b-4d66-9a3e-0d7d3b6a0c03', resourceVersion: '812001' },
    authorities: [{ name: 'berlin-prod-ca', notAfter: NOW + 2850 * DAY }],
    unread: [],
    ...changes,
  };
}

/** The same with external etcd. */
export function healthyExternal(changes: Partial<ObservedRollout> = {}): ObservedRollout {
  const machines = [1, 2, 3].map((number) => machine(number, { etcdPorts: [], kubelet: undefined }));
  return healthyRollout({ controlPlane: controlPlane({ etcd: 'external' }), machines, etcd: etcd(), ...changes });
}

// What the API of a management cluster answers.

/** What `healthyRollout()` and `healthyWorld()` are of. */
export const PROVIDER = PROVIDERS['vSphere, 0.26'];

export function rawCondition(type: string, status: string, extra: Fields = {}): Fields {
  return { type, status, reason: `${type}${status}`, message: '', lastTransitionTime: days(-30), ...extra };
}

/** `status.conditions`, and in v1beta1 `status.v1beta2.conditions` where the controller is new enough. */
export const V1BETA2_CONDITIONS = CONTROL_PLANE_CONDITIONS.map((type) =>
  rawCondition(type, GOOD.has(type) ? 'True' : 'False'),
);

const V1BETA1_CONDITIONS = [
  'Ready',
  'Available',
  'CertificatesAvailable',
  'ControlPlaneComponentsHealthy',
  'EtcdClusterHealthy',
  'MachinesCreated',
  'MachinesReady',
  'MachinesSpecUpToDate',
  'Resized',
].map((type) => ({ type, status: 'True', lastTransitionTime: days(-30) }));

/**
 * The KubeadmControlPlane that `controlPlane()` is the model of.
 *
 * @param legacy v1beta1 of Cluster API before 1.9, without `status.v1beta2`
 */
export function rawControlPlane(version: Version = 'v1beta2', legacy = false, provider: Provider = PROVIDER): Fields {
  const made = kubeadmControlPlane({ provider, name: NAME, version });
  return {
    ...made,
    metadata: {
      ...made.metadata,
      uid: CONTROL_PLANE_UID,
      resourceVersion: '812345',
      generation: 4,
      creationTimestamp: days(-800),
    },
    spec: { ...made.spec, replicas: 3, version: 'v1.36.3' },
    status:
      version === 'v1beta2'
        ? {
            observedGeneration: 4,
            replicas: 3,
            readyReplicas: 3,
            availableReplicas: 3,
            upToDateReplicas: 3,
            conditions: V1BETA2_CONDITIONS,
          }
        : {
            observedGeneration: 4,
            replicas: 3,
            readyReplicas: 3,
            updatedReplicas: 3,
            initialized: true,
            ready: true,
            conditions: V1BETA1_CONDITIONS,
            v1beta2: legacy
              ? undefined
              : {
                  readyReplicas: 3,
                  availableReplicas: 3,
                  upToDateReplicas: 3,
                  conditions: V1BETA2_CONDITIONS,
                },
          },
  };
}

export const MACHINE_CONDITIONS = {
  v1beta2: [
    'Ready',
    'Available',
    'UpToDate',
    'BootstrapConfigReady',
    'InfrastructureReady',
    'NodeHealthy',
    'NodeReady',
    'HealthCheckSucceeded',
    'APIServerPodHealthy',
    'ControllerManagerPodHealthy',
    'SchedulerPodHealthy',
    'EtcdPodHealthy',
    'EtcdMemberHealthy',
  ],
  v1beta1: [
    'Ready',
    'BootstrapReady',
    'InfrastructureReady',
    'NodeHealthy',
    'HealthCheckSucceeded',
    'APIServerPodHealthy',
    'ControllerManagerPodHealthy',
    'SchedulerPodHealthy',
    'EtcdPodHealthy',
    'EtcdMemberHealthy',
  ],
} as const;

/** The machine of `machine()`, of `etcdMachine()`. */
export const born = (number: number): Born => ({ name: `${NAME}-${number}`, address: `10.0.1.${30 + number}` });
export const bornEtcd = (number: number): Born => ({
  name: `${NAME}-etcd-${number}`,
  address: `10.0.1.${50 + number}`,
});

/** The Machine that `machine()` is the model of, but for what its server shows. */
export function rawMachine(number: number, version: Version = 'v1beta2', provider: Provider = PROVIDER): Fields {
  const made = controlPlaneMachine({ provider, name: NAME, version }, born(number), CONTROL_PLANE_UID);
  return {
    ...made,
    metadata: {
      ...made.metadata,
      uid: `0a5d3c6e-0000-4000-8000-00000000000${number}`,
      creationTimestamp: days(-325),
    },
    status: {
      ...made.status,
      certificatesExpiryDate: days(40),
      conditions: MACHINE_CONDITIONS[version].map((type) => rawCondition(type, 'True')),
    },
  };
}

/** The Machine that `etcdMachine()` is the model of. */
export function rawEtcdMachine(number: number, provider: Provider = PROVIDER): Fields {
  const made = madeEtcdMachine({ provider, name: NAME, version: 'v1beta1' }, bornEtcd(number), ETCD_UID);
  return {
    ...made,
    metadata: {
      ...made.metadata,
      uid: `0a5d3c6e-0000-4000-8000-0000000000e${number}`,
      creationTimestamp: days(-325),
    },
    status: {
      ...made.status,
      conditions: [
        rawCondition('BootstrapReady', 'True'),
        rawCondition('InfrastructureReady', 'True'),
        rawCondition('Ready', 'False'),
      ],
    },
  };
}

/** The Cluster of Cluster API of `healthyRollout()`. */
export function rawCapiCluster(version: Version = 'v1beta2', provider: Provider = PROVIDER): Fields {
  const made = madeCapiCluster({ provider, name: NAME, version });
  return {
    ...made,
    metadata: { ...made.metadata, uid: '6f1c9b1e-6f2b-4d66-9a3e-0d7d3b6a0c04', resourceVersion: '8120' },
  };
}

/** The Cluster of EKS Anywhere that `eksAnywhere()` is the model of. */
export function rawEksAnywhere(provider: Provider = PROVIDER): Fields {
  const made = eksAnywhereCluster({ provider, name: NAME });
  return {
    ...made,
    metadata: { ...made.metadata, generation: 7, annotations: { 'certmarshal.dev/rollout-mode': 'auto' } },
    status: {
      observedGeneration: 7,
      reconciledGeneration: 7,
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: days(-30) }],
    },
  };
}

/** The EtcdadmCluster that `etcd()` is the model of, but for machines, certificate and controller. */
export function rawEtcd(provider: Provider = PROVIDER): Fields {
  const made = etcdadmCluster({ provider, name: NAME }, [1, 2, 3].map(bornEtcd));
  return {
    ...made,
    metadata: { ...made.metadata, uid: ETCD_UID, resourceVersion: '812399', generation: 2 },
    status: {
      ...made.status,
      observedGeneration: 2,
      replicas: 3,
      ready: true,
      conditions: ETCD_CONDITIONS.map((type) => ({ type, status: 'True', lastTransitionTime: days(-30) })),
    },
  };
}

/** The MachineHealthCheck of `healthyRollout()`. */
export function rawHealthCheck(): Fields {
  return { ...healthCheck({ provider: PROVIDER, name: NAME }), status: { expectedMachines: 3, currentHealthy: 3 } };
}

/** A Lease that another cluster holds. */
export function rawLease(): Fields {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      namespace: 'kube-system',
      name: 'certmarshal-rollout',
      uid: '6f1c9b1e-6f2b-4d66-9a3e-0d7d3b6a0c03',
      resourceVersion: '812001',
    },
    spec: {
      holderIdentity: 'eksa-system/milan-prod milan-1a2b3c',
      acquireTime: '2026-11-28T01:30:00.000000Z',
      renewTime: '2026-11-28T02:00:00.000000Z',
      leaseTransitions: 3,
    },
  };
}
