import type { AlarmDefinition, Burn, CompositeAlarm, MetricAlarm, WatchedMetric } from './alarm-definitions.ts';
import { askInsights } from './insights.ts';
import { type Dimensions, type MetricStore, MINUTE_MS } from './metric-store.ts';
import { type AlarmState, alarmState, evaluationRange } from './missing-data.ts';

/**
 * Contributors of one alarm. Which of more are left out is not documented: here the last ones of its query. Source: Amazon CloudWatch User Guide, "Limits that apply to
 * alarms based on Metrics Insights queries".
 */
const MAX_IN_ALARM = 100;

/** A change of state, of which EventBridge has an event. */
export interface Transition {
  /** The minute after which it was seen. Milliseconds since the epoch. */
  readonly at: number;
  readonly alarm: AlarmDefinition;
  /** One series of an alarm with GROUP BY; the alarm itself changes in a transition of its own. */
  readonly contributor?: Dimensions;
  readonly from: AlarmState;
  readonly to: AlarmState;
  /** Logical ids of topics. */
  readonly actions: readonly string[];
}

/** CloudWatch, as far as it evaluates alarms. */
export interface AlarmSimulator {
  /**
   * Evaluates every alarm on the data before this minute, metric alarms first. To be called once for each minute, in order.
   *
   * @param at a whole minute; milliseconds since the epoch
   */
  evaluate(at: number): readonly Transition[];
  stateOf(alarm: string): AlarmState;
  /** What is in ALARM: alarms that have no contributors, and contributors. */
  inAlarm(): readonly Pick<Transition, 'alarm' | 'contributor'>[];
}

export interface SimulatorOptions {
  /**
   * What a contributor in ALARM does whose series is no longer returned, which is not documented: become OK, or end without
   * a word.
   */
  readonly vanishing: 'OK' | 'nothing';
}

/**
 * Every alarm begins in INSUFFICIENT_DATA, as a new one does; its first OK is a transition with actions, as in CloudWatch.
 *
 * A contributor is in OK or ALARM and never lacks data, and each change of it is an event and runs the actions of its
 * alarm. An alarm whose query returns nothing is in INSUFFICIENT_DATA, whatever it was told about missing data. Source:
 * Amazon CloudWatch User Guide, "Configuring how CloudWatch alarms treat missing data", "Acting on alarm changes" and
 * "Alarm events and EventBridge".
 */
