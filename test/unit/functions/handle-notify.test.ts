import { beforeEach, describe, expect, it } from 'vitest';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import type { TopicMessage } from '../../../lambdas/aws/topics.ts';
import { STATE_KEYS } from '../../../lambdas/fleet/state-keys.ts';
import { createNotifyHandler, type NotifyOptions, type TopicName } from '../../../lambdas/functions/handle-notify.ts';
import { createTelemetry } from '../../../lambdas/telemetry/telemetry.ts';
import { DAY, NOW } from '../fleet/values.ts';
import { alarmEvent, cluster, contributorEvent, firing, indexOf } from '../notify/values.ts';
import { writtenByEachTest } from '../telemetry/capture-stdout.ts';

const signal = new AbortController().signal;
const BERLIN = cluster('berlin', [firing('ClusterUnreadable', { story: 'it does not answer' })]);
const OPENED = contributorEvent('ClusterUnreadable', 'ALARM', { Cluster: 'berlin' });
const refusal = (object: string) => new AwsError({ kind: 'denied', object, problem: 'refused', remedy: 'Wait.' });

let published: [TopicName, string][];
const refusing = new Set<TopicName>();
const output = writtenByEachTest();

beforeEach(() => {
  published = [];
  refusing.clear();
});

function notify(changed: Partial<NotifyOptions> = {}) {
  return createNotifyHandler({
    state: { get: async (key) => (key === STATE_KEYS.index ? { value: indexOf(BERLIN), etag: 'e' } : undefined) },
    monitoring: { alarms: {} },
    async publish(topic: TopicName, { message }: TopicMessage) {
      if (refusing.has(topic)) throw refusal(topic);
      published.push([topic, JSON.parse(message).default]);
    },
    topicArn: 'arn:aws:sns:eu-central-1:111122223333:critical',
    link: async (key) => `https://link/${key}`,
    clock: () => NOW,
    ...createTelemetry('notify'),
    ...changed,
  });
}

const topics = () => published.map(([topic]) => topic).toSorted();
const first = () => published[0]?.[1].split('\n') ?? [];

describe('an event', () => {
  it('is one message, to the topic of its severity, to the pager and to the chat', async () => {
    await notify()(OPENED, signal);
    expect(topics()).toEqual(['chat', 'critical', 'pager']);
    expect(first()[0]).toContain('[critical] berlin, since 2026-11-21 10:00 UTC: it does not answer.');
    expect(first().at(-1)).toBe('Report: https://link/report.html');
    expect(new Set(published.map(([, text]) => text)).size).toBe(1);
  });

  it('goes where fleet.yaml says how severe it is, and as a warning where that alarm is off by now', async () => {
    for (const severity of ['warning', 'off'] as const) {
      published = [];
      await notify({ monitoring: { alarms: { ClusterUnreadable: { threshold: 1, severity } } } })(OPENED, signal);
      expect(topics()).toEqual(['chat', 'pager', 'warning']);
    }
  });

  it.each<[string, Partial<NotifyOptions>]>([
    ['S3 refuses', { state: { get: async () => Promise.reject(refusal('s3:GetObject')) } }],
    ['there is none', { state: { get: async () => undefined } }],
    ['it is damaged', { state: { get: async () => ({ value: undefined, etag: 'e' }) } }],
    ['it is of the future', { clock: () => NOW - DAY }],
  ])('is told with what CloudWatch says where the index is of no use: %s', async (_, changed) => {
    await notify(changed)(OPENED, signal);
    expect(topics()).toEqual(['chat', 'critical', 'pager']);
    expect(first()[0]).toContain('[critical] berlin, since');
    expect(first()[1]).toContain('CloudWatch: Threshold Crossed');
  });

  it('is told without a link where there is none', async () => {
    await notify({ link: undefined })(OPENED, signal);
    await notify({ link: async () => Promise.reject(refusal('link')) })(OPENED, signal);
    expect(published).toHaveLength(6);
    for (const [, text] of published) expect(text).not.toContain('Report:');
  });

  it.each(['critical', 'pager', 'chat'] as const)('fails where %s refuses, and the others have it', async (topic) => {
    refusing.add(topic);
    await expect(notify()(OPENED, signal)).rejects.toThrow('refused');
    expect(topics()).toEqual((['chat', 'critical', 'pager'] as const).filter((one) => one !== topic));
    refusing.clear();
    // Lambda tries again: at least once, under the same key.
    await notify()(OPENED, signal);
    expect(topics().filter((one) => one === topic)).toHaveLength(1);
  });

  it.each([
    ['nothing', {}],
    ['an old message of SNS', { Records: [{ Sns: { Message: '{}' } }] }],
    ['another kind', { ...OPENED, 'detail-type': 'CloudWatch Alarm Configuration Change' }],
    ['no time', { ...OPENED, time: 'yesterday' }],
    ['another state', { ...OPENED, detail: { ...OPENED.detail, state: { value: 'GOOD' } } }],
    ['a label that is too long', contributorEvent('ClusterUnreadable', 'ALARM', { Cluster: 'x'.repeat(1_025) })],
  ])('fails that is not one of CloudWatch, so that people get it as it is: %s', async (_, event) => {
    await expect(notify()(event, signal)).rejects.toThrow('no state change of an alarm');
    expect(published).toEqual([]);
  });

  it('that needs no message reads nothing', async () => {
    const state = { get: async () => Promise.reject(new Error('read')) };
    await notify({ state })(alarmEvent('CertificateCritical', 'ALARM'), signal);
    expect(published).toEqual([]);
    expect(output.text()).toBe('');
  });
});

it('sends one message a day, to people and chat but not to the pager', async () => {
  await notify()({ daily: true }, signal);
  expect(topics()).toEqual(['chat', 'warning']);
  expect(first()).toEqual([
    '[daily] Needs a person: 1 cluster, 1 critical',
    'critical berlin: it does not answer',
    'Report: https://link/report.html',
  ]);
});
