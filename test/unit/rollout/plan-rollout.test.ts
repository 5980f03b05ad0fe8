import { describe, expect, it } from 'vitest';
import type { RolloutMark } from '../../../lambdas/rollout/annotations.ts';
import { nonceOf, pauseOf } from '../../../lambdas/rollout/etcd-order.ts';
import type { ObservedMachine, ObservedRollout } from '../../../lambdas/rollout/observed.ts';
import { planAbort, planResume, planRollout } from '../../../lambdas/rollout/plan-rollout.ts';
import { markOf, rolloutId } from '../../../lambdas/rollout/rollout-mark.ts';
import {
  CLUSTER_ID,
  CONTROL_PLANE_UID,
  controlPlane,
  controlPlaneConditions,
  DAY,
  eksAnywhere,
  etcd,
  etcdMachine,
  HOUR,
  healthyExternal,
  healthyRollout,
  history,
  MINUTE,
  machine,
  NAME,
  NAMESPACE,
  NOW,
  policy,
  served,
} from './fixtures.ts';

/** The same without a field. */
function but<T extends object, K extends keyof T>(object: T, field: K): Omit<T, K> {
  return Object.fromEntries(Object.entries(object).filter(([key]) => key !== field)) as Omit<T, K>;
}

const OBJECT = {
  apiVersion: 'v1beta2',
  namespace: NAMESPACE,
  name: NAME,
  uid: CONTROL_PLANE_UID,
  resourceVersion: '812345',
};

const plan = (observed: ObservedRollout, now = NOW, trigger: 'schedule' | 'person' = 'schedule') =>
  planRollout(observed, policy(), history(), now, trigger);

/** Began an hour ago. */
const SINCE = NOW - HOUR;
const MARK: RolloutMark = markOf(CLUSTER_ID, SINCE, 'certificates end soon', 'schedule');

function young(number: number, since = SINCE, changes: Partial<ObservedMachine> = {}): ObservedMachine {
  const createdAt = since + number * 5 * MINUTE;
  return machine(number, {
    createdAt,
    served: served({ notAfter: createdAt + 365 * DAY, fingerprint: `f${number}`.repeat(32) }),
    ...changes,
  });
}

const NEW = [young(4), young(5), young(6)];
/** It has no Node yet. */
const booting = (one: ObservedMachine): ObservedMachine => but(one, 'node');

/** While a rollout of ours goes on. */
function rolling(
  changes: Partial<ObservedRollout> = {},
  plane: Parameters<typeof controlPlane>[0] = {},
): ObservedRollout {
  return healthyRollout({
    controlPlane: controlPlane({
      mark: MARK,
      rolloutAfter: SINCE,
      status: { replicas: 3, ready: 3, available: 3, upToDate: 3 },
      ...plane,
    }),
    machines: [machine(1), machine(2), young(11, SINCE)],
    ...changes,
  });
}

const isHold = (step: ReturnType<typeof plan>) => (step.kind === 'hold' ? step.reasons.map(({ id }) => id) : step);

