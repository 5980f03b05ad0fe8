import { describe, expect, it } from 'vitest';
import type { KeptFinding } from '../../../lambdas/contracts/finding.ts';
import type { NotificationState } from '../../../lambdas/contracts/notification-state.ts';
import { markNotified, NOTHING_NOTIFIED, openAlarms } from '../../../lambdas/notify/notification-state.ts';
import { planLook } from '../../../lambdas/notify/plan.ts';
import { signalOfPart, troublesOf } from '../../../lambdas/notify/troubles.ts';
import type { AlarmId } from '../../../lambdas/tables/alarms.ts';
import type { SignalId } from '../../../lambdas/tables/signals.ts';
import { at, auditSummary, expiryFinding, MINUTE, NOW } from '../fleet/values.ts';
import { cluster, fleet, message, open, planned } from './values.ts';

const keptFinding = (changed: Partial<KeptFinding>): KeptFinding => {
  const { what: _, ...finding } = expiryFinding(changed);
  return { ...finding, ...changed };
};
const lost = (what: 'kubelet-serving' | 'etcd-server') =>
  keptFinding({ code: 'SourceLost', severity: 'critical', object: `tls ${what}`, what, message: `${what} is unseen` });
const waiting = (requester: string, minutes = 60) =>
  keptFinding({
    code: 'RequestPending',
    severity: 'warning',
    object: `${requester} kubernetes.io/kubelet-serving`,
    message: 'a request waits',
    since: at(-minutes * MINUTE),
  });
const healthOf = (id: SignalId, findings: readonly KeptFinding[], findingCount = findings.length) => {
  const signal = { id, value: findingCount, story: 'the worst of them', command: 'certmarshal audit' };
  const audit = auditSummary({ findings, findingCount, ends: [] });
  const more = findingCount - findings.length;
  const [one] = findings;
  const tally = one && more > 0 ? { tally: [{ code: one.code, severity: one.severity, count: findingCount }] } : {};
  return fleet(cluster('berlin', findingCount === 0 ? [] : [signal], { audit: { ...audit, ...tally } }));
};
const keysOf = (alarm: AlarmId, ...health: Parameters<typeof healthOf>) =>
  troublesOf(alarm, healthOf(...health), {}).map(({ key }) => key);

describe('what is told apart in an alarm that is not by class', () => {
  it('is each class that is no longer seen: one that is lost hides no other', () => {
    const worker = lost('kubelet-serving');
    expect(keysOf('CoverageLost', 'CoverageLost', [worker])).toEqual(['berlin kubelet-serving']);
    const told = open('CoverageLost', 'berlin kubelet-serving');
    const health = healthOf('CoverageLost', [worker, lost('etcd-server')]);
    const { messages } = planned({
      named: { alarm: 'CoverageLost' },
      message: message('CoverageLost', 'ALARM', { changedAt: at(-MINUTE) }),
      health,
      told,
    });
    expect(messages.map(({ human }) => human.subject)).toEqual([expect.stringContaining('etcd-server is unseen')]);
    expect(messages[0]?.events).toMatchObject([{ state: 'opened', part: 'etcd-server' }]);
  });

  it('is a source of its own where a finding has no class', () => {
    const source = keptFinding({ code: 'SourceLost', severity: 'critical', object: 'source nodes' });
    expect(keysOf('CoverageLost', 'CoverageLost', [lost('etcd-server'), source])).toEqual([
      'berlin etcd-server',
      'berlin source_nodes',
    ]);
  });

  it('is each requester, up to five, the oldest first; the rest is one', () => {
    const findings = Array.from({ length: 7 }, (_, index) => waiting(`system:node:w${index}`, 60 + index));
    const health = healthOf('RequestsWaiting', findings);
    const troubles = troublesOf('RequestsWaiting', health, {});
    expect(troubles.map(({ part }) => part)).toEqual([
      ...[6, 5, 4, 3, 2].map((index) => `system:node:w${index}_kubernetes.io/kubelet-serving`),
      '+more',
    ]);
    expect(troubles.map((trouble) => signalOfPart(trouble).story).slice(-2)).toEqual([
      'a request waits',
      'and more of the kind: 7 in all',
    ]);
  });

  it('is more than can be named where the index has only a count of it', () => {
    expect(keysOf('RequestsWaiting', 'RequestsWaiting', [waiting('system:node:w1')], 3)).toEqual([
      'berlin system:node:w1_kubernetes.io/kubelet-serving',
      'berlin +more',
    ]);
  });

  it('is nothing where the fleet counts them together', () => {
    const settings = { RequestsWaiting: { threshold: 2, severity: 'warning' } } as const;
    const health = healthOf('RequestsWaiting', [waiting('a'), waiting('b')]);
    expect(troublesOf('RequestsWaiting', health, settings).map(({ key }) => key)).toEqual(['berlin']);
  });
});

it('tells each certificate with the name of another, also while people know of one', () => {
  const wrong = (node: string) =>
    keptFinding({
      code: 'IssuedNamesAnother',
      severity: 'critical',
      what: 'kubelet-serving',
      object: `kubelet-serving ${node} 0123abcd`,
      message: `the certificate of ${node} covers more than its node`,
    });
  const told = open('IssuedNamesAnother', 'berlin kubelet-serving_w1_0123abcd');
  const { messages } = planLook({
    told,
    health: healthOf('IssuedNamesAnother', [wrong('w1'), wrong('w2')]),
    settings: {},
    now: NOW,
  });
  expect(messages.map(({ human }) => human.subject)).toEqual([
    '[critical] berlin, since 2026-11-20 10:00 UTC: the certificate of w2 covers more than its node',
  ]);
  expect(messages[0]?.events).toMatchObject([{ state: 'opened', part: 'kubelet-serving_w2_0123abcd' }]);
  expect(keysOf('IssuedNamesAnother', 'IssuedNamesAnother', [wrong('w1')], 3)).toEqual([
    'berlin kubelet-serving_w1_0123abcd',
    'berlin +more',
  ]);
});

it.each([
  ['letters that are not ASCII', 'ä', 'ö'],
  ['a blank', 'a b', 'a_b'],
  ['a long name', `${'x'.repeat(260)}1`, `${'x'.repeat(260)}2`],
])('tells two requesters apart that differ in %s', (_, a, b) => {
  const keys = keysOf('RequestsWaiting', 'RequestsWaiting', [waiting(a), waiting(b)]);
  expect(new Set(keys).size).toBe(2);
  for (const key of keys) expect(key).toMatch(/^berlin [!-~]{1,253}$/);
});

it('tells of a cluster that changes the names of its requesters all the time six times at most, and closes all when it is over', () => {
  let told: NotificationState = open('RequestsWaiting', 'berlin a_kubernetes.io/kubelet-serving');
  const texts: string[] = [];
  const look = (minutes: number, findings: readonly KeptFinding[]) => {
    const health = healthOf('RequestsWaiting', findings);
    const { messages, change } = planLook({ told, health, settings: {}, now: NOW + minutes * MINUTE });
    texts.push(...messages.flatMap(({ events }) => events.map(({ state, part }) => `${state} ${part}`)));
    told = markNotified(told, change);
  };
  for (let step = 0; step < 100; step += 1) look(step * 20, [waiting(`x${step}`), waiting(`y${step}`)]);
  expect(texts.filter((text) => text.startsWith('opened'))).toHaveLength(6);
  expect(openAlarms(told)).toHaveLength(6);
  expect(texts).toContain('opened +more');
  look(2_000, []);
  look(2_020, []);
  expect(openAlarms(told)).toEqual(openAlarms(NOTHING_NOTIFIED));
});
