import { describe, expect, it } from 'vitest';
import type { Problem } from '../../../lambdas/contracts/problem.ts';
import type { HoldMark, RolloutMark } from '../../../lambdas/contracts/rollout-mark.ts';
import type { Condition } from '../../../lambdas/resources/values.ts';
import { nonceOf, pauseOf } from '../../../lambdas/rollout/etcd-order.ts';
import type {
  ObservedControlPlane,
  ObservedMachine,
  ObservedRollout,
  Served,
} from '../../../lambdas/rollout/observed.ts';
import { planAbort, planRollout } from '../../../lambdas/rollout/plan.ts';
import { isMoving } from '../../../lambdas/rollout/plan-watch.ts';
import type { RolloutPolicy } from '../../../lambdas/rollout/policy.ts';
import { markOf, rolloutId, seconds } from '../../../lambdas/rollout/rollout-mark.ts';
import type { RolloutState } from '../../../lambdas/tables/rollout-states.ts';
import {
  CLUSTER_ID,
  CONTROL_PLANE_UID,
  controlPlane,
  controlPlaneConditions,
  DAY,
  eksAnywhere,
  etcd,
  etcdConditions,
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

const capiCluster = (infrastructure: string) => ({
  namespace: NAMESPACE,
  name: NAME,
  deleting: false,
  paused: false,
  topology: false,
  infrastructure,
});

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

const endsIn = (count: number, fingerprint: string) =>
  served({ notAfter: NOW + count * DAY, fingerprint: fingerprint.repeat(32) });
const ending = (number: number, count: number): ObservedMachine =>
  machine(number, { served: endsIn(count, `0${number}`) });

const UNREAD: Problem = { kind: 'forbidden', object: 'list x', message: 'answered 403', remedy: 'Grant it' };
const OLD = [1, 2, 3].map((n) => machine(n));
const NEW = [young(4), young(5), young(6)];
/** It has no Node yet. */
const booting = (one: ObservedMachine): ObservedMachine => but(one, 'node');

const unseenYet = (one: ObservedMachine): ObservedMachine => ({ ...one, served: { kind: 'none' } });

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
      reason: 'certificates expire 2027-01-07 02:30 UTC',
      trigger: 'schedule',
    };
    expect(step).toMatchObject({
      kind: 'act',
      state: 'ready',
      message: 'would roll 3 control plane machines, 40 days before their certificates expire',
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
      'would roll 3 control plane machines, 40 days before their certificates expire, and etcd first: pauses the control plane before that',
    );
  });

  it.each<[string, Partial<ObservedRollout>]>([
    ['a machine was made just now', { machines: [...OLD.slice(1), machine(1, { createdAt: NOW - 5000 })] }],
    ['the clock of the API server is ahead', { machines: [...OLD.slice(1), machine(1, { createdAt: NOW + HOUR })] }],
  ])('not yet while %s', (_, changes) => {
    const step = plan(healthyRollout(changes), NOW, 'person');
    expect(step.kind).not.toBe('act');
    expect(step).toMatchObject({ state: 'waiting', message: expect.stringContaining('or the clocks differ') });
  });
});

