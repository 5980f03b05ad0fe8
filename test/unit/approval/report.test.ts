import { describe, expect, it } from 'vitest';
import type { Acted, Outcome } from '../../../lambdas/approval/act.ts';
import { indexEvidence } from '../../../lambdas/approval/evidence/evidence.ts';
import { report } from '../../../lambdas/approval/report.ts';
import { verdictWords } from '../../../lambdas/words/verdict-words.ts';
import { csrObject, NOW, signingRequest } from './fixtures.ts';

type Verdict = Acted['verdict'];

function acted(verdict: Verdict['verdict'], kind: Outcome['kind'], changed: Partial<Verdict> = {}): Acted {
  const outcome = { kind } as Outcome;
  const about = { facts: { cause: 'fault', problem: 'why' }, hostile: false, checks: [], names: [] };
  return {
    csr: signingRequest(csrObject()),
    verdict: { verdict, reason: 'Proven', ...about, ...changed },
    outcome,
  } as unknown as Acted;
}

const of = (all: readonly Acted[], observed = {}) =>
  report({
    cluster: 'berlin',
    provider: 'eks-anywhere',
    startedAt: NOW,
    finishedAt: NOW,
    observed: {
      open: all as never,
      ignored: new Map(),
      unreadable: [],
      unreadableCount: 0,
      evidence: indexEvidence([]),
      ...observed,
    },
    acted: all,
    requests: { sent: 0, writes: 0, retries: 0 },
  });

const NONE = { approved: 0, denied: 0, wouldWrite: 0, left: 0, ignored: 0, failed: 0 };

describe('report', () => {
  it.each<[Verdict['verdict'], Outcome['kind'], object, string?]>([
    ['approve', 'written', { approved: 1 }, '✔ approved'],
    ['approve', 'observed', { wouldWrite: 1 }, '◇ would approve'],
    ['approve', 'overtaken', {}, '· approve (overtaken)'],
    ['deny', 'written', { denied: 1 }, '✖ denied'],
    ['deny', 'observed', { wouldWrite: 1 }, '◇ would deny'],
    ['leave', 'none', { left: 1 }, '◌ not approved'],
    ['ignore', 'none', { ignored: 1 }],
  ])('counts %s that is %s', (verdict, outcome, counted, words) => {
    const { counts, rows } = of([acted(verdict, outcome)]);
    expect(counts).toEqual({ ...NONE, ...counted });
    const shown = rows.map((row) => [row.ageSeconds, verdictWords(row).words]);
    expect(shown).toEqual(words === undefined ? [] : [[12, words]]);
  });

  it('tells of a request for which the judge has a bug, and of no other one', () => {
    const { problems } = of([
      acted('leave', 'none', {
        reason: 'JudgeFailed',
        facts: { cause: 'fault', problem: 'TypeError: a bug' },
      }),
      acted('leave', 'none', { reason: 'SanNotOwned' }),
    ]);
    expect(problems).toMatchObject([
      { kind: 'bug', object: 'CertificateSigningRequest csr-1', message: 'TypeError: a bug' },
    ]);
  });

  it('shows how much of each source was looked at, or why it was not', () => {
    const unread = { source: 'ec2', ok: false, problem: 'denied', remedy: 'Grant it.' } as const;
    const evidence = indexEvidence([{ source: 'machine', ok: true, lookedAt: 3, owners: [] }, unread]);
    const { evidence: shown, problems } = of([], { evidence });
    expect(shown).toMatchObject([
      { source: 'machine', lookedAt: 3 },
      { source: 'ec2', lookedAt: 0, problem: 'denied' },
    ]);
    expect(problems).toMatchObject([{ kind: 'evidence', remedy: 'Grant it.' }]);
  });

  it('tells how many unreadable requests are not shown', () => {
    const unreadable = [{ name: 'csr-1', problem: 'spec is missing' }];
    const objects = (unreadableCount: number) =>
      of([], { unreadable, unreadableCount }).problems.map(({ object }) => object);
    expect(objects(1)).toEqual(['CertificateSigningRequest csr-1']);
    expect(objects(2)).toEqual(['CertificateSigningRequest csr-1', '1 more CertificateSigningRequests']);
    expect(objects(3)).toEqual(['CertificateSigningRequest csr-1', '2 more CertificateSigningRequests']);
  });
});
