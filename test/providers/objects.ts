import { type Address, type Born, EVERYWHERE, type Labels, type Provider, RELEASES } from './table.ts';

// The objects that EKS Anywhere and the controllers below it write, made from the table: metadata, references and addresses. What a test is about, such as times,
// uids, conditions and counts, it adds itself.

export type Fields = Record<string, unknown>;
/** The version of Cluster API in which an object is asked for. EKS Anywhere writes v1beta2, and v1beta1 is served beside it. */
export type Version = 'v1beta2' | 'v1beta1';

/** Which cluster, of which provider. */
export interface Of {
  readonly provider: Provider;
  readonly name: string;
  /** @default v1beta2 */
  readonly version?: Version;
}

const { value: API } = EVERYWHERE.apiVersions;
const { value: NAMESPACE } = EVERYWHERE.namespace;
const INFRASTRUCTURE = 'infrastructure.cluster.x-k8s.io';

/** `apiGroup` in v1beta2; before, the version and the namespace too. */
function reference(version: Version, group: string, groupVersion: string, kind: string, name: string): Fields {
  return version === 'v1beta2'
    ? { apiGroup: group, kind, name }
    : { apiVersion: `${group}/${groupVersion}`, kind, namespace: NAMESPACE, name };
}

function infrastructure({ provider, version = 'v1beta2' }: Of, kind: string, name: string): Fields {
  const { kinds, version: served } = provider.infrastructure.value;
  return reference(version, INFRASTRUCTURE, served, `${kinds}${kind}`, name);
}

/** Path of the template of its control plane machines. */
export function templatePath({ provider, name }: Of): string {
  const { kinds, version } = provider.infrastructure.value;
  const plural = `${kinds.toLowerCase()}machinetemplates`;
  return `/apis/${INFRASTRUCTURE}/${version}/namespaces/${NAMESPACE}/${plural}/${EVERYWHERE.firstTemplate.value(name)}`;
}

/** @param namespace the one that its owner chose */
export function eksAnywhereCluster({ provider, name }: Of, namespace = 'default') {
  return {
    apiVersion: API.eksAnywhere,
    kind: 'Cluster',
    metadata: { namespace, name },
    spec: {
      datacenterRef: { kind: provider.datacenter.value, name },
      eksaVersion: RELEASES[provider.minor].eksAnywhere,
    },
  };
}

/** @param owner namespace of the Cluster of EKS Anywhere */
export function capiCluster(of: Of, { etcd = 'stacked', owner = 'default' } = {}) {
  const { provider, name, version = 'v1beta2' } = of;
  return {
    apiVersion: `${API.cluster}/${version}`,
    kind: 'Cluster',
    metadata: { namespace: NAMESPACE, name, labels: provider.clusterLabels.value({ name, namespace: owner }) },
    spec: {
      // Every template writes those of the owner.
      clusterNetwork: { services: { cidrBlocks: ['10.96.0.0/12'] } },
      controlPlaneRef: reference(version, API.controlPlane, version, 'KubeadmControlPlane', name),
      infrastructureRef: infrastructure(of, 'Cluster', name),
      ...(etcd === 'stacked' ? {} : { managedExternalEtcdRef: etcdReference(of) }),
    },
  };
}

function etcdReference({ name, version = 'v1beta2' }: Of): Fields {
  const [group = '', served = ''] = API.etcd.split('/');
  return reference(version, group, served, 'EtcdadmCluster', `${name}-etcd`);
}

export function kubeadmControlPlane(of: Of, etcd: 'stacked' | 'external' = 'stacked') {
  const { provider, name, version = 'v1beta2' } = of;
  const metadata = { labels: provider.machineLabels.value };
  const infrastructureRef = infrastructure(of, 'MachineTemplate', EVERYWHERE.firstTemplate.value(name));
  const strategy = EVERYWHERE.strategy.value;
  return {
    apiVersion: `${API.controlPlane}/${version}`,
    kind: 'KubeadmControlPlane',
    metadata: { namespace: NAMESPACE, name, labels: EVERYWHERE.controlPlaneLabels.value(name) },
    spec: {
      kubeadmConfigSpec: {
        clusterConfiguration: { etcd: etcd === 'stacked' ? { local: {} } : { external: { endpoints: [] } } },
      },
      ...(version === 'v1beta2'
        ? { machineTemplate: { metadata, spec: { infrastructureRef } }, rollout: { strategy } }
        : { machineTemplate: { metadata, infrastructureRef }, rolloutStrategy: strategy }),
    },
  };
}