describe('no rollout begins', () => {
  const of = (changes: Partial<ObservedControlPlane>) => healthyRollout({ controlPlane: controlPlane(changes) });
  const FOR_NOBODY = new Set(['without Cluster API', 'when the fleet did not opt in']);
  it.each<[string, ObservedRollout, RolloutState, string]>([
    [
      'without Cluster API',
      but(healthyRollout({ machines: [] }), 'controlPlane'),
      'off',
      'there is nothing to roll: Cluster API has no control plane for it, and nodes renew their certificates automatically',
    ],
    [
      'where AWS makes the control plane',
      but(healthyRollout({ machines: [], capiCluster: capiCluster('AWSManagedCluster') }), 'controlPlane'),
      'off',
      'there is nothing to roll: ',
    ],
    [
      'where rollouts are wanted, and no control plane has the name',
      but(healthyRollout({ machines: [] }), 'controlPlane'),
      'refused',
      'rollouts are wanted, but its control plane was not found: no KubeadmControlPlane in the namespace eksa-system has the label cluster.x-k8s.io/cluster-name=berlin-prod',
    ],
    [
      'where rollouts are wanted, and there is no such Cluster',
      but(but(healthyRollout({ machines: [] }), 'controlPlane'), 'capiCluster'),
      'refused',
      'rollouts are wanted, but its control plane was not found: no Cluster of Cluster API has the name berlin-prod',
    ],
    ['while it is deleted', of({ deleting: true }), 'off', 'nothing is rolled: the cluster is being deleted'],
    ['when the fleet did not opt in', healthyRollout(), 'off', 'would not roll, not opted in'],
    [
      'when its owner did not',
      healthyRollout({ eksAnywhere: but(eksAnywhere(), 'mode') }),
      'off',
      'would not roll, not opted',
    ],
    [
      'when nothing is due',
      healthyRollout({ machines: [1, 2, 3].map((n) => ({ ...ending(n, 265), createdAt: NOW - 100 * DAY })) }),
      'idle',
      'nothing is due: its certificates expire in 265 days, a rollout may begin in 220 days',
    ],
    [
      'after a certificate ended',
      healthyRollout({ machines: [ending(1, -3)] }),
      'expired',
      'certificates expired 3 days ago: ',
    ],
    [
      'in the moment in which a certificate ends',
      healthyRollout({ machines: [machine(1, { served: served({ notAfter: NOW }) }), machine(2), machine(3)] }),
      'expired',
      'certificates expired less than a minute ago: nothing is rolled automatically any more',
    ],
    [
      'while someone else rolls it',
      of({
        conditions: controlPlaneConditions({ RollingOut: { status: 'True', since: NOW - HOUR, message: 'Rolling 3' } }),
      }),
      'foreign',
      'someone else rolls it: Cluster API rolls it: Rolling 3',
    ],
    [
      'while one is planned',
      of({ rolloutAfter: NOW + DAY }),
      'foreign',
      'someone else rolls it: a rollout is planned for 2026',
    ],
    [
      'after somebody asked for one',
      { ...of({ rolloutAfter: NOW }), machines: [machine(1), machine(2, { createdAt: NOW })] },
      'foreign',
      'someone else rolls it: 1 of 2 machines',
    ],
    [
      'while fewer machines are up to date',
      healthyRollout({
        controlPlane: controlPlane({
          status: { replicas: 3, upToDate: 2 },
          conditions: controlPlaneConditions({ ScalingUp: { status: 'False', since: NOW } }),
        }),
      }),
      'foreign',
      'someone else rolls it: 2 of 3 machines are up to date',
    ],
    [
      'when a check fails',
      healthyRollout({ healthChecks: [{ namespace: NAMESPACE, name: 'kcp', expected: 3, healthy: 2 }] }),
      'refused',
      'a rollout of 3 control plane machines is refused, 40 days before their certificates expire: 1 of ',
    ],
    [
      'with external etcd',
      healthyExternal(),
      'assist',
      'a person renews it, its certificates expire in 40 days: etcd has machines',
    ],
  ])('%s', (name, observed, state, message) => {
    const step = planRollout(observed, FOR_NOBODY.has(name) ? undefined : policy(), history(), NOW);
    const kind = state === 'assist' ? 'ask' : state === 'refused' || state === 'expired' ? 'hold' : 'nothing';
    expect(step).toMatchObject({ kind, state });
    expect(step.message.startsWith(message)).toBe(true);
  });

  it('that others keep waiting is told after three days, as soon as it could have begun for six hours', () => {
    const held = (now: number) => ({ holder: 'eksa-system/milan-prod a', acquiredAt: now, renewedAt: now });
    const waiting = (days: number, windows: RolloutPolicy['windows']) => {
      // Due for so long.
      const now = NOW - 5 * DAY + days * DAY;
      const lease = { uid: 'u', resourceVersion: '1', ...held(now) };
      const others = { rollouts: [{ id: 'x', cluster: 'oslo', trigger: 'schedule', startedAt: now - HOUR } as const] };
      return [
        planRollout(healthyRollout({ lease }), policy({ windows }), history(), now),
        planRollout(healthyRollout(), policy({ windows }), history(others), now),
      ];
    };
    for (const step of waiting(2.9, [])) expect(step).toMatchObject({ kind: 'nothing', state: 'waiting' });
    expect(waiting(3.1, []).map(isHold)).toEqual([['one-of-its-management-cluster'], ['fleet-budget']]);
    for (const step of waiting(3.1, [])) {
      expect(step.state).toBe('refused');
      expect(step.message).toContain('It has waited for others too long: ');
    }
    // In its first window it waits for its turn like everyone else; a window alone is what its own fleet wants.
    for (const step of waiting(5, policy().windows)) expect(step.state).toBe('waiting');
    const sunday = NOW + 8 * DAY;
    expect(planRollout(healthyRollout(), policy(), history(), sunday).state).toBe('waiting');
    for (const step of waiting(19, policy().windows)) expect(step.state).toBe('refused');
  });

  it('says when the next window opens, if none is open', () => {
    const sunday = NOW + 30 * HOUR;
    const step = plan(healthyRollout(), sunday);
    expect(step).toMatchObject({ kind: 'nothing', state: 'waiting', nextWindow: Date.parse('2026-12-05T01:00:00Z') });
    expect(step.message).toMatch(/^would roll 3 control plane machines, 38 days before .* expire\. Not yet: /);
    const at = (hours: number) => seconds(sunday + hours * HOUR);
    const opens = (...hours: readonly number[]) => {
      const windows = hours.map((from) => ({ from: at(from), until: at(from + 1) }));
      return planRollout(healthyRollout(), policy({ windows }), history(), sunday).nextWindow;
    };
    expect([opens(-2, 3, 1), opens(-2), opens(1, -0.5)]).toEqual([sunday + HOUR, undefined, undefined]);
  });

  it('when its control plane cannot be read, and says so', () => {
    expect(isHold(plan(but(healthyRollout({ unread: [UNREAD] }), 'controlPlane')))).toEqual(['everything-read']);
  });

  it('tells a person the command, and what else is in the way', () => {
    const step = plan(
      healthyExternal({ healthChecks: [{ namespace: NAMESPACE, name: 'kcp', expected: 3, healthy: 2 }] }),
    );
    expect(step).toMatchObject({
      kind: 'ask',
      command: 'KUBECONFIG=MANAGEMENT eksctl anywhere renew certificates -f berlin-prod-certificates.yaml',
    });
    expect(step.kind === 'ask' && step.reasons.map(({ id }) => id)).toEqual(['etcd-by-hand', 'health-checks']);
  });

  it('puts no name of a cluster into a command that a shell would read otherwise', () => {
    const observed = healthyExternal({ cluster: { id: CLUSTER_ID, name: 'a; rm -rf ~', managesItself: false } });
    expect(plan(observed)).toMatchObject({
      command: 'KUBECONFIG=MANAGEMENT eksctl anywhere renew certificates -f certificates.yaml',
    });
  });

  it('tells those who did not opt in what ended, and nothing where nothing was seen', () => {
    const off = (machines: readonly ObservedMachine[]) =>
      planRollout(healthyRollout({ machines }), undefined, history(), NOW).message;
    expect(off([ending(1, 0)])).toMatch(/; its certificates expired less than a minute ago$/);
    expect(off([])).not.toContain(';');
    expect(plan(healthyRollout({ machines: [] }), NOW, 'person').message).toMatch(
      /3 control plane machines is refused: /,
    );
  });

  it('reports every reason', () => {
    const observed = healthyRollout({
      capiCluster: { ...capiCluster('VSphereCluster'), paused: true, topology: true },
      healthChecks: [{ namespace: NAMESPACE, name: 'kcp', expected: 3, healthy: 2 }],
    });
    expect(isHold(plan(observed))).toEqual(
      expect.arrayContaining(['cluster-not-paused', 'no-cluster-class', 'health-checks']),
    );
    const ended = { ...observed, machines: [ending(1, -1), machine(2), machine(3)], unread: [UNREAD] };
    const ids = isHold(plan(ended, NOW + 12 * HOUR));
    expect(ids).toEqual(['not-expired', 'everything-read', 'cluster-not-paused', 'no-cluster-class', 'health-checks']);
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
      'verifying: 2 of 3 machines show a new certificate',
    ],
    [
      'until Cluster API has settled',
      rolling({ machines: NEW }, { conditions: controlPlaneConditions({ RollingOut: { status: 'True' } }) }),
      'verifying',
      'verifying: 3 of 3 machines show a new certificate',
    ],
    [
      'also when the request is gone, and every machine is new',
      rolling({ controlPlane: controlPlane({ mark: MARK }), machines: [young(0), ...NEW.slice(1).map(unseenYet)] }),
      'verifying',
      'verifying: 1 of 3 machines shows a new certificate',
    ],
  ])('is watched, %s', (_, observed, state, message) => {
    expect(plan(observed)).toMatchObject({ kind: 'nothing', state, message, mark: MARK });
  });

  it('right after the write, while Cluster API still looks idle', () => {
    const observed = rolling({ machines: OLD }, { generation: 5 });
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
    ['nothing moves for 45 minutes', rolling({ machines: OLD }), ['stuck']],
    [
      'etcd is unhealthy since nobody knows when, and nothing moves',
      rolling(
        { machines: [machine(1), machine(2), young(9)] },
        { conditions: controlPlaneConditions({ EtcdClusterHealthy: { status: 'False' } }) },
      ),
      ['unhealthy'],
    ],
    ['a machine never gets its Node', rolling({ machines: [...OLD, booting(young(2))] }), ['stuck']],
    ['etcd is unhealthy for more than 10 minutes', rolling({}, { conditions: unhealthy(11) }), ['unhealthy']],
    ['a machine is remediated', rolling({}, { remediating: true }), ['remediating']],
    ['somebody paused the control plane', rolling({}, { paused: '' }), ['paused']],
    [
      'somebody paused the cluster',
      rolling({ capiCluster: { ...capiCluster('VSphereCluster'), paused: true } }),
      ['paused'],
    ],
    ['somebody asked for another rollout', rolling({}, { rolloutAfter: NOW - MINUTE }), ['taken-over']],
    ['somebody took the rollout back', rolling({ controlPlane: controlPlane({ mark: MARK }) }), ['taken-over']],
    ['a certificate ended meanwhile', rolling({ machines: [ending(1, 0), machine(2), young(11)] }), ['not-expired']],
    ['two things are wrong', rolling({}, { remediating: true, paused: '' }), ['paused', 'remediating']],
  ])('is held when %s', (_, observed, reasons) => {
    const step = plan(observed);
    expect(isHold(step)).toEqual(reasons);
    expect(step).toMatchObject({
      state: 'held',
      write: { kind: 'hold', object: OBJECT, hold: { id: MARK.id, at: '2026-11-28T02:30:00Z', reason: reasons[0] } },
    });
  });

  describe('while Cluster API does not reach etcd', () => {
    const conditions = controlPlaneConditions({
      EtcdClusterHealthy: { status: 'Unknown', since: NOW - HOUR, message: 'Failed to connect to etcd' },
    });
    const unseen = (minutes: number, changes: Partial<ObservedRollout> = {}) =>
      rolling({ machines: [machine(1), machine(2), young(0, NOW - minutes * MINUTE)], ...changes }, { conditions });
    const waits = (minutes: number) =>
      [1, 2, 3, 4].map((n) => ({ node: 'berlin-11', name: `csr-${n}`, createdAt: NOW - minutes * MINUTE }));

    it('is watched while a node boots, and held with the CSR that has waited for ten minutes', () => {
      expect(plan(unseen(45)).state).toBe('rolling');
      expect(plan(unseen(20, { waitingRequests: waits(15).slice(3) })).state).toBe('held');
      for (const minutes of [10, 16])
        expect(plan(unseen(20, { waitingRequests: waits(minutes) })).state).toBe('rolling');
      expect(plan(unseen(20, { waitingRequests: waits(15) }))).toMatchObject({
        state: 'held',
        reasons: [
          {
            id: 'etcd-unseen',
            message:
              'EtcdClusterHealthy is Unknown: Failed to connect to etcd; CSR csr-1 of node berlin-11 waits; CSR csr-2 of node berlin-11 waits; CSR csr-3 of node berlin-11 waits',
            remedy: expect.stringContaining('kubectl get csr'),
          },
        ],
      });
    });

    it('is not said to lack capacity when nothing moves', () => {
      expect(isHold(plan(unseen(46)))).toEqual(['etcd-unseen']);
      const seen = rolling({ machines: unseen(46).machines, waitingRequests: waits(11) });
      expect(isHold(plan(seen))).toEqual(['stuck']);
    });
  });

  it('is held when new certificates are not seen for two hours', () => {
    const observed = rolling({ machines: [young(4), young(5), young(6, SINCE, { served: { kind: 'none' } })] });
    expect(plan(observed, NOW + 90 * MINUTE).state).toBe('verifying');
    const step = plan(observed, NOW + 91 * MINUTE);
    expect(isHold(step)).toEqual(['not-verified']);
    expect(step.message).toBe('held: Machine berlin-prod-6: it is new, but no new certificate was seen on it');
    const restless = rolling({ machines: NEW }, { generation: 5 });
    expect(plan(restless, NOW + 3 * HOUR).message).toContain('its machines are new, but it does not settle');
  });

  it('takes bare metal twice the time', () => {
    const datacenter = 'TinkerbellDatacenterConfig';
    const observed = rolling({ eksAnywhere: eksAnywhere({ datacenter }), machines: OLD });
    expect(plan(observed, SINCE + 90 * MINUTE).state).toBe('rolling');
    expect(isHold(plan(observed, SINCE + 91 * MINUTE))).toEqual(['stuck']);
    const made = but({ ...observed, capiCluster: capiCluster('TinkerbellCluster') }, 'eksAnywhere');
    expect(plan(made, SINCE + 90 * MINUTE).state).toBe('rolling');
  });

  it('is watched while a condition is False for a moment', () => {
    expect(plan(rolling({}, { conditions: unhealthy(10) })).state).toBe('rolling');
  });

  it('waits for what cannot be read, and not forever', () => {
    const unread = [UNREAD];
    expect(plan(rolling({ unread })).state).toBe('rolling');
    expect(plan(rolling({ unread, machines: [] }), SINCE + 45 * MINUTE).state).toBe('rolling');
    expect(plan(rolling({ unread, machines: [] })).message).toBe('held: list x: not read for 60 minutes: answered 403');
  });

  it('is left alone while it is held, and tells why', () => {
    const hold = { id: MARK.id, at: '2026-11-28T01:00:00Z', reason: 'stuck', message: 'nothing moved' };
    const step = plan(rolling({ machines: OLD }, { hold }));
    expect(isHold(step)).toEqual(['stuck']);
    expect(step).toMatchObject({ state: 'held', message: 'held for 90 minutes: nothing moved', mark: MARK });
    expect(step).not.toHaveProperty('write', expect.anything());
  });

  it.each([
    ['a mark', { mark: 'unreadable' }, 'unreadable-mark'],
    ['a mark without a time', { mark: { ...MARK, start: 'soon' } }, 'unreadable-mark'],
    ['a hold', { hold: 'unreadable' }, 'unreadable-hold'],
  ] as const)('is held when %s cannot be read', (_, plane, reason) => {
    const step = plan(rolling({}, plane));
    expect(isHold(step)).toEqual([reason]);
    expect(step).not.toHaveProperty('write', expect.anything());
  });
});

