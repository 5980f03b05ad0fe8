import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { DEFAULT_MONITORING } from '../../../../lambdas/config/fleet.ts';
import { ALARMS, type AlarmId, runbookPlace } from '../../../../lambdas/tables/alarms.ts';
import { SIGNALS } from '../../../../lambdas/tables/signals.ts';
import { ALWAYS_ON, METRIC } from '../../../../lambdas/telemetry/metric-names.ts';
import { fleetOf, stacksOf } from '../stacks.ts';

interface Widget {
  readonly type: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly properties: {
    readonly title?: string;
    readonly markdown?: string;
    readonly alarms?: readonly string[];
    readonly view?: string;
    readonly metrics?: readonly (readonly unknown[])[];
  };
}

/** As the console gets it, with the logical id of what only the deployment knows. */
function widgetsOf(changed: Parameters<typeof fleetOf>[0] = {}): readonly Widget[] {
  const template = Template.fromStack(stacksOf(fleetOf(changed)).hub);
  const [dashboard] = Object.values(template.findResources('AWS::CloudWatch::Dashboard'));
  const { DashboardName, DashboardBody } = dashboard?.['Properties'] ?? {};
  expect(DashboardName).toBe('certmarshal-eu-central-1');
  const text = (part: unknown): string => {
    if (typeof part === 'string') return part;
    const { Ref } = part as { readonly Ref: string };
    return Ref;
  };
  const parts: readonly unknown[] = DashboardBody['Fn::Join'][1];
  return JSON.parse(parts.map(text).join('')).widgets;
}

const widgets = widgetsOf();
const isHidden = (options: unknown) => (options as { readonly visible?: boolean } | undefined)?.visible === false;
const labelOf = (entry: unknown) => (entry as { readonly label?: string }).label;
const titled = (title: string) => widgets.find(({ properties }) => properties.title === title);

describe('the dashboard', () => {
  it('begins with what rings, the levels first', () => {
    const [first] = widgets;
    expect(first).toMatchObject({ type: 'alarm', x: 0, y: 0, width: 24 });
    const names = (first?.properties.alarms ?? []).map((arn) => arn.split(':').at(-1) ?? arn);
    expect(names.slice(0, 3)).toEqual(['certmarshal-critical', 'certmarshal-warning', 'certmarshal-plan-heartbeat']);
    expect(names.length).toBeGreaterThan(Object.keys(ALARMS).length);
  });

  it('says in one row what the fleet is like now', () => {
    const shown = (titled('The fleet now')?.properties.metrics ?? []).filter(([, , , , options]) => !isHidden(options));
    expect(shown.map(([first, name]) => (typeof first === 'string' ? name : labelOf(first)))).toEqual([
      METRIC.registered,
      METRIC.clustersUnwell,
      'not readable',
      'in maintenance',
      'Certificates, critical',
      'Certificates, warning',
      'Hostile requests',
    ]);
  });

  it('shows 0 where nothing is published because it is 0, as long as its service publishes anything', () => {
    for (const { properties } of widgets) {
      const metrics = properties.metrics ?? [];
      const ours = metrics.filter(([namespace]) => namespace === 'certmarshal');
      const idOf = (options: unknown) => (options as { readonly id?: string } | undefined)?.id;
      const byId = new Map(ours.map((metric) => [idOf(metric.at(-1)), metric]));
      for (const [, name, , , options] of ours)
        expect([name, isHidden(options) || ALWAYS_ON.has(String(name))]).toEqual([name, true]);
      for (const [entry] of metrics) {
        const { expression = '' } = entry as { readonly expression?: string };
        const [, value, pulse] = /^FILL\((\w+), 0\) \+ 0 \* (\w+)$/.exec(expression) ?? [];
        if (value === undefined) continue;
        const [, name, , service] = byId.get(value) ?? [];
        const [, always, , sameService] = byId.get(pulse) ?? [];
        expect([ALWAYS_ON.has(String(name)), ALWAYS_ON.has(String(always)), sameService]).toEqual([
          false,
          true,
          service,
        ]);
      }
    }
    expect(JSON.stringify(widgets).match(/FILL\(/g)?.length).toBeGreaterThan(10);
  });

  it('asks for nothing that nobody publishes', () => {
    const known = new Set<unknown>([...Object.values(METRIC), ...Object.keys(SIGNALS)]);
    const ours = widgets
      .flatMap(({ properties }) => properties.metrics ?? [])
      .filter(([namespace]) => namespace === 'certmarshal');
    expect(ours.length).toBeGreaterThan(20);
    expect(ours.filter(([, name]) => !known.has(name))).toEqual([]);
  });

  it('names the ten worst clusters by queries', () => {
    const queries = widgets
      .flatMap(({ properties }) => properties.metrics ?? [])
      .flatMap(([entry]) =>
        typeof entry === 'object' && entry !== null && 'expression' in entry ? [String(entry.expression)] : [],
      )
      .filter((expression) => expression.startsWith('SELECT'));
    const query = (signal: string, groups = '"Cluster"') =>
      `SELECT MAX("${signal}") FROM SCHEMA("certmarshal", "service", ${groups}) GROUP BY ${groups} ORDER BY MAX() DESC LIMIT 10`;
    expect(queries).toEqual([
      query('UnreadableFor'),
      query('CertificatesCritical', '"Cluster", "Class"'),
      query('RequestsHostile'),
      query('RolloutProgress'),
    ]);
  });

  it('shows every tick and every function', () => {
    expect(titled('Ticks: failed, timed out, throttled')?.properties.metrics).toHaveLength(3);
    expect(titled('Functions: errors and throttles')?.properties.metrics).toHaveLength(8);
    expect(titled('Functions: longest run, in ms')?.properties.metrics).toHaveLength(4);
  });

  it('is not there where fleet.yaml says so, nor is its output', () => {
    const { hub } = stacksOf(fleetOf({ monitoring: { ...DEFAULT_MONITORING, dashboard: false } }));
    const { Resources, Outputs } = Template.fromStack(hub).toJSON();
    expect(JSON.stringify(Resources)).not.toContain('AWS::CloudWatch::Dashboard');
    expect(Outputs).not.toHaveProperty('DashboardName');
  });

  it('ends with the runbook of each alarm that is on', () => {
    const last = widgets.at(-1);
    for (const id of Object.keys(ALARMS) as AlarmId[])
      expect(last?.properties.markdown).toContain(runbookPlace(id, undefined));
    const quiet = widgetsOf({
      monitoring: { ...DEFAULT_MONITORING, alarms: { KubeletOverdue: { threshold: 1, severity: 'off' } } },
    });
    expect(quiet.at(-1)?.properties.markdown).not.toContain('KubeletOverdue');
  });

  it('has rows that fill the width, and no two widgets in one place', () => {
    const cells = widgets.flatMap(({ x, y, width, height }) =>
      Array.from({ length: height }, (_, row) =>
        Array.from({ length: width }, (_cell, column) => `${x + column}/${y + row}`),
      ).flat(),
    );
    expect(new Set(cells).size).toBe(cells.length);
    const bottom = Math.max(...widgets.map(({ y, height }) => y + height));
    expect(cells).toHaveLength(24 * bottom);
  });
});
