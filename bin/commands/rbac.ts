import { Buffer } from 'node:buffer';
import { stringify } from 'yaml';
import type { ApprovalPolicy } from '../../lambdas/approval/policy.ts';
import { NODE_LEASE_NAMESPACE } from '../../lambdas/recovery/liveness.ts';
import { ROLLOUT_LEASE } from '../../lambdas/rollout/rollout-lease.ts';
import { needsNodes } from '../../lambdas/tables/evidence-sources.ts';
import { UsageError } from '../exit-codes.ts';
import {
  type AuditRbacOptions,
  CLUSTER_SECRETS_COMMENT,
  clusterSecretNames,
  KUBELET_METRICS_COMMENT,
  KUBELET_METRICS_RULE,
  listRules,
  type Rule,
  requireAuditOptions,
  TLS_SECRETS_COMMENT,
  TRUST_CONFIGMAPS,
} from './rbac-audit.ts';
import {
  CONTROL_PLANES_COMMENT,
  controlPlaneRule,
  ETCD_CLUSTERS_COMMENT,
  ETCD_CONTROLLER_NAMESPACE,
  etcdClusterRule,
  RECOVERY_COMMENT,
  RECOVERY_RULES,
  ROLLOUT_RULES,
  type RolloutRbacOptions,
  readLeaseRule,
  requireRolloutOptions,
  writeLeaseRules,
} from './rbac-rollout.ts';

export interface RbacOptions extends AuditRbacOptions, RolloutRbacOptions {
  readonly user?: string;
  readonly group?: string;
  readonly serviceAccount?: string;
  readonly management?: boolean;
  /** `NAMESPACE/CLUSTER` of workload clusters whose kubeconfig is read from this management cluster. */
  readonly kubeconfigOf?: readonly string[];
}

const NAME = 'certmarshal';
const MANAGEMENT_NAME = 'certmarshal-management';
const RBAC_GROUP = 'rbac.authorization.k8s.io';
const RBAC_VERSION = `${RBAC_GROUP}/v1`;

/**
 * Least-privilege manifests. For a workload cluster: rights to read and approve kubelet serving requests and to audit
 * certificates. For a management cluster: rights to read Clusters, Machines and what shows when their certificates
 * expire, and each named Secret.
 *
 * Rights that expose keys have their own role: applying the manifests without it revokes nothing, deleting the role
 * does. Rights of a recovery are printed alone: to end it, delete the same manifests.
 * Source: kubernetes.io "Certificate Signing Requests", authorization.
 *
 * @throws UsageError
 */
export function rbacManifests(options: RbacOptions, policies: readonly ApprovalPolicy[]): string {
  const { management = false, audit = true, auditSecrets = false, kubeletMetrics = false } = options;
  requireAuditOptions(management, options);
  requireRolloutOptions(management, options);
  const subject = subjectOf(options);
  if (options.recovery === true) return printed(recoveryManifests(subject));
  return printed([
    ...(subject.kind === 'ServiceAccount'
      ? [{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: subject.name, namespace: subject.namespace } }]
      : []),
    ...(management
      ? clusterManifests(MANAGEMENT_NAME, managementRules(audit), subject)
      : clusterManifests(NAME, workloadRules(policies, audit), subject)),
    ...(audit && !management
      ? [...TRUST_CONFIGMAPS].flatMap(([namespace, resourceNames]) =>
          namespaceManifests(`${NAME}-audit`, namespace, subject, [
            { apiGroups: [''], resources: ['configmaps'], resourceNames, verbs: ['get'] },
          ]),
        )
      : []),
    ...(auditSecrets && !management
      ? clusterManifests(`${NAME}-audit-secrets`, listRules('audit-secrets'), subject, TLS_SECRETS_COMMENT)
      : []),
    ...(kubeletMetrics
      ? clusterManifests(`${NAME}-kubelet-metrics`, [KUBELET_METRICS_RULE], subject, KUBELET_METRICS_COMMENT)
      : []),
    ...namedSecrets(options, subject),
    ...rolloutManifests(options, subject),
  ]);
}

