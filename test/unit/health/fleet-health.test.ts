import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FindingTally } from '../../../lambdas/contracts/audit-summary.ts';
import type { Finding, IndexedCluster } from '../../../lambdas/contracts/fleet-index.ts';
import type { VerdictLine } from '../../../lambdas/contracts/outcome.ts';
import type { RegisteredCluster } from '../../../lambdas/contracts/registry.ts';
import { foldOutcomes } from '../../../lambdas/fleet/fold-outcomes.ts';
import { ringsAt } from '../../../lambdas/health/culprits.ts';
import { type ClusterHealth, fleetHealth, type Monitoring } from '../../../lambdas/health/fleet-health.ts';
import type { MaintenanceWindow } from '../../../lambdas/health/maintenance.ts';
import { FINDING_CODES, type FindingCode, SEVERITIES } from '../../../lambdas/tables/finding-codes.ts';
import { SIGNALS, type SignalId } from '../../../lambdas/tables/signals.ts';
import {
  at,
  auditSummary,
  DAY,
  DUBLIN,
  expiryFinding,
  index,
  indexed,
  MINUTE,
  NOW,
  OTHER_SECRET,
  PARIS,
  registered,
  registry,
  swept,
  TROUBLE,
} from '../fleet/values.ts';

const MONITORING: Monitoring = { alarms: {}, maintenance: [], auditEveryMinutes: 15 };
const SIGNAL_IDS = Object.keys(SIGNALS) as SignalId[];
const CALM = { counts: { critical: 0, warning: 0, info: 0 }, findings: [], findingCount: 0, ends: [] };
const WELL = { foundAt: at(-DAY), target: PARIS };

function hostile(changed: Partial<VerdictLine> = {}): VerdictLine {
  return {
    csr: 'csr-q77zt',
    uid: '00000000-0000-4000-8000-000000000001',
    node: 'worker-3',
    verdict: 'leave',
    reason: 'SanNotOwned',
    facts: { cause: 'of-another', name: { kind: 'ip', value: '10.0.1.24' }, owner: { object: 'worker-8' } },
    outcome: 'none',
    at: at(-MINUTE),
    hostile: true,
    ...changed,
  };
}

function problem(kind: string, object = 'cluster paris', since = -DAY): Finding {
  return { kind, object, message: `${kind} it is`, remedy: 'Mend it.', since: at(since) };
}

interface Case {
  readonly registered?: Partial<RegisteredCluster>;
  /** Undefined: nothing is known about it. */
  readonly indexed?: Partial<IndexedCluster> | undefined;
  readonly monitoring?: Partial<Monitoring>;
}

function healthOf({ registered: found = {}, indexed: known, monitoring = {} }: Case) {
  const known1 = known === undefined ? [] : [indexed('paris', { audit: auditSummary(CALM), ...known })];
  return fleetHealth(
    registry(registered('paris', { ...WELL, ...found })),
    index(...known1),
    { ...MONITORING, ...monitoring },
    NOW,
  );
}

/** Of the only cluster. */
function clusterOf(one: Case): ClusterHealth {
  const [cluster] = healthOf(one).clusters;
  if (cluster === undefined) throw new Error('no cluster');
  return cluster;
}

const valuesOf = ({ signals }: Pick<ClusterHealth, 'signals'>) =>
  Object.fromEntries(signals.map(({ id, value }) => [id, value]));

const auditedAgo = (ms: number) => ({ audit: auditSummary({ ...CALM, auditedAt: at(-ms) }) });
const tallied = (...tally: readonly FindingTally[]) => ({ audit: auditSummary({ ...CALM, tally }) });

describe('a cluster after the loss of state', () => {
  /** Of the only cluster, which was found a day ago, so many minutes after both were rebuilt. */
  const after = (minutes: number, found: Partial<RegisteredCluster>, ...known: readonly IndexedCluster[]) => {
    const rebuiltAt = at(-minutes * MINUTE);
    const state = [registry(registered('paris', { ...WELL, ...found })), index(...known)] as const;
    const health = fleetHealth({ ...state[0], rebuiltAt }, { ...state[1], rebuiltAt }, MONITORING, NOW);
    expect(health.rebuiltAt).toBe(minutes < 20 ? rebuiltAt : undefined);
    expect(health.undiscoveredSince).toBe(undefined);
    const unread = { ...state[0].sources, gone: { triedAt: at() } };
    const lacking = fleetHealth({ ...state[0], rebuiltAt, sources: unread }, state[1], MONITORING, NOW);
    expect(lacking.undiscoveredSince).toBe(rebuiltAt);
    return valuesOf(health.clusters[0] ?? expect.unreachable());
  };
  const heard = (changed: Partial<IndexedCluster>) =>
    indexed('paris', { audit: auditSummary(CALM), readableAt: undefined, completeAt: undefined, ...changed });

  it('is not missed for 20 minutes, and then since it was found', () => {
    const day = DAY / 1_000;
    expect(after(19, {})).toEqual({});
    expect(after(20, {})).toEqual({ NeverReadFor: day, SweepAge: day, AuditAge: day });
  });

  it('is not incomplete or unaudited for what only the index knew', () => {
    const partly = heard({ readableAt: at(), complete: false, audit: auditSummary({ ...CALM, auditedAt: at(-DAY) }) });
    expect(after(19, {}, partly)).toEqual({});
    expect(after(20, {}, partly)).toMatchObject({ IncompleteFor: DAY / 1_000, AuditAge: DAY / 1_000 });
  });

  it('is not unreadable because EKS could not be asked yet', () => {
    const untargeted = { target: undefined, problem: { ...TROUBLE, kind: 'throttled' } };
    expect(after(19, untargeted, heard({ readableAt: at(-30 * MINUTE) }))).toEqual({});
    expect(after(20, untargeted, heard({ readableAt: at(-30 * MINUTE) }))).toEqual({ UnreadableFor: 1_800 });
  });

  it('is unreadable since then if an audit read it, and else was never read', () => {
    const [unread, unseen] = [
      heard({ readable: false }),
      heard({ readable: false, audit: auditSummary({ ...CALM, sources: { read: [], unread: ['nodes'], off: [] } }) }),
    ];
    for (const minutes of [5, 25]) expect(after(minutes, {}, unread)).toEqual({ UnreadableFor: minutes * 60 });
    expect([after(5, {}, unseen), after(25, {}, unseen)]).toEqual([{}, { NeverReadFor: DAY / 1_000 }]);
    // Found later: it has nothing to do with the loss.
    expect(after(25, { foundAt: at(-3 * MINUTE) }, unread)).toEqual({ NeverReadFor: 180 });
  });
});

