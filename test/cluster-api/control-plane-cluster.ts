import type { Admin, KubeObject } from '../control-plane/admin.ts';
import { waitFor as waitUntil } from '../patience.ts';
import type { ClusterApi } from './stack.ts';

/** The versions in which Cluster API's objects are served. */
export type Version = 'v1beta1' | 'v1beta2';

/** A condition of an object. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
}

/** What tests look at of a Machine; the fields have these names in both versions. */
export interface Machine extends KubeObject {
  readonly spec: { readonly infrastructureRef: { readonly name: string }; readonly [field: string]: unknown };
  readonly status?: {
    readonly phase?: string;
    readonly nodeRef?: { readonly name: string };
    /** RFC 3339; from the annotation on the Machine, else the one that KubeadmControlPlane writes. */
    readonly certificatesExpiryDate?: string;
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly conditions?: readonly Condition[];
  };
}

/** What tests look at of a KubeadmControlPlane in v1beta2. */
export interface KubeadmControlPlane extends KubeObject {
  readonly spec: {
    readonly replicas: number;
    readonly rollout?: { readonly after?: string; readonly [field: string]: unknown };
    readonly [field: string]: unknown;
  };
  readonly status: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly readyReplicas?: number;
    readonly upToDateReplicas?: number;
    readonly conditions?: readonly Condition[];
    readonly [field: string]: unknown;
  };
}

/** How a cluster is made. */
export interface ClusterOptions {
  /** Name of the Cluster and of its KubeadmControlPlane. @default 'berlin' */
  readonly name?: string;
  /** @default 3 */
  readonly replicas?: number;
  /** @default 1 */
  readonly maxSurge?: 0 | 1;
  /** Fields of the KubeadmControlPlane's spec, instead of those made here. @default {} */
  readonly controlPlaneSpec?: Readonly<Record<string, unknown>>;
  /** Makes what has to be in its namespace before it, and says more fields for `controlPlaneSpec`. @default nothing */
  readonly prepare?: (namespace: string) => Promise<Readonly<Record<string, unknown>>>;
}

/** A cluster whose control plane the real managers keep, on machines that the in-memory backend plays. */
export interface ControlPlaneCluster {
  readonly namespace: string;
  readonly name: string;
  /** Its Machines of the control plane, the oldest first. @param version @default 'v1beta2' */
  machines(version?: Version): Promise<readonly Machine[]>;
  /** Its KubeadmControlPlane in v1beta2. */
  controlPlane(): Promise<KubeadmControlPlane>;
  /** Path of its KubeadmControlPlane, for reads and patches in either version. @param version @default 'v1beta2' */
  controlPlanePath(version?: Version): string;
  /** Merge patch of its KubeadmControlPlane as the administrator. @param query for example `dryRun=All` */
  patchControlPlane(patch: unknown, query?: string): Promise<KubeadmControlPlane>;
  /** Says in a Machine's status at which addresses it is, as an infrastructure provider does. */
  giveAddress(machine: Machine, address: string): Promise<void>;
  /** `spec.paused` of the Cluster; returns when KubeadmControlPlane has noticed. */
  pause(paused: boolean): Promise<void>;
  /** Polls until `isSo`; @throws Error with the control plane's conditions when that is never so. */
  waitFor(what: string, isSo: () => Promise<boolean>): Promise<void>;
  /** Waits until the rollout that was begun has ended: see {@link isRolledOut}. */
  untilRolledOut(): Promise<void>;
}

/** The present time, the way `rollout.after` is written. */
export function nowInSeconds(): string {
  return `${new Date().toISOString().slice(0, 19)}Z`;
}

/** A condition of an object in v1beta2, `undefined` where it has none of this type. */
export function conditionOf(object: { readonly status?: unknown }, type: string): Condition | undefined {
  const status = object.status as { readonly conditions?: readonly Condition[] } | undefined;
  return status?.conditions?.find((condition) => condition.type === type);
}

/** True when no rollout is asked for or goes on, by the control plane's own word. */
export function isRolledOut({ metadata, spec, status }: KubeadmControlPlane): boolean {
  return (
    status.observedGeneration === metadata['generation'] &&
    status.replicas === spec.replicas &&
    conditionOf({ status }, 'RollingOut')?.status === 'False' &&
    conditionOf({ status }, 'MachinesUpToDate')?.status === 'True'
  );
}

const CORE = '/apis/cluster.x-k8s.io';
let namespaces = 0;

/**
 * Makes a cluster in a fresh namespace and waits until every machine of its control plane has a node: one minute. A namespace
 * is never used again, because nothing here empties a deleted one.
 *
 * @throws Error when that never happens
 */
export async function createControlPlaneCluster(
  { admin }: Pick<ClusterApi, 'admin'>,
  options: ClusterOptions = {},
): Promise<ControlPlaneCluster> {
  const { name = 'berlin', replicas = 3 } = options;
  namespaces += 1;
  const namespace = `rollout-${process.pid}-${namespaces}`;
  await admin.post('/api/v1/namespaces', { metadata: { name: namespace } });
  const controlPlaneSpec = { ...options.controlPlaneSpec, ...(await options.prepare?.(namespace)) };
  const wanted = { ...options, name, replicas, controlPlaneSpec };
  for (const [path, object] of objectsOf(namespace, wanted)) await admin.post(path, object);

  const cluster = clusterOf(admin, namespace, name);
  const isReady = async (): Promise<boolean> => {
    const [machines, controlPlane] = await Promise.all([cluster.machines(), cluster.controlPlane()]);
    const isRunning = ({ status }: Machine): boolean => status?.nodeRef !== undefined;
    return (
      machines.length === replicas &&
      machines.every(isRunning) &&
      controlPlane.status.readyReplicas === replicas &&
      isRolledOut(controlPlane)
    );
  };
  await cluster.waitFor(`${replicas} machines with nodes`, isReady);
  return cluster;
}

