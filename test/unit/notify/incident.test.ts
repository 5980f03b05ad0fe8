import { describe, expect, it } from 'vitest';
import { linesOf } from '../../../lambdas/notify/message.ts';
import { ALARM_IDS, ALARMS, isOnSignal } from '../../../lambdas/tables/alarms.ts';
import { at, auditSummary, DAY, expiryFinding, MINUTE, NOW, verdictLine } from '../fleet/values.ts';
import { SAMPLES } from '../words/samples.ts';
import { EXAMPLES, textOf } from './examples.ts';
import { alarmEvent, cluster, contributorEvent, firing, indexOf, messageOf } from './values.ts';

const BERLIN = { Cluster: 'berlin', Class: 'etcd-server' };
const etcd = (changed = {}) =>
  expiryFinding({
    code: 'CertificateExpiring',
    severity: 'critical',
    cluster: 'berlin',
    object: 'etcd-server 10.0.1.31:2379',
    what: 'etcd-server',
    facts: { where: '10.0.1.31:2379', source: 'tls', basis: 'certificate' },
    ...changed,
  });
const critical = (count = 1, changed = {}) =>
  firing('CertificateCritical', { value: count, classes: { 'etcd-server': count }, ...changed });
const berlin = (finding = etcd()) =>
  cluster('berlin', [critical(1, { due: finding.due })], { audit: auditSummary({ findings: [finding] }) });
const titleOf = (...of: Parameters<typeof messageOf>) => messageOf(...of)?.title;

