import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import { createRolloutLedger, ROLLOUT_LEDGER_KEY } from '../../../lambdas/cluster/rollout-ledger.ts';
import { isJsonObject } from '../../../lambdas/resources/fields.ts';
import { type RolloutLedger, type StepOptions, stepRollout } from '../../../lambdas/rollout/step-rollout.ts';
import type { RolloutState } from '../../../lambdas/tables/rollout-states.ts';
import { type MemoryObjects, memoryObjects } from '../functions/memory-objects.ts';
import { CLUSTER_ID, DAY, days, HOUR, MINUTE, NAME, NAMESPACE, NOW, policy, rawControlPlane } from './fixtures.ts';
import { failure } from './management-cluster.ts';
import { healthyWorld, holdLease, replaceMachines, showing, type World } from './world.ts';

const CONTROL_PLANE = `kubeadmcontrolplanes/${NAME}`;
const CLUSTER = `${NAMESPACE}/${NAME}`;
const { signal } = new AbortController();

interface Fleet {
  readonly world: World;
  readonly state: MemoryObjects;
  readonly ledger: RolloutLedger;
  at: number;
  readonly step: (changes?: Partial<StepOptions>) => ReturnType<typeof stepRollout>;
  /** What is remembered of rollouts. */
  readonly past: () => readonly unknown[];
  readonly patches: () => number;
  readonly annotations: () => Readonly<Record<string, unknown>>;
  readonly lease: () => unknown;
}

function fleet(world = healthyWorld(), remembered?: object): Fleet {
  const state = memoryObjects(remembered === undefined ? {} : { [ROLLOUT_LEDGER_KEY]: remembered });
  const clock = () => made.at;
  const limits = { atOnce: 1, pauseMs: HOUR };
  const ledger = createRolloutLedger({ objects: state, limits, clock });
  const made: Fleet = {
    world,
    state,
    ledger,
    at: NOW,
    step: async (changes = {}) =>
      stepRollout(world.target, { policy: policy(), trigger: 'schedule', ledger, clock, signal, ...changes }),
    past: () => {
      const value = state.objects.get(ROLLOUT_LEDGER_KEY)?.value;
      return isJsonObject(value) && Array.isArray(value['rollouts']) ? value['rollouts'] : [];
    },
    patches: () => world.management.calls.filter((call) => call === `PATCH ${CONTROL_PLANE}`).length,
    annotations: () => {
      const { annotations } = world.management.get(world.paths.controlPlane).metadata;
      return isJsonObject(annotations) ? annotations : {};
    },
    lease: () => world.management.objects.get(world.paths.lease)?.['spec'],
  };
  return made;
}

const rollingOut = (status: string) => {
  const raw = rawControlPlane()['status'];
  const all = isJsonObject(raw) && Array.isArray(raw['conditions']) ? raw['conditions'] : [];
  const now = { status, lastTransitionTime: days(0) };
  const conditions = all.map((one) => (isJsonObject(one) && one['type'] === 'RollingOut' ? { ...one, ...now } : one));
  return { status: { conditions } };
};
const [ROLLS, RESTS] = [rollingOut('True'), rollingOut('False')];

const setMark = ({ management, paths }: World, mark: string | null, more: object = {}) =>
  management.change(paths.controlPlane, { metadata: { annotations: { 'certmarshal.dev/rollout': mark } }, ...more });

const past = (changes: object) => ({
  id: 'earlier',
  cluster: CLUSTER_ID,
  trigger: 'schedule',
  startedAt: NOW - 20 * MINUTE,
  ...changes,
});

