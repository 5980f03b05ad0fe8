import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  charged,
  createProcessorBudget,
  eachInTurns,
  inTurns,
  PROCESSOR_MS,
  ProcessorTimeError,
  stepsInTurns,
} from '../../lambdas/processor-time.ts';
import type { Steps } from '../../lambdas/steps.ts';

/** A clock that only work moves. */
function clockOf() {
  let at = 0;
  return {
    now: () => at,
    take: (ms: number) => {
      at += ms;
    },
  };
}

/** How often others had their turn while this was done. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let over = false;
  const count = (): void => {
    if (over) return;
    turns += 1;
    setImmediate(count);
  };
  setImmediate(count);
  await work();
  over = true;
  return turns;
}

const TEN = Array.from({ length: 10 }, (_, index) => index);

describe('work on many items', () => {
  it.each<[string, typeof eachInTurns]>([
    ['eachInTurns', eachInTurns],
    [
      'inTurns',
      async (items, work, now) => {
        for await (const _ of inTurns(items, work, now));
      },
    ],
    [
      'stepsInTurns',
      async (items, work, now) => {
        const steps = function* (): Steps<void> {
          for (const item of items) {
            work(item);
            yield;
          }
        };
        await stepsInTurns(steps(), now);
      },
    ],
  ])('%s gives the thread away every 20 ms', async (_, each) => {
    for (const [ms, turns] of [
      [0, 0],
      [1, 0],
      [10, 5],
      [20, 10],
      [500, 10],
    ] as const) {
      const clock = clockOf();
      const seen: number[] = [];
      const given = await turnsDuring(async () =>
        each(
          TEN,
          (item) => {
            seen.push(item);
            clock.take(ms);
          },
          clock.now,
        ),
      );
      expect(seen).toEqual(TEN);
      expect([ms, given]).toEqual([ms, turns]);
    }
  });

  it('is made as it is asked for, and not after that', async () => {
    const made: number[] = [];
    for await (const item of inTurns(TEN, (one) => {
      made.push(one);
      return one * 2;
    }))
      if (item === 4) break;
    expect(made).toEqual([0, 1, 2]);
  });

  it('fails as its work fails', async () => {
    const fails = (): never => {
      throw new TypeError('a bug');
    };
    await expect(eachInTurns(TEN, fails)).rejects.toThrow('a bug');
    await expect(inTurns(TEN, fails).next()).rejects.toThrow('a bug');
    await expect(eachInTurns([], fails)).resolves.toBeUndefined();
  });
});

describe('createProcessorBudget', () => {
  it('ends its signal when all pieces of work together took more, and says why', async () => {
    const clock = clockOf();
    const budget = createProcessorBudget({ cpuMs: clock.now });
    const states = await budget.run(async () => {
      charged(() => clock.take(PROCESSOR_MS - 1000));
      await eachInTurns(TEN, () => clock.take(50));
      await nextTurn();
      for await (const _ of inTurns(TEN, () => clock.take(50)));
      const before = budget.signal.aborted;
      charged(() => clock.take(1));
      return [before, budget.signal.aborted];
    });
    expect(states).toEqual([false, true]);
    expect(budget.signal.reason).toBeInstanceOf(ProcessorTimeError);
    expect(budget.signal.reason).toMatchObject({
      message: 'reading and judging it took over 5 s of processor time, the limit for one sweep of a cluster',
      remedy: expect.stringMatching(/^Find out who creates so many/),
    });
  });

  it.each([
    [[900, 900, 900], false],
    [[100, 1_000], false],
    [[1_001], true],
    [Array(6).fill(900), true],
  ])('says of pieces of %j ms whether the work is heavy: %j', async (pieces, isHeavy) => {
    const clock = clockOf();
    const budget = createProcessorBudget({ cpuMs: clock.now });
    await budget.run(async () => pieces.forEach((ms) => charged(() => clock.take(ms))));
    expect(budget.isHeavy()).toBe(isHeavy);
  });

  it('does not charge what one waits for, and what others do meanwhile', async () => {
    const clock = clockOf();
    const limits = { limitMs: 100, cpuMs: clock.now };
    const honest = createProcessorBudget(limits);
    const hostile = createProcessorBudget(limits);
    await Promise.all([
      honest.run(async () => {
        for await (const _ of inTurns(TEN, () => clock.take(10))) await nextTurn();
      }),
      hostile.run(async () => {
        for await (const _ of inTurns(TEN, () => clock.take(1_000))) await nextTurn();
      }),
    ]);
    clock.take(1_000_000);
    expect([honest.signal.aborted, hostile.signal.aborted]).toEqual([false, true]);
  });

  it('charges work that fails', async () => {
    const clock = clockOf();
    const budget = createProcessorBudget({ limitMs: 10, cpuMs: clock.now });
    const failing = budget.run(async () =>
      charged(() => {
        clock.take(11);
        throw new TypeError('a bug');
      }),
    );
    await expect(failing).rejects.toThrow('a bug');
    expect(budget.signal.aborted).toBe(true);
  });

  it('is by the processor time of this thread', async () => {
    const budget = createProcessorBudget({ limitMs: -1 });
    await budget.run(async () => charged(() => undefined));
    expect(budget.signal.aborted).toBe(true);
  });
});
