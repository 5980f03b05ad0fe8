import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type Admin, ApiError, type KubeObject } from '../control-plane/admin.ts';
import type { TestAuthority } from '../control-plane/pki.ts';
import { waitFor as waitUntil } from '../patience.ts';
import type { ApiserverEndpoints, Lifetime } from './apiserver-endpoints.ts';
import {
  conditionOf,
  createdAt,
  isRolledOut,
  type KubeadmControlPlane,
  type Machine,
  nowInSeconds,
} from './control-plane-cluster.ts';

/** What goes wrong; each may be changed while it runs. */
export interface Trouble {
  /** No etcd that is new becomes healthy. */
  newMembersFail: boolean;
  /** There are too many machines already, says the controller. */
  capReached: boolean;
  /** The certificate of etcd's client stays as it is when etcd is new, as before EKS Anywhere 0.18.3. */
  clientStaysOld: boolean;
}

/** External etcd of a cluster, as EKS Anywhere has it. The objects are real; whoever reconciles them is played. */
export interface PlayedEtcd {
  /** `<cluster>-etcd`. */
  readonly name: string;
  readonly trouble: Trouble;
  /** How long a new member is given before the next machine. Milliseconds; 60000 in the program that is played. */
  memberReadyMs: number;
  /** Fields of a KubeadmControlPlane whose etcd this is. */
  readonly controlPlaneSpec: Readonly<Record<string, unknown>>;
  /** Its EtcdadmCluster. */
  object(): Promise<EtcdadmCluster>;
  /** Path of the EtcdadmCluster. */
  readonly path: string;
  /** Those that are its members, the oldest first: those that it no longer owns too. */
  machines(): Promise<readonly Machine[]>;
  /** PEM of the certificate with which kube-apiserver is a client of etcd, out of its Secret. */
  clientCertificate(): Promise<string>;
  /** Ends the etcdadm-controller where it is, as a crash does; returns when it does nothing more. */
  kill(): Promise<void>;
  /** Starts it again; it knows nothing but the objects. */
  restart(): void;
  /** Ends everything that is played. */
  stop(): Promise<void>;
}

export interface EtcdadmCluster extends KubeObject {
  readonly spec: { readonly replicas: number; readonly etcdadmConfigSpec: Readonly<Record<string, unknown>> };
  readonly status?: EtcdStatus;
}

interface EtcdStatus {
  readonly ready?: boolean;
  readonly replicas?: number;
  readonly endpoints?: string;
  readonly observedGeneration?: number;
  readonly conditions?: readonly EtcdCondition[];
  readonly [field: string]: unknown;
}

/** Of v1beta1 of Cluster API. */
interface EtcdCondition {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly severity?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime: string;
}

/** How external etcd is made. */
export interface PlayedEtcdOptions {
  readonly admin: Admin;
  readonly namespace: string;
  /** Of the Cluster. */
  readonly cluster: string;
  /** Addresses of its machines, and what answers there. */
  readonly endpoints: ApiserverEndpoints;
  /** Of etcd, with an RSA key: the in-memory backend takes no other. */
  readonly authority: TestAuthority;
  /** Of the first client certificate. */
  readonly client: Lifetime;
  /** Of the certificate of a member. */
  readonly lifetimeOf: (machine: Machine) => Lifetime;
}

const DAY_MS = 86_400_000;
/** Odd and not 1: of a single member the order is another one. */
const REPLICAS = 3;
const PAUSED = 'cluster.x-k8s.io/paused';
const UPGRADING = 'etcdcluster.cluster.x-k8s.io/upgrading';
const UPGRADE_COMPLETE = 'controlplane.cluster.x-k8s.io/upgrade-complete';
const ETCD_LABEL = 'cluster.x-k8s.io/etcd-cluster';
const READY_LABEL = 'cluster.x-k8s.io/etcd-ready';
const CLUSTER_LABEL = 'cluster.x-k8s.io/cluster-name';
/** How often each of those who are played looks. */
const LOOK_MS = 400;

