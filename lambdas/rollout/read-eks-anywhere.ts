import { printable } from '../printable.ts';
import {
  annotation,
  conditionsAt,
  countAt,
  isDeleting,
  MISSING,
  nameAt,
  timeAt,
  wordsAt,
} from '../resources/values.ts';
import { OPT_IN_ANNOTATION } from './annotations.ts';
import type { ObservedEksAnywhere } from './observed.ts';

/** Unlike that of Cluster API, its value has to be "true". Source: EKS Anywhere, `Cluster.IsReconcilePaused`. */
const PAUSED = 'anywhere.eks.amazonaws.com/paused';

/**
 * A `Cluster` of EKS Anywhere, v1alpha1; undefined when it has no name and namespace. Without a generation it reads as 0, which no observed one is. Pure; never
 * throws.
 *
 * @param controlPlaneUpgrade whether a `ControlPlaneUpgrade` of this cluster exists
 */
export function readEksAnywhere(object: unknown, controlPlaneUpgrade: boolean): ObservedEksAnywhere | undefined {
  const namespace = nameAt(object, 'metadata', 'namespace');
  const name = nameAt(object, 'metadata', 'name');
  if (namespace === undefined || name === undefined) return undefined;
  const createdAt = timeAt(object, 'metadata', 'creationTimestamp');
  const mode = annotation(object, OPT_IN_ANNOTATION);
  const observedGeneration = countAt(object, 'status', 'observedGeneration');
  const reconciledGeneration = countAt(object, 'status', 'reconciledGeneration');
  const failureMessage = wordsAt(object, 'status', 'failureMessage');
  const datacenter = nameAt(object, 'spec', 'datacenterRef', 'kind');
  return {
    namespace,
    name,
    createdAt,
    deleting: isDeleting(object),
    paused: annotation(object, PAUSED) === 'true',
    mode: mode === undefined ? undefined : printable(mode),
    ready: conditionsAt(object, 'status', 'conditions').get('Ready') ?? MISSING,
    generation: countAt(object, 'metadata', 'generation') ?? 0,
    observedGeneration,
    reconciledGeneration,
    failureMessage,
    datacenter,
    controlPlaneUpgrade,
  };
}