describe('the signals of a cluster', () => {
  it('are none while it is well', () => {
    const health = healthOf({ indexed: {} });
    expect(health.clusters).toMatchObject([{ id: 'paris', name: 'paris', state: 'well', signals: [], readable: true }]);
    expect(Object.values(health.totals).every((total) => total === 0)).toBe(true);
    expect(Object.keys(health.totals)).toEqual(SIGNAL_IDS);
    expect(health.counts).toEqual({ critical: 0, warning: 0, noted: 0, new: 0, maintenance: 0, well: 1, gone: 0 });
  });

  type Row = readonly [
    what: string,
    one: Case,
    signals: Partial<Record<SignalId, number>>,
    state: ClusterHealth['state'],
  ];
  const unread = (readableAt: string | undefined, more: Partial<IndexedCluster> = {}) => ({
    indexed: { readable: false, readableAt, ...more },
  });
  const foundAgo = (minutes: number) => ({ registered: { foundAt: at(-minutes * MINUTE) } });
  const target = (kind: string, known: Partial<IndexedCluster>): Case => ({
    registered: { target: undefined, problem: { ...TROUBLE, kind } },
    indexed: known,
  });
  const partly = (completeAt: string | undefined, ...findings: readonly Finding[]): Case => ({
    indexed: { complete: false, completeAt, findings, findingCount: findings.length },
  });
  const judged = (...verdicts: readonly VerdictLine[]): Case => ({ indexed: { verdicts } });
  const held = (since: number) => problem('held', 'cluster paris', since);
  const [DAYS, once] = [86_400, at(-20 * MINUTE)];
  const INCOMPLETE = { IncompleteFor: DAYS };

  it.each<Row>([
    ['unreadable for a while', unread(at(-5 * MINUTE)), { UnreadableFor: 300 }, 'well'],
    ['unreadable for long', unread(at(-10 * MINUTE)), { UnreadableFor: 600 }, 'critical'],
    ['unreadable, and read last by a clock that is ahead', unread(at(MINUTE)), { UnreadableFor: 1 }, 'well'],
    [
      'unreadable, and read last ten minutes before it was found',
      { ...foundAgo(20), ...unread(at(-30 * MINUTE)) },
      { UnreadableFor: 1_800 },
      'critical',
    ],
    [
      'unreadable, and read last before that',
      { ...foundAgo(20), ...unread(at(-30 * MINUTE - 1)) },
      { NeverReadFor: 1_200 },
      'new',
    ],
    ['unreadable, and read last at a time that is none', unread('soon'), { NeverReadFor: DAYS }, 'warning'],
    ['found just now', foundAgo(2), {}, 'new'],
    ['found a moment ago', foundAgo(3), { NeverReadFor: 180, SweepAge: 180 }, 'new'],
    [
      'found long ago, swept, never readable',
      { ...foundAgo(30), ...unread(undefined) },
      { NeverReadFor: 1_800 },
      'warning',
    ],
    ['found, and nobody sweeps it', foundAgo(20), { NeverReadFor: 1_200, SweepAge: 1_200 }, 'critical'],
    [
      'found, without a way to enter',
      { registered: { target: undefined, problem: TROUBLE } },
      { NeverReadFor: DAYS },
      'warning',
    ],
    [
      'that was readable, and has no target any more',
      target(TROUBLE.kind, { readableAt: once, triedAt: at(-DAY) }),
      { UnreadableFor: 1_200 },
      'critical',
    ],
    [
      'that was incomplete, and has no target any more',
      target('passing', { complete: false, completeAt: at(-DAY) }),
      {},
      'well',
    ],
    ['that was readable, and is being deleted', target('passing', { readableAt: once, triedAt: at(-DAY) }), {}, 'well'],
    ['held since before it was found again', partly(undefined, held(-2 * DAY)), INCOMPLETE, 'warning'],
    ['incomplete for two minutes', partly(at(-2 * MINUTE)), {}, 'well'],
    ['incomplete for a while', partly(once), { IncompleteFor: 1_200 }, 'well'],
    ['incomplete for half an hour', partly(at(-30 * MINUTE)), { IncompleteFor: 1_800 }, 'warning'],
    ['never complete', partly(undefined), INCOMPLETE, 'warning'],
    ['complete last before it was found again', partly(at(-20 * DAY), problem('forbidden')), INCOMPLETE, 'warning'],
    [
      'unreadable and incomplete',
      unread(at(-5 * MINUTE), { complete: false, completeAt: at(-DAY) }),
      { UnreadableFor: 300 },
      'well',
    ],
    ['incomplete by held-back writes only', partly(at(-DAY), problem('held-back')), {}, 'well'],
    [
      'incomplete by that, and by what was cut off',
      { indexed: { complete: false, completeAt: at(-DAY), findings: [problem('held-back')], findingCount: 2 } },
      INCOMPLETE,
      'warning',
    ],
    ...['evidence machine', 'evidence ec2', 'evidence node', 'journal'].map((object): Row => {
      const [kind = ''] = object.split(' ');
      return [`incomplete by ${kind} of ${object}`, partly(at(-DAY), problem(kind, object)), INCOMPLETE, 'warning'];
    }),
    ['held in its first sweep, found long ago', partly(undefined, held(-MINUTE)), {}, 'new'],
    ['held ever since it could be read', partly(undefined, held(-60 * MINUTE)), { IncompleteFor: 3_600 }, 'warning'],
    ['held, and it was complete before', partly(at(-DAY), held(-60 * MINUTE)), INCOMPLETE, 'warning'],
    [
      'well when it was swept last, long ago',
      { indexed: { triedAt: at(-DAY), sweptAt: at(-DAY), readableAt: at(-DAY), completeAt: at(-DAY) } },
      { SweepAge: DAYS },
      'critical',
    ],
    [
      'found again a minute ago, and known from long before',
      { ...foundAgo(1), ...unread(at(-20 * DAY), { triedAt: at(-20 * DAY), ...auditedAgo(20 * DAY) }) },
      {},
      'new',
    ],
    ['swept two minutes ago', { indexed: { triedAt: at(-2 * MINUTE) } }, {}, 'well'],
    ['audited half an hour ago', { indexed: auditedAgo(30 * MINUTE) }, {}, 'well'],
    ['audited two hours ago', { indexed: auditedAgo(120 * MINUTE) }, { AuditAge: 7_200 }, 'warning'],
    [
      'audited two hours ago, and once an hour is enough',
      { indexed: auditedAgo(120 * MINUTE), monitoring: { auditEveryMinutes: 60 } },
      {},
      'well',
    ],
    ['never audited', { indexed: { audit: undefined } }, { AuditAge: DAYS }, 'warning'],
    [
      'with findings, counted',
      {
        indexed: tallied(
          { code: 'CertificateExpired', severity: 'critical', what: 'etcd-server', count: 2 },
          { code: 'SuccessorNotTrusted', severity: 'critical', count: 1 },
          { code: 'CertificateExpiring', severity: 'warning', what: 'kube-apiserver', count: 3 },
          { code: 'RenewalErrors', severity: 'warning', what: 'kubelet-serving', count: 4 },
          { code: 'RequestStorm', severity: 'critical', count: 5 },
          { code: 'RequestPending', severity: 'warning', count: 6 },
          { code: 'SourceLost', severity: 'critical', count: 7 },
          { code: 'SourceUnread', severity: 'warning', count: 100 },
          { code: 'NotVisible', severity: 'info', count: 100 },
        ),
      },
      {
        CertificatesCritical: 3,
        CertificatesWarning: 3,
        KubeletsOverdue: 4,
        CoverageLost: 7,
        RequestsStuck: 5,
        RequestsWaiting: 6,
      },
      'critical',
    ],
    [
      'with a hostile node',
      judged(hostile(), hostile({ csr: 'csr-2', node: 'worker-4' })),
      { RequestsHostile: 2 },
      'critical',
    ],
    [
      'with a node that was hostile 25 minutes ago',
      judged(hostile({ at: at(-25 * MINUTE) })),
      { RequestsHostile: 1 },
      'critical',
    ],
    ['with a node that was hostile before', judged(hostile({ at: at(-25 * MINUTE - 1) })), {}, 'well'],
    ['with a node that will be hostile', judged(hostile({ at: at(DAY) })), {}, 'well'],
    ['with a node that is not', judged({ ...hostile(), hostile: undefined }), {}, 'well'],
  ])('%s', (_what, one, signals, state) => {
    const cluster = clusterOf(one);
    expect([valuesOf(cluster), cluster.state]).toEqual([signals, state]);
  });

  it('tell how long a cluster was not swept and not audited, or that it never was', () => {
    const stories = (one: Case) => clusterOf(one).signals.map(({ story }) => story);
    expect(stories({})).toEqual([
      'it was never swept',
      'certmarshal could never read its certificate requests',
      'it was never audited',
    ]);
    const unsweptFor = (seconds: number) => stories({ indexed: { triedAt: at(-seconds * 1_000), ...auditedAgo(DAY) } });
    expect(unsweptFor(7_199)).toEqual([
      'it has not been swept for 120 minutes',
      'it has not been audited for 24 hours',
    ]);
    expect(unsweptFor(7_200)[0]).toBe('it has not been swept for 2 hours');
  });

  it('tell the worst finding, when it bites, and how many more there are', () => {
    const worst = expiryFinding({ severity: 'critical', due: at(2 * DAY) });
    const later = expiryFinding({ severity: 'critical', object: 'b', due: at(3 * DAY), what: 'etcd-server' });
    const audit = auditSummary({
      findings: [later, worst],
      tally: [
        { code: 'CertificateExpiring', severity: 'critical', what: 'kube-apiserver', count: 4 },
        { code: 'CertificateExpiring', severity: 'critical', what: 'etcd-server', count: 1 },
      ],
    });
    expect(clusterOf({ indexed: { audit } }).signals).toEqual([
      {
        id: 'CertificatesCritical',
        value: 5,
        classes: { 'kube-apiserver': 4, 'etcd-server': 1 },
        story:
          'the kube-apiserver certificate at 10.0.1.31:6443 expires in 2 days, on 2026-11-23 10:00 UTC, and 4 more',
        since: worst.since,
        due: at(2 * DAY),
        command: 'certmarshal rollout plan --kubeconfig KUBECONFIG --management-kubeconfig MANAGEMENT --cluster paris',
      },
    ]);
  });

  it('tell what is counted, where the summary had no room for it', () => {
    const one = tallied(
      { code: 'CertificateExpired', severity: 'critical', count: 40 },
      { code: 'RequestStorm', severity: 'critical', count: 2 },
    );
    const { signals } = clusterOf({ indexed: one });
    expect(signals).toMatchObject([
      {
        classes: { unknown: 40 },
        story: '40 times CertificateExpired',
        command: 'certmarshal audit --kubeconfig KUBECONFIG --cluster paris',
      },
      { story: '2 times RequestStorm' },
    ]);
    expect(signals[1]).not.toHaveProperty('classes', expect.anything());
  });

  it('never count less than is shown', () => {
    const audit = auditSummary({ findings: [expiryFinding(), expiryFinding({ object: 'b' })], tally: [] });
    expect(valuesOf(clusterOf({ indexed: { audit } }))).toEqual({ CertificatesWarning: 2 });
  });

  it('say for how many hours a source was not read, from the 24th on', () => {
    const gap = (hours: number, code: 'SourceUnread' | 'SourcePartial' | 'SourceLost', object: string) =>
      expiryFinding({
        code,
        object,
        severity: 'warning',
        what: undefined,
        since: at(-hours * 60 * MINUTE),
      });
    const gaps = (...findings: readonly ReturnType<typeof gap>[]) => {
      const tally = findings.map(({ code }) => ({ code, severity: 'warning' as const, count: 1 }));
      return clusterOf({ indexed: { audit: auditSummary({ auditedAt: at(0), findings: [...findings], tally }) } })
        .signals;
    };
    expect(gaps(gap(23.9, 'SourceUnread', 'source nodes'), gap(1, 'SourcePartial', 'source tls-secrets'))).toEqual([]);
    const [signal, ...others] = gaps(
      gap(24, 'SourcePartial', 'source nodes'),
      gap(50, 'SourceLost', 'source tls-secrets'),
      gap(2, 'SourceUnread', 'source webhooks'),
    );
    expect(others).toEqual([]);
    expect(signal).toMatchObject({
      id: 'CoverageGapHours',
      value: 50,
      story: expect.stringMatching(/^the source nodes .*, and 1 more$/),
    });
  });

  it('say which nodes were hostile, the last first, of two at one time by the name of their requests', () => {
    const at5 = hostile({ csr: 'csr-z', node: 'worker-1', at: at(-5 * MINUTE) });
    const [a, b] = [hostile({ csr: 'csr-a', node: 'csr-a' }), hostile({ csr: 'csr-b' })];
    for (const verdicts of [
      [a, b, at5],
      [at5, b, a],
    ])
      expect(clusterOf({ indexed: { verdicts } }).signals).toEqual([
        {
          id: 'RequestsHostile',
          value: 3,
          story: 'worker-3 asked for 10.0.1.24, which belongs to worker-8; not approved, and 2 more',
          since: at(-5 * MINUTE),
          command: 'certmarshal explain csr-b --kubeconfig KUBECONFIG --cluster paris',
        },
      ]);
  });

  it.each([
    [
      {
        cause: 'of-another',
        name: { kind: 'dns', value: 'worker-8.internal' },
        owner: { node: 'worker-8', object: 'Machine a/b' },
      },
      'worker-3 asked for worker-8.internal, which belongs to worker-8 (Machine a/b); not approved',
    ],
    [
      { cause: 'rule', rule: 'usages', found: 'client auth', expected: 'server auth' },
      'a request of worker-3 is hostile: usages: client auth; expected server auth; not approved',
    ],
  ] as const)('say what a hostile node asked for: %j', (facts, story) => {
    expect(clusterOf({ indexed: { verdicts: [hostile({ facts })] } }).signals[0]?.story).toBe(story);
  });

  const EKS_ID = '111122223333/eu-central-1/paris';
  const access = { kind: 'kubeconfig', secret: OTHER_SECRET } as const;
  const managed = (id: string, management: NonNullable<typeof PARIS.management>) => ({
    id,
    target: { ...PARIS, management },
  });
  it.each<[string, Partial<RegisteredCluster>, Partial<IndexedCluster>, string]>([
    ['of EKS', { id: EKS_ID, target: { ...DUBLIN, id: EKS_ID } }, {}, '--cluster dublin'],
    [
      'of a management cluster',
      managed('mgmt/eksa-system/paris', { access, namespace: 'eksa-system' }),
      {},
      '--management-kubeconfig MANAGEMENT --cluster paris',
    ],
    [
      'of a namespace of its own',
      managed('mgmt/team-a/paris', { namespace: 'team-a' }),
      {},
      '--cluster paris --namespace team-a',
    ],
    [
      'that cannot be entered',
      { id: 'mgmt/eksa-system/oslo', target: undefined },
      { name: undefined, provider: undefined },
      '--cluster oslo',
    ],
    [
      'that cannot be entered any more, by its last sweep,',
      { id: 'c-1', target: undefined },
      { name: 'dublin', provider: 'eks' },
      '--cluster dublin',
    ],
  ])('name a cluster %s as a kubeconfig needs it', (_, changed, known, options) => {
    const found = registered(changed.id ?? 'paris', { ...WELL, ...changed });
    const health = fleetHealth(
      registry(found),
      index(indexed(found.id, { verdicts: [hostile()], audit: undefined, ...known })),
      MONITORING,
      NOW,
    );
    const commands = new Map(health.clusters[0]?.signals.map(({ id, command }) => [id, command]));
    expect(commands.get('RequestsHostile')).toBe(`certmarshal explain csr-q77zt --kubeconfig KUBECONFIG ${options}`);
    expect(commands.get('AuditAge')).toBe(found.target && `certmarshal audit --kubeconfig KUBECONFIG ${options}`);
  });

  it('let nobody write to a terminal or a shell', () => {
    const evil = '\u001b[31m$(reboot)\n';
    const [signal] = clusterOf({
      indexed: { verdicts: [hostile({ csr: evil, node: evil, facts: { cause: 'fault', problem: evil.repeat(200) } })] },
    }).signals;
    expect(signal?.command).toBe('certmarshal explain REQUEST --kubeconfig KUBECONFIG --cluster paris');
    expect(signal?.story).not.toMatch(/\p{Cc}/u);
    expect(signal?.story.length).toBeLessThan(700);
  });

  it('say why requests cannot be listed', () => {
    const forbidden = {
      ...problem('forbidden', 'list certificatesigningrequests on https://a'),
      message: 'answered 403',
    };
    const [said, story] = [
      { readable: false, readableAt: at(-DAY) },
      'certmarshal cannot read its certificate requests',
    ];
    const signalOf = (one: Case) => clusterOf(one).signals[0];
    expect(signalOf({ indexed: { ...said, findings: [forbidden] } })).toMatchObject({
      story: `${story}: forbidden: answered 403`,
      since: at(-DAY),
      command: 'certmarshal doctor --fleet fleet.yaml --cluster paris',
    });
    const also = { registered: { problem: TROUBLE }, indexed: { ...said, findings: [forbidden] } };
    expect(signalOf(also)?.story).toBe(`${story}: forbidden: answered 403`);
    const secret = { ...said, findings: [problem('secret', 'secret berlin')] };
    expect(signalOf({ indexed: secret })?.story).toBe(`${story}: secret: secret it is`);
    const lost = { registered: { target: undefined, problem: TROUBLE } };
    expect(signalOf(lost)?.story).toBe('certmarshal could never read its certificate requests: no');
  });
});

