import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ROLLOUT_LEDGER_KEY } from '../../../lambdas/cluster/rollout-ledger.ts';
import { read } from '../../../lambdas/contracts/contract.ts';
import { parseFleetIndex } from '../../../lambdas/contracts/fleet-index.ts';
import { RolloutSummary } from '../../../lambdas/contracts/rollout-summary.ts';
import { foldOutcomes } from '../../../lambdas/fleet/fold-outcomes.ts';
import { STATE_KEYS } from '../../../lambdas/fleet/state-keys.ts';
import type { MachineProgress, RolloutProgress } from '../../../lambdas/rollout/progress.ts';
import type { RolloutHold, RolloutStep } from '../../../lambdas/rollout/step.ts';
import { isUnderWay, summaryOf } from '../../../lambdas/rollout/summary.ts';
import { ROLLOUT_STATES } from '../../../lambdas/tables/rollout-states.ts';
import { LAST_INSTANT } from '../../../lambdas/time.ts';
import { valueOf } from '../contracts/value-of.ts';
import { readOutcome, roundTrip } from '../fleet/decode-outcome.ts';
import { at, DAY, MINUTE, NOW, rolloutSummary, swept } from '../fleet/values.ts';

const MARK = { id: 'berlin-20261121', start: '2026-11-21T09:00:00Z', reason: 'it ends', trigger: 'schedule' } as const;

const machine = (changed: Partial<MachineProgress> = {}): MachineProgress => ({
  name: 'berlin-cp-a',
  node: 'cp-a',
  state: 'verified',
  createdAt: NOW - 50 * MINUTE,
  served: {
    kind: 'certificate',
    address: '10.0.0.1:6443',
    notBefore: NOW - 50 * MINUTE,
    notAfter: NOW + 365 * DAY,
    fingerprint: 'ab',
  },
  unhealthy: [],
  ...changed,
});

const progress = (changed: Partial<RolloutProgress> = {}): RolloutProgress => ({
  wanted: 1,
  replaced: 1,
  verified: 1,
  machines: [machine()],
  movedAt: NOW - 20 * MINUTE,
  ...changed,
});

const nothing = (changed: Partial<RolloutStep> = {}): RolloutStep =>
  ({ kind: 'nothing', state: 'idle', message: 'nothing is due', checks: [], ...changed }) as RolloutStep;

