import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { DEFAULT_MONITORING } from '../../../lambdas/config/fleet.ts';
import { parseNotificationState } from '../../../lambdas/contracts/notification-state.ts';
import { createNotifyHandler } from '../../../lambdas/functions/handle-notify.ts';
import { openAlarms } from '../../../lambdas/notify/notification-state.ts';
import { createLogger, createMetrics } from '../../../lambdas/telemetry/telemetry.ts';
import { runs } from '../../runs.ts';
import { at, DAY, index, indexed, MINUTE, NOW, PARIS, registered, registry } from '../fleet/values.ts';
import { captureStdout } from '../telemetry/capture-stdout.ts';
import { awsError, memoryObjects } from './memory-objects.ts';

const IDS = ['paris', 'oslo', 'rome'];
const LOOK = { look: true };
/** A fleet, a bucket and somebody who reads every event; `turn` is waited for in every call. */
function world(turn: () => Promise<void>) {
  const targets = IDS.map((id) => registered(id, { target: { ...PARIS, id }, foundAt: at(-DAY) }));
  const memory = memoryObjects({ 'registry.json.gz': registry(...targets) });
  let now = NOW;
  const [open, wrong]: [Set<string>, string[]] = [new Set(), []];
  /** What is open and was healthy since it opened: it may open again, and its end need not have been told. */
  const healthySince = new Set<string>();
  const read = (state: string, id: string): void => {
    if ((state === 'opened') === open.has(id) && !(state === 'opened' && healthySince.has(id)))
      wrong.push(`${id} ${state} twice`);
    healthySince.delete(id);
    if (state === 'opened') open.add(id);
    else open.delete(id);
  };
  /** As a paging service does: by AlarmName. */
  const paged = new Set<string>();
  const pages: string[] = [];
  let blocked: Promise<void> | undefined;
  const page = ({ AlarmName: name, NewStateValue: state }: { AlarmName: string; NewStateValue: string }): void => {
    pages.push(`${state} ${name}`);
    if (state === 'ALARM') paged.add(name);
    else paged.delete(name);
  };
  const chat: string[] = [];
  const metrics = createMetrics('notify');
  const handler = (lives: () => Promise<void>) => {
    const call = async <T>(does: () => T | Promise<T>): Promise<T> => {
      await turn();
      await lives();
      const made = await does();
      await lives();
      return made;
    };
    return createNotifyHandler({
      state: {
        ...memory,
        get: async (key, signal) =>
          key === 'told.json' ? call(() => memory.get(key, signal)) : memory.get(key, signal),
        put: async (key, value, etag, signal) => call(() => memory.put(key, value, etag, signal)),
      },
      monitoring: { ...DEFAULT_MONITORING, auditEveryMinutes: 15 },
      publish: async (topic, { message }) => {
        if (topic === 'pager') await blocked;
        await call(() => {
          const document = JSON.parse(JSON.parse(message).https);
          if (topic === 'pager') page(document);
          else if (topic === 'chat') chat.push(document.metadata.threadId);
          else for (const { state, cluster } of document.events) read(state, cluster ?? '-');
        });
      },
      place: { partition: 'aws', region: 'eu-central-1', account: '111122223333' },
      putEvents: async () => call(() => ({ unsent: [] })),
      link: undefined,
      clock: () => now,
      random: () => 0,
      wait: turn,
      logger: createLogger('notify'),
      metrics,
    });
  };
  return {
    open,
    paged,
    pages,
    chat,
    wrong,
    /** Nothing more reaches the pager until what is returned is called. What is under way by then comes late. */
    blockPager: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      blocked = promise;
      return () => {
        blocked = undefined;
        resolve();
      };
    },
    pass: (minutes: number) => void (now += minutes * MINUTE),
    ring: (unwell: readonly string[]) => {
      for (const id of open) if (!unwell.includes(id)) healthySince.add(id);
      const clusters = IDS.map((id) =>
        indexed(id, unwell.includes(id) ? { readable: false, readableAt: at(-60 * MINUTE) } : {}),
      );
      memory.objects.set('fleet-index.json.gz', { value: index(...clusters), etag: '"i"' });
    },
    said: (state: string, early = 0) => ({
      Records: [
        {
          Sns: {
            Message: JSON.stringify({
              AlarmName: 'certmarshal-cluster-unreadable',
              NewStateValue: state,
              StateChangeTime: new Date(now - early * MINUTE).toISOString(),
            }),
          },
        },
      ],
    }),
    /** @param dies in the call of this number: before it does anything, or after */
    run: async (event: unknown, dies = Number.POSITIVE_INFINITY) => {
      let moment = 0;
      // As when Lambda ends the process: no call comes back.
      const death = Promise.withResolvers<void>();
      const notify = handler(async () => {
        moment += 1;
        if (moment <= dies) return;
        death.resolve();
        await new Promise(() => undefined);
      });
      await Promise.race([notify(event, new AbortController().signal), death.promise]);
    },
    remembered: () =>
      openAlarms(parseNotificationState(memory.objects.get('told.json')?.value, now + DAY) ?? { open: {} }),
  };
}

