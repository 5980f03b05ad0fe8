/**
 * What the templates and controllers of EKS Anywhere really write, one row a provider and minor version. Every object of EKS Anywhere in a test is made from this table, by
 * `objects.ts`; what no source was found for is `unproven`, here and in docs/coverage.md, and is then in no object.
 */

/** `owner/repository@tag or commit path:lines`. Of a patch, the lines are those of the patch. */
export type Source =
  | `${string}/${string}@${string} ${string}:${number}`
  | `${string}/${string}@${string} ${string}:${number}-${number}`;

export interface Fact<T> {
  readonly value: T;
  readonly sources: readonly [Source, ...Source[]];
}

export interface Unproven {
  readonly value: undefined;
  /** What is not known, in the words of docs/coverage.md. */
  readonly unproven: string;
}

export interface Address {
  readonly type: 'InternalIP' | 'ExternalIP' | 'Hostname' | 'InternalDNS' | 'ExternalDNS';
  readonly address: string;
}

/** A machine, before anything is said of it. */
export interface Born {
  /** Of its Machine. */
  readonly name: string;
  readonly address: string;
}

export interface Provider {
  readonly title: 'vSphere' | 'bare metal' | 'Nutanix' | 'Docker' | 'CloudStack' | 'Snow';
  readonly minor: Minor;
  /** Kind of `spec.datacenterRef` of the Cluster of EKS Anywhere. */
  readonly datacenter: Fact<string>;
  /** Kinds of its infrastructure are this and `Cluster`, `Machine`, `MachineTemplate`. */
  readonly infrastructure: Fact<{ readonly kinds: string; readonly version: string }>;
  /** Of the Cluster of Cluster API. */
  readonly clusterLabels: Fact<(owner: { readonly name: string; readonly namespace: string }) => Labels | undefined>;
  /** Of each Machine of the control plane, beside what Cluster API adds. */
  readonly machineLabels: Fact<Labels>;
  /** `status.addresses` of a Machine, in their order. */
  readonly addresses: Fact<(born: Born) => readonly Address[]> | Unproven;
  /** What the Node of a machine is called. */
  readonly node: Fact<(born: Born) => string> | Unproven;
  /** `status.addresses` of the Node, of which its kubelet asks for a serving certificate. */
  readonly nodeAddresses: Fact<(node: string, address: string) => readonly Address[]> | Unproven;
  /** etcd can have machines of its own. */
  readonly externalEtcd: Fact<boolean>;
  /** `kubeletConfiguration`, with which a kubelet is told to ask for its serving certificate, is documented. */
  readonly kubeletConfiguration: Fact<boolean>;
}

export type Labels = Readonly<Record<string, string>>;
export type Minor = keyof typeof RELEASES;

function fact<T>(value: T, ...sources: Fact<T>['sources']): Fact<T> {
  return { value, sources };
}

function unproven(what: string): Unproven {
  return { value: undefined, unproven: what };
}