describe('a cluster whose sweeps are not complete', () => {
  it('says first that its writes are held, then what is forbidden', () => {
    const all = [problem('evidence', 'evidence ec2'), problem('forbidden', 'approve csr-1'), problem('held')];
    const story = (findings: readonly Finding[]) =>
      clusterOf({ indexed: { complete: false, completeAt: at(-60 * MINUTE), findings, findingCount: findings.length } })
        .signals[0];
    expect(story(all)).toMatchObject({
      id: 'IncompleteFor',
      story: 'its sweeps have been incomplete for 60 minutes: cluster paris: held it is',
      since: at(-60 * MINUTE),
      command: 'certmarshal doctor --fleet fleet.yaml --cluster paris',
    });
    expect(story(all.slice(0, 2))?.story).toMatch(/: approve csr-1: forbidden it is$/);
    expect(story([])?.story).toBe('its sweeps have been incomplete for 60 minutes');
  });
});

const ALWAYS: MaintenanceWindow = {
  clusters: ['paris'],
  reason: 'rack 7',
  when: { from: at(-MINUTE), until: at(60 * MINUTE) },
};

describe('maintenance', () => {
  const broken: Case = {
    indexed: {
      readable: false,
      readableAt: at(-DAY),
      triedAt: at(-10 * MINUTE),
      verdicts: [hostile()],
      ...tallied(
        { code: 'CertificateExpired', severity: 'critical', count: 1 },
        { code: 'SourceLost', severity: 'critical', count: 1 },
      ),
    },
    monitoring: { maintenance: [ALWAYS] },
  };

  it('explains what its alarms say, and nothing else', () => {
    const health = healthOf(broken);
    const [cluster] = health.clusters;
    expect(cluster && valuesOf(cluster)).toEqual({ SweepAge: 600, CertificatesCritical: 1, RequestsHostile: 1 });
    expect(cluster).toMatchObject({ state: 'critical', maintenance: { until: at(60 * MINUTE), reason: 'rack 7' } });
    expect(health.totals).toMatchObject({ UnreadableFor: 0, CoverageLost: 0, CertificatesCritical: 1 });
  });

  it.each<Partial<IndexedCluster>>([
    { readable: false, readableAt: at(-DAY) },
    { complete: false, completeAt: at(-DAY) },
  ])('is a state where all is explained: %j', (known) => {
    const one = { indexed: known, monitoring: { maintenance: [ALWAYS] } };
    expect(clusterOf(one)).toMatchObject({ state: 'maintenance', signals: [] });
  });
});

