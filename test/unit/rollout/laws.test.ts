import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PastRollout } from '../../../lambdas/contracts/rollout-ledger.ts';
import type { HoldMark, RolloutMark } from '../../../lambdas/contracts/rollout-mark.ts';
import { ETCD_CONDITIONS } from '../../../lambdas/resources/etcdadm-cluster.ts';
import { CONTROL_PLANE_CONDITIONS } from '../../../lambdas/resources/kubeadm-control-plane.ts';
import type { Condition } from '../../../lambdas/resources/values.ts';
import { checksOf } from '../../../lambdas/rollout/checks.ts';
import { nonceOf, pauseOf } from '../../../lambdas/rollout/etcd-order.ts';
import type { RolloutHistory } from '../../../lambdas/rollout/history.ts';
import type {
  ObservedControlPlane,
  ObservedEtcd,
  ObservedMachine,
  ObservedRollout,
  PortServed,
  Served,
} from '../../../lambdas/rollout/observed.ts';
import { planAbort, planRollout } from '../../../lambdas/rollout/plan.ts';
import { ACCEPTANCES, type RolloutPolicy } from '../../../lambdas/rollout/policy.ts';
import { markOf, seconds } from '../../../lambdas/rollout/rollout-mark.ts';
import type { RolloutStep, RolloutWrite } from '../../../lambdas/rollout/step.ts';
import { dueFor } from '../../../lambdas/rollout/turn.ts';
import { endOfWindow } from '../../../lambdas/window/window.ts';
import { runs } from '../../runs.ts';
import {
  CLUSTER_ID,
  controlPlane,
  controlPlaneConditions,
  DAY,
  etcd,
  etcdMachine,
  HOUR,
  healthyExternal,
  healthyRollout,
  history,
  MINUTE,
  machine as machineOf,
  NAME,
  NAMESPACE,
  NOW,
  policy,
  SATURDAY_NIGHT,
  served,
} from './fixtures.ts';

const SEED = 20_261_122;

interface Case {
  readonly observed: ObservedRollout;
  readonly policy: RolloutPolicy | undefined;
  readonly history: RolloutHistory;
  readonly now: number;
  readonly trigger: 'schedule' | 'person';
}

// Any value that the types allow.

const time = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -900, max: 900 }).map((days) => NOW + days * DAY) },
  { weight: 6, arbitrary: fc.integer({ min: -180, max: 180 }).map((minutes) => NOW + minutes * MINUTE) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 8.64e15, -1),
  },
);
/** Of our own clock. */
const clock = fc.integer({ min: -900 * 24 * 60, max: 900 * 24 * 60 }).map((minutes) => NOW + minutes * MINUTE);
const words = fc.oneof(fc.constantFrom('', 'auto', NAME, NAMESPACE, 'true', '__proto__'), fc.string({ maxLength: 12 }));
const count = fc.oneof(fc.nat(5), fc.constantFrom(-1, Number.NaN, Number.POSITIVE_INFINITY, 1e9));
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
/** Without the keys whose value is undefined: so the types want it. */
const record = <T>(shape: { [K in keyof T]-?: fc.Arbitrary<T[K] | undefined> }): fc.Arbitrary<T> =>
  fc
    .record(shape as unknown as Record<string, fc.Arbitrary<unknown>>)
    .map((all) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as T);

const SINCE = NOW - HOUR;
const MARK = markOf(CLUSTER_ID, SINCE, 'certificates end soon', 'schedule');
const mark: fc.Arbitrary<RolloutMark | 'unreadable'> = fc.oneof(
  fc.constantFrom<RolloutMark | 'unreadable'>(MARK, { ...MARK, trigger: 'person' }, 'unreadable'),
  record<RolloutMark>({
    id: words,
    start: fc.oneof(fc.constantFrom(MARK.start, '2026-01-01T00:00:00Z', 'soon'), words),
    reason: words,
    trigger: fc.constantFrom('schedule', 'person'),
    abortedAt: maybe(fc.constantFrom('2026-11-28T02:00:00Z', '2026-01-02T00:00:00Z', '2099-01-01T00:00:00Z', 'never')),
  }),
);
const hold: fc.Arbitrary<HoldMark | 'unreadable'> = fc.oneof(
  fc.constant('unreadable' as const),
  record<HoldMark>({ id: words, at: words, reason: words, message: words }),
);
const condition: fc.Arbitrary<Condition> = record<Condition>({
  status: fc.constantFrom('True', 'False', 'Unknown', 'Missing'),
  reason: maybe(fc.oneof(words, fc.constant('MaxNumberOfEtcdMachinesReached'))),
  message: maybe(words),
  since: maybe(time),
});
const conditions = <K extends string>(types: readonly K[]) =>
  fc
    .tuple(...types.map(() => condition))
    .map((all) => Object.fromEntries(all.map((one, i) => [types[i], one])) as Record<K, Condition>);