describe('summaryOf', () => {
  it('tells of etcd beside the control plane', () => {
    const { etcd: _, ...etcd } = progress({ wanted: 3 });
    const { progress: told } = summaryOf({ step: nothing({ progress: progress({ etcd }) }), at: at() });
    expect(told).toMatchObject({ wanted: 1, etcd: { wanted: 3 } });
    const old = machine({ name: 'b', node: undefined, state: 'old', served: { kind: 'none' } });
    const mixed = progress({ wanted: -1, replaced: 0, machines: [machine(), old, machine({ createdAt: 0 })] });
    const { progress: seen } = summaryOf({ step: nothing({ progress: mixed }), at: at() });
    expect(seen).toMatchObject({ wanted: 0, replaced: 0, machines: [{ name: 'b', state: 'old' }, {}, {}] });
    expect([seen?.machines[0]?.notAfter, seen?.machines[2]?.createdAt]).toEqual([
      undefined,
      '1970-01-01T00:00:00.000Z',
    ]);
    expect(summaryOf({ step: nothing({ progress: progress() }), at: at() }).progress).not.toHaveProperty(
      'etcd',
      expect.anything(),
    );
  });

  it('tells a rollout that is done, and how long it took', () => {
    const step = nothing({ state: 'done', mark: MARK, progress: progress(), soonestEnd: NOW + 365 * DAY });
    expect(summaryOf({ step, at: at() })).toEqual({
      state: 'done',
      message: 'nothing is due',
      at: at(),
      reasons: [],
      reasonCount: 0,
      rollout: { id: MARK.id, start: '2026-11-21T09:00:00.000Z', trigger: 'schedule' },
      soonestEnd: at(365 * DAY),
      durationMs: 40 * MINUTE,
      progress: {
        wanted: 1,
        replaced: 1,
        verified: 1,
        movedAt: at(-20 * MINUTE),
        machines: [
          {
            name: 'berlin-cp-a',
            node: 'cp-a',
            state: 'verified',
            createdAt: at(-50 * MINUTE),
            notBefore: at(-50 * MINUTE),
            notAfter: at(365 * DAY),
          },
        ],
      },
    });
  });

  it.each<[string, Partial<RolloutStep>, object]>([
    ['of one that ended as it began', { progress: progress({ movedAt: Date.parse(MARK.start) }) }, { durationMs: 0 }],
    [
      'of one as long as all time',
      { mark: { ...MARK, start: at(-NOW) }, progress: progress({ movedAt: LAST_INSTANT }) },
      { durationMs: LAST_INSTANT, progress: { movedAt: '9999-12-31T23:59:59.999Z' } },
    ],
    ['of one whose mark is gone', { mark: undefined }, { durationMs: undefined }],
    ['of one that goes on', { state: 'rolling' }, { durationMs: undefined }],
    ['of one that was aborted', { mark: { ...MARK, abortedAt: at() } }, { rollout: { abortedAt: at() } }],
    ['of no time at which it can have begun', { mark: { ...MARK, start: 'soon' } }, { rollout: undefined }],
    ['of no name that is ours', { mark: { ...MARK, id: '' } }, { rollout: undefined }],
  ])('tells %s what there is', (_, changed, expected) => {
    const step = nothing({ state: 'done', mark: MARK, progress: progress(), ...changed });
    expect(summaryOf({ step, at: at() })).toMatchObject(expected);
  });

  it('tells what failed, and not what somebody answers for', () => {
    const step = nothing({
      state: 'refused',
      span: { from: NOW, until: NOW + DAY },
      nextWindow: NOW + MINUTE,
      checks: [
        { id: 'due', passed: true, found: 'yes' },
        { id: 'surge', passed: false, waived: true, found: 'none' },
        { id: 'fleet-budget', passed: false, passing: true, found: 'munich rolls' },
        { id: 'etcd-healthy', passed: false, object: 'KubeadmControlPlane a/b', found: 'False', remedy: 'Mend it' },
      ],
    });
    expect(summaryOf({ step, at: at() })).toMatchObject({
      reasonCount: 2,
      reasons: [
        { id: 'fleet-budget', passing: true, message: 'munich rolls' },
        { id: 'etcd-healthy', object: 'KubeadmControlPlane a/b', message: 'False', remedy: 'Mend it' },
      ],
      span: { from: at(), until: at(DAY) },
      nextWindow: at(MINUTE),
    });
  });

  it('keeps no command for a person, and what was written', () => {
    const ask = { ...nothing({ state: 'assist' }), kind: 'ask', command: 'eksctl', reasons: [] } as RolloutStep;
    expect(summaryOf({ step: ask, at: at() })).not.toHaveProperty('command', expect.anything());
    const hold = {
      ...nothing({ state: 'held' }),
      kind: 'hold',
      reasons: [{ id: 'stuck', message: 'm', remedy: 'r' }],
      write: { kind: 'hold', object: {}, hold: {} },
    } as unknown as RolloutHold;
    expect(summaryOf({ step: hold, written: { kind: 'written' }, at: at() })).toMatchObject({
      reasons: [{ id: 'stuck', message: 'm', remedy: 'r' }],
      write: { kind: 'hold', outcome: 'written' },
    });
  });

  it('is bounded and readable again, whatever a cluster says, and stays whole on its way to the index', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 50 }),
      fc.constantFrom('‮'.repeat(3_000), '\ud800'.repeat(3_000), '"'.repeat(3_000)),
    );
    const number = fc.oneof(fc.constantFrom(NaN, Infinity, -1, 1e300, 0.5), fc.integer());
    const machines = fc.array(
      fc.record({ name: text, node: text, createdAt: number }).map((changed) => machine(changed)),
      { maxLength: 30, size: 'max' },
    );
    const part = fc.record({ wanted: number, replaced: number, verified: number, movedAt: number, machines });
    const step = fc
      .record({
        state: fc.constantFrom(...ROLLOUT_STATES),
        message: text,
        soonestEnd: number,
        nextWindow: number,
        span: fc.record({ from: number, until: number }),
        checks: fc.array(fc.record({ found: text, object: text, remedy: text }), { maxLength: 40, size: 'max' }),
        reasons: fc.array(fc.record({ object: text, message: text, remedy: text }), { maxLength: 20, size: 'max' }),
        progress: fc.tuple(part, part).map(([own, etcd]) => ({ ...own, etcd })),
      })
      .map(
        ({ checks, reasons, ...more }): RolloutStep => ({
          kind: 'hold',
          mark: MARK,
          ...more,
          checks: checks.map((check) => ({ id: 'surge', passed: false, ...check })),
          reasons: reasons.map((reason) => ({ id: 'stuck', ...reason })),
        }),
      );
    fc.assert(
      fc.property(step, (each) => {
        const rollout = JSON.parse(JSON.stringify(summaryOf({ step: each, at: at() })));
        expect(Buffer.byteLength(JSON.stringify(rollout))).toBeLessThan(100_000);
        expect(valueOf(read(RolloutSummary, rollout))).toEqual(rollout);
        const told = roundTrip(swept({ rollout }));
        expect(told).toMatchObject({ ok: true, value: { rollout, problems: [] } });
        const index = told.ok ? foldOutcomes(undefined, [told.value], NOW) : undefined;
        expect(parseFleetIndex(JSON.parse(JSON.stringify(index)), NOW)).toEqual(index);
      }),
      { seed: 21, numRuns: 60 },
    );
  });
});