describe('a cluster that is due', () => {
  it('is written down, and rolled with one write', async () => {
    const { step, past: remembered, patches, annotations, lease, world } = fleet();
    const { step: planned, written, problems, at } = await step();
    expect(problems).toEqual([]);
    expect(planned).toMatchObject({ kind: 'act', state: 'ready' });
    expect(written).toEqual({ kind: 'written' });
    expect(at).toBe(new Date(NOW).toISOString());
    const id = planned.mark?.id;
    expect(remembered()).toEqual([{ id, cluster: CLUSTER_ID, trigger: 'schedule', startedAt: NOW }]);
    expect(patches()).toBe(1);
    expect(JSON.parse(String(annotations()['certmarshal.dev/rollout']))).toMatchObject({ id });
    expect(lease()).toMatchObject({ holderIdentity: `${CLUSTER} ${id}` });
    expect(world.management.calls).toHaveLength(3);
  });

  it('rolls, is verified, and gives everything back', async () => {
    const made = fleet();
    await made.step();
    made.at += 15 * MINUTE;
    const rolling = await made.step();
    expect(rolling.step.state).toBe('rolling');
    expect(made.lease()).toMatchObject({ renewTime: '2026-11-28T02:45:00.000000Z' });
    made.at += MINUTE;
    await made.step({ holdWrites: 'a dry run' });
    expect(made.lease()).toMatchObject({ renewTime: '2026-11-28T02:45:00.000000Z' });
    replaceMachines(made.world, made.at);
    made.world.management.change(made.world.paths.controlPlane, ROLLS);
    expect(await made.step()).toMatchObject({ step: { state: 'verifying' }, problems: [] });
    expect(made.past()).not.toMatchObject([{ endedAt: expect.anything() }]);
    made.world.management.change(made.world.paths.controlPlane, RESTS);
    made.at += 15 * MINUTE;
    const done = await made.step();
    expect(done.step.state).toBe('done');
    expect(done.problems).toEqual([]);
    expect(made.past()).toMatchObject([{ startedAt: NOW, endedAt: made.at }]);
    expect(made.lease()).toMatchObject({ holderIdentity: '' });
    const calls = made.world.management.calls.length;
    made.at += 15 * MINUTE;
    await made.step();
    expect(made.world.management.calls).toHaveLength(calls);
    expect(made.patches()).toBe(1);
  });

  it('is only planned while writes are held', async () => {
    const { step, past: remembered, world } = fleet();
    const { step: planned, written, problems } = await step({ holdWrites: 'a dry run' });
    expect(planned.kind).toBe('act');
    expect(written).toBeUndefined();
    expect(problems).toMatchObject([{ kind: 'held-back' }]);
    expect(problems[0]?.message).toContain('a dry run');
    expect(world.management.calls).toEqual([]);
    expect(remembered()).toEqual([]);
  });

  it('needs no ledger at a keyboard', async () => {
    const { world } = fleet();
    const options = { policy: undefined, trigger: 'person', clock: () => NOW, signal } as const;
    expect(await stepRollout(world.target, options)).toMatchObject({ written: { kind: 'written' }, problems: [] });
  });

  it('waits for another of the fleet', async () => {
    const rollouts = [past({ cluster: 'other', startedAt: NOW - 2 * HOUR })];
    const { step, patches } = fleet(undefined, { version: 1, rollouts });
    expect(await step()).toMatchObject({ step: { state: 'waiting' } });
    expect(patches()).toBe(0);
  });

  it('does not begin when another of the fleet was faster', async () => {
    const { step, state, patches, past: remembered, lease } = fleet();
    // A second look at once has the same id and time.
    const { id } = (await step({ holdWrites: 'a dry run' })).step.mark ?? {};
    const rollouts = [past({ id: 'theirs', cluster: 'other' }), past({ id, startedAt: NOW })];
    state.before = () => void state.objects.set(ROLLOUT_LEDGER_KEY, { value: { version: 1, rollouts }, etag: '"x"' });
    expect(await step()).toMatchObject({ written: { kind: 'overtaken' }, problems: [] });
    expect(patches()).toBe(0);
    expect(lease()).toMatchObject({ holderIdentity: '' });
    expect(remembered()).toMatchObject([{ id: 'theirs' }, { id }]);
  });

  it.each([
    ['is damaged', { version: 2 }, false],
    ['cannot be read', undefined, true],
  ])('does not begin when the ledger %s', async (_, remembered, broken) => {
    const { step, state, patches } = fleet(undefined, remembered);
    if (broken) state.broken.add(ROLLOUT_LEDGER_KEY);
    const { step: planned, problems } = await step();
    expect(planned.state).toBe('refused');
    expect(planned.checks).toContainEqual(expect.objectContaining({ id: 'fleet-budget', passed: false }));
    expect(problems).toHaveLength(broken ? 1 : 0);
    expect(patches()).toBe(0);
  });
});

