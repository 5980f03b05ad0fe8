import type { TopicMessage } from '../aws/topics.ts';
import { cut, inert, withoutMarkup } from './inert.ts';
import { type Links, linesOf, type Message } from './message.ts';

/** A message in the form that the subscribers of a topic read. Pure. */
export type Form = (message: Message, links: Links) => TopicMessage;

/** E-mail and SMS get text, programs get the same as JSON. */
export const textForm: Form = (message, links) => {
  const { command: _, ...facts } = message;
  return publication(message, links, { version: 2, ...facts, lines: linesOf(message, links) });
};

/**
 * As CloudWatch publishes an alarm on one metric, which PagerDuty and Jira Service Management read: ALARM when it opens
 * and OK when it closes, under one AlarmName. Source of the shape: aws/aws-lambda-go,
 * events/testdata/cloudwatch-alarm-sns-payload-single-metric.json. Of the Trigger, without which PagerDuty opens
 * nothing: PagerDuty/terraform-provider-pagerduty issue 667, panther-labs/panther pull request 1311.
 *
 * @param topicArn of the same account and Region
 */
export function pagerForm(topicArn: string): Form {
  const [, partition, , region, account] = topicArn.split(':');
  return (message, { report, runbooks }) => {
    const { key, at, name, alarm, title, severity, state, cluster, what } = message;
    const [now, before] = state === 'opened' ? ['ALARM', 'OK'] : ['OK', 'ALARM'];
    const dimensions = Object.entries({ Severity: severity, Cluster: cluster, Part: what });
    const body = [title, ...linesOf(message, { report: undefined, runbooks })].join('\n');
    const document = {
      AlarmName: key,
      AlarmDescription: cut(body, 1_024),
      AWSAccountId: account,
      NewStateValue: now,
      // Half a link opens nothing.
      NewStateReason: `${cut(title, 1_023)}${report === undefined ? '' : `\nReport: ${report}`}`,
      StateChangeTime: new Date(at).toISOString().replace('Z', '+0000'),
      Region: region,
      AlarmArn: `arn:${partition}:cloudwatch:${region}:${account}:alarm:${name}`,
      OldStateValue: before,
      Trigger: {
        MetricName: alarm ?? name,
        Namespace: 'certmarshal',
        StatisticType: 'Statistic',
        Statistic: 'MAXIMUM',
        Unit: null,
        Dimensions: dimensions.flatMap(([field, value]) =>
          value === undefined ? [] : [{ name: field, value: inert(value) }],
        ),
        Period: 60,
        EvaluationPeriods: 1,
        ComparisonOperator: 'GreaterThanOrEqualToThreshold',
        Threshold: 1,
        TreatMissingData: '- TreatMissingData: notBreaching',
        EvaluateLowSampleCountPercentile: '',
      },
    };
    return publication(message, { report, runbooks }, document);
  };
}

/**
 * A custom notification of Amazon Q Developer, for Slack and Teams; an incident has one thread. Source: Amazon Q Developer
 * in chat applications, administrator guide, "Custom notifications", Event schema. The lengths: Slack, Block Kit
 * reference, Header block and Section block.
 */
export const chatForm: Form = (message, links) => {
  const { key, severity, state, alarm, title, lines, command } = message;
  const short = cut(title, 150);
  // The text repeats a title that was cut.
  const text = [...(short === title ? [] : [title]), ...lines].join('\n') || title;
  const description = text.length <= 3_000 ? text : `${cut(text, 2_900)}\nThe e-mail of the same minute has all of it.`;
  // A longer link fills a section, and the e-mail has it.
  const report = links.report !== undefined && links.report.length > 2_500 ? undefined : links.report;
  // A code span can be copied, and has no mention or link. Source: CommonMark 0.31.2, 6.1 Code spans.
  const first = command === undefined ? [] : [`First: \`${withoutMarkup(command)}\``];
  const nextSteps = [...first, ...linesOf({ ...message, lines: [], command: undefined }, { ...links, report })];
  return publication(message, links, {
    version: '1.0',
    source: 'custom',
    content: {
      textType: 'client-markdown',
      title: short,
      description,
      ...(nextSteps.length > 0 && { nextSteps }),
      keywords: [severity, alarm ?? 'certmarshal'],
    },
    metadata: { threadId: key, summary: short, eventType: alarm ?? state },
  });
};

/**
 * Source: SNS API Reference, Publish, Subject and MessageStructure, whose keys are the protocols of subscriptions.
 *
 * @param document for programs, and services that read over HTTPS
 */
function publication(message: Message, links: Links, document: object): TopicMessage {
  const { title, severity, state, alarm, cluster } = message;
  const json = JSON.stringify(document);
  const ascii = (most: number): string =>
    cut(title, most - 2)
      .replace('…', '...')
      .replaceAll(/[^ -~]/g, '?');
  const texts = { default: [title, ...linesOf(message, links)].join('\n'), sms: ascii(140) };
  return {
    subject: ascii(99),
    message: JSON.stringify({ ...texts, https: json, sqs: json, lambda: json, firehose: json }),
    attributes: {
      severity,
      state,
      ...(alarm !== undefined && { alarm }),
      ...(cluster !== undefined && { cluster: cut(cluster, 310) }),
    },
  };
}
