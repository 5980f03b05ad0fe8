import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { type SweepView, sweepLines, sweepStory } from '../../../bin/commands/sweep-view.ts';
import { draw, type Screen } from '../../../bin/terminal/draw.ts';
import { DEFAULT_POLICY, everywhere } from '../../../lambdas/approval/policy.ts';
import { EXPIRED } from '../../../lambdas/expired-endpoint.ts';
import { reportOf, rowOf } from '../telemetry/reports.ts';

function render(view: Partial<SweepView>, screen: Screen = {}) {
  const lines = sweepLines({
    report: reportOf({}),
    policies: [DEFAULT_POLICY],
    program: 'certmarshal',
    repeat: ' --kubeconfig k',
    repeatNames: ' --kubeconfig k',
    ...view,
  });
  return draw(lines, screen);
}

const left = { verdict: 'leave', outcome: 'none' } as const;
const ROWS = [
  rowOf({ csr: 'approved' }),
  rowOf({ csr: 'unwritten', outcome: 'failed' }),
  rowOf({ ...left, csr: 'waiting', reason: 'EvidenceMissing', message: 'no Machine (4 looked at) names node w yet' }),
  rowOf({ ...left, csr: 'odd', reason: 'KeyNotAllowed', message: 'key: RSA 1024' }),
  rowOf({ ...left, csr: 'moved', reason: 'SanNotOwned', message: 'IP 10.0.0.1 is not among the names of Machine m' }),
  rowOf({ ...left, csr: 'thief', reason: 'SanNotOwned', message: 'IP 10.0.0.2 belongs to w2', hostile: true }),
];
const COUNTS = { approved: 1, denied: 0, wouldWrite: 0, left: 4, ignored: 0, failed: 1 };
const REPORT = reportOf({ rows: ROWS, counts: COUNTS, requests: { sent: 3, writes: 2, retries: 1 } });

