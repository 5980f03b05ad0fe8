import { describe, expect, it } from 'vitest';
import type { ClusterHealth } from '../../../lambdas/health/fleet-health.ts';
import { digestOf } from '../../../lambdas/notify/digest.ts';
import { markNotified, NOTHING_NOTIFIED } from '../../../lambdas/notify/notification-state.ts';
import { at, auditSummary, DAY, expiryFinding, MINUTE, NOW, rolloutSummary } from '../fleet/values.ts';
import { cluster, ETCD, fleet, largeFleet, open } from './values.ts';

const digest = (changed: Partial<Parameters<typeof digestOf>[0]> = {}) =>
  digestOf({ health: fleet(), told: NOTHING_NOTIFIED, now: NOW, ...changed });
const textOf = (made: ReturnType<typeof digest>) => made.message?.human.text ?? '';

const ends = [
  { what: 'kubelet-serving', count: 3, notAfter: at(2 * DAY), where: 'worker-1' },
  { what: 'apiserver-etcd-client', count: 1, notAfter: at(12 * DAY), where: '10.0.1.31' },
] as const;
const berlin = cluster('berlin-prod', [ETCD], {
  audit: auditSummary({
    ends,
    findings: [expiryFinding({ severity: 'critical', due: at(12 * DAY), message: 'it ends in 12 days' })],
  }),
});

