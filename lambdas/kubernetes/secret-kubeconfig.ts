import * as z from 'zod/mini';
import type { Credentials } from './connection.ts';
import {
  Cluster,
  credentialsOf,
  type LoadedKubeconfig,
  loaded,
  never,
  readSelected,
  selectContext,
  User,
} from './kubeconfig-document.ts';

const NO_FILE = never(
  'a secret must not refer to files',
  'kubectl config view --raw --flatten --minify writes their content in their place.',
);
const NO_EXEC = never(
  'a secret must not run commands',
  'Put a service account token or a client certificate into the secret.',
);
const Fields = z.object({
  cluster: z.extend(Cluster, { 'certificate-authority': NO_FILE }),
  user: z.extend(User, { 'client-certificate': NO_FILE, 'client-key': NO_FILE, tokenFile: NO_FILE, exec: NO_EXEC }),
});

/**
 * Loads the current context of a kubeconfig from an untrusted author, for example from a secret: it cannot run a
 * command, read a file, weaken TLS or redirect traffic.
 *
 * @param source YAML or JSON, at most 64 KiB, without aliases
 * @param own credentials instead of those of its user, who is then ignored
 * @throws KubeconfigError
 */
export function loadSecretKubeconfig(source: string, own?: Credentials): LoadedKubeconfig {
  const { context, cluster, user } = selectContext(source);
  const selected = { context, cluster, user: own === undefined ? user : { ...user, content: {} } };
  const fields = readSelected(Fields, selected);
  const { 'client-certificate-data': certificate, 'client-key-data': key, token } = fields.user;
  const caPem = fields.cluster['certificate-authority-data'];
  return loaded(selected, fields.cluster, caPem, own ?? credentialsOf(certificate, key, token));
}
