import { expect, it } from 'vitest';
import { sweepAges } from '../../../lambdas/fleet/fold-outcomes.ts';
import { at, index, indexed, MINUTE, NOW, PARIS, registered, registry, TROUBLE } from './values.ts';

it('tells how long ago each cluster was tried, readable or not', () => {
  const known = registry(
    registered('well', { target: PARIS, foundAt: at(-60 * MINUTE) }),
    registered('silent', { target: PARIS, foundAt: at(-60 * MINUTE) }),
    registered('late', { target: PARIS, foundAt: at(-60 * MINUTE) }),
    registered('constructor', { target: PARIS, foundAt: at(-7 * MINUTE) }),
    registered('without-lane', { problem: TROUBLE, foundAt: at(-60 * MINUTE) }),
    registered('ahead', { target: PARIS }),
  );
  const seen = index(
    indexed('well', { triedAt: at(-MINUTE) }),
    indexed('silent', { triedAt: at(-MINUTE), readable: false, readableAt: at(-20 * MINUTE) }),
    indexed('late', { sweptAt: at(), triedAt: at(-6 * MINUTE) }),
    indexed('ahead', { triedAt: at(MINUTE) }),
    indexed('unknown'),
  );
  expect(sweepAges(known, seen, NOW)).toEqual([
    { id: 'well', ageMs: MINUTE },
    { id: 'silent', ageMs: MINUTE },
    { id: 'late', ageMs: 6 * MINUTE },
    { id: 'constructor', ageMs: 7 * MINUTE },
    { id: 'ahead', ageMs: 0 },
  ]);
  expect(sweepAges(known, undefined, NOW).map(({ ageMs }) => ageMs / MINUTE)).toEqual([60, 60, 60, 7, 0]);
});
