import { describe, expect, it } from 'vitest';
import type { Target } from '../../../lambdas/contracts/target.ts';
import { sameServer } from '../../../lambdas/fleet/same-server.ts';
import { BERLIN, DUBLIN, index, indexed, NOW, PARIS, readOrder, registered } from './values.ts';

const ROME: Target = { ...PARIS, id: 'rome' };
const BONN: Target = { ...BERLIN, id: 'other/eksa-system/bonn' };

describe('sameServer', () => {
  it.each<[string, readonly Target[], readonly Target[]]>([
    ['none of one alone', [PARIS], []],
    ['both of two that the owner lists', [PARIS, ROME], [PARIS, ROME]],
    ['both of two of which EKS shows one', [DUBLIN, PARIS], [DUBLIN, PARIS]],
    ['both of two that management clusters name', [BERLIN, BONN], [BERLIN, BONN]],
    ['only that which a management cluster names, beside one that is vouched for', [PARIS, BERLIN], [BERLIN]],
    ['all that management clusters name, beside one that is vouched for', [BERLIN, DUBLIN, BONN], [BERLIN, BONN]],
    ['all, when two of them are vouched for', [PARIS, BERLIN, ROME], [PARIS, BERLIN, ROME]],
  ])('holds %s', (_, targets, held) => {
    const clusters = targets.map((target) => registered(target.id, { target }));
    const seen = index(...targets.map(({ id }) => indexed(id, { server: 'a:443' })));
    const problems = sameServer(clusters, seen);
    expect([...problems.keys()].toSorted()).toEqual(held.map(({ id }) => id).toSorted());
    for (const [id, problem] of problems)
      for (const other of targets) expect(problem.message.includes(other.id)).toBe(other.id !== id);
  });

  it('compares only what a sweep has seen, of clusters that are known', () => {
    const clusters = [PARIS, ROME].map((target) => registered(target.id, { target }));
    expect(sameServer(clusters, undefined).size).toBe(0);
    expect(sameServer(clusters, index(indexed('paris'), indexed('rome'))).size).toBe(0);
    expect(
      sameServer(clusters, index(indexed('paris', { server: 'a:1' }), indexed('gone', { server: 'a:1' }))).size,
    ).toBe(0);
  });

  it('has a message that an order can carry, however long the ids are', () => {
    const id = (n: number) => `${'m'.repeat(100)}/${'n'.repeat(63)}/${'w'.repeat(99)}${n}`;
    const targets = Array.from({ length: 9 }, (_, n) => ({ ...PARIS, id: id(n) }));
    const seen = index(...targets.map((target) => indexed(target.id, { server: `${'h'.repeat(290)}:443` })));
    const problems = sameServer(
      targets.map((target) => registered(target.id, { target })),
      seen,
    );
    const target = { ...PARIS, id: id(0) };
    const holdWrites = problems.get(target.id)?.message ?? '';
    const order = { id: target.id, facts: {}, tick: NOW, deadlineMs: 1, holdWrites };
    expect(holdWrites).toContain('same API server');
    expect(readOrder(order)).toEqual({ ok: true, value: order });
  });

  it.each([
    [50, 'c1, c2, c3, c4, c5 and 44 more, so'],
    [6, 'c1, c2, c3, c4, c5, so'],
  ])('names a few of many: of %d', (count, names) => {
    const targets = Array.from({ length: count }, (_, n) => ({ ...PARIS, id: `c${n}` }));
    const seen = index(...targets.map(({ id }) => indexed(id, { server: 'a:443' })));
    const problems = sameServer(
      targets.map((target) => registered(target.id, { target })),
      seen,
    );
    expect(problems.size).toBe(count);
    expect(problems.get('c0')?.message).toContain(names);
  });
});