const serving: fc.Arbitrary<Served> = fc.oneof(
  fc.constant<Served>({ kind: 'none' }),
  words.map((problem): Served => ({ kind: 'failed', problem, remedy: 'look' })),
  words.map((problem): Served => ({ kind: 'failed', problem, remedy: 'look', foreign: true })),
  fc
    .record({ notBefore: time, notAfter: time, fingerprint: words })
    .map((certificate): Served => ({ kind: 'certificate', address: '10.0.1.1:6443', ...certificate })),
);
const machine: fc.Arbitrary<ObservedMachine> = record<ObservedMachine>({
  namespace: words,
  name: words,
  uid: words,
  createdAt: time,
  deleting: fc.boolean(),
  owned: fc.boolean(),
  node: maybe(words),
  addresses: fc.array(words, { maxLength: 2 }),
  phase: maybe(words),
  unhealthy: fc.array(words, { maxLength: 2 }),
  hooks: fc.array(words, { maxLength: 2 }),
  served: serving,
  etcdPorts: fc.array(record<PortServed>({ port: fc.constantFrom(2379, 2380), served: serving }), { maxLength: 2 }),
  kubelet: maybe(serving),
  etcdReady: maybe(fc.boolean()),
});
const plane: fc.Arbitrary<ObservedControlPlane> = record<ObservedControlPlane>({
  namespace: words,
  name: words,
  uid: words,
  resourceVersion: words,
  apiVersion: fc.constantFrom('v1beta2', 'v1beta1'),
  generation: count,
  observedGeneration: maybe(count),
  deleting: fc.boolean(),
  paused: maybe(fc.oneof(words, fc.constant(pauseOf(MARK)))),
  replicas: count,
  status: record<ObservedControlPlane['status']>({
    replicas: maybe(count),
    ready: maybe(count),
    available: maybe(count),
    upToDate: maybe(count),
  }),
  conditions: conditions(CONTROL_PLANE_CONDITIONS),
  strategy: maybe(fc.oneof(words, fc.constant('RollingUpdate'))),
  maxSurge: maybe(count),
  rolloutAfter: maybe(fc.oneof(time, fc.constant(SINCE))),
  rolloutBeforeDays: maybe(count),
  kubernetesVersion: maybe(words),
  certificateValidityDays: maybe(count),
  mode: maybe(words),
  mark: maybe(mark),
  hold: maybe(hold),
  remediating: fc.boolean(),
  inPlaceUpgrade: fc.boolean(),
  etcd: fc.constantFrom('stacked', 'external'),
  template: maybe(fc.record({ group: words, kind: words, namespace: words, name: words })),
  templateFound: fc.boolean(),
});
const external: fc.Arbitrary<ObservedEtcd> = record<ObservedEtcd>({
  namespace: words,
  name: words,
  uid: words,
  resourceVersion: words,
  generation: count,
  observedGeneration: maybe(count),
  deleting: fc.boolean(),
  paused: fc.boolean(),
  replicas: count,
  ready: fc.boolean(),
  endpoints: fc.array(words, { maxLength: 2 }),
  upgrading: fc.boolean(),
  upgradeComplete: fc.boolean(),
  conditions: conditions(ETCD_CONDITIONS),
  mark: maybe(mark),
  postEtcdadmCommands: fc.array(fc.oneof(words, fc.constant(nonceOf(MARK))), { maxLength: 2 }),
  machines: fc.array(machine, { maxLength: 4 }),
  clientCertificate: maybe(fc.record({ notBefore: time, notAfter: time })),
  controllerStartedAt: maybe(time),
});
const observed: fc.Arbitrary<ObservedRollout> = record<ObservedRollout>({
  apiServer: maybe(fc.record({ url: words, notBefore: time, notAfter: time })),
  cluster: record<ObservedRollout['cluster']>({
    id: words,
    name: words,
    managesItself: fc.boolean(),
    approves: maybe(fc.boolean()),
  }),
  capiCluster: maybe(
    record<NonNullable<ObservedRollout['capiCluster']>>({
      namespace: words,
      name: words,
      deleting: fc.boolean(),
      paused: fc.boolean(),
      topology: fc.boolean(),
      infrastructure: maybe(words),
    }),
  ),
  eksAnywhere: maybe(
    record<NonNullable<ObservedRollout['eksAnywhere']>>({
      namespace: words,
      name: words,
      deleting: fc.boolean(),
      paused: fc.boolean(),
      createdAt: maybe(count),
      contested: maybe(fc.array(words, { maxLength: 3 })),
      mode: maybe(words),
      ready: condition,
      generation: count,
      observedGeneration: maybe(count),
      reconciledGeneration: maybe(count),
      failureMessage: maybe(words),
      datacenter: maybe(words),
      controlPlaneUpgrade: fc.boolean(),
    }),
  ),
  controlPlane: maybe(plane),
  machines: fc.array(machine, { maxLength: 4 }),
  etcd: maybe(external),
  waitingRequests: maybe(fc.array(fc.record({ node: words, name: words, createdAt: time }), { maxLength: 2 })),
  dependencies: maybe(
    fc.array(
      record<NonNullable<ObservedRollout['dependencies']>[number]>({
        where: words,
        notAfter: time,
        problem: maybe(words),
      }),
      { maxLength: 2 },
    ),
  ),
  healthChecks: fc.array(
    record<ObservedRollout['healthChecks'][number]>({
      namespace: words,
      name: words,
      expected: maybe(count),
      healthy: maybe(count),
    }),
    { maxLength: 2 },
  ),
  moreSiblings: maybe(fc.constant(true as const)),
  siblings: fc.array(
    record<ObservedRollout['siblings'][number]>({
      namespace: words,
      cluster: words,
      rolling: fc.boolean(),
      optedIn: fc.boolean(),
      soonestEnd: maybe(time),
    }),
    { maxLength: 2 },
  ),
  lease: maybe(
    record<NonNullable<ObservedRollout['lease']>>({
      uid: words,
      resourceVersion: words,
      holder: maybe(
        fc.oneof(
          words,
          fc.constantFrom(`${NAMESPACE}/${NAME} ${MARK.id}`, 'eksa-system/milan-prod 20261128-0000000000'),
        ),
      ),
      acquiredAt: maybe(time),
      renewedAt: maybe(time),
      transitions: maybe(count),
    }),
  ),
  authorities: fc.array(fc.record({ name: words, notAfter: time }), { maxLength: 2 }),
  unread: fc.array(fc.record({ kind: words, object: words, message: words, remedy: words }), { maxLength: 1 }),
});
const window = fc.oneof(
  fc.constantFrom(SATURDAY_NIGHT, { from: '2026-11-28T00:00:00Z', until: '2026-11-29T00:00:00Z' }),
  fc.record({ from: words, until: words }),
  fc.record({ days: fc.constant(['sun' as const]), from: words, until: words, timeZone: words }),
);
const lead = fc.record({ days: count, share: fc.oneof(fc.double({ min: 0.01, max: 0.99 }), fc.constant(Number.NaN)) });
const agreed: fc.Arbitrary<RolloutPolicy> = fc.record({
  clusters: fc.array(words, { maxLength: 2 }),
  begin: lead,
  stop: lead,
  windows: fc.array(window, { maxLength: 2 }),
  etcd: fc.constantFrom('assist', 'auto-experimental'),
  accepted: fc.subarray([...ACCEPTANCES]),
});
const past: fc.Arbitrary<RolloutHistory> = record<RolloutHistory>({
  rollouts: fc.array(
    record<PastRollout>({
      id: fc.oneof(words, fc.constant(MARK.id)),
      cluster: fc.oneof(words, fc.constant(CLUSTER_ID)),
      trigger: fc.constantFrom('schedule', 'person'),
      startedAt: time,
      endedAt: maybe(time),
    }),
    { maxLength: 2 },
  ),
  limits: fc.record({ atOnce: count, pauseMs: count }),
  undone: maybe(
    fc.array(fc.record({ cluster: fc.oneof(words, fc.constant(CLUSTER_ID)), claimedAt: time }), { maxLength: 4 }),
  ),
  unread: maybe(words),
  problems: fc.constant(undefined),
});
const trigger = fc.constantFrom('schedule' as const, 'person' as const);
const anything: fc.Arbitrary<Case> = fc.record({ observed, policy: maybe(agreed), history: past, now: clock, trigger });