describe('a rollout begins', () => {
  it('with one write that says when, and names what was observed', () => {
    const step = plan(healthyRollout());
    const mark = {
      id: rolloutId(CLUSTER_ID, '2026-11-28T02:29:55Z'),
      start: '2026-11-28T02:29:55Z',
      reason: 'certificates end 2027-01-07 02:30 UTC',
      trigger: 'schedule',
    };
    expect(step).toMatchObject({
      kind: 'act',
      state: 'ready',
      message: 'would roll 3 control plane machines, 40 days before their certificates end',
      soonestEnd: NOW + 40 * DAY,
    });
    expect(step.kind === 'act' && step.write).toEqual({ kind: 'roll-control-plane', object: OBJECT, mark });
    expect(mark.id).toMatch(/^20261128-[0-9a-f]{10}$/);
    expect(step.checks.every(({ passed }) => passed)).toBe(true);
    expect(plan(healthyRollout())).toEqual(step);
  });

  it('for v1beta1 too', () => {
    const step = plan(healthyRollout({ controlPlane: controlPlane({ apiVersion: 'v1beta1' }) }));
    expect(step).toMatchObject({ kind: 'act', write: { object: { apiVersion: 'v1beta1' } } });
  });

  it('with a pause of the control plane where etcd is external and may be rolled', () => {
    const step = planRollout(healthyExternal(), policy({ etcd: 'auto-experimental' }), history(), NOW);
    expect(step).toMatchObject({
      kind: 'act',
      state: 'ready',
      write: { kind: 'pause-control-plane', object: OBJECT, mark: { start: '2026-11-28T02:29:55Z' } },
    });
    expect(step.message).toBe(
      'would roll 3 control plane machines, 40 days before their certificates end, and etcd before: pauses the control plane first',
    );
  });

  it.each<[string, Partial<ObservedRollout>]>([
    [
      'a machine was made in the same second',
      { machines: [machine(1), machine(2), machine(3, { createdAt: NOW - 5000 })] },
    ],
    [
      'the clock of the API server is ahead',
      { machines: [machine(1), machine(2), machine(3, { createdAt: NOW + HOUR })] },
    ],
  ])('not yet while %s', (_, changes) => {
    const step = plan(healthyRollout(changes), NOW, 'person');
    expect(step.kind).not.toBe('act');
    expect(step).toMatchObject({ state: 'waiting', message: expect.stringContaining('or the clocks differ') });
  });
});

