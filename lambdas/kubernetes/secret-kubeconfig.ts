import type { Credentials } from './connection.ts';
import {
  bundleProblems,
  type Entry,
  KubeconfigError,
  type KubeconfigProblem,
  type LoadedKubeconfig,
  loaded,
  NEVER_IN_CLUSTER,
  NEVER_IN_USER,
  noCredentials,
  type RefusedField,
  refusedFields,
  SECRET_LIMITS,
  selectCluster,
  selectContext,
  serverProblems,
  textOf,
} from './kubeconfig-document.ts';

/**
 * Loads a kubeconfig from an untrusted author, for example from a secret: it cannot run a command, read a file, weaken
 * TLS or redirect traffic. Every cluster and user in it is checked, also those not selected.
 *
 * @param source YAML or JSON, at most 64 KiB, without aliases
 * @param context @default its current-context
 * @param credentials used instead of those of its users, which may then be missing or invalid, because they are ignored
 * @throws KubeconfigError with all problems at once
 */
export function loadSecretKubeconfig(
  source: string,
  { context, credentials: own }: { readonly context?: string; readonly credentials?: Credentials | undefined } = {},
): LoadedKubeconfig {
  const withUser = own === undefined ? selectContext(source, context, SECRET_LIMITS) : undefined;
  const selected = withUser ?? selectCluster(source, context, SECRET_LIMITS);
  const { cluster } = selected;
  const problems = [
    ...selected.clusters.flatMap((entry) => refusedFields(entry, [...NEVER_IN_CLUSTER, ...FILES_IN_CLUSTER])),
    ...(withUser?.users ?? []).flatMap((entry) => refusedFields(entry, [...NEVER_IN_USER, ...FILES_IN_USER, EXEC])),
    ...serverProblems(cluster),
  ];
  const caPem = decoded(cluster, 'certificate-authority-data', problems);
  if (caPem !== undefined) problems.push(...bundleProblems(caPem, `${cluster.where}.certificate-authority-data`));
  const credentials = withUser === undefined ? own : inlineCredentials(withUser.user, problems);
  if (problems.length > 0 || credentials === undefined) throw new KubeconfigError(problems);
  return loaded(selected, caPem, credentials);
}

const inline = (field: string): RefusedField => ({
  field,
  problem: 'a secret must not refer to files',
  remedy: 'kubectl config view --raw --flatten --minify writes their content in their place.',
});
const FILES_IN_CLUSTER = [inline('certificate-authority')];
const FILES_IN_USER = ['client-certificate', 'client-key', 'tokenFile', 'token-file'].map(inline);
const EXEC: RefusedField = {
  field: 'exec',
  problem: 'a secret must not run commands',
  remedy: 'Put a service account token or a client certificate into the secret.',
};

/** A client certificate wins over a token, as at the API server when both are sent. */
function inlineCredentials(user: Entry, problems: KubeconfigProblem[]): Credentials | undefined {
  const certificatePem = decoded(user, 'client-certificate-data', problems);
  const keyPem = decoded(user, 'client-key-data', problems);
  const token = textOf(user, 'token')?.trim();
  if (certificatePem !== undefined && keyPem !== undefined) return { kind: 'certificate', certificatePem, keyPem };
  if (token !== undefined && token !== '') return { kind: 'token', token };
  if (problems.length === 0) problems.push(noCredentials(user));
  return undefined;
}

function decoded(entry: Entry, field: string, problems: KubeconfigProblem[]): string | undefined {
  const value = textOf(entry, field)?.replaceAll(/\s/g, '');
  if (value === undefined) return undefined;
  if (/^[A-Za-z0-9+/]+={0,2}$/.test(value)) return Buffer.from(value, 'base64').toString('latin1');
  problems.push({
    where: `${entry.where}.${field}`,
    problem: 'it is not base64',
    remedy: 'Write the PEM text in base64.',
  });
  return undefined;
}
