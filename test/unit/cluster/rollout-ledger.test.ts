import { anything, array, assert, asyncProperty, constantFrom, integer, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRolloutLedger, ROLLOUT_LEDGER_KEY } from '../../../lambdas/cluster/rollout-ledger.ts';
import { awsError, type MemoryObjects, memoryObjects } from '../functions/memory-objects.ts';

const NOW = Date.UTC(2026, 10, 28, 2, 30);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const LIMITS = { atOnce: 1, pauseMs: HOUR };
const { signal } = new AbortController();

const ledgerOf = (objects: MemoryObjects, limits = LIMITS) =>
  createRolloutLedger({ objects, limits, clock: () => NOW });
const holding = (...rollouts: readonly object[]) => memoryObjects({ [ROLLOUT_LEDGER_KEY]: { version: 1, rollouts } });
const stored = (objects: MemoryObjects) => objects.objects.get(ROLLOUT_LEDGER_KEY)?.value;
const past = (changes: object = {}) => ({
  id: 'a',
  cluster: 'berlin',
  trigger: 'schedule',
  startedAt: NOW - 2 * HOUR,
  ...changes,
});
const claim = { id: 'b', cluster: 'munich', trigger: 'schedule', at: NOW } as const;

describe('what is remembered', () => {
  it('is nothing in the beginning, with the limits of the fleet', async () => {
    expect(await ledgerOf(memoryObjects()).read(signal)).toEqual({ rollouts: [], limits: LIMITS });
  });

  it('is forgotten after 100 days, and ends after 14 where nobody ended it', async () => {
    const objects = holding(
      past({ id: 'old', startedAt: NOW - 100 * DAY, endedAt: NOW - 99 * DAY }),
      past({ id: 'lost', startedAt: NOW - 15 * DAY }),
      past({ id: 'just lost', startedAt: NOW - 14 * DAY }),
      past({ id: 'open', startedAt: NOW - 14 * DAY + 1 }),
    );
    expect((await ledgerOf(objects).read(signal)).rollouts).toEqual([
      past({ id: 'lost', startedAt: NOW - 15 * DAY, endedAt: NOW - DAY }),
      past({ id: 'just lost', startedAt: NOW - 14 * DAY, endedAt: NOW }),
      past({ id: 'open', startedAt: NOW - 14 * DAY + 1 }),
    ]);
  });

  it.each([
    ['no object', []],
    ['another version', { version: 2, rollouts: [] }],
    ['no list', { version: 1 }],
    ['no trigger', { version: 1, rollouts: [past({ trigger: 'nobody' })] }],
    ['no time', { version: 1, rollouts: [past({ startedAt: 'now' })] }],
    ['an id of more than 64 characters', { version: 1, rollouts: [past({ id: 'a'.repeat(65) })] }],
    ['too much', { version: 1, rollouts: Array.from({ length: 20_001 }, () => past()) }],
    ['no JSON', undefined],
  ])('is not known where there is %s, and nothing is written', async (_, value) => {
    const objects = memoryObjects({ [ROLLOUT_LEDGER_KEY]: value });
    const ledger = ledgerOf(objects);
    const read = await ledger.read(signal);
    expect(read).toMatchObject({ rollouts: [], unread: expect.stringContaining('damaged') });
    expect(read).not.toHaveProperty('problems', expect.anything());
    await expect(ledger.take(claim, signal)).rejects.toMatchObject({ kind: 'invalid' });
    await expect(ledger.end({ ...claim, at: NOW }, signal)).rejects.toMatchObject({ kind: 'invalid' });
    expect(stored(objects)).toEqual(value);
  });

  it.each([
    ['a start', { rollouts: [past({ startedAt: NOW + 10 * 60_000 + 1 })] }],
    ['an end', { rollouts: [past({ endedAt: Date.UTC(2099, 0, 1) })] }],
    ['a claim that never began', { rollouts: [], undone: [{ cluster: 'oslo', claimedAt: Date.UTC(2099, 0, 1) }] }],
  ])('does not count with %s in a time to come, and says so until it is written anew', async (_, held) => {
    const objects = memoryObjects({ [ROLLOUT_LEDGER_KEY]: { version: 1, ...held } });
    const ledger = ledgerOf(objects);
    const told = await ledger.read(signal);
    expect(told).toMatchObject({ rollouts: [], problems: [{ kind: 'rollout-ledger', object: ROLLOUT_LEDGER_KEY }] });
    expect(told).not.toHaveProperty('undone', expect.anything());
    expect(await ledger.take(claim, signal)).toBe(true);
    expect(stored(objects)).toMatchObject({ rollouts: [{ id: 'b' }] });
    expect(await ledger.read(signal)).not.toHaveProperty('problems', expect.anything());
  });

  it('tells how many entries are of a time to come, of rollouts and of claims together', async () => {
    const undone = [NOW, NOW + DAY, NOW - DAY].map((claimedAt) => ({ cluster: 'oslo', claimedAt }));
    const rollouts = [past(), past({ startedAt: NOW + DAY })];
    const objects = memoryObjects({ [ROLLOUT_LEDGER_KEY]: { version: 1, rollouts, undone } });
    expect(await ledgerOf(objects).read(signal)).toMatchObject({
      problems: [{ message: expect.stringMatching(/^2 of its entries /) }],
    });
  });

  it('never throws for what is in it', async () => {
    await assert(
      asyncProperty(anything({ withNullPrototype: false }), async (value) => {
        const objects = memoryObjects();
        objects.objects.set(ROLLOUT_LEDGER_KEY, { value, etag: '"1"' });
        const { rollouts, unread } = await ledgerOf(objects).read(signal);
        expect(rollouts.length === 0 || unread === undefined).toBe(true);
      }),
      { seed: 20_261_128, numRuns: 200 },
    );
  });

  it('is no more than fits, and of what goes on nothing is lost', async () => {
    const ended = Array.from({ length: 19_999 }, (_, index) =>
      past({ id: `e${index}`, startedAt: NOW - 3 * HOUR - index, endedAt: NOW - 2 * HOUR }),
    );
    const objects = holding(...ended, past({ id: 'open', startedAt: NOW - 13 * DAY }));
    expect(await ledgerOf(objects, { atOnce: 2, pauseMs: HOUR }).take(claim, signal)).toBe(true);
    const { rollouts } = await ledgerOf(objects).read(signal);
    expect(rollouts).toHaveLength(20_000);
    expect(rollouts.filter(({ endedAt }) => endedAt === undefined).map(({ id }) => id)).toEqual(['b', 'open']);
  });
});