// A case where something is written, with a few things changed.

const fresh = (number: number) =>
  etcdMachine(number, {
    createdAt: SINCE + number * MINUTE,
    served: served({ notAfter: SINCE + 365 * DAY, fingerprint: `d${number}` }),
  });
const ending = (number: number, days: number) =>
  machineOf(number, { served: served({ notAfter: NOW + days * DAY, fingerprint: `0${number}` }) });
const far = (number: number) => ending(number, 300);
const paused = controlPlane({ etcd: 'external', mark: MARK, paused: pauseOf(MARK) });
const BASES: readonly ObservedRollout[] = [
  healthyRollout(),
  healthyExternal(),
  healthyExternal({ controlPlane: paused }),
  // Somebody took the pause away.
  healthyExternal({ controlPlane: controlPlane({ etcd: 'external', mark: MARK }) }),
  healthyExternal({
    controlPlane: paused,
    etcd: etcd({
      mark: MARK,
      postEtcdadmCommands: [nonceOf(MARK)],
      machines: [4, 5, 6].map(fresh),
      clientCertificate: { notBefore: 0, notAfter: NOW + 365 * DAY },
    }),
  }),
  healthyRollout({ controlPlane: controlPlane({ mark: MARK, rolloutAfter: SINCE }) }),
  // Conditions change, and nothing comes of it.
  healthyRollout({
    controlPlane: controlPlane({
      mark: { ...MARK, start: seconds(NOW - 2 * DAY) },
      rolloutAfter: NOW - 2 * DAY,
      conditions: controlPlaneConditions({ RollingOut: { status: 'True', since: NOW - MINUTE } }),
    }),
  }),
  // One address for all of them.
  healthyRollout({
    controlPlane: controlPlane({ mark: MARK, rolloutAfter: SINCE }),
    machines: [4, 5, 6].map((number) =>
      machineOf(number, {
        createdAt: SINCE + number * MINUTE,
        served: served({ notAfter: SINCE + 365 * DAY, fingerprint: 'cc' }),
      }),
    ),
  }),
  // Nothing is due.
  healthyRollout({ machines: [1, 2, 3].map(far) }),
  healthyRollout({ controlPlane: controlPlane({ mark: { ...MARK, abortedAt: '2026-11-28T02:00:00Z' } }) }),
  // Too late.
  healthyRollout({ machines: [1, 2, 3].map((number) => ending(number, 5)) }),
  healthyRollout({
    machines: [1, 2, 3].map((number) => ending(number, 5)),
    controlPlane: controlPlane({ rolloutAfter: NOW + HOUR }),
  }),
  healthyExternal({
    controlPlane: controlPlane({ etcd: 'external', mark: { ...MARK, trigger: 'person' }, paused: pauseOf(MARK) }),
  }),
];

