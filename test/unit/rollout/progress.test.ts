import { describe, expect, it } from 'vitest';
import type { ObservedMachine, ObservedRollout } from '../../../lambdas/rollout/observed.ts';
import { isVerified, progressOf } from '../../../lambdas/rollout/progress.ts';
import {
  controlPlane,
  controlPlaneConditions,
  DAY,
  etcd,
  etcdMachine,
  HOUR,
  healthyExternal,
  healthyRollout,
  MINUTE,
  machine,
  NOW,
  served,
} from './fixtures.ts';

const SINCE = NOW - HOUR;

/** A machine that the rollout made. */
function young(number: number, changes: Partial<ObservedMachine> = {}): ObservedMachine {
  const createdAt = SINCE + number * MINUTE;
  const fresh = served({ notAfter: createdAt + 365 * DAY, fingerprint: `f${number}`.repeat(32) });
  return machine(number, { createdAt, served: fresh, ...changes });
}

/** It has no Node yet. */
const booting = (one: ObservedMachine): ObservedMachine => ({ ...one, node: undefined });

const states = (observed: ObservedRollout) => progressOf(observed, SINCE, NOW).machines.map(({ state }) => state);

describe('the progress of a rollout', () => {
  it('begins with old machines', () => {
    const progress = progressOf(healthyRollout(), SINCE, NOW);
    expect(progress).toMatchObject({ wanted: 3, replaced: 0, verified: 0, movedAt: SINCE });
    expect(progress.machines.map(({ state }) => state)).toEqual(['old', 'old', 'old']);
    expect(isVerified(progress)).toBe(false);
  });

  it.each<[string, ObservedMachine, string]>([
    ['is being made', booting(young(4)), 'new'],
    ['has its Node', young(4, { served: { kind: 'none' } }), 'replaced'],
    ['does not answer', young(4, { served: { kind: 'failed', problem: 'refused', remedy: 'look' } }), 'replaced'],
    ['shows a certificate that is old', young(4, { served: served({ fingerprint: 'cc'.repeat(32) }) }), 'replaced'],
    ['shows its new certificate', young(4), 'verified'],
    ['is being deleted', young(4, { deleting: true }), 'leaving'],
    ['has no time of its making', young(4, { createdAt: Number.NaN }), 'old'],
    ['was made when it began', young(4, { createdAt: SINCE }), 'verified'],
    ['was made a second before', young(4, { createdAt: SINCE - 1000 }), 'old'],
  ])('a machine that %s', (_, one, state) => {
    expect(states(healthyRollout({ machines: [machine(1), machine(2), one] }))).toEqual(['old', 'old', state]);
  });

  it('believes no certificate that an old machine shows too', () => {
    const same = served({ notAfter: NOW + 365 * DAY });
    const machines = [machine(1, { served: same }), young(2, { served: same }), young(3)];
    expect(states(healthyRollout({ machines }))).toEqual(['old', 'replaced', 'verified']);
    expect(states(healthyRollout({ machines: machines.slice(1) }))).toEqual(['verified', 'verified']);
  });

  it('ends when all are new and show it', () => {
    const progress = progressOf(healthyRollout({ machines: [young(1), young(2), young(3)] }), SINCE, NOW);
    expect(progress).toMatchObject({ wanted: 3, replaced: 3, verified: 3, movedAt: SINCE + 3 * MINUTE });
    expect(isVerified(progress)).toBe(true);
    const one = healthyRollout({ machines: [young(1)], controlPlane: controlPlane({ replicas: 1 }) });
    expect(isVerified(progressOf(one, SINCE, NOW))).toBe(true);
  });

  it.each([
    ['one goes', [young(1), young(2), young(3), machine(4, { deleting: true })]],
    ['one is missing', [young(1), young(2)]],
    ['there is one too many', [young(1), young(2), young(3), young(4)]],
    ['there is none', []],
  ])('does not end while %s', (_, machines) => {
    expect(isVerified(progressOf(healthyRollout({ machines }), SINCE, NOW))).toBe(false);
  });

  it('takes the validity that the control plane asks for', () => {
    const short = (number: number) =>
      young(number, { served: served({ notAfter: SINCE + MINUTE + 90 * DAY, fingerprint: `f${number}`.repeat(32) }) });
    const machines = [short(1), short(2), short(3)];
    expect(progressOf(healthyRollout({ machines }), SINCE, NOW).verified).toBe(0);
    const asked = healthyRollout({ machines, controlPlane: controlPlane({ certificateValidityDays: 90 }) });
    expect(progressOf(asked, SINCE, NOW).verified).toBe(3);
  });

  it('moves when Cluster API makes or removes a machine, and not in the future', () => {
    const scaling = (since: number) =>
      healthyRollout({
        controlPlane: controlPlane({ conditions: controlPlaneConditions({ ScalingUp: { status: 'True', since } }) }),
      });
    expect(progressOf(scaling(NOW - 5 * MINUTE), SINCE, NOW).movedAt).toBe(NOW - 5 * MINUTE);
    expect(progressOf(scaling(NOW + 10 * MINUTE), SINCE, NOW).movedAt).toBe(NOW);
    expect(progressOf(scaling(NOW + DAY), SINCE, NOW).movedAt).toBe(SINCE);
  });

  it('counts machines of etcd by their readiness, and those that it gave up as leaving', () => {
    const fresh = (number: number, changes: Partial<ObservedMachine> = {}) => {
      const createdAt = SINCE + number * MINUTE;
      return etcdMachine(number, {
        createdAt,
        served: served({ notAfter: createdAt + 365 * DAY, fingerprint: `d${number}`.repeat(32) }),
        ...changes,
      });
    };
    const started = fresh(4, { owned: false, createdAt: SINCE });
    const machines = [etcdMachine(1, { owned: false }), etcdMachine(2), started, fresh(5, { etcdReady: false })];
    const progress = progressOf(healthyExternal({ etcd: etcd({ machines }) }), SINCE, NOW);
    expect(progress.etcd).toMatchObject({ wanted: 3, replaced: 1, verified: 1 });
    expect(progress.etcd?.machines.map(({ state }) => state)).toEqual(['leaving', 'old', 'verified', 'new']);
    expect(progress.movedAt).toBe(SINCE + 5 * MINUTE);
  });
});
