import { AwsError } from '../../../lambdas/aws/errors.ts';
import type { DecisionEntry } from '../../../lambdas/journal/journal.ts';

export const CLUSTER = '111122223333/eu-central-1/dublin';
export const never = new AbortController().signal;

/** A decision; another number is another request. */
export function entry(number: number, changed: Partial<DecisionEntry> = {}): DecisionEntry {
  return {
    version: 1,
    kind: 'decision',
    at: '2026-11-21T10:00:00.000Z',
    cluster: CLUSTER,
    csr: `csr-${number}`,
    uid: `uid-${number}`,
    requester: `system:node:worker-${number}`,
    names: [`worker-${number}`, `10.0.1.${number % 250}`],
    nameCount: 2,
    verdict: 'approve',
    reason: 'Proven',
    message: `worker-${number} ← Machine eksa-system/md-0-${number}`,
    hostile: false,
    outcome: 'written',
    policy: 'default',
    policyHash: '5'.repeat(64),
    evidence: [{ source: 'machine', object: `Machine eksa-system/md-0-${number}`, readAt: '2026-11-21T10:00:00.000Z' }],
    requestHash: '7'.repeat(64),
    program: '0.0.0',
    ...changed,
  };
}

export function failure(kind: AwsError['kind'], object: string): AwsError {
  return new AwsError({ kind, object, problem: `${kind} in this test`, remedy: 'Nothing.' });
}
