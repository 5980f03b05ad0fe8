import type { KubernetesClient } from './client.ts';
import { type ClusterApiGroup, clusterApiPath, clusterSelector, requireClusterName } from './cluster-api.ts';
import { namespacePath } from './namespace-path.ts';
import { listPages } from './paging.ts';

/** A kind that is listed. */
interface ListedKind {
  /** Group and version as in the path of its API; `served`: the version of Cluster API that the server has. */
  readonly api: string | { readonly served: ClusterApiGroup };
  /** @default the key of its row */
  readonly plural?: string;
  /** For people, where the plural is that of another kind too. @default the plural */
  readonly called?: string;
  /** How those of one cluster are found: by the label of Cluster API, or by the name that they have. */
  readonly ofCluster?: 'label' | ((cluster: string) => string);
  /** A further label that has to be there. */
  readonly label?: string;
  /** Items a page, where they are large. @default 500 */
  readonly aPage?: number;
}

const SAME_NAME = (cluster: string): string => cluster;
const CLUSTER_API = { served: 'cluster.x-k8s.io' } as const;
/** The only version there is. */
const EKS_ANYWHERE = 'apis/anywhere.eks.amazonaws.com/v1alpha1';
const WEBHOOKS = 'apis/admissionregistration.k8s.io/v1';

/** Every kind that is only listed. */
export const LISTED_KINDS = {
  // A Node lists up to 50 images with all their names: 20 to 30 KB each are ordinary.
  nodes: { api: 'api/v1', aPage: 200 },
  pods: { api: 'api/v1' },
  apiservices: { api: 'apis/apiregistration.k8s.io/v1' },
  mutatingwebhookconfigurations: { api: WEBHOOKS },
  validatingwebhookconfigurations: { api: WEBHOOKS },
  // Schemas make 20 to 100 KB of one ordinary, and a few hundred are.
  customresourcedefinitions: { api: 'apis/apiextensions.k8s.io/v1', aPage: 50 },
  /** Of cert-manager. */
  certificates: { api: 'apis/cert-manager.io/v1' },
  clusters: { api: CLUSTER_API, ofCluster: SAME_NAME },
  machines: { api: CLUSTER_API, ofCluster: 'label' },
  machinehealthchecks: { api: CLUSTER_API },
  // With a ClusterClass its name is made up; the Cluster controller sets the label.
  kubeadmcontrolplanes: { api: { served: 'controlplane.cluster.x-k8s.io' }, ofCluster: 'label' },
  // Those of workers say nothing of certificates, and each can carry many KiB of files. The control plane provider labels a KubeadmConfig as it labels its Machine.
  // Source: Cluster API, `ControlPlaneMachineLabels`.
  kubeadmconfigs: {
    api: { served: 'bootstrap.cluster.x-k8s.io' },
    ofCluster: 'label',
    label: 'cluster.x-k8s.io/control-plane',
  },
  // Source: etcdadm-controller, api/v1beta1; EKS Anywhere, `EtcdClusterName`.
  etcdadmclusters: { api: 'apis/etcdcluster.cluster.x-k8s.io/v1beta1', ofCluster: (cluster) => `${cluster}-etcd` },
  // Each is in a namespace that its user chose, while its objects of Cluster API are in eksa-system: `ownersCluster` says which one counts.
  eksAnywhereClusters: {
    api: EKS_ANYWHERE,
    plural: 'clusters',
    called: 'clusters.anywhere.eks.amazonaws.com',
    ofCluster: SAME_NAME,
  },
  // `spec.controlPlane` names the KubeadmControlPlane of each. Source: EKS Anywhere, pkg/api/v1alpha1, `ControlPlaneUpgradeSpec`.
  controlplaneupgrades: { api: EKS_ANYWHERE, called: 'controlplaneupgrades.anywhere.eks.amazonaws.com' },
} as const satisfies Record<string, ListedKind>;

export type ListedKindId = keyof typeof LISTED_KINDS;

export interface Selection {
  /** @default all of them */
  readonly namespace?: string | undefined;
  /** Name of the cluster that they are of. @default all of them */
  readonly clusterName?: string | undefined;
  /** Further labels. */
  readonly labels?: string;
  readonly signal: AbortSignal;
}

/**
 * The objects of a kind, page by page.
 *
 * @throws KubernetesError; `not-found` when the server does not serve the kind, `invalid` when the cluster or namespace cannot be one
 */
export async function* listKind(
  client: KubernetesClient,
  id: ListedKindId,
  { namespace, clusterName, labels, signal }: Selection,
): AsyncGenerator<readonly unknown[]> {
  const kind: ListedKind = LISTED_KINDS[id];
  const { plural = id, called = plural, aPage } = kind;
  const object = `list ${called} on ${client.server}`;
  const within = namespace === undefined ? '' : `${namespacePath(namespace, object)}/`;
  const selected = clusterName === undefined ? {} : selectorsOf(kind, called, clusterName, object);
  const labelSelector = [selected.labelSelector, kind.label, labels].filter((one) => one !== undefined).join(',');
  const api = typeof kind.api === 'string' ? `/${kind.api}` : await clusterApiPath(client, signal, kind.api.served);
  yield* listPages(client, {
    path: `${api}/${within}${plural}`,
    fieldSelector: selected.fieldSelector,
    labelSelector: labelSelector === '' ? undefined : labelSelector,
    limit: aPage,
    signal,
  });
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
