import type { Observation } from '../../contracts/observation.ts';
import {
  CLUSTER_API_SECRETS,
  type ClusterApiSecret,
  readClusterApiCertificates,
} from '../../kubernetes/cluster-api-secret.ts';
import { KubernetesError, type KubernetesErrorKind } from '../../kubernetes/errors.ts';
import { printable } from '../../printable.ts';
import type { CertificateClass } from '../../tables/certificate-classes.ts';
import { timestamp } from '../../time.ts';
import type { AuditSource } from '../audit-source.ts';
import { certificatesAt } from '../certificates-at.ts';
import { unreadBecause } from '../unread.ts';

const SECRETS: readonly (readonly [ClusterApiSecret, CertificateClass])[] = [
  ['ca', 'cluster-ca'],
  ['proxy', 'front-proxy-ca'],
  ['etcd', 'etcd-ca'],
  ['apiserver-etcd-client', 'apiserver-etcd-client'],
  ['kubeconfig', 'cluster-kubeconfig'],
  ['aws-iam-authenticator-ca', 'aws-iam-authenticator-ca'],
];

/** Problems of a single Secret; any other is a problem of the cluster or the connection. */
const OF_ONE_SECRET: ReadonlySet<KubernetesErrorKind> = new Set(['forbidden', 'invalid', 'too-large']);

/**
 * The Secrets that Cluster API and EKS Anywhere keep for the cluster, each read by name. The answers contain private
 * keys, so this is opt-in, and only certificates are kept. Not every cluster has each of them.
 */
export const clusterSecrets: AuditSource = {
  id: 'cluster-secrets',
  stage: 'second',
  deadlineMs: 10_000,
  optional: 'always',
  off({ management, reach }) {
    if (management === undefined) return false;
    return reach.secrets ? undefined : 'not opted in';
  },
  async observe({ target: { management, cluster, machinesNamespace: namespace, reach }, now, signal }) {
    if (management === undefined || !reach.secrets) return { observations: [], count: 0 };
    const origin = { source: 'cluster-secrets' as const, observedAt: timestamp(now()) };
    const names = { namespace, clusterName: cluster.name, signal };
    const answers = await Promise.all(
      SECRETS.map(async ([secret, what]) => ({
        secret,
        what,
        answer: await orError(readClusterApiCertificates(management, { ...names, secret })),
      })),
    );
    const failures = answers.flatMap(({ answer }) => (answer instanceof KubernetesError ? [answer] : []));
    const fatal = failures.find(({ kind }) => kind !== 'not-found' && !OF_ONE_SECRET.has(kind));
    if (fatal !== undefined) throw fatal;
    if (failures.length === SECRETS.length) {
      const [first] = failures.filter(
        ({ kind }) => kind === 'forbidden' || failures.every((other) => other.kind === kind),
      );
      if (first !== undefined) throw first;
    }

    const observations = answers.flatMap(({ secret, what, answer }): readonly Observation[] => {
      const name = `Secret ${printable(namespace)}/${printable(cluster.name)}-${secret}`;
      const sighting = { ...origin, what, where: `${name} ${CLUSTER_API_SECRETS[secret]}` };
      if (!(answer instanceof KubernetesError)) return certificatesAt(sighting, answer, cluster.provider).observations;
      const { kind, object, problem, remedy } = answer;
      const unread = unreadBecause(sighting, {
        kind: kind === 'invalid' ? 'malformed' : kind,
        object,
        problem,
        remedy,
      });
      return [kind === 'not-found' ? { ...unread, usual: true } : unread];
    });
    return { observations, count: answers.filter(({ answer }) => typeof answer === 'string').length };
  },
};

async function orError(read: Promise<string>): Promise<string | KubernetesError> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof KubernetesError) return error;
    throw error;
  }
}