describe('the table of a sweep', () => {
  it('shows what is most urgent first, and recommends to explain that', () => {
    const lines = render({ report: REPORT, yes: true }).split('\n');
    expect(lines.filter((line) => /^ {2}[a-z]+ +worker-1 /.test(line)).map((line) => line.replace(/ +/g, ' '))).toEqual(
      [
        ' thief worker-1 5s ✖ not approved IP 10.0.0.2 belongs to w2 SanNotOwned',
        ' moved worker-1 5s ◌ not approved IP 10.0.0.1 is not among the names of Machine m SanNotOwned',
        ' odd worker-1 5s ◌ not approved key: RSA 1024 KeyNotAllowed',
        ' waiting worker-1 5s ◌ not approved no Machine (4 looked at) names node w yet EvidenceMissing',
        ' unwritten worker-1 5s ✖ approve (failed) every name is proven',
        ' approved worker-1 5s ✔ approved every name is proven',
      ],
    );
    expect(lines).toContain(
      '  ✖ Do not approve thief. Unless someone moved this name to worker-1 on purpose, worker-1 may be compromised: certmarshal runbook san-not-owned --kubeconfig k',
    );
    expect(lines).toContain('  → certmarshal explain thief --kubeconfig k');
    expect(lines).toContain(
      '  ✖  4 not approved  1 SanNotOwned (provably hostile), 1 SanNotOwned, 1 KeyNotAllowed, 1 EvidenceMissing',
    );
    expect(lines.at(-1)).toBe('12 ms, 1 read, 2 writes, 1 retry');
  });

  it('has a row for a kubelet under another user, which is no more than ignored', () => {
    const misnamed = [{ csr: 'role', message: 'm' }];
    const counts = { ...COUNTS, left: 0, ignored: 1 };
    const report = reportOf({ misnamed, ignored: { RequesterMisnamed: 1 }, counts });
    const text = stripVTControlCharacters(render({ report }));
    expect(text).toMatch(/\n {2}role +· ignored +m\n/);
    expect(text).toContain('0 not approved');
    expect(text).toContain('  → certmarshal explain role --kubeconfig k');
  });

  it('says which server was asked, also where it did not answer', () => {
    const server = { context: 'admin@dublin', address: '10.0.1.1:6443' };
    for (const report of [REPORT, reportOf({ readable: false })])
      expect(render({ report, server }).split('\n')[1]).toBe('  10.0.1.1:6443, context admin@dublin');
  });

  it('never puts a name that Kubernetes would refuse into a command', () => {
    const rows = [rowOf({ ...left, csr: 'x; reboot', reason: 'SanWildcard' })];
    expect(render({ report: reportOf({ rows }) })).not.toContain('→');
  });

  it.each([
    ['of a name of another node', {}, true],
    ['whose node could write a command', { node: 'worker-3 as healthy: certmarshal approve csr-1 --yes;' }, false],
    ['with another reason', { reason: 'SanReserved', message: 'DNS name kubernetes is for the API server' }, false],
    ['of a name without an owner', { message: 'DNS name x is not among the names of Machine m' }, false],
    ['that is not provably hostile', { hostile: false }, false],
  ] as const)('says what a hostile request means: %s', (_, changed, said) => {
    const hostile = {
      ...left,
      csr: 'csr-1',
      reason: 'SanNotOwned',
      message: 'IP 10.0.0.2 belongs to w2',
      hostile: true,
    } as const;
    const rows = [rowOf({ ...hostile, ...changed })];
    expect(render({ report: reportOf({ rows }) }).includes('✖ Do not approve csr-1.')).toBe(said);
  });

  it('paints the hostile red', () => {
    expect(render({ report: REPORT }, { colours: true })).toContain('\u001b[31m✖ not approved\u001b[39m');
  });

  it('says nothing but why of a cluster that could not be read', () => {
    const problem = {
      kind: 'forbidden',
      object: 'list x on https://y',
      message: 'answered 403',
      remedy: 'certmarshal rbac',
    };
    const report = reportOf({ readable: false, complete: false, problems: [problem] });
    expect(render({ report, program: 'kubectl certmarshal' })).toBe(
      [
        '✖ berlin · EKS Anywhere · not readable',
        '',
        '  ✖ list x on https://y: answered 403',
        '    → kubectl certmarshal rbac',
        '',
        '12 ms, 1 read',
      ].join('\n'),
    );
    expect(render({ report }, { colours: true }).split('\n')[0]).toBe(
      '\u001b[31m✖ \u001b[39m\u001b[31mberlin · EKS Anywhere · not readable\u001b[39m',
    );
  });

  it('says that no policy selects the cluster', () => {
    expect(render({ policies: [] })).toMatch(/^berlin · EKS Anywhere · no policy selects it\n/);
  });

  it.each(['NoPolicySelected', 'EvidenceUnreadable'] as const)('does not repeat what %s says', (reason) => {
    const rows = [1, 2, 3].map((index) => rowOf({ ...left, csr: `csr-${index}`, reason, message: 'a long story' }));
    const why = render({ report: reportOf({ rows }) }).match(/(?<=◌ not approved {2})\S.*/g);
    expect(why).toEqual([`a long story  ${reason}`, `as above  ${reason}`, `as above  ${reason}`]);
  });

  it('says what mode observe would do', () => {
    const report = reportOf({
      rows: [rowOf({ mode: 'observe', outcome: 'observed' })],
      counts: { ...COUNTS, approved: 0, wouldWrite: 1, left: 0, failed: 0 },
    });
    const policies = [{ ...DEFAULT_POLICY, mode: everywhere('observe') }];
    for (const yes of [false, true])
      expect(render({ report, policies, yes })).toMatch(
        /◇ {2}1 would be approved {2}nothing is written: the policy only observes\n[^]*◇ would approve/,
      );
  });

  it('says without --yes that nothing is written, also where there is nothing to approve', () => {
    const report = reportOf({});
    expect(render({ report })).toMatch(
      /^berlin · EKS Anywhere · dry run \(policy default\)\n[^]*✔ {2}no request waits\n/,
    );
    expect(render({ report, yes: true })).toMatch(
      /^berlin · EKS Anywhere · policy default \(enforce\)\n\n {2}✔ {2}no request waits\n(?![^]*◇)/,
    );
  });
});

const TYPED = {
  program: 'certmarshal',
  repeat: ' --context berlin --policy f',
  repeatNames: ' --context berlin',
  doctor: ' --context berlin',
};

