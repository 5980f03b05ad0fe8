import { describe, expect, it } from 'vitest';
import { markNotified, NOBODY, NOTHING_NOTIFIED } from '../../../lambdas/notify/notification-state.ts';
import { planLook, planUnknown } from '../../../lambdas/notify/plan.ts';
import { ALARMS, type AlarmId } from '../../../lambdas/tables/alarms.ts';
import { at, MINUTE, NOW } from '../fleet/values.ts';
import { away, cluster, ETCD, fleet, largeFleet, message, open, planned, ringing } from './values.ts';

const CRITICAL = { alarm: 'CertificateCritical' } as const;
const ALARM = message('CertificateCritical', 'ALARM', { changedAt: at(-MINUTE), reason: 'Threshold Crossed' });
const OK = message('CertificateCritical', 'OK', { changedAt: at(-MINUTE) });
type Changed = Partial<Parameters<typeof planned>[0]>;
const alarmed = (changed: Changed) => planned({ named: CRITICAL, message: ALARM, ...changed });
const recovered = (changed: Changed) => planned({ named: CRITICAL, message: OK, ...changed });
const berlin = cluster('berlin-prod', [ETCD]);

describe('an alarm about clusters', () => {
  it('is not over for a cluster that a rebuilt registry or index lacks, if it was open before', () => {
    const told = away(open('CertificateCritical', 'oslo'));
    const rebuilt = (rebuiltAt?: string) => recovered({ told, health: { ...fleet(), rebuiltAt } });
    expect(rebuilt(at())).toMatchObject({ messages: [], change: { away: [{ key: 'oslo' }] } });
    for (const { messages } of [rebuilt(), rebuilt(at(-61 * MINUTE))]) expect(messages).toHaveLength(1);
  });

  it('is not over for a cluster that a source may still have, which was not read since the registry was rebuilt', () => {
    const told = away(open('CertificateCritical', 'oslo'));
    const since = (undiscoveredSince?: string) =>
      recovered({ told, health: { ...fleet(), undiscoveredSince } }).messages;
    expect(since(at())).toEqual([]);
    for (const messages of [since(), since(at(-61 * MINUTE))]) expect(messages).toHaveLength(1);
  });

  it('names the cluster, and is the whole story in its first line', () => {
    const { messages, change } = alarmed({
      health: largeFleet(berlin),
      link: 'https://bucket/report.html?X-Amz-Signature=1',
    });
    expect(messages).toHaveLength(1);
    expect(messages[0]?.human.text.split('\n')).toEqual([
      '[critical] berlin-prod, since 2026-11-21 08:00 UTC: etcd client certificate expires in 12 days, nothing planned renews it',
      'Expires 2026-12-03 10:00 UTC. For 2 hours. 1 of 214 clusters.',
      'First: certmarshal audit --kubeconfig KUBECONFIG --cluster berlin-prod',
      'Then: certmarshal rollout plan --kubeconfig KUBECONFIG --management-kubeconfig MANAGEMENT --cluster berlin-prod',
      'Runbook: certmarshal runbook certificate-critical',
      'Report: https://bucket/report.html?X-Amz-Signature=1',
    ]);
    expect(messages[0]?.human.subject).toBe(
      '[critical] berlin-prod, since 2026-11-21 08:00 UTC: etcd client certificate expires in 12 days, ...',
    );
    expect(messages[0]?.events).toEqual([
      {
        version: 1,
        alarm: 'CertificateCritical',
        severity: 'critical',
        state: 'opened',
        cluster: 'berlin-prod',
        name: 'berlin-prod',
        provider: 'eks-anywhere',
        story: ETCD.story,
        since: ETCD.since,
        due: ETCD.due,
        at: at(),
        command: 'certmarshal audit --kubeconfig KUBECONFIG --cluster berlin-prod',
        next: ETCD.command,
        runbook: 'docs/runbooks/alarms/certificate-critical.md',
      },
    ]);
    expect(change.opened).toMatchObject([{ alarm: 'CertificateCritical', key: 'berlin-prod', openedAt: at() }]);
  });

  it('tells of several in one message: three by name, ten with a line', () => {
    const unwell = Array.from({ length: 12 }, (_, index) => cluster(`c${index}`, [ETCD]));
    const { messages } = alarmed({ health: largeFleet(...unwell) });
    const lines = messages[0]?.human.text.split('\n') ?? [];
    expect(lines[0]).toBe(
      '[critical] 12 clusters, since 2026-11-21 08:00 UTC: c0, c1, c2 and 9 more. A certificate has expired, or expires so soon that a person must act now.',
    );
    expect(lines[1]).toMatch(/^12 of 214 clusters\./);
    expect(lines.filter((line) => line.startsWith('- '))).toHaveLength(11);
    expect(lines).toContain('- and 2 more clusters');
    expect(messages[0]?.events).toHaveLength(12);
  });

  it('tells of more clusters than the 100 that CloudWatch lets ring', () => {
    const unwell = Array.from({ length: 150 }, (_, index) => cluster(`c${index}`, [ETCD]));
    const { messages } = alarmed({ health: largeFleet(...unwell) });
    expect(messages[0]?.human.text).toContain('150 of 214 clusters.');
    expect(new Set(messages[0]?.events.map((event) => event.cluster)).size).toBe(150);
  });

  it('tells of a cluster once, and of another one when it comes', () => {
    const told = open('CertificateCritical', 'berlin-prod');
    expect(alarmed({ told, health: fleet(berlin) }).messages).toEqual([]);
    const oslo = cluster('oslo', [ETCD]);
    const { messages } = alarmed({ told, health: fleet(berlin, oslo) });
    expect(messages[0]?.events.map((event) => event.cluster)).toEqual(['oslo']);
    expect(messages[0]?.human.text).toContain('2 of 2 clusters.');
  });

  it('calls clusters of one name by their ids', () => {
    const [a, b] = ['a/prod', 'b/prod'].map((id) => cluster(id, [ETCD]));
    if (a === undefined || b === undefined) throw new Error('no clusters');
    expect(alarmed({ health: fleet(a, b) }).messages[0]?.human.subject).toContain(': a/prod, b/prod.');
    expect(alarmed({ health: fleet(a) }).messages[0]?.human.text).toContain('Id a/prod.');
  });

  it('heeds threshold, severity and off', () => {
    const health = fleet(berlin);
    const of = (threshold: number, severity: 'warning' | 'off') =>
      alarmed({ health, settings: { CertificateCritical: { threshold, severity } } }).messages;
    expect(of(1, 'warning')).toMatchObject([
      { severity: 'warning', human: { subject: expect.stringMatching(/^\[warning] berlin/) } },
    ]);
    expect(of(1, 'off')).toEqual([]);
    expect(of(2, 'warning')[0]?.human.text).toContain('No cluster shows it any more');
  });

  it('says nothing of insufficient data', () => {
    const unsure = message('CertificateCritical', 'INSUFFICIENT_DATA');
    expect(alarmed({ message: unsure, health: fleet(berlin) })).toEqual({ messages: [], change: {} });
  });
});

