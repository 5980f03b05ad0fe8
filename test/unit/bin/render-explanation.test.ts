import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { type Explanation, explanationLines } from '../../../bin/commands/explain-view.ts';
import { draw } from '../../../bin/terminal/draw.ts';
import { decideApproval } from '../../../lambdas/approval/decide-approval.ts';
import { indexEvidence } from '../../../lambdas/approval/evidence/evidence.ts';
import { ownerFromMachine } from '../../../lambdas/approval/evidence/machine.ts';
import { DEFAULT_POLICY, everywhere } from '../../../lambdas/approval/policy.ts';
import { evidenceProblem } from '../../../lambdas/approval/report.ts';
import type { NameProof } from '../../../lambdas/approval/verdict.ts';
import { readSigningRequest } from '../../../lambdas/resources/signing-request.ts';
import { csrOf, machineOf, requestOf } from '../../bench/fixtures.ts';

const NOW = Date.parse('2026-01-01T00:03:00Z');

function explain(steals?: number, mode: 'enforce' | 'observe' = 'enforce') {
  const request = requestOf(8, steals === undefined ? {} : { steals });
  const read = readSigningRequest(csrOf(8, request, '2026-01-01T00:00:00Z'));
  if (!read.ok) throw new Error(read.problem);
  const owners = [8, 9].flatMap((index) => ownerFromMachine(machineOf(index), 'bench') ?? []);
  const cluster = { name: 'bench', provider: 'eks-anywhere' } as const;
  const verdict = decideApproval(
    { cluster, csr: read.csr, siblings: { pending: 1 } },
    indexEvidence([{ source: 'machine', ok: true, lookedAt: 2, owners }]),
    [{ ...DEFAULT_POLICY, mode: everywhere(mode) }],
    NOW,
  );
  return { verdict, csr: read.csr };
}

const render = (explanation: Explanation = explain(), width?: number) =>
  draw(explanationLines(explanation, 'csr-8', { program: 'certmarshal', repeatNames: '' }, NOW), {
    width,
    colours: width !== undefined,
  });

describe('the explanation of a request', () => {
  it('names the node once', () => {
    expect(render().split('\n')[0]).toBe(
      'worker-8: worker-8, 10.0.0.8 ← Machine eksa-system/md-0-8. run --yes approves it, and so does a deployed certmarshal.',
    );
  });

  it('says what the evidence could not show, before the reason', () => {
    const [problem] = evidenceProblem({ source: 'machine', ok: false, problem: 'there is none', remedy: 'Name it.' });
    const text = render({ ...explain(9), problems: problem === undefined ? [] : [problem] });
    expect(text).toContain('  ✖ evidence machine: there is none\n    → Name it.');
    expect(text.indexOf('evidence machine')).toBeLessThan(text.indexOf('SanNotOwned: '));
  });

  it('says which server was asked', () => {
    const server = { context: 'admin@dublin', address: '10.0.1.1:6443' };
    const text = render({ ...explain(), cluster: 'dublin', server });
    expect(text.split('\n').slice(1, 3)).toEqual(['  dublin · 10.0.1.1:6443, context admin@dublin', '']);
  });

  it('does not promise what mode observe keeps from happening', () => {
    expect(render(explain(undefined, 'observe')).split('\n')[0]).toMatch(
      /The policy only observes: no sweep writes it without mode: enforce\.$/,
    );
  });

  it('says who decided it, when and why, beside what would prove it now', () => {
    const { verdict, csr } = explain();
    const condition = { type: 'Approved', status: 'True', reason: 'KubectlApprove', message: 'by kubectl' };
    const conditions = [
      { ...condition, updated: '2026-01-01T00:01:00Z' },
      { ...condition, type: 'Failed', reason: '\u001b' },
    ];
    const sweep = {
      ...verdict,
      verdict: 'ignore',
      reason: 'AlreadyIssued',
      facts: { cause: 'issued' },
    } as const;
    const text = render({ verdict, sweep, csr: { ...csr, conditions, issued: true }, next: 'certmarshal x' });
    expect(text.split('\n')[0]).toMatch(/← Machine eksa-system\/md-0-8\. The certificate is issued\.$/);
    expect(text.match(/certificate is issued/g)).toHaveLength(1);
    expect(text).toContain('\n  approved  2 min ago, reason KubectlApprove: by kubectl\n');
    expect(text).toContain('\n  failed    at an unknown time, reason \\u{1b}: by kubectl\n');
    expect(text).toMatch(/\n {2}Next {2}certmarshal x$/);
  });

  it('does not send after what was read where its problem is told', () => {
    const { verdict, csr } = explain(9);
    const unread = { ...verdict, reason: 'EvidenceUnreadable' } as const;
    const problems = [
      { kind: 'evidence', object: 'evidence machine', message: 'refused', remedy: 'certmarshal doctor' },
    ];
    const text = render({ verdict: unread, csr, problems });
    expect(text).toContain('✖ evidence machine: refused\n    → certmarshal doctor\n');
    expect(text).not.toContain('  → The evidence says');
    expect(render({ verdict: unread, csr })).toContain('  → The evidence says what failed; certmarshal doctor');
  });

  it('shows one name a line, what is not proven first', () => {
    const lines = render(explain(9)).split('\n');
    expect(lines[0]).toBe(
      'worker-8: DNS name worker-9 belongs to worker-9 (Machine eksa-system/md-0-9). Not approved.',
    );
    expect(lines.slice(2, 7)).toEqual([
      '  asked   3 min ago by system:node:worker-8 (system:nodes, system:authenticated)',
      '  names   ✖ worker-9 owned by worker-9 (Machine eksa-system/md-0-9)',
      '          ✔ worker-8 ← Machine eksa-system/md-0-8',
      '          ✔ 10.0.0.8 ← Machine eksa-system/md-0-8',
      '  policy  default',
    ]);
  });

  it('shows 20 names and how many there are', () => {
    const { verdict, csr } = explain();
    const names = Array.from(
      { length: 23 },
      (_, index): NameProof => ({ kind: 'dns', name: `n${index}`, proven: true }),
    );
    const text = render({ verdict: { ...verdict, names }, csr });
    expect(text.match(/✔ n\d+$/gm)).toHaveLength(20);
    expect(text).toContain('\n          and 3 more; --output json lists them all\n');
  });

  it('shows them all to who approves them', () => {
    const { verdict, csr } = explain();
    const names = Array.from(
      { length: 1_000 },
      (_, index): NameProof => ({ kind: 'dns', name: `n${index}`, proven: false }),
    );
    expect(render({ verdict: { ...verdict, names }, csr, allNames: true }).match(/✖ n\d+$/gm)).toHaveLength(1_000);
  });

  it('says what a sweep makes of it, where that is something else', () => {
    const { verdict, csr } = explain(9);
    const sweep = {
      ...verdict,
      verdict: 'ignore',
      reason: 'Superseded',
      facts: { cause: 'newer', csr: 'csr-9' },
      checks: [],
    } as const;
    const text = render({ verdict, sweep, csr });
    expect(text.split('\n')[0]).toMatch(/belongs to worker-9 \(Machine eksa-system\/md-0-9\)\. No sweep judges it\.$/);
    expect(text).toMatch(/SanNotOwned: [^]*Superseded: /);
  });

  it.each([120, 80, 60, 40])('fits into %i columns', (width) => {
    const lines = render(explain(9), width).split('\n').map(stripVTControlCharacters);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
    expect(lines.join(' ').replaceAll(/ +/g, ' ')).toBe(render(explain(9)).replaceAll(/\s+/g, ' '));
  });
});