describe('fleetHealth', () => {
  it('knows what is gone on purpose: it fires no alarm, and counts nowhere', () => {
    const known = { readable: false, readableAt: at(-DAY), verdicts: [hostile()], audit: auditSummary() };
    const deselected = { untagged: true as const, missingSince: at(-DAY), target: undefined };
    for (const gone of [{ missingSince: at(-MINUTE) }, deselected]) {
      const health = healthOf({ registered: gone, indexed: known });
      expect(health.clusters).toMatchObject([{ state: 'gone', signals: [], goneSince: expect.any(String) }]);
      expect(Object.values(health.totals).every((total) => total === 0)).toBe(true);
      expect(health.counts.gone).toBe(1);
    }
  });

  describe('of a cluster that only lost its tags', () => {
    const found = { untagged: true as const, missingSince: at(-MINUTE) };

    it('tells what is hostile and what ends in it, as long as it is swept', () => {
      const known = {
        complete: false,
        completeAt: at(-DAY),
        verdicts: [hostile()],
        ...tallied(
          { code: 'CertificateExpired', severity: 'critical', count: 2 },
          { code: 'CertificateExpiring', severity: 'warning', count: 3 },
          { code: 'RequestStorm', severity: 'critical', count: 1 },
        ),
      };
      const health = healthOf({ registered: found, indexed: known, monitoring: { maintenance: [ALWAYS] } });
      const [cluster] = health.clusters;
      expect(cluster && valuesOf(cluster)).toEqual({
        RequestsHostile: 1,
        CertificatesCritical: 2,
        CertificatesWarning: 3,
      });
      expect(cluster).toMatchObject({ state: 'critical', goneSince: at(-MINUTE) });
      expect(cluster).not.toHaveProperty('maintenance', expect.anything());
    });

    it.each<[string, Case]>([
      ['is well', { indexed: { readable: false, readableAt: at(-DAY) } }],
      [
        'has only what no alarm rings at',
        {
          indexed: { verdicts: [hostile()] },
          monitoring: { alarms: { ImpersonationAttempt: { threshold: 1, severity: 'off' } } },
        },
      ],
    ])('is gone where it %s', (_what, one) => {
      expect(clusterOf({ registered: found, ...one })).toMatchObject({ state: 'gone', signals: [] });
    });
  });

  it('takes a cluster without its tags for gone since it was seen last, where nothing says since when', () => {
    const found = { untagged: true as const, seenAt: at(-2 * MINUTE) };
    expect(clusterOf({ registered: found, indexed: {} })).toMatchObject({ state: 'gone', goneSince: at(-2 * MINUTE) });
  });

  it.each([
    ['its target says', {}, { name: 'other' }, 'paris'],
    ['its last sweep says', { target: undefined }, { name: 'other' }, 'other'],
    ['its id says', { target: undefined }, { name: undefined }, 'paris'],
  ])('calls a cluster as %s', (_, found, known, name) => {
    expect(clusterOf({ registered: found, indexed: known }).name).toBe(name);
  });

  it('knows of a cluster that no sweep has seen nothing', () => {
    const unknown = clusterOf({ registered: { target: undefined } });
    expect(unknown).toMatchObject({ readable: false, complete: false, findings: [], verdicts: [] });
  });

  it('leaves out what is only in the index, and takes what is only in the registry', () => {
    const health = fleetHealth(registry(registered('a')), index(indexed('b', { readable: false })), MONITORING, NOW);
    expect(health.clusters.map(({ id, state }) => [id, state])).toEqual([['a', 'new']]);
    expect(fleetHealth(registry(registered('a')), undefined, MONITORING, NOW).clusters).toHaveLength(1);
  });

  it('adds counts, and takes the longest time', () => {
    const ids = ['a', 'b', 'c'];
    const known = ids.map((id, i) =>
      indexed(id, {
        readable: false,
        readableAt: at(-(i + 1) * 60 * MINUTE),
        ...tallied({ code: 'CertificateExpired', severity: 'critical', count: i + 1 }),
      }),
    );
    const found = registry(...ids.map((id) => registered(id, WELL)));
    const { totals } = fleetHealth(found, index(...known), MONITORING, NOW);
    expect(totals).toMatchObject({ CertificatesCritical: 6, UnreadableFor: 3 * 3_600 });
  });

  it('puts first what needs somebody first', () => {
    const ending = (days: number, severity: 'critical' | 'warning' = 'critical') => ({
      audit: auditSummary({ findings: [expiryFinding({ severity, due: at(days * DAY) })] }),
    });
    const clusters = {
      fine: {},
      'also-fine': {},
      soon: ending(3),
      sooner: ending(2),
      'also-sooner': ending(2),
      later: ending(1, 'warning'),
      now: { verdicts: [hostile()] },
    };
    const found = registry(
      registered('new'),
      registered('half', { foundAt: at(-MINUTE), target: PARIS }),
      registered('away', { missingSince: at() }),
      ...Object.keys(clusters).map((id) => registered(id, WELL)),
    );
    const known = Object.entries(clusters).map(([id, one]) => indexed(id, { audit: auditSummary(CALM), ...one }));
    known.push(indexed('half'));
    const { clusters: sorted } = fleetHealth(found, index(...known), MONITORING, NOW);
    const order = 'now also-sooner sooner soon later new half also-fine fine away';
    expect(sorted.map(({ id }) => id)).toEqual(order.split(' '));
  });

  it('puts first of the signals what rings', () => {
    const one = { indexed: { readable: false, readableAt: at(-MINUTE), audit: auditSummary(), verdicts: [hostile()] } };
    const ids = (alarms: Monitoring['alarms']) =>
      clusterOf({ ...one, monitoring: { alarms } }).signals.map(({ id }) => id);
    expect(ids({})).toEqual(['RequestsHostile', 'CertificatesWarning', 'UnreadableFor']);
    expect(ids({ ImpersonationAttempt: { threshold: 1, severity: 'off' } })).toEqual([
      'CertificatesWarning',
      'UnreadableFor',
      'RequestsHostile',
    ]);
  });

  it.each([
    ['ends in days', 12 * DAY, ['RequestsHostile', 'CertificatesCritical']],
    ['has ended', -DAY, ['CertificatesCritical', 'RequestsHostile']],
  ])('puts what bites now before a certificate that %s', (_what, due, expected) => {
    const audit = auditSummary({ findings: [expiryFinding({ severity: 'critical', due: at(due) })] });
    const ids = clusterOf({ indexed: { audit, verdicts: [hostile()] } }).signals.map(({ id }) => id);
    expect(ids).toEqual(expected);
  });

  it('puts signals of one urgency in the order of the catalogue', () => {
    const one = tallied(
      { code: 'RequestPending', severity: 'warning', count: 1 },
      { code: 'RenewalErrors', severity: 'warning', count: 1 },
      { code: 'CertificateExpiring', severity: 'warning', count: 1 },
    );
    const ids = clusterOf({ indexed: one }).signals.map(({ id }) => id);
    expect(ids).toEqual(['CertificatesWarning', 'KubeletsOverdue', 'RequestsWaiting']);
  });

  it.each([
    ['in days', at(3 * DAY)],
    ['at a time that is none, so now', 'soon'],
  ])('puts first what bites first: %s', (_, due) => {
    const findings = [
      expiryFinding({ severity: 'warning', due: at(12 * DAY) }),
      expiryFinding({ code: 'KubeletRenewalOverdue', severity: 'warning', object: 'b', due }),
    ];
    const { signals } = clusterOf({ indexed: { audit: auditSummary({ findings }) } });
    expect(signals.map(({ id }) => id)).toEqual(['KubeletsOverdue', 'CertificatesWarning']);
  });

  it.each([
    ['off', { CertificateWarning: { threshold: 1, severity: 'off' } }, 'noted'],
    ['above what there is', { CertificateWarning: { threshold: 2, severity: 'critical' } }, 'noted'],
    ['more severe', { CertificateWarning: { threshold: 1, severity: 'critical' } }, 'critical'],
  ] as const)('judges by the alarms of fleet.yaml: %s', (_what, alarms, state) => {
    expect(clusterOf({ indexed: { audit: auditSummary() }, monitoring: { alarms } }).state).toBe(state);
  });

  it('says the problems of the fleet', () => {
    const problems = [{ ...TROUBLE, since: at() }];
    expect(fleetHealth(registry(), { ...index(), problems }, MONITORING, NOW).problems).toEqual(problems);
  });
});

