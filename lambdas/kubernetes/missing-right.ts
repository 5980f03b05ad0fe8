import { MACHINE_TEMPLATES } from './infrastructure-templates.ts';

/**
 * What grants a call. Plain `certmarshal rbac` covers requests, approval and what an audit lists; `--management` adds
 * objects of Cluster API, `--rollouts` what a rollout needs, further options Secrets and kubelet metrics, and the
 * kubeconfig of a workload cluster only if it is named.
 */
export type Right =
  /** Not granted by certmarshal: Kubernetes allows it to every authenticated user. */
  | 'discovery'
  /** Options of `certmarshal rbac`. */
  | { readonly options: string; readonly note?: string }
  /** For a rollout or a recovery: granted to certmarshal's identity in that cluster. */
  | { readonly own: string }
  | { readonly template: string; readonly group: string; readonly namespace: string };

export const MANAGEMENT: Right = { options: ' --management' };
export const ROLLOUTS: Right = { own: ' --management --rollouts' };

/** Applying the manifests again without the policy of the sweep would remove the right to read Nodes. */
const OPTIONS = '--user, --group or --service-account says to whom; give --policy FILE if you sweep with one';

/** How the right that a 403 lacks is granted. */
export function missingRight(right: Right = { options: '' }): string {
  if (right === 'discovery') return 'Bind the ClusterRole system:discovery to this user in that cluster.';
  if ('template' in right) {
    const { template, group, namespace } = right;
    if (MACHINE_TEMPLATES.includes(template)) return missingRight(ROLLOUTS);
    return `Grant it in that cluster: kubectl create role certmarshal-templates -n ${namespace} --verb=get --resource=${template}.${group}, and kubectl create rolebinding certmarshal-templates -n ${namespace} --role=certmarshal-templates --user=USER with the user that the answer names (certmarshal rbac knows only the providers of EKS Anywhere, and this is another one).`;
  }
  return 'own' in right
    ? `Grant it in that cluster: ${toWhoeverEnters(`certmarshal rbac${right.own}`)}.`
    : `Grant it in that cluster: certmarshal rbac${right.options} | kubectl apply -f - (${right.note ?? OPTIONS}).`;
}

/** The right to read the kubeconfig that Cluster API keeps of a workload cluster. */
export function kubeconfigRight(namespace: string, cluster: string): Right {
  const note = "that kubeconfig is an administrator's; a kubeconfig in a secret of your own needs no such right";
  return { options: ` --management --kubeconfig-of ${namespace}/${cluster}`, note };
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
