import { describe, expect, it } from 'vitest';
import { personEntry } from '../../../bin/commands/person/command.ts';
import type { Outcome } from '../../../lambdas/approval/act.ts';
import { judgeForPerson } from '../../../lambdas/approval/person.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { KubernetesError } from '../../../lambdas/kubernetes/errors.ts';
import { requestHash } from '../../../lambdas/resources/signing-request.ts';
import { verdictSentence } from '../../../lambdas/words/verdict-words.ts';
import { BERLIN, csrObject, dns, evidenceFor, ips, machine, NOW, signingRequest } from '../approval/fixtures.ts';
import { CLUSTER } from './values.ts';

const CSR = signingRequest(csrObject({ request: { sans: [...dns('node-1'), ...ips('10.0.0.2')] } }));
const MACHINES = [
  machine('node-1', { InternalIP: ['10.0.0.1'], Hostname: ['node-1'] }),
  machine('node-2', { InternalIP: ['10.0.0.2'] }),
];
const VERDICT = judgeForPerson(BERLIN, CSR, evidenceFor(BERLIN, { machines: MACHINES }), [DEFAULT_POLICY], NOW);
const CONTEXT = { cluster: CLUSTER, startedAt: NOW, policyHash: '5'.repeat(64), program: '1.2.3' };

function entryOf(outcome: Outcome, decision: 'approve' | 'deny' = 'approve', by = 'ada') {
  const decided = { decision, by, because: 'second NIC, ticket 4711' };
  return personEntry({ csr: CSR, verdict: VERDICT, outcome, ...decided }, CONTEXT);
}

describe('personEntry', () => {
  it('has who decided what and why, and what the checks said of it', () => {
    const at = new Date(NOW).toISOString();
    expect(entryOf({ kind: 'written' })).toEqual({
      version: 1,
      kind: 'person',
      at,
      cluster: CLUSTER,
      csr: 'csr-1',
      uid: 'uid-of-csr-1',
      requester: 'system:node:node-1',
      names: ['node-1', '10.0.0.2'],
      nameCount: 2,
      verdict: 'approve',
      judged: 'leave',
      reason: 'SanNotOwned',
      message: verdictSentence(VERDICT.facts),
      hostile: false,
      failed: ['san-proven'],
      outcome: 'written',
      policy: 'default',
      policyHash: '5'.repeat(64),
      evidence: [
        { source: 'machine', object: 'Machine eksa-system/md-0-node-1', readAt: at },
        { source: 'machine', object: 'Machine eksa-system/md-0-node-2', readAt: at },
      ],
      requestHash: requestHash(CSR),
      by: 'ada',
      because: 'second NIC, ticket 4711',
      program: '1.2.3',
    });
    expect(entryOf({ kind: 'written' }, 'deny')).toMatchObject({ verdict: 'deny', judged: 'leave' });
  });

  it('has what may have been written and what failed; not what was decided by another, or not sent', () => {
    const error = new KubernetesError({ kind: 'forbidden', object: 'put', problem: '403', remedy: 'Grant it.' });
    const outcomes: readonly Outcome[] = [
      { kind: 'written' },
      { kind: 'unknown' },
      { kind: 'failed', error },
      { kind: 'overtaken' },
      { kind: 'unfinished' },
    ];
    expect(outcomes.map((outcome) => entryOf(outcome)?.outcome)).toEqual([
      'written',
      'unknown',
      'failed',
      undefined,
      undefined,
    ]);
  });

  it('has nothing that a terminal obeys', () => {
    expect(entryOf({ kind: 'written' }, 'approve', 'ada\u001b[2J\u202e')?.by).toBe('ada\\u{1b}[2J\\u{202e}');
  });
});
