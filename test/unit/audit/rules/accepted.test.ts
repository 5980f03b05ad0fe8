import { describe, expect, it } from 'vitest';
import { type Acceptance, accepted } from '../../../../lambdas/audit/rules/accepted.ts';
import type { Draft } from '../../../../lambdas/audit/rules/draft.ts';
import { DAY, NOW } from '../fixtures.ts';

const at = (days: number): string => new Date(NOW + days * DAY).toISOString();
const draft = (object: string, code: 'WeakKey' | 'WeakSignature' = 'WeakKey'): Draft => ({
  code,
  severity: 'warning',
  object,
  what: 'kubelet-serving',
  facts: { where: 'x', source: 'tls', why: 'RSA-1024' },
});
const entry = (changed: Partial<Acceptance> = {}): Acceptance => ({
  cluster: 'berlin',
  code: 'WeakKey',
  object: 'a',
  until: at(100),
  reason: 'new hardware',
  ...changed,
});

describe('accepted', () => {
  it.each<[string, readonly Acceptance[], readonly string[]]>([
    ['nothing', [], ['warning a', 'warning b']],
    ['an object', [entry()], ['info a', 'warning b']],
    ['a code', [entry({ object: undefined })], ['info a', 'info b']],
    ['another cluster', [entry({ cluster: 'berlin2' })], ['warning a', 'warning b']],
    ['another code', [entry({ code: 'WeakSignature' })], ['warning a', 'warning b', 'warning WeakSignature a']],
    ['it for 14 days', [entry({ until: at(14) })], ['info a', 'warning b', 'warning WeakKey a']],
    ['it for more', [entry({ until: at(14.01) })], ['info a', 'warning b']],
    ['it until now', [entry({ until: at(0) })], ['warning a', 'warning b', 'warning WeakKey a']],
    ['a time that is none', [entry({ until: 'soon' })], ['warning a', 'warning b', 'warning WeakKey a']],
    ['it again, over and not', [entry({ until: at(-1) }), entry()], ['info a', 'warning b', 'warning WeakKey a']],
    ['no name of a finding', [entry({ code: 'constructor' })], ['warning a', 'warning b', 'warning constructor a']],
  ])('where the file accepts %s', (_, accept, expected) => {
    const drafts = accepted([draft('a'), draft('b')], { id: 'berlin', accept }, NOW);
    expect(drafts.map(({ severity, object }) => `${severity} ${object}`)).toEqual(expected);
  });

  it('says until when and why, and counts the warning where the finding is', () => {
    const [first, warning] = accepted([draft('a')], { id: 'berlin', accept: [entry({ until: at(3) })] }, NOW);
    expect(first).toMatchObject({ accepted: { until: at(3), reason: 'new hardware' } });
    expect(warning).toMatchObject({ code: 'Acceptance', what: 'kubelet-serving', facts: { until: at(3) } });
    expect(accepted([], { id: 'berlin', accept: [entry()] }, NOW)).toMatchObject([{ facts: { isUnused: true } }]);
  });
});