describe('a claim', () => {
  it('is written down', async () => {
    const objects = memoryObjects();
    expect(await ledgerOf(objects).take(claim, signal)).toBe(true);
    const { at: startedAt, ...rest } = claim;
    expect(stored(objects)).toEqual({ version: 1, rollouts: [{ ...rest, startedAt }] });
  });

  it.each([
    ['another rolls', past(), 'schedule', false],
    ['another rolls, for a person', past(), 'person', true],
    ['another is done', past({ endedAt: NOW - HOUR }), 'schedule', true],
    ['another began less than the pause ago', past({ startedAt: NOW - HOUR + 1, endedAt: NOW - 1 }), 'schedule', false],
    ['another began the pause ago', past({ startedAt: NOW - HOUR, endedAt: NOW - 1 }), 'schedule', true],
    ['another goes on for almost six hours', past({ startedAt: NOW - 6 * HOUR + 1 }), 'schedule', false],
    ['another goes on for longer than six hours', past({ startedAt: NOW - 6 * HOUR }), 'schedule', true],
    ['the cluster itself claimed long before', past({ cluster: 'munich', startedAt: NOW - 900_001 }), 'schedule', true],
    ['the cluster itself claimed 15 min ago', past({ cluster: 'munich', startedAt: NOW - 900_000 }), 'schedule', false],
    ['the cluster itself claimed a moment ago', past({ cluster: 'munich', startedAt: NOW - 1 }), 'schedule', false],
    ['the cluster itself claimed it, for a person', past({ cluster: 'munich', startedAt: NOW }), 'person', false],
    ['it is itself just done', past({ cluster: 'munich', startedAt: NOW - HOUR, endedAt: NOW - 1 }), 'schedule', true],
  ] as const)('where %s: %#', async (_, other, trigger, expected) => {
    const objects = holding(other);
    expect(await ledgerOf(objects).take({ ...claim, trigger }, signal)).toBe(expected);
  });

  it('takes the place of one of the same cluster that never began', async () => {
    const objects = holding(past({ cluster: 'munich' }), past({ cluster: 'munich', id: 'done', endedAt: NOW - HOUR }));
    await ledgerOf(objects).take(claim, signal);
    expect(stored(objects)).toMatchObject({
      rollouts: [{ id: 'done' }, { id: 'b' }],
      undone: [{ cluster: 'munich', claimedAt: NOW - 2 * HOUR }],
    });
  });

  it('is none when somebody wrote meanwhile', async () => {
    const objects = holding();
    objects.before = () =>
      objects.objects.set(ROLLOUT_LEDGER_KEY, { value: { version: 1, rollouts: [past()] }, etag: '"x"' });
    expect(await ledgerOf(objects).take(claim, signal)).toBe(false);
    expect(stored(objects)).toMatchObject({ rollouts: [{ id: 'a' }] });
  });

  it('is one of as many as come at once', async () => {
    await assert(
      asyncProperty(
        array(record({ id: constantFrom('a', 'b', 'c'), cluster: constantFrom('x', 'y', 'z') }), {
          minLength: 2,
          maxLength: 8,
        }),
        integer({ min: 1, max: 3 }),
        async (claims, atOnce) => {
          const objects = memoryObjects();
          const ledger = ledgerOf(objects, { atOnce, pauseMs: 0 });
          await Promise.all(claims.map(async (one) => ledger.take({ ...claim, ...one }, signal)));
          const { rollouts } = await ledger.read(signal);
          expect(rollouts.length).toBeGreaterThan(0);
          expect(rollouts.length).toBeLessThanOrEqual(atOnce);
        },
      ),
      { seed: 20_261_128, numRuns: 100 },
    );
  });
});

