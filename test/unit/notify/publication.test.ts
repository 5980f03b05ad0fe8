import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { EventDetail, eventJsonSchema, NotificationDocument } from '../../../lambdas/contracts/event.ts';
import { digestOf } from '../../../lambdas/notify/digest.ts';
import { NOTHING_NOTIFIED } from '../../../lambdas/notify/notification-state.ts';
import { type Notification, publicationOf } from '../../../lambdas/notify/publication.ts';
import { at, NOW } from '../fleet/values.ts';
import { away, cluster, ETCD, fleet, message, open, planned } from './values.ts';

const CRITICAL = { alarm: 'CertificateCritical' } as const;
const schema = z.fromJSONSchema(
  JSON.parse(readFileSync(new URL('../../../schema/event.schema.json', import.meta.url), 'utf8')),
);

/** One of every kind. */
function everyKind(story: string, ids: readonly string[]): readonly Notification[] {
  const unwell = ids.map((id) => cluster(id, [{ ...ETCD, story, command: story, due: 'never' }]));
  const alarm = message('CertificateCritical', 'ALARM', { changedAt: at(), reason: story });
  const health = fleet(...unwell);
  const told = open('CertificateCritical', ...ids, 'other', '-');
  const hub = { alarm: 'FunctionErrors', part: 'sweep' } as const;
  return [
    planned({ named: CRITICAL, message: alarm, health, link: 'https://link' }),
    planned({ named: CRITICAL, message: alarm, health, told: open('CertificateCritical', '-') }),
    planned({ named: CRITICAL, message: alarm, health: undefined }),
    planned({ named: CRITICAL, message: message('CertificateCritical', 'OK'), health, told: away(told) }),
    planned({ named: hub, message: { name: 'x', state: 'ALARM', reason: story } }),
    planned({ named: hub, message: { name: 'x', state: 'OK' }, told: open('FunctionErrors', 'sweep') }),
  ]
    .flatMap(({ messages }) => messages)
    .concat(
      digestOf({ health, told, now: NOW }).message ?? [],
      digestOf({ health: undefined, problem: story, told: NOTHING_NOTIFIED, now: NOW }).message ?? [],
    );
}

describe('schema/event.schema.json', () => {
  it('is what the code says; if not, run: npm run -s generate', () => {
    expect(JSON.parse(readFileSync(new URL('../../../schema/event.schema.json', import.meta.url), 'utf8'))).toEqual(
      eventJsonSchema(),
    );
  });

  it('holds every event and every document, whatever clusters say', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ maxLength: 2_000 }),
          fc.string({ unit: 'binary', maxLength: 2_000 }),
          fc.constantFrom('\u202e\r\n'.repeat(3_000), '"\\'.repeat(3_000), '\u20ac'.repeat(3_000)),
        ),
        fc.integer({ min: 1, max: 60 }),
        (story, count) => {
          const all = everyKind(
            story,
            Array.from({ length: count }, (_, index) => `111122223333/eu-central-1/c${index}`),
          );
          expect(all).toHaveLength(8);
          for (const notification of all) {
            for (const event of [...notification.events, ...[notification.digest ?? []].flat()]) {
              expect(EventDetail.safeParse(event).error).toBeUndefined();
              expect(schema.safeParse(event).success).toBe(true);
            }
            const { subject, message: body, attributes } = publicationOf(notification);
            const texts: Record<string, string> = JSON.parse(body);
            expect(subject).toMatch(/^\[[ -~]{1,98}$/);
            expect(texts['sms']).toMatch(/^[ -~]{1,140}$/);
            expect(texts['default']).toBe(notification.human.text);
            expect(texts['default']).not.toMatch(/\p{Cf}|\r/u);
            expect(texts['default']?.length).toBeLessThan(10_000);
            expect(new Set(['https', 'lambda', 'sqs', 'firehose'].map((protocol) => texts[protocol])).size).toBe(1);
            const document: unknown = JSON.parse(texts['sqs'] ?? '');
            expect(NotificationDocument.safeParse(document).error).toBeUndefined();
            expect(schema.safeParse(document).success).toBe(true);
            expect(Buffer.byteLength(body) + Buffer.byteLength(JSON.stringify(attributes))).toBeLessThan(262_144);
            for (const value of Object.values(attributes)) expect(value).toMatch(/^[ -~]+$/);
          }
        },
      ),
      { seed: 31, numRuns: 12 },
    );
  });

  it('refuses what is no event', () => {
    expect(schema.safeParse({ version: 1, alarm: 'Unheard' }).success).toBe(false);
    expect(schema.safeParse({ version: 1, at: at(), story: 'x', also: 1 }).success).toBe(false);
  });
});

describe('publicationOf', () => {
  const notification = (ids: readonly string[]) => everyKind('it ends', ids)[0] as Notification;

  it('tells filter policies of one cluster, and of none when there are several', () => {
    const attributes = { severity: 'critical', state: 'opened', alarm: 'CertificateCritical' };
    expect(publicationOf(notification(['oslo'])).attributes).toEqual({ ...attributes, cluster: 'oslo' });
    expect(publicationOf(notification(['oslo', 'rome'])).attributes).toEqual(attributes);
  });

  it('is never larger than SNS takes, whatever clusters are called', () => {
    const ids = Array.from({ length: 1_000 }, (_, index) => `${index}`.padEnd(100, 'x'));
    const health = fleet(
      ...ids.map((id) => cluster([id, id, id].join('/'), [{ ...ETCD, story: '"\\\u20ac'.repeat(100) }])),
    );
    const before = { at: at(-1), critical: [], warning: ids.map((id) => `${id}/"\\`) };
    const told = { ...NOTHING_NOTIFIED, digest: { ...before, at: '2026-11-20T10:00:00.000Z' } };
    const made = digestOf({ health, told, now: NOW }).message as Notification;
    expect(Buffer.byteLength(JSON.stringify(made.digest))).toBeLessThan(200_000);
    for (const one of [
      made,
      planned({ named: CRITICAL, message: message('CertificateCritical', 'ALARM'), health }).messages[0],
    ])
      expect(Buffer.byteLength(publicationOf(one as Notification).message)).toBeLessThanOrEqual(200_000);
    const document = JSON.parse(JSON.parse(publicationOf(made).message).https);
    expect(document.digest.critical.length).toBeGreaterThan(2);
    expect(NotificationDocument.safeParse(document).error).toBeUndefined();
  });

  it('carries the first fifty events and says how many there are', () => {
    const ids = Array.from({ length: 60 }, (_, index) => `c${index}`);
    const document = JSON.parse(JSON.parse(publicationOf(notification(ids)).message).https);
    expect(document.eventCount).toBe(60);
    expect(document.events).toHaveLength(50);
  });
});