describe('ringsAt', () => {
  const ringing = { id: 'UnreadableFor', value: 660 } as const;

  it.each([
    [{ threshold: 661, severity: 'critical' }, undefined],
    [{ threshold: 660, severity: 'warning' }, 'warning'],
    [{ threshold: 1, severity: 'off' }, undefined],
  ] as const)('judges by fleet.yaml: %j', (setting, severity) => {
    expect(ringsAt(ringing, { ClusterUnreadable: setting })).toBe(severity);
  });

  it('looks at each class, as the alarm does', () => {
    const settings = { CertificateCritical: { threshold: 3, severity: 'critical' } } as const;
    const signal = { id: 'CertificatesCritical', value: 4 } as const;
    expect(ringsAt({ ...signal, classes: { 'etcd-server': 2, 'etcd-ca': 2 } }, settings)).toBeUndefined();
    expect(ringsAt({ ...signal, classes: { 'etcd-server': 3, 'etcd-ca': 1 } }, settings)).toBe('critical');
  });
});

// Anything that may be known of a cluster.
const CODES = Object.keys(FINDING_CODES) as FindingCode[];
const anyAt = fc.integer({ min: -2 * DAY, max: 9 * MINUTE }).map(at);
const anyFinding = fc
  .record({
    code: fc.constantFrom(...CODES),
    severity: fc.constantFrom(...SEVERITIES),
    object: fc.constantFrom('a', 'b', 'c'),
  })
  .map((changed) => expiryFinding(changed));
