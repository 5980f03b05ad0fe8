import { CLUSTER_API_SECRETS } from '../../lambdas/kubernetes/cluster-api-secret.ts';
import { LISTED_KINDS, type ListedKind, type ListPurpose } from '../../lambdas/kubernetes/list.ts';
import { UsageError } from '../exit-codes.ts';

export interface AuditRbacOptions {
  /** What an audit reads without further options. @default true */
  readonly audit?: boolean;
  /** Secrets of type kubernetes.io/tls; on a management cluster those of {@link clusterSecretsOf}. */
  readonly auditSecrets?: boolean;
  /** `NAMESPACE/CLUSTER` of workload clusters whose Secrets of Cluster API are read from this management cluster. */
  readonly clusterSecretsOf?: readonly string[];
  /** Metrics of every kubelet through the API server. */
  readonly kubeletMetrics?: boolean;
}

/** A rule of a Role or ClusterRole. */
export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** These purposes also get objects by name. */
const GET_TOO: ReadonlySet<ListPurpose> = new Set(['evidence', 'management', 'rollouts']);

/** The rules for lists with these purposes: one per API group and set of verbs. */
export function listRules(...purposes: readonly ListPurpose[]): readonly Rule[] {
  const rights = Object.entries<ListedKind>(LISTED_KINDS).flatMap(([id, { api, plural = id, for: all }]) => {
    const wanted = all.filter((purpose) => purposes.includes(purpose));
    if (wanted.length === 0) return [];
    const group = typeof api === 'string' ? (/^apis\/(?<group>[^/]+)/.exec(api)?.groups?.['group'] ?? '') : api.served;
    return [{ group, plural, get: wanted.some((purpose) => GET_TOO.has(purpose)) }];
  });
  return [...Map.groupBy(rights, ({ group, get }) => `${group} ${get}`).values()].map((same) => ({
    apiGroups: same.slice(0, 1).map(({ group }) => group),
    resources: same.map(({ plural }) => plural),
    verbs: same[0]?.get === true ? ['get', 'list'] : ['list'],
  }));
}

/** ConfigMaps that publish the CAs of a cluster, by namespace. */
export const TRUST_CONFIGMAPS: ReadonlyMap<string, readonly string[]> = new Map([
  ['kube-system', ['kube-root-ca.crt', 'extension-apiserver-authentication']],
  ['kube-public', ['cluster-info']],
]);

/** RBAC cannot select Secrets by type, and a list includes their contents. */
export const TLS_SECRETS_COMMENT = `Reads every Secret of the cluster, private keys and tokens among them: RBAC cannot grant only those of type
kubernetes.io/tls. certmarshal asks for that type alone, and keeps nothing but the certificates.`;

export const KUBELET_METRICS_RULE: Rule = { apiGroups: [''], resources: ['nodes/proxy'], verbs: ['get'] };
export const KUBELET_METRICS_COMMENT = `This right is strong: anyone who has it reaches the whole API of every kubelet, and can run commands in every Pod.
certmarshal reads /metrics with it and nothing else.`;

export const CLUSTER_SECRETS_COMMENT = `Most of these Secrets hold a private key beside the certificate, and RBAC cannot grant one key of a Secret:
anyone with this can become an administrator of the clusters. certmarshal keeps nothing but the certificates.`;

/** Secrets of Cluster API and EKS Anywhere for a workload cluster, each with a certificate. */
export function clusterSecretNames(cluster: string): readonly string[] {
  return Object.keys(CLUSTER_API_SECRETS).map((suffix) => `${cluster}-${suffix}`);
}

/** @throws UsageError for incompatible options */
export function requireAuditOptions(
  management: boolean,
  { audit = true, auditSecrets = false, clusterSecretsOf = [], kubeletMetrics = false }: AuditRbacOptions,
): void {
  if (!audit && (auditSecrets || kubeletMetrics || clusterSecretsOf.length > 0))
    throw new UsageError('--no-audit excludes --audit-secrets, --cluster-secrets-of and --kubelet-metrics.');
  if (clusterSecretsOf.length > 0 && !management)
    throw new UsageError('--cluster-secrets-of is about a management cluster: give --management too.');
  if (management && auditSecrets && clusterSecretsOf.length === 0)
    throw new UsageError(
      'With --management, --audit-secrets takes the clusters whose Secrets are read, each by --cluster-secrets-of NAMESPACE/CLUSTER.',
    );
  if (management && !auditSecrets && clusterSecretsOf.length > 0)
    throw new UsageError('--cluster-secrets-of reads private keys: say so with --audit-secrets.');
  if (management && kubeletMetrics)
    throw new UsageError('--kubelet-metrics is about the cluster that has the Nodes: leave out --management.');
}
