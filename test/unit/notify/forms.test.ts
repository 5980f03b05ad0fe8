import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { TopicMessage } from '../../../lambdas/aws/topics.ts';
import { dailyMessage } from '../../../lambdas/notify/daily.ts';
import { chatForm, pagerForm, textForm } from '../../../lambdas/notify/forms.ts';
import type { Message } from '../../../lambdas/notify/message.ts';
import { ALARM_IDS, isOnSignal } from '../../../lambdas/tables/alarms.ts';
import { at, auditSummary, DAY, expiryFinding, NOW } from '../fleet/values.ts';
import { EXAMPLES, LINKS, textOf } from './examples.ts';
import { alarmEvent, cluster, contributorEvent, firing, indexOf, messageOf } from './values.ts';

/** Source: Amazon Q Developer in chat applications, administrator guide, "Custom notifications", Event schema and Parameter details. */
const CUSTOM_NOTIFICATION = z.strictObject({
  version: z.literal('1.0'),
  source: z.literal('custom'),
  id: z.string().optional(),
  content: z.strictObject({
    textType: z.literal('client-markdown').optional(),
    title: z.string().optional(),
    description: z.string().min(1),
    nextSteps: z.array(z.string()).optional(),
    keywords: z.array(z.string()).optional(),
  }),
  metadata: z
    .strictObject({
      threadId: z.string().optional(),
      summary: z.string().optional(),
      eventType: z.string().optional(),
      relatedResources: z.array(z.string()).optional(),
      additionalContext: z.record(z.string(), z.string()).optional(),
    })
    .optional(),
});

/** Source: aws/aws-lambda-go, events/testdata/cloudwatch-alarm-sns-payload-single-metric.json: its fields, all of them. */
const CLOUDWATCH_ALARM = z.strictObject({
  AlarmName: z.string().min(1).max(255),
  AlarmDescription: z.string().max(1_024),
  AWSAccountId: z.string().regex(/^\d{12}$/),
  NewStateValue: z.enum(['ALARM', 'OK']),
  NewStateReason: z.string(),
  StateChangeTime: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+0000$/),
  Region: z.string(),
  AlarmArn: z.string().regex(/^arn:aws:cloudwatch:eu-central-1:111122223333:alarm:certmarshal-[\w-]+$/),
  OldStateValue: z.enum(['ALARM', 'OK']),
  Trigger: z.strictObject({
    MetricName: z.string(),
    Namespace: z.string(),
    StatisticType: z.string(),
    Statistic: z.string(),
    Unit: z.string().nullable(),
    Dimensions: z.array(z.strictObject({ value: z.string(), name: z.string() })),
    Period: z.number(),
    EvaluationPeriods: z.number(),
    ComparisonOperator: z.string(),
    Threshold: z.number(),
    TreatMissingData: z.string(),
    EvaluateLowSampleCountPercentile: z.string(),
  }),
});

const pager = pagerForm('arn:aws:sns:eu-central-1:111122223333:certmarshal-critical');
const documentOf = ({ message }: TopicMessage) => JSON.parse(JSON.parse(message).https);
const emailOf = ({ message }: TopicMessage): string => JSON.parse(message).default;

/** What a chat, a mail reader or a pager would make of a text, markup or not. */
function mentionsAndLinks(text: string): readonly string[] {
  // As Markdown shows it.
  const shownText = text
    .replaceAll(/\\(?=[!-/:-@[-`{-~])/g, '')
    .replaceAll('&period;', '.')
    .replaceAll('&lt;', '<');
  // A name ends where a label would be empty, or end with a hyphen.
  const names = shownText.match(/[\p{L}\p{M}\p{N}]+(?:(?:-+|\.)[\p{L}\p{M}\p{N}]+)*/gu) ?? [];
  return [
    ...(shownText.match(/[<>`]|\]\(|:\/\/|@|&\w+;/g) ?? []),
    // A top-level domain has letters first; `internal` and `local` are none.
    ...names.filter((name) => /[\p{L}\p{N}]\.\p{L}/u.test(name) && !/\.(?:internal|local)$/.test(name)),
  ];
}

const FRAGMENTS = [
  'https://',
  'http:',
  '//',
  'evil.com',
  'www.',
  'evil',
  '.',
  'com',
  '.internal',
  'ip-10-0-1-24.ec2.internal',
  'xn--p1ai',
  '@here',
  '@channel',
  'user@',
  '<!channel>',
  '<@U1>',
  '<',
  '>',
  '|',
  '[x](',
  '](',
  '](https://e)',
  '![',
  '`',
  '```',
  '\\',
  '&period;',
  '&lt;!here&gt;',
  ' ',
  '\n',
  '/',
  ':',
  '-',
  'é',
  '😀',
  'First: ',
  'x'.repeat(40),
];
const fragment = fc.constantFrom(...FRAGMENTS);
const hostile = fc.oneof(
  { weight: 3, arbitrary: fc.array(fragment, { maxLength: 60 }).map((parts) => parts.join('').slice(0, 300)) },
  fc.string({ maxLength: 300 }),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.constantFrom('<!channel> [x](https://evil) `', '<'.repeat(300), '\u202e'.repeat(300)),
);
const label = hostile.map((text) => `c${text}`);