describe('no rollout begins', () => {
  it.each<[string, ObservedRollout, Parameters<typeof policy>[0] | undefined, string, string, string]>([
    [
      'without Cluster API',
      but(healthyRollout({ machines: [] }), 'controlPlane'),
      {},
      'nothing',
      'off',
      'there is nothing to roll: Cluster API has no control plane of it, and certificates of nodes renew themselves',
    ],
    [
      'while it is deleted',
      healthyRollout({ controlPlane: controlPlane({ deleting: true }) }),
      {},
      'nothing',
      'off',
      'nothing is rolled: the cluster is being deleted',
    ],
    ['when the fleet did not opt in', healthyRollout(), undefined, 'nothing', 'off', 'would not roll, not opted in'],
    [
      'when its owner did not opt in',
      healthyRollout({ eksAnywhere: but(eksAnywhere(), 'mode') }),
      {},
      'nothing',
      'off',
      'would not roll, not opted in',
    ],
    [
      'when nothing is due',
      healthyRollout({
        machines: [1, 2, 3].map((n) =>
          machine(n, {
            createdAt: NOW - 100 * DAY,
            served: served({ notAfter: NOW + 265 * DAY, fingerprint: `0${n}`.repeat(32) }),
          }),
        ),
      }),
      {},
      'nothing',
      'idle',
      'nothing is due: its certificates end in 265 days, a rollout may begin in 220 days',
    ],
    [
      'after a certificate ended',
      healthyRollout({
        machines: [machine(1, { served: served({ notAfter: NOW - 3 * DAY }) }), machine(2), machine(3)],
      }),
      {},
      'hold',
      'expired',
      'certificates ended 3 days ago: nothing is rolled by itself any more',
    ],
    [
      'while somebody else rolls it',
      healthyRollout({
        controlPlane: controlPlane({
          conditions: controlPlaneConditions({
            RollingOut: { status: 'True', message: 'Rolling 3 not up-to-date replicas' },
          }),
        }),
      }),
      {},
      'nothing',
      'foreign',
      'somebody else rolls it: Cluster API rolls it: Rolling 3 not up-to-date replicas',
    ],
    [
      'while a rollout of somebody is planned',
      healthyRollout({ controlPlane: controlPlane({ rolloutAfter: NOW + DAY }) }),
      {},
      'nothing',
      'foreign',
      'somebody else rolls it: a rollout is planned for 2026-11-29 02:30 UTC',
    ],
    [
      'after somebody asked for one',
      healthyRollout({ controlPlane: controlPlane({ rolloutAfter: NOW - MINUTE }) }),
      {},
      'nothing',
      'foreign',
      'somebody else rolls it: 3 of 3 machines are older',
    ],
    [
      'while fewer machines are up to date',
      healthyRollout({ controlPlane: controlPlane({ status: { replicas: 3, upToDate: 2 } }) }),
      {},
      'nothing',
      'foreign',
      'somebody else rolls it: 2 of 3 machines are up to date',
    ],
    [
      'when a check fails',
      healthyRollout({ healthChecks: [{ namespace: NAMESPACE, name: 'kcp', expected: 3, healthy: 2 }] }),
      {},
      'hold',
      'refused',
      'would roll 3 control plane machines, 40 days before their certificates end. Not now: 1 of ',
    ],
    [
      'with external etcd by default',
      healthyExternal(),
      {},
      'ask',
      'assist',
      'a person renews it, its certificates end in 40 days: etcd has machines of its own',
    ],
  ])('%s', (_, observed, changes, kind, state, message) => {
    const step = planRollout(observed, changes && policy(changes), history(), NOW);
    expect(step).toMatchObject({ kind, state });
    expect(step.message.slice(0, message.length)).toBe(message);
  });

  it('says when the next window opens', () => {
    const sunday = NOW + 30 * HOUR;
    const step = plan(healthyRollout(), sunday);
    expect(step).toMatchObject({ kind: 'nothing', state: 'waiting', nextWindow: Date.parse('2026-12-05T01:00:00Z') });
    expect(step.message).toContain(
      'would roll 3 control plane machines, 38 days before their certificates end. Not yet: ',
    );
  });

  it('when its control plane cannot be read, and says so', () => {
    const { controlPlane: _, ...observed } = healthyRollout();
    const unread = [
      { kind: 'forbidden', object: 'kubeadmcontrolplanes', message: 'may not be listed', remedy: 'grant it' },
    ];
    expect(isHold(plan({ ...observed, unread }))).toEqual(['everything-read']);
  });

  it('tells a person the command, and what else is in the way', () => {
    const step = plan(
      healthyExternal({ healthChecks: [{ namespace: NAMESPACE, name: 'kcp', expected: 3, healthy: 2 }] }),
    );
    expect(step).toMatchObject({
      kind: 'ask',
      command: 'eksctl anywhere renew certificates -f berlin-prod-certificates.yaml',
    });
    expect(step.kind === 'ask' && step.reasons.map(({ id }) => id)).toEqual(['etcd-by-hand', 'health-checks']);
  });

  it('puts no name of a cluster into a command that a shell would read otherwise', () => {
    const observed = healthyExternal({ cluster: { id: CLUSTER_ID, name: 'a; rm -rf ~', managesItself: false } });
    expect(plan(observed)).toMatchObject({ command: 'eksctl anywhere renew certificates -f certificates.yaml' });
  });

  it('reports every reason', () => {
    const observed = healthyRollout({
      capiCluster: { namespace: NAMESPACE, name: NAME, deleting: false, paused: true, topology: true },
      healthChecks: [{ namespace: NAMESPACE, name: 'kcp', expected: 3, healthy: 2 }],
    });
    expect(isHold(plan(observed))).toEqual(
      expect.arrayContaining(['cluster-not-paused', 'no-cluster-class', 'health-checks']),
    );
  });
});