describe('a rollout that is done', () => {
  const done = rolling({ machines: NEW });

  it('says so, and why nothing more is due', () => {
    const step = plan(done);
    expect(step).toMatchObject({ kind: 'nothing', state: 'done', mark: MARK, progress: { verified: 3 } });
    expect(step.message).toBe(
      'done: 3 control plane machines replaced, with new certificates, the first of which expires in 364 days: nothing is due',
    );
    // Not every version of Cluster API counts what is up to date.
    expect(plan(rolling({ machines: NEW }, { status: { replicas: 3 } })).state).toBe('done');
    expect(plan(rolling({ machines: NEW }, { status: { replicas: 4, upToDate: 3 } })).state).toBe('verifying');
    expect(plan(done, NOW, 'person').state).toBe('waiting');
    expect(plan(rolling({ machines: withPort(2380, endsIn(-1, 'e1'), NEW) })).state).toBe('expired');
  });

  it('is idle after a week', () => {
    expect(plan(done, SINCE + 7 * DAY - 1).state).toBe('done');
    expect(plan(done, SINCE + 7 * DAY)).toMatchObject({ kind: 'nothing', state: 'idle' });
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
      { machines: [...NEW.slice(1), young(0), booting(young(7, NOW))] },
      { conditions: controlPlaneConditions({ RollingOut: { status: 'True' } }), status: { replicas: 4, upToDate: 1 } },
    );
    const others = history({ rollouts: [{ ...ended, id: 'other' }] });
    const now = NOW + 3 * DAY;
    expect(planRollout(upgrade, policy(), history({ rollouts: [ended] }), now).state).toBe('foreign');
    expect(plan(upgrade, SINCE + 7 * DAY).state).toBe('foreign');
    for (const [observed, past] of [
      [upgrade, others],
      [rolling({ machines: [] }), history({ rollouts: [ended] })],
      [rolling({ machines: [...NEW.slice(1), machine(1)] }), history({ rollouts: [ended] })],
      [rolling({ machines: upgrade.machines }, { paused: pauseOf(MARK) }), history({ rollouts: [ended] })],
    ] as const)
      expect(planRollout(observed, policy(), past, NOW)).toMatchObject({ mark: MARK });
  });
});