/**
 * Makes an EtcdadmCluster with machines that are ready, and plays whoever reconciles it, after their source:
 *
 * - etcdadm-controller 1.0.28 (controllers/controller.go, upgrade.go, status.go, machines.go, certs.go): which machines are outdated, the order in which they lose their
 *   owner and new ones are made, annotations, conditions, the Secret of the client, and the end of the old machines. Without its health checks of every 30 seconds, and
 *   an infrastructure template never makes a machine outdated;
 * - etcdadm on the machines, and their infrastructure: a member is healthy when its machine has an address;
 * - what EKS Anywhere adds to Cluster API (eks-anywhere-build-tooling, projects/kubernetes-sigs/cluster-api/patches, those of unstacked etcd): a machine of etcd is
 *   Running when it has its label; the control plane gets the addresses of etcd, and says when it is new. It rolls by itself, by the real controller.
 *
 * Machines of etcd are paused, so that the real manager of Machines, which knows nothing of etcd, leaves them alone.
 *
 * @throws Error when they are never ready
 */
export async function playEtcd(options: PlayedEtcdOptions): Promise<PlayedEtcd> {
  const { admin, namespace, cluster, endpoints, authority, client, lifetimeOf } = options;
  const name = `${cluster}-etcd`;
  const path = `/apis/etcdcluster.cluster.x-k8s.io/v1beta1/namespaces/${namespace}/etcdadmclusters/${name}`;
  const machinesPath = `/apis/cluster.x-k8s.io/v1beta2/namespaces/${namespace}/machines`;
  const configsPath = `/apis/bootstrap.cluster.x-k8s.io/v1beta1/namespaces/${namespace}/etcdadmconfigs`;
  const secretsPath = `/api/v1/namespaces/${namespace}/secrets`;
  const controlPlanePath = `/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/${namespace}/kubeadmcontrolplanes/${cluster}`;
  const labels = { [CLUSTER_LABEL]: cluster, [ETCD_LABEL]: name };
  const trouble: Trouble = { newMembersFail: false, capReached: false, clientStaysOld: false };

  const object = async (): Promise<EtcdadmCluster> => admin.get(path);
  const machines = async (): Promise<readonly Machine[]> => {
    const query = `labelSelector=${encodeURIComponent(`${ETCD_LABEL}=${name}`)}`;
    const { items } = await admin.get<{ readonly items: readonly Machine[] }>(`${machinesPath}?${query}`);
    return items.toSorted((one, other) => createdAt(one) - createdAt(other));
  };

  const saveSecret = async (secret: string, data: Readonly<Record<string, string>>): Promise<void> => {
    const coded = Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
    );
    const metadata = { name: `${cluster}-${secret}`, labels: { [CLUSTER_LABEL]: cluster } };
    await admin
      .post(secretsPath, { metadata, type: 'cluster.x-k8s.io/secret', data: coded })
      .catch(only(409, async () => admin.patch(`${secretsPath}/${metadata.name}`, { data: coded })));
  };
  const issueClient = async (lifetime: Lifetime): Promise<void> => {
    const { certPem, keyPem } = await authority.certificate({
      commonName: `${cluster}-kube-apiserver-etcd-client`,
      organizations: ['system:masters'],
      usages: ['client'],
      ...lifetime,
    });
    await saveSecret('apiserver-etcd-client', { 'tls.crt': certPem, 'tls.key': keyPem });
  };

  /** Spec of each EtcdadmConfig, by its name: nobody changes them. */
  const specs = new Map<string, unknown>();
  const makeMachine = async ({ metadata: { uid }, spec }: EtcdadmCluster): Promise<void> => {
    const own = `${name}-${Math.random().toString(36).slice(2, 7).padEnd(5, '0')}`;
    specs.set(own, spec.etcdadmConfigSpec);
    await admin.post(configsPath, {
      apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta1',
      kind: 'EtcdadmConfig',
      metadata: { name: own, labels },
      spec: spec.etcdadmConfigSpec,
    });
    const owner = { apiVersion: 'etcdcluster.cluster.x-k8s.io/v1beta1', kind: 'EtcdadmCluster', name, uid };
    await admin.post(machinesPath, {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Machine',
      metadata: {
        name: own,
        labels,
        annotations: { [PAUSED]: 'true' },
        ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
      },
      spec: {
        clusterName: cluster,
        bootstrap: { configRef: { apiGroup: 'bootstrap.cluster.x-k8s.io', kind: 'EtcdadmConfig', name: own } },
        infrastructureRef: { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'DevMachine', name: own },
      },
    });
  };
  /** The member is removed first; here there is none. */
  const removeMachine = async ({ metadata: { name: own } }: Machine): Promise<void> => {
    await admin.delete(`${machinesPath}/${own}`).catch(only(404));
    await admin.patch(`${machinesPath}/${own}`, { metadata: { finalizers: null } }).catch(only(404));
    await admin.delete(`${configsPath}/${own}`).catch(only(404));
    specs.delete(own);
  };

  const isHealthy = ({ metadata, status }: Machine): boolean =>
    (status?.addresses ?? []).length > 0 && (metadata.labels?.[READY_LABEL] === 'true' || !trouble.newMembersFail);

  const played: PlayedEtcd = {
    name,
    path,
    trouble,
    memberReadyMs: 0,
    controlPlaneSpec: {},
    object,
    machines,
    async clientCertificate() {
      const { data } = await admin.get<{ metadata: { name: string }; data: Record<string, string> }>(
        `${secretsPath}/${cluster}-apiserver-etcd-client`,
      );
      return Buffer.from(data['tls.crt'] ?? '', 'base64').toString('utf8');
    },
    async kill() {
      controller.abort();
      await running;
    },
    restart() {
      controller = new AbortController();
      running = again(reconcile, controller.signal, tell);
    },
    async stop() {
      stopping.abort();
      await Promise.all([played.kill(), neighbour]);
    },
  };

  /** `Reconcile` of etcdadm-controller. */
  async function reconcile(): Promise<void> {
    const before = await object();
    if (before.metadata.annotations?.[PAUSED] !== undefined) return;
    const draft = draftOf(before);
    const all = await machines();
    const changed = await act(before, all, draft).catch((error: unknown) => {
      // As the program: the status is told whatever happens before.
      draft.failed = error;
      return true;
    });
    const owned = (changed ? await machines() : all).filter(isOwnedBy(before));
    await labelMembers(owned);
    tellStatus(before, draft, owned);
    for (const annotation of draft.dropped)
      if (before.metadata.annotations?.[annotation] !== undefined)
        await admin.patch(path, { metadata: { annotations: { [annotation]: null } } });
    const status = { ...draft.status, observedGeneration: Number(before.metadata['generation']) };
    if (!isDeepStrictEqual(status, before.status)) await admin.patch(`${path}/status`, { status });
    if (draft.failed !== undefined) throw draft.failed;
  }

  /** `reconcile` and `upgradeEtcdCluster`: one thing at a time. @returns whether machines changed */
  async function act(before: EtcdadmCluster, all: readonly Machine[], draft: Draft): Promise<boolean> {
    const owned = all.filter(isOwnedBy(before));
    const orphans = all.filter((machine) => !owned.includes(machine));
    const complete = before.metadata.annotations?.[UPGRADE_COMPLETE] !== undefined;
    const settled = 'EtcdClusterHasNoOutdatedMachines';
    if (orphans.length > 0) {
      if (draft.condition(settled)?.status !== 'False')
        draft.mark(settled, 'EtcdClusterHasOutdatedMachines', `${orphans.length} etcd members have outdated spec`);
      if (complete) {
        for (const machine of orphans) await removeMachine(machine);
        return true;
      }
    } else {
      if (complete) draft.dropped.push(UPGRADE_COMPLETE);
      if (draft.condition(settled)?.status === 'False') draft.mark(settled);
    }

    const isOutdated = ({ metadata }: Machine): boolean =>
      specs.has(metadata.name) && !isDeepStrictEqual(specs.get(metadata.name), before.spec.etcdadmConfigSpec);
    const outdated = owned.filter((machine) => isOutdated(machine) && machine.metadata['deletionTimestamp'] == null);
    const upToDate = owned.filter((machine) => !outdated.includes(machine));
    const [oldest] = outdated;
    const specUpToDate = 'EtcdMachinesSpecUpToDate';
    if (oldest !== undefined) {
      if (trouble.capReached || all.length > all.filter(isOutdated).length + before.spec.replicas) {
        const words = `Etcd cluster has ${all.length} total machines, maximum number of machines is ${2 * before.spec.replicas}`;
        draft.mark(specUpToDate, 'MaxNumberOfEtcdMachinesReached', words);
        return false;
      }
      const newest = upToDate.at(-1);
      if (draft.condition(specUpToDate)?.status === 'False' && newest !== undefined) {
        if (createdAt(newest) + played.memberReadyMs > Date.now() || !isHealthy(newest)) return false;
      }
      const words = `Rolling ${outdated.length} replicas with outdated spec (${upToDate.length} replicas up to date)`;
      draft.mark(specUpToDate, 'EtcdRollingUpdateInProgress', words);
      draft.mark('EtcdCertificatesAvailable', 'EtcdRollingUpdateInProgress', words);
      if (owned.length < before.spec.replicas) await makeMachine(before);
      else await admin.patch(`${machinesPath}/${oldest.metadata.name}`, { metadata: { ownerReferences: null } });
      return true;
    }
    if (draft.condition(specUpToDate) !== undefined) {
      draft.mark(specUpToDate);
      draft.dropped.push(UPGRADING);
    }
    // With the last machine but one: the last old one has lost its owner, and the last new one is about to be made.
    if (draft.condition('EtcdCertificatesAvailable')?.status === 'False' && !trouble.clientStaysOld) {
      await issueClient({ notBefore: client.notBefore, notAfter: new Date(Date.now() + 365 * DAY_MS) });
      draft.mark('EtcdCertificatesAvailable');
    }
    const isShort = owned.length < before.spec.replicas;
    if (isShort) await makeMachine(before);
    else draft.dropped.push(UPGRADING);
    return isShort;
  }

  /** The label of a member that is healthy, which it keeps, and with it the phase that EKS Anywhere gives its machine. */
  async function labelMembers(owned: readonly Machine[]): Promise<void> {
    for (const machine of owned) {
      const own = `${machinesPath}/${machine.metadata.name}`;
      const joined = machine.metadata.labels?.[READY_LABEL] === 'true' || isHealthy(machine);
      if (joined && machine.metadata.labels?.[READY_LABEL] === undefined)
        await admin.patch(own, { metadata: { labels: { [READY_LABEL]: 'true' } } });
      const phase = joined ? 'Running' : (machine.status?.addresses ?? []).length > 0 ? 'Provisioned' : 'Provisioning';
      if (machine.status?.phase !== phase) await admin.patch(`${own}/status`, { status: { phase } });
    }
  }

  /** `updateStatus`, and what is said while it rolls. */
  function tellStatus({ spec: { replicas } }: EtcdadmCluster, draft: Draft, owned: readonly Machine[]): void {
    const healthy = owned.filter(isHealthy).length;
    draft.status = { ...draft.status, replicas: healthy };
    const resized = 'EtcdClusterResizeCompleted';
    if (healthy < replicas) {
      const words = `Scaling up etcd cluster to ${replicas} replicas (actual ${healthy})`;
      draft.mark(resized, 'ScalingUp', words);
      draft.status = { ...draft.status, ready: false };
    } else if (owned.every(isHealthy)) {
      draft.mark(resized);
      draft.mark('EtcdEndpointsAvailable');
      const addresses = owned.map((machine) => endpoints.addressOf(machine.metadata.name));
      const urls = addresses.map((address) => `https://${address}:2379`).toSorted();
      draft.status = { ...draft.status, ready: true, creationComplete: true, endpoints: urls.join(',') };
    }
    if (draft.condition('EtcdMachinesSpecUpToDate')?.reason === 'EtcdRollingUpdateInProgress')
      draft.status = { ...draft.status, ready: false };
  }

  let failed: unknown = 'no error';
  const tell = (error: unknown): void => {
    failed = error;
  };
  let wasRolling = false;
  /** What the controller of the control plane does about etcd in EKS Anywhere. */
  async function followEtcd(): Promise<void> {
    const [controlPlane, etcd] = await Promise.all([admin.get<KubeadmControlPlane>(controlPlanePath), object()]);
    if (controlPlane.metadata.annotations?.[PAUSED] !== undefined) return;
    const urls = (etcd.status?.endpoints ?? '').split(',').toSorted();
    if (etcd.status?.ready !== true || urls[0] === '') return;
    if (!isDeepStrictEqual(urls, endpointsOf(controlPlane))) {
      if (etcd.metadata.annotations?.[UPGRADING] !== undefined) return;
      const external = { endpoints: urls };
      await admin.patch(controlPlanePath, {
        spec: { kubeadmConfigSpec: { clusterConfiguration: { etcd: { external } } } },
      });
      return;
    }
    wasRolling ||= conditionOf(controlPlane, 'RollingOut')?.status === 'True';
    if (!wasRolling || !isRolledOut(controlPlane)) return;
    await admin.patch(path, { metadata: { annotations: { [UPGRADE_COMPLETE]: 'true' } } });
    wasRolling = false;
  }

  const state = async (): Promise<string> => `${JSON.stringify((await object()).status)}; ${String(failed)}`;
  const waitFor = async (what: string, isSo: () => Promise<boolean>): Promise<void> =>
    waitUntil(what, isSo, { everyMs: LOOK_MS, state });

  // A real controller keeps the key to itself, in <cluster>-managed-etcd; the in-memory backend wants it here.
  await saveSecret('etcd', { 'tls.crt': authority.certPem, 'tls.key': authority.keyPem });
  await issueClient(client);
  await admin.post(path.slice(0, path.lastIndexOf('/')), {
    apiVersion: 'etcdcluster.cluster.x-k8s.io/v1beta1',
    kind: 'EtcdadmCluster',
    metadata: { name, labels: { [CLUSTER_LABEL]: cluster } },
    spec: {
      replicas: REPLICAS,
      etcdadmConfigSpec: { etcdadmBuiltin: true, cipherSuites: 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256' },
      infrastructureTemplate: {
        apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
        kind: 'DevMachineTemplate',
        name,
        namespace,
      },
    },
  });
  const stopping = new AbortController();
  let controller = new AbortController();
  let running = again(reconcile, controller.signal, tell);
  await endpoints.follow(
    {
      machines,
      waitFor,
      giveAddress: async ({ metadata }, address) => {
        const addresses = [{ type: 'InternalIP', address }];
        await admin.patch(`${machinesPath}/${metadata.name}/status`, { status: { addresses } });
      },
    },
    lifetimeOf,
  );
  await waitFor('etcd', async () => (await object()).status?.ready === true);
  const pki = '/etc/kubernetes/pki';
  const external = {
    endpoints: ((await object()).status?.endpoints ?? '').split(','),
    caFile: `${pki}/etcd/ca.crt`,
    certFile: `${pki}/apiserver-etcd-client.crt`,
    keyFile: `${pki}/apiserver-etcd-client.key`,
  };
  const neighbour = again(followEtcd, stopping.signal, tell);
  const clusterConfiguration = { apiServer: { certSANs: ['127.0.0.1'] }, etcd: { external } };
  return Object.assign(played, { controlPlaneSpec: { kubeadmConfigSpec: { clusterConfiguration } } });
}

