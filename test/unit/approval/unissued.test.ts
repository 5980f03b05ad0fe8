import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decide } from '../../../lambdas/approval/decide.ts';
import { indexEvidence } from '../../../lambdas/approval/evidence/evidence.ts';
import { ownerFromMachine } from '../../../lambdas/approval/evidence/machine.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { collectApprovals, type OwnApproval, unissuedApprovals } from '../../../lambdas/approval/unissued.ts';
import { csrOf, machineOf, requestOf } from '../../bench/fixtures.ts';
import { NOW, signingRequest, timestamp } from './fixtures.ts';

const MINUTE = 60_000;
type Row = readonly [minutesAgo: number, node: string, state?: OwnApproval['state']];

const approvals = (rows: readonly Row[]): OwnApproval[] =>
  rows.map(([minutesAgo, requester, state = 'approved'], index) => ({
    name: `csr-${index}`,
    requester,
    approvedAt: NOW - minutesAgo * MINUTE,
    state,
  }));

/** `20a 21b-failed`: the node a 20 minutes ago, then b. */
const parsed = (text: string): Row[] =>
  [...text.matchAll(/(-?\d+)([a-d])(?:-(issued|failed))?/g)].map(([, ago, node = '', state]) => [
    Number(ago),
    node,
    state === 'issued' || state === 'failed' ? state : 'approved',
  ]);

const unissued = (rows: readonly Row[]) => unissuedApprovals(approvals(rows), NOW).map(({ name }) => name);

describe('what the signer leaves without a certificate', () => {
  it.each<[what: string, approved: string, count: number]>([
    ['nothing approved', '', 0],
    ['one', '20a', 0],
    ['two of one node', '20a 21a', 0],
    ['four of one node', '11a 26a 41a 56a', 0],
    ['two of two nodes', '20a 21b', 2],
    ['two, of which one is too young', '20a 9b', 0],
    ['two, ten minutes old', '10a 10b', 2],
    ['two, and a young one', '20a 21b 1c', 2],
    ['two, and a young one that was issued', '20a 21b 1c-issued', 0],
    ['two, and a young one that failed', '20a 21b 1c-failed', 2],
    ['two after an issued one', '20a 21b 22c-issued', 0],
    ['three after an issued one', '20a 21b 22a 23c-issued', 3],
    ['three of one node after an issued one', '20a 21a 22a 23b-issued', 0],
    ['three after a failed one', '20a 21b 22c 23d-failed', 3],
    ['the newest issued', '20a-issued 21b 22c 23d', 0],
    ['the newest failed', '20a-failed 21b 22c 23d', 0],
    ['the third failed', '20a 21b 22c-failed 23d', 0],
    ['one of the same second issued', '20a 20b 20c-issued', 0],
    ['approved in the future of this clock', '-20a -21b', 0],
  ])('%s', (_, approved, count) => {
    expect(unissued(parsed(approved))).toEqual(Array.from({ length: count }, (_none, index) => `csr-${index}`));
  });

  const anyRows = fc.array(
    fc.tuple(
      fc.integer({ min: 0, max: 60 }),
      fc.constantFrom('a', 'b', 'c'),
      fc.constantFrom<OwnApproval['state']>('approved', 'approved', 'approved', 'issued', 'failed'),
    ),
    { maxLength: 12 },
  );

  it('follows from the newest three, whatever the order of the list', () => {
    fc.assert(
      fc.property(anyRows, fc.nat(), (rows, turn) => {
        const found = new Set(unissuedApprovals(approvals(rows), NOW));
        const all = approvals(rows);
        const turned = [...all.slice(turn % 12), ...all.slice(0, turn % 12)];
        expect(new Set(unissuedApprovals(turned, NOW))).toEqual(found);
        if (found.size === 0) return;
        const standing = all.filter(({ approvedAt }) => NOW - approvedAt >= 10 * MINUTE);
        expect(new Set(standing.map(({ requester }) => requester)).size).toBeGreaterThan(1);
        const newest = Math.max(...standing.map(({ approvedAt }) => approvedAt));
        expect(all.filter(({ state, approvedAt }) => state === 'issued' && approvedAt >= newest)).toEqual([]);
        expect(found.size).toBeGreaterThanOrEqual(Math.min(3, standing.length));
        expect([...found].every(({ state }) => state === 'approved')).toBe(true);
      }),
    );
  });
});