describe('the newest look in the index', () => {
  const looked = (minutes: number, changed: Partial<RolloutSummary> = {}) =>
    swept({ startedAt: at(minutes * MINUTE), rollout: rolloutSummary({ at: at(minutes * MINUTE), ...changed }) });
  const rolloutAfter = (...outcomes: ReturnType<typeof looked>[]) =>
    foldOutcomes(undefined, outcomes, NOW).clusters['paris']?.rollout;

  it('knows since when the state is there, also when sweeps between did not look', () => {
    const idle = looked(-9, { state: 'idle' });
    expect(rolloutAfter(idle, looked(-8), swept({ startedAt: at(-7 * MINUTE) }), looked(-6))).toEqual({
      ...rolloutSummary({ at: at(-6 * MINUTE) }),
      since: at(-8 * MINUTE),
    });
    const { rollout: _, ...unlooked } = looked(-1);
    expect(rolloutAfter(looked(-8), unlooked)).toMatchObject({ at: at(-8 * MINUTE), since: at(-8 * MINUTE) });
    const other = { id: 'next', start: at(), trigger: 'person' } as const;
    expect(rolloutAfter(looked(-8), looked(-6, { rollout: other }))?.since).toBe(at(-6 * MINUTE));
  });

  it('takes no more from a late look than that the state is older', () => {
    expect(rolloutAfter(looked(-6), looked(-8))).toMatchObject({ at: at(-6 * MINUTE), since: at(-8 * MINUTE) });
    expect(rolloutAfter(looked(-6), looked(-8, { state: 'idle' }))?.since).toBe(at(-6 * MINUTE));
  });

  it('is none of another sweep, or of tomorrow', () => {
    for (const minutes of [-1, 16]) {
      const rollout = rolloutSummary({ at: at(minutes * MINUTE) });
      expect(readOutcome(swept({ rollout }))).toEqual({ ok: true, value: swept() });
    }
    const index = foldOutcomes(undefined, [looked(0)], NOW);
    expect(parseFleetIndex(index, NOW - DAY)?.clusters['paris']?.rollout).toBeUndefined();
  });
});

const moving = (...states: readonly MachineProgress['state'][]) => ({
  wanted: 2,
  replaced: 0,
  verified: 0,
  machines: states.map((state) => ({ name: 'a', state })),
});

it.each<[string, boolean, Partial<RolloutSummary>]>([
  ['one that rolls', true, { state: 'rolling' }],
  ['one that is verified', true, { state: 'verifying' }],
  ['one that is held', true, { state: 'held' }],
  ['one that is done', false, { state: 'done' }],
  ['one that was begun just now', true, { state: 'ready', write: { kind: 'roll-control-plane', outcome: 'written' } }],
  ['one that may have begun', true, { state: 'ready', write: { kind: 'roll-control-plane', outcome: 'unknown' } }],
  ['one that was refused', false, { state: 'ready', write: { kind: 'roll-control-plane', outcome: 'refused' } }],
  ['one that was aborted and is at rest', false, { state: 'aborted' }],
  ['one that was aborted while a machine is made', true, { state: 'aborted', progress: moving('new', 'old') }],
  ['one that was aborted while one goes', true, { state: 'aborted', progress: moving('leaving') }],
  ['one that was aborted with a machine left', false, { state: 'aborted', progress: moving('old') }],
  ['one that is refused while a machine is made', false, { state: 'refused', progress: moving('new') }],
])('of %s it is %s that it has to be looked at every minute', (_, expected, changed) => {
  expect(isUnderWay(rolloutSummary({ rollout: undefined, ...changed }))).toBe(expected);
});

it('has the ledger under the key that permissions name', () => {
  expect([STATE_KEYS.rollouts, ROLLOUT_LEDGER_KEY]).toEqual(['rollouts.json', 'rollouts.json']);
});