export function createSimulator(
  alarms: readonly AlarmDefinition[],
  store: MetricStore,
  { vanishing }: SimulatorOptions = { vanishing: 'nothing' },
): AlarmSimulator {
  const states = new Map<string, AlarmState>(alarms.map(({ name }) => [name, 'INSUFFICIENT_DATA']));
  const alarming = new Map<string, Map<string, Dimensions>>();
  const stateOf = (alarm: string): AlarmState => {
    const state = states.get(alarm);
    if (state === undefined) throw new Error(`no alarm ${alarm}`);
    return state;
  };

  function change(alarm: AlarmDefinition, to: AlarmState, at: number): Transition[] {
    const from = stateOf(alarm.name);
    states.set(alarm.name, to);
    return from === to ? [] : [{ at, alarm, from, to, actions: actionsIn(alarm, to) }];
  }

  function evaluateMetric(alarm: MetricAlarm, at: number): Transition[] {
    const { watches, periodMs, breaches } = alarm;
    const range = evaluationRange(alarm);
    const judge = (value: number | undefined) => (value === undefined ? undefined : breaches(value));
    if ('query' in watches) {
      const contributors = askInsights(watches.query, store, { at, periodMs, range });
      const judged = contributors.map(({ attributes, points }) => ({ attributes, points: points.map(judge) }));
      return evaluateContributors(alarm, judged, at);
    }
    const points = Array.from({ length: range }, (_, index) => {
      const until = at - (range - 1 - index) * periodMs;
      return judge('burn' in watches ? burnOf(watches.burn, periodMs, until) : valueOf(watches, periodMs, until));
    });
    return change(alarm, alarmState(points, alarm), at);
  }

  function valueOf(
    { namespace, metric, dimensions, statistic }: WatchedMetric,
    periodMs: number,
    until: number,
  ): number | undefined {
    return statistic(store.find(namespace, metric, dimensions)?.between(until - periodMs, until) ?? []);
  }

  /** Without one of its operands it has no result. */
  function burnOf({ atLeast, allowed, ...operands }: Burn, periodMs: number, until: number): number | undefined {
    const issued = valueOf(operands.issued, periodMs, until);
    const late = valueOf(operands.late, periodMs, until);
    if (issued === undefined || late === undefined) return undefined;
    return late >= atLeast ? late / (issued + late) / allowed : 0;
  }

  function evaluateContributors(
    alarm: MetricAlarm,
    contributors: readonly { readonly attributes: Dimensions; readonly points: readonly (boolean | undefined)[] }[],
    at: number,
  ): Transition[] {
    const before = alarming.get(alarm.name) ?? new Map<string, Dimensions>();
    const now = new Map<string, Dimensions>();
    const returned = new Set(contributors.map(({ attributes }) => JSON.stringify(attributes)));
    for (const { attributes, points } of contributors)
      if (now.size < MAX_IN_ALARM && alarmState(points, alarm) === 'ALARM')
        now.set(JSON.stringify(attributes), attributes);
    alarming.set(alarm.name, now);
    const changed = (to: 'ALARM' | 'OK', rows: readonly (readonly [string, Dimensions])[]): Transition[] =>
      rows.map(([, contributor]) => ({
        at,
        alarm,
        contributor,
        to,
        actions: actionsIn(alarm, to),
        from: to === 'OK' ? 'ALARM' : 'OK',
      }));
    const ended = [...before].filter(([key]) => !now.has(key) && (returned.has(key) || vanishing === 'OK'));
    const state = now.size > 0 ? 'ALARM' : contributors.length > 0 ? 'OK' : 'INSUFFICIENT_DATA';
    return [
      ...changed('OK', ended),
      ...changed(
        'ALARM',
        [...now].filter(([key]) => !before.has(key)),
      ),
      ...change(alarm, state, at),
    ];
  }

  /** A composite alarm of composite alarms follows in the next round; more rounds than alarms would be a circle. */
  function evaluateComposites(composites: readonly CompositeAlarm[], at: number): Transition[] {
    const changed: Transition[] = [];
    for (const _ of composites) {
      const round = composites.flatMap((alarm) =>
        change(alarm, alarm.children.some((child) => stateOf(child) === 'ALARM') ? 'ALARM' : 'OK', at),
      );
      if (round.length === 0) break;
      changed.push(...round);
    }
    return changed;
  }

  return {
    evaluate(at) {
      if (at % MINUTE_MS !== 0) throw new Error(`${at} is no whole minute`);
      return [
        ...alarms.flatMap((alarm) => (alarm.kind === 'metric' ? evaluateMetric(alarm, at) : [])),
        ...evaluateComposites(
          alarms.filter((alarm) => alarm.kind === 'composite'),
          at,
        ),
      ];
    },
    stateOf,
    inAlarm: () =>
      alarms.flatMap((alarm) => {
        const rows = [...(alarming.get(alarm.name)?.values() ?? [])];
        if (rows.length > 0) return rows.map((contributor) => ({ alarm, contributor }));
        return stateOf(alarm.name) === 'ALARM' ? [{ alarm }] : [];
      }),
  };
}

/** Alarms of ours have none for INSUFFICIENT_DATA. */
function actionsIn({ alarmActions, okActions }: AlarmDefinition, state: AlarmState): readonly string[] {
  return { ALARM: alarmActions, OK: okActions, INSUFFICIENT_DATA: [] }[state];
}