describe('the ledger', () => {
  const mark = { id: 'a', start: days(-1 / 8), reason: 'x', trigger: 'person' };
  const spec = { rollout: { after: mark.start } };
  it.each<[RolloutState, (world: World) => void]>([
    ['off', ({ management, paths }) => management.change(paths.eksAnywhere, { metadata: { annotations: null } })],
    ['idle', (world) => replaceMachines(world, NOW - DAY)],
    ['foreign', (world) => setMark(world, null, ROLLS)],
    ['expired', ({ shown }) => void shown.set('10.0.1.31:6443', showing({ notAfter: NOW }))],
    ['done', (world) => (replaceMachines(world, NOW - HOUR), setMark(world, JSON.stringify(mark), { spec }))],
    ['aborted', (world) => setMark(world, JSON.stringify({ ...mark, abortedAt: days(0) }), { spec, ...ROLLS })],
  ])('is not asked by what is %s', async (state, prepare) => {
    const made = fleet();
    const read = vi.fn<RolloutLedger['read']>(async (...of) => made.ledger.read(...of));
    made.world.management.change(made.world.paths.controlPlane, { spec: { rollout: { after: days(-400) } } });
    prepare(made.world);
    expect(await made.step({ ledger: { ...made.ledger, read } })).toMatchObject({ step: { state } });
    expect(read).not.toHaveBeenCalled();
  });

  it.each(['read', 'take', 'end'] as const)('is told where it fails to %s, and nobody hides a bug', async (call) => {
    const slow = new AwsError({ kind: 'throttled', object: 's3:X', problem: 'slow', remedy: 'Wait.' });
    for (const error of [slow, new TypeError('a bug')]) {
      const made = fleet();
      if (call === 'end') setMark(made.world, JSON.stringify({ ...mark, abortedAt: days(0) }));
      const fails = async () => Promise.reject(error);
      const stepped = made.step({ ledger: { ...made.ledger, [call]: fails } }).catch((thrown: unknown) => thrown);
      expect(await stepped).toMatchObject(
        error === slow ? { problems: [{ kind: 'throttled' }] } : { message: 'a bug' },
      );
      expect(made.patches()).toBe(0);
    }
  });

  it('forgets what was claimed and never began, and the same cluster begins', async () => {
    const { step, past: remembered, world } = fleet(undefined, { version: 1, rollouts: [past({})] });
    world.management.change(world.paths.controlPlane, { spec: { rollout: { after: days(-400) } } });
    await step({ holdWrites: 'a dry run' });
    expect(remembered()).toEqual([past({})]);
    const { written, step: planned } = await step();
    expect(written).toEqual({ kind: 'written' });
    expect(remembered()).toMatchObject([{ id: planned.mark?.id }]);
  });

  it('remembers what was claimed and never began, and begins it no fourth time', async () => {
    const made = fleet();
    // A server that takes what it is told and keeps nothing of it.
    const before = structuredClone(made.world.management.get(made.world.paths.controlPlane));
    const states: string[] = [];
    for (let looks = 0; looks < 5; looks += 1) {
      // oxlint-disable-next-line no-await-in-loop -- time goes on
      const { step: planned } = await made.step();
      states.push(planned.state);
      made.world.management.put(made.world.paths.controlPlane, structuredClone(before));
      made.at += 16 * MINUTE;
    }
    expect(states).toEqual(['ready', 'ready', 'ready', 'refused', 'refused']);
    expect(made.past()).toEqual([]);
    const { step: planned } = await made.step();
    expect(planned).toMatchObject({ kind: 'hold', reasons: [{ id: 'loop-guard' }] });
  });

  it('takes what went on for longer than a turn for begun, whatever the cluster shows', async () => {
    const made = fleet(undefined, { version: 1, rollouts: [past({ startedAt: NOW - 7 * HOUR })] });
    expect(await made.step()).toMatchObject({ step: { state: 'waiting' } });
    expect(made.past()).toMatchObject([{ id: 'earlier', endedAt: NOW }]);
  });

  it('keeps what was claimed a quarter of an hour ago', async () => {
    const made = fleet(undefined, { version: 1, rollouts: [past({ startedAt: NOW - 15 * MINUTE })] });
    expect(await made.step()).toMatchObject({ step: { state: 'waiting' } });
    expect(made.past()).toMatchObject([{ id: 'earlier' }]);
  });

  it('keeps what was claimed while its cluster, or the mark of it, cannot be read', async () => {
    const made = fleet(undefined, { version: 1, rollouts: [past({})] });
    made.world.management.before = ({ path }) => {
      if (path.includes('kubeadmcontrolplanes')) throw failure('forbidden');
    };
    await made.step();
    expect(made.past()).toEqual([past({})]);
    made.world.management.before = undefined;
    setMark(made.world, '?');
    await made.step();
    expect(made.past()).toEqual([past({})]);
  });

  it('keeps what rolls, though nothing else says so', async () => {
    const made = fleet();
    await made.step();
    made.at += HOUR;
    setMark(made.world, '?');
    expect(await made.step()).toMatchObject({ step: { state: 'held' } });
    expect(made.past()).toHaveLength(1);
  });

  it.each(['All', undefined])('has no entry of what was refused with dryRun=%s', async (dryRun) => {
    const { step, world, past: remembered, lease } = fleet();
    world.management.before = ({ method, query, path }) => {
      if (method === 'PATCH' && path.endsWith(CONTROL_PLANE) && query?.['dryRun'] === dryRun)
        throw failure('invalid', { problem: 'frozen' });
    };
    const { written, problems } = await step();
    expect(written).toMatchObject({ kind: 'refused', problem: { message: 'frozen' } });
    expect(problems).toMatchObject([{ message: 'frozen' }]);
    expect(remembered()).toEqual([]);
    expect(lease()).toMatchObject({ holderIdentity: '' });
  });
});