function printed(documents: readonly Manifest[]): string {
  return documents
    .map(({ comment, ...document }) => `${comment === undefined ? '' : commented(comment)}${stringify(document)}`)
    .join('---\n');
}

/** An object, with a comment for the user who applies it. */
type Manifest = { readonly comment?: string } & Readonly<Record<string, unknown>>;

function commented(comment: string): string {
  return comment
    .split('\n')
    .map((line) => `# ${line}\n`)
    .join('');
}

function clusterManifests(name: string, rules: readonly Rule[], subject: Subject, comment?: string): Manifest[] {
  return [
    {
      comment,
      apiVersion: RBAC_VERSION,
      kind: 'ClusterRole',
      metadata: { name },
      rules,
    },
    {
      apiVersion: RBAC_VERSION,
      kind: 'ClusterRoleBinding',
      metadata: { name: bindingName(name, subject) },
      roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name },
      subjects: [subject],
    },
  ];
}

/** A Role of this subject alone: applying it does not change the rights of other subjects. */
function namespaceManifests(
  prefix: string,
  namespace: string,
  subject: Subject,
  rules: readonly Rule[],
  comment?: string,
): Manifest[] {
  const metadata = { name: bindingName(prefix, subject), namespace };
  return [
    {
      comment,
      apiVersion: RBAC_VERSION,
      kind: 'Role',
      metadata,
      rules,
    },
    {
      apiVersion: RBAC_VERSION,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: RBAC_GROUP, kind: 'Role', name: metadata.name },
      subjects: [subject],
    },
  ];
}

function workloadRules(policies: readonly ApprovalPolicy[], audit: boolean): readonly Rule[] {
  const proves = policies.some(({ evidence }) => evidence.some(needsNodes));
  const signers = [...new Set(policies.flatMap((policy) => policy.signers))];
  return [
    { apiGroups: ['certificates.k8s.io'], resources: ['certificatesigningrequests'], verbs: ['get', 'list'] },
    { apiGroups: ['certificates.k8s.io'], resources: ['certificatesigningrequests/approval'], verbs: ['update'] },
    { apiGroups: ['certificates.k8s.io'], resources: ['signers'], resourceNames: signers, verbs: ['approve'] },
    ...listRules('approval', ...(proves ? (['evidence'] as const) : []), ...(audit ? (['audit'] as const) : [])),
  ];
}

function managementRules(audit: boolean): readonly Rule[] {
  return audit ? listRules('management', 'management-audit') : listRules('management');
}