/** The newest release of each supported minor version, and what is in it. */
export const RELEASES = {
  '0.25': {
    eksAnywhere: 'v0.25.3',
    clusterApi: fact(
      'v1.12.2',
      'aws/eks-anywhere-build-tooling@bace3fb89 projects/kubernetes-sigs/cluster-api/GIT_TAG:1',
    ),
    etcdadm: fact('v1.0.27', 'aws/eks-anywhere-build-tooling@bace3fb89 projects/aws/etcdadm-controller/GIT_TAG:1'),
    vSphere: fact(
      'v1.15.3',
      'aws/eks-anywhere-build-tooling@bace3fb89 projects/kubernetes-sigs/cluster-api-provider-vsphere/GIT_TAG:1',
    ),
    nutanix: fact(
      'v1.6.2',
      'aws/eks-anywhere-build-tooling@bace3fb89 projects/nutanix-cloud-native/cluster-api-provider-nutanix/GIT_TAG:1',
    ),
    tinkerbell: fact(
      'v0.6.6',
      'aws/eks-anywhere-build-tooling@bace3fb89 projects/tinkerbell/cluster-api-provider-tinkerbell/GIT_TAG:1',
    ),
  },
  '0.26': {
    eksAnywhere: 'v0.26.1',
    clusterApi: fact(
      'v1.13.2',
      'aws/eks-anywhere-build-tooling@deb63a86c projects/kubernetes-sigs/cluster-api/GIT_TAG:1',
    ),
    etcdadm: fact('v1.0.28', 'aws/eks-anywhere-build-tooling@deb63a86c projects/aws/etcdadm-controller/GIT_TAG:1'),
    vSphere: fact(
      'v1.16.1',
      'aws/eks-anywhere-build-tooling@deb63a86c projects/kubernetes-sigs/cluster-api-provider-vsphere/GIT_TAG:1',
    ),
    nutanix: fact(
      'v1.6.1',
      'aws/eks-anywhere-build-tooling@deb63a86c projects/nutanix-cloud-native/cluster-api-provider-nutanix/GIT_TAG:1',
    ),
    tinkerbell: fact(
      'v0.6.6',
      'aws/eks-anywhere-build-tooling@deb63a86c projects/tinkerbell/cluster-api-provider-tinkerbell/GIT_TAG:1',
    ),
  },
} as const;