describe('digestOf', () => {
  it('has the whole story in its first line', () => {
    const oslo = cluster('oslo', [], { state: 'warning' });
    const [first] = textOf(digest({ health: largeFleet(berlin, oslo) })).split('\n');
    expect(first).toBe(
      'Fleet: 212 of 214 clusters healthy; 1 critical, 1 warning; next certificate expires in 12 days (berlin-prod, etcd client)',
    );
  });

  it('is one line and the link when all is well', () => {
    const { message } = digest({ health: fleet(cluster('a'), cluster('b')), link: 'https://link' });
    expect(message).toMatchObject({ severity: 'warning', state: 'digest', events: [] });
    expect(message?.human.text.split('\n')).toEqual(['Fleet: 2 of 2 clusters healthy', 'Report: https://link']);
  });

  it('says what bites, what is not seen, and what is gone', () => {
    const health = largeFleet(
      berlin,
      cluster('dark', [], { readable: false, readableAt: at(-60 * MINUTE) }),
      cluster('fresh', [], { state: 'new', sweptAt: undefined } as never),
      cluster('paused', [], { state: 'maintenance', maintenance: { until: at(60 * MINUTE), reason: 'move' } }),
      cluster('old', [], { state: 'gone', goneSince: at(-DAY) }),
    );
    const told = open('ReportHeartbeat', '-');
    const lines = textOf(digest({ health, told })).split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        'Critical (1)',
        `berlin-prod: etcd client certificate expires in 12 days, nothing planned renews it. First: ${ETCD.command}`,
        'Due within 30 days (1)',
        '2026-12-03 10:00 UTC berlin-prod: it ends in 12 days',
        'dark: requests cannot be listed, for 60 minutes',
        'fresh: not swept yet',
        'berlin-prod: not read in the last audit: machines',
        'paused: until 2026-11-21 11:00 UTC (move)',
        'old, since 2026-11-20 10:00 UTC',
      ]),
    );
    expect(lines.join('\n')).toContain('Certmarshal itself (1)');
  });

  it('has what sweeps could not do, and hostile requests of a day, also of clusters that are gone', () => {
    const verdict = { csr: 'csr-1', uid: 'u', node: 'worker-1', verdict: 'leave', reason: 'SanNotOwned' } as const;
    const hostile = {
      ...verdict,
      facts: { cause: 'fault', problem: 'claims worker-2' },
      outcome: 'none',
      hostile: true,
    } as const;
    const findings = [
      { kind: 'denied', object: 'approve', message: 'may not approve', remedy: 'grant it', since: at(-60 * MINUTE) },
    ] as never;
    const health = fleet(
      cluster('held', [], { complete: false, findings }),
      cluster('attacked', [], {
        verdicts: [
          { ...hostile, at: at(-5 * 60 * MINUTE) },
          { ...hostile, at: at(-2 * DAY) },
        ],
      }),
      cluster('hidden', [], { state: 'gone', goneSince: at(-DAY), verdicts: [{ ...hostile, at: at(-MINUTE) }] }),
    );
    const lines = textOf(digest({ health })).split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        'Hostile requests in 24 hours (2)',
        '2026-11-21 09:59 UTC hidden: worker-1: claims worker-2 (csr-1)',
        '2026-11-21 05:00 UTC attacked: worker-1: claims worker-2 (csr-1)',
        'Incomplete sweeps (1)',
        'held: approve: may not approve, for 60 minutes',
      ]),
    );
  });

  it('has a line for each rollout that goes on, is due, or was done since yesterday', () => {
    const of = (id: string, rollout: Partial<NonNullable<ClusterHealth['rollout']>>) =>
      cluster(id, [], { rollout: { ...rolloutSummary({ state: 'idle' }), since: at(-60 * MINUTE), ...rollout } });
    const reasons = [{ id: 'stuck', message: 'no machine was made', remedy: 'Look.' }];
    const done = { id: 'x', start: at(-DAY), trigger: 'person' } as const;
    const progress = { wanted: 3, replaced: 2, verified: 1, machines: [] };
    const health = fleet(
      of('a-idle', {}),
      of('b-waits', { state: 'waiting', message: 'would roll. Not yet: closed until Saturday' }),
      of('c-done', { state: 'done', durationMs: 42 * MINUTE, rollout: done }),
      of('d-done-long', { state: 'done', durationMs: 42 * MINUTE, rollout: done, since: at(-2 * DAY) }),
      of('e-rolls', { state: 'rolling', progress }),
      of('f-held', { state: 'held', reasons }),
    );
    const lines = textOf(digest({ health })).split('\n');
    const from = lines.indexOf('Rollouts (4)');
    expect(lines.slice(from + 1, from + 5)).toEqual([
      'f-held: held: no machine was made (stuck)',
      'e-rolls: rolls: 1 of 3 machines with a new certificate',
      'b-waits: due: would roll. Not yet: closed until Saturday',
      'c-done: done: in 42 minutes, started by a person',
    ]);
    expect(lines.join(' ')).not.toMatch(/a-idle|d-done-long/);
  });

  it('says that nothing is known', () => {
    const told = markNotified(NOTHING_NOTIFIED, digest({ health: fleet(berlin) }).change);
    const made = digest({ health: undefined, problem: 'fleet-index.json.gz: it is not there', told, now: NOW + DAY });
    expect(textOf(made)).toMatch(
      /^Fleet: unknown\..*\nfleet-index\.json\.gz: it is not there\nFirst: certmarshal doctor/,
    );
    expect(made.change.digestAt).toBe(at(DAY));
  });

  it('is sent once, though it is asked for twice', () => {
    const told = markNotified(NOTHING_NOTIFIED, digest().change);
    expect(digest({ told, now: NOW + MINUTE })).toEqual({ message: undefined, change: {} });
    expect(digest({ told, now: NOW + 11 * MINUTE }).message).toBeDefined();
  });

  it('stays short and in its lines, whatever clusters say', () => {
    const nasty = `\u202e\nBcc: all\u0000${'x'.repeat(10_000)}`;
    const unwell = Array.from({ length: 1_000 }, (_, index) =>
      cluster(`c${index}`, [{ ...ETCD, story: nasty, command: nasty }], {
        audit: auditSummary({
          findings: [expiryFinding({ message: nasty })],
          sources: { read: [], unread: ['machines'], off: [] },
        }),
      }),
    );
    const { message } = digest({ health: fleet(...unwell), link: `https://${'l'.repeat(1_900)}` });
    const text = message?.human.text ?? '';
    expect(Buffer.byteLength(text)).toBeLessThan(8_192);
    expect(text).not.toMatch(/\nBcc|\p{Cf}/u);
    expect(text).toContain('\nReport: https://');
    expect(message?.human.subject).toMatch(/^[ -~]{1,99}$/);
    expect(message?.digest?.critical).toHaveLength(100);
  });
});