const hostileMessage: fc.Arbitrary<Message> = fc
  .record({
    alarm: fc.constantFrom(...ALARM_IDS.filter((id) => isOnSignal(id))),
    state: fc.constantFrom('ALARM', 'OK'),
    isIndexed: fc.boolean(),
    id: label,
    name: label,
    what: label,
    story: hostile,
    object: hostile,
    reason: hostile,
  })
  .map(({ alarm, state, isIndexed, id, name, what, story, object, reason }) => {
    const event = contributorEvent(alarm, state, { Cluster: id, Class: what });
    const finding = expiryFinding({
      severity: 'critical',
      cluster: id,
      object,
      due: at(DAY),
      facts: { where: story, source: 'tls', basis: 'certificate', effect: story },
    });
    const one = cluster(id, [firing(alarm, { story, classes: { [what]: 9 } })], {
      name,
      namespace: name,
      audit: auditSummary({ findings: [finding] }),
    });
    const said = { ...event, detail: { ...event.detail, state: { ...event.detail.state, reason } } };
    return messageOf(said, isIndexed ? indexOf(one) : indexOf());
  })
  .filter((message) => message !== undefined);

describe('five messages', () => {
  const docs = readFileSync(new URL('../../../docs/notifications.md', import.meta.url), 'utf8');

  it.each(Object.entries(EXAMPLES))('docs/notifications.md shows: %s', (title, message) => {
    expect(docs).toContain(`### ${title}\n\n\`\`\`text\n${textOf(message)}\n\`\`\``);
  });

  it.each(Object.entries(EXAMPLES))('say the same to e-mail, pager and chat: %s', (_, message) => {
    if (message === undefined) throw new Error('no message');
    const [mail, page, chat] = [textForm, pager, chatForm].map((form) => form(message, LINKS));
    if (mail === undefined || page === undefined || chat === undefined) throw new Error('three forms');
    expect([mail, page, chat].map(emailOf)).toEqual(Array.from({ length: 3 }, () => textOf(message)));
    expect(documentOf(page)).toMatchObject({
      AlarmName: message.key,
      NewStateValue: message.state === 'opened' ? 'ALARM' : 'OK',
    });
    expect(documentOf(page).AlarmDescription).toBe(textOf(message).replace(/\nReport: .*$/, ''));
    const { content, metadata } = documentOf(chat);
    expect(metadata.threadId).toBe(message.key);
    const lines = [...content.description.split('\n'), ...content.nextSteps].map((line) => line.replaceAll('`', ''));
    for (const line of textOf(message).split('\n').slice(1)) expect(lines).toContain(line);
  });
});