function clusterOf(admin: Admin, namespace: string, name: string): ControlPlaneCluster {
  const controlPlanePath = (version: Version = 'v1beta2'): string =>
    `/apis/controlplane.cluster.x-k8s.io/${version}/namespaces/${namespace}/kubeadmcontrolplanes/${name}`;
  const controlPlane = (): Promise<KubeadmControlPlane> => admin.get(controlPlanePath());
  const clusterPath = `${CORE}/v1beta2/namespaces/${namespace}/clusters/${name}`;

  const waitFor = async (what: string, isSo: () => Promise<boolean>): Promise<void> =>
    waitUntil(what, isSo, { everyMs: 500, state });
  const state = async (): Promise<string> => {
    const { status } = await controlPlane();
    return (status.conditions ?? []).map(({ type, status: is, message = '' }) => `${type}=${is} ${message}`).join('; ');
  };

  return {
    namespace,
    name,
    async machines(version = 'v1beta2') {
      const selector = `cluster.x-k8s.io/cluster-name=${name},cluster.x-k8s.io/control-plane`;
      const { items } = await admin.get<{ readonly items: readonly Machine[] }>(
        `${CORE}/${version}/namespaces/${namespace}/machines?labelSelector=${encodeURIComponent(selector)}`,
      );
      return items.toSorted((one, other) => createdAt(one) - createdAt(other));
    },
    controlPlane,
    controlPlanePath,
    patchControlPlane: (patch, query) =>
      admin.patch(query === undefined ? controlPlanePath() : `${controlPlanePath()}?${query}`, patch),
    async giveAddress(machine, address) {
      const infrastructure = `/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/${namespace}/devmachines/${machine.spec.infrastructureRef.name}`;
      await admin.patch(`${infrastructure}/status`, { status: { addresses: [{ type: 'InternalIP', address }] } });
    },
    async pause(paused) {
      await admin.patch(clusterPath, { spec: { paused } });
      const wanted = paused ? 'True' : 'False';
      await waitFor(`Paused=${wanted}`, async () => conditionOf(await controlPlane(), 'Paused')?.status === wanted);
    },
    waitFor,
    untilRolledOut: () => waitFor('the end of the rollout', async () => isRolledOut(await controlPlane())),
  };
}

/** Milliseconds since the epoch. */
export function createdAt({ metadata }: Machine): number {
  return Date.parse(String(metadata['creationTimestamp']));
}

/** Where each object is created, in the order that lets every one find those it refers to. */
function objectsOf(
  namespace: string,
  options: ClusterOptions & { readonly name: string; readonly replicas: number },
): readonly (readonly [string, unknown])[] {
  const { name, replicas, maxSurge = 1, controlPlaneSpec = {} } = options;
  // Shorter makes nothing faster: the managers look every few seconds.
  const part = { provisioning: { startupDuration: '1s' } };
  const infrastructure = 'infrastructure.cluster.x-k8s.io';
  const of = (group: string, plural: string): string => `/apis/${group}/v1beta2/namespaces/${namespace}/${plural}`;
  return [
    [
      of(infrastructure, 'devclusters'),
      {
        apiVersion: `${infrastructure}/v1beta2`,
        kind: 'DevCluster',
        // Without any annotation its controller ends with a nil map.
        metadata: { name, annotations: { 'certmarshal.dev/test': 'true' } },
        spec: { backend: { inMemory: {} } },
      },
    ],
    [
      of(infrastructure, 'devmachinetemplates'),
      {
        apiVersion: `${infrastructure}/v1beta2`,
        kind: 'DevMachineTemplate',
        metadata: { name },
        spec: { template: { spec: { backend: { inMemory: { vm: part, node: part, apiServer: part, etcd: part } } } } },
      },
    ],
    [
      of('controlplane.cluster.x-k8s.io', 'kubeadmcontrolplanes'),
      {
        apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
        kind: 'KubeadmControlPlane',
        metadata: { name },
        spec: {
          version: 'v1.35.0',
          replicas,
          machineTemplate: {
            spec: { infrastructureRef: { apiGroup: infrastructure, kind: 'DevMachineTemplate', name } },
          },
          kubeadmConfigSpec: { clusterConfiguration: { apiServer: { certSANs: ['127.0.0.1'] } } },
          rollout: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge } } },
          ...controlPlaneSpec,
        },
      },
    ],
    [
      of('cluster.x-k8s.io', 'clusters'),
      {
        apiVersion: 'cluster.x-k8s.io/v1beta2',
        kind: 'Cluster',
        metadata: { name },
        spec: {
          clusterNetwork: { pods: { cidrBlocks: ['192.168.0.0/16'] } },
          controlPlaneRef: { apiGroup: 'controlplane.cluster.x-k8s.io', kind: 'KubeadmControlPlane', name },
          infrastructureRef: { apiGroup: infrastructure, kind: 'DevCluster', name },
        },
      },
    ],
  ];
}
