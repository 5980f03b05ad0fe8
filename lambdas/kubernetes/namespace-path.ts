import { KubernetesError } from './errors.ts';

/** A namespace is a DNS label (RFC 1123). */
export const NAMESPACE = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

/**
 * The namespace part of a path.
 *
 * @param object the call, for the error
 * @throws KubernetesError of kind `invalid` for an impossible name
 */
export function namespacePath(namespace: string, object: string): string {
  if (NAMESPACE.test(namespace)) return `namespaces/${namespace}`;
  throw new KubernetesError({
    kind: 'invalid',
    object,
    problem: 'no namespace can have this name',
    remedy: 'kubectl get namespaces lists the names.',
  });
}