/** What holds on every provider. */
export const EVERYWHERE = {
  apiVersions: fact(
    {
      eksAnywhere: 'anywhere.eks.amazonaws.com/v1alpha1',
      cluster: 'cluster.x-k8s.io',
      controlPlane: 'controlplane.cluster.x-k8s.io',
      /** The preferred one of Cluster API; v1beta1 is served beside it. */
      clusterApi: 'v1beta2',
      etcd: 'etcdcluster.cluster.x-k8s.io/v1beta1',
    },
    'aws/eks-anywhere@v0.25.3 pkg/providers/vsphere/config/template-cp.yaml:2-79',
    'aws/eks-anywhere@v0.26.1 pkg/providers/vsphere/config/template-cp.yaml:2-79',
    'aws/eks-anywhere@v0.25.3 pkg/providers/vsphere/config/template-cp.yaml:646-647',
    'aws/eks-anywhere@v0.26.1 pkg/providers/vsphere/config/template-cp.yaml:649-650',
  ),
  /** Of the Cluster of EKS Anywhere: pauses it, with this value alone. */
  paused: fact(
    { 'anywhere.eks.amazonaws.com/paused': 'true' },
    'aws/eks-anywhere@v0.25.3 pkg/api/v1alpha1/cluster_types.go:24',
    'aws/eks-anywhere@v0.25.3 pkg/api/v1alpha1/cluster.go:388-393',
    'aws/eks-anywhere@v0.26.1 pkg/api/v1alpha1/cluster_types.go:24',
    'aws/eks-anywhere@v0.26.1 pkg/api/v1alpha1/cluster.go:388-393',
  ),
  /** Objects of Cluster API are there, under the name of the Cluster of EKS Anywhere, whatever namespace that is in. */
  namespace: fact(
    'eksa-system',
    'aws/eks-anywhere@v0.25.3 pkg/controller/clusterapi.go:38-43',
    'aws/eks-anywhere@v0.26.1 pkg/controller/clusterapi.go:38-43',
    'aws/eks-anywhere@v0.26.1 pkg/constants/constants.go:7',
  ),
  /** No template labels the KubeadmControlPlane; the Cluster controller of Cluster API does. */
  controlPlaneLabels: fact(
    (cluster: string): Labels => ({ 'cluster.x-k8s.io/cluster-name': cluster }),
    'kubernetes-sigs/cluster-api@v1.12.2 internal/controllers/cluster/cluster_controller_phases.go:127',
    'kubernetes-sigs/cluster-api@v1.13.2 internal/controllers/cluster/cluster_controller_phases.go:134',
  ),
  strategy: fact(
    { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } },
    'aws/eks-anywhere@v0.25.3 pkg/providers/vsphere/config/template-cp.yaml:617-621',
    'aws/eks-anywhere@v0.26.1 pkg/providers/vsphere/config/template-cp.yaml:620-624',
  ),
  /** Then it counts up. */
  firstTemplate: fact(
    (cluster: string) => `${cluster}-control-plane-1`,
    'aws/eks-anywhere@v0.25.3 pkg/clusterapi/name.go:101-103',
    'aws/eks-anywhere@v0.26.1 pkg/clusterapi/name.go:101-103',
  ),
  /** The name of a Machine is that of its KubeadmControlPlane and five random letters and digits; tests number them. */
  controlPlaneMachine: fact(
    {
      labels: (cluster: string): Labels => ({
        'cluster.x-k8s.io/cluster-name': cluster,
        'cluster.x-k8s.io/control-plane': '',
        'cluster.x-k8s.io/control-plane-name': cluster,
      }),
      annotations: { 'pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup': '' },
    },
    'kubernetes-sigs/cluster-api@v1.12.2 controlplane/kubeadm/internal/desiredstate/desired_state.go:134-148',
    'kubernetes-sigs/cluster-api@v1.12.2 controlplane/kubeadm/internal/desiredstate/desired_state.go:327-341',
    'kubernetes-sigs/cluster-api@v1.13.2 controlplane/kubeadm/internal/desiredstate/desired_state.go:135-149',
    'kubernetes-sigs/cluster-api@v1.13.2 controlplane/kubeadm/internal/desiredstate/desired_state.go:329-343',
  ),
  /** Of a worker node group `md-0`, and the MachineSet that its MachineDeployment has now. */
  workerMachine: fact(
    {
      labels: (cluster: string): Labels => ({
        'cluster.x-k8s.io/cluster-name': cluster,
        'cluster.x-k8s.io/deployment-name': `${cluster}-md-0`,
        'cluster.x-k8s.io/set-name': `${cluster}-md-0-x7k2p`,
      }),
    },
    'aws/eks-anywhere@v0.25.3 pkg/clusterapi/name.go:96-98',
    'aws/eks-anywhere@v0.26.1 pkg/clusterapi/name.go:96-98',
    'kubernetes-sigs/cluster-api@v1.12.2 internal/controllers/machineset/machineset_controller.go:1200-1206',
    'kubernetes-sigs/cluster-api@v1.13.2 internal/controllers/machineset/machineset_controller.go:1230-1236',
    'kubernetes-sigs/cluster-api@v1.13.2 internal/controllers/machine/machine_controller.go:460',
  ),
  /** The last label when it joined. */
  etcdMachine: fact(
    {
      labels: (cluster: string): Labels => ({
        'cluster.x-k8s.io/cluster-name': cluster,
        'cluster.x-k8s.io/etcd-cluster': `${cluster}-etcd`,
        'cluster.x-k8s.io/etcd-ready': 'true',
      }),
    },
    'aws/etcdadm-controller@v1.0.27 controllers/helpers.go:59-64',
    'aws/etcdadm-controller@v1.0.28 controllers/helpers.go:59-64',
    'aws/etcdadm-controller@v1.0.28 controllers/helpers.go:145-160',
    'aws/etcdadm-controller@v1.0.28 controllers/machines.go:18-58',
    'aws/eks-anywhere-build-tooling@bace3fb89 projects/kubernetes-sigs/cluster-api/patches/0003-Add-unstacked-etcd-support.patch:344',
    'aws/eks-anywhere-build-tooling@deb63a86c projects/kubernetes-sigs/cluster-api/patches/0002-Add-unstacked-etcd-support.patch:297',
  ),
  /** In this order of types: etcd is where the first of them says. */
  etcdEndpoint: fact(
    ['ExternalDNS', 'ExternalIP', 'InternalDNS', 'InternalIP'] as const,
    'aws/etcdadm-controller@v1.0.27 controllers/helpers.go:175-204',
    'aws/etcdadm-controller@v1.0.28 controllers/helpers.go:175-204',
  ),
  secret: fact(
    (cluster: string) => ({
      type: 'cluster.x-k8s.io/secret',
      labels: { 'cluster.x-k8s.io/cluster-name': cluster } satisfies Labels,
    }),
    'kubernetes-sigs/cluster-api@v1.12.2 util/secret/certificates.go:371-392',
    'kubernetes-sigs/cluster-api@v1.13.2 util/secret/certificates.go:371-392',
    'kubernetes-sigs/cluster-api@v1.13.2 util/kubeconfig/kubeconfig.go:145-162',
    'aws/etcdadm-controller@v1.0.28 controllers/certs.go:107-122',
  ),
  /** Called as their cluster and this, the last with AWS IAM alone. */
  secrets: fact(
    {
      stacked: ['kubeconfig', 'ca', 'etcd', 'sa', 'proxy'],
      external: ['managed-etcd', 'apiserver-etcd-client'],
      awsIam: ['aws-iam-authenticator-ca'],
    },
    'kubernetes-sigs/cluster-api@v1.12.2 util/secret/consts.go:34-50',
    'kubernetes-sigs/cluster-api@v1.13.2 util/secret/consts.go:36-52',
    'aws/etcdadm-controller@v1.0.28 controllers/certs.go:80-122',
    'aws/eks-anywhere@v0.25.3 pkg/awsiamauth/name.go:6',
    'aws/eks-anywhere@v0.26.1 pkg/awsiamauth/name.go:6',
    'aws/eks-anywhere-build-tooling@bace3fb89 projects/kubernetes-sigs/cluster-api/patches/0003-Add-unstacked-etcd-support.patch:1916',
    'aws/eks-anywhere-build-tooling@deb63a86c projects/kubernetes-sigs/cluster-api/patches/0002-Add-unstacked-etcd-support.patch:1752',
  ),
  /** Cluster API finds the Node by its provider id, and writes the name that it has. */
  nodeRef: fact(
    (node: string) => ({ name: node }),
    'kubernetes-sigs/cluster-api@v1.12.2 internal/controllers/machine/machine_controller_noderef.go:97-114',
    'kubernetes-sigs/cluster-api@v1.13.2 internal/controllers/machine/machine_controller_noderef.go:97-114',
  ),
  healthCheck: fact(
    (cluster: string) => `${cluster}-kcp-unhealthy`,
    'aws/eks-anywhere@v0.25.3 pkg/clusterapi/name.go:115-117',
    'aws/eks-anywhere@v0.26.1 pkg/clusterapi/name.go:115-117',
    'aws/eks-anywhere@v0.26.1 pkg/clusterapi/machine_health_check.go:55-97',
  ),
  /** The addresses that `clusterCertificateInfo` is made from: a machine without one is never in it. */
  scanned: fact(
    'ExternalIP' satisfies Address['type'],
    'aws/eks-anywhere@v0.25.3 pkg/certificates/scanner.go:88-94',
    'aws/eks-anywhere@v0.26.1 pkg/certificates/scanner.go:88-94',
    'aws/eks-anywhere@v0.26.1 pkg/certificates/scanner.go:116-122',
  ),
  /** Hostname, InternalDNS and ExternalDNS are DNS names, InternalIP and ExternalIP addresses; each once. */
  servingNames: fact((addresses: readonly Address[]) => {
    const of = (ip: boolean) =>
      [...new Set(addresses.filter(({ type }) => type.endsWith('IP') === ip).map(({ address }) => address))].toSorted();
    return { dnsNames: of(false), addresses: of(true) };
  }, 'kubernetes/kubernetes@v1.36.3 pkg/kubelet/certificate/kubelet.go:158-194'),
} as const;