describe('what certmarshal approved', () => {
  const decided = (conditions: readonly object[], changes: object = {}) =>
    signingRequest({ ...csrOf(1, requestOf(1), timestamp(60)), status: { conditions, ...changes } });
  const approved = { type: 'Approved', status: 'True', reason: 'CertMarshalApproved', lastUpdateTime: timestamp(60) };
  const failed = { type: 'Failed', status: 'True', reason: 'SignerValidationFailure' };

  it.each<[string, readonly object[], object, OwnApproval['state'] | undefined]>([
    ['approved', [approved], {}, 'approved'],
    ['issued', [approved], { certificate: 'LS0t' }, 'issued'],
    ['failed', [approved, failed], {}, 'failed'],
    ['pending', [], {}, undefined],
    ['approved by another', [{ ...approved, reason: 'KubectlApprove' }], {}, undefined],
    ['approved without a time', [{ ...approved, lastUpdateTime: undefined }], {}, undefined],
  ])('%s', (_, conditions, changes, state) => {
    const own = collectApprovals();
    own.add(decided(conditions, changes));
    expect(own.all()).toEqual(
      state === undefined
        ? []
        : [{ name: 'csr-1', requester: 'system:node:worker-1', approvedAt: NOW - MINUTE, state }],
    );
    own.add({ ...decided(conditions, changes), signerName: 'kubernetes.io/kube-apiserver-client-kubelet' });
    expect(own.all()).toHaveLength(state === undefined ? 0 : 1);
  });

  it('is held in bounded memory, the newest of it', () => {
    const own = collectApprovals();
    const csr = decided([approved]);
    for (let index = 0; index < 20_000; index += 1) {
      const updated = new Date(((index * 7_919) % 20_000) * 1_000).toISOString();
      own.add({ ...csr, conditions: csr.conditions.map((condition) => ({ ...condition, updated })) });
    }
    expect(own.all().length).toBeLessThanOrEqual(4_000);
    expect(own.all()).toContainEqual(expect.objectContaining({ approvedAt: 19_999_000 }));
  });
});

describe('a sweep while the signer issues nothing', () => {
  const idle = approvals([
    [20, 'a'],
    [21, 'b'],
  ]);
  const machines = [1, 2, 3, 4].flatMap((index) => ownerFromMachine(machineOf(index), 'bench') ?? []);
  const evidence = indexEvidence([{ source: 'machine', ok: true, lookedAt: 4, owners: machines }]);
  /** Node 4 asks for the name of node 1, and is the newest. */
  const open = [2, 3, 1, 4].map((index) => ({
    csr: signingRequest(csrOf(index, requestOf(index, index === 4 ? { steals: 1 } : {}), timestamp(400 - 60 * index))),
    subject: { name: `csr-${index}`, uid: 'u', resourceVersion: '1', metadata: {}, conditions: [] },
    askedAt: [0],
  }));
  const verdicts = () =>
    Object.fromEntries(
      [...decide({ name: 'bench', provider: 'eks-anywhere' }, { open, evidence }, [DEFAULT_POLICY], NOW, idle)].map(
        ({ csr, verdict: { verdict, reason } }) => [csr.name, `${verdict} ${reason}`],
      ),
    );

  it('approves the newest proven request, and names the others', () => {
    expect(verdicts()).toEqual({
      'csr-4': 'leave SanNotOwned',
      'csr-3': 'approve Proven',
      'csr-2': 'leave SignerDoesNotIssue',
      'csr-1': 'leave SignerDoesNotIssue',
    });
  });
});
