import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { AlarmEvent } from '../../../lambdas/contracts/event.ts';
import { incidentKey } from '../../../lambdas/notify/incident.ts';
import { topicPlace } from '../../../lambdas/notify/pager-message.ts';
import { chatPublication, chatSummary, pagerPublication } from '../../../lambdas/notify/publication.ts';
import { ALARM_IDS } from '../../../lambdas/tables/alarms.ts';
import { at } from '../fleet/values.ts';
import { CONTEXT, documentOf, fiveStories, RUNBOOKS, shown } from './services.ts';

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

/** What Slack or Teams would make of a text, markup or not. */
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

const STORIES = fiveStories();
const BASE: AlarmEvent = {
  version: 1,
  alarm: 'CertificateCritical',
  severity: 'critical',
  state: 'opened',
  cluster: 'berlin',
  name: 'berlin',
  story: 's',
  at: at(),
  command: 'c',
  runbook: 'r',
};
const fragment = fc.constantFrom(
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
  '@everyone',
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
);
const hostile = fc.oneof(
  { weight: 3, arbitrary: fc.array(fragment, { maxLength: 60 }).map((parts) => parts.join('').slice(0, 700)) },
  fc.string({ maxLength: 700 }),
  fc.string({ unit: 'binary', maxLength: 700 }),
  fc.constantFrom('<!channel> [x](https://evil) `', '<'.repeat(700), '\u202e'.repeat(700)),
);
const anyEvent: fc.Arbitrary<AlarmEvent> = fc.record(
  {
    version: fc.constant(1 as const),
    alarm: fc.constantFrom(...ALARM_IDS),
    severity: fc.constantFrom('critical', 'warning'),
    state: fc.constantFrom('opened', 'closed'),
    cluster: fc.oneof(
      fc.string({ minLength: 1, maxLength: 310 }),
      hostile.map((text) => `c${text.slice(0, 300)}`),
    ),
    name: fc.oneof(
      fc.string({ minLength: 1, maxLength: 310 }),
      hostile.map((text) => `n${text.slice(0, 300)}`),
    ),
    part: fc.string({ minLength: 1, maxLength: 260 }).filter((part) => /^[a-z][a-z0-9-]{0,150}$/.test(part)),
    story: hostile,
    due: fc.constant(at()),
    since: fc.constant(at()),
    at: fc.constant(at()),
    command: hostile,
    next: hostile,
    reason: hostile.map((text) => text.slice(0, 300)),
    escalatedTo: fc.constantFrom(...ALARM_IDS),
    runbook: fc.constant('r'),
  },
  { requiredKeys: ['version', 'alarm', 'severity', 'state', 'story', 'at', 'command', 'runbook'] },
);

describe('five stories', () => {
  const docs = readFileSync(new URL('../../../docs/notifications.md', import.meta.url), 'utf8');

  it.each(STORIES)('docs/notifications.md shows as each service does: $title', (story) => {
    expect(docs).toContain(shown(story));
  });

  it.each(STORIES)('open and close under one key, and say what to do: $title', ({ events }) => {
    expect(events.map(({ state }) => state)).toEqual(['opened', 'closed']);
    const chats = events.map((event) => documentOf(chatPublication(event, CONTEXT)));
    const pages = events.map((event) => documentOf(pagerPublication(event, CONTEXT)));
    expect(pages.map(({ NewStateValue }) => NewStateValue)).toEqual(['ALARM', 'OK']);
    const keys = [...chats.map(({ metadata }) => metadata.threadId), ...pages.map(({ AlarmName }) => AlarmName)];
    expect(new Set(keys).size).toBe(1);
    for (const [index, { content }] of chats.entries()) {
      const lines = [content.title, content.description, ...content.nextSteps].join('\n').replaceAll('`', '');
      const [, ...others] = String(pages[index].AlarmDescription).split('\n');
      for (const line of others) expect(lines).toContain(line);
      expect(lines).toMatch(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/);
      expect(lines).toContain(`Runbook: ${RUNBOOKS}/alarms/`);
    }
  });

  it('says of a warning that became critical that it is no recovery', () => {
    const [, closed] = STORIES.find(({ title }) => title.includes('becomes critical'))?.events ?? [];
    expect(closed).toMatchObject({ state: 'closed', escalatedTo: 'CertificateCritical' });
  });
});

