import type { V1Secret } from '@kubernetes/client-node';
import { raw, text } from '../resources/fields.ts';
import type { KubernetesClient } from './client.ts';
import { CLUSTER_NAME } from './cluster-api.ts';
import { KubernetesError } from './errors.ts';
import { KubeconfigError, SECRET_LIMITS, selectContext } from './kubeconfig-document.ts';
import { kubeconfigRight } from './missing-right.ts';
import { namespacePath } from './namespace-path.ts';

/**
 * Secrets that Cluster API, etcdadm and EKS Anywhere store for a workload cluster: the suffix of the name, and the key
 * of the certificate.
 *
 * Source: Cluster API, util/secret (`Purpose`); EKS Anywhere, pkg/awsiamauth.
 */
export const CLUSTER_API_SECRETS = {
  ca: 'tls.crt',
  proxy: 'tls.crt',
  etcd: 'tls.crt',
  'apiserver-etcd-client': 'tls.crt',
  kubeconfig: 'value',
  'aws-iam-authenticator-ca': 'tls.crt',
} as const;
export type ClusterApiSecret = keyof typeof CLUSTER_API_SECRETS;

export interface ClusterApiSecretName {
  readonly namespace: string;
  readonly clusterName: string;
  readonly secret: ClusterApiSecret;
  readonly signal: AbortSignal;
}

/** etcd accepts Secrets of 1 MiB; base64 and metadata add to it. */
const MAX_SECRET_BYTES = 2 * 1024 * 1024;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * The certificates in one of the {@link CLUSTER_API_SECRETS}, as PEM text. Drops the private keys in the same answer;
 * of a kubeconfig only the client certificate of its current user is returned.
 *
 * @throws KubernetesError; `invalid` without text under the key. It contains nothing from the Secret.
 */
export async function readClusterApiCertificates(
  client: KubernetesClient,
  { namespace, clusterName, secret, signal }: ClusterApiSecretName,
): Promise<string> {
  const attempt = `get a Secret of a workload cluster on ${client.server}`;
  if (!CLUSTER_NAME.test(clusterName)) {
    throw new KubernetesError({
      kind: 'invalid',
      object: attempt,
      problem: 'no Cluster can have this name',
      remedy: 'kubectl get clusters.cluster.x-k8s.io -A lists the names.',
    });
  }
  const path = `/api/v1/${namespacePath(namespace, attempt)}/secrets/${clusterName}-${secret}`;
  const right =
    secret === 'kubeconfig'
      ? kubeconfigRight(namespace, clusterName)
      : { options: ` --management --audit-secrets --cluster-secrets-of ${namespace}/${clusterName}` };
  const answer = await client.request({ method: 'GET', path, right, signal, maxResponseBytes: MAX_SECRET_BYTES });
  const key = CLUSTER_API_SECRETS[secret];
  const value = text(raw<V1Secret>(answer), 'data', key) ?? '';
  const decoded = BASE64.test(value) ? Buffer.from(value, 'base64').toString('utf8') : '';
  const pem = secret === 'kubeconfig' ? clientCertificate(decoded) : decoded;
  if (pem !== undefined && pem !== '') return pem;
  throw new KubernetesError({
    kind: 'invalid',
    object: `Secret ${namespace}/${clusterName}-${secret} on ${client.server}`,
    problem: `it holds no certificate under the key ${key}`,
    remedy: 'Find out who wrote the Secret last: its controllers and its users find no certificate either.',
  });
}

function clientCertificate(kubeconfig: string): string | undefined {
  try {
    const data = selectContext(kubeconfig, undefined, SECRET_LIMITS).user.content['client-certificate-data'];
    const base64 = typeof data === 'string' ? data.replaceAll(/\s/g, '') : '';
    return BASE64.test(base64) ? Buffer.from(base64, 'base64').toString('utf8') : undefined;
  } catch (error) {
    // Its message could quote names from the Secret.
    if (error instanceof KubeconfigError) return undefined;
    throw error;
  }
}
