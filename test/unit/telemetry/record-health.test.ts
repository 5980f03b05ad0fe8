import { describe, expect, it } from 'vitest';
import type { ClusterHealth, FleetHealth } from '../../../lambdas/health/fleet-health.ts';
import type { Series } from '../../../lambdas/health/series.ts';
import { SIGNALS, type SignalId } from '../../../lambdas/tables/signals.ts';
import { recordHealth, recordRollouts } from '../../../lambdas/telemetry/record-health.ts';
import { createTelemetry } from '../../../lambdas/telemetry/telemetry.ts';
import { at, MINUTE, rolloutSummary } from '../fleet/values.ts';
import { cluster, fleet as fleetOf } from '../notify/values.ts';
import { writtenByEachTest } from './capture-stdout.ts';

/** Some minutes ago. */
const TICK = (Math.floor(Date.now() / MINUTE) - 3) * MINUTE;
const SIGNAL_IDS = Object.keys(SIGNALS) as SignalId[];
function fleet(clusters: readonly ClusterHealth[], changed: Partial<FleetHealth> = {}): FleetHealth {
  return {
    ...fleetOf(...clusters),
    totals: Object.fromEntries(SIGNAL_IDS.map((id, i) => [id, i])) as FleetHealth['totals'],
    counts: { critical: 1, warning: 2, noted: 0, new: 4, maintenance: 8, well: 16, gone: 32 },
    ...changed,
  };
}

describe('recordHealth', () => {
  const output = writtenByEachTest();

  function record(health: FleetHealth, series: readonly Series[] = []) {
    const { metrics } = createTelemetry('report');
    recordHealth(health, series, SIGNALS, metrics, TICK);
    metrics.publishStoredMetrics();
    return output.records();
  }

  /** As they are written: CloudWatch makes a series of exactly these dimensions. */
  const dimensionSets = () =>
    output
      .text()
      .split('\n')
      .filter((line) => line.includes('"_aws"'))
      .map((line) => JSON.parse(line)['_aws'].CloudWatchMetrics[0].Dimensions);

  it('publishes the totals above 0, how many clusters are not well, and nothing of a cluster that is well', () => {
    const records = record(fleet([cluster('paris', [])]));
    expect(records).toEqual([
      {
        namespace: 'certmarshal',
        dimensions: { service: 'report' },
        metrics: { ...Object.fromEntries(SIGNAL_IDS.slice(1).map((id, i) => [id, [i + 1]])), ClustersUnwell: [3] },
      },
    ]);
    expect(dimensionSets()).toEqual([[['service']]]);
  });

  it('says of which minute the lines of clusters are', () => {
    record(fleet([]), [
      { signal: 'UnreadableFor', cluster: 'a', value: 600 },
      { signal: 'CertificatesCritical', cluster: 'a', what: 'etcd-server', value: 1 },
    ]);
    const times = output
      .text()
      .split('\n')
      .filter((line) => line.includes('"Cluster":'))
      .map((line) => JSON.parse(line)['_aws'].Timestamp);
    expect(times).toEqual([TICK, TICK]);
  });

  it('says that all is well', () => {
    const totals = Object.fromEntries(SIGNAL_IDS.map((id) => [id, 0])) as FleetHealth['totals'];
    const counts = { critical: 0, warning: 0, noted: 0, new: 4, maintenance: 0, well: 16, gone: 32 };
    expect(record(fleet([cluster('paris', [])], { totals, counts }))).toMatchObject([
      { metrics: { ClustersUnwell: [0] } },
    ]);
    expect(Object.keys(output.records()[0]?.metrics ?? {})).toEqual(['ClustersUnwell']);
  });

  it('counts clusters in maintenance', () => {
    const maintenance = { until: '2026-11-21T11:00:00.000Z' };
    const records = record(fleet([cluster('a', [], { maintenance }), cluster('b', [], { maintenance })]));
    expect(records).toMatchObject([{ metrics: { ClustersInMaintenance: [2] } }]);
  });

  it('publishes the series of a cluster in one line, and those of its classes in one for each', () => {
    const Cluster = '111122223333/eu-central-1/dublin';
    const records = record(fleet([]), [
      { signal: 'UnreadableFor', cluster: Cluster, value: 600 },
      { signal: 'CertificatesCritical', cluster: Cluster, what: 'etcd-server', value: 2 },
      { signal: 'CertificatesWarning', cluster: Cluster, what: 'etcd-server', value: 0 },
      { signal: 'CertificatesCritical', cluster: '*', what: 'unknown', value: 12 },
      { signal: 'CoverageGapHours', cluster: Cluster, value: 30 },
    ]);
    const line = (dimensions: object, metrics: object) => ({
      namespace: 'certmarshal',
      dimensions: { service: 'report', ...dimensions },
      metrics,
    });
    expect(records.slice(0, -1)).toEqual([
      line({ Cluster }, { UnreadableFor: [600], CoverageGapHours: [30] }),
      line({ Cluster, Class: 'etcd-server' }, { CertificatesCritical: [2], CertificatesWarning: [0] }),
      line({ Cluster: '*', Class: 'unknown' }, { CertificatesCritical: [12] }),
    ]);
    expect(dimensionSets()).toEqual([
      [['service', 'Cluster']],
      [['service', 'Cluster', 'Class']],
      [['service', 'Cluster', 'Class']],
      [['service']],
    ]);
  });

  it('gives each signal the unit of its table', () => {
    record(fleet([]));
    const [{ Metrics }] = JSON.parse(output.text().split('\n')[0] ?? '')['_aws'].CloudWatchMetrics;
    for (const id of SIGNAL_IDS.slice(1)) expect(Metrics).toContainEqual({ Name: id, Unit: SIGNALS[id].unit });
  });

  it.each([
    'a","_aws":{"Timestamp":0},"x":"',
    'a\r\n{"_aws":{}}',
    '\u2028münchen\u0000',
    '   ',
    ':a',
    '',
    'x'.repeat(1_025),
  ])('keeps the cluster %j within its line, and its dimension valid', (id) => {
    const records = record(fleet([]), [{ signal: 'SweepAge', cluster: id, value: 600 }]);
    expect(records).toHaveLength(2);
    expect(records[0]?.metrics).toEqual({ SweepAge: [600] });
    expect(Object.keys(records[0]?.dimensions ?? {})).toEqual(['service', 'Cluster']);
    expect(output.text().split('\n').filter(Boolean)).toHaveLength(2);
  });
});