/** What a look wants to change of an EtcdadmCluster. */
interface Draft {
  status: EtcdStatus;
  /** Annotations. */
  readonly dropped: string[];
  failed: unknown;
  condition(type: string): EtcdCondition | undefined;
  /** True, or for a reason False. */
  mark(type: string, reason?: string, message?: string): void;
}

function draftOf({ status = {} }: EtcdadmCluster): Draft {
  const draft: Draft = {
    status,
    dropped: [],
    failed: undefined,
    condition: (type) => draft.status.conditions?.find((condition) => condition.type === type),
    mark(type, reason, message) {
      const { lastTransitionTime: since, ...before } = draft.condition(type) ?? {};
      const after =
        reason === undefined
          ? { type, status: 'True' as const }
          : { type, status: 'False' as const, severity: 'Warning', reason, message };
      const lastTransitionTime = since !== undefined && isDeepStrictEqual(before, after) ? since : nowInSeconds();
      const others = draft.status.conditions?.filter((condition) => condition.type !== type) ?? [];
      const conditions = [...others, { ...after, lastTransitionTime }];
      draft.status = {
        ...draft.status,
        conditions: conditions.toSorted((one, other) => one.type.localeCompare(other.type)),
      };
    },
  };
  return draft;
}

/** As a controller: whatever fails is tried again. */
async function again(task: () => Promise<void>, signal: AbortSignal, told: (error: unknown) => void): Promise<void> {
  while (!signal.aborted) {
    await task().catch(told);
    await sleep(LOOK_MS, undefined, { signal }).catch(() => {});
  }
}

function isOwnedBy({ metadata: { uid } }: EtcdadmCluster): (machine: Machine) => boolean {
  return ({ metadata }) => {
    const owners = metadata['ownerReferences'] as readonly { readonly uid: string }[] | undefined;
    return owners?.some((owner) => owner.uid === uid) === true;
  };
}

function endpointsOf({ spec }: KubeadmControlPlane): unknown {
  const { clusterConfiguration } = spec['kubeadmConfigSpec'] as {
    readonly clusterConfiguration: { readonly etcd: { readonly external: { readonly endpoints: readonly string[] } } };
  };
  return clusterConfiguration.etcd.external.endpoints;
}

function only(status: number, instead?: () => Promise<unknown>) {
  return async (error: unknown): Promise<void> => {
    if (!(error instanceof ApiError && error.status === status)) throw error;
    await instead?.();
  };
}