describe('an alarm that names no cluster', () => {
  it.each([
    ['the fleet is well again', fleet(cluster('berlin-prod')), 'No cluster shows it any more'],
    ['the fleet cannot be read', undefined, 'the state of the fleet cannot be read'],
  ])('is told when %s', (_, health, words) => {
    const { messages, change } = alarmed({ health });
    expect(messages[0]?.human.text.split('\n')[0]).toBe(
      '[critical] since 2026-11-21 10:00 UTC: A certificate has expired, or expires so soon that a person must act now',
    );
    expect(messages[0]?.human.text).toContain(words);
    expect(messages[0]?.human.text).toContain('CloudWatch: Threshold Crossed');
    expect(messages[0]?.events).toMatchObject([{ state: 'opened' }]);
    const told = markNotified(NOTHING_NOTIFIED, change);
    expect(alarmed({ told, health }).messages).toEqual([]);
    const later = { ...ALARM, changedAt: at(MINUTE) };
    expect(alarmed({ message: later, told, health, now: NOW + MINUTE }).messages).toHaveLength(1);
  });

  it('is closed when a cluster can be named, and told with it', () => {
    const told = open('CertificateCritical', NOBODY);
    const { messages, change } = alarmed({ told, health: fleet(berlin) });
    expect(messages[0]?.events).toMatchObject([{ state: 'opened', cluster: 'berlin-prod' }, { state: 'closed' }]);
    expect(Object.keys(markNotified(told, change).open.CertificateCritical ?? {})).toEqual(['berlin-prod']);
  });
});