describe('a rollout with external etcd', () => {
  const told = { mark: MARK, postEtcdadmCommands: [nonceOf(MARK)] };
  const members = [4, 5, 6].map((number) => {
    const createdAt = SINCE + number * 5 * MINUTE;
    const shown = served({ notAfter: createdAt + 365 * DAY, fingerprint: `d${number}`.repeat(32) });
    return etcdMachine(number, { createdAt, served: shown });
  });
  const clientCertificate = { notBefore: NOW - 800 * DAY, notAfter: SINCE + 30 * MINUTE + 365 * DAY };
  const outdated = { EtcdClusterHasNoOutdatedMachines: { status: 'False' } } as const;

  it.each<[string, Parameters<typeof etcd>[0], string]>([
    ['done when all of it is new', {}, 'done'],
    ['not done while etcd is not ready', { ready: false }, 'rolling'],
    ['not done before the controller has seen the new control plane', { upgradeComplete: true }, 'verifying'],
    ['not done while its controller knows of old members', { conditions: etcdConditions(outdated) }, 'verifying'],
    ['not done with a member that goes', { machines: [...members, etcdMachine(1, { owned: false })] }, 'verifying'],
  ])('is %s', (_, one, state) => {
    const observed = healthyExternal({
      controlPlane: controlPlane({ etcd: 'external', mark: MARK }),
      machines: NEW,
      etcd: etcd({ ...told, clientCertificate, machines: members, ...one }),
    });
    expect(plan(observed).state).toBe(state);
  });
});

describe('a mark with times that cannot be', () => {
  const later = (milliseconds: number) => seconds(NOW + milliseconds);
  it.each<[string, Partial<RolloutMark>, readonly string[]]>([
    ['begins in an hour', { start: later(HOUR) }, ['unreadable-mark']],
    ['was aborted before it began', { abortedAt: '2026-11-28T01:00:00Z' }, ['unreadable-mark']],
    ['is aborted in 73 years', { abortedAt: '2099-01-01T00:00:00Z' }, ['unreadable-mark']],
    ['was aborted at no time', { abortedAt: 'never' }, ['unreadable-mark']],
  ])('is not believed: it %s', (_, changes, reasons) => {
    const observed = rolling({ machines: [1, 2, 3].map((n) => ending(n, 3)) }, { mark: { ...MARK, ...changes } });
    const step = plan(observed);
    expect(step).toMatchObject({ kind: 'hold', state: 'held' });
    expect(isHold(step)).toEqual(reasons);
    expect(isHold(planAbort(observed, NOW))).toEqual(reasons);
  });

  it('is believed where clocks differ by minutes', () => {
    const mark = { ...MARK, start: later(10 * MINUTE) };
    expect(plan(rolling({}, { mark, rolloutAfter: NOW + 10 * MINUTE })).state).toBe('rolling');
    for (const abortedAt of [later(10 * MINUTE), MARK.start])
      expect(plan(rolling({}, { mark: { ...MARK, abortedAt } })).state).toBe('aborted');
  });
});

/** The first machine of three, of which a port of etcd shows something else. */
const withPort = (port: number, shown: Served, [first, ...rest]: readonly ObservedMachine[]) => [
  ...(first === undefined
    ? []
    : [{ ...first, etcdPorts: first.etcdPorts.map((one) => (one.port === port ? { port, served: shown } : one)) }]),
  ...rest,
];

