import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { AuditView } from '../../../bin/commands/audit/groups.ts';
import { auditRepeat } from '../../../bin/commands/audit/repeat.ts';
import { type AuditRendering, auditLines } from '../../../bin/commands/audit/view.ts';
import { draw, type Screen } from '../../../bin/terminal/draw.ts';
import type { Facts } from '../../../lambdas/contracts/facts.ts';
import type { Observation } from '../../../lambdas/contracts/observation.ts';
import { CERTIFICATE_CLASSES } from '../../../lambdas/tables/certificate-classes.ts';
import { keysOf } from '../../../lambdas/tables/keys.ts';
import { issuedOf } from '../page/fleets.ts';
import { SAMPLES } from '../words/samples.ts';
import { certificateOf, findingOf, groupOf, NOW, READ, reportOf } from './audit/audits.ts';

const { first: FIRST } = groupOf();

const WELL = groupOf({
  what: 'cluster-ca',
  title: 'cluster CA',
  severity: 'info',
  renewedBy: 'not automatic: renew by hand',
  first: { ...FIRST, notBefore: '2025-08-14T00:00:00.000Z', notAfter: '2035-08-14T00:00:00.000Z' },
});
const KUBELETS = Array.from({ length: 42 }, (_, index) =>
  findingOf({
    code: 'KubeletRenewalOverdue',
    severity: 'warning',
    what: 'kubelet-serving',
    object: `kubelet serving worker-${index}`,
    facts: { where: `10.0.1.${index}:10250`, source: 'tls', member: `worker-${index}` },
  }),
);
function unreadAt(where: string): Facts<'Unreachable'> {
  return { ...SAMPLES.Unreachable, places: { first: [where], count: 1 } } as Facts<'Unreachable'>;
}
const UNREACHABLE = findingOf({
  code: 'Unreachable',
  severity: 'warning',
  object: 'etcd server 10.0.1.32:2379',
  since: new Date(NOW - 5_000).toISOString(),
  facts: unreadAt('10.0.1.32:2379'),
});
const NOT_VISIBLE = findingOf({
  code: 'NotVisible',
  severity: 'info',
  object: 'what cannot be seen',
  places: ['etcd peer', 'control plane clients', 'source tls-secrets (not opted in)'],
  placeCount: 3,
});
const ALL = [findingOf(), ...KUBELETS, UNREACHABLE, NOT_VISIBLE];
const GROUPS = [groupOf(), groupOf({ count: 3, severity: 'warning' }), WELL];

function render(
  view: Partial<AuditView> = {},
  { colours = false, width, ...more }: Screen & Partial<AuditRendering> = {},
) {
  const lines = auditLines(
    { report: reportOf([certificateOf()], ALL), groups: GROUPS, ...view },
    {
      verbose: false,
      provider: 'eks-anywhere',
      program: 'kubectl certmarshal',
      ...auditRepeat({ kubeconfig: 'k' }),
      now: NOW,
      ...more,
    },
  );
  return draw(lines, { colours, width });
}

/** The first line of these findings. */
const headline = (findings: Parameters<typeof reportOf>[1], ...groups: AuditView['groups']) =>
  render({ report: reportOf([], findings), groups }).split('\n')[0];

