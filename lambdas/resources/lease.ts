import type { V1Lease } from '@kubernetes/client-node';
import { raw } from './fields.ts';
import { countAt, nameAt, timeAt, wordsAt } from './values.ts';

/** A Lease of coordination.k8s.io/v1. */
export interface Lease {
  readonly uid: string;
  readonly resourceVersion: string;
  /** Absent without a holder. */
  readonly holder?: string;
  readonly acquiredAt?: number;
  readonly renewedAt?: number;
  readonly transitions?: number;
}

/** Undefined if a write could not name it. Never throws. */
export function readLease(object: unknown): Lease | undefined {
  const lease = raw<V1Lease>(object);
  const uid = nameAt(lease, 'metadata', 'uid');
  const resourceVersion = nameAt(lease, 'metadata', 'resourceVersion');
  if (uid === undefined || resourceVersion === undefined) return undefined;
  return {
    uid,
    resourceVersion,
    holder: wordsAt(lease, 'spec', 'holderIdentity'),
    acquiredAt: timeAt(lease, 'spec', 'acquireTime'),
    renewedAt: timeAt(lease, 'spec', 'renewTime'),
    transitions: countAt(lease, 'spec', 'leaseTransitions'),
  };
}