describe('stacked etcd has certificates of its own', () => {
  it.each([2379, 2380])('and the first that ends counts: port %i', (port) => {
    const renewedAlone = [1, 2, 3].map((n) => ending(n, 275));
    const inDays = (count: number) => withPort(port, endsIn(count, 'e1'), renewedAlone);
    const idle = plan(healthyRollout({ machines: inDays(60) }));
    expect(idle).toMatchObject({ kind: 'nothing', state: 'idle', soonestEnd: NOW + 60 * DAY });
    const ready = plan(healthyRollout({ machines: inDays(40) }));
    expect(ready).toMatchObject({ kind: 'act', state: 'ready', soonestEnd: NOW + 40 * DAY });
    expect(isHold(plan(healthyRollout({ machines: inDays(5) })))).toEqual(['not-too-late']);
    expect(plan(healthyRollout({ machines: inDays(-2) }))).toMatchObject({
      state: 'expired',
      reasons: [{ id: 'not-expired', message: `berlin-prod-1 shows one on port ${port} that expired 2 days ago` }],
    });
    const going = plan(rolling({ machines: [...inDays(-2).slice(0, 2), young(11, SINCE)] }));
    expect(isHold(going)).toEqual(['not-expired']);
    expect(going.message).toContain(`its certificate on port ${port} expired 2 days ago`);
  });

  it('begins without an answer of a peer, and not without one of etcd', () => {
    const machines = [1, 2, 3].map((n) => ending(n, 40));
    const silent = (port: number, answered?: true) => {
      const failed: Served = { kind: 'failed', problem: 'it refuses', remedy: 'Start it.', answered };
      return plan(healthyRollout({ machines: withPort(port, failed, machines) }));
    };
    const begun = silent(2380);
    expect(begun).toMatchObject({ kind: 'act', state: 'ready' });
    expect(begun.checks.find(({ id }) => id === 'handshakes')).toMatchObject({
      passed: true,
      warning: true,
      object: 'Machine eksa-system/berlin-prod-1',
      found: 'port 2380: it refuses',
      remedy: 'Start it.',
    });
    expect(isHold(silent(2379))).toEqual(['handshakes']);
    expect(isHold(silent(2380, true))).toEqual(['handshakes']);
  });

  it('leaves open when it is due after a rollout whose peers were not seen', () => {
    const blind = rolling({ machines: withPort(2380, { kind: 'none' }, NEW) });
    expect(plan(blind)).toMatchObject({ state: 'done', message: expect.not.stringContaining('nothing is due') });
  });
});

describe('nobody knows when it is due', () => {
  const far = [1, 2, 3].map((n) => ending(n, 300));
  const unseen = (number: number) => machine(number, { served: { kind: 'none' } });
  const etcdFar = [1, 2, 3].map((n) => etcdMachine(n, { served: endsIn(300, `e${n}`) }));
  const external = (one: Parameters<typeof etcd>[0]) =>
    healthyExternal({ machines: far, etcd: etcd({ machines: etcdFar, clientCertificate: CLIENT, ...one }) });
  const CLIENT = { notBefore: NOW - DAY, notAfter: NOW + 300 * DAY };

  it('is known of a control plane of one machine', () => {
    const one = controlPlane({ replicas: 1, status: { replicas: 1, ready: 1, available: 1, upToDate: 1 } });
    expect(plan(healthyRollout({ machines: far.slice(0, 1), controlPlane: one })).state).toBe('idle');
  });

  it('is known of stacked and external etcd when everything was seen', () => {
    expect(plan(healthyRollout({ machines: far })).state).toBe('idle');
    expect(plan(external({})).state).toBe('idle');
    expect(plan(healthyRollout({ machines: [...far, ending(4, 300)] })).state).toBe('idle');
  });

  it.each<[string, ObservedRollout, string]>([
    ['a machine was not seen', healthyRollout({ machines: [...far.slice(0, 2), unseen(3)] }), 'handshakes'],
    ['a peer of etcd was not seen', healthyRollout({ machines: withPort(2380, { kind: 'none' }, far) }), 'handshakes'],
    [
      'two show the same',
      healthyRollout({ machines: [...far.slice(0, 2), { ...far[0], name: 'x' } as ObservedMachine] }),
      'handshakes',
    ],
    ['a machine is missing', healthyRollout({ machines: far.slice(0, 2) }), 'machines-settled'],
    [
      'all but one go',
      healthyRollout({ machines: far.map((one, index) => (index > 0 ? { ...one, deleting: true } : one)) }),
      'machines-settled',
    ],
    [
      'it asks for none',
      healthyRollout({ machines: far, controlPlane: controlPlane({ replicas: 0 }) }),
      'control-plane-settled',
    ],
    [
      'something was not read',
      healthyRollout({ machines: [...far.slice(0, 2), unseen(3)], unread: [UNREAD] }),
      'everything-read',
    ],
    ['etcd was not seen', but(external({}), 'etcd'), 'external-etcd-settled'],
    ['a machine of etcd is missing', external({ machines: etcdFar.slice(1) }), 'external-etcd-settled'],
    [
      'a machine of etcd was not seen',
      external({ machines: [...etcdFar.slice(1), etcdMachine(1, { served: { kind: 'none' } })] }),
      'handshakes',
    ],
  ])('when %s', (_, observed, first) => {
    const step = plan({ ...observed, capiCluster: { ...capiCluster('VSphereCluster'), paused: true } });
    expect(step).toMatchObject({ kind: 'hold', state: 'refused' });
    expect(step.message).toContain('it is not known when it is due');
    const ids = step.kind === 'hold' ? step.reasons.map(({ id }) => id) : [];
    expect(ids[0]).toBe(first);
    expect(new Set([...ids, 'cluster-not-paused']).size).toBe(ids.length);
    expect(ids).not.toContain('due');
  });

  it('not a week after a rollout that was never verified', () => {
    const since = NOW - 9 * DAY;
    const mark = markOf(CLUSTER_ID, since, 'certificates end soon', 'schedule');
    const own = controlPlane({ mark, rolloutAfter: since });
    const [one, two] = [young(4, since), young(5, since)];
    const blind = healthyRollout({
      controlPlane: own,
      machines: [one, two, young(6, since, { served: { kind: 'none' } })],
    });
    expect(plan(blind)).toMatchObject({ kind: 'hold', state: 'refused' });
    // It answers with a certificate that was not made since.
    const old = healthyRollout({
      controlPlane: own,
      machines: [one, two, young(6, since, { served: endsIn(300, 'ab') })],
    });
    expect(isHold(plan(old))).toEqual(['not-verified']);
    expect(plan(healthyRollout({ controlPlane: own, machines: [one, two, young(6, since)] })).state).toBe('idle');
  });
});