/** What a kubelet says of its Node where no cloud controller does. */
const BY_KUBELET = [
  (node: string, address: string): readonly Address[] => [
    { type: 'InternalIP', address },
    { type: 'Hostname', address: node },
  ],
  'kubernetes/kubernetes@v1.36.3 pkg/kubelet/nodestatus/setters.go:184-188',
] as const;

const NAMED_AS_MACHINE = ({ name }: Born): string => name;
const ONE_LABEL = ({ name }: { readonly name: string }): Labels => ({ 'cluster.x-k8s.io/cluster-name': name });

/** Since Cluster API 1.13 a machine without it is not ready. */
const MACHINE_LABELS = { '0.25': {}, '0.26': { 'node-role.kubernetes.io/control-plane': '' } } as const;
const KUBELET_CONFIGURATION = 'docs/content/en/docs/getting-started/optional/kubeletconfig.md:14-20';

function vSphere(minor: Minor): Provider {
  const {
    eksAnywhere: tag,
    vSphere: { value: capv },
  } = RELEASES[minor];
  const template = `aws/eks-anywhere@${tag} pkg/providers/vsphere/config/template-cp.yaml` as const;
  const newer = minor === '0.26';
  return {
    title: 'vSphere',
    minor,
    datacenter: fact(
      'VSphereDatacenterConfig',
      `aws/eks-anywhere@${tag} pkg/api/v1alpha1/vspheredatacenterconfig.go:13`,
    ),
    infrastructure: fact({ kinds: 'VSphere', version: 'v1beta1' }, `${template}:19-46`),
    clusterLabels: fact(ONE_LABEL, `${template}:2-8`),
    machineLabels: fact(MACHINE_LABELS[minor], newer ? `${template}:84-87` : `${template}:84-89`),
    addresses: fact(
      ({ name, address }) => [
        { type: 'ExternalIP', address },
        { type: 'InternalDNS', address: name },
      ],
      newer
        ? `kubernetes-sigs/cluster-api-provider-vsphere@${capv} pkg/services/vimmachine.go:308-320`
        : `kubernetes-sigs/cluster-api-provider-vsphere@${capv} pkg/services/vimmachine.go:300-312`,
    ),
    node: fact(
      NAMED_AS_MACHINE,
      newer
        ? `kubernetes-sigs/cluster-api-provider-vsphere@${capv} pkg/util/machines.go:147`
        : `kubernetes-sigs/cluster-api-provider-vsphere@${capv} pkg/util/machines.go:160`,
      newer
        ? `kubernetes-sigs/cluster-api-provider-vsphere@${capv} pkg/services/vimmachine.go:219`
        : `kubernetes-sigs/cluster-api-provider-vsphere@${capv} pkg/services/vimmachine.go:211`,
      newer ? `${template}:490` : `${template}:487`,
    ),
    // The hostname is that of VMware Tools. Of one network, the first address is the internal and the external one.
    nodeAddresses: fact(
      (node, address) => [
        { type: 'Hostname', address: node },
        { type: 'InternalIP', address },
        { type: 'ExternalIP', address },
      ],
      'kubernetes/cloud-provider-vsphere@v1.35.1 pkg/cloudprovider/vsphere/nodemanager.go:275-347',
      newer ? `${template}:475-477` : `${template}:472-474`,
    ),
    externalEtcd: fact(true, newer ? `${template}:24-27` : `${template}:23-28`),
    kubeletConfiguration: fact(true, `aws/eks-anywhere@${tag} ${KUBELET_CONFIGURATION}`),
  };
}

