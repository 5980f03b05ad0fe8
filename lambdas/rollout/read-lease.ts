import { countAt, nameAt, timeAt, wordsAt } from '../resources/values.ts';
import type { ObservedLease } from './observed.ts';

/** A Lease of coordination.k8s.io/v1; undefined when a write could not name it. Pure; never throws. */
export function readLease(object: unknown): ObservedLease | undefined {
  const uid = nameAt(object, 'metadata', 'uid');
  const resourceVersion = nameAt(object, 'metadata', 'resourceVersion');
  if (uid === undefined || resourceVersion === undefined) return undefined;
  const holder = wordsAt(object, 'spec', 'holderIdentity');
  const acquiredAt = timeAt(object, 'spec', 'acquireTime');
  const renewedAt = timeAt(object, 'spec', 'renewTime');
  const transitions = countAt(object, 'spec', 'leaseTransitions');
  return {
    uid,
    resourceVersion,
    holder,
    acquiredAt,
    renewedAt,
    transitions,
  };
}
