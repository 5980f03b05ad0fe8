import { type InsightsQuery, parseInsights } from './insights.ts';
import type { Dimensions } from './metric-store.ts';
import { MISSING_DATA_TREATMENTS, type MissingDataTreatment, type MOfN } from './missing-data.ts';
import { type Statistic, statisticOf } from './statistics.ts';
import { type Fields, list, numeric, object, textOf } from './template-values.ts';

export type AlarmDefinition = MetricAlarm | CompositeAlarm;

interface Actions {
  /** The logical id where CloudFormation names it. */
  readonly name: string;
  readonly description: string;
  /** Logical ids of topics. */
  readonly alarmActions: readonly string[];
  readonly okActions: readonly string[];
}

export interface MetricAlarm extends Actions, MOfN {
  readonly kind: 'metric';
  readonly watches: WatchedMetric | { readonly query: InsightsQuery } | { readonly burn: Burn };
  readonly periodMs: number;
  readonly breaches: (value: number) => boolean;
}

export interface WatchedMetric {
  readonly namespace: string;
  readonly metric: string;
  readonly dimensions: Dimensions;
  readonly statistic: Statistic;
}

/** `late / (issued + late) / allowed`, and 0 with fewer late ones. */
export interface Burn {
  readonly issued: WatchedMetric;
  readonly late: WatchedMetric;
  readonly atLeast: number;
  readonly allowed: number;
}

export interface CompositeAlarm extends Actions {
  readonly kind: 'composite';
  /** Names: it rings while one of them does. */
  readonly children: readonly string[];
}

const COMPARISONS: Readonly<Record<string, (value: number, threshold: number) => boolean>> = {
  GreaterThanOrEqualToThreshold: (value, threshold) => value >= threshold,
  LessThanThreshold: (value, threshold) => value < threshold,
};

/**
 * The alarms of a template, composite ones last.
 *
 * A reference is its logical id: the dimension `FunctionName` of an alarm on a function of the template is the logical id of the function, an action that of
 * its topic.
 *
 * @param template as `Template.toJSON()` gives it
 * @throws Error for a property that is not understood: an alarm that is half understood proves nothing
 */
export function alarmsOf(template: unknown): readonly AlarmDefinition[] {
  const resources = Object.entries(object(object(template, 'template')['Resources'], 'Resources')).map(
    ([id, value]) => [id, object(value, id)] as const,
  );
  const read = <T>(type: string, readOne: (id: string, properties: Reader) => T) =>
    resources
      .filter(([, { Type }]) => Type === type)
      .map(([id, { Properties }]) => {
        const properties = reader(object(Properties, id), id);
        const alarm = readOne(id, properties);
        properties.done();
        return alarm;
      });
  const alarms = [
    ...read('AWS::CloudWatch::Alarm', metricAlarm),
    ...read('AWS::CloudWatch::CompositeAlarm', compositeAlarm),
  ];
  const known = new Set(alarms.map(({ name }) => name));
  if (known.size < alarms.length) throw new Error('two alarms have one name');
  for (const alarm of alarms)
    for (const child of alarm.kind === 'composite' ? alarm.children : [])
      if (!known.has(child)) throw new Error(`${alarm.name} asks for ${child}, which is no alarm of the template`);
  return alarms;
}

/** Properties, each of which must be asked for. */
interface Reader {
  readonly take: (name: string) => unknown;
  readonly done: () => void;
}

function reader(fields: Fields, where: string): Reader {
  const left = new Set(Object.keys(fields));
  return {
    take(name) {
      left.delete(name);
      return fields[name];
    },
    done() {
      if (left.size > 0) throw new Error(`${where}: ${[...left].join(', ')} not understood`);
    },
  };
}

function actionsOf(id: string, { take }: Reader): Actions {
  take('Tags');
  if ((take('ActionsEnabled') ?? true) !== true) throw new Error(`${id}: its actions are not enabled`);
  const actions = (name: string) => list(take(name) ?? [], name).map(textOf);
  return {
    name: textOf(take('AlarmName') ?? id),
    description: textOf(take('AlarmDescription') ?? ''),
    alarmActions: actions('AlarmActions'),
    okActions: actions('OKActions'),
  };
}