/** Some of the fields are those of another one. */
const mixed = <T extends object>(base: T, other: T, take: readonly number[]): T =>
  Object.fromEntries(
    [...new Set([...Object.keys(base), ...Object.keys(other)])].flatMap((key, index) => {
      const from = take.includes(index) ? other : base;
      return key in from ? [[key, from[key as keyof T]]] : [];
    }),
  ) as T;

const few = (fields: number, most: number) => fc.array(fc.nat(fields), { maxLength: most });
const nearly: fc.Arbitrary<Case> = fc
  .tuple(
    fc.constantFrom(...BASES),
    fc.record({ observed, plane, machine, policy: agreed, history: past, trigger }),
    fc.record({
      observed: few(60, 1),
      plane: few(60, 1),
      machine: few(40, 1),
      policy: few(20, 1),
      history: few(8, 1),
      now: fc.oneof(fc.constant(NOW), clock),
      noPolicy: fc.nat(15),
    }),
  )
  .map(([base, other, take]) => {
    const merged = mixed(base, other.observed, take.observed);
    const { controlPlane: own, machines } = merged;
    return {
      observed: {
        ...merged,
        ...(own === undefined ? {} : { controlPlane: mixed(own, other.plane, take.plane) }),
        machines: machines.map((one, index) => (index === 0 ? mixed(one, other.machine, take.machine) : one)),
      },
      policy: take.noPolicy === 0 ? undefined : mixed(policy({ etcd: 'auto-experimental' }), other.policy, take.policy),
      history: mixed(history(), other.history, take.history),
      now: take.now,
      trigger: other.trigger,
    };
  });

const planned = ({ observed: seen, policy: own, history: before, now, trigger: who }: Case): RolloutStep =>
  planRollout(seen, own, before, now, who);