describe('the first line of an opening', () => {
  it.each([
    [
      'a certificate that will expire',
      {},
      'expires in 9 days, on 2026-11-30 10:00 UTC. Then the API server loses its storage.',
    ],
    [
      'one that has expired since it was found',
      { due: at(-DAY) },
      'expired 24 hours ago, on 2026-11-20 10:00 UTC. Now the API server loses its storage.',
    ],
    [
      'one of which only the name is wrong',
      { code: 'NameMismatch', due: undefined, facts: SAMPLES.NameMismatch },
      undefined,
    ],
  ] as const)('says of %s what fails then', (_, finding, end) => {
    const title = titleOf(contributorEvent('CertificateCritical', 'ALARM', BERLIN), indexOf(berlin(etcd(finding))));
    expect(title?.startsWith('[critical] berlin')).toBe(true);
    expect(title?.endsWith(end ?? '')).toBe(true);
    expect(title?.includes('storage')).toBe(end !== undefined);
  });

  it('tells of the worst certificate of the class, and how many more there are', () => {
    const others = [etcd({ what: 'kube-apiserver', object: 'kube-apiserver x' }), etcd()];
    const one = cluster('berlin', [critical(3)], { audit: auditSummary({ findings: others }) });
    expect(titleOf(contributorEvent('CertificateCritical', 'ALARM', BERLIN), indexOf(one))).toContain(
      'berlin: the etcd server certificate at 10.0.1.31:2379 expires in 9 days, on 2026-11-30 10:00 UTC, and 2 more. Then',
    );
  });

  it('tells of no certificate of another class, and of those without one', () => {
    const one = (Class: string, finding = etcd()) => {
      const signals = [critical(1, { classes: { [Class]: 1 }, story: 'the worst of another class', due: at(DAY) })];
      const index = indexOf(cluster('berlin', signals, { audit: auditSummary({ findings: [finding] }) }));
      return titleOf(contributorEvent('CertificateCritical', 'ALARM', { Cluster: 'berlin', Class }), index);
    };
    expect(one('cluster-ca')).toBe(
      `[critical] berlin, since 2026-11-21 10:00 UTC: ${ALARMS.CertificateCritical.meaning}`,
    );
    expect(
      one(
        'unknown',
        etcd({ code: 'NoValidCertificate', what: undefined, facts: SAMPLES.NoValidCertificate, due: undefined }),
      ),
    ).toBe(
      '[critical] berlin, since 2026-11-20 10:00 UTC: the kubelet of worker-3 reports that it has no valid client certificate.',
    );
  });

  it('of a hostile request names the command that explains it', () => {
    const hostile = (csr: string) =>
      cluster('berlin', [firing('ImpersonationAttempt')], { verdicts: [{ ...verdictLine(), csr, hostile: true }] });
    const commandOf = (csr: string) =>
      messageOf(contributorEvent('ImpersonationAttempt', 'ALARM', { Cluster: 'berlin' }), indexOf(hostile(csr)))
        ?.command;
    expect(commandOf('csr-q77zt')).toBe('certmarshal explain csr-q77zt --kubeconfig KUBECONFIG --cluster berlin');
    expect(commandOf('evil.com')).toBe('certmarshal run --kubeconfig KUBECONFIG --cluster berlin');
  });

  it.each(ALARM_IDS.filter((id) => id !== 'AlarmUndelivered'))(
    'has severity, what and when, and one command: %s',
    (alarm) => {
      const event = isOnSignal(alarm)
        ? contributorEvent(alarm, 'ALARM', { Cluster: 'berlin' })
        : alarmEvent(alarm, 'ALARM', { part: 'pager' });
      const message = messageOf(event, indexOf(...(isOnSignal(alarm) ? [cluster('berlin', [firing(alarm)])] : [])));
      expect(message?.title).toMatch(/^\[(?:critical|warning)\] [^:]+, since 2026-11-21 10:00 UTC: \S/);
      expect(message?.command).toMatch(/^(?:certmarshal|aws) /);
      expect(message && linesOf(message, { report: 'R', runbooks: undefined }).slice(-3)).toEqual([
        expect.stringMatching(/^First: /),
        expect.stringMatching(/^Runbook: certmarshal runbook [a-z-]+$/),
        'Report: R',
      ]);
    },
  );

  it('uses what CloudWatch says where the index cannot be read, or does not have the cluster', () => {
    const event = contributorEvent('CertificateCritical', 'ALARM', BERLIN);
    for (const known of [undefined, { ...indexOf(), health: undefined }, indexOf(), indexOf(cluster('berlin'))]) {
      const message = messageOf(event, known);
      expect(message).toMatchObject({
        key: 'CertificateCritical berlin etcd-server',
        state: 'opened',
        severity: 'critical',
        title: `[critical] berlin, etcd server, since 2026-11-21 10:00 UTC: ${ALARMS.CertificateCritical.meaning}`,
      });
      expect(message?.lines.join()).toContain('CloudWatch: Threshold Crossed: 1 datapoint was less than');
      expect(message?.command).toBe('certmarshal audit --kubeconfig KUBECONFIG --cluster berlin');
    }
  });

  it('has the id of the cluster where that is not its name', () => {
    const id = '111122223333/eu-central-1/dublin';
    const dublin = cluster(id, [firing('ClusterUnreadable')], { provider: 'eks' });
    const message = messageOf(contributorEvent('ClusterUnreadable', 'ALARM', { Cluster: id }), indexOf(dublin));
    expect(message?.title).toContain('EKS still approves what it can verify');
    expect(message?.lines[0]).toBe(`Id ${id}.`);
    expect(message?.command).toBe(`certmarshal doctor --fleet fleet.yaml --cluster ${id}`);
  });
});

describe('a group', () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, n) => cluster(`c${n}`, [firing('ClusterUnreadable')]));
  const group = (value: 'ALARM' | 'OK') => contributorEvent('ClusterUnreadable', value, { Cluster: '*' });

  it('names its number, and the first ten', () => {
    const message = messageOf(group('ALARM'), indexOf(...many(500)));
    expect(message).toMatchObject({ key: 'ClusterUnreadable *', state: 'opened' });
    expect(message?.title).toContain('[critical] 500 clusters, since');
    expect(message?.lines).toEqual([
      'Clusters: c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 and 490 more.',
      expect.stringMatching(/^Run doctor where/),
    ]);
  });

  it('closes where each has an incident of its own again, and says how many', () => {
    const message = messageOf(group('OK'), indexOf(...many(8)));
    expect(message).toMatchObject({ key: 'ClusterUnreadable *', state: 'closed' });
    expect(message?.title).toContain(
      '[resolved] many clusters: over since 2026-11-21 10:00 UTC; still open for 8 clusters, each as its own incident.',
    );
  });

  it('is where a cluster went that is not well', () => {
    const message = messageOf(contributorEvent('ClusterUnreadable', 'OK', { Cluster: 'c3' }), indexOf(...many(12)));
    expect(message).toMatchObject({ key: 'ClusterUnreadable c3', state: 'closed' });
    expect(message?.title).toContain('[grouped] c3: not over, but one of 12 clusters in one incident since');
  });
});

