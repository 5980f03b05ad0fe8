import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Acted } from '../../../lambdas/approval/act.ts';
import type { NameProof } from '../../../lambdas/approval/verdict.ts';
import { createDecisionCollector, MAX_REFUSALS } from '../../../lambdas/journal/decisions.ts';
import { KubernetesError } from '../../../lambdas/kubernetes/errors.ts';

const STARTED = Date.UTC(2026, 10, 21, 10);
const CONTEXT = { cluster: 'berlin', startedAt: STARTED, policyHash: 'ab', program: '1.2.3' };
const PEM = Buffer.from('-----BEGIN CERTIFICATE REQUEST-----\nMIIBnotarequest\n-----END CERTIFICATE REQUEST-----\n');

function acted(
  verdict: Partial<Acted['verdict']> = {},
  more: { name?: string; outcome?: Acted['outcome'] } = {},
): Acted {
  const { name = 'csr-1', outcome = { kind: 'written' } } = more;
  return {
    csr: {
      name,
      uid: `uid of ${name}`,
      resourceVersion: '1',
      createdAt: STARTED,
      deleting: false,
      signerName: 'kubernetes.io/kubelet-serving',
      username: 'system:node:worker-3',
      groups: ['system:nodes'],
      credentials: [],
      usages: [],
      expirationSeconds: undefined,
      request: PEM,
      conditions: [],
      issued: false,
    },
    verdict: {
      verdict: 'approve',
      reason: 'Proven',
      facts: { cause: 'fault', problem: 'proven' },
      hostile: false,
      policy: 'default',
      ...verdict,
    },
    outcome,
  };
}

const collect = (...all: readonly Acted[]) => collectWhere(() => true, ...all);

function collectWhere(isLine: Parameters<typeof createDecisionCollector>[1], ...all: readonly Acted[]) {
  const collector = createDecisionCollector(CONTEXT, isLine);
  for (const one of all) collector.take(one);
  return collector.collected();
}

const LEFT = { verdict: 'leave', reason: 'SanNotOwned' } as const;
const NONE = { outcome: { kind: 'none' } } as const;
const proof = (name: string, own: Partial<NameProof> = {}): NameProof => ({ kind: 'dns', name, proven: true, ...own });

describe('the entries of a sweep', () => {
  it('say who asked for what, what became of it and by which evidence', () => {
    const names = [
      proof('worker-3', { provenBy: { source: 'machine', object: 'Machine eksa-system/md-0-a' } }),
      proof('10.0.1.3', { kind: 'ip', provenBy: { source: 'machine', object: 'Machine eksa-system/md-0-a' } }),
      proof('10.0.1.8', { proven: false, ownedBy: { node: 'worker-8', source: 'ec2', object: 'EC2 instance i-0abc' } }),
    ];
    expect(collect(acted({ names }))).toEqual([
      {
        version: 1,
        kind: 'decision',
        at: '2026-11-21T10:00:00.000Z',
        cluster: 'berlin',
        csr: 'csr-1',
        uid: 'uid of csr-1',
        requester: 'system:node:worker-3',
        names: ['worker-3', '10.0.1.3', '10.0.1.8'],
        nameCount: 3,
        verdict: 'approve',
        reason: 'Proven',
        message: 'proven',
        hostile: false,
        outcome: 'written',
        policy: 'default',
        policyHash: 'ab',
        evidence: [
          { source: 'machine', object: 'Machine eksa-system/md-0-a', readAt: '2026-11-21T10:00:00.000Z' },
          { source: 'ec2', object: 'EC2 instance i-0abc', readAt: '2026-11-21T10:00:00.000Z' },
        ],
        requestHash: createHash('sha256').update(PEM).digest('hex'),
        program: '1.2.3',
      },
    ]);
  });

  it('hold nothing of the request but its hash', () => {
    const text = JSON.stringify(collect(acted({ names: [proof('worker-3')] })));
    for (const secret of ['BEGIN', 'MIIB', PEM.toString('base64').slice(0, 20)]) expect(text).not.toContain(secret);
  });

  const error = new KubernetesError({ kind: 'forbidden', object: 'x', problem: 'no', remedy: 'y' });
  it.each([
    ['written', acted(), ['written']],
    ['observed', acted({}, { outcome: { kind: 'observed' } }), ['observed']],
    ['failed', acted({}, { outcome: { kind: 'failed', error } }), ['failed']],
    ['sent without an answer', acted({}, { outcome: { kind: 'unknown', error } }), ['unknown']],
    ['sent when a bug came', acted({}, { outcome: { kind: 'unknown' } }), ['unknown']],
    ['denied', acted({ verdict: 'deny', hostile: true }), ['written']],
    ['left', acted(LEFT, NONE), ['none']],
    ['overtaken', acted({}, { outcome: { kind: 'overtaken' } }), []],
    ['unfinished', acted({}, { outcome: { kind: 'unfinished' } }), []],
    ['ignored', acted({ verdict: 'ignore', reason: 'Orphaned' }, NONE), []],
  ])('of what was %s', (_, one, outcomes) => {
    expect(collect(one).map(({ outcome }) => outcome)).toEqual(outcomes);
  });

  it('of what was written are always there; of what was not, only where it is a line', () => {
    const outcomes = [
      acted(),
      acted({}, { outcome: { kind: 'unknown' } }),
      acted({}, { outcome: { kind: 'observed' } }),
      acted({}, { outcome: { kind: 'failed', error } }),
      acted({ ...LEFT, hostile: true }, NONE),
    ];
    expect(collectWhere(() => false, ...outcomes).map(({ outcome }) => outcome)).toEqual(['written', 'unknown']);
  });

  it('are those of all approvals, and of the first refusals, hostile ones first; the last says how many are left out', () => {
    const left = Array.from({ length: MAX_REFUSALS + 50 }, (_, index) =>
      acted(LEFT, { ...NONE, name: `left-${index}` }),
    );
    const approved = Array.from({ length: 700 }, (_, index) => acted({}, { name: `approved-${index}` }));
    const hostile = acted({ ...LEFT, hostile: true }, { ...NONE, name: 'hostile' });
    const entries = collect(...left, ...approved, hostile);
    expect(entries).toHaveLength(700 + MAX_REFUSALS);
    expect(entries[700]?.csr).toBe('hostile');
    expect(entries.flatMap(({ csr, leftOut = 0 }) => (leftOut === 0 ? [] : [[csr, leftOut]]))).toEqual([
      [`left-${MAX_REFUSALS - 2}`, 51],
    ]);
    expect(collect(...left.slice(0, MAX_REFUSALS)).at(-1)).not.toHaveProperty('leftOut');
  });

  it('are bounded and harmless whatever a cluster sends', () => {
    const evil = '\u001b[2J\u202e\n{"forged":true}';
    const names = Array.from({ length: 1_024 }, (_, index) =>
      proof(`${evil}${index}`.padEnd(253, 'x'), {
        provenBy: { source: 'machine', object: `${evil}${index}`.repeat(100) },
      }),
    );
    const one = acted(
      { names, facts: { cause: 'fault', problem: evil.repeat(1_000) }, policy: evil },
      { name: evil.repeat(100) },
    );
    const [entry] = collect({ ...one, csr: { ...one.csr, uid: evil.repeat(100), username: evil.repeat(1_000) } });
    const text = JSON.stringify(entry);
    expect(text.length).toBeLessThan(30_000);
    expect(text).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(text).not.toContain('\\u001b');
    expect(text).not.toContain('\\n');
    expect(entry?.nameCount).toBe(1_024);
    expect(entry?.names.length).toBeLessThanOrEqual(100);
  });
});
