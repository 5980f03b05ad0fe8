import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ClusterHealth } from '../../../lambdas/health/fleet-health.ts';
import { createMetrics } from '../../../lambdas/telemetry/metrics.ts';
import { recordRollouts } from '../../../lambdas/telemetry/record-rollouts.ts';
import { captureStdout } from './capture-stdout.ts';
import { emfRecords } from './emf.ts';

const AT = '2026-11-21T10:00:00.000Z';
const ago = (minutes: number) => new Date(Date.parse(AT) - minutes * 60_000).toISOString();
type Rollout = NonNullable<ClusterHealth['rollout']>;
const PART = { wanted: 3, replaced: 2, verified: 1, machines: [] };
const DONE = { start: ago(100), trigger: 'schedule', id: 'r1' } as const;

function cluster(id: string, rollout: Partial<Rollout>, changed: Partial<ClusterHealth> = {}): ClusterHealth {
  return {
    id,
    name: id,
    source: 'fleet.yaml',
    state: 'well',
    signals: [],
    readable: true,
    complete: true,
    findings: [],
    verdicts: [],
    slo: {
      objective: 0.999,
      counts: { us: 0, others: 0, missed: 0, refused: 0, unprovable: 0 },
      budgetLeft: 1,
      fastBurn: 0,
      slowBurn: 0,
      missedLately: 0,
    },
    rollout: {
      state: 'idle',
      message: 'x',
      at: AT,
      since: ago(5),
      failed: [],
      failedCount: 0,
      reasons: [],
      ...rollout,
    },
    ...changed,
  };
}

describe('recordRollouts', () => {
  let output: ReturnType<typeof captureStdout>;
  beforeEach(() => {
    output = captureStdout();
  });
  afterEach(() => output.restore());

  function record(...clusters: readonly ClusterHealth[]) {
    const metrics = createMetrics('report');
    recordRollouts({ at: AT, clusters }, metrics);
    if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
    return emfRecords(output.text()).map(({ dimensions, metrics: values }) => ({
      cluster: dimensions['Cluster'],
      values,
    }));
  }

  it('publishes nothing while nothing rolls', () => {
    expect(record(cluster('a', { state: 'idle' }), cluster('b', { state: 'refused' }))).toEqual([]);
    expect(output.text()).not.toContain('_aws');
  });

  it('counts what is under way, and says how far each is, with its etcd', () => {
    const records = record(
      cluster('a', { state: 'rolling', progress: PART }),
      cluster('b', { state: 'held', progress: { ...PART, etcd: { ...PART, verified: 3 } } }),
      cluster('c', { state: 'verifying' }),
      cluster('gone', { state: 'rolling', progress: PART }, { goneSince: AT }),
    );
    expect(records).toEqual([
      { cluster: 'a', values: { RolloutProgress: [33] } },
      { cluster: 'b', values: { RolloutProgress: [66] } },
      { cluster: undefined, values: { RolloutsUnderWay: [3] } },
    ]);
  });

  it.each<[string, Partial<Rollout>, number | undefined]>([
    ['is just done', { rollout: DONE, durationMs: 42 * 60_000 }, 2_520],
    ['is done for an hour', { rollout: DONE, durationMs: 42 * 60_000, since: ago(60) }, undefined],
    ['was done long before the index knew', { rollout: { ...DONE, start: ago(3_000) }, durationMs: 60_000 }, undefined],
    ['took nobody knows how long', { rollout: DONE }, undefined],
    ['goes on', { state: 'rolling', rollout: DONE, durationMs: 60_000 }, undefined],
  ])('tells the duration of one that %s: %s', (_, rollout, seconds) => {
    const told = record(cluster('a', { state: 'done', ...rollout })).flatMap(
      ({ values }) => values['RolloutDuration'] ?? [],
    );
    expect(told).toEqual(seconds === undefined ? [] : [seconds]);
  });
});