/** The addresses of a Machine; none where they are not proven. */
export function addressesOf({ addresses }: Provider, born: Born): readonly Address[] {
  return addresses.value?.(born) ?? [];
}

/** What its Node is called; where that is not proven, something that says nothing. */
export function nodeOf({ node }: Provider, born: Born): string {
  return node.value?.(born) ?? `node-at-${born.address.replaceAll('.', '-')}`;
}

/** A Machine of the table; `owner` made it. */
function machine(of: Of, born: Born, { labels, owner }: { readonly labels: Labels; readonly owner: Fields }) {
  return {
    apiVersion: `${API.cluster}/${of.version ?? 'v1beta2'}`,
    kind: 'Machine',
    metadata: {
      namespace: NAMESPACE,
      name: born.name,
      labels,
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
    },
    spec: { clusterName: of.name, infrastructureRef: infrastructure(of, 'Machine', born.name) },
    status: { phase: 'Running', addresses: addressesOf(of.provider, born) },
  };
}

function nodeRefOf({ provider, version = 'v1beta2' }: Of, born: Born): Fields {
  const named = EVERYWHERE.nodeRef.value(nodeOf(provider, born));
  return version === 'v1beta2' ? named : { apiVersion: 'v1', kind: 'Node', ...named };
}

/** @param uid of its KubeadmControlPlane */
export function controlPlaneMachine(of: Of, born: Born, uid?: string) {
  const { provider, name, version = 'v1beta2' } = of;
  const { labels, annotations } = EVERYWHERE.controlPlaneMachine.value;
  const made = machine(of, born, {
    labels: { ...labels(name), ...provider.machineLabels.value },
    owner: { apiVersion: `${API.controlPlane}/${version}`, kind: 'KubeadmControlPlane', name, uid },
  });
  return {
    ...made,
    metadata: { ...made.metadata, annotations },
    status: { ...made.status, nodeRef: nodeRefOf(of, born) },
  };
}

export function workerMachine(of: Of, born: Born) {
  const labels = EVERYWHERE.workerMachine.value.labels(of.name);
  const name = labels['cluster.x-k8s.io/set-name'];
  const owner = { apiVersion: `${API.cluster}/${of.version ?? 'v1beta2'}`, kind: 'MachineSet', name };
  const made = machine(of, born, { labels, owner });
  return { ...made, status: { ...made.status, nodeRef: nodeRefOf(of, born) } };
}

/** It never becomes a Node. @param uid of its EtcdadmCluster */
export function etcdMachine(of: Of, born: Born, uid?: string) {
  const owner = { apiVersion: API.etcd, kind: 'EtcdadmCluster', name: `${of.name}-etcd`, uid };
  return machine(of, born, { labels: EVERYWHERE.etcdMachine.value.labels(of.name), owner });
}

/** @param machines those of etcd */
export function etcdadmCluster({ provider, name }: Of, machines: readonly Born[]) {
  const endpoints = machines.flatMap((born) => {
    const addresses = addressesOf(provider, born);
    const type = EVERYWHERE.etcdEndpoint.value.find((one) => addresses.some((address) => address.type === one));
    const at = addresses.findLast((address) => address.type === type);
    return at === undefined ? [] : [`https://${at.address}:2379`];
  });
  return {
    apiVersion: API.etcd,
    kind: 'EtcdadmCluster',
    metadata: { namespace: NAMESPACE, name: `${name}-etcd` },
    spec: { replicas: machines.length, etcdadmConfigSpec: {} },
    status: { endpoints: endpoints.join(',') },
  };
}

/** Cluster API labels it. */
export function healthCheck({ name, version = 'v1beta2' }: Of) {
  return {
    apiVersion: `${API.cluster}/${version}`,
    kind: 'MachineHealthCheck',
    metadata: {
      namespace: NAMESPACE,
      name: EVERYWHERE.healthCheck.value(name),
      labels: EVERYWHERE.controlPlaneLabels.value(name),
    },
    spec: { clusterName: name, selector: { matchLabels: { 'cluster.x-k8s.io/control-plane': '' } } },
  };
}

/** Whether `clusterCertificateInfo` can have a machine. */
export function isScanned(provider: Provider, born: Born): boolean {
  return addressesOf(provider, born).some(({ type }) => type === EVERYWHERE.scanned.value);
}

/** What the kubelet of a machine asks for; undefined where it is not proven. */
export function servingNames(provider: Provider, born: Born) {
  const addresses = provider.nodeAddresses.value?.(nodeOf(provider, born), born.address);
  return addresses && EVERYWHERE.servingNames.value(addresses);
}
