import { describe, expect, it } from 'vitest';
import {
  claimNotifications,
  lastChange,
  markNotified,
  NOTHING_NOTIFIED,
  openAlarms,
  releaseNotifications,
} from '../../../lambdas/notify/notification-state.ts';
import { planLook } from '../../../lambdas/notify/plan.ts';
import { publicationOf } from '../../../lambdas/notify/publication.ts';
import { at, MINUTE, NOW } from '../fleet/values.ts';
import { cluster, ETCD, fleet, message, planned } from './values.ts';

/** What every object of JavaScript has: a cluster may be called so. */
const INHERITED = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', 'isPrototypeOf'];
const NAMED = { alarm: 'CertificateCritical' } as const;

describe('a cluster that is called as what every object has', () => {
  it.each(INHERITED)('%s is told once, and when it is over', (id) => {
    const health = fleet(cluster(id, [ETCD]));
    const alarm = message('CertificateCritical', 'ALARM', { changedAt: at() });
    const first = planned({ named: NAMED, message: alarm, health });
    expect(first.messages.flatMap(({ events }) => events)).toMatchObject([{ state: 'opened', cluster: id }]);

    const told = markNotified(NOTHING_NOTIFIED, first.change);
    expect(openAlarms(told).map(({ key }) => key)).toEqual([id]);
    expect(planLook({ told, health, settings: {}, now: NOW + MINUTE }).messages).toEqual([]);

    const well = fleet(cluster(id));
    const seen = planLook({ told, health: well, settings: {}, now: NOW + MINUTE });
    const away = markNotified(told, seen.change);
    const over = planLook({ told: away, health: well, settings: {}, now: NOW + 20 * MINUTE });
    expect(over.messages.flatMap(({ events }) => events)).toMatchObject([{ state: 'closed', cluster: id }]);
    expect(openAlarms(markNotified(away, over.change))).toEqual([]);
  });

  it.each(INHERITED)('%s leaves nothing behind that was not told', (id) => {
    const opened = [{ alarm: 'CertificateCritical' as const, key: id, openedAt: at(), story: 'it ends' }];
    const claimed = claimNotifications(NOTHING_NOTIFIED, { opened }, at());
    expect(releaseNotifications(claimed, NOTHING_NOTIFIED, { opened }, at())).toEqual(NOTHING_NOTIFIED);
    const closed = [{ alarm: 'CertificateCritical' as const, key: id }];
    // What was never open is not closed.
    expect(openAlarms(claimNotifications(openOther(), { closed }, at()))).toMatchObject([{ key: 'other' }]);
  });

  it.each(INHERITED)('%s is no alarm that CloudWatch spoke of', (name) => {
    expect(lastChange(NOTHING_NOTIFIED, name)).toBeUndefined();
  });

  const openOther = () =>
    markNotified(NOTHING_NOTIFIED, {
      opened: [{ alarm: 'CertificateCritical', key: 'other', openedAt: at(), story: 'it ends' }],
    });
});

describe('what a cluster says is in a subject and an SMS', () => {
  it.each([
    '\u20ac 5',
    'a\r\nBcc: x@example.com',
    '\u202egnp.exe',
    '  \u00e9',
    '\u0000',
    '\ud83d\ude00'.repeat(80),
    'x'.repeat(400),
  ])('as one line of ASCII: %j', (story) => {
    const health = fleet(cluster('berlin', [{ ...ETCD, story }]));
    const alarm = message('CertificateCritical', 'ALARM', { changedAt: at() });
    const [notification] = planned({ named: NAMED, message: alarm, health }).messages;
    if (notification === undefined) throw new Error('nobody is told');
    const { subject, message: body } = publicationOf(notification);
    expect(subject).toMatch(/^\[critical\] berlin, since [\d: -]+ UTC: [ -~]{1,52}$/);
    expect(JSON.parse(body)).toMatchObject({
      sms: expect.stringMatching(/^\[critical\] berlin, since [\d: -]+ UTC: [ -~]{1,93}$/),
    });
  });
});