describe('someone else rolls it', () => {
  const rollingOut = (since: number) => controlPlaneConditions({ RollingOut: { status: 'True', since } });
  const foreign = (changes: Parameters<typeof controlPlane>[0], days = 40) =>
    healthyRollout({ machines: [1, 2, 3].map((n) => ending(n, days)), controlPlane: controlPlane(changes) });
  const behind = { status: { replicas: 3, ready: 3, available: 3, upToDate: 2 } };
  const unmoved = (ScalingUp: Condition) => ({ ...behind, conditions: controlPlaneConditions({ ScalingUp }) });

  it.each<[string, ObservedRollout, string]>([
    ['when it was asked for a day ago', foreign({ rolloutAfter: NOW - DAY }), 'foreign'],
    ['for longer', foreign({ conditions: rollingOut(NOW - DAY - 1), rolloutAfter: NOW }), 'refused'],
    ['for longer, before it is due', foreign({ conditions: rollingOut(NOW - 60 * DAY) }, 46), 'foreign'],
    ['for longer, and it is due for less', foreign({ conditions: rollingOut(NOW - 60 * DAY) }, 44.5), 'foreign'],
    ['since a time that is yet to come', foreign({ conditions: rollingOut(NOW + DAY) }), 'refused'],
    ['when it was asked for long ago', foreign({ rolloutAfter: NOW - 2 * DAY }), 'refused'],
    ['when it is planned for tomorrow', foreign({ rolloutAfter: NOW + DAY }), 'foreign'],
    ['when it is planned for next century', foreign({ rolloutAfter: Date.parse('2099-01-01T00:00:00Z') }), 'refused'],
    ['when its time cannot be read', foreign({ rolloutAfter: Number.NaN }), 'refused'],
    ['and nothing moves for long', foreign(behind), 'refused'],
    ['and nothing moves for long, nor tells when it last did', foreign(unmoved({ status: 'False' })), 'refused'],
    ['and nothing moved but in a time to come', foreign(unmoved({ status: 'False', since: NOW + DAY })), 'refused'],
    ['and there is no time to wait', foreign({ conditions: rollingOut(NOW - HOUR) }, 9), 'refused'],
    ['and certificates ended', foreign(behind, -1), 'expired'],
    ['and certificates end at this moment', foreign(behind, 0), 'expired'],
    ['and certificates ended, when it is planned', foreign({ rolloutAfter: NOW + DAY }, -1), 'expired'],
  ])('%s', (_, observed, state) => {
    const step = plan(observed);
    expect(step.state).toBe(state);
    expect(step.kind).toBe(state === 'foreign' ? 'nothing' : 'hold');
    const ids = step.kind === 'hold' ? step.reasons.map(({ id }) => id) : [];
    expect(ids.includes('not-rolling-already')).toBe(state === 'refused');
  });

  it('is only told of where nobody opted in, or to who is at the keyboard', () => {
    const observed = foreign({ conditions: rollingOut(NOW - 60 * DAY) }, 9);
    expect(planRollout(observed, undefined, history(), NOW).state).toBe('foreign');
    expect(plan(observed, NOW, 'person').state).toBe('foreign');
  });

  it('and what stands in the way besides is told, but for what passes by itself', () => {
    const observed = foreign({ conditions: rollingOut(NOW - 2 * DAY) });
    const machines = [...observed.machines.slice(0, 2), machine(3, { unhealthy: ['NodeHealthy is False'] })];
    const step = plan({ ...observed, machines }, NOW + 12 * HOUR);
    expect(step.checks).toContainEqual(
      expect.objectContaining({ id: 'maintenance-window', passed: false, passing: true }),
    );
    expect(isHold(step)).toEqual(['not-rolling-already', 'machines-healthy']);
  });

  it('and a machine that nobody saw may be due', () => {
    const observed = foreign({ rolloutAfter: Date.parse('2099-01-01T00:00:00Z') }, 300);
    expect(plan(observed).state).toBe('foreign');
    const machines = [ending(1, 300), ending(2, 300), machine(3, { served: { kind: 'none' } })];
    expect(plan({ ...observed, machines }).state).toBe('refused');
  });
});

describe('a whole rollout is bounded', () => {
  const since = NOW - 2 * DAY;
  const mark = markOf(CLUSTER_ID, since, 'certificates end soon', 'schedule');
  const conditions = controlPlaneConditions({ RollingOut: { status: 'True', since: NOW - MINUTE } });
  const going = (machines: readonly ObservedMachine[], who = mark, changes: Partial<ObservedRollout> = {}) =>
    healthyRollout({
      machines,
      controlPlane: controlPlane({ mark: who, rolloutAfter: Date.parse(who.start), conditions }),
      ...changes,
    });
  const old = [machine(1), machine(2)];
  const bootingSince = (minutes: number) => booting(young(9, NOW - 5 * MINUTE * 9 - minutes * MINUTE));

  it.each<[string, ObservedRollout, readonly string[]]>([
    ['conditions that change for ever', going([...old, machine(3)]), ['stuck']],
    ['machines that are made for ever', going([...old, machine(3), bootingSince(20)]), ['stuck']],
    ['machines that come and go', going([...OLD, { ...young(4, NOW - HOUR), deleting: true }]), ['stuck']],
    ['what cannot be read for ever', going(OLD, mark, { unread: [UNREAD] }), ['unseen']],
    ['certificates that nobody sees', going([4, 5, 6].map((n) => unseenYet(young(n, since)))), ['not-verified']],
  ])('whatever moves: %s', (_, observed, reasons) => {
    expect(isHold(plan(observed))).toEqual(reasons);
  });

  it('while one machine more is replaced a day it goes on', () => {
    expect(plan(going([...old, young(4, NOW - 20 * HOUR)])).state).toBe('rolling');
    expect(plan(going([...old, young(4, NOW - 26 * HOUR)])).message).toContain(
      '1 of 3 machines replaced, and none for 25',
    );
    const all = [4, 5, 6].map((n) => young(n, since));
    // Another machine begins something else; one that goes is of this rollout.
    expect(plan(going([...all, bootingSince(20)])).state).toBe('rolling');
    expect(isHold(plan(going([...all, machine(3, { deleting: true })])))).toEqual(['stuck']);
  });

  it('when it becomes too late with a machine left, unless a person began it later than that', () => {
    const left = [ending(1, 9.5), young(4, NOW - HOUR), young(5, NOW - HOUR)];
    const step = plan(going(left));
    expect(isHold(step)).toEqual(['stuck']);
    expect(step.message).toContain('too little time is left');
    const first = markOf(CLUSTER_ID, NOW - 40 * MINUTE, 'certificates end soon', 'schedule');
    const told = etcd({ mark: first, postEtcdadmCommands: [nonceOf(first)], upgrading: true });
    const plane = controlPlane({ mark: first, etcd: 'external', paused: pauseOf(first) });
    const machines = [ending(1, 10 - MINUTE / DAY), machine(2), machine(3)];
    expect(plan(healthyExternal({ machines, controlPlane: plane, etcd: told })).message).toContain('too little time');
    const late = markOf(CLUSTER_ID, NOW - 2 * HOUR, 'wanted by a person', 'person');
    expect(plan(going(left, late)).state).toBe('rolling');
  });
});

