import { Buffer } from 'node:buffer';
import { stringify } from 'yaml';
import type { ApprovalPolicy } from '../../lambdas/approval/policy.ts';
import { UsageError } from '../exit-codes.ts';

export interface RbacOptions {
  readonly user?: string;
  readonly group?: string;
  readonly serviceAccount?: string;
  readonly management?: boolean;
  /** `NAMESPACE/CLUSTER` of workload clusters whose kubeconfig is read from this management cluster. */
  readonly kubeconfigOf?: readonly string[];
}

const NAME = 'certmarshal';
const MANAGEMENT_NAME = 'certmarshal-management';

/**
 * Least-privilege manifests: for a workload cluster what reading and approving kubelet serving requests takes, for a management
 * cluster what reading Clusters and Machines takes, and each `<cluster>-kubeconfig` that is named. Source: kubernetes.io "Certificate Signing Requests", authorization.
 */
export function rbacManifests(options: RbacOptions, policies: readonly ApprovalPolicy[]): string {
  const subject = subjectOf(options);
  const role = options.management === true ? MANAGEMENT_NAME : NAME;
  const rules = options.management === true ? MANAGEMENT_RULES : workloadRules(policies);
  const kubeconfigs = kubeconfigsOf(options);
  const documents = [
    ...(subject.kind === 'ServiceAccount'
      ? [{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: subject.name, namespace: subject.namespace } }]
      : []),
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: role }, rules },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: bindingName(role, subject) },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [subject],
    },
    ...[...kubeconfigs].flatMap(([namespace, clusters]) => kubeconfigManifests(namespace, clusters, subject)),
  ];
  return documents.map((document) => stringify(document)).join('---\n');
}

function workloadRules(policies: readonly ApprovalPolicy[]): object[] {
  const needsNodes = policies.some(({ evidence }) => evidence.includes('node') || evidence.includes('patterns'));
  const signers = [...new Set(policies.flatMap((policy) => policy.signers))];
  return [
    { apiGroups: ['certificates.k8s.io'], resources: ['certificatesigningrequests'], verbs: ['get', 'list'] },
    { apiGroups: ['certificates.k8s.io'], resources: ['certificatesigningrequests/approval'], verbs: ['update'] },
    { apiGroups: ['certificates.k8s.io'], resources: ['signers'], resourceNames: signers, verbs: ['approve'] },
    ...(needsNodes ? [{ apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list'] }] : []),
  ];
}

const MANAGEMENT_RULES: readonly object[] = [
  { apiGroups: ['cluster.x-k8s.io'], resources: ['clusters', 'machines'], verbs: ['get', 'list'] },
];

const KUBECONFIG_NAME = 'certmarshal-kubeconfigs';

// A namespace is a DNS label, and so is a Cluster, in which older versions of Cluster API allow dots.
const WORKLOAD_CLUSTER =
  /^(?<namespace>[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)\/(?<cluster>[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?)$/;

/** Names of workload clusters, by namespace. */
function kubeconfigsOf({ management, kubeconfigOf = [] }: RbacOptions): ReadonlyMap<string, readonly string[]> {
  if (kubeconfigOf.length > 0 && management !== true)
    throw new UsageError('--kubeconfig-of is about a management cluster: give --management too.');
  const byNamespace = new Map<string, string[]>();
  for (const name of kubeconfigOf) {
    const { namespace, cluster } = WORKLOAD_CLUSTER.exec(name)?.groups ?? {};
    if (namespace === undefined || cluster === undefined)
      throw new UsageError(`--kubeconfig-of takes NAMESPACE/CLUSTER, for example eksa-system/berlin-prod; got ${name}`);
    byNamespace.set(namespace, [...(byNamespace.get(namespace) ?? []), cluster]);
  }
  return byNamespace;
}

/** RBAC cannot allow one key of a Secret: each of these gives an administrator's key of its cluster away, so each is named. */
function kubeconfigManifests(namespace: string, clusters: readonly string[], subject: Subject): object[] {
  const resourceNames = [...new Set(clusters)].map((cluster) => `${cluster}-kubeconfig`);
  const metadata = { name: bindingName(KUBECONFIG_NAME, subject), namespace };
  return [
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata,
      rules: [{ apiGroups: [''], resources: ['secrets'], resourceNames, verbs: ['get'] }],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name },
      subjects: [subject],
    },
  ];
}

type Subject =
  | { readonly kind: 'User' | 'Group'; readonly apiGroup: 'rbac.authorization.k8s.io'; readonly name: string }
  | { readonly kind: 'ServiceAccount'; readonly name: string; readonly namespace: string };

/**
 * One binding a subject, so that applying the manifests for a second one takes nothing from the first. RBAC names are path segments: all
 * but `/` and `%` is allowed (apimachinery, ValidatePathSegmentName). What needs care in a shell or a URL becomes `=` and two hex digits
 * a byte, as in quoted-printable, so that no two subjects share a name.
 */
function bindingName(role: string, subject: Subject): string {
  if (subject.kind === 'ServiceAccount') return `${role}:sa:${subject.namespace}:${subject.name}`;
  return `${role}:${subject.kind.toLowerCase()}:${subject.name.replace(/[^\w.:@+-]/gu, escapeCharacter)}`;
}

function escapeCharacter(character: string): string {
  return [...Buffer.from(character)].map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}

// A namespace is a DNS label, a service account a DNS subdomain (RFC 1123).
const SERVICE_ACCOUNT =
  /^(?<namespace>[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)\/(?<name>(?=.{1,253}$)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)$/;

function subjectOf({ user, group, serviceAccount }: RbacOptions): Subject {
  if ([user, group, serviceAccount].filter((value) => value !== undefined).length > 1)
    throw new UsageError('--user, --group and --service-account exclude each other.');
  if (serviceAccount !== undefined) {
    const { namespace, name } = SERVICE_ACCOUNT.exec(serviceAccount)?.groups ?? {};
    if (namespace === undefined || name === undefined)
      throw new UsageError(
        `--service-account takes NAMESPACE/NAME, for example kube-system/certmarshal; got ${serviceAccount}`,
      );
    return { kind: 'ServiceAccount', name, namespace };
  }
  if (user === '' || group === '') throw new UsageError('--user and --group take a name; got an empty one.');
  if (user !== undefined) return { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user };
  return { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: group ?? 'certmarshal' };
}