function bareMetal(minor: Minor): Provider {
  const {
    eksAnywhere: tag,
    tinkerbell: { value: capt },
  } = RELEASES[minor];
  const template = `aws/eks-anywhere@${tag} pkg/providers/tinkerbell/config/template-cp.yaml` as const;
  return {
    title: 'bare metal',
    minor,
    datacenter: fact(
      'TinkerbellDatacenterConfig',
      `aws/eks-anywhere@${tag} pkg/api/v1alpha1/tinkerbelldatacenterconfig.go:13`,
    ),
    infrastructure: fact(
      { kinds: 'Tinkerbell', version: 'v1beta1' },
      minor === '0.26' ? `${template}:590-591` : `${template}:585-586`,
    ),
    clusterLabels: fact(ONE_LABEL, `${template}:2-8`),
    machineLabels: fact(MACHINE_LABELS[minor], `${template}:501-504`),
    addresses: fact(
      ({ address }) => [{ type: 'InternalIP', address }],
      `tinkerbell/cluster-api-provider-tinkerbell@${capt} controller/machine/scope.go:187-192`,
      `tinkerbell/cluster-api-provider-tinkerbell@${capt} controller/machine/hardware.go:52-74`,
    ),
    // The hostname of the Hardware, which whoever listed the machines chose: by way of its metadata and of cloud-init.
    node: fact(
      ({ address }) => `rack-${address.replaceAll('.', '-')}`,
      `aws/eks-anywhere@${tag} pkg/providers/tinkerbell/hardware/catalogue_hardware.go:170-173`,
      'tinkerbell/tinkerbell@58b84f7d3 pkg/backend/kube/tootles.go:78-79',
      `aws/eks-anywhere@${tag} pkg/api/v1alpha1/tinkerbelltemplateconfig_defaults.go:13-15`,
    ),
    nodeAddresses: fact(...BY_KUBELET, `${template}:185-188`),
    externalEtcd: fact(false, `aws/eks-anywhere@${tag} pkg/api/v1alpha1/cluster.go:439-446`),
    kubeletConfiguration: fact(true, `aws/eks-anywhere@${tag} ${KUBELET_CONFIGURATION}`),
  };
}