describe('the state of an incident', () => {
  const event = (value: 'ALARM' | 'OK', time?: string) => contributorEvent('CertificateCritical', value, BERLIN, time);
  const late = at(-20 * MINUTE);

  it.each([
    ['opens', event('ALARM'), [], 'opened'],
    ['closes', event('OK'), [], 'closed'],
    ['closes late', event('OK', late), [], 'closed'],
    ['opens late', event('ALARM', late), [berlin()], 'opened'],
    ['is over when the opening comes at last', event('ALARM', late), [], 'closed'],
    // Nothing says that it is well: report may have stopped.
    ['stays open where only the series ended', event('OK'), [berlin()], 'opened'],
  ] as const)('%s', (_, given, clusters, state) => {
    const message = messageOf(given, indexOf(...clusters));
    expect(message?.state).toBe(state);
    expect(message?.title.startsWith(state === 'opened' ? '[critical]' : '[resolved]')).toBe(true);
  });

  it('stays open where the index was lost, and closes where report has seen the end', () => {
    const lost = { ...indexOf(), rebuiltAt: at(-5 * MINUTE) };
    expect(messageOf(event('OK'), lost)?.state).toBe('opened');
    const series = [{ signal: 'CertificatesCritical', cluster: 'berlin', what: 'etcd-server', zeros: 1 }] as const;
    expect(messageOf(event('OK'), { ...lost, series })?.state).toBe('closed');
  });

  it('is over where the opening comes after its end, and not where the alarm fired late', () => {
    const series = [{ signal: 'CertificatesCritical', cluster: 'berlin', what: 'etcd-server', zeros: 3 }] as const;
    const states = [4, 3].map(
      (minutes) => messageOf(event('ALARM', at(-minutes * MINUTE)), { ...indexOf(), series })?.state,
    );
    expect(states).toEqual(['closed', 'opened']);
  });

  it.each([undefined, { ...indexOf(), health: undefined }])('is that of the event without an index', (known) => {
    expect(messageOf(event('ALARM', late), known)?.state).toBe('opened');
    const closing = messageOf(event('OK'), known);
    expect(closing?.state).toBe('closed');
    expect(closing?.lines.join()).toContain('CloudWatch: ');
  });

  it('is the same for an event that comes twice, and under one key for opening and closing', () => {
    const [first, again] = [event('ALARM'), event('ALARM')].map((one) => messageOf(one, indexOf(berlin())));
    expect(first).toEqual(again);
    expect(first?.key).toBe('CertificateCritical berlin etcd-server');
    expect(messageOf(event('OK'), indexOf())?.key).toBe(first?.key);
  });

  it('is no recovery where it became worse', () => {
    const warning = contributorEvent('CertificateWarning', 'OK', BERLIN);
    expect(titleOf(warning, indexOf(berlin()))).toContain(
      '[escalated] berlin, etcd server: CertificateCritical instead since 2026-11-21 10:00 UTC. It was: A certificate expires soon',
    );
    const theft = indexOf(cluster('berlin', [firing('IssuedNamesAnother')]));
    expect(titleOf(contributorEvent('IssuedUnproven', 'OK', { Cluster: 'berlin' }), theft)).toMatch(/^\[esc/);
    const all = indexOf(...Array.from({ length: 12 }, (_, n) => cluster(`c${n}`, [firing('IssuedNamesAnother')])));
    expect(titleOf(contributorEvent('IssuedUnproven', 'OK', { Cluster: '*' }), all)).toContain(
      'over since 2026-11-21 10:00 UTC; IssuedNamesAnother fires for 12 clusters.',
    );
    expect(titleOf(contributorEvent('KubeletOverdue', 'OK', { Cluster: 'berlin' }), indexOf(berlin()))).toMatch(
      /^\[esc/,
    );
    const other = contributorEvent('CertificateWarning', 'OK', { ...BERLIN, Class: 'cluster-ca' });
    expect(titleOf(other, indexOf(berlin()))).toMatch(/^\[resolved\] berlin, cluster CA: over since/);
  });
});

describe('bad input', () => {
  it('is an alarm of another version: people get its name and what CloudWatch says', () => {
    const message = messageOf(alarmEvent({ name: 'certmarshal-dispatch-heartbeat' }, 'ALARM'), indexOf());
    expect(message).toMatchObject({
      key: 'certmarshal-dispatch-heartbeat',
      state: 'opened',
      severity: 'critical',
      title: '[critical] alarm certmarshal-dispatch-heartbeat, which this version of certmarshal does not have',
    });
    expect(message?.lines[0]).toContain('CloudWatch: Threshold Crossed');
    const gone = contributorEvent({ name: 'certmarshal-old' }, 'OK', { Cluster: 'berlin' });
    expect(messageOf(gone, indexOf())).toMatchObject({ key: 'certmarshal-old berlin', state: 'closed' });
  });

  it('is a class that no table has, and labels of 1,024 characters', () => {
    expect(titleOf(contributorEvent('CertificateCritical', 'ALARM', { ...BERLIN, Class: 'new' }), indexOf())).toContain(
      '[critical] berlin, new, since',
    );
    const long = (end: string) => ({ Cluster: `${'c'.repeat(1_023)}${end}`, Class: 'x'.repeat(1_024) });
    const messages = ['a', 'b'].map((end) =>
      messageOf(contributorEvent('CertificateCritical', 'ALARM', long(end)), indexOf()),
    );
    expect(new Set(messages.map((message) => message?.key)).size).toBe(2);
    for (const message of messages) {
      expect(message?.key).toHaveLength(255);
      expect(message?.title.length).toBeLessThan(500);
    }
  });

  it('is a cluster that has the name of a property of every object', () => {
    for (const name of ['constructor', '__proto__', 'toString']) {
      const labels = { Cluster: name, Class: name };
      expect(messageOf(contributorEvent('CertificateCritical', 'ALARM', labels), indexOf())?.state).toBe('opened');
    }
  });
});

describe('no message', () => {
  it.each([
    ['an alarm on a query itself', alarmEvent('CertificateCritical', 'ALARM')],
    ['a level', alarmEvent({ name: 'certmarshal-critical' }, 'ALARM')],
    ['a group of a level', alarmEvent({ name: 'certmarshal-warning-group-2' }, 'OK')],
    ['notify itself', alarmEvent('FunctionErrors', 'ALARM', { part: 'notify' })],
    ['the rule itself', alarmEvent('AlarmUndelivered', 'ALARM')],
    ['a new alarm', alarmEvent('PlanHeartbeat', 'OK', { from: 'INSUFFICIENT_DATA' })],
    ['a contributor without data', contributorEvent('ClusterUnreadable', 'INSUFFICIENT_DATA', { Cluster: 'berlin' })],
    ['an alarm without data', alarmEvent('PlanHeartbeat', 'INSUFFICIENT_DATA', { from: 'OK' })],
  ])('is made of %s', (_, event) => {
    expect(messageOf(event, indexOf(berlin()))).toBeUndefined();
  });

  it('is kept from people where an alarm on the hub ends without data', () => {
    const event = alarmEvent('JournalUnwritten', 'INSUFFICIENT_DATA', { from: 'ALARM' });
    expect(messageOf(event, indexOf())?.state).toBe('closed');
  });
});

it('says which clusters are not swept, which no contributor does', () => {
  const clusters = ['zurich', 'berlin'].map((id) => cluster(id, [firing('OldestSweep')]));
  const message = messageOf(alarmEvent('OldestSweep', 'ALARM'), indexOf(...clusters), { now: NOW });
  expect(message?.lines).toEqual(['Clusters: zurich, berlin.']);
});

it.each(Object.entries(EXAMPLES))('is at most 90 words: %s', (_, message) => {
  const words = textOf(message).split(/\s+/);
  expect(words.length).toBeGreaterThan(15);
  expect(words.length).toBeLessThanOrEqual(90);
});
