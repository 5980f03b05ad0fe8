import { expect, it } from 'vitest';
import { sweepAges } from '../../../lambdas/fleet/sweep-ages.ts';
import { at, index, indexed, MINUTE, NOW, PARIS, registered, registry, TROUBLE } from './values.ts';

it('tells for how long nothing is known of each cluster', () => {
  const known = registry(
    registered('well', { target: PARIS, foundAt: at(-60 * MINUTE) }),
    registered('silent', { target: PARIS, foundAt: at(-60 * MINUTE) }),
    registered('never', { target: PARIS, foundAt: at(-5 * MINUTE) }),
    registered('constructor', { problem: TROUBLE, foundAt: at(-7 * MINUTE) }),
    registered('missing', { target: PARIS, foundAt: at(-60 * MINUTE), missingSince: at(-MINUTE) }),
    registered('ahead', { target: PARIS }),
  );
  const { readableAt: _, completeAt: __, ...never } = indexed('never', { readable: false });
  const seen = index(
    indexed('well', { readableAt: at(-MINUTE) }),
    indexed('silent', { readable: false, readableAt: at(-20 * MINUTE) }),
    never,
    indexed('missing', { readableAt: at(-MINUTE) }),
    indexed('ahead', { readableAt: at(MINUTE) }),
    indexed('unknown'),
  );
  expect(sweepAges(known, seen, NOW)).toEqual([
    { id: 'well', ageMs: MINUTE },
    { id: 'silent', ageMs: 20 * MINUTE },
    { id: 'never', ageMs: 5 * MINUTE },
    { id: 'constructor', ageMs: 7 * MINUTE },
    { id: 'ahead', ageMs: 0 },
  ]);
  expect(sweepAges(known, undefined, NOW).map(({ ageMs }) => ageMs / MINUTE)).toEqual([60, 60, 5, 7, 0]);
});