function metricAlarm(id: string, properties: Reader): MetricAlarm {
  const { take } = properties;
  const evaluationPeriods = numeric(take('EvaluationPeriods'), `${id} EvaluationPeriods`);
  const datapointsToAlarm = numeric(take('DatapointsToAlarm') ?? evaluationPeriods, `${id} DatapointsToAlarm`);
  if (datapointsToAlarm > evaluationPeriods || datapointsToAlarm < 1)
    throw new Error(`${id}: ${datapointsToAlarm} of ${evaluationPeriods}`);
  const threshold = numeric(take('Threshold'), `${id} Threshold`);
  const operator = textOf(take('ComparisonOperator'));
  const compare = Object.hasOwn(COMPARISONS, operator) ? COMPARISONS[operator] : undefined;
  if (compare === undefined) throw new Error(`${id}: ComparisonOperator ${operator} not understood`);
  const metrics = take('Metrics');
  const { periodMs, watches } = metrics === undefined ? ownMetric(id, properties) : queried(id, metrics);
  if (periodMs % 60_000 !== 0 || periodMs <= 0) throw new Error(`${id}: a period of ${periodMs} ms`);
  return {
    kind: 'metric',
    ...actionsOf(id, properties),
    watches,
    periodMs,
    breaches: (value) => compare(value, threshold),
    evaluationPeriods,
    datapointsToAlarm,
    treatMissingData: treatment(textOf(take('TreatMissingData') ?? 'missing')),
  };
}

type Watched = Pick<MetricAlarm, 'watches' | 'periodMs'>;

function ownMetric(id: string, { take }: Reader) {
  return {
    periodMs: numeric(take('Period'), `${id} Period`) * 1_000,
    watches: {
      namespace: textOf(take('Namespace')),
      metric: textOf(take('MetricName')),
      dimensions: dimensionsOf(take('Dimensions')),
      statistic: statisticOf(textOf(take('Statistic'))),
    },
  };
}

const BURN = /^IF\((\w+) >= (\d+), \1 \/ \((\w+) \+ \1\) \/ ([\d.]+), 0\)$/;

/** Of metric math only the burn of the objective is understood. */
function queried(id: string, metrics: unknown): Watched {
  const [entry, ...others] = list(metrics, `${id} Metrics`);
  if (others.length > 0) return burning(id, object(entry, `${id} Metrics`), others);
  const { take, done } = reader(object(entry, `${id} Metrics`), `${id} Metrics`);
  take('Id');
  take('Label');
  take('ReturnData');
  const [expression, period] = [take('Expression'), take('Period')];
  done();
  return { periodMs: numeric(period, `${id} Period`) * 1_000, watches: { query: parseInsights(textOf(expression)) } };
}

function burning(id: string, { Expression }: Fields, others: readonly unknown[]): Watched {
  const parts = typeof Expression === 'string' ? BURN.exec(Expression) : null;
  if (parts === null) throw new Error(`${id}: metric math is not understood`);
  const [, late = '', atLeast, issued = '', allowed] = parts;
  const stats = new Map(
    others.map((one) => {
      const { Id, MetricStat } = object(one, `${id} Metrics`);
      const { Metric, Period, Stat } = object(MetricStat, `${id} MetricStat`);
      return [textOf(Id), { ...object(Metric, `${id} Metric`), Period, Statistic: Stat }] as const;
    }),
  );
  const metricOf = (name: string) => ownMetric(id, reader(object(stats.get(name), `${id} ${name}`), id));
  const [first, second] = [metricOf(issued), metricOf(late)];
  if (first.periodMs !== second.periodMs) throw new Error(`${id}: two periods`);
  const burn = { issued: first.watches, late: second.watches, atLeast: Number(atLeast), allowed: Number(allowed) };
  return { periodMs: first.periodMs, watches: { burn } };
}

function dimensionsOf(value: unknown): Dimensions {
  return Object.fromEntries(
    list(value ?? [], 'Dimensions').map((entry) => {
      const { Name, Value } = object(entry, 'a dimension');
      return [textOf(Name), textOf(Value)];
    }),
  );
}

function treatment(text: string): MissingDataTreatment {
  const found = MISSING_DATA_TREATMENTS.find((one) => one === text);
  if (found === undefined) throw new Error(`TreatMissingData ${text} not understood`);
  return found;
}

function compositeAlarm(id: string, properties: Reader): CompositeAlarm {
  const rule = textOf(properties.take('AlarmRule'));
  const children = rule.split(' OR ').map((part) => {
    const name = /^ALARM\("([^"]+)"\)$/.exec(part)?.[1];
    if (name === undefined) throw new Error(`alarm rule: ${part} is not understood`);
    return name;
  });
  return { kind: 'composite', ...actionsOf(id, properties), children };
}
