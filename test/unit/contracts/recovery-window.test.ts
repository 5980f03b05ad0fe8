import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRecoveryWindows, type StoredWindow } from '../../../lambdas/contracts/recovery-window.ts';
import { openWindowOf } from '../../../lambdas/recovery/open-window.ts';
import { NOW, windowOf } from '../recovery/fixtures.ts';

const CLOSED = { at: new Date(NOW).toISOString(), by: 'arn:aws:iam::111122223333:user/bob' };
const stored = (...windows: readonly unknown[]): unknown => ({ version: 1, windows });

describe('recovery.json', () => {
  it('has windows, with what each replaces and who closed it', () => {
    const windows: readonly StoredWindow[] = [
      windowOf(),
      windowOf({ id: 'w-2', replaces: ['w-0', 'w-1'] }),
      { ...windowOf({ id: 'w-3' }), closed: CLOSED },
    ];
    expect(parseRecoveryWindows(JSON.parse(JSON.stringify(stored(...windows))))).toEqual(windows);
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['text', 'windows'],
    ['another version', { version: 2, windows: [] }],
    ['no list', { version: 1, windows: {} }],
    ['more than a hundred', stored(...Array.from({ length: 101 }, () => windowOf()))],
    ['a window of two hours', stored(windowOf(), windowOf({ until: new Date(NOW + 120 * 60_000).toISOString() }))],
    ['a window for ten nodes', stored(windowOf({ nodes: Array.from({ length: 10 }, (_, n) => `cp-${n}`) }))],
    ['a window for everybody', stored(windowOf({ nodes: ['*'] }))],
    ['a window for one and for everybody', stored(windowOf({ nodes: ['cp-1', '*'] }))],
    ['a window for other groups', stored(windowOf({ bootstrapGroups: ['system:masters'] }))],
    ['a window of a cluster that is none', stored(windowOf({ cluster: '../x' }))],
    ['a window that replaces itself', stored(windowOf({ replaces: ['w-1'] }))],
    ['a window that replaces nine', stored(windowOf({ replaces: Array.from({ length: 9 }, (_, n) => `r-${n}`) }))],
    ['a window that was closed by nobody', stored({ ...windowOf(), closed: { at: CLOSED.at } })],
    ['a window that may or may not be closed', stored({ ...windowOf(), closed: null })],
  ])('with %s opens none', (_, value) => {
    expect(parseRecoveryWindows(value)).toBeUndefined();
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(parseRecoveryWindows(stored(value))).toBeUndefined();
      }),
      { seed: 11 },
    );
  });
});

describe('the open window of a cluster', () => {
  const [window, newer] = [windowOf(), windowOf({ id: 'w-2', openedAt: new Date(NOW - 60_000).toISOString() })];
  it.each<[string, readonly StoredWindow[], number, string | undefined]>([
    ['is the one that is open', [window], NOW, 'w-1'],
    ['of two is the newer one', [newer, window], NOW, 'w-2'],
    ['is none before it opens', [window], Date.parse(window.openedAt) - 1, undefined],
    ['is none at its end', [window], Date.parse(window.until), undefined],
    ['is none that was closed', [{ ...window, closed: CLOSED }], NOW, undefined],
    ['is none of another cluster', [windowOf({ cluster: 'other' })], NOW, undefined],
  ])('%s', (_, windows, now, id) => {
    expect(openWindowOf(windows, window.cluster, now)?.id).toBe(id);
  });
});
