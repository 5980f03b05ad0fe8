import type { KubernetesClient } from './client.ts';
import { type ClusterApiGroup, clusterApiPath, clusterSelector, requireClusterName } from './cluster-api.ts';
import { KubernetesError } from './errors.ts';
import { MANAGEMENT, type Right, ROLLOUTS } from './missing-right.ts';
import { namespacePath } from './namespace-path.ts';
import { listPages } from './paging.ts';
import { explainNotFound } from './served-versions.ts';

/**
 * Why a kind is listed, and for what `certmarshal rbac` grants it. `evidence` is that of a policy that trusts Nodes.
 */
export type ListPurpose =
  | 'approval'
  | 'audit'
  | 'audit-secrets'
  | 'evidence'
  | 'management'
  | 'management-audit'
  | 'rollouts'
  | 'rollout-etcd'
  | 'recovery'
  | 'recovery-leases';

/** By the first purpose of a kind. */
const RIGHTS: Readonly<Partial<Record<ListPurpose, Right>>> = {
  'audit-secrets': { options: ' --audit-secrets' },
  management: MANAGEMENT,
  'management-audit': MANAGEMENT,
  rollouts: ROLLOUTS,
  'rollout-etcd': ROLLOUTS,
  'recovery-leases': { own: ' --recovery' },
};

export interface ListedKind {
  readonly for: readonly [ListPurpose, ...ListPurpose[]];
  /** Group and version as in the API path; `served`: the version of Cluster API that the server has. */
  readonly api: string | { readonly served: ClusterApiGroup };
  /** @default the key of its row */
  readonly plural?: string;
  /** For people, if another kind has the same plural. @default the plural */
  readonly called?: string;
  /** How the objects of one cluster are found: by the label of Cluster API, or by name. */
  readonly ofCluster?: 'label' | ((cluster: string) => string);
  /** A further required label. */
  readonly label?: string;
  /** A required field value. */
  readonly field?: string;
  /** Items a page, for large objects. @default 500 */
  readonly aPage?: number;
}

const SAME_NAME = (cluster: string): string => cluster;
const CLUSTER_API = { served: 'cluster.x-k8s.io' } as const;
/** The only existing version. */
const EKS_ANYWHERE = 'apis/anywhere.eks.amazonaws.com/v1alpha1';
/** They have certificates that new machines trust. */
const OF_MACHINES = { for: ['management-audit', 'rollouts'], api: EKS_ANYWHERE } as const;
const WEBHOOKS = 'apis/admissionregistration.k8s.io/v1';

/** Every kind that is only listed, in the order of the rules that grant it. */
export const LISTED_KINDS = {
  /** Since Kubernetes 1.33. */
  servicecidrs: { for: ['approval'], api: 'apis/networking.k8s.io/v1' },
  // A Node lists up to 50 images with all their names: 20 to 30 KB each are common.
  nodes: { for: ['audit', 'evidence', 'recovery'], api: 'api/v1', aPage: 200 },
  pods: { for: ['rollout-etcd'], api: 'api/v1' },
  /** Shows whether a Node renews its Lease: then its certificate is valid. */
  leases: { for: ['recovery-leases'], api: 'apis/coordination.k8s.io/v1' },
  // A certificate with its chain and key takes 4 to 10 KB. Source: core/v1, SecretTypeTLS.
  tlsSecrets: {
    for: ['audit-secrets'],
    api: 'api/v1',
    plural: 'secrets',
    field: 'type=kubernetes.io/tls',
    aPage: 250,
  },
  mutatingwebhookconfigurations: { for: ['audit'], api: WEBHOOKS },
  validatingwebhookconfigurations: { for: ['audit'], api: WEBHOOKS },
  apiservices: { for: ['audit'], api: 'apis/apiregistration.k8s.io/v1' },
  // Schemas make 20 to 100 KB common, and a few hundred are.
  customresourcedefinitions: { for: ['audit'], api: 'apis/apiextensions.k8s.io/v1', aPage: 50 },
  /** Of cert-manager. */
  certificates: { for: ['audit'], api: 'apis/cert-manager.io/v1' },
  clusters: { for: ['management', 'rollouts'], api: CLUSTER_API, ofCluster: SAME_NAME },
  machines: { for: ['management', 'rollouts'], api: CLUSTER_API, ofCluster: 'label' },
  machinehealthchecks: { for: ['rollouts'], api: CLUSTER_API },
  // Those of workers say nothing about certificates, and may carry many KiB of files. The control plane provider labels
  // a KubeadmConfig like its Machine. Source: Cluster API, `ControlPlaneMachineLabels`.
  kubeadmconfigs: {
    for: ['management-audit'],
    api: { served: 'bootstrap.cluster.x-k8s.io' },
    ofCluster: 'label',
    label: 'cluster.x-k8s.io/control-plane',
  },
  // With a ClusterClass its name is generated; the Cluster controller sets the label.
  kubeadmcontrolplanes: {
    for: ['management-audit', 'rollouts'],
    api: { served: 'controlplane.cluster.x-k8s.io' },
    ofCluster: 'label',
  },
  // Source: etcdadm-controller, api/v1beta1; EKS Anywhere, `EtcdClusterName`.
  etcdadmclusters: {
    for: ['management-audit', 'rollouts'],
    api: 'apis/etcdcluster.cluster.x-k8s.io/v1beta1',
    ofCluster: (cluster) => `${cluster}-etcd`,
  },
  // Each is in a namespace chosen by its user, while its Cluster API objects are in eksa-system: `ownersCluster`
  // decides which one counts.
  eksAnywhereClusters: {
    for: ['management-audit', 'rollouts'],
    api: EKS_ANYWHERE,
    plural: 'clusters',
    called: 'clusters.anywhere.eks.amazonaws.com',
    ofCluster: SAME_NAME,
  },
  vspheredatacenterconfigs: OF_MACHINES,
  nutanixdatacenterconfigs: OF_MACHINES,
  vspheremachineconfigs: OF_MACHINES,
  tinkerbellmachineconfigs: OF_MACHINES,
  snowmachineconfigs: OF_MACHINES,
  // `spec.controlPlane` names the KubeadmControlPlane of each. Source: EKS Anywhere, pkg/api/v1alpha1, `ControlPlaneUpgradeSpec`.
  controlplaneupgrades: {
    for: ['rollouts'],
    api: EKS_ANYWHERE,
    called: 'controlplaneupgrades.anywhere.eks.amazonaws.com',
  },
} as const satisfies Record<string, ListedKind>;