const anyAudit = fc
  .record({
    auditedAt: anyAt,
    findings: fc.uniqueArray(anyFinding, { maxLength: 6, selector: ({ code, object }) => `${code} ${object}` }),
  })
  .map(({ auditedAt, findings }) => {
    const count = (severity: string) => findings.filter((finding) => finding.severity === severity).length;
    const counts = { critical: count('critical'), warning: count('warning'), info: count('info') };
    return auditSummary({ auditedAt, findings, findingCount: findings.length, counts });
  });
const anyVerdicts = fc.uniqueArray(
  fc
    .record({ csr: fc.string(), at: anyAt, message: fc.string() })
    .map((changed) => hostile({ ...changed, uid: changed.csr })),
  { maxLength: 3, selector: ({ csr }) => csr },
);
const anyIndexed = fc
  .record(
    {
      readable: fc.boolean(),
      complete: fc.boolean(),
      sweptAt: anyAt,
      triedAt: anyAt,
      readableAt: anyAt,
      audit: anyAudit,
      verdicts: anyVerdicts,
    },
    { requiredKeys: ['readable', 'complete', 'sweptAt'] },
  )
  .map(({ triedAt, readableAt, ...known }) => ({ ...indexed('paris', known), triedAt, readableAt }))
  .map((cluster) => JSON.parse(JSON.stringify(cluster)) as IndexedCluster);