describe('what a service gets', () => {
  it('has the published form, whatever clusters say, and stays within its limits', () => {
    fc.assert(
      fc.property(
        anyEvent,
        fc.constantFrom(undefined, `https://link/${'x'.repeat(4_000)}`, 'https://link'),
        (event, link) => {
          const chat = documentOf(chatPublication(event, { ...CONTEXT, link }));
          expect(CUSTOM_NOTIFICATION.safeParse(chat).error).toBeUndefined();
          const { title, description, nextSteps } = chat.content;
          expect(title.length).toBeLessThanOrEqual(150);
          expect(description.length).toBeLessThanOrEqual(3_000);
          const { keywords, metadata } = { ...chat.content, ...chat };
          const shownTexts = [title, description, ...keywords, metadata.summary, ...(metadata.relatedResources ?? [])];
          for (const text of shownTexts) expect(mentionsAndLinks(text)).toEqual([]);
          expect(nextSteps.join('')).not.toMatch(/[<>\n]/);
          // Ours; what is not, is code as a whole.
          const cluster = nextSteps.filter((step: string) => !/^(?:Runbook|Report): /.test(step));
          for (const step of cluster) expect(step).toMatch(/^(?:First|Then): `[^`]*`$/);
          const page = documentOf(pagerPublication(event, { ...CONTEXT, link }));
          expect(CLOUDWATCH_ALARM.safeParse(page).error).toBeUndefined();
          expect(page.NewStateReason).toContain(link ?? '');
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
    [`${'x'.repeat(95)} evil.com.internal`, `${'x'.repeat(95)} …`],
  ])('shows as text what would be a mention or a link: %s', (story, shownStory) => {
    const { content } = documentOf(chatPublication({ ...BASE, story }, CONTEXT));
    expect(content.title).toBe(`[critical] berlin, since 2026-11-21 10:00 UTC: ${shownStory}`);
  });

  it('tells many incidents and a digest as text too', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { minLength: 1, maxLength: 40 }), hostile, (events, story) => {
        const digest = { version: 1 as const, at: at(), story, critical: events.map(({ name = 'n' }) => name) };
        for (const publication of [chatSummary(events, CONTEXT), chatSummary(digest, CONTEXT)]) {
          const { content, metadata } = documentOf(publication);
          for (const text of [content.title, content.description, metadata.summary])
            expect(mentionsAndLinks(text)).toEqual([]);
        }
      }),
      { seed: 59, numRuns: 100 },
    );
  });

  it('has a title that was cut whole in the text, and says where a link is that does not fit', () => {
    const story = 'x'.repeat(300);
    const { content } = documentOf(
      chatPublication({ ...BASE, story }, { ...CONTEXT, link: `https://${'l'.repeat(3_000)}` }),
    );
    expect(content.title).toMatch(/…$/);
    expect(content.description).toContain(story);
    expect(content.nextSteps.at(-1)).toBe(
      'Report: its link is too long for a chat; the e-mail of the same minute has it',
    );
  });

  it('says that a chat gets less than all where many come at once', () => {
    const many = Array.from({ length: 60 }, (_, index) => ({ ...BASE, cluster: `c${index}`, story: 'x'.repeat(200) }));
    const message = documentOf(chatSummary(many, CONTEXT));
    expect(CUSTOM_NOTIFICATION.safeParse(message).error).toBeUndefined();
    expect(message.content.title).toBe('60 more incidents at once: CertificateCritical');
    expect(message.content.description).toMatch(/too long for a chat: the e-mail of the same minute has all of it\.$/);
    expect(message.content.description.length).toBeLessThanOrEqual(3_000);
  });

  it('has a key that tells apart what is told apart, also where it is too long', () => {
    const part = 'p'.repeat(200);
    const keys = ['a', 'b'].map((cluster) => incidentKey({ ...BASE, cluster: `${'c'.repeat(300)}${cluster}`, part }));
    expect(new Set(keys).size).toBe(2);
    expect(keys.map(({ length }) => length)).toEqual([255, 255]);
    expect(incidentKey({ alarm: 'SweepTimeout' })).toBe('SweepTimeout');
  });

  it('tells filter policies of severity, state, alarm and cluster', () => {
    const attributes = { severity: 'critical', state: 'opened', alarm: 'CertificateCritical', cluster: 'berlin' };
    expect(pagerPublication(BASE, CONTEXT).attributes).toEqual(attributes);
    expect(chatPublication(BASE, CONTEXT).attributes).toEqual(attributes);
  });

  it('knows where it is by the ARN of a topic', () => {
    expect(topicPlace('arn:aws-us-gov:sns:us-gov-west-1:111122223333:x')).toEqual({
      partition: 'aws-us-gov',
      region: 'us-gov-west-1',
      account: '111122223333',
    });
    expect(() => topicPlace('x')).toThrow('ARN');
  });
});
