import { Token } from 'aws-cdk-lib/core';
import { ALARMS, type AlarmEntry, type AlarmId, runbookPlace } from '../../lambdas/tables/alarms.ts';
import { SIGNALS } from '../../lambdas/tables/signals.ts';

export interface DescriptionProps {
  readonly alarm: AlarmId;
  /** In the unit of the metric. */
  readonly threshold: number;
  /** The exact command. */
  readonly first: string;
  /** The URL at which the runbooks are published. */
  readonly runbooks?: string | undefined;
}

/** Source: CloudWatch API Reference, PutMetricAlarm, AlarmDescription. */
const LONGEST = 1_024;
/** Length of values that only CloudFormation knows: the name of a log group, the ARN of a topic. */
const MAX_TOKEN = 250;

/**
 * The text of an alarm for the paged engineer: what it means, when it fires, what to do first, and where to read on.
 * The command has its own line, to be copied.
 *
 * @throws Error for a text that CloudWatch would reject
 */
export function describeAlarm({ alarm, threshold, first, runbooks }: DescriptionProps): string {
  const entry: AlarmEntry = ALARMS[alarm];
  const { meaning, datapoints, watches } = entry;
  const minutes =
    datapoints.of === 1
      ? 'a minute shows'
      : `${datapoints.atLeast} of ${datapoints.of} minutes ${datapoints.atLeast === 1 ? 'shows' : 'show'}`;
  const rollout = first.includes(' rollout ') ? ' For an EKS cluster run certmarshal audit instead.' : '';
  const management = first.includes(' KUBECONFIG ')
    ? ` Add --management-kubeconfig FILE for a workload cluster.${rollout}`
    : '';
  const who =
    'signal' in watches
      ? ` The contributor is the id of the cluster: ID stands for it, CLUSTER for its name.${management}`
      : '';
  const text = `${meaning} Fires when ${minutes} ${shown(entry, threshold)}.${who}\nFirst: ${first}\nRunbook: ${runbookPlace(alarm, runbooks)}`;
  if (lengthOf(text) > LONGEST) throw new Error(`the description of ${alarm} is longer than ${LONGEST} characters`);
  return text;
}

function shown(entry: AlarmEntry, threshold: number): string {
  if ('firesAt' in entry) return entry.firesAt.replace('N', String(threshold));
  const { unit } = SIGNALS[entry.watches.signal];
  return unit === 'Seconds' ? `${threshold} seconds or more` : `${threshold} or more`;
}

function lengthOf(text: string): number {
  const literal = text.replaceAll(/\$\{Token\[[^\]]*\]\}/g, '');
  return literal.length + (Token.isUnresolved(text) ? MAX_TOKEN : 0);
}
