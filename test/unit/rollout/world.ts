import type { RolloutTarget } from '../../../lambdas/rollout/observe.ts';
import type { HandshakeResult } from '../../../lambdas/tls/handshake.ts';
import type { Certificate } from '../../../lambdas/x509/certificate.ts';
import { capiCluster, kubeadmControlPlane, templatePath, type Version } from '../../providers/objects.ts';
import type { Provider } from '../../providers/table.ts';
import {
  born,
  bornEtcd,
  CLUSTER_ID,
  DAY,
  days,
  NAME,
  NAMESPACE,
  NOW,
  PROVIDER,
  rawCapiCluster,
  rawControlPlane,
  rawEksAnywhere,
  rawEtcd,
  rawEtcdMachine,
  rawHealthCheck,
  rawLease,
  rawMachine,
} from './fixtures.ts';
import { type ManagementCluster, managementCluster } from './management-cluster.ts';

const IN_NAMESPACE = `namespaces/${NAMESPACE}`;

/** Where the objects of `healthyWorld` are. */
export function pathsOf(version: Version = 'v1beta2', provider: Provider = PROVIDER) {
  const core = `/apis/cluster.x-k8s.io/${version}/${IN_NAMESPACE}`;
  return {
    cluster: `${core}/clusters/${NAME}`,
    controlPlane: `/apis/controlplane.cluster.x-k8s.io/${version}/${IN_NAMESPACE}/kubeadmcontrolplanes/${NAME}`,
    sibling: `/apis/controlplane.cluster.x-k8s.io/${version}/${IN_NAMESPACE}/kubeadmcontrolplanes/milan-prod`,
    machine: (name: string) => `${core}/machines/${name}`,
    healthCheck: `${core}/machinehealthchecks/berlin-prod-kcp-unhealthy`,
    eksAnywhere: `/apis/anywhere.eks.amazonaws.com/v1alpha1/namespaces/default/clusters/${NAME}`,
    siblingEksAnywhere: '/apis/anywhere.eks.amazonaws.com/v1alpha1/namespaces/default/clusters/milan-prod',
    upgrade: `/apis/anywhere.eks.amazonaws.com/v1alpha1/${IN_NAMESPACE}/controlplaneupgrades/berlin-prod-cp-upgrade`,
    template: templatePath({ provider, name: NAME }),
    lease: '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/certmarshal-rollout',
    etcd: `/apis/etcdcluster.cluster.x-k8s.io/v1beta1/${IN_NAMESPACE}/etcdadmclusters/${NAME}-etcd`,
    etcdSecret: `/api/v1/${IN_NAMESPACE}/secrets/${NAME}-apiserver-etcd-client`,
    pod: (name: string) => `/api/v1/namespaces/etcdadm-controller-system/pods/${name}`,
  };
}

export interface World {
  readonly management: ManagementCluster;
  readonly paths: ReturnType<typeof pathsOf>;
  /** What the server at an address shows; `host:port`. */
  readonly shown: Map<string, HandshakeResult>;
  readonly target: RolloutTarget;
  readonly provider: Provider;
}

/**
 * What `healthyRollout()` is the model of: a cluster that is due and has nothing in the way.
 *
 * @param served other versions of groups
 */
export function healthyWorld(
  version: Version = 'v1beta2',
  provider: Provider = PROVIDER,
  served: Readonly<Record<string, readonly string[]>> = {},
): World {
  const management = managementCluster({
    'cluster.x-k8s.io': [version],
    'controlplane.cluster.x-k8s.io': [version],
    'infrastructure.cluster.x-k8s.io': [provider.infrastructure.value.version],
    'anywhere.eks.amazonaws.com': ['v1alpha1'],
    'etcdcluster.cluster.x-k8s.io': ['v1beta1'],
    'coordination.k8s.io': ['v1'],
    ...served,
  });
  const paths = pathsOf(version, provider);
  management.put(paths.cluster, rawCapiCluster(version, provider));
  management.put(paths.controlPlane, rawControlPlane(version, false, provider));
  const { metadata: _, ...sibling } = rawControlPlane(version, false, provider);
  const labels = { 'cluster.x-k8s.io/cluster-name': 'milan-prod' };
  management.put(paths.sibling, { ...sibling, metadata: { labels } });
  management.put(paths.eksAnywhere, rawEksAnywhere(provider));
  management.put(paths.siblingEksAnywhere, { metadata: { annotations: { 'certmarshal.dev/rollout-mode': 'auto' } } });
  management.put(paths.healthCheck, rawHealthCheck());
  management.put(paths.template, {});
  const shown = new Map<string, HandshakeResult>();
  for (const number of [1, 2, 3]) {
    const { name, address } = born(number);
    management.put(paths.machine(name), rawMachine(number, version, provider));
    shown.set(`${address}:6443`, showing({ fingerprint: `0${number}`.repeat(32) }));
    for (const port of [2379, 2380]) shown.set(`${address}:${port}`, showingEtcd(port, number));
    shown.set(`${address}:10250`, showing({ selfIssued: true, fingerprint: `a${number}`.repeat(32) }));
  }
  management.put(paths.machine('milan-prod-1'), {
    metadata: {
      creationTimestamp: days(-165),
      labels: { ...labels, 'cluster.x-k8s.io/control-plane': '' },
    },
    spec: { clusterName: 'milan-prod' },
    status: { nodeRef: { name: 'milan-prod-1' }, certificatesExpiryDate: days(200) },
  });
  const target: RolloutTarget = {
    id: CLUSTER_ID,
    name: NAME,
    management: management.client,
    managesItself: false,
    handshakes: async (targets) =>
      targets.map(
        ({ host, port }) =>
          shown.get(`${host}:${port}`) ?? {
            ok: false,
            failure: { kind: 'refused', message: 'it refuses', remedy: 'Start it.' },
          },
      ),
  };
  return { management, paths, shown, target, provider };
}

