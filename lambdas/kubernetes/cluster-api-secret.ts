import type { V1Secret } from '@kubernetes/client-node';
import { raw, text } from '../resources/fields.ts';
import type { KubernetesClient } from './client.ts';
import { requireClusterName } from './cluster-api.ts';
import { KubernetesError } from './errors.ts';
import { KubeconfigError, selectContext } from './kubeconfig-document.ts';
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

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * The text in one of the {@link CLUSTER_API_SECRETS}. Drops the private keys in the same answer; a kubeconfig has one,
 * of an administrator.
 *
 * @throws KubernetesError; `invalid` without text under the key. It contains nothing from the Secret.
 */
export async function readClusterApiSecret(client: KubernetesClient, name: ClusterApiSecretName): Promise<string> {
  const { namespace, clusterName, secret, signal } = name;
  const attempt = `get a Secret of a workload cluster on ${client.server}`;
  requireClusterName(clusterName, attempt);
  const path = `/api/v1/${namespacePath(namespace, attempt)}/secrets/${clusterName}-${secret}`;
  const right =
    secret === 'kubeconfig'
      ? kubeconfigRight(namespace, clusterName)
      : { options: ` --management --audit-secrets --cluster-secrets-of ${namespace}/${clusterName}` };
  const answer = await client.request({ method: 'GET', path, right, signal });
  const value = text(raw<V1Secret>(answer), 'data', CLUSTER_API_SECRETS[secret]) ?? '';
  if (BASE64.test(value)) return Buffer.from(value, 'base64').toString('utf8');
  throw empty(client, name);
}

/** The certificates in it, as PEM text; of a kubeconfig the client certificate of its current user. */
export async function readClusterApiCertificates(
  client: KubernetesClient,
  name: ClusterApiSecretName,
): Promise<string> {
  const value = await readClusterApiSecret(client, name);
  if (name.secret !== 'kubeconfig') return value;
  try {
    const data = text(selectContext(value).user.content, 'client-certificate-data');
    if (data) return Buffer.from(data, 'base64').toString('latin1');
  } catch (error) {
    // Its message could quote names from the Secret.
    if (!(error instanceof KubeconfigError)) throw error;
  }
  throw empty(client, name);
}

function empty(client: KubernetesClient, { namespace, clusterName, secret }: ClusterApiSecretName): KubernetesError {
  return new KubernetesError({
    kind: 'invalid',
    object: `Secret ${namespace}/${clusterName}-${secret} on ${client.server}`,
    problem: `it holds no certificate under the key ${CLUSTER_API_SECRETS[secret]}`,
    remedy: 'Its users find none either. Cluster API writes a kubeconfig again when the Secret is deleted.',
  });
}
