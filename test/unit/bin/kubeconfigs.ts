/** One kubeconfig of several clusters, the first of them current, as text; each context is named as its cluster. */
export function kubeconfigOfSeveral(clusters: readonly Parameters<typeof kubeconfigOf>[0][]): string {
  const documents = clusters.map((given) => JSON.parse(kubeconfigOf({ ...given, context: given?.cluster ?? 'c' })));
  return JSON.stringify({
    ...documents[0],
    contexts: documents.flatMap(({ contexts }) => contexts),
    clusters: documents.flatMap((document) => document.clusters),
  });
}

/** A kubeconfig of one cluster, as text: for an administrator with a token, unless the user is another one. */
export function kubeconfigOf({
  cluster = 'berlin',
  server = 'https://127.0.0.1:1',
  caPem,
  context = 'c',
  user = { token: 'not-a-secret' },
}: {
  readonly cluster?: string;
  readonly server?: string;
  readonly caPem?: string | undefined;
  readonly context?: string;
  readonly user?: object;
} = {}): string {
  const authority = caPem === undefined ? {} : { 'certificate-authority-data': Buffer.from(caPem).toString('base64') };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': context,
    contexts: [{ name: context, context: { cluster, user: 'u' } }],
    clusters: [{ name: cluster, cluster: { server, ...authority } }],
    users: [{ name: 'u', user }],
  });
}
