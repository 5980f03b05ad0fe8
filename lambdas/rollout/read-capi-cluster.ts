import { field } from '../resources/fields.ts';
import { annotation, isDeleting, nameAt } from '../resources/values.ts';
import { PAUSED_ANNOTATION } from './annotations.ts';
import type { ObservedCapiCluster } from './observed.ts';

/**
 * A `Cluster` of Cluster API, v1beta1 or v1beta2; undefined when it has no name and namespace. Pure; never throws.
 *
 * Source: Cluster API, `ClusterSpec` of both versions: `paused`, `topology` and `infrastructureRef.kind` are where they were.
 */
export function readCapiCluster(object: unknown): ObservedCapiCluster | undefined {
  const namespace = nameAt(object, 'metadata', 'namespace');
  const name = nameAt(object, 'metadata', 'name');
  if (namespace === undefined || name === undefined) return undefined;
  const paused = field(object, 'spec', 'paused');
  const infrastructure = nameAt(object, 'spec', 'infrastructureRef', 'kind');
  return {
    namespace,
    name,
    deleting: isDeleting(object),
    // What is neither true nor false has no meaning, and nothing begins on a guess.
    paused: (paused != null && paused !== false) || annotation(object, PAUSED_ANNOTATION) !== undefined,
    topology: field(object, 'spec', 'topology') != null,
    infrastructure,
  };
}