it.each([
  ['began before the last moment, which is now', 0, -10 * MINUTE, 'rolling'],
  ['began before the last moment, which was a second ago', -1_000, -10 * MINUTE, 'held'],
  ['began at the last moment', -1_000, -1_000, 'held'],
  ['began a second after the last moment', -2_000, -1_000, 'rolling'],
] as const)('a rollout with machines left that %s', (_, until, since, state) => {
  const mark = markOf(CLUSTER_ID, NOW + since, 'certificates end soon', 'schedule');
  // 10 days before its certificate ends it is too late.
  const machines = [1, 2, 3].map((number) => ending(number, 10 + until / DAY));
  const observed = healthyRollout({ machines, controlPlane: controlPlane({ mark, rolloutAfter: NOW + since }) });
  const step = plan(observed);
  expect([step.state, step.message.includes('too little time')]).toEqual([state, state === 'held']);
});

it('a rollout is not too late once no machine is left, though one of them shows an old certificate yet', () => {
  const [one, two] = NEW;
  const machines = [one, two, young(6, SINCE, { served: endsIn(10 - MINUTE / DAY, 'ab') })].flatMap(
    (made) => made ?? [],
  );
  expect(plan(rolling({ machines })).state).toBe('verifying');
});

describe('what a person answers for', () => {
  /** A Tuesday: no window is open. */
  const now = NOW + 3 * DAY;
  const beginning = (who: 'person' | 'schedule', began: number): ObservedRollout => {
    const mark = markOf(CLUSTER_ID, began, 'wanted', who);
    return healthyExternal({
      controlPlane: controlPlane({ etcd: 'external', mark, paused: pauseOf(mark) }),
      etcd: etcd({ controllerStartedAt: NOW }),
    });
  };
  const look = (observed: ObservedRollout, trigger: 'person' | 'schedule') =>
    planRollout(observed, policy({ etcd: 'auto-experimental' }), history(), now, trigger);

  it('is never inherited from what is written on the control plane', () => {
    for (const who of ['person', 'schedule'] as const) {
      const fresh = beginning(who, now - MINUTE);
      expect(look(fresh, 'schedule')).toMatchObject({ kind: 'nothing', state: 'rolling' });
      expect(look(fresh, 'person')).toMatchObject({ kind: 'act', write: { kind: 'roll-etcd' } });
      const step = look(beginning(who, now - 11 * MINUTE), 'schedule');
      expect(isHold(step)).toEqual(['etcd-not-begun', 'maintenance-window']);
      expect(step.message.includes('certmarshal rollout start --yes')).toBe(who === 'person');
    }
  });

  it('is not whether etcd may be rolled, and nobody else begins beside it', () => {
    const began = NOW - MINUTE;
    const mine = beginning('schedule', began);
    const { id } = markOf(CLUSTER_ID, began, 'wanted', 'schedule');
    const lease = (holder: string) => ({ uid: 'u', resourceVersion: '1', holder, acquiredAt: began, renewedAt: began });
    const siblings = [{ namespace: NAMESPACE, cluster: 'milan-prod', rolling: true, optedIn: true }];
    const claim = (cluster: string, claimed: string) =>
      history({ rollouts: [{ id: claimed, cluster, trigger: 'schedule', startedAt: began }] });
    const step = (
      changes: Partial<ObservedRollout>,
      past = history(),
      etcdMode: RolloutPolicy['etcd'] = 'auto-experimental',
    ) => planRollout({ ...mine, ...changes }, policy({ etcd: etcdMode }), past, NOW);
    const held = { lease: lease(`${NAMESPACE}/${NAME} ${id}`), siblings };
    expect(step(held, claim(CLUSTER_ID, id))).toMatchObject({ kind: 'act', write: { kind: 'roll-etcd' } });
    expect(step({ siblings }).message).toContain('milan-prod');
    expect(step({ lease: lease(`${NAMESPACE}/milan-prod ${id}a`) }).message).toContain('milan-prod');
    expect(step({}, claim('oslo', 'x')).message).toContain('oslo');
    expect(step({}, history(), 'assist').message).toContain('etcd');
    expect(step({}, history(), 'assist').kind).toBe('nothing');
  });
});

describe('one certificate that several machines show', () => {
  it('proves nothing of any of them', () => {
    const one = served({ notAfter: NOW - 30 * MINUTE + 365 * DAY, fingerprint: 'cc', address: '10.0.1.99:6443' });
    const same = rolling({ machines: [young(4, SINCE, { served: one }), young(5, SINCE, { served: one }), young(6)] });
    expect(plan(same)).toMatchObject({ state: 'verifying', progress: { replaced: 3, verified: 1 } });
    expect(isHold(plan(same, NOW + 2 * HOUR))).toEqual(['not-verified']);
    const before = healthyRollout({
      machines: [1, 2, 3].map((n) => machine(n, { served: served({ fingerprint: 'cc' }) })),
    });
    const step = plan(before);
    expect(isHold(step)).toEqual(['handshakes']);
    expect(step.kind === 'hold' && step.reasons[0]).toMatchObject({
      message: expect.stringContaining('another machine shows the same certificate'),
      remedy: expect.stringContaining('a virtual IP'),
    });
  });
});

const HOLD: HoldMark = { id: MARK.id, at: '2026-11-28T01:00:00Z', reason: 'stuck', message: 'nothing moved' };