function nutanix(minor: Minor): Provider {
  const {
    eksAnywhere: tag,
    nutanix: { value: capx },
  } = RELEASES[minor];
  const template = `aws/eks-anywhere@${tag} pkg/providers/nutanix/config/cp-template.yaml` as const;
  const newer = minor === '0.26';
  return {
    title: 'Nutanix',
    minor,
    datacenter: fact(
      'NutanixDatacenterConfig',
      `aws/eks-anywhere@${tag} pkg/api/v1alpha1/nutanixdatacenterconfig.go:9`,
    ),
    infrastructure: fact({ kinds: 'Nutanix', version: 'v1beta1' }, `${template}:2-3`),
    clusterLabels: fact(ONE_LABEL, `${template}:63-69`),
    machineLabels: fact(MACHINE_LABELS[minor], `${template}:100-104`),
    addresses: fact(
      ({ name, address }) => [
        { type: 'InternalIP', address },
        { type: 'Hostname', address: name },
      ],
      newer
        ? `nutanix-cloud-native/cluster-api-provider-nutanix@${capx} controllers/nutanixmachine_controller.go:1014-1039`
        : `nutanix-cloud-native/cluster-api-provider-nutanix@${capx} controllers/nutanixmachine_controller.go:1015-1040`,
    ),
    node: fact(
      NAMED_AS_MACHINE,
      newer
        ? `nutanix-cloud-native/cluster-api-provider-nutanix@${capx} controllers/nutanixmachine_controller.go:838`
        : `nutanix-cloud-native/cluster-api-provider-nutanix@${capx} controllers/nutanixmachine_controller.go:839`,
      newer ? `${template}:482` : `${template}:479`,
    ),
    nodeAddresses: fact(
      (node, address) => [
        { type: 'InternalIP', address },
        { type: 'Hostname', address: node },
      ],
      newer
        ? 'nutanix-cloud-native/cloud-provider-nutanix@v0.6.1 pkg/provider/manager.go:385-411'
        : 'nutanix-cloud-native/cloud-provider-nutanix@v0.5.7 pkg/provider/manager.go:344-381',
      newer ? `${template}:411` : `${template}:408`,
    ),
    externalEtcd: fact(true, `${template}:85-90`),
    kubeletConfiguration: fact(true, `aws/eks-anywhere@${tag} ${KUBELET_CONFIGURATION}`),
  };
}