describe('what the ledger has of a rollout that goes on', () => {
  it.each([0, 1000])('is not lost when a second look, %i ms later, was slower', async (apart) => {
    const made = fleet();
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const late: RolloutLedger = {
      ...made.ledger,
      async read(reading) {
        const history = await made.ledger.read(reading);
        await gate;
        return history;
      },
    };
    const second = made.step({ ledger: late, clock: () => NOW + apart });
    const { step: first, written } = await made.step();
    expect(written).toEqual({ kind: 'written' });
    release();
    expect((await second).written).not.toEqual({ kind: 'written' });
    expect(made.past()).toMatchObject([{ id: first.mark?.id }]);
  });

  it('is what was claimed: a person who began it has the Lease, and no turn of the fleet', async () => {
    const made = fleet();
    await stepRollout(made.world.target, { policy: undefined, trigger: 'person', clock: () => NOW, signal });
    made.at += MINUTE;
    const { step, problems } = await made.step();
    expect(problems).toEqual([]);
    expect(step.state).toBe('rolling');
    expect(made.past()).toEqual([]);
    expect(made.lease()).toMatchObject({ renewTime: '2026-11-28T02:31:00.000000Z' });
  });

  it('is not what its owner says: a mark takes no turn of the fleet, and no Lease', async () => {
    const made = fleet();
    for (const hours of [0, 1, 24, 24 * 15, 24 * 29]) {
      made.at = NOW + hours * HOUR;
      const start = new Date(made.at - MINUTE).toISOString().replace('.000Z', 'Z');
      const mark = { id: `forged-${hours}`, start, reason: 'x', trigger: 'person' };
      setMark(made.world, JSON.stringify(mark), { spec: { rollout: { after: start } }, ...ROLLS });
      // oxlint-disable-next-line no-await-in-loop -- time goes on
      expect(await made.step()).toMatchObject({ step: { state: 'rolling' } });
      expect(made.past()).toEqual([]);
      expect(made.lease()).toBeUndefined();
    }
  });

  it('is no Lease that was never given back: after three days another has it, and it is not asked for again', async () => {
    const made = fleet();
    await made.step();
    made.at += 73 * HOUR;
    holdLease(made.world, `${NAMESPACE}/milan-prod a`, made.at);
    expect(await made.step()).toMatchObject({ step: { state: 'held' }, problems: [] });
    expect(made.lease()).toMatchObject({ holderIdentity: `${NAMESPACE}/milan-prod a` });
  });

  it('ends where somebody removed the mark, as soon as nothing moves', async () => {
    const made = fleet();
    await made.step();
    made.at += 5 * MINUTE;
    setMark(made.world, null, ROLLS);
    made.at += 20 * MINUTE;
    await made.step();
    expect(made.past()).toMatchObject([{ startedAt: NOW }]);
    expect(made.past()).not.toMatchObject([{ endedAt: expect.anything() }]);
    replaceMachines(made.world, made.at);
    made.world.management.change(made.world.paths.controlPlane, RESTS);
    made.at += HOUR;
    await made.step();
    expect(made.past()).toMatchObject([{ startedAt: NOW, endedAt: made.at }]);
  });

  it('ends with its cluster', async () => {
    const made = fleet();
    await made.step();
    made.world.management.remove(made.world.paths.cluster);
    made.world.management.remove(made.world.paths.controlPlane);
    made.at += 20 * MINUTE;
    expect(await made.step({ policy: undefined })).toMatchObject({ step: { state: 'off' } });
    expect(made.past()).toMatchObject([{ startedAt: NOW, endedAt: made.at }]);
  });
});

