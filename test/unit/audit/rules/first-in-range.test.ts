import { expect, it } from 'vitest';
import { FirstInRange } from '../../../../lambdas/audit/rules/authority.ts';

it('a part of a row has its first three names in their order, whichever was added first', () => {
  const row = new FirstInRange(4);
  for (const [place, name] of ['d', 'c', 'a', 'b'].entries()) row.add(place, name);
  row.add(3, 'e');
  expect(row.within(0, 4)).toEqual({ count: 5, names: ['a', 'b', 'c'] });
  expect(row.within(1, 3)).toEqual({ count: 2, names: ['a', 'c'] });
  expect(row.within(0, 2)).toEqual({ count: 2, names: ['c', 'd'] });
});