export type ListedKindId = keyof typeof LISTED_KINDS;

export interface Selection {
  /** @default all of them */
  readonly namespace?: string | undefined;
  /** Name of their cluster. @default all */
  readonly clusterName?: string | undefined;
  /** Name of the only one. */
  readonly name?: string;
  /** Further labels. */
  readonly labels?: string;
  readonly signal: AbortSignal;
}

/**
 * The objects of a kind, page by page.
 *
 * @throws KubernetesError; `not-found` if the server does not serve the kind, `invalid` for an impossible cluster or
 * namespace, or if EKS Anywhere is installed in other versions only
 */
export async function* listKind(
  client: KubernetesClient,
  id: ListedKindId,
  { namespace, clusterName, name, labels, signal }: Selection,
): AsyncGenerator<readonly unknown[]> {
  const kind: ListedKind = LISTED_KINDS[id];
  const { plural = id, called = plural, aPage } = kind;
  const object = `list ${called} on ${client.server}`;
  const within = namespace === undefined ? '' : `${namespacePath(namespace, object)}/`;
  const selected = clusterName === undefined ? {} : selectorsOf(kind, called, clusterName, object);
  const labelSelector = [selected.labelSelector, kind.label, labels].filter((one) => one !== undefined).join(',');
  const api = typeof kind.api === 'string' ? `/${kind.api}` : await clusterApiPath(client, signal, kind.api.served);
  try {
    yield* listPages(client, {
      path: `${api}/${within}${plural}`,
      right: RIGHTS[kind.for[0]],
      fieldSelector: selected.fieldSelector ?? kind.field ?? (name === undefined ? undefined : `metadata.name=${name}`),
      labelSelector: labelSelector === '' ? undefined : labelSelector,
      limit: aPage,
      signal,
    });
  } catch (error) {
    const gone = kind.api === EKS_ANYWHERE && error instanceof KubernetesError && error.kind === 'not-found';
    throw gone ? await explainNotFound(error, { client, api: EKS_ANYWHERE, object, signal }) : error;
  }
}

function selectorsOf(
  { ofCluster }: ListedKind,
  called: string,
  cluster: string,
  object: string,
): { readonly fieldSelector?: string; readonly labelSelector?: string } {
  if (ofCluster === undefined) throw new RangeError(`${called} are not found by the name of a cluster`);
  if (ofCluster === 'label') return { labelSelector: clusterSelector(cluster, object) };
  requireClusterName(cluster, object, called === 'clusters.anywhere.eks.amazonaws.com' ? called : undefined);
  return { fieldSelector: `metadata.name=${ofCluster(cluster)}` };
}