describe('a rollout that goes on', () => {
  it.each<[string, ObservedRollout, string, string]>([
    ['with one new machine', rolling(), 'rolling', 'rolling: 1 of 3 control plane machines replaced, for 60 minutes'],
    [
      'with all machines new, and an old one that goes',
      rolling({ machines: [...NEW, machine(3, { deleting: true })] }),
      'rolling',
      'rolling: 3 of 3 control plane machines replaced, for 60 minutes',
    ],
    [
      'until the new certificates are seen',
      rolling({ machines: [young(4), young(5), young(6, SINCE, { served: { kind: 'none' } })] }),
      'verifying',
      'verifying: 2 of 3 control plane machines show a new certificate',
    ],
    [
      'until Cluster API has settled',
      rolling({ machines: NEW }, { conditions: controlPlaneConditions({ RollingOut: { status: 'True' } }) }),
      'verifying',
      'verifying: 3 of 3 control plane machines show a new certificate',
    ],
  ])('is watched, %s', (_, observed, state, message) => {
    expect(plan(observed)).toMatchObject({ kind: 'nothing', state, message, mark: MARK });
  });

  it('right after the write, while Cluster API still looks idle', () => {
    const observed = rolling({ machines: [1, 2, 3].map((n) => machine(n)) }, { generation: 5 });
    expect(plan(observed, SINCE + 10_000)).toMatchObject({
      kind: 'nothing',
      state: 'rolling',
      message: 'rolling: 0 of 3 control plane machines replaced, for less than a minute',
    });
  });

  const unhealthy = (minutes: number) =>
    controlPlaneConditions({
      EtcdClusterHealthy: { status: 'False', since: NOW - minutes * MINUTE, message: 'a member is away' },
    });

  it.each<[string, ObservedRollout, readonly string[]]>([
    ['nothing moves for 45 minutes', rolling({ machines: [1, 2, 3].map((n) => machine(n)) }), ['stuck']],
    [
      'a machine never gets its Node',
      rolling({ machines: [machine(1), machine(2), machine(3), booting(young(2))] }),
      ['stuck'],
    ],
    ['etcd is unhealthy for more than 10 minutes', rolling({}, { conditions: unhealthy(11) }), ['unhealthy']],
    ['a machine is remediated', rolling({}, { remediating: true }), ['remediating']],
    ['somebody paused the control plane', rolling({}, { paused: '' }), ['paused']],
    [
      'somebody paused the cluster',
      rolling({ capiCluster: { namespace: NAMESPACE, name: NAME, deleting: false, paused: true, topology: false } }),
      ['paused'],
    ],
    ['somebody asked for another rollout', rolling({}, { rolloutAfter: NOW - MINUTE }), ['taken-over']],
    [
      'somebody took the rollout back',
      rolling({
        controlPlane: but(controlPlane({ mark: MARK, rolloutAfter: SINCE }), 'rolloutAfter'),
      }),
      ['taken-over'],
    ],
    [
      'a certificate ended meanwhile',
      rolling({ machines: [machine(1, { served: served({ notAfter: NOW - 1 }) }), machine(2), young(11)] }),
      ['not-expired'],
    ],
    ['two things are wrong', rolling({}, { remediating: true, paused: '' }), ['paused', 'remediating']],
  ])('is held when %s', (_, observed, reasons) => {
    const step = plan(observed);
    expect(isHold(step)).toEqual(reasons);
    expect(step).toMatchObject({
      state: 'held',
      write: { kind: 'hold', object: OBJECT, hold: { id: MARK.id, at: '2026-11-28T02:30:00Z', reason: reasons[0] } },
    });
  });

  it('is held when new certificates are not seen for two hours', () => {
    const observed = rolling({ machines: [young(4), young(5), young(6, SINCE, { served: { kind: 'none' } })] });
    expect(plan(observed, NOW + 90 * MINUTE).state).toBe('verifying');
    expect(isHold(plan(observed, NOW + 91 * MINUTE))).toEqual(['not-verified']);
  });

  it('takes bare metal twice the time', () => {
    const datacenter = 'TinkerbellDatacenterConfig';
    const observed = rolling({ eksAnywhere: eksAnywhere({ datacenter }), machines: [1, 2, 3].map((n) => machine(n)) });
    expect(plan(observed).state).toBe('rolling');
    expect(isHold(plan(observed, SINCE + 91 * MINUTE))).toEqual(['stuck']);
  });

  it('is watched while a condition is False for a moment', () => {
    expect(plan(rolling({}, { conditions: unhealthy(10) })).state).toBe('rolling');
  });

  it('waits for what cannot be read, and not forever', () => {
    const unread = [{ kind: 'timeout', object: 'machines', message: 'no answer', remedy: 'wait' }];
    expect(plan(rolling({ unread })).state).toBe('rolling');
    expect(isHold(plan(rolling({ unread, machines: [] })))).toEqual(['unseen']);
  });

  it('is left alone while it is held, and tells why', () => {
    const hold = { id: MARK.id, at: '2026-11-28T01:00:00Z', reason: 'stuck', message: 'nothing moved' };
    const step = plan(rolling({ machines: [1, 2, 3].map((n) => machine(n)) }, { hold }));
    expect(isHold(step)).toEqual(['stuck']);
    expect(step).toMatchObject({ state: 'held', message: 'held for 90 minutes: nothing moved', mark: MARK });
    expect(step).not.toHaveProperty('write');
  });

  it.each([
    ['a mark', { mark: 'unreadable' }, 'unreadable-mark'],
    ['a mark without a time', { mark: { ...MARK, start: 'soon' } }, 'unreadable-mark'],
    ['a hold', { hold: 'unreadable' }, 'unreadable-hold'],
  ] as const)('is held when %s cannot be read', (_, plane, reason) => {
    const step = plan(rolling({}, plane));
    expect(isHold(step)).toEqual([reason]);
    expect(step).not.toHaveProperty('write');
  });
});