describe('a maintenance window', () => {
  /** One that is over, and those that are open for so long. */
  const closing = (...open: readonly number[]) => {
    const iso = (at: number) => new Date(NOW + at).toISOString();
    return policy({ windows: [-MINUTE, ...open].map((ms) => ({ from: iso(-HOUR), until: iso(ms) })) });
  };
  /** Holds the dry run back until the call is told to stop, or for so long. */
  const slow = (ms: number) => {
    const world = healthyWorld();
    const { client } = world.management;
    const request: typeof client.request = async (call) => {
      if (call.query?.['dryRun'] === 'All') {
        await sleep(ms, undefined, { signal: call.signal }).catch(() => {
          throw failure('aborted');
        });
      }
      return client.request(call);
    };
    return fleet({ ...world, target: { ...world.target, management: { ...client, request } } });
  };

  it('ends what has not begun when it closes', async () => {
    const made = slow(10_000);
    const { written } = await made.step({ policy: closing(100) });
    expect(written).toMatchObject({ kind: 'failed' });
    expect(made.patches()).toBe(0);
    expect(made.past()).toEqual([]);
    expect(made.lease()).toMatchObject({ holderIdentity: '' });
  });

  it('that is open for months stops nothing', async () => {
    const made = slow(100);
    expect(await made.step({ policy: closing(10, 90 * DAY) })).toMatchObject({ written: { kind: 'written' } });
    expect(await fleet().step({ policy: policy({ windows: [] }) })).toMatchObject({ written: { kind: 'written' } });
  });

  it('is nothing to a person', async () => {
    const made = slow(200);
    expect((await made.step({ policy: closing(100), trigger: 'person' })).written).toEqual({ kind: 'written' });
  });
});

