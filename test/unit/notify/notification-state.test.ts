import { describe, expect, it } from 'vitest';
import {
  droppedEvents,
  type NotificationState,
  parseNotificationState,
} from '../../../lambdas/contracts/notification-state.ts';
import { markNotified, NOTHING_NOTIFIED, openAlarms } from '../../../lambdas/notify/notification-state.ts';
import { at, MINUTE, NOW } from '../fleet/values.ts';
import { open } from './values.ts';

const opened = (key: string, openedAt = at()) => ({ alarm: 'SweepTimeout' as const, key, openedAt, story: 'x' });

describe('markNotified', () => {
  it('does twice what it does once', () => {
    const change = {
      opened: [opened('a')],
      closed: [{ alarm: 'SweepTimeout' as const, key: 'b' }],
      changed: { name: 'n', state: 'ALARM' as const, at: at() },
      digestAt: at(),
    };
    const once = markNotified(open('SweepTimeout', 'b', 'c'), change);
    expect(markNotified(once, change)).toEqual(once);
    expect(openAlarms(once).map(({ key }) => key)).toEqual(['c', 'a']);
  });

  it('keeps the newest, and never more than fits into S3', () => {
    const many = Array.from({ length: 41_000 }, (_, index) =>
      opened(`${'x'.repeat(290)}${index}`, at(index - 60 * MINUTE)),
    );
    const told = markNotified(NOTHING_NOTIFIED, { opened: many });
    const keys = openAlarms(told).map(({ key }) => key);
    expect(keys).toHaveLength(40_000);
    expect(keys).toContain(many.at(-1)?.key);
    expect(keys).not.toContain(many[0]?.key);
    expect(Buffer.byteLength(JSON.stringify(told))).toBeLessThan(32 * 1024 * 1024);
    expect(parseNotificationState(told, NOW)).toEqual(told);
  });

  it('remembers 5,000 events that were not sent, the newest', () => {
    const detail = { version: 1, at: at(), story: 's' } as const;
    const events = Array.from({ length: 5_100 }, (_, index) => ({
      detailType: 'certmarshal digest' as const,
      detail: { ...detail, story: String(index) },
      to: ['bus'] as const,
    }));
    const { unsent } = markNotified(NOTHING_NOTIFIED, {}, events);
    expect(unsent).toHaveLength(5_000);
    expect(unsent.at(-1)?.detail.story).toBe('5099');
  });
});

describe('parseNotificationState', () => {
  const told: NotificationState = {
    ...open('SweepTimeout', '-'),
    changes: { n: { state: 'ALARM', at: at() } },
    lookedAt: at(),
    digestAt: at(),
  };

  it('gives back what was written', () => {
    expect(parseNotificationState(JSON.parse(JSON.stringify(told)), NOW)).toEqual(told);
  });

  it('leaves out what is far ahead, and alarms of another version', () => {
    const ahead = at(11 * MINUTE);
    const read = parseNotificationState(
      {
        ...told,
        open: {
          SweepTimeout: { '-': { openedAt: ahead, story: 'x' } },
          Unheard: { a: { openedAt: at(), story: 'x' } },
        },
        changes: { n: { state: 'OK', at: ahead } },
        lookedAt: ahead,
        digestAt: ahead,
        unsent: [{ detailType: 'something', detail: {} }],
      },
      NOW,
    );
    expect(read).toEqual({ ...NOTHING_NOTIFIED, open: { SweepTimeout: {} } });
  });

  it('leaves out single entries that nobody here wrote', () => {
    const spoilt = {
      ...told,
      open: {
        SweepTimeout: {
          '-': { openedAt: at(), story: 'x' },
          a: 1,
          b: { openedAt: 'soon', story: 'x' },
          ö: { openedAt: at(), story: 'x' },
        },
      },
      changes: { n: { state: 'ALARM', at: at() }, m: at(), Größe: { state: 'OK', at: at() } },
    };
    const read = parseNotificationState(spoilt, NOW);
    expect(read?.open).toEqual({ SweepTimeout: { '-': { openedAt: at(), story: 'x' } } });
    expect(Object.keys(read?.changes ?? {})).toEqual(['n']);
  });

  it('sends no event that is none, and of an event nothing that it does not have', () => {
    const detail = {
      version: 1,
      alarm: 'SweepTimeout',
      severity: 'warning',
      state: 'opened',
      story: 's',
      at: at(),
      command: 'c',
      runbook: 'https://evil',
      more: 'x'.repeat(300_000),
    };
    const detailType = 'certmarshal alarm opened';
    const to = ['bus'];
    const unsent = [
      { detailType, detail, to },
      { detailType: 'certmarshal alarm closed', detail, to },
      { detailType, detail: { ...detail, alarm: 'constructor' }, to },
      { detailType, detail: { ...detail, story: 's'.repeat(701) }, to },
      { detailType, detail, to: ['somebody'] },
      { detailType, detail },
      { detailType: 'aws.something', detail, to },
      { detailType: 'certmarshal digest', detail: { version: 1, at: at(), story: 's', critical: ['a'], evil: 1 }, to },
      1,
    ];
    const read = parseNotificationState({ ...told, unsent }, NOW);
    const { more: _, ...clean } = { ...detail, runbook: 'docs/runbooks/alarms/sweep-timeout.md' };
    expect(read?.unsent).toEqual([
      { detailType, detail: clean, to },
      { detailType: 'certmarshal digest', detail: { version: 1, at: at(), story: 's', critical: ['a'] }, to },
    ]);
    expect(read && droppedEvents({ ...told, unsent }, read)).toBe(7);
  });

  it.each([
    undefined,
    null,
    [],
    {},
    { version: 2 },
    { ...told, open: { SweepTimeout: [] } },
    { ...told, unsent: 1 },
    { ...told, changes: [] },
  ])('does not take %j', (value) => {
    expect(parseNotificationState(value, NOW)).toBeUndefined();
  });
});