const anyRegistered = fc
  .record({ foundAt: anyAt, target: fc.constant(PARIS), problem: fc.constant(TROUBLE) }, { requiredKeys: ['foundAt'] })
  .map((found) => registered('paris', found));

describe('laws of fleetHealth', () => {
  const values = (cluster: ClusterHealth | undefined) => new Map(cluster?.signals.map(({ id, value }) => [id, value]));

  it('a read that failed makes no number better', () => {
    const failed = fc.record(
      {
        startedAt: anyAt,
        complete: fc.constant(false),
        untried: fc.constant(true as const),
        audit: anyAudit.map((audit) => ({ ...audit, partial: true as const })),
      },
      { requiredKeys: ['startedAt', 'complete'] },
    );
    const counted = (all: ReadonlyMap<SignalId, number>) =>
      SIGNAL_IDS.filter((id) => SIGNALS[id].unit === 'Count').reduce((sum, id) => sum + (all.get(id) ?? 0), 0);
    fc.assert(
      fc.property(anyRegistered, anyIndexed, failed, (found, known, change) => {
        const before = index(known);
        const after = foldOutcomes(before, [swept({ ...change, readable: false })], NOW);
        const [a, b] = [before, after].map((all) =>
          values(fleetHealth(registry(found), all, MONITORING, NOW).clusters[0]),
        );
        if (a === undefined || b === undefined) throw new Error('two of them');
        const lasting = 'UnreadableFor NeverReadFor CertificatesCritical RequestsStuck CoverageLost RequestsHostile';
        const kept = lasting.split(' ') as SignalId[];
        // How old the last try and the last audit are: a try that failed is one, as is an audit that does not know what was before.
        if (change.untried) kept.push('SweepAge');
        if (change.audit === undefined) kept.push('AuditAge');
        for (const id of kept) expect([id, b.get(id) ?? 0]).toEqual([id, Math.max(a.get(id) ?? 0, b.get(id) ?? 0)]);
        expect(counted(b)).toBeGreaterThanOrEqual(counted(a));
      }),
      { numRuns: 500, seed: 21 },
    );
  });

  it('no signal goes below 0 or is no number, and every one has a story and a command of one line', () => {
    fc.assert(
      fc.property(anyRegistered, anyIndexed, (found, known) => {
        for (const { value, story, command } of fleetHealth(registry(found), index(known), MONITORING, NOW).clusters[0]
          ?.signals ?? []) {
          expect(value).toBeGreaterThan(0);
          expect(Number.isFinite(value)).toBe(true);
          expect(`${story}${command}`).not.toMatch(/\p{Cc}/u);
          expect(story).not.toBe('');
        }
      }),
      { numRuns: 300, seed: 22 },
    );
  });

  it('what is gone never rings', () => {
    fc.assert(
      fc.property(anyRegistered, anyIndexed, (found, known) => {
        const health = fleetHealth(registry({ ...found, missingSince: at() }), index(known), MONITORING, NOW);
        expect(health.clusters.flatMap(({ signals }) => signals.flatMap((one) => ringsAt(one, {}) ?? []))).toEqual([]);
      }),
      { numRuns: 200, seed: 23 },
    );
  });

  it('maintenance takes away only what it explains', () => {
    const explained = 'UnreadableFor NeverReadFor IncompleteFor CoverageLost CoverageGapHours RequestsWaiting'.split(
      ' ',
    );
    fc.assert(
      fc.property(anyRegistered, anyIndexed, (found, known) => {
        const [a] = fleetHealth(registry(found), index(known), MONITORING, NOW).clusters;
        const [b] = fleetHealth(registry(found), index(known), { ...MONITORING, maintenance: [ALWAYS] }, NOW).clusters;
        const expected = a?.signals.filter(({ id }) => !explained.includes(id)).map(({ id }) => id);
        expect(b?.signals.map(({ id }) => id)).toEqual(expected);
      }),
      { numRuns: 200, seed: 24 },
    );
  });

  it('the order of the clusters does not matter', () => {
    const fleet = fc.array(fc.tuple(anyRegistered, anyIndexed), { maxLength: 6 });
    fc.assert(
      fc.property(fleet, fc.nat(), (clusters, turn) => {
        const named = clusters.map(
          ([found, known], i) =>
            [
              { ...found, id: `c${i}` },
              { ...known, id: `c${i}` },
            ] as const,
        );
        const by = turn % Math.max(1, named.length);
        const turned = [...named.slice(by), ...named.slice(0, by)].toReversed();
        const [a, b] = [named, turned].map((all) =>
          fleetHealth(
            registry(...all.map(([found]) => found)),
            index(...all.map(([, known]) => known)),
            MONITORING,
            NOW,
          ),
        );
        expect(a).toEqual(b);
      }),
      { numRuns: 150, seed: 25 },
    );
  });
});
