import { Template } from 'aws-cdk-lib/assertions';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_MONITORING } from '../../../../lambdas/config/fleet.ts';
import type { ClusterHealth, FleetHealth } from '../../../../lambdas/health/fleet-health.ts';
import { seriesOf } from '../../../../lambdas/health/series.ts';
import { CLASS_SIGNALS, SIGNALS, type SignalId } from '../../../../lambdas/tables/signals.ts';
import { recordHealth } from '../../../../lambdas/telemetry/record-health.ts';
import { createMetrics } from '../../../../lambdas/telemetry/telemetry.ts';
import { captureStdout } from '../../telemetry/capture-stdout.ts';
import { emfRecords } from '../../telemetry/emf.ts';
import { fleetOf, stacksOf } from '../stacks.ts';

const ids = Object.keys(SIGNALS) as SignalId[];
/** A cluster with every signal there is. */
const clusters: readonly ClusterHealth[] = [
  {
    id: 'berlin',
    name: 'berlin',
    source: 'fleet.yaml',
    state: 'critical',
    readable: true,
    complete: true,
    findings: [],
    verdicts: [],
    rollout: {
      state: 'rolling',
      message: 'x',
      at: '2026-11-21T10:00:00.000Z',
      since: '2026-11-21T10:00:00.000Z',
      reasons: [],
      reasonCount: 0,
      progress: { wanted: 3, replaced: 2, verified: 1, machines: [] },
    },
    signals: ids.map((id) => ({
      id,
      value: 10_000,
      story: 'x',
      command: 'y',
      classes: CLASS_SIGNALS.has(id) ? { 'cluster-ca': 5, unknown: 5 } : undefined,
    })),
  },
];

const series = (name: string, dimensions: readonly string[]) => `${name} by ${dimensions.toSorted().join(', ')}`;

/** What is asked for, with exactly the dimensions of its schema. */
function queried(template: Template): readonly string[] {
  const text = [
    ...Object.values(template.findResources('AWS::CloudWatch::Alarm')),
    ...Object.values(template.findResources('AWS::CloudWatch::Dashboard')),
  ]
    .map((found) => JSON.stringify(found).replaceAll(/\\+"/g, '"'))
    .join('\n');
  const queries = [
    ...text.matchAll(/SELECT MAX\("(\w+)"\) FROM SCHEMA\("certmarshal", ([^)]*)\) GROUP BY ([^O]*) ORDER/g),
  ];
  expect(queries).toHaveLength(text.split('SELECT ').length - 1);
  return queries.map(([, name = '', schema = '', groups = '']) => {
    const dimensions = schema.split(', ').map((part) => part.replaceAll('"', ''));
    expect(groups.split(', ').map((part) => part.replaceAll('"', ''))).toEqual(
      dimensions.filter((dimension) => dimension !== 'service'),
    );
    return series(name, dimensions);
  });
}

describe('every query of Metrics Insights, of alarms and dashboard,', () => {
  const published = new Set<string>();
  let output: ReturnType<typeof captureStdout>;
  beforeAll(() => {
    output = captureStdout();
    const metrics = createMetrics('report');
    const totals = Object.fromEntries(ids.map((id) => [id, 1])) as FleetHealth['totals'];
    const counts = { critical: 1, warning: 0, noted: 0, new: 0, maintenance: 0, well: 0, gone: 0 };
    const health: FleetHealth = { at: '2026-11-21T10:00:00.000Z', clusters, totals, counts, problems: [] };
    recordHealth(health, seriesOf(health, {}, []), SIGNALS, metrics, Date.now());
    metrics.publishStoredMetrics();
    for (const { dimensions, metrics: values } of emfRecords(output.text()))
      for (const name of Object.keys(values)) published.add(series(name, Object.keys(dimensions)));
    output.restore();
  });
  afterAll(() => output.restore());

  it('asks for a series that report publishes', () => {
    const template = Template.fromStack(stacksOf(fleetOf({ monitoring: DEFAULT_MONITORING })).hub);
    const asked = queried(template);
    expect(asked.length).toBeGreaterThan(8);
    expect(asked.filter((one) => !published.has(one))).toEqual([]);
  });
});