describe('a crash', () => {
  const CRASH = new Error('the function was stopped');
  const crashes: readonly [string, (method: string, dryRun: boolean) => boolean, boolean][] = [
    ['before the Lease', (method) => method === 'POST', false],
    ['before the dry run', (method, dryRun) => method === 'PATCH' && dryRun, false],
    ['before the write', (method, dryRun) => method === 'PATCH' && !dryRun, false],
    ['after the dry run', (method, dryRun) => method === 'PATCH' && dryRun, true],
    ['after the write', (method, dryRun) => method === 'PATCH' && !dryRun, true],
  ];

  it.each(crashes)('%s leaves one rollout, in the end', async (when, isIt, afterwards) => {
    const made = fleet();
    const { management } = made.world;
    management[afterwards ? 'after' : 'before'] = ({ method, query }) => {
      if (isIt(method, query?.['dryRun'] === 'All')) throw CRASH;
    };
    await expect(made.step()).rejects.toThrow(CRASH);
    management.before = undefined;
    management.after = undefined;
    const stored = () => made.annotations()['certmarshal.dev/rollout'];
    const begun = stored();
    for (let looks = 0; looks < 4; looks += 1) {
      made.at += 16 * MINUTE;
      await made.step();
    }
    expect(stored()).toBeDefined();
    expect([undefined, stored()]).toContain(begun);
    const { id } = JSON.parse(String(stored()));
    expect(made.past()).toMatchObject([{ id }]);
    expect(made.lease()).toMatchObject({ holderIdentity: `${CLUSTER} ${id}` });
    const began = management.made.filter(
      ({ body, query }) => JSON.stringify(body ?? {}).includes('"after"') && query?.['dryRun'] === undefined,
    );
    // Of a write that never came to the server there is another one.
    expect(began).toHaveLength(when === 'before the write' ? 2 : 1);
  });

  it('without an answer is seen by the next look', async () => {
    const made = fleet();
    made.world.management.after = ({ method, query }) => {
      if (method === 'PATCH' && query?.['dryRun'] === undefined) throw failure('timeout');
    };
    expect(await made.step()).toMatchObject({ written: { kind: 'unknown' } });
    expect(made.past()).toHaveLength(1);
    made.world.management.after = undefined;
    made.at += MINUTE;
    expect(await made.step()).toMatchObject({ step: { state: 'rolling' }, problems: [] });
    expect(made.patches()).toBe(1);
  });
});

it.each(['schedule', 'person'] as const)('of two looks at once one writes, for a %s', async (trigger) => {
  const made = fleet();
  const looks = await Promise.all([made.step({ trigger }), made.step({ trigger })]);
  expect(looks.filter(({ written }) => written?.kind === 'written')).toHaveLength(1);
  expect(made.patches()).toBe(1);
});