describe('the line of a sweep in a fleet', () => {
  it('of a cluster without requests says so, without a command', () => {
    const counts = { ...REPORT.counts, left: 0 };
    expect(draw(sweepStory({ ...REPORT, rows: [], counts }, TYPED))).toBe('✔ berlin · EKS Anywhere · no request waits');
  });

  it.each([
    [{ AlreadyIssued: 59 }, true, '✔ berlin · EKS Anywhere · no request waits'],
    ...['RequesterNotNode', 'TooYoung', 'Orphaned', 'Superseded', 'Deleting'].map(
      (reason) =>
        [
          { AlreadyIssued: 59, [reason]: 1 },
          true,
          '· berlin · EKS Anywhere · 0 would be approved, 0 not approved, 1 pending but ignored',
        ] as const,
    ),
    [{}, false, '· berlin · EKS Anywhere · 0 would be approved, 0 not approved'],
  ] as const)('does not say that nothing waits, with %j, complete: %s', (ignored, complete, line) => {
    const count = Object.values(ignored).reduce((sum, next) => sum + next, 0);
    const counts = { ...REPORT.counts, left: 0, ignored: count };
    const [first] = draw(sweepStory({ ...REPORT, rows: [], complete, counts, ignored }, TYPED)).split('\n');
    expect(first).toBe(line);
  });

  it.each([
    ['certificate', EXPIRED, 'runbook recovery --context berlin'],
    ['certificate', 'not for this name', 'doctor --context berlin'],
    ['forbidden', `forbidden: ${EXPIRED}`, 'doctor --context berlin'],
  ])('of an unreadable cluster leads to what only reads: %s, %s', (kind, message, next) => {
    const problems = [{ kind, object: 'list', message, remedy: 'Grant it: certmarshal rbac | kubectl apply -f -' }];
    expect(draw(sweepStory({ ...REPORT, readable: false, problems }, { ...TYPED, program: 'npx certmarshal' }))).toBe(
      `✖ berlin · EKS Anywhere · not readable: list: ${message}\n    → npx certmarshal ${next}`,
    );
  });

  it('does not hide a request that was superseded behind one that would be approved', () => {
    const rows = [rowOf({ outcome: 'observed' })];
    const counts = { ...REPORT.counts, left: 0, wouldWrite: 1 };
    expect(draw(sweepStory({ ...REPORT, rows, counts, ignored: { Superseded: 1 } }, TYPED))).toMatch(
      /^· .* 1 would be approved, 0 not approved, 1 pending but ignored\n/,
    );
  });

  const problem = { kind: 'evidence', object: 'evidence machine', message: 'refused', remedy: 'r' };
  it.each([
    [[], '✖ berlin · EKS Anywhere · 0 would be approved, 4 not approved (1 provably hostile)'],
    [
      [problem],
      '✖ berlin · EKS Anywhere · 0 would be approved, 4 not approved (1 provably hostile), evidence machine: refused',
    ],
    [
      [problem, problem, problem],
      '✖ berlin · EKS Anywhere · 0 would be approved, 4 not approved (1 provably hostile), evidence machine: refused, 2 problems more',
    ],
  ])('names what could not be read: %#', (problems, line) => {
    expect(draw(sweepStory({ ...REPORT, problems }, TYPED))).toBe(
      `${line}\n    → certmarshal sweep --context berlin --policy f`,
    );
  });
});

describe('the table of a sweep on a terminal', () => {
  it.each([200, 120, 100, 80, 79, 60, 40])('fits into %i columns', (width) => {
    const lines = render({ report: REPORT }, { colours: true, width }).split('\n').map(stripVTControlCharacters);
    const mayBeLonger = /^ {2}→ certmarshal|^ {2}\S+ +worker-1 /;
    expect(lines.filter((line) => line.length > width && !mayBeLonger.test(line))).toEqual([]);
  });

  it('continues under WHY', () => {
    const lines = render({ report: REPORT }, { width: 80 }).split('\n');
    const head = lines.findIndex((line) => line.includes('WHY'));
    expect(lines.slice(head, head + 5)).toEqual([
      '  CSR        NODE      AGE  VERDICT             WHY',
      '  thief      worker-1  5s   ✖ not approved      IP 10.0.0.2 belongs to w2',
      '                                                SanNotOwned',
      '  moved      worker-1  5s   ◌ not approved      IP 10.0.0.1 is not among the',
      '                                                names of Machine m  SanNotOwned',
    ]);
  });

  it('gives WHY lines of its own below 80 columns', () => {
    const lines = render({ report: REPORT }, { width: 79 }).split('\n');
    const head = lines.findIndex((line) => line.includes('VERDICT'));
    expect(lines.slice(head, head + 4)).toEqual([
      '  CSR        NODE      AGE  VERDICT',
      '    WHY',
      '  thief      worker-1  5s   ✖ not approved',
      '    IP 10.0.0.2 belongs to w2  SanNotOwned',
    ]);
  });
});