const kind = fc.constantFrom('ALARM', 'OK', 'look', 'late ALARM', 'late OK');
const steps = fc.array(
  fc.record({
    unwell: fc.option(fc.subarray(IDS), { nil: undefined }),
    minutes: fc.integer({ min: 1, max: 12 }),
    atOnce: fc.array(kind, { minLength: 1, maxLength: 3 }),
    dies: fc.integer({ min: 0, max: 14 }),
  }),
  { maxLength: 12 },
);

describe('people, whatever comes at once, late, twice or ends in between', () => {
  let output: ReturnType<typeof captureStdout>;
  beforeAll(() => {
    output = captureStdout();
  });
  afterAll(() => output.restore());

  it.each([
    ['are told nothing twice', false],
    ['are told everything, though notify dies at any moment', true],
  ])('%s', async (_, deadly) => {
    await fc.assert(
      fc.asyncProperty(steps, fc.scheduler(), async (all, scheduler) => {
        let isCalm = false;
        const one = world(async () => (isCalm ? undefined : scheduler.schedule(Promise.resolve())));
        let unwell: readonly string[] = [];
        one.ring(unwell);
        for (const step of all) {
          unwell = step.unwell ?? unwell;
          one.ring(unwell);
          one.pass(step.minutes);
          const calls = step.atOnce.map(async (what) => {
            const late = what.startsWith('late') ? 3 : 0;
            const event = what === 'look' ? LOOK : one.said(what.replace('late ', ''), late);
            return one.run(event, deadly ? step.dies : undefined);
          });
          await scheduler.waitFor(Promise.all(calls));
          if (!deadly) await scheduler.waitFor(one.run(LOOK));
        }
        isCalm = true;
        // Of an alarm that names nobody each change is told.
        expect(deadly ? [] : one.wrong.filter((what) => !what.startsWith('-'))).toEqual([]);
        // CloudWatch goes on, and so do the looks.
        one.ring(IDS);
        one.pass(3);
        await one.run(one.said('ALARM'));
        for (let turn = 0; turn < 5; turn += 1) {
          one.pass(5);
          await one.run(LOOK);
        }
        expect(IDS.filter((id) => !one.open.has(id))).toEqual([]);
        expect(IDS.filter((id) => !one.paged.has(`ClusterUnreadable ${id}`))).toEqual([]);
        one.ring([]);
        for (let turn = 0; turn < 5; turn += 1) {
          one.pass(5);
          await one.run(LOOK);
        }
        expect(one.remembered()).toEqual([]);
        expect([...one.open].filter((id) => id !== '-')).toEqual([]);
        expect([...one.paged].filter((key) => key !== 'ClusterUnreadable')).toEqual([]);
      }),
      { seed: 41, numRuns: runs(20) },
    );
  });

  it('get one message of two hundred at once', async () => {
    let published = 0;
    const one = world(async () => new Promise((resolve) => void setImmediate(resolve)));
    one.ring(IDS);
    const before = one.open.add.bind(one.open);
    one.open.add = (id) => {
      published += 1;
      return before(id);
    };
    await Promise.all(Array.from({ length: 200 }, async (_, early) => one.run(one.said('ALARM', early / 60_000))));
    expect([published, one.wrong]).toEqual([3, []]);
    expect(one.chat.toSorted()).toEqual(IDS.map((id) => `ClusterUnreadable ${id}`).toSorted());
  });

  it('hear of a flapping cluster once, and of its end once', async () => {
    const one = world(async () => undefined);
    for (let turn = 0; turn < 12; turn += 1) {
      one.ring(turn % 2 === 0 ? ['paris'] : []);
      await one.run(one.said(turn % 2 === 0 ? 'ALARM' : 'OK'));
      expect([...one.open]).toEqual(['paris']);
      one.pass(5);
      await one.run(LOOK);
    }
    for (let turn = 0; turn < 4; turn += 1) {
      one.pass(5);
      await one.run(LOOK);
    }
    expect([[...one.open], one.wrong]).toEqual([[], []]);
  });

  /** Rings again while another run still sends the end of the incident. */
  async function endedLate(one: ReturnType<typeof world>) {
    one.ring(['paris']);
    await one.run(one.said('ALARM'));
    one.ring([]);
    for (let turn = 0; turn < 3; turn += 1) {
      one.pass(5);
      await one.run(LOOK);
    }
    one.pass(5);
    const release = one.blockPager();
    const late = one.run(LOOK);
    await vi.waitFor(() => expect([...one.open]).toEqual([]));
    one.ring(['paris']);
    one.pass(1);
    return { release, late };
  }

  it('are paged of a new beginning after the end before it, though another run sends that one late', async () => {
    const one = world(async () => undefined);
    const { release, late } = await endedLate(one);
    const next = one.run(one.said('ALARM'));
    await vi.waitFor(() => expect([...one.open]).toEqual(['paris']));
    release();
    await Promise.all([late, next]);
    one.pass(5);
    await one.run(LOOK);
    expect(one.pages).toEqual(['ALARM', 'OK', 'ALARM'].map((state) => `${state} ClusterUnreadable paris`));
  });

  it('are paged of it at once where that run is done within seconds', async () => {
    const one = world(async () => new Promise((resolve) => void setImmediate(resolve)));
    const { release, late } = await endedLate(one);
    const add = one.open.add.bind(one.open);
    one.open.add = (id) => {
      release();
      return add(id);
    };
    await Promise.all([late, one.run(one.said('ALARM'))]);
    expect(one.pages).toEqual(['ALARM', 'OK', 'ALARM'].map((state) => `${state} ClusterUnreadable paris`));
  });

  it('hear of an end that could not be read, and of the next beginning', async () => {
    const one = world(async () => undefined);
    one.ring(['paris']);
    await one.run(one.said('ALARM'));
    one.pass(20);
    // Still in the index: the message is used up, and no look comes.
    await one.run(one.said('OK'));
    one.pass(300);
    one.open.clear();
    await one.run(one.said('ALARM'));
    expect([...one.open]).toEqual(['paris']);
  });

  it('are told by the next run when SNS did not answer', async () => {
    const state = memoryObjects({ 'registry.json.gz': registry() });
    let broken = true;
    let sent = 0;
    const notify = createNotifyHandler({
      state,
      monitoring: { ...DEFAULT_MONITORING, auditEveryMinutes: 15 },
      publish: async (topic) => {
        if (broken) throw awsError('unavailable', 'sns:Publish');
        if (topic === 'critical') sent += 1;
      },
      place: { partition: 'aws', region: 'eu-central-1', account: '111122223333' },
      putEvents: async () => ({ unsent: [] }),
      link: undefined,
      clock: () => NOW,
      random: () => 0,
      wait: async () => undefined,
      logger: createLogger('notify'),
      metrics: createMetrics('notify'),
    });
    const message = { AlarmName: 'certmarshal-plan-heartbeat', NewStateValue: 'ALARM', StateChangeTime: at() };
    const event = { Records: [{ Sns: { Message: JSON.stringify(message) } }] };
    const { signal } = new AbortController();
    await expect(notify(event, signal)).rejects.toThrow('sns:Publish');
    broken = false;
    await notify(event, signal);
    await notify(event, signal);
    expect(sent).toBe(1);
  });
});
