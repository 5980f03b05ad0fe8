import { MACHINE_TEMPLATES } from './infrastructure-templates.ts';

/**
 * The command that grants the right missing in a 403 on this path. Plain `certmarshal rbac` covers requests, approval
 * and what an audit lists; `--management` adds objects of Cluster API, `--rollouts` what a rollout needs, further
 * options Secrets and kubelet metrics, and the kubeconfig of a workload cluster only if it is named.
 *
 * @param path of the API, without the prefix of a server
 */
export function missingRight(path: string): string {
  // Discovery is not granted by certmarshal: Kubernetes allows it to every authenticated user.
  if (/^\/apis\/[^/]+$/.test(path)) return 'Bind the ClusterRole system:discovery to this user in that cluster.';
  const kubeconfig = KUBECONFIG_SECRET.exec(path)?.groups;
  if (kubeconfig !== undefined)
    return `Grant it in that cluster: certmarshal rbac --management --kubeconfig-of ${kubeconfig['namespace']}/${kubeconfig['cluster']} | kubectl apply -f - (that kubeconfig is an administrator's; a kubeconfig in a secret of your own needs no such right).`;
  const { group, namespace, templates } = TEMPLATE.exec(path)?.groups ?? {};
  if (templates !== undefined && !MACHINE_TEMPLATES.includes(templates))
    return `Grant it in that cluster: kubectl create role certmarshal-templates -n ${namespace} --verb=get --resource=${templates}.${group}, and kubectl create rolebinding certmarshal-templates -n ${namespace} --role=certmarshal-templates --user=USER with the user that the answer names (certmarshal rbac knows only the providers of EKS Anywhere, and this is another one).`;
  const own = ownManifestsFor(path);
  return own === undefined
    ? `Grant it in that cluster: ${manifestsFor(path)} | kubectl apply -f - (${OPTIONS}).`
    : `Grant it in that cluster: ${toWhoeverEnters(own)}.`;
}

/**
 * The rights of a rollout or a recovery, granted to certmarshal's identity in that cluster: without a subject it would
 * be the group of the sweep role, which contains no service account.
 *
 * @param manifests the command that prints them, without the subject
 */
export function toWhoeverEnters(manifests: string): string {
  return `${manifests} --service-account kube-system/certmarshal | kubectl apply -f - (the subject must be the user of certmarshal, which the answer names: this service account, or else --user or --group)`;
}

const KUBECONFIG_SECRET =
  /^\/api\/v1\/namespaces\/(?<namespace>[-a-z0-9]+)\/secrets\/(?<cluster>[-.a-z0-9]+)-kubeconfig$/;

/** Applying the manifests again without the policy of the sweep would remove the right to read Nodes. */
const OPTIONS = '--user, --group or --service-account says to whom; give --policy FILE if you sweep with one';

const CLUSTER_SECRET =
  /^\/api\/v1\/namespaces\/(?<namespace>[-a-z0-9]+)\/secrets\/(?<cluster>[-.a-z0-9]+?)-(?:ca|proxy|etcd|apiserver-etcd-client|aws-iam-authenticator-ca)$/;
/** A recovery reads those of Nodes. */
const RECOVERY_LEASES = /^\/apis\/coordination\.k8s\.io\/v1\/namespaces\/kube-node-lease\/leases$/;
/** Templates of machines. */
const TEMPLATE =
  /^\/apis\/(?<group>[-.a-z0-9]+)\/[^/]+\/namespaces\/(?<namespace>[-a-z0-9]+)\/(?<templates>[a-z0-9]+templates)\/[^/]+$/;
/** What only a rollout reads. */
const ROLLOUT_READ =
  /\/(?:leases(?:\/certmarshal-rollout)?|machinehealthchecks|controlplaneupgrades)$|^\/apis\/infrastructure\.cluster\.x-k8s\.io\//;
/** A single named one is written. */
const ROLLOUT_WRITE =
  /^\/apis\/(?:controlplane|etcdcluster)\.cluster\.x-k8s\.io\/[^/]+\/namespaces\/(?<namespace>[-a-z0-9]+)\/(?:kubeadmcontrolplanes\/(?<cluster>[-.a-z0-9]+)|etcdadmclusters\/(?<etcd>[-.a-z0-9]+)-etcd)$/;
const MANAGEMENT_GROUP = /^\/apis\/(?:(?:[a-z]+\.)?cluster\.x-k8s\.io|anywhere\.eks\.amazonaws\.com)\//;

/** For a rollout or a recovery; undefined for an audit or a sweep. */
function ownManifestsFor(path: string): string | undefined {
  const rolled = ROLLOUT_WRITE.exec(path)?.groups;
  if (rolled !== undefined)
    return `certmarshal rbac --management --rollouts --rollout-of ${rolled['namespace']}/${rolled['cluster'] ?? `${rolled['etcd']} --rollout-etcd`}`;
  if (RECOVERY_LEASES.test(path)) return 'certmarshal rbac --recovery';
  return ROLLOUT_READ.test(path) ? 'certmarshal rbac --management --rollouts' : undefined;
}

function manifestsFor(path: string): string {
  if (MANAGEMENT_GROUP.test(path)) return 'certmarshal rbac --management';
  const { namespace, cluster } = CLUSTER_SECRET.exec(path)?.groups ?? {};
  if (namespace !== undefined)
    return `certmarshal rbac --management --audit-secrets --cluster-secrets-of ${namespace}/${cluster}`;
  if (path === '/api/v1/secrets') return 'certmarshal rbac --audit-secrets';
  if (/^\/api\/v1\/nodes\/[^/]+\/proxy\//.test(path)) return 'certmarshal rbac --kubelet-metrics';
  return 'certmarshal rbac';
}