describe('recordRollouts', () => {
  type Rollout = NonNullable<ClusterHealth['rollout']>;
  const PART = { wanted: 3, replaced: 2, verified: 1, machines: [] };
  const DONE = { start: at(-100 * MINUTE), trigger: 'schedule', id: 'r1' } as const;
  const output = writtenByEachTest();
  const rolled = (id: string, rollout: Partial<Rollout>, changed: Partial<ClusterHealth> = {}) =>
    cluster(id, [], { rollout: { ...rolloutSummary({}), since: at(-5 * MINUTE), ...rollout }, ...changed });

  function record(...clusters: readonly ClusterHealth[]) {
    const { metrics } = createTelemetry('report');
    recordRollouts({ at: at(), clusters }, metrics, TICK);
    if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
    return output.records().map(({ dimensions, metrics: values }) => ({ cluster: dimensions['Cluster'], values }));
  }

  it('publishes nothing while nothing rolls', () => {
    expect(record(rolled('a', { state: 'idle' }), rolled('b', { state: 'refused' }))).toEqual([]);
    expect(output.text()).not.toContain('_aws');
  });

  it('counts what is under way, and says how far each is, with its etcd', () => {
    const records = record(
      rolled('a', { state: 'rolling', progress: PART }),
      rolled('b', { state: 'held', progress: { ...PART, etcd: { ...PART, verified: 3 } } }),
      rolled('c', { state: 'verifying' }),
      rolled('gone', { state: 'rolling', progress: PART }, { goneSince: at() }),
    );
    expect(records).toEqual([
      { cluster: 'a', values: { RolloutProgress: [33] } },
      { cluster: 'b', values: { RolloutProgress: [66] } },
      { cluster: undefined, values: { RolloutsUnderWay: [3] } },
    ]);
  });

  it.each<[string, Partial<Rollout>, number | undefined]>([
    ['is just done', { rollout: DONE, durationMs: 42 * MINUTE }, 2_520],
    ['is done for an hour', { rollout: DONE, durationMs: 42 * MINUTE, since: at(-60 * MINUTE) }, undefined],
    ['was done long before', { rollout: { ...DONE, start: at(-3_000 * MINUTE) }, durationMs: MINUTE }, undefined],
    ['took nobody knows how long', { rollout: DONE }, undefined],
    ['goes on', { state: 'rolling', rollout: DONE, durationMs: MINUTE }, undefined],
  ])('tells the duration of one that %s: %s', (_, rollout, seconds) => {
    const told = record(rolled('a', { state: 'done', ...rollout })).flatMap(
      ({ values }) => values['RolloutDuration'] ?? [],
    );
    expect(told).toEqual(seconds === undefined ? [] : [seconds]);
  });
});
