import { describe, expect, it } from 'vitest';
import type { IndexedCluster } from '../../../lambdas/contracts/fleet-index.ts';
import { foundBefore } from '../../../lambdas/fleet/update-registry.ts';
import { at, auditSummary, DAY, index, indexed, MINUTE, NOW, PARIS, registered, registry, TROUBLE } from './values.ts';

describe('foundBefore', () => {
  const found = (rebuiltAt: string | undefined, ...seen: readonly IndexedCluster[]) => {
    const known = { ...registry(registered(PARIS.id, { target: PARIS, foundAt: at() })), rebuiltAt };
    return foundBefore(known, index(...seen), NOW).clusters[PARIS.id]?.foundAt;
  };

  it.each<[string, Partial<IndexedCluster>]>([
    ['it was read', { readableAt: at(-DAY) }],
    ['it was complete', { completeAt: at(-DAY) }],
    ['it was swept', { sweptAt: at(-DAY) }],
    ['a problem of it began', { findings: [{ ...TROUBLE, since: at(-DAY) }] }],
    ['it was audited', { audit: auditSummary({ auditedAt: at(-DAY) }) }],
  ])('is when the index first heard of the cluster: %s', (_, changed) => {
    expect(found(at(-19 * MINUTE), indexed(PARIS.id, { sweptAt: at(), ...changed }))).toBe(at(-DAY));
  });

  it('changes nothing of what the index does not know, nor 20 minutes after the registry was rebuilt, nor where it was not', () => {
    const known = indexed(PARIS.id, { sweptAt: at(-DAY) });
    expect([found(at()), found(at(-20 * MINUTE), known), found(undefined, known)]).toEqual([at(), at(), at()]);
  });
});