/** Adds external etcd, as EKS Anywhere has it: what `healthyExternal()` is the model of. */
export function withEtcd({ management, paths, shown, provider }: World): void {
  const of = { provider, name: NAME };
  management.change(paths.cluster, { spec: capiCluster(of, { etcd: 'external' }).spec });
  const { clusterConfiguration } = kubeadmControlPlane(of, 'external').spec.kubeadmConfigSpec;
  management.change(paths.controlPlane, {
    spec: { kubeadmConfigSpec: { clusterConfiguration: { etcd: { local: null, ...clusterConfiguration.etcd } } } },
  });
  management.put(paths.etcd, rawEtcd(provider));
  for (const number of [1, 2, 3]) {
    const { name, address } = bornEtcd(number);
    management.put(paths.machine(name), rawEtcdMachine(number, provider));
    shown.set(`${address}:2379`, showingEtcd(2379, number, { fingerprint: `e${number}`.repeat(32) }));
    shown.set(`${address}:2380`, showingEtcd(2380, 20 + number));
  }
}

/** The Lease, in somebody's hands. */
export function holdLease({ management, paths }: World, holder: string, renewedAt: number): void {
  const renewTime = new Date(renewedAt).toISOString().replace('Z', '000Z');
  management.put(paths.lease, { ...rawLease(), spec: { holderIdentity: holder, renewTime, leaseTransitions: 4 } });
}

export function showing(changes: Partial<Certificate> = {}): Extract<HandshakeResult, { ok: true }> {
  const authority = certificate({
    subject: 'berlin-prod-ca',
    fingerprint: 'ca'.repeat(32),
    isAuthority: true,
    notAfter: NOW + 2850 * DAY,
  });
  const chain = [certificate(changes), authority].map((one) => ({ ok: true as const, certificate: one }));
  return { ok: true, chain, keyProven: true };
}

/** etcd demands a client certificate, so nothing is proven. */
export function showingEtcd(start: number | string, number: number, changes: Partial<Certificate> = {}) {
  const fingerprint = `${start}${number}`.padEnd(64, '0');
  const { keyProven: _, ...unproven } = showing({ fingerprint, ...changes });
  return unproven;
}

export function certificate(changes: Partial<Certificate> = {}): Certificate {
  return {
    notBefore: NOW - 800 * DAY,
    notAfter: NOW + 40 * DAY,
    subject: 'CN=kube-apiserver',
    issuer: 'CN=kubernetes',
    organizations: [],
    serialNumber: '01',
    fingerprint: 'ab'.repeat(32),
    isAuthority: false,
    selfIssued: false,
    key: 'RSA-2048',
    verifiesFast: true,
    dnsNames: [],
    addresses: [],
    otherNames: false,
    der: Buffer.alloc(0),
    ...changes,
  };
}

/** Cluster API replaces every machine, and the new ones show new certificates. */
export function replaceMachines({ management, paths, shown }: World, at: number): void {
  const { machine } = paths;
  for (const number of [1, 2, 3]) {
    const old = management.get(machine(`berlin-prod-${number}`));
    management.remove(machine(`berlin-prod-${number}`));
    const name = `berlin-prod-new-${number}`;
    const creationTimestamp = new Date(at).toISOString().replace(/\.\d+Z/, 'Z');
    management.put(machine(name), {
      ...old,
      metadata: { ...old.metadata, name, uid: `uid of ${name}`, creationTimestamp },
    });
    shown.set(
      `10.0.1.${30 + number}:6443`,
      showing({ fingerprint: `f${number}`.repeat(32), notAfter: at + 365 * DAY }),
    );
    for (const port of [2379, 2380])
      shown.set(`10.0.1.${30 + number}:${port}`, showingEtcd(`f${port}`, number, { notAfter: at + 365 * DAY }));
  }
}
