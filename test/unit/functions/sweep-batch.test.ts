import type { Context, SQSEvent, SQSRecord } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { SweepOneTarget } from '../../../lambdas/fleet/sweep-target.ts';
import { encodeTarget } from '../../../lambdas/fleet/target.ts';
import { createSweepBatch } from '../../../lambdas/functions/sweep-batch.ts';
import { createLogger } from '../../../lambdas/telemetry/logger.ts';
import { createMetrics } from '../../../lambdas/telemetry/metrics.ts';
import { captureStdout } from '../telemetry/capture-stdout.ts';
import { emfRecords } from '../telemetry/emf.ts';
import { reportOf } from '../telemetry/reports.ts';

function record(cluster: string, tick = 0, body = bodyOf(cluster, tick)): SQSRecord {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the fields that are read
  return {
    messageId: `${cluster}-${tick}`,
    body,
    eventSource: 'aws:sqs',
    attributes: { MessageGroupId: cluster },
  } as SQSRecord;
}

function bodyOf(name: string, tick: number): string {
  const kubeconfigSecret = `arn:aws:secretsmanager:eu-west-1:123456789012:secret:${name}-AbCdEf`;
  return encodeTarget({ cluster: { name, provider: 'eks' }, kubeconfigSecret }, tick);
}

async function run(sweepOne: SweepOneTarget, ...records: SQSRecord[]) {
  const metrics = createMetrics('sweep');
  const sweepBatch = createSweepBatch({ sweepOne, logger: createLogger('sweep'), metrics });
  const event: SQSEvent = { Records: records };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- not looked at
  const response = await sweepBatch(event, {} as Context, new AbortController().signal);
  metrics.publishStoredMetrics();
  return response.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
}

describe('createSweepBatch', () => {
  let output: ReturnType<typeof captureStdout>;
  beforeEach(() => {
    output = captureStdout();
  });
  afterEach(() => output.restore());

  const sums = () =>
    Object.fromEntries(
      Object.entries(emfRecords(output.text())[0]?.metrics ?? {}).map(([name, values]) => [
        name,
        values.reduce((sum, value) => sum + value, 0),
      ]),
    );

  it('sweeps all clusters at once', async () => {
    let running = 0;
    let most = 0;
    const failures = await run(
      async ({ cluster }) => {
        running += 1;
        most = Math.max(most, running);
        await new Promise(setImmediate);
        running -= 1;
        return { kind: 'swept', report: reportOf({ cluster: cluster.name }) };
      },
      ...['a', 'b', 'c', 'd'].map((name) => record(name)),
    );
    expect(failures).toEqual([]);
    expect(most).toBe(4);
    expect(sums()).toMatchObject({ SweepsCompleted: 4, SweepsIncomplete: 0 });
  });

  it('sweeps a cluster once for all its messages', async () => {
    const sweepOne = vi.fn<SweepOneTarget>(async () => ({ kind: 'swept', report: reportOf({ cluster: 'a' }) }));
    expect(await run(sweepOne, record('a', 1), record('a', 2))).toEqual([]);
    expect(sweepOne).toHaveBeenCalledOnce();
  });

  it('fails all messages of the group that failed, and none of another', async () => {
    const failures = await run(
      async ({ cluster }) => {
        if (cluster.name === 'a') throw new Error('a bug');
        return { kind: 'swept', report: reportOf({ cluster: cluster.name }) };
      },
      record('a', 1),
      record('b'),
      record('a', 2),
    );
    expect(failures).toEqual(['a-1', 'a-2']);
    expect(sums()).toMatchObject({ SweepsCompleted: 1, SweepsIncomplete: 1 });
    expect(output.text()).toContain('"message":"sweep failed"');
    expect(output.text()).toContain('a bug');
  });

  it('answers with the messages even when every one failed', async () => {
    expect(await run(async () => Promise.reject(new Error('a bug')), record('a'), record('b'))).toEqual(['a-0', 'b-0']);
  });

  it('drops what is no target, and says so', async () => {
    const sweepOne = vi.fn<SweepOneTarget>(async () => ({ kind: 'swept', report: reportOf({ cluster: 'a' }) }));
    expect(await run(sweepOne, record('a', 1, 'SENTINEL'), record('b', 1, '{"version":99}'))).toEqual([]);
    expect(sweepOne).not.toHaveBeenCalled();
    expect(sums()).toEqual({ MessagesUnreadable: 2 });
    expect(output.text()).toContain('the message is not JSON');
    expect(output.text()).not.toContain('SENTINEL');
  });

  it('acknowledges a cluster that cannot be opened', async () => {
    const problem = { kind: 'secret', object: 'secret s', message: 'it does not exist', remedy: 'Create it.' };
    expect(await run(async () => ({ kind: 'unusable', problem }), record('a'))).toEqual([]);
    expect(sums()).toMatchObject({ SweepsCompleted: 0, SweepsIncomplete: 1 });
    expect(output.text()).toContain('"remedy":"Create it."');
  });
});