describe('what was claimed and never began', () => {
  it('is forgotten after 100 days, and no more than fits', async () => {
    const undone = Array.from({ length: 2000 }, () => ({ cluster: 'oslo', claimedAt: NOW - 99 * DAY }));
    undone[0] = { cluster: 'oslo', claimedAt: NOW - 100 * DAY };
    const objects = memoryObjects({ [ROLLOUT_LEDGER_KEY]: { version: 1, rollouts: [past()], undone } });
    const ledger = ledgerOf(objects);
    expect((await ledger.read(signal)).undone).toHaveLength(1999);
    for (const id of ['a', 'c']) {
      const claimedAt = NOW - 2 * HOUR;
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await ledger.end({ id, cluster: 'berlin', at: NOW, undone: { claimedAt } }, signal);
      const { rollouts: _, ...rest } = stored(objects) as { rollouts: unknown; undone: unknown[] };
      expect(rest.undone).toHaveLength(2000);
      objects.objects.set(ROLLOUT_LEDGER_KEY, {
        value: { version: 1, rollouts: [past({ id: 'c' })], ...rest },
        etag: '"again"',
      });
    }
    expect((await ledger.read(signal)).undone?.slice(-2).map(({ cluster }) => cluster)).toEqual(['berlin', 'berlin']);
  });
});

describe('an end', () => {
  it('is written down once', async () => {
    const objects = holding(past());
    const ledger = ledgerOf(objects);
    await ledger.end({ id: 'a', cluster: 'berlin', at: NOW }, signal);
    const first = objects.objects.get(ROLLOUT_LEDGER_KEY);
    expect(stored(objects)).toEqual({ version: 1, rollouts: [past({ endedAt: NOW })] });
    await ledger.end({ id: 'a', cluster: 'berlin', at: NOW + 1 }, signal);
    await ledger.end({ id: 'unknown', cluster: 'berlin', at: NOW }, signal);
    await ledger.end({ id: 'a', cluster: 'munich', at: NOW }, signal);
    expect(objects.objects.get(ROLLOUT_LEDGER_KEY)).toBe(first);
  });

  it('of what never began stops nobody, and is remembered', async () => {
    const objects = holding(past(), past({ id: 'done', endedAt: NOW - HOUR }));
    const ledger = ledgerOf(objects);
    const undone = { claimedAt: NOW - 2 * HOUR };
    await ledger.end({ id: 'a', cluster: 'berlin', at: NOW, undone }, signal);
    await ledger.end({ id: 'done', cluster: 'berlin', at: NOW, undone }, signal);
    expect(stored(objects)).toEqual({
      version: 1,
      rollouts: [past({ id: 'done', endedAt: NOW - HOUR })],
      undone: [{ cluster: 'berlin', claimedAt: NOW - 2 * HOUR }],
    });
    expect((await ledger.read(signal)).undone).toEqual([{ cluster: 'berlin', claimedAt: NOW - 2 * HOUR }]);
    expect(await ledger.take(claim, signal)).toBe(true);
  });

  it('of what never began leaves what another look claimed', async () => {
    const objects = holding(past());
    const undone = { claimedAt: NOW - 2 * HOUR + 1 };
    await ledgerOf(objects).end({ id: 'a', cluster: 'berlin', at: NOW, undone }, signal);
    expect(stored(objects)).toEqual({ version: 1, rollouts: [past()] });
  });

  it('is tried five times when others write each time, and then is an error', async () => {
    const objects = holding(past());
    let writes = 0;
    const overtake = () => {
      writes += 1;
      objects.objects.set(ROLLOUT_LEDGER_KEY, { value: { version: 1, rollouts: [past()] }, etag: `"other ${writes}"` });
      objects.before = overtake;
    };
    objects.before = overtake;
    const ended = ledgerOf(objects).end({ id: 'a', cluster: 'berlin', at: NOW }, signal);
    await expect(ended).rejects.toMatchObject({ kind: 'conflict', problem: expect.stringContaining('5 writes') });
    expect(writes).toBe(5);
  });

  it('and a claim that cannot be written are errors, not overtaken', async () => {
    const objects = holding(past());
    const ledger = ledgerOf({ ...objects, put: async () => Promise.reject(awsError('denied')) });
    await expect(ledger.end({ id: 'a', cluster: 'berlin', at: NOW }, signal)).rejects.toMatchObject({ kind: 'denied' });
    await expect(ledger.take({ ...claim, trigger: 'person' }, signal)).rejects.toMatchObject({ kind: 'denied' });
  });

  it('is tried again when others write', async () => {
    const objects = holding(past());
    const other = past({ id: 'c', cluster: 'munich' });
    objects.before = () =>
      objects.objects.set(ROLLOUT_LEDGER_KEY, { value: { version: 1, rollouts: [past(), other] }, etag: '"x"' });
    await ledgerOf(objects).end({ id: 'a', cluster: 'berlin', at: NOW }, signal);
    expect(stored(objects)).toEqual({ version: 1, rollouts: [past({ endedAt: NOW }), other] });
  });
});