function docker(minor: Minor): Provider {
  const {
    eksAnywhere: tag,
    clusterApi: { value: capi },
  } = RELEASES[minor];
  const template = `aws/eks-anywhere@${tag} pkg/providers/docker/config/template-cp.yaml` as const;
  const newer = minor === '0.26';
  return {
    title: 'Docker',
    minor,
    datacenter: fact('DockerDatacenterConfig', `aws/eks-anywhere@${tag} pkg/api/v1alpha1/dockerdatacenterconfig.go:7`),
    infrastructure: fact({ kinds: 'Docker', version: 'v1beta2' }, `${template}:28-39`),
    clusterLabels: fact(() => undefined, `${template}:1-6`),
    machineLabels: fact(MACHINE_LABELS[minor], `${template}:57-61`),
    addresses: fact(
      ({ name, address }) => [
        { type: 'Hostname', address: name },
        { type: 'InternalIP', address },
        { type: 'ExternalIP', address },
      ],
      newer
        ? `kubernetes-sigs/cluster-api@${capi} test/infrastructure/docker/internal/controllers/backends/docker/dockermachine_backend.go:598-621`
        : `kubernetes-sigs/cluster-api@${capi} test/infrastructure/docker/internal/controllers/backends/docker/dockermachine_backend.go:577-600`,
    ),
    node: fact(
      NAMED_AS_MACHINE,
      newer
        ? `kubernetes-sigs/cluster-api@${capi} test/infrastructure/container/docker.go:404`
        : `kubernetes-sigs/cluster-api@${capi} test/infrastructure/container/docker.go:378`,
      `kubernetes-sigs/cluster-api@${capi} test/infrastructure/docker/internal/docker/util.go:47-53`,
    ),
    nodeAddresses: fact(...BY_KUBELET, newer ? `${template}:275-277` : `${template}:272-274`),
    externalEtcd: fact(true, `${template}:21-26`),
    kubeletConfiguration: fact(false, `aws/eks-anywhere@${tag} ${KUBELET_CONFIGURATION}`),
  };
}

/** EKS Anywhere 0.26 has no controller for it. Source: aws/eks-anywhere@v0.26.1 docs/content/en/docs/whatsnew/changelog.md:49. */
const CLOUDSTACK: Provider = {
  title: 'CloudStack',
  minor: '0.25',
  datacenter: fact(
    'CloudStackDatacenterConfig',
    'aws/eks-anywhere@v0.25.3 pkg/api/v1alpha1/cloudstackdatacenterconfig.go:10',
  ),
  infrastructure: fact(
    { kinds: 'CloudStack', version: 'v1beta3' },
    'aws/eks-anywhere@v0.25.3 pkg/providers/cloudstack/config/template-cp.yaml:33-34',
  ),
  clusterLabels: fact(ONE_LABEL, 'aws/eks-anywhere@v0.25.3 pkg/providers/cloudstack/config/template-cp.yaml:2-8'),
  machineLabels: fact({}, 'aws/eks-anywhere@v0.25.3 pkg/providers/cloudstack/config/template-cp.yaml:63-68'),
  addresses: fact(
    ({ address }) => [{ type: 'InternalIP', address }],
    'kubernetes-sigs/cluster-api-provider-cloudstack@v0.6.1 pkg/cloud/instance.go:48-56',
  ),
  node: unproven(
    'the name of a Node on CloudStack: it is the hostname in the metadata of its instance, and where CloudStack takes that from was not found',
  ),
  nodeAddresses: fact(
    ...BY_KUBELET,
    'aws/eks-anywhere@v0.25.3 pkg/providers/cloudstack/config/template-cp.yaml:362-366',
  ),
  externalEtcd: fact(true, 'aws/eks-anywhere@v0.25.3 pkg/providers/cloudstack/config/template-cp.yaml:26-31'),
  kubeletConfiguration: fact(true, `aws/eks-anywhere@v0.25.3 ${KUBELET_CONFIGURATION}`),
};

