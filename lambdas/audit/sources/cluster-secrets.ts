import type { CertificateClass } from '../../expiry/certificate-classes.ts';
import type { MemberObservation, Observation } from '../../expiry/observation.ts';
import { compare, firstOf } from '../../expiry/words.ts';
import {
  CLUSTER_API_SECRETS,
  type ClusterApiSecret,
  readClusterApiCertificates,
} from '../../kubernetes/cluster-api-secret.ts';
import { KubernetesError, type KubernetesErrorKind } from '../../kubernetes/errors.ts';
import { printable } from '../../printable.ts';
import type { AuditSource } from '../audit-source.ts';
import { certificatesAt } from '../certificates-at.ts';
import { timestamp } from '../instant.ts';
import { machineMembers } from '../machine-name.ts';
import { unreadBecause } from '../unread.ts';

const SECRETS: readonly (readonly [ClusterApiSecret, CertificateClass])[] = [
  ['ca', 'cluster-ca'],
  ['proxy', 'front-proxy-ca'],
  ['etcd', 'etcd-ca'],
  ['apiserver-etcd-client', 'apiserver-etcd-client'],
  ['kubeconfig', 'cluster-kubeconfig'],
  ['aws-iam-authenticator-ca', 'aws-iam-authenticator-ca'],
];

/** Where EKS Anywhere keeps all objects of Cluster API. */
const EKS_ANYWHERE_NAMESPACE = 'eksa-system';

/** What is wrong with one Secret alone; anything else is wrong with the cluster or the way to it. */
const OF_ONE_SECRET: ReadonlySet<KubernetesErrorKind> = new Set(['forbidden', 'invalid', 'too-large']);

/**
 * The Secrets that Cluster API and EKS Anywhere keep for the cluster, each by its name. Private keys are in the same answers, so it takes an
 * opt-in, and nothing but certificates is kept. Not every cluster has each of them.
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
  async observe({ target: { management, cluster, machinesNamespace, reach }, members, now, signal }) {
    if (management === undefined || !reach.secrets) return { observations: [], count: 0 };
    const namespace = machinesNamespace ?? namespaceOf(members, cluster.name);
    const told = { source: 'cluster-secrets' as const, observedAt: timestamp(now()) };
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
      const sighting = { ...told, what, where: `${name} ${CLUSTER_API_SECRETS[secret]}` };
      if (!(answer instanceof KubernetesError)) return certificatesAt(sighting, answer, cluster.provider).observations;
      if (answer.kind === 'not-found') return [];
      const { kind, object, problem, remedy } = answer;
      return [unreadBecause(sighting, { kind: kind === 'invalid' ? 'malformed' : kind, object, problem, remedy })];
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

/**
 * Of the Machines, which are where their Cluster is.
 *
 * @throws KubernetesError where they are in several
 */
function namespaceOf(members: readonly MemberObservation[], clusterName: string): string {
  const namespaces = new Set([...machineMembers(members).keys()].map((id) => id.slice(0, id.indexOf('/'))));
  const [namespace = EKS_ANYWHERE_NAMESPACE] = namespaces;
  if (namespaces.size <= 1) return namespace;
  throw new KubernetesError({
    kind: 'invalid',
    object: `Secrets of cluster ${printable(clusterName)}`,
    problem: `it has Machines in ${namespaces.size} namespaces (${firstOf([...namespaces].toSorted(compare))}), and its Secrets are in one`,
    remedy: 'Find out who made a Cluster of the same name: kubectl get clusters.cluster.x-k8s.io -A.',
  });
}