it('an abort does not take what cannot be read for nothing', () => {
  const step = planAbort(but(healthyRollout({ unread: [UNREAD] }), 'controlPlane'), NOW);
  expect(step).toEqual({
    kind: 'hold',
    state: 'refused',
    message: 'its control plane could not be read: 1 problem',
    checks: [],
    reasons: [{ id: 'everything-read', object: 'list x', message: 'answered 403', remedy: 'Grant it' }],
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
      unhold: false,
    });
    expect(step.message).toBe(
      'aborts the rollout that began 60 minutes ago: 1 of 3 control plane machines replaced, the others stay; neither the schedule nor a person begins another one for 7 days',
    );
    expect(planAbort(rolling({}, { rolloutAfter: NOW - MINUTE }), NOW)).toMatchObject({ write: { clearAfter: false } });
    expect(planAbort(rolling({}, { paused: 'x' }), NOW)).toMatchObject({ state: 'rolling', write: { unpause: false } });
  });

  it.each<[string, NonNullable<ObservedControlPlane['hold']>]>([
    ['that can be read', HOLD],
    ['that cannot', 'unreadable'],
  ])('with the hold %s: nobody is called any more', (_, hold) => {
    const observed = rolling({}, { hold });
    const step = planAbort(observed, NOW);
    expect(step).toMatchObject({ kind: 'act', state: 'held', write: { kind: 'abort', unhold: true } });
    expect(step.message).toMatch(/^aborts the rollout that began 60 minutes ago, and removes the hold: /);
    const after = rolling({}, { mark: { ...MARK, abortedAt: seconds(NOW) } });
    expect(plan(after, NOW + MINUTE)).toMatchObject({ kind: 'nothing', state: 'aborted' });
  });

  it('and a hold that somebody puts on it later is told', () => {
    const observed = rolling({}, { mark: { ...MARK, abortedAt: seconds(NOW) }, hold: HOLD });
    expect(plan(observed, NOW + MINUTE)).toMatchObject({ kind: 'hold', state: 'held', reasons: [{ id: 'stuck' }] });
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
    [
      'with the mark of an earlier one',
      external({ paused: pauseOf(MARK) }, { mark: { ...MARK, id: 'earlier', start: '2025-11-28T02:00:00Z' } }),
      true,
    ],
    ['when somebody took a settled etcd over', external({ paused: pauseOf(MARK) }, { machines: fresh }), true],
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
    expect(step.message).toBe('0 of 3 etcd machines replaced: nothing stops etcd halfway');
    const { etcd: _, ...blind } = observed;
    expect(isHold(planAbort(blind, NOW))).toEqual(['abort-refused']);
  });

  const half = { upgrading: true, generation: 3, machines: [etcdMachine(1), etcdMachine(2), ...fresh.slice(0, 1)] };

  it.each<[string, Parameters<typeof etcd>[0]]>([
    ['its mark was removed', { ...half, postEtcdadmCommands: [nonceOf(MARK)] }],
    ['its mark is unreadable', { mark: 'unreadable' }],
    ['its mark is unreadable, and it is settled', { mark: 'unreadable', machines: fresh }],
    ['its mark is another one', { ...half, mark: { ...MARK, id: 'other' } }],
    ['only its configuration tells', { postEtcdadmCommands: [nonceOf(MARK)] }],
    ['only its controller tells', { upgrading: true }],
    ['only its generation tells', { generation: 3 }],
    ['only a machine tells', { machines: [etcdMachine(1), etcdMachine(2), ...fresh.slice(0, 1)] }],
    [
      'only a member without owner tells',
      { machines: [...etcd().machines.slice(1), etcdMachine(1, { owned: false })] },
    ],
  ])('not while etcd may have begun: %s', (_, one) => {
    expect(isHold(planAbort(external({ paused: pauseOf(MARK) }, one), NOW))).toEqual(['abort-refused']);
  });

  it.each<[string, ObservedRollout]>([
    ['before the control plane is told', external({ paused: pauseOf(MARK) }, { ...told, machines: fresh })],
    ['while it rolls', external({}, { ...told, machines: fresh })],
  ])('not when etcd is new, which the control plane has to follow: %s', (_, observed) => {
    const step = planAbort(observed, NOW);
    expect(isHold(step)).toEqual(['abort-refused']);
    expect(step.message).toBe('etcd is new: the control plane has to follow');
  });

  const ABORTED = { ...MARK, abortedAt: '2026-11-28T02:00:00Z' };

  it('and is held while its machines still move, and are not well or stand', () => {
    const conditions = controlPlaneConditions({
      RollingOut: { status: 'True', since: NOW - 20 * MINUTE },
      EtcdClusterHealthy: { status: 'False', since: NOW - 11 * MINUTE },
    });
    const moving = rolling({}, { mark: ABORTED, conditions });
    const step = plan(moving);
    expect(step).toMatchObject({ kind: 'hold', state: 'held', mark: ABORTED });
    expect(isHold(step)).toEqual(['unhealthy']);
    expect(step).not.toHaveProperty('write', expect.anything());
    expect(isHold(plan(moving, NOW + HOUR))).toEqual(['unhealthy', 'stuck']);
    expect(isMoving(moving)).toBe(true);
    const standing = rolling({}, { mark: ABORTED });
    expect([plan(standing, NOW + HOUR).state, isMoving(standing)]).toEqual(['aborted', false]);
    const { controlPlane: _, ...without } = standing;
    expect(isMoving(without)).toBe(false);
  });

  it.each<[string, Partial<ObservedMachine>]>([
    ['goes', { deleting: true }],
    ['has no owner', { owned: false }],
    ['is not ready', { etcdReady: false }],
  ])('and moves yet while one machine of its etcd %s', (_, changes) => {
    const of = (machines: readonly ObservedMachine[]) => external({ mark: ABORTED }, { machines });
    const others = [etcdMachine(1), etcdMachine(2)];
    expect(isMoving(of([...others, etcdMachine(3)]))).toBe(false);
    expect(isMoving(of([...others, etcdMachine(3, changes)]))).toBe(true);
    expect(isMoving(of(others))).toBe(true);
    expect(isMoving(external({ mark: ABORTED }, { upgrading: true }))).toBe(true);
  });

  it.each<[string, ObservedRollout, readonly string[]]>([
    ['no time is left', rolling({ machines: [1, 2, 3].map((n) => ending(n, 9)) }, { mark: ABORTED }), ['not-too-late']],
    [
      'one is not seen',
      rolling({ machines: [...OLD.slice(1), unseenYet(machine(1))] }, { mark: ABORTED }),
      ['handshakes'],
    ],
  ])('and its cool-down hides not that %s', (_, observed, reasons) => {
    const step = plan(observed);
    expect(step).toMatchObject({ kind: 'hold', state: 'refused', mark: ABORTED });
    expect(isHold(step)).toEqual(expect.arrayContaining([...reasons]));
  });

  it('and is not begun again for a week', () => {
    const mark = { ...MARK, abortedAt: '2026-11-28T02:30:00Z' };
    const { rolloutAfter: _, ...plane } = controlPlane({ mark });
    const aborted = healthyRollout({ controlPlane: plane, machines: [machine(1), machine(2), young(5)] });
    const step = plan(aborted, NOW + HOUR);
    expect(step).toMatchObject({ kind: 'nothing', state: 'aborted', mark });
    expect(step.message).toBe('aborted 60 minutes ago, with 1 of 3 control plane machines replaced');
    expect(plan(aborted, NOW + HOUR, 'person').state).toBe('waiting');
    expect(plan(rolling({}, { mark }), NOW + HOUR, 'person').kind).toBe('hold');
    expect(plan(aborted, NOW + 7 * DAY - 1).state).toBe('aborted');
    expect(plan(aborted, NOW + 7 * DAY).message).toMatch(/^would roll 3 control plane machines/);
  });
});