/** Closed to new customers. Source: aws/eks-anywhere@v0.26.1 docs/content/en/docs/whatsnew/changelog.md:50. The source of its controller cannot be had. */
const SNOW: Provider = {
  title: 'Snow',
  minor: '0.26',
  datacenter: fact('SnowDatacenterConfig', 'aws/eks-anywhere@v0.26.1 pkg/api/v1alpha1/snowdatacenterconfig.go:7'),
  infrastructure: fact(
    { kinds: 'AWSSnow', version: 'v1beta1' },
    'aws/eks-anywhere@v0.26.1 pkg/providers/snow/apibuilder.go:24-28',
    'aws/eks-anywhere@v0.26.1 pkg/clusterapi/apibuilder.go:46-48',
  ),
  clusterLabels: fact(
    ({ name, namespace }) => ({
      'cluster.x-k8s.io/cluster-name': name,
      'cluster.anywhere.eks.amazonaws.com/cluster-name': name,
      'cluster.anywhere.eks.amazonaws.com/cluster-namespace': namespace,
    }),
    'aws/eks-anywhere@v0.26.1 pkg/clusterapi/apibuilder.go:50-65',
    'aws/eks-anywhere@v0.26.1 pkg/providers/snow/apibuilder.go:35-37',
  ),
  machineLabels: fact(
    MACHINE_LABELS['0.26'],
    'aws/eks-anywhere@v0.26.1 pkg/clusterapi/apibuilder.go:144-147',
    'aws/eks-anywhere@v0.26.1 pkg/clusterapi/workers.go:195-203',
  ),
  addresses: unproven('the addresses of a Machine on Snow'),
  node: unproven('the name of a Node on Snow'),
  nodeAddresses: unproven('the addresses of a Node on Snow'),
  externalEtcd: fact(true, 'aws/eks-anywhere@v0.26.1 pkg/providers/snow/controlplane.go:62-63'),
  kubeletConfiguration: fact(false, `aws/eks-anywhere@v0.26.1 ${KUBELET_CONFIGURATION}`),
};

export const PROVIDERS = {
  'vSphere, 0.25': vSphere('0.25'),
  'vSphere, 0.26': vSphere('0.26'),
  'bare metal, 0.25': bareMetal('0.25'),
  'bare metal, 0.26': bareMetal('0.26'),
  'Nutanix, 0.25': nutanix('0.25'),
  'Nutanix, 0.26': nutanix('0.26'),
  'Docker, 0.25': docker('0.25'),
  'Docker, 0.26': docker('0.26'),
  'CloudStack, 0.25': CLOUDSTACK,
  'Snow, 0.26': SNOW,
} as const satisfies Record<string, Provider>;

/** What docs/works-with.md says of a minor version that has no row. */
export const WITHOUT_ROW = {
  'CloudStack, 0.26': fact('removed', 'aws/eks-anywhere@v0.26.1 docs/content/en/docs/whatsnew/changelog.md:49'),
  // It has it, and nothing here is held to it.
  'Snow, 0.25': fact('not tested', 'aws/eks-anywhere@v0.25.3 docs/content/en/docs/getting-started/snow/snow-spec.md:1'),
} as const satisfies Record<string, Fact<string>>;

/** For tests over all rows. */
export const ROWS: readonly { readonly row: string; readonly provider: Provider }[] = Object.entries(PROVIDERS).map(
  ([row, provider]) => ({ row, provider }),
);
