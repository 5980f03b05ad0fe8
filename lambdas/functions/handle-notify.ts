import { awsProblem } from '../aws/aws-problem.ts';
import type { Link } from '../aws/presigned-link.ts';
import type { Publish } from '../aws/topics.ts';
import { AlarmEvent } from '../contracts/alarm-event.ts';
import { read } from '../contracts/contract.ts';
import { parseFleetIndex } from '../contracts/fleet-index.ts';
import { STATE_KEYS } from '../fleet/state-keys.ts';
import { alarmChange } from '../notify/alarm-change.ts';
import { dailyMessage } from '../notify/daily.ts';
import { chatForm, pagerForm, textForm } from '../notify/forms.ts';
import { incidentOf } from '../notify/incident.ts';
import type { Message } from '../notify/message.ts';
import { isJsonObject } from '../resources/fields.ts';
import type { State } from '../state.ts';
import type { AlarmSettings } from '../tables/alarms.ts';
import { METRIC } from '../telemetry/metric-names.ts';
import { count, type Telemetry } from '../telemetry/telemetry.ts';

export type TopicName = 'critical' | 'warning' | 'pager' | 'chat';

export interface NotifyOptions extends Telemetry {
  readonly state: Pick<State, 'get'>;
  readonly monitoring: { readonly alarms: AlarmSettings; readonly runbooks?: string | undefined };
  readonly publish: Publish<TopicName>;
  /** Of any of them. */
  readonly topicArn: string;
  /** To the report page; undefined if messages have none. */
  readonly link: Link | undefined;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/**
 * Turns a state change of an alarm into one message, with what the index says of it; and once a day sends what is open.
 * Remembers nothing: CloudWatch does.
 *
 * @throws Error if an event is not one of CloudWatch, or a topic refused. Lambda tries twice more: people may get a
 * message again, under the same key. After the last try they get the event itself.
 */
export type HandleNotify = (event: unknown, signal: AbortSignal) => Promise<void>;

export function createNotifyHandler(options: NotifyOptions): HandleNotify {
  const { state, monitoring, clock, logger, metrics } = options;
  const forms = { critical: textForm, warning: textForm, pager: pagerForm(options.topicArn), chat: chatForm };

  return async (event, signal) => {
    const isDaily = isJsonObject(event) && event['daily'] === true;
    const change = isDaily ? undefined : alarmChange(readEvent(event));
    if (!isDaily && change === undefined) return;
    const stored = await orNothing(STATE_KEYS.index, async () => state.get(STATE_KEYS.index, signal));
    const now = clock();
    const index = parseFleetIndex(stored?.value, now);
    if (change === undefined) return send(dailyMessage(index, now), ['warning', 'chat'], signal);
    const message = incidentOf(change, { index, settings: monitoring.alarms, now });
    return send(message, [message.severity, 'pager', 'chat'], signal);
  };

  /** A topic that refuses keeps nothing from the others. */
  async function send(message: Message, topics: readonly TopicName[], signal: AbortSignal): Promise<void> {
    const report = await orNothing(STATE_KEYS.page, async () => options.link?.(STATE_KEYS.page));
    const links = { report, runbooks: monitoring.runbooks };
    const results = await Promise.allSettled(
      topics.map(async (topic) => options.publish(topic, forms[topic](message, links), signal)),
    );
    const refusal = results.find((result) => result.status === 'rejected');
    logger.info('message', { key: message.key, state: message.state, isRefused: refusal !== undefined });
    if (refusal !== undefined) throw refusal.reason;
    count(metrics, { [METRIC.notified]: 1 });
  }

  /** A message without it is better than none. */
  async function orNothing<T>(object: string, get: () => Promise<T>): Promise<T | undefined> {
    try {
      return await get();
    } catch (error) {
      logger.error('message with less', { problem: awsProblem(object, error) });
      return undefined;
    }
  }
}

function readEvent(event: unknown): AlarmEvent {
  const result = read(AlarmEvent, event, 'the event');
  if (!result.ok) throw new Error(`This is no state change of an alarm of CloudWatch: ${result.problem}.`);
  return result.value;
}
