import { describe, expect, it } from 'vitest';
import type { TopicMessage } from '../../lambdas/aws/topics.ts';
import { DEFAULT_MONITORING } from '../../lambdas/config/fleet.ts';
import { read } from '../../lambdas/contracts/contract.ts';
import { droppedClusters, parseFleetIndex } from '../../lambdas/contracts/fleet-index.ts';
import { parseNotificationState } from '../../lambdas/contracts/notification-state.ts';
import { decodeOrders } from '../../lambdas/contracts/order.ts';
import { parseRecoveryWindows } from '../../lambdas/contracts/recovery-window.ts';
import { parseRegistry } from '../../lambdas/contracts/registry.ts';
import { RolloutLedger } from '../../lambdas/contracts/rollout-ledger.ts';
import { parseRolloutMark } from '../../lambdas/contracts/rollout-mark.ts';
import { foldOutcomes } from '../../lambdas/fleet/fold-outcomes.ts';
import { decodeOutcomes } from '../../lambdas/fleet/outcome-message.ts';
import { planTick } from '../../lambdas/fleet/plan-tick.ts';
import { STATE_KEYS } from '../../lambdas/fleet/state-keys.ts';
import { createNotifyHandler } from '../../lambdas/functions/handle-notify.ts';
import { readApprovals } from '../../lambdas/recovery/reservations.ts';
import { DEFAULT_ROLLOUT_POLICY } from '../../lambdas/rollout/policy.ts';
import { fatesBetween } from '../../lambdas/slo/ledger.ts';
import { createLogger, createMetrics } from '../../lambdas/telemetry/telemetry.ts';
import { DAY_MS, MINUTE_MS } from '../../lambdas/time.ts';
import { memoryObjects } from '../unit/functions/memory-objects.ts';
import { managementCluster } from '../unit/rollout/management-cluster.ts';
import { writtenByEachTest } from '../unit/telemetry/capture-stdout.ts';
import STATE from './upgrade/previous-state.json' with { type: 'json' };

// What the version before really wrote in the middle of a storm of requests, an incident, a recovery window and a rollout: test/rehearsal/upgrade/write-state.ts.
// Its functions themselves run in test/rehearsal/upgrade.test.ts.

const { now, objects, orders, outcomes } = STATE;
const ZURICH = '111122223333/eu-central-1/zurich';
const VENICE = 'rome/eksa-system/venice';
const IDS = [ZURICH, 'berlin', 'cairo', 'rome', VENICE];
const signal = new AbortController().signal;
const storedRegistry = objects['registry.v2.json.gz'];
const storedIndex = objects['fleet-index.v2.json.gz'];
const registry = parseRegistry(storedRegistry, now) ?? expect.unreachable();
const index = parseFleetIndex(storedIndex, now) ?? expect.unreachable();
const windows = parseRecoveryWindows(objects['recovery.json']) ?? expect.unreachable();

