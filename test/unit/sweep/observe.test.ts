import { describe, expect, it } from 'vitest';

import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import type { KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { observe, type SweepTarget } from '../../../lambdas/sweep/observe.ts';
import { csrOf, requestOf } from '../../bench/fixtures.ts';

const { signal } = new AbortController();

/** An API server with the open requests of this many nodes. */
function withRequests(count: number): KubernetesClient {
  const pem = requestOf(1);
  const items = Array.from({ length: count }, (_, index) => csrOf(index, pem, '2026-01-01T00:00:00Z'));
  return {
    server: 'https://127.0.0.1',
    stats: { requests: 0, writes: 0, retries: 0, throttled: 0, bytes: 0 },
    request: async () => ({ items, metadata: {} }),
    close() {},
  };
}

type ListInstances = NonNullable<SweepTarget['listInstances']>;

const observeEks = (requests: number, listInstances: ListInstances) =>
  observe(
    { cluster: { name: 'dublin', provider: 'eks' }, workload: withRequests(requests), listInstances },
    [DEFAULT_POLICY],
    signal,
  );

describe('EC2 evidence', () => {
  it('is asked for the nodes of the open requests, never for more than 2,000 at once', async () => {
    const asked: (readonly string[])[] = [];
    const { evidence } = await observeEks(4_001, async function* (nodes) {
      asked.push(nodes);
      yield [{}, {}];
    });
    expect(asked.map(({ length }) => length)).toEqual([2_000, 2_000, 1]);
    expect(new Set(asked.flat()).size).toBe(4_001);
    expect(evidence.readings).toMatchObject([{ source: 'ec2', ok: true, lookedAt: 6 }]);
  });

  it('is not asked for when there is no open request', async () => {
    const { evidence } = await observeEks(0, () => expect.unreachable());
    expect(evidence.readings).toEqual([]);
  });

  const failing = (error: Error): ListInstances =>
    // oxlint-disable-next-line require-yield -- it fails before
    async function* () {
      throw error;
    };

  it('that cannot be read is part of what was observed, with the kind of the error', async () => {
    const details = {
      kind: 'throttled',
      object: 'ec2:DescribeInstances',
      problem: 'too often',
      remedy: 'Wait.',
    } as const;
    expect((await observeEks(1, failing(new AwsError(details)))).evidence.readings).toEqual([
      { source: 'ec2', ok: false, kind: 'throttled', problem: 'ec2:DescribeInstances: too often', remedy: 'Wait.' },
    ]);
  });

  it('does not hide a bug', async () => {
    await expect(observeEks(1, failing(new TypeError('bug')))).rejects.toThrow(TypeError);
  });
});
