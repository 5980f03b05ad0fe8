import { type AlarmRule, parseAlarmRule } from './alarm-rule.ts';
import { type InsightsQuery, parseInsights } from './insights.ts';
import type { Dimensions } from './metric-store.ts';
import { MISSING_DATA_TREATMENTS, type MissingDataTreatment, type MOfN } from './missing-data.ts';
import { type Statistic, statisticOf } from './statistics.ts';
import { type Fields, list, numeric, object, textOf } from './template-values.ts';

export type AlarmDefinition = MetricAlarm | CompositeAlarm;

interface Actions {
  /** In CloudWatch; the logical id where CloudFormation names it. */
  readonly name: string;
  readonly logicalId: string;
  readonly description: string;
  /** Logical ids of topics. */
  readonly alarmActions: readonly string[];
  readonly okActions: readonly string[];
  readonly insufficientDataActions: readonly string[];
}

export interface MetricAlarm extends Actions, MOfN {
  readonly kind: 'metric';
  readonly watches: WatchedMetric | { readonly query: InsightsQuery };
  readonly periodMs: number;
  readonly breaches: (value: number) => boolean;
  readonly threshold: number;
}

export interface WatchedMetric {
  readonly namespace: string;
  readonly metric: string;
  readonly dimensions: Dimensions;
  readonly statistic: Statistic;
}

export interface CompositeAlarm extends Actions {
  readonly kind: 'composite';
  readonly holds: AlarmRule;
  /** Names. */
  readonly children: readonly string[];
}

const COMPARISONS: Readonly<Record<string, (value: number, threshold: number) => boolean>> = {
  GreaterThanOrEqualToThreshold: (value, threshold) => value >= threshold,
  GreaterThanThreshold: (value, threshold) => value > threshold,
  LessThanThreshold: (value, threshold) => value < threshold,
  LessThanOrEqualToThreshold: (value, threshold) => value <= threshold,
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
  const ofType = (type: string) => resources.filter(([, resource]) => resource['Type'] === type);
  const names = new Map(
    [...ofType('AWS::CloudWatch::Alarm'), ...ofType('AWS::CloudWatch::CompositeAlarm')].map(([id, { Properties }]) => {
      const name = object(Properties, id)['AlarmName'];
      return [id, name === undefined ? id : textOf(name, new Map())];
    }),
  );
  const read = <T>(type: string, readOne: (id: string, properties: Reader, names: Names) => T) =>
    ofType(type).map(([id, { Properties }]) => {
      const properties = reader(object(Properties, id), id);
      const alarm = readOne(id, properties, names);
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

type Names = ReadonlyMap<string, string>;

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

function actionsOf(logicalId: string, { take }: Reader, names: Names): Actions {
  take('AlarmName');
  take('Tags');
  if ((take('ActionsEnabled') ?? true) !== true) throw new Error(`${logicalId}: its actions are not enabled`);
  const actions = (name: string) => list(take(name) ?? [], name).map((action) => textOf(action, names));
  return {
    name: names.get(logicalId) ?? logicalId,
    logicalId,
    description: textOf(take('AlarmDescription') ?? '', names),
    alarmActions: actions('AlarmActions'),
    okActions: actions('OKActions'),
    insufficientDataActions: actions('InsufficientDataActions'),
  };
}

function metricAlarm(id: string, properties: Reader, names: Names): MetricAlarm {
  const { take } = properties;
  const evaluationPeriods = numeric(take('EvaluationPeriods'), `${id} EvaluationPeriods`);
  const datapointsToAlarm = numeric(take('DatapointsToAlarm') ?? evaluationPeriods, `${id} DatapointsToAlarm`);
  if (datapointsToAlarm > evaluationPeriods || datapointsToAlarm < 1)
    throw new Error(`${id}: ${datapointsToAlarm} of ${evaluationPeriods}`);
  const threshold = numeric(take('Threshold'), `${id} Threshold`);
  const operator = textOf(take('ComparisonOperator'), names);
  const compare = Object.hasOwn(COMPARISONS, operator) ? COMPARISONS[operator] : undefined;
  if (compare === undefined) throw new Error(`${id}: ComparisonOperator ${operator} not understood`);
  const metrics = take('Metrics');
  const { periodMs, watches } =
    metrics === undefined ? ownMetric(id, properties, names) : oneOfMetrics(id, metrics, names);
  if (periodMs % 60_000 !== 0 || periodMs <= 0) throw new Error(`${id}: a period of ${periodMs} ms`);
  return {
    kind: 'metric',
    ...actionsOf(id, properties, names),
    watches,
    periodMs,
    threshold,
    breaches: (value) => compare(value, threshold),
    evaluationPeriods,
    datapointsToAlarm,
    treatMissingData: treatment(textOf(take('TreatMissingData') ?? 'missing', names)),
  };
}

type Watched = Pick<MetricAlarm, 'watches' | 'periodMs'>;

function ownMetric(id: string, { take }: Reader, names: Names): Watched {
  const [plain, extended] = [take('Statistic'), take('ExtendedStatistic')];
  return {
    periodMs: numeric(take('Period'), `${id} Period`) * 1_000,
    watches: {
      namespace: textOf(take('Namespace'), names),
      metric: textOf(take('MetricName'), names),
      dimensions: dimensionsOf(take('Dimensions'), names),
      statistic: statisticOf(textOf(plain ?? extended, names)),
    },
  };
}

/** One expression or one metric; metric math is not understood. */
function oneOfMetrics(id: string, metrics: unknown, names: Names): Watched {
  const [entry, ...others] = list(metrics, `${id} Metrics`);
  if (others.length > 0) throw new Error(`${id}: metric math is not understood`);
  const query = reader(object(entry, `${id} Metrics`), `${id} Metrics`);
  query.take('Id');
  query.take('Label');
  query.take('ReturnData');
  const [expression, stat, period] = [query.take('Expression'), query.take('MetricStat'), query.take('Period')];
  query.done();
  if (expression !== undefined)
    return {
      periodMs: numeric(period, `${id} Period`) * 1_000,
      watches: { query: parseInsights(textOf(expression, names)) },
    };
  const metricStat = reader(object(stat, `${id} MetricStat`), `${id} MetricStat`);
  const metric = reader(object(metricStat.take('Metric'), `${id} Metric`), `${id} Metric`);
  const watched: Watched = {
    periodMs: numeric(metricStat.take('Period'), `${id} Period`) * 1_000,
    watches: {
      namespace: textOf(metric.take('Namespace'), names),
      metric: textOf(metric.take('MetricName'), names),
      dimensions: dimensionsOf(metric.take('Dimensions'), names),
      statistic: statisticOf(textOf(metricStat.take('Stat'), names)),
    },
  };
  metric.done();
  metricStat.done();
  return watched;
}

function dimensionsOf(value: unknown, names: Names): Dimensions {
  return Object.fromEntries(
    list(value ?? [], 'Dimensions').map((entry) => {
      const { Name, Value } = object(entry, 'a dimension');
      return [textOf(Name, names), textOf(Value, names)];
    }),
  );
}

function treatment(text: string): MissingDataTreatment {
  const found = MISSING_DATA_TREATMENTS.find((one) => one === text);
  if (found === undefined) throw new Error(`TreatMissingData ${text} not understood`);
  return found;
}

function compositeAlarm(id: string, properties: Reader, names: Names): CompositeAlarm {
  const { holds, alarms } = parseAlarmRule(textOf(properties.take('AlarmRule'), names));
  return { kind: 'composite', ...actionsOf(id, properties, names), holds, children: alarms };
}