describe('the Lease', () => {
  it('comes back to a rollout that lost it', async () => {
    const made = fleet();
    const { step } = await made.step();
    made.world.management.remove(made.world.paths.lease);
    made.at += MINUTE;
    await made.step();
    expect(made.lease()).toMatchObject({ holderIdentity: `${CLUSTER} ${step.mark?.id}` });
  });

  it('comes back to a rollout of a person at a keyboard, where no ledger says whose turn it is, until that is done', async () => {
    const made = fleet();
    const look = async () =>
      stepRollout(made.world.target, { policy: undefined, trigger: 'person', clock: () => made.at, signal });
    const { step } = await look();
    made.world.management.remove(made.world.paths.lease);
    made.at += MINUTE;
    await look();
    expect(made.lease()).toMatchObject({ holderIdentity: `${CLUSTER} ${step.mark?.id}` });
    replaceMachines(made.world, made.at);
    made.at += HOUR;
    await look();
    // Whoever writes a mark that nobody can read has no Lease.
    setMark(made.world, '?');
    await look();
    expect(made.lease()).toMatchObject({ holderIdentity: '' });
  });

  it('of another is told while this one rolls', async () => {
    const made = fleet();
    await made.step();
    holdLease(made.world, `${NAMESPACE}/milan-prod a`, made.at);
    made.at += MINUTE;
    expect(await made.step()).toMatchObject({ step: { state: 'rolling' }, problems: [{ kind: 'locked' }] });
  });

  it('of another is taken over by a person who names the waiver, and never by the schedule', async () => {
    const made = fleet();
    holdLease(made.world, `${NAMESPACE}/milan-prod a`, made.at);
    const theirs = { holderIdentity: `${NAMESPACE}/milan-prod a` };
    const waivers = ['one-of-its-management-cluster'] as const;
    expect(await made.step({ waivers })).toMatchObject({ step: { state: 'waiting' } });
    expect(await made.step({ trigger: 'person' })).toMatchObject({ step: { state: 'waiting' } });
    // Its time is too far ahead for the plan, and no more when the Lease is taken.
    holdLease(made.world, theirs.holderIdentity, made.at + 10 * MINUTE + 1500);
    const clock = () => (made.at += 1000);
    expect(await made.step({ trigger: 'person', clock })).toMatchObject({ written: { kind: 'locked' } });
    expect(made.lease()).toMatchObject(theirs);
    expect(made.patches()).toBe(0);
    const { step, written } = await made.step({ trigger: 'person', waivers });
    expect(written).toEqual({ kind: 'written' });
    expect(made.lease()).toMatchObject({ holderIdentity: `${CLUSTER} ${step.mark?.id}` });
    expect(made.patches()).toBe(1);
  });

  it('that a crash left is given back when nothing begins any more', async () => {
    const made = fleet();
    holdLease(made.world, `${CLUSTER} a`, NOW - 15 * MINUTE);
    await made.step({ policy: undefined });
    expect(made.lease()).toMatchObject({ holderIdentity: `${CLUSTER} a` });
    made.at += MINUTE;
    await made.step({ policy: undefined });
    expect(made.lease()).toMatchObject({ holderIdentity: '' });
  });
});

it('a rollout that was aborted keeps its Lease and its place while anything moves, however long', async () => {
  const made = fleet();
  await made.step();
  const mark = JSON.parse(String(made.annotations()['certmarshal.dev/rollout']));
  setMark(made.world, JSON.stringify({ ...mark, abortedAt: '2026-11-28T02:31:00Z' }), {
    spec: { rollout: { after: null } },
    ...ROLLS,
  });
  made.at += 20 * MINUTE;
  await made.step();
  expect(made.lease()).toMatchObject({
    holderIdentity: `${CLUSTER} ${mark.id}`,
    renewTime: new Date(made.at).toISOString().replace('Z', '000Z'),
  });
  expect(made.past()).not.toMatchObject([{ endedAt: expect.anything() }]);
  made.world.management.change(made.world.paths.controlPlane, RESTS);
  made.at += 15 * DAY;
  await made.step();
  expect(made.lease()).toMatchObject({ holderIdentity: '' });
  expect(made.past()).toMatchObject([{ endedAt: made.at }]);
});

it('a rollout that is held keeps its Lease and its place', async () => {
  const made = fleet();
  await made.step();
  made.at += 50 * MINUTE;
  const held = await made.step();
  expect(held).toMatchObject({ step: { kind: 'hold', state: 'held' }, written: { kind: 'written' } });
  expect(made.annotations()).toHaveProperty(['certmarshal.dev/rollout-hold']);
  made.at += 2 * DAY;
  await made.step();
  expect(made.lease()).toMatchObject({ renewTime: new Date(made.at).toISOString().replace('Z', '000Z') });
  expect(made.past()).toMatchObject([{ startedAt: NOW }]);
  expect(made.past()).not.toMatchObject([{ endedAt: expect.anything() }]);
});