describe('OK', () => {
  it('tells of those that people were told of and that ring no more', () => {
    const told = away(open('CertificateCritical', 'berlin-prod', 'oslo'));
    const { messages, change } = recovered({ told, health: fleet(berlin, cluster('oslo')) });
    expect(messages[0]?.human.text.split('\n')).toEqual([
      `[resolved] oslo, 2026-11-21 10:00 UTC. It was: ${ETCD.story}`,
      'It lasted 60 minutes; opened 2026-11-21 09:00 UTC. 1 of 2 clusters left.',
    ]);
    expect(messages[0]).toMatchObject({
      severity: 'critical',
      state: 'closed',
      events: [{ state: 'closed', cluster: 'oslo', since: at(-60 * MINUTE) }],
    });
    const after = markNotified(told, change);
    expect(Object.keys(after.open.CertificateCritical ?? {})).toEqual(['berlin-prod']);
    expect(recovered({ told: after, health: fleet(berlin, cluster('oslo')) }).messages).toEqual([]);
  });

  it.each([
    ['is off', { threshold: 1, severity: 'off' }],
    ['fires only for more', { threshold: 2, severity: 'critical' }],
  ] as const)('is not told of what became critical, where the alarm for that %s', (_, critical) => {
    const told = away(open('CertificateWarning', 'berlin etcd-server', 'berlin kube-apiserver'));
    const health = fleet(cluster('berlin', [ringing('CertificateCritical', { classes: { 'etcd-server': 1 } })]));
    const settings = { CertificateCritical: critical };
    const { messages, change } = planLook({ told, health, settings, now: NOW });
    expect(messages.flatMap(({ events }) => events)).toMatchObject([{ state: 'closed', part: 'kube-apiserver' }]);
    expect(change.away).toEqual([{ alarm: 'CertificateWarning', key: 'berlin etcd-server' }]);
  });

  it('says why it is over where it is not well', () => {
    const told = away(open('ClusterUnreadable', 'a', 'b', 'c'));
    const health = fleet(
      cluster('a', [], { state: 'gone', goneSince: at() }),
      cluster('b', [], { state: 'maintenance', maintenance: { until: at(MINUTE) } }),
    );
    const named = { alarm: 'ClusterUnreadable' } as const;
    const text = planned({ named, message: message('ClusterUnreadable', 'OK'), told, health }).messages[0]?.human.text;
    expect(text).toMatch(/- a: .*\(it is no longer in the fleet\)/);
    expect(text).toMatch(/- b: .*\(in maintenance until 2026-11-21T10:01/);
    expect(text).toMatch(/- c: .*\(it is no longer in the fleet\)/);
  });

  it.each([
    ['the fleet cannot be read', undefined],
    ['the cluster is not in the index', fleet({ ...cluster('berlin-prod', [], { state: 'new' }), sweptAt: undefined })],
    ['its audit is lost', fleet({ ...cluster('berlin-prod'), audit: undefined })],
  ])('is no recovery when %s', (_, health) => {
    const told = open('CertificateCritical', 'berlin-prod');
    expect(recovered({ told, health }).messages).toEqual([]);
  });

  it('is no recovery of what a sweep left undone while none can read the cluster', () => {
    const told = away(open('ClusterIncomplete', 'oslo'));
    const asked = { named: { alarm: 'ClusterIncomplete' }, message: message('ClusterIncomplete', 'OK'), told } as const;
    const unreadable = cluster('oslo', [ringing('ClusterUnreadable')], { readable: false });
    expect(planned({ ...asked, health: fleet(unreadable) }).messages).toEqual([]);
    expect(planned({ ...asked, health: fleet(cluster('oslo')) }).messages).toHaveLength(1);
  });

  it('tells nobody who was not told before', () => {
    expect(recovered({ health: fleet(cluster('x')) }).messages).toEqual([]);
  });
});

describe('an alarm about certmarshal', () => {
  const named = { alarm: 'FunctionErrors', part: 'sweep' } as const;
  const said = (state: 'ALARM' | 'OK', minutes?: number) => ({
    name: 'certmarshal-function-errors-sweep',
    state,
    changedAt: minutes === undefined ? undefined : at(minutes * MINUTE),
  });

  it('is told in the words of the alarm, also when nothing can be read', () => {
    const { messages, change } = planned({
      named,
      message: { ...said('ALARM', 0), reason: 'Crossed' },
      health: undefined,
    });
    expect(messages[0]?.human.text.split('\n')).toEqual([
      '[warning] certmarshal (sweep), since 2026-11-21 10:00 UTC: A function of certmarshal fails again and again',
      'Alarm certmarshal-function-errors-sweep. CloudWatch: Crossed',
      'First: certmarshal doctor --fleet fleet.yaml',
      'Runbook: certmarshal runbook function-errors',
    ]);
    expect(messages[0]?.events).toMatchObject([{ part: 'sweep', state: 'opened' }]);
    expect(Object.keys(markNotified(NOTHING_NOTIFIED, change).open.FunctionErrors ?? {})).toEqual(['sweep']);
  });

  it.each<[string, readonly ReturnType<typeof said>[], readonly string[]]>([
    ['once, though it comes twice', [said('ALARM', 0), said('ALARM', 0)], ['opened']],
    ['to its end', [said('ALARM', 0), said('OK', 1), said('OK', 1)], ['opened', 'closed']],
    ['again when it rings again', [said('ALARM', 0), said('OK', 1), said('ALARM', 2)], ['opened', 'closed', 'opened']],
    ['again when its end was lost', [said('ALARM', 0), said('ALARM', 2)], ['opened', 'opened']],
    ['not as over by an end that comes late', [said('ALARM', 2), said('OK', 1)], ['opened']],
    ['also without times', [said('ALARM'), said('ALARM'), said('OK'), said('OK')], ['opened', 'closed']],
    ['not at all when its end came first', [said('OK', 1), said('ALARM', 0)], []],
  ])('is told %s', (_, messages, states) => {
    let told = NOTHING_NOTIFIED;
    const seen = messages.flatMap((one) => {
      const plan = planned({ named, message: one, told, now: NOW + 5 * MINUTE });
      told = markNotified(told, plan.change);
      return plan.messages.map(({ state }) => state);
    });
    expect(seen).toEqual(states);
  });

  it.each(Object.keys(ALARMS) as AlarmId[])('%s is never swallowed', (alarm) => {
    for (const health of [undefined, fleet(), fleet(cluster('x'))])
      expect(planned({ named: { alarm }, message: message(alarm, 'ALARM'), health }).messages).toHaveLength(1);
  });

  it('names the clusters of the oldest sweep', () => {
    const slow = cluster('slow', [ringing('OldestSweep', { story: 'not swept for 6 minutes' })]);
    const { messages } = planned({
      named: { alarm: 'OldestSweep' },
      message: message('OldestSweep', 'ALARM'),
      health: fleet(slow),
    });
    expect(messages[0]?.human.subject).toBe('[critical] slow, since 2026-11-21 08:00 UTC: not swept for 6 minutes');
  });
});

describe('an alarm that certmarshal does not know', () => {
  const strange = { name: 'somebody-else', state: 'ALARM', changedAt: at() } as const;
  it('is told as critical, once', () => {
    const plan = planUnknown({ message: strange, told: NOTHING_NOTIFIED, now: NOW });
    expect(plan.messages).toMatchObject([
      {
        severity: 'critical',
        events: [],
        human: { subject: '[critical] alarm somebody-else fires, and certmarshal does not know it' },
      },
    ]);
    const told = markNotified(NOTHING_NOTIFIED, plan.change);
    expect(planUnknown({ message: strange, told, now: NOW }).messages).toEqual([]);
    expect(planUnknown({ message: { ...strange, state: 'OK' }, told: NOTHING_NOTIFIED, now: NOW }).messages).toEqual(
      [],
    );
  });
});