const writeOf = (step: RolloutStep): RolloutWrite | undefined =>
  step.kind === 'act' || step.kind === 'hold' ? step.write : undefined;

/** Machines are replaced because of it. */
const ROLLS: ReadonlySet<string> = new Set(['roll-control-plane', 'pause-control-plane', 'roll-etcd']);

/** While two have its name, it only forbids. */
function agreement(found: ObservedRollout['eksAnywhere']): string | undefined {
  return found?.contested !== undefined && found.mode === 'auto' ? undefined : found?.mode;
}

function breaches(one: Case): readonly string[] {
  const step = planned(one);
  const write = writeOf(step);
  const { observed: seen, policy: own, now } = one;
  const { controlPlane: cp, etcd: ex, eksAnywhere, capiCluster } = seen;
  const laws: [string, boolean][] = [['a hold has a reason', step.kind !== 'hold' || step.reasons.length > 0]];
  if (write !== undefined && cp !== undefined) {
    const object = write.kind === 'roll-etcd' ? ex : cp;
    laws.push(
      [
        'a write names what was observed',
        write.object.uid === object?.uid && write.object.resourceVersion === object.resourceVersion,
      ],
      ['nothing is written while it is held', cp.hold === undefined],
      ['a step that holds writes the hold only', (write.kind === 'hold') === (step.kind === 'hold')],
      ['a schedule never ends a rollout', write.kind !== 'abort'],
    );
  }
  if (write !== undefined && cp !== undefined && step.kind === 'act') {
    const certificates = [...seen.machines, ...(ex?.machines ?? [])].flatMap(({ deleting, served: shown }) =>
      shown.kind === 'certificate' && !deleting ? [shown.notAfter] : [],
    );
    laws.push(['nothing is begun or gone on with after the end', certificates.every((end) => end > now)]);
  }
  if (write !== undefined && cp !== undefined && ROLLS.has(write.kind)) {
    const schedule = one.trigger === 'schedule';
    const mine = `${capiCluster?.namespace ?? cp.namespace}/${seen.cluster.name} `;
    const holder = seen.lease?.holder ?? '';
    const taken = seen.lease?.acquiredAt ?? seen.lease?.renewedAt ?? 0;
    const ahead = now + 10 * MINUTE;
    const signs = [taken, seen.lease?.renewedAt ?? 0].filter((at) => at <= ahead);
    const stale = Math.max(0, ...signs) + DAY < now;
    const due = dueFor({ observed: seen, policy: own, history: one.history, trigger: one.trigger, now });
    const waited = due !== undefined && due >= 6 * HOUR;
    const ours = holder.startsWith(mine) && write.kind === 'roll-etcd';
    laws.push(
      [
        'a window is open',
        !schedule ||
          own?.windows.length === 0 ||
          own?.windows.some((span) => endOfWindow(span, now) !== undefined) === true,
      ],
      ['the fleet opted in', !schedule || own !== undefined],
      ['the owner opted in', !schedule || agreement(eksAnywhere) === 'auto' || cp.mode === 'auto'],
      ['and did not forbid it', !schedule || (eksAnywhere?.mode ?? 'auto') === 'auto'],
      [
        'every check passes, or a person answers for it',
        step.checks.every(({ passed, waived }) => passed || (waived === true && one.trigger === 'person')),
      ],
      ['everything was read', seen.unread.length === 0],
      [
        'no other cluster of the management cluster rolls',
        waited || ours || (seen.moreSiblings !== true && seen.siblings.every(({ rolling }) => !rolling)),
      ],
      [
        'nobody else has the Lease',
        holder === '' || holder.startsWith(mine) || stale || taken > ahead || taken + 3 * DAY < now,
      ],
      ['only stacked etcd rolls with its control plane', write.kind !== 'roll-control-plane' || cp.etcd === 'stacked'],
      ['etcd is rolled if the fleet agreed', write.kind === 'roll-control-plane' || own?.etcd === 'auto-experimental'],
      [
        'etcd rolls while we paused the control plane',
        write.kind !== 'roll-etcd' || (typeof cp.mark === 'object' && cp.paused === pauseOf(cp.mark)),
      ],
    );
  }
  return [...laws, ...silences(one, step)].filter(([, kept]) => !kept).map(([law]) => law);
}

const TOLERANCE = 10 * MINUTE;

/** Distinct, so that one that answers for others does not count for them. */
const allShown = (machines: readonly ObservedMachine[], wanted: number): boolean => {
  const staying = machines.filter(({ deleting }) => !deleting);
  const shown = staying.flatMap(({ served: seen }) => (seen.kind === 'certificate' ? [seen.fingerprint] : []));
  return wanted > 0 && staying.length >= wanted && new Set(shown).size === staying.length;
};