describe('a rollout that is done', () => {
  const done = rolling({ machines: NEW });

  it('says so, and why nothing more is due', () => {
    const step = plan(done);
    expect(step).toMatchObject({ kind: 'nothing', state: 'done', mark: MARK, progress: { verified: 3 } });
    expect(step.message).toBe(
      'done: 3 control plane machines replaced, with new certificates, the first of which ends in 364 days: nothing is due',
    );
  });

  it('is idle after a week', () => {
    const step = plan(done, NOW + 8 * DAY);
    expect(step).toMatchObject({ kind: 'nothing', state: 'idle' });
  });

  it('is begun anew a year later', () => {
    const later = Date.parse('2027-10-23T02:30:00Z');
    const step = plan(done, later);
    expect(step).toMatchObject({ kind: 'act', write: { kind: 'roll-control-plane' } });
    expect(step.kind === 'act' && step.write.kind === 'roll-control-plane' && step.write.mark.id).not.toBe(MARK.id);
  });

  it('is held, and never begun again, when the certificates still end soon', () => {
    const short = NEW.map((one, index) => ({
      ...one,
      served: served({ notBefore: SINCE + MINUTE, notAfter: NOW + 20 * DAY, fingerprint: `f${index}`.repeat(32) }),
    }));
    expect(plan(rolling({ machines: short }), NOW + 10 * DAY).state).toBe('idle');
    const step = plan(rolling({ machines: short }), NOW + 15 * DAY);
    expect(isHold(step)).toEqual(['still-expiring']);
    expect(step).toMatchObject({ state: 'held', write: { kind: 'hold', hold: { reason: 'still-expiring' } } });
  });

  it('is not taken for what somebody else does later', () => {
    const ended = { id: MARK.id, cluster: CLUSTER_ID, trigger: 'schedule', startedAt: SINCE, endedAt: NOW } as const;
    const upgrade = rolling(
      { machines: [...NEW, booting(young(7, NOW))] },
      { conditions: controlPlaneConditions({ RollingOut: { status: 'True' } }), status: { replicas: 4, upToDate: 1 } },
    );
    const now = NOW + 3 * DAY;
    expect(planRollout(upgrade, policy(), history({ rollouts: [ended] }), now).state).toBe('foreign');
    expect(plan(upgrade, NOW + 8 * DAY).state).toBe('foreign');
  });
});