describe('the form of each service', () => {
  it('is what it reads, and nothing in it is a mention or a link of a cluster', () => {
    fc.assert(
      fc.property(
        hostileMessage,
        fc.constantFrom(undefined, `https://link/${'x'.repeat(4_000)}`, 'https://link'),
        (message, report) => {
          const links = { report, runbooks: undefined };
          const chat = documentOf(chatForm(message, links));
          expect(CUSTOM_NOTIFICATION.safeParse(chat).error).toBeUndefined();
          const { title, description, nextSteps } = chat.content;
          expect(title.length).toBeLessThanOrEqual(150);
          expect(description.length).toBeLessThanOrEqual(3_000);
          const page = documentOf(pager(message, links));
          expect(CLOUDWATCH_ALARM.safeParse(page).error).toBeUndefined();
          expect(page.NewStateReason).toContain(report ?? '');
          const mail = textForm(message, links);
          expect(mail.subject).toMatch(/^[!-~][ -~]{0,98}$/);
          const ofLines = (text: string) =>
            text.split('\n').filter((line) => !/^(?:Report|First|Runbook): /.test(line));
          const texts = [
            title,
            description,
            chat.metadata.threadId,
            chat.metadata.summary,
            page.AlarmName,
            mail.subject,
            ...ofLines(emailOf(mail)),
            ...ofLines(page.AlarmDescription),
            ...ofLines(page.NewStateReason),
            ...page.Trigger.Dimensions.map(({ value }: { readonly value: string }) => value),
          ];
          for (const text of texts) expect(mentionsAndLinks(text)).toEqual([]);
          // Of commands only their words are of a cluster.
          expect(message.command ?? '').not.toMatch(/evil|[<>`\n]|:\/\//);
          expect(nextSteps.join('')).not.toMatch(/[<>\n]/);
        },
      ),
      { seed: 53, numRuns: 300 },
    );
  });

  it.each([
    ['https://10.0.0.1:6443', 'https[:]//10.0.0.1:6443'],
    ['evil.com or www.evil.com', 'evil[.]com or www[.]evil[.]com'],
    ['@here', '(at)here'],
    ['<!channel>', '‹!channel›'],
    ['[x](https:\\/\\/e)', '[x] (https[:]//e)'],
    ['ip-10-0-1-24.eu-west-1.compute.internal', 'ip-10-0-1-24.eu-west-1.compute.internal'],
    ['evil.com..internal', 'evil[.]com.[.]internal'],
    ['evil.com-.internal', 'evil[.]com-[.]internal'],
  ])('has as text what would be a mention or a link: %s', (story, shown) => {
    const index = indexOf(cluster('berlin', [firing('ClusterUnreadable', { story })]));
    const message = messageOf(contributorEvent('ClusterUnreadable', 'ALARM', { Cluster: 'berlin' }), index);
    expect(message?.title).toContain(`since 2026-11-21 10:00 UTC: ${shown}. Meanwhile`);
  });

  it('cuts no name with dots in half, repeats a title that is cut, and leaves out a link that is too long', () => {
    const story = `${'x'.repeat(95)} a.b.internal ${'y'.repeat(150)}`;
    const index = indexOf(cluster('berlin', [firing('ClusterUnreadable', { story })]));
    const message = messageOf(contributorEvent('ClusterUnreadable', 'ALARM', { Cluster: 'berlin' }), index);
    if (message === undefined) throw new Error('no message');
    const { content } = documentOf(chatForm(message, { report: `https://${'l'.repeat(3_000)}`, runbooks: undefined }));
    expect(content.title.endsWith('…')).toBe(true);
    expect(content.title).not.toContain('a.b.int');
    expect(content.description).toContain(story);
    expect(content.nextSteps.join()).not.toContain('Report');
  });

  it('tells filter policies of severity, state, alarm and cluster, and programs of the class', () => {
    const message = EXAMPLES['A certificate expires soon'];
    if (message === undefined) throw new Error('no message');
    const attributes = { severity: 'critical', state: 'opened', alarm: 'CertificateCritical', cluster: 'berlin-prod' };
    for (const form of [textForm, pager, chatForm]) expect(form(message, LINKS).attributes).toEqual(attributes);
    expect(documentOf(textForm(message, LINKS))).toMatchObject({
      version: 2,
      ...attributes,
      key: message.key,
      what: 'etcd-server',
      at: at(),
      title: message.title,
      lines: textOf(message).split('\n').slice(1),
    });
  });

  it('has an alarm of another version too', () => {
    const message = messageOf(alarmEvent({ name: 'certmarshal-old' }, 'ALARM'), undefined);
    if (message === undefined) throw new Error('no message');
    expect(CLOUDWATCH_ALARM.safeParse(documentOf(pager(message, LINKS))).error).toBeUndefined();
    expect(CUSTOM_NOTIFICATION.safeParse(documentOf(chatForm(message, LINKS))).error).toBeUndefined();
  });
});

describe('the message of a day', () => {
  const sick = [
    cluster('berlin', [firing('CertificateCritical', { story: 'see evil.com' })]),
    cluster('paris', [firing('KubeletOverdue', { story: 'a kubelet is late' })], { state: 'warning' }),
  ];

  it.each([
    ['All is well: 2 clusters, 1 well, 1 gone', [cluster('a'), cluster('b', [], { state: 'gone' })], []],
    ['No alarm fires: 2 clusters, 1 new, 1 well', [cluster('a'), cluster('b', [], { state: 'new' })], []],
    [
      'Needs a person: 3 clusters, 1 critical, 1 warning, 1 well',
      [...sick, cluster('rome')],
      ['critical berlin: see evil[.]com', 'warning paris: a kubelet is late'],
    ],
  ] as const)('%s', (title, clusters, lines) => {
    expect(dailyMessage(indexOf(...clusters), NOW)).toMatchObject({ title: `[daily] ${title}`, lines, state: 'daily' });
  });

  it('never says that all is well where nothing is known', () => {
    const old = NOW + 11 * 60_000;
    for (const [index, now] of [
      [undefined, NOW],
      [{ ...indexOf(), health: undefined }, NOW],
      [indexOf(), old],
    ] as const)
      expect(dailyMessage(index, now).title).toMatch(
        /^\[daily\] The state of the fleet (?:cannot be read|is not known)/,
      );
  });

  it('has problems of certmarshal itself, and says how many there are of many', () => {
    const problems = [{ kind: 'plan', object: 'plan', message: 'no sweep', remedy: 'Look.', since: at() }];
    const many = Array.from({ length: 100 }, (_, n) => cluster(`c${n}`, [firing('ClusterUnreadable')]));
    const message = dailyMessage({ ...indexOf(...many), problems }, NOW);
    expect(message.lines[0]).toBe('certmarshal: plan: no sweep');
    expect(message.lines).toHaveLength(31);
    expect(message.lines.at(-1)).toBe('and 71 more, on the report page');
    const unplanned = Array.from({ length: 40 }, () => problems).flat();
    const { lines } = dailyMessage({ ...indexOf(...many.slice(0, 1)), problems: unplanned }, NOW);
    expect(lines[10]).toMatch(/^critical c0: /);
    expect(CUSTOM_NOTIFICATION.safeParse(documentOf(chatForm(message, LINKS))).error).toBeUndefined();
  });
});