/** When somebody has to be told, a step of the schedule never says that all is well. */
function silences(one: Case, step: RolloutStep): [string, boolean][] {
  const { observed: seen, policy: own, history: before, now, trigger: who } = one;
  const { controlPlane: cp, etcd: ex, eksAnywhere, capiCluster } = seen;
  if (who === 'person' || own === undefined || capiCluster?.deleting === true) return [];
  if (cp === undefined) return [['rollouts are wanted, and there is nothing to roll', step.kind === 'hold']];
  const modes = [agreement(eksAnywhere), cp.mode].filter((mode) => mode !== undefined);
  if (cp.deleting || cp.hold !== undefined || modes.length === 0 || modes.some((mode) => mode !== 'auto')) return [];
  const checks = checksOf({ observed: seen, policy: own, history: before, trigger: who, now });
  const passed = (id: string) => checks.find((check) => check.id === id)?.passed;
  const isLate = passed('due') === true && passed('not-too-late') === false;
  const machines = [...seen.machines, ...(ex?.machines ?? [])];
  const ended = machines.some(({ deleting, served: shown }) => {
    return !deleting && shown.kind === 'certificate' && !(shown.notAfter > now);
  });
  const mine = typeof cp.mark === 'object' ? cp.mark : undefined;
  const since = Date.parse(mine?.start ?? '');
  const abortedAt = Date.parse(mine?.abortedAt ?? seconds(since));
  const isTrue = since <= now + TOLERANCE && abortedAt >= since && abortedAt <= now + TOLERANCE;
  const seenAll =
    seen.unread.length === 0 &&
    allShown(seen.machines, cp.replicas) &&
    (cp.etcd === 'stacked' || (ex !== undefined && allShown(ex.machines, ex.replicas)));
  const isCounted = [cp.replicas, ex?.replicas ?? 1].every((all) => Number.isInteger(all) && all > 0);
  const isFresh = machines.some(({ createdAt }) => createdAt > now - DAY && createdAt <= now + TOLERANCE);
  const watches = step.kind === 'nothing' && (step.state === 'rolling' || step.state === 'verifying');
  return [
    ['nothing is due where everything was seen', step.state !== 'idle' || seenAll],
    ['a rollout is done if each machine shows its own', step.state !== 'done' || allShown(seen.machines, cp.replicas)],
    [
      'too late is told, whatever else goes on',
      !isLate || !['idle', 'waiting', 'aborted', 'foreign', 'ready'].includes(step.state),
    ],
    ['the end is told, whatever else goes on', !ended || step.kind === 'hold'],
    ['a mark of times that cannot be is told', mine === undefined || isTrue || step.kind === 'hold'],
    ['a rollout is bounded', !watches || !isCounted || isFresh || since > now - DAY - MINUTE],
  ];
}

describe('the laws of rollouts', () => {
  it('hold for cases where something is written', () => {
    const written = new Map<string, number>();
    fc.assert(
      fc.property(nearly, (one) => {
        expect(breaches(one)).toEqual([]);
        const kind = writeOf(planned(one))?.kind ?? 'none';
        written.set(kind, (written.get(kind) ?? 0) + 1);
      }),
      { seed: SEED, numRuns: runs(1_000) },
    );
    for (const kind of ['roll-control-plane', 'pause-control-plane', 'roll-etcd', 'unpause-control-plane', 'hold']) {
      expect([kind, (written.get(kind) ?? 0) > 10]).toEqual([kind, true]);
    }
  });

  it('hold for every value of every field, and nothing throws', () => {
    fc.assert(
      fc.property(anything, (one) => {
        expect(breaches(one)).toEqual([]);
        expect(planned(structuredClone(one))).toEqual(planned(one));
        const write = writeOf(planAbort(one.observed, one.now));
        const { controlPlane: seen, etcd: ex } = one.observed;
        if (write === undefined) return;
        expect(write.kind).toBe('abort');
        expect(write.object).toMatchObject({ uid: seen?.uid, resourceVersion: seen?.resourceVersion });
        if (seen?.etcd !== 'external') return;
        expect([ex?.upgrading, ex?.observedGeneration, ex?.mark === 'unreadable']).toEqual([
          false,
          ex?.generation,
          false,
        ]);
      }),
      { seed: SEED, numRuns: runs(500) },
    );
  });
});