describe('a rollout is aborted', () => {
  it('gently: only what is ours is cleared', () => {
    const step = planAbort(rolling(), NOW);
    expect(step.kind === 'act' && step.write).toEqual({
      kind: 'abort',
      object: OBJECT,
      mark: { ...MARK, abortedAt: '2026-11-28T02:30:00Z' },
      clearAfter: true,
      unpause: false,
    });
    expect(planAbort(rolling({}, { rolloutAfter: NOW - MINUTE }), NOW)).toMatchObject({ write: { clearAfter: false } });
    expect(planAbort(rolling({}, { paused: 'somebody' }), NOW)).toMatchObject({ write: { unpause: false } });
  });

  it.each<[string, ObservedRollout, string]>([
    ['there is none', healthyRollout(), 'nothing-to-abort'],
    ['there is no control plane', but(healthyRollout(), 'controlPlane'), 'nothing-to-abort'],
    ['it is done', rolling({ machines: NEW }), 'nothing-to-abort'],
    ['it was aborted', rolling({}, { mark: { ...MARK, abortedAt: '2026-11-28T02:00:00Z' } }), 'nothing-to-abort'],
    ['it cannot be read', rolling({}, { mark: 'unreadable' }), 'unreadable-mark'],
  ])('not when %s', (_, observed, reason) => {
    expect(isHold(planAbort(observed, NOW))).toEqual([reason]);
  });

  const external = (plane: Parameters<typeof controlPlane>[0], one?: Parameters<typeof etcd>[0]) =>
    healthyExternal({ controlPlane: controlPlane({ etcd: 'external', mark: MARK, ...plane }), etcd: etcd(one) });
  const told = { mark: MARK, postEtcdadmCommands: [nonceOf(MARK)] };
  const fresh = [4, 5, 6].map((number) => etcdMachine(number, { createdAt: SINCE + number * MINUTE }));

  it.each<[string, ObservedRollout, boolean]>([
    ['before etcd began', external({ paused: pauseOf(MARK) }), true],
    ['when etcd is settled', external({ paused: pauseOf(MARK) }, { ...told, machines: fresh }), true],
    ['when the control plane rolls', external({}, { ...told, machines: fresh }), false],
  ])('with external etcd, %s', (_, observed, unpause) => {
    expect(planAbort(observed, NOW)).toMatchObject({
      kind: 'act',
      write: { kind: 'abort', clearAfter: false, unpause },
    });
  });

  it('not while etcd is half replaced', () => {
    const observed = external({ paused: pauseOf(MARK) }, { ...told, upgrading: true });
    const step = planAbort(observed, NOW);
    expect(isHold(step)).toEqual(['abort-refused']);
    expect(step.message).toBe('0 of 3 etcd machines replaced: nothing stops etcd half way');
    const { etcd: _, ...blind } = observed;
    expect(isHold(planAbort(blind, NOW))).toEqual(['abort-refused']);
  });

  it('and is not begun again for a week', () => {
    const mark = { ...MARK, abortedAt: '2026-11-28T02:30:00Z' };
    const { rolloutAfter: _, ...plane } = controlPlane({ mark });
    const aborted = healthyRollout({ controlPlane: plane, machines: [machine(1), machine(2), young(5)] });
    const step = plan(aborted, NOW + HOUR);
    expect(step).toMatchObject({ kind: 'nothing', state: 'aborted', mark });
    expect(step.message).toBe('aborted 60 minutes ago, with 1 of 3 control plane machines replaced');
  });
});

describe('a hold is taken away', () => {
  const hold = { id: MARK.id, at: '2026-11-28T01:00:00Z', reason: 'stuck', message: 'nothing moved' };

  it('by a person only, who is told when it comes back', () => {
    expect(planResume(rolling({}, { hold }), NOW)).toMatchObject({
      kind: 'act',
      message: 'would take the hold away: nothing moved',
      write: { kind: 'resume', object: OBJECT },
    });
    const still = rolling({ machines: [1, 2, 3].map((n) => machine(n)) }, { hold });
    expect(planResume(still, NOW).message).toBe(
      'would take the hold away: nothing moved; it is held again while there is stuck',
    );
    expect(planResume(rolling({}, { hold: 'unreadable' }), NOW).kind).toBe('act');
  });

  it('not when there is none', () => {
    expect(isHold(planResume(rolling(), NOW))).toEqual(['nothing-to-resume']);
  });
});