describe('the table of an audit', () => {
  it('tells the whole story in its first line', () => {
    expect(render().split('\n')[0]).toBe(
      '✖ berlin · EKS Anywhere · 5 certificates: the etcd server certificate at 10.0.1.31:6443 expires in 11 days, on 2026-12-03 08:11 UTC',
    );
    expect(headline([NOT_VISIBLE], WELL)).toBe(
      '✔ berlin · EKS Anywhere · 1 certificate: all healthy; cluster CA expires first, in 8.7 y (2035-08-14)',
    );
    expect(headline([])).toBe('· berlin · EKS Anywhere · 0 certificates: none was seen');
  });

  it('says below it which server was asked', () => {
    const server = { context: 'admin@dublin', address: '10.0.1.1:6443' };
    expect(render({}, { server }).split('\n').slice(1, 3)).toEqual(['  10.0.1.1:6443, context admin@dublin', '']);
    expect(render({}, { server: { ...server, context: '\u001b[31m' } })).not.toContain('\u001b');
  });

  it('tells whose kubelet certificates are proven', () => {
    const shown = render({ issued: issuedOf({ proven: 1, unknown: 2 }) });
    expect(shown).toContain('\n\n  ? 3 kubelet certificates: 1 proven, 2 unknown\n\n');
    const worst = render({ issued: issuedOf({ proven: 34, 'not-proven': 2, 'names-another': 1 }) });
    expect(worst).toContain("  ✖ 37 kubelet certificates: 34 proven, 1 another node's name, 2 not proven\n");
    expect(render()).not.toContain('kubelet certificates');
  });

  it('says that a cluster is not readable', () => {
    const unread: Observation = {
      kind: 'unread',
      source: 'nodes',
      observedAt: '2026-11-21T10:00:00.000Z',
      problem: 'unauthorized',
      message: 'list nodes on https://10.0.1.1:6443: the token is refused',
      remedy: 'r',
    };
    const report = reportOf();
    const observations = [unread, ...READ.filter(({ source }) => source !== 'nodes')];
    const groups = [groupOf()];
    const view = { report: { ...report, snapshot: { ...report.snapshot, observations } }, groups };
    expect(render(view).split('\n')[0]).toBe(
      '✖ berlin · EKS Anywhere · not readable: list nodes on https://10.0.1.1:6443: the token is refused',
    );
    expect(render(view)).toContain('\n  Next  kubectl certmarshal doctor --kubeconfig k\n');
    expect(render(view)).toContain('✖ critical  etcd server');
  });

  it('has a bar for each class, with symbol and word', () => {
    const lines = render({}, { width: 120 }).split('\n');
    const head = lines.findIndex((line) => line.includes('CLASS'));
    expect(lines.slice(head, head + 4)).toEqual([
      '              CLASS           LIFE USED                LEFT        EXPIRES     RENEWED BY',
      '  ✖ critical  etcd server     ██████████████████████░  11 d left   2026-12-03  a rollout of the machines that run etcd',
      '  ! warning   etcd server ×3  ██████████████████████░  11 d left   2026-12-03  a rollout of the machines that run etcd',
      '  ✔ healthy   cluster CA      ███░░░░░░░░░░░░░░░░░░░░  8.7 y left  2035-08-14  not automatic: renew by hand',
    ]);
  });

  it.each([
    [{ first: { ...FIRST, basis: 'inference' as const } }, /; expiry inferred, not seen$/],
    [{ first: { ...FIRST, unknown: true as const } }, /life unknown +unknown /],
    [{ count: 3, ended: 2 }, /; 2 of 3 have expired$/],
    [{ first: { ...FIRST, notAfter: '2026-11-18T10:00:00.000Z' } }, / █+ {2}3 d ago /],
  ])('says of %j how it is known', (changes, expected) => {
    expect(render({ groups: [groupOf(changes)] }).split('\n')[3]).toMatch(expected);
  });

  it('draws no bar for a life whose begin is not known', () => {
    const { notBefore: _notBefore, ...first } = FIRST;
    expect(render({ groups: [groupOf({ first })] }).split('\n')[3]).toMatch(/etcd server {2}life unknown +11 d left/);
  });

  it('takes few lines for many findings that are alike, and says the next command of each kind', () => {
    const text = render();
    expect(text).toContain(
      [
        '  43 findings: 1 critical, 42 warnings',
        '',
        '  ✖ critical  CertificateExpiring  etcd server 10.0.1.31:2379',
        '      the etcd server certificate at 10.0.1.31:6443 expires in 11 days, on 2026-12-03 08:11 UTC',
        '      kubectl certmarshal runbook certificate-expiring --kubeconfig k',
        '      → kubectl certmarshal rollout plan --kubeconfig k',
        '',
        '  ! warning  KubeletRenewalOverdue ×42  kubelet serving worker-0, kubelet serving worker-1, kubelet serving worker-2 and 39 more',
        '      the kubelet serving certificate of worker-0 expires in 11 days, on 2026-12-03 08:11 UTC; the kubelet should have renewed it before 90 % of its lifetime (the first one; --verbose shows each)',
      ].join('\n'),
    );
    expect(text.match(/KubeletRenewalOverdue/g)).toHaveLength(1);
    expect(render({}, { verbose: true }).match(/KubeletRenewalOverdue {2}kubelet serving worker-\d+\n/g)).toHaveLength(
      42,
    );
  });

  it('says what was not read, what cannot be seen, and what was not checked', () => {
    expect(render()).toContain(
      [
        '  1 place did not answer: 1 warning',
        '',
        '  ! warning  Unreachable  etcd server 10.0.1.32:2379',
        '      10.0.1.32:2379 (etcd server) does not answer (timeout: no answer within 5 s); check the route',
        '      kubectl certmarshal runbook unreachable --kubeconfig k',
        '      → kubectl certmarshal probe 10.0.1.32:2379',
        '',
        '  If your network does not reach the machines: --no-handshakes',
        '',
        '  2 not visible: neither seen from here nor inferred',
        '  · etcd peer, control plane clients',
        '',
        '  2 sources not checked',
        '  · cluster-secrets, tls-secrets: only with --secrets',
        '',
        '  Next  kubectl certmarshal rollout plan --kubeconfig k',
        '',
        '4.2 s, 21 API requests, 58 handshakes, 3 sources read, 1 place did not answer',
      ].join('\n'),
    );
  });

  it('ends with the runbook where the command of the finding is the audit that was just done', () => {
    const report = reportOf(
      [],
      [findingOf({ what: 'tls-secret', facts: { where: 'Secret a/b', source: 'tls-secrets', basis: 'certificate' } })],
    );
    const text = render({ report });
    expect(text).toContain('  Next  kubectl certmarshal runbook certificate-expiring --kubeconfig k\n');
    expect(text.match(/runbook certificate-expiring/g)).toHaveLength(2);
  });

  it('says what expires first, although places did not answer', () => {
    const silent = { ...UNREACHABLE, placeCount: 66 };
    const [ago, weak] = [new Date(NOW - 1).toISOString(), { ...WELL, severity: 'warning' } as const];
    expect(headline([silent], WELL)).toMatch(
      /: 66 places did not answer; of what is known, cluster CA expires first, in 8\.7 y \(2035-08-14\)$/,
    );
    // An expired certificate is never told as one that expires.
    expect(headline([silent], { ...WELL, first: { ...WELL.first, notAfter: ago } })).toMatch(
      /: 10\.0\.1\.32:2379 \(etcd server\) does not answer \(timeout: no answer within 5 s\)$/,
    );
    // Groups are sorted by severity: a weak key comes before an earlier expiry.
    const soon = groupOf({ severity: 'info', title: 'etcd server' });
    expect(headline([silent], weak, soon)).toMatch(/ known, etcd server expires first, in /);
    // What needs a person comes before an earlier expiry that does not.
    const expiring = findingOf({ severity: 'warning', what: 'etcd-ca', due: '2026-12-13T00:00:00.000Z' });
    // By layer.
    const later = findingOf({ severity: 'warning', due: '2027-01-15T00:00:00.000Z' });
    expect(headline([silent, later, expiring], weak, soon)).toMatch(
      / known, the etcd CA certificate at 10\.0\.1\.31:6443 expires in 21 days, on 2026-12-13 00:00 UTC$/,
    );
  });

  it.each([
    ['many places', 66, undefined, 'audit --kubeconfig k --no-handshakes'],
    ['many places, without handshakes', 66, false, 'probe 10.0.1.32:2379'],
    ['one place', 1, undefined, 'probe 10.0.1.32:2379'],
  ])('says what is next where %s did not answer', (_, placeCount, handshakes, next) => {
    const report = reportOf([certificateOf()], [{ ...UNREACHABLE, placeCount }]);
    const text = render({ report, groups: [WELL] }, auditRepeat({ kubeconfig: 'k', handshakes }));
    expect(text).toContain(`\n  Next  kubectl certmarshal ${next}\n`);
    expect(text.includes('If your network')).toBe(handshakes !== false);
  });

  it('begins with what was not read where that is the headline', () => {
    const unread = findingOf({ code: 'SourceUnread', severity: 'warning', object: 'source machines' });
    const unknown = findingOf({ code: 'ExpiryUnknown', severity: 'warning', object: 'x' });
    const order = (findings: readonly ReturnType<typeof findingOf>[]) =>
      render({ report: reportOf([], findings) }).match(/1 finding|1 source not read/g);
    expect(order([unread, unknown])).toEqual(['1 source not read', '1 finding']);
    expect(order([unknown, unread])).toEqual(['1 finding', '1 source not read']);
    expect(render({ report: reportOf([], [unknown]), groups: [WELL] }).split('\n')[0]).toMatch(
      /: it is unknown when .*, but the API server has answered since; of what is known, cluster CA expires first, in 8\.7 y/,
    );
  });

  it('counts sources and places that were not read apart', () => {
    const unread = findingOf({ code: 'SourceUnread', severity: 'warning', object: 'source nodes' });
    const silent = { ...UNREACHABLE, placeCount: 3 };
    const text = render({ report: reportOf([], [unread, silent]) });
    expect(text).toMatch(/\n {2}1 source not read: 1 warning\n[^]*\n {2}3 places did not answer: 1 warning\n/);
    expect(text).toMatch(/3 sources read, 3 places did not answer$/);
  });

  it('has a short headline: the remedy is in the finding', () => {
    const facts = { ...SAMPLES.SourceUnread, remedy: 'Check the Node with certmarshal doctor.' } as const;
    const text = render({ report: reportOf([], [findingOf({ code: 'SourceUnread', facts })]) });
    const said = 'the source nodes could not be read (timeout: no answer within 5 s)';
    expect(text.split('\n')[0]).toBe(`✖ berlin · EKS Anywhere · 5 certificates: ${said}`);
    expect(text).toContain(`\n      ${said}; check the Node with kubectl certmarshal doctor\n`);
  });

  it('says that a cluster without Cluster API is only taken for EKS Anywhere, and why a source was not checked', () => {
    const off = (source: 'machines' | 'tls', why: string): Observation => ({
      kind: 'off',
      source,
      observedAt: '2026-11-21T09:59:59.000Z',
      why,
    });
    const observations = [
      off('machines', 'this cluster has no Cluster API'),
      off('tls', 'handshakes with machines are off'),
    ];
    const text = render({ report: reportOf(observations) });
    expect(text).toMatch(
      /^· berlin · taken for EKS Anywhere · 5 certificates: those read are healthy, the machines were not looked at; [^\n]+\n {2}taken for EKS Anywhere, but no Cluster API was found; use --provider eks for EKS\n/,
    );
    expect(text).toContain('  · machines: this cluster has no Cluster API\n');
    expect(text).toContain('  · tls: only the API endpoint, because of --no-handshakes\n');
    expect(render()).not.toContain('taken for');
  });

  it('sends nobody after what is only worth knowing', () => {
    expect(render({ report: reportOf([], [NOT_VISIBLE]) })).toMatch(/\n {2}Next {2}kubectl certmarshal run\b/);
  });

  it('says zero', () => {
    expect(render({ report: reportOf(), groups: [] })).toMatch(/\n {2}0 certificates\n\n {2}0 findings\n/);
  });

  it('shows a bounded number of kinds, and how many it does not', () => {
    const classes = keysOf(CERTIFICATE_CLASSES).flatMap((what) =>
      (['critical', 'warning'] as const).map((severity) => findingOf({ what, severity, object: `object-${what}` })),
    );
    const text = render({ report: reportOf([], classes) });
    expect(text.match(/ {2}object-/g)).toHaveLength(30);
    expect(text).toContain(`  … and ${classes.length - 30} more kinds; --verbose shows them all`);
  });
});

describe('the table of an audit on a terminal', () => {
  it.each([200, 120, 110, 109, 80, 72, 60])('fits into %i columns', (width) => {
    const lines = render({}, { colours: true, width }).split('\n').map(stripVTControlCharacters);
    const command = /^ +→ |^ {2}Next /;
    expect(lines.filter((line) => Array.from(line).length > width && !command.test(line))).toEqual([]);
  });

  it('has a line of its own for what renews a certificate where it is narrow', () => {
    const lines = render({}, { width: 80 }).split('\n');
    const head = lines.findIndex((line) => line.includes('LIFE USED'));
    expect(lines[head]).toMatch(/EXPIRES$/);
    expect(lines[head + 1]).toBe('    RENEWED BY');
    expect(lines[head + 3]).toBe('    a rollout of the machines that run etcd');
  });

  it('loses only colours without one', () => {
    expect(stripVTControlCharacters(render({}, { colours: true }))).toBe(render());
    expect(render({}, { colours: true })).toContain('\u001b[31m✖ critical\u001b[39m');
  });
});
