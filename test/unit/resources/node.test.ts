import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { readEksNode } from '../../../lambdas/rollout/observed-node-groups.ts';

const nodeOf = (labels: unknown, metadata: object = {}) => ({
  metadata: { name: 'ip-10-0-0-1', creationTimestamp: '2026-11-22T12:00:00Z', labels, ...metadata },
});

describe('a Node of an EKS cluster', () => {
  it.each<[string, unknown, string, string | undefined]>([
    ['a managed one', { 'eks.amazonaws.com/nodegroup': 'blue' }, 'managed', 'blue'],
    [
      'of Auto Mode, which has labels of Karpenter too',
      { 'eks.amazonaws.com/compute-type': 'auto', 'karpenter.sh/nodepool': 'p' },
      'auto-mode',
      undefined,
    ],
    ['a hybrid one', { 'eks.amazonaws.com/compute-type': 'hybrid' }, 'hybrid', undefined],
    ['of Karpenter', { 'karpenter.sh/nodepool': 'default' }, 'karpenter', undefined],
    ['without labels', undefined, 'self-managed', undefined],
    ['labels that are none', { 'eks.amazonaws.com/nodegroup': { a: 1 } }, 'self-managed', undefined],
    [
      'a label that is as long as labels are',
      { 'eks.amazonaws.com/nodegroup': 'x'.repeat(63) },
      'managed',
      'x'.repeat(63),
    ],
    [
      'a label that is longer than labels are',
      { 'eks.amazonaws.com/nodegroup': 'x'.repeat(64) },
      'self-managed',
      undefined,
    ],
    [
      'one that says to be of Fargate, by another name',
      { 'eks.amazonaws.com/compute-type': 'fargate' },
      'self-managed',
      undefined,
    ],
    ['a label of no own', Object.create({ 'eks.amazonaws.com/nodegroup': 'blue' }), 'self-managed', undefined],
  ])('%s', (_, labels, kind, nodegroup) => {
    expect(readEksNode(nodeOf(labels))).toEqual({
      name: 'ip-10-0-0-1',
      createdAt: Date.UTC(2026, 10, 22, 12),
      deleting: false,
      kind,
      nodegroup,
    });
  });

  it('of Fargate, and one that goes', () => {
    const labels = { 'eks.amazonaws.com/compute-type': 'fargate' };
    expect(readEksNode(nodeOf(labels, { name: 'fargate-ip-10-0-0-1' }))).toMatchObject({ kind: 'fargate' });
    expect(readEksNode(nodeOf({}, { deletionTimestamp: '2026-11-22T13:00:00Z' }))).toMatchObject({ deleting: true });
  });

  it.each([
    ['no name', { name: '' }, 'metadata.name is missing or longer than a name'],
    [
      'no time',
      { creationTimestamp: 'today' },
      'Node ip-10-0-0-1: metadata.creationTimestamp is missing or not a time',
    ],
  ])('%s', (_, metadata, problem) => {
    expect(readEksNode(nodeOf({}, metadata))).toBe(problem);
  });

  it('is a value for every input, and shows nothing unprintable', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.anything(),
          fc.string({ unit: 'binary' }).map((name) => nodeOf({}, { name })),
        ),
        (value) => {
          expect(JSON.stringify(readEksNode(value))).not.toMatch(/\p{Cc}|\p{Cf}/u);
        },
      ),
      { seed: 20_261_122, numRuns: 500 },
    );
  });
});
