import type { TopicMessage } from '../aws/topics.ts';
import { counted } from '../words.ts';
import { cut, withoutMarkup } from './inert.ts';
import { type Links, linesOf, type Message } from './message.ts';

/** Of a topic: `arn:PARTITION:sns:REGION:ACCOUNT:NAME`. */
export interface TopicPlace {
  readonly partition: string;
  readonly region: string;
  readonly account: string;
}

/** @throws Error for a malformed ARN */
export function topicPlace(arn: string): TopicPlace {
  const [, partition, , region, account] = arn.split(':');
  if (partition === undefined || region === undefined || account === undefined)
    throw new Error('the ARN of a topic is wanted');
  return { partition, region, account };
}

/** A message in the form that the subscribers of a topic read. */
export type Form = (message: Message, links: Links) => TopicMessage;

/**
 * E-mail and SMS get text; HTTPS, SQS, Lambda and Firehose get JSON. Pure. Source: SNS API Reference, Publish,
 * MessageStructure; the keys are the protocols of subscriptions.
 */
export const textForm: Form = (message, links) => {
  const { lines: _, command: __, ...facts } = message;
  return publication(message, links, { version: 2, ...facts, lines: linesOf(message, links) });
};

/**
 * As CloudWatch publishes an alarm on one metric, which PagerDuty and Jira Service Management read: open as ALARM and
 * closed as OK, under one AlarmName. Pure. Source of the shape: aws/aws-lambda-go,
 * events/testdata/cloudwatch-alarm-sns-payload-single-metric.json. Of the Trigger, without which PagerDuty opens
 * nothing: PagerDuty/terraform-provider-pagerduty issue 667, panther-labs/panther pull request 1311.
 */
export function pagerForm({ partition, region, account }: TopicPlace): Form {
  return (message, links) => {
    const { key, at, name, alarm, title, severity, state, cluster, what } = message;
    const dimensions = Object.entries({ Severity: severity, Cluster: cluster, Part: what });
    return publication(message, links, {
      AlarmName: key,
      AlarmDescription: cut([title, ...linesOf(message, { ...links, report: undefined })].join('\n'), 1_024),
      AWSAccountId: account,
      NewStateValue: state === 'opened' ? 'ALARM' : 'OK',
      // Half a link opens nothing.
      NewStateReason: `${cut(title, 1_023)}${links.report === undefined ? '' : `\nReport: ${links.report}`}`,
      StateChangeTime: new Date(at).toISOString().replace('Z', '+0000'),
      Region: region,
      AlarmArn: `arn:${partition}:cloudwatch:${region}:${account}:alarm:${name}`,
      OldStateValue: state === 'opened' ? 'OK' : 'ALARM',
      Trigger: {
        MetricName: alarm ?? name,
        Namespace: 'certmarshal',
        StatisticType: 'Statistic',
        Statistic: 'MAXIMUM',
        Unit: null,
        Dimensions: dimensions.flatMap(([dimension, value]) => (value === undefined ? [] : [{ name: dimension, value }])),
        Period: 60,
        EvaluationPeriods: 1,
        ComparisonOperator: 'GreaterThanOrEqualToThreshold',
        Threshold: 1,
        TreatMissingData: '- TreatMissingData: notBreaching',
        EvaluateLowSampleCountPercentile: '',
      },
    });
  };
}

/**
 * A custom notification of Amazon Q Developer, for Slack and Teams; an incident opens and closes in one thread. Pure.
 * Source: Amazon Q Developer in chat applications, administrator guide, "Custom notifications", Event schema. It names no
 * limits; Slack takes 150 characters for a header, 3,000 for a section: Slack, Block Kit reference.
 */
export const chatForm: Form = (message, { report, runbooks }) => {
  const { key, severity, alarm, cluster, title, lines, command } = message;
  const short = cut(title, 150);
  // A link that fills a section by itself is left to the e-mail of the same minute.
  const links = { report: report === undefined || report.length > 2_500 ? undefined : report, runbooks };
  // The text repeats a title that was cut.
  const description = [...(short === title ? [] : [title]), ...lines].join('\n') || title;
  const [shown, rest] = [cut(description, 2_900), counted(description.length, 'character')];
  return publication(message, links, {
    version: '1.0',
    source: 'custom',
    content: {
      textType: 'client-markdown',
      title: short,
      description: shown === description ? description : `${shown}\nThe e-mail of the same minute has all ${rest}.`,
      nextSteps: [
        // A code span can be copied, and has no mention or link. Source: CommonMark 0.31.2, 6.1 Code spans.
        ...(command === undefined ? [] : [`Fix: \`${withoutMarkup(command)}\``]),
        ...linesOf({ ...message, lines: [], command: undefined }, links),
      ],
      keywords: [severity, alarm ?? 'certmarshal'],
    },
    metadata: {
      threadId: key,
      summary: short,
      eventType: alarm ?? message.state,
      ...(cluster === undefined ? {} : { additionalContext: { cluster: cut(cluster, 100) } }),
    },
  });
};

/** @param document for programs, and services that read over HTTPS */
function publication(message: Message, links: Links, document: object): TopicMessage {
  const { title, severity, state, alarm, cluster } = message;
  const json = JSON.stringify(document);
  const plain = (most: number): string => cut(title.replaceAll(/[^ -~]/g, '?'), most).replace('…', '.');
  return {
    // ASCII, fewer than 100 characters. Source: SNS API Reference, Publish, Subject.
    subject: plain(99),
    message: JSON.stringify({
      default: [title, ...linesOf(message, links)].join('\n'),
      // Longer text messages are sent in parts.
      sms: plain(140),
      https: json,
      sqs: json,
      lambda: json,
      firehose: json,
    }),
    attributes: {
      severity,
      state,
      ...(alarm === undefined ? {} : { alarm }),
      ...(cluster === undefined ? {} : { cluster: cut(cluster, 310) }),
    },
  };
}