describe('what the version before wrote', () => {
  it('is read to the last field', () => {
    expect(registry).toEqual(storedRegistry);
    expect(index).toEqual(storedIndex);
    expect(droppedClusters(storedIndex, index)).toBe(0);
    // Which clusters the last digest named is no longer remembered.
    const { digest: _, ...told } = { digest: undefined, ...objects['told.json'] };
    expect(parseNotificationState(objects['told.json'], now)).toEqual(told);
    expect(windows).toEqual(objects['recovery.json'].windows);
    expect(read(RolloutLedger, objects['rollouts.json'])).toEqual({ ok: true, value: objects['rollouts.json'] });
    expect(Object.keys(objects).toSorted()).toEqual(
      [STATE_KEYS.index, STATE_KEYS.recovery, STATE_KEYS.registry, STATE_KEYS.rollouts, STATE_KEYS.told].toSorted(),
    );
  });

  it('leads to an order for every cluster in the first tick, with the open window and the rollout that goes on', () => {
    const { shards, problems } = planTick(registry, index, now, {
      recoveryWindows: windows,
      rollouts: [{ ...DEFAULT_ROLLOUT_POLICY, clusters: [VENICE] }],
      auditEveryMinutes: 10,
    });
    const ordered = shards.flatMap((shard) => shard.orders);
    expect(ordered.map(({ target }) => target.id).toSorted()).toEqual(IDS);
    expect(ordered.filter(({ recovery }) => recovery !== undefined)).toMatchObject([
      { target: { id: 'cairo' }, recovery: { id: 'w-1', approvals: 2 } },
    ]);
    expect(ordered.filter(({ rollout }) => rollout)).toMatchObject([{ target: { id: VENICE } }]);
    expect(problems).toEqual([]);
  });

  it('has a month of requests, and since when a cluster cannot be read, also after outcomes that were still in their queue', () => {
    const decoded = outcomes.flatMap((outcome) => decodeOutcomes(JSON.stringify(outcome)));
    expect(decoded.filter(({ ok }) => !ok)).toEqual([]);
    expect(decoded.length).toBeGreaterThan(IDS.length);
    const told = decoded.flatMap((one) => (one.ok ? [one.value] : []));
    for (const { clusters } of [index, foldOutcomes(index, told, now)]) {
      const ledgers = [clusters[ZURICH]?.slo].filter((ledger) => ledger !== undefined);
      expect(fatesBetween(ledgers, now - 30 * DAY_MS, now)).toMatchObject({ us: 87_000, missed: 29 });
      expect(clusters['berlin']?.findings).toEqual(storedIndex.clusters.berlin.findings);
      expect(clusters[VENICE]?.rollout).toEqual(storedIndex.clusters[VENICE].rollout);
    }
  });

  it('of orders is dropped', () => {
    expect(orders).toHaveLength(IDS.length);
    for (const order of orders)
      expect(decodeOrders(JSON.stringify(order))).toEqual({ ok: false, problem: 'version is not 3' });
  });

  it('says what the open window gave, and which rollout goes on', async () => {
    const cluster = managementCluster({ 'coordination.k8s.io': ['v1'] });
    cluster.put('/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/certmarshal-recovery', STATE.lease);
    const [window = expect.unreachable()] = windows;
    const { approvals } = await readApprovals(cluster.client, window, now, signal);
    expect([...approvals]).toEqual([['cp-1', 1]]);
    const marks = STATE.marks.flatMap((annotations) =>
      'certmarshal.dev/rollout' in annotations ? [parseRolloutMark(annotations['certmarshal.dev/rollout'])] : [],
    );
    expect(marks).toEqual([expect.objectContaining({ id: objects['rollouts.json'].rollouts[0]?.id })]);
  });
});

describe('an incident that people know from the version before', () => {
  writtenByEachTest();

  it('is not told again, and is told to be over', async () => {
    const sent: TopicMessage[] = [];
    const incidents: TopicMessage[] = [];
    const { clusters } = index;
    const healthy = { ...clusters['berlin'], readable: true, complete: true, findings: [], findingCount: 0 };
    const state = memoryObjects(objects);
    const time = { now };
    const notify = createNotifyHandler({
      state,
      monitoring: { ...DEFAULT_MONITORING, auditEveryMinutes: 10 },
      publish: async (topic, message) =>
        void (topic === 'critical' || topic === 'warning' ? sent : incidents).push(message),
      place: { partition: 'aws', region: 'eu-central-1', account: '111122223333' },
      putEvents: async () => ({ unsent: [] }),
      link: undefined,
      clock: () => time.now,
      random: () => 0,
      wait: async () => undefined,
      logger: createLogger('notify'),
      metrics: createMetrics('notify'),
    });
    await notify({ look: true }, signal);
    expect(sent).toEqual([]);

    for (let minute = 5; minute <= 30; minute += 5) {
      time.now = now + minute * MINUTE_MS;
      const at = new Date(time.now).toISOString();
      const well = { ...healthy, sweptAt: at, readableAt: at, completeAt: at };
      state.objects.set(STATE_KEYS.index, { value: { ...index, clusters: { ...clusters, berlin: well } }, etag: 'x' });
      // oxlint-disable-next-line no-await-in-loop -- time goes on
      await notify({ look: true }, signal);
    }
    expect(sent.map(({ message }) => message)).toEqual([
      expect.stringMatching(/\[resolved\] berlin, [^"]*It was: its requests cannot be listed/),
    ]);
  });
});
