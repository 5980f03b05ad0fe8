import { KubernetesError } from './errors.ts';

/** A DNS label (RFC 1123), which a namespace is. */
export const NAMESPACE = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

/**
 * The part of a path that names a namespace.
 *
 * @param object what is attempted, for the error
 * @throws KubernetesError of kind `invalid` when no namespace can have this name
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
