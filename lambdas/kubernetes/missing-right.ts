/**
 * What grants the right that a 403 on this path asks for. The plain `certmarshal rbac` covers requests and approval, Nodes
 * only with a policy that uses them, and Machines only with `--management`.
 *
 * @param path of the API, without the prefix of a server.
 */
export function missingRight(path: string): string {
  // Discovery is no right of certmarshal's own: Kubernetes gives it to everybody whom it knows.
  if (/^\/apis\/[^/]+$/.test(path)) return 'Bind the ClusterRole system:discovery to this user in that cluster.';
  return `Grant it in that cluster: ${manifestsFor(path)} | kubectl apply -f - (--user, --group or --service-account says to whom).`;
}

function manifestsFor(path: string): string {
  if (path.startsWith('/apis/cluster.x-k8s.io/')) return 'certmarshal rbac --management';
  if (path.startsWith('/api/v1/nodes')) return 'certmarshal rbac --policy FILE';
  return 'certmarshal rbac';
}