// Namespaces and Clusters are DNS labels; older versions of Cluster API allow dots in Clusters.
const WORKLOAD_CLUSTER =
  /^(?<namespace>[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)\/(?<cluster>[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?)$/;

/** Names of workload clusters, by namespace. */
function clustersByNamespace(flag: string, names: readonly string[] = []): ReadonlyMap<string, readonly string[]> {
  const byNamespace = new Map<string, string[]>();
  for (const name of names) {
    const { namespace, cluster } = WORKLOAD_CLUSTER.exec(name)?.groups ?? {};
    if (namespace === undefined || cluster === undefined)
      throw new UsageError(`${flag} takes NAMESPACE/CLUSTER, for example eksa-system/berlin-prod; got ${name}`);
    byNamespace.set(namespace, [...new Set([...(byNamespace.get(namespace) ?? []), cluster])]);
  }
  return byNamespace;
}

/** RBAC cannot grant a single key of a Secret. Each of these Secrets exposes a key of its cluster, so each is named. */
function namedSecrets(options: RbacOptions, subject: Subject): Manifest[] {
  const { management, kubeconfigOf = [], clusterSecretsOf = [] } = options;
  if (kubeconfigOf.length > 0 && management !== true)
    throw new UsageError('--kubeconfig-of is about a management cluster: give --management too.');
  return [
    ...[...clustersByNamespace('--kubeconfig-of', kubeconfigOf)].flatMap(([namespace, clusters]) =>
      namespaceManifests(`${NAME}-kubeconfigs`, namespace, subject, [
        secretsRule(clusters.map((cluster) => `${cluster}-kubeconfig`)),
      ]),
    ),
    ...[...clustersByNamespace('--cluster-secrets-of', clusterSecretsOf)].flatMap(([namespace, clusters]) =>
      namespaceManifests(
        `${NAME}-cluster-secrets`,
        namespace,
        subject,
        [secretsRule(clusters.flatMap(clusterSecretNames))],
        CLUSTER_SECRETS_COMMENT,
      ),
    ),
  ];
}

/** Reading and each write have their own role: deleting the role revokes the grant. */
function rolloutManifests(options: RbacOptions, subject: Subject): Manifest[] {
  if (options.rollouts !== true) return [];
  const lease = ROLLOUT_LEASE;
  const rolled = [...clustersByNamespace('--rollout-of', options.rolloutOf)];
  return [
    ...clusterManifests(`${NAME}-rollouts`, ROLLOUT_RULES, subject),
    ...namespaceManifests(`${NAME}-rollouts`, lease.namespace, subject, [readLeaseRule(lease.name)]),
    ...(rolled.length > 0
      ? namespaceManifests(`${NAME}-rollout-lease`, lease.namespace, subject, writeLeaseRules(lease.name))
      : []),
    ...rolled.flatMap(([namespace, clusters]) =>
      clusters.flatMap((cluster) => clusterToRoll(namespace, cluster, options, subject)),
    ),
    ...(options.rolloutEtcd === true
      ? namespaceManifests(`${NAME}-rollouts`, ETCD_CONTROLLER_NAMESPACE, subject, listRules('rollout-etcd'))
      : []),
  ];
}

/** Roles of this cluster alone: applying those of another cluster does not change them. Cluster names have no colon. */
function clusterToRoll(
  namespace: string,
  cluster: string,
  { rolloutEtcd }: RbacOptions,
  subject: Subject,
): readonly Manifest[] {
  const role = (prefix: string, rule: Rule, comment: string) =>
    namespaceManifests(`${NAME}-${prefix}:${cluster}`, namespace, subject, [rule], comment);
  return [
    ...role('rollout-control-planes', controlPlaneRule(cluster), CONTROL_PLANES_COMMENT),
    ...(rolloutEtcd === true ? role('rollout-etcd', etcdClusterRule(cluster), ETCD_CLUSTERS_COMMENT) : []),
  ];
}

function recoveryManifests(subject: Subject): Manifest[] {
  return [
    ...clusterManifests(`${NAME}-recovery`, RECOVERY_RULES, subject, RECOVERY_COMMENT),
    ...namespaceManifests(`${NAME}-recovery`, NODE_LEASE_NAMESPACE, subject, listRules('recovery-leases')),
  ];
}

function secretsRule(resourceNames: readonly string[]): Rule {
  return { apiGroups: [''], resources: ['secrets'], resourceNames, verbs: ['get'] };
}

type Subject =
  | { readonly kind: 'User' | 'Group'; readonly apiGroup: typeof RBAC_GROUP; readonly name: string }
  | { readonly kind: 'ServiceAccount'; readonly name: string; readonly namespace: string };

/**
 * One binding per subject, so that manifests for a second subject do not change the first. RBAC names are path
 * segments: all characters except `/` and `%` are valid (apimachinery, ValidatePathSegmentName). Characters that need
 * quoting in a shell or a URL become `=` and two hex digits per byte, as in quoted-printable, so that no two subjects
 * share a name.
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
  if (user !== undefined) return { kind: 'User', apiGroup: RBAC_GROUP, name: user };
  return { kind: 'Group', apiGroup: RBAC_GROUP, name: group ?? 'certmarshal' };
}
