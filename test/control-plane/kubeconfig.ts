import { stringify } from 'yaml';

/** How a kubeconfig's user proves who it is. */
export type Credential =
  | { readonly token: string }
  | {
      /** Client certificate and key, PEM. */
      readonly certPem: string;
      readonly keyPem: string;
    };

/**
 * The text of a kubeconfig with one cluster and one user, everything inline.
 *
 * @param server URL of the API server.
 * @param caPem the authorities to trust, PEM.
 * @param user name of the user and of the context.
 */
export function kubeconfigYaml(server: string, caPem: string, user: string, credential: Credential): string {
  const proof =
    'token' in credential
      ? { token: credential.token }
      : { 'client-certificate-data': base64(credential.certPem), 'client-key-data': base64(credential.keyPem) };
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': base64(caPem) } }],
    users: [{ name: user, user: proof }],
    contexts: [{ name: user, context: { cluster: 'test', user } }],
    'current-context': user,
  });
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
