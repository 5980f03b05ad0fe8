import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { decodeTarget, encodeTarget } from '../../../lambdas/fleet/target.ts';
import { refusal, type ServiceAnswer, type ServiceCall, startJsonService } from '../aws/json-service.ts';
import { type Synthesized, synthesize } from '../lib/synthesize.ts';
import { emfRecords } from '../telemetry/emf.ts';
import { loadBundle } from './invoke-bundle.ts';

const CLUSTERS = Array.from({ length: 12 }, (_, index) => `cluster-${index}`);
const FLEET = [
  'version: 1',
  'clusters:',
  ...CLUSTERS.flatMap((name) => [
    `  - name: ${name}`,
    '    provider: eks',
    `    kubeconfigSecret: arn:aws:secretsmanager:eu-west-1:123456789012:secret:${name}-AbCdEf`,
  ]),
].join('\n');

let synthesized: Synthesized;
beforeAll(async () => {
  synthesized = await synthesize(FLEET);
}, 120_000);
afterAll(async () => synthesized?.[Symbol.asyncDispose]());

interface Entry {
  readonly Id: string;
  readonly MessageBody: string;
  readonly MessageGroupId: string;
  readonly MessageDeduplicationId: string;
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the shape of SendMessageBatch
const entriesOf = ({ input }: ServiceCall) => input['Entries'] as readonly Entry[];

async function dispatch(event: unknown, answer: (call: ServiceCall) => ServiceAnswer) {
  await using sqs = await startJsonService(answer);
  await using bundle = await loadBundle(synthesized.bundles.dispatch, {
    TARGET_QUEUE_URL: `${sqs.url}/123456789012/targets.fifo`,
    AWS_ENDPOINT_URL_SQS: sqs.url,
  });
  const answered = await bundle.invoke(event, 30_000);
  return { answered, entries: sqs.calls.flatMap(entriesOf), emf: emfRecords(bundle.output()) };
}

const accept = (call: ServiceCall): ServiceAnswer => ({
  body: {
    Successful: entriesOf(call).map(({ Id, MessageBody }) => ({
      Id,
      MessageId: Id,
      // The SDK compares it.
      MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex'),
    })),
    Failed: [],
  },
});

const SECRET = 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:silent-AbCdEf';

function kubeconfigOf(port: number): string {
  return JSON.stringify({
    clusters: [{ name: 'c', cluster: { server: `https://127.0.0.1:${port}` } }],
    users: [{ name: 'u', user: { token: 'a-token' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
}

describe('the bundles that synthesis makes', () => {
  it.each(['sweep', 'dispatch'] as const)('keeps %s within 900 kB', async (name) => {
    expect((await stat(synthesized.bundles[name])).size).toBeLessThan(900_000);
  });

  it('dispatches every cluster of the fleet under the minute of the schedule', async () => {
    const { answered, entries, emf } = await dispatch({ scheduledTime: new Date().toISOString() }, accept);
    expect(answered).toEqual({});
    expect(entries.map(({ MessageGroupId }) => MessageGroupId).toSorted()).toEqual(CLUSTERS.toSorted());
    for (const { MessageBody, MessageGroupId, MessageDeduplicationId } of entries) {
      const decoded = decodeTarget(MessageBody);
      if (!decoded.ok) throw new Error(decoded.problem);
      expect(decoded.tick % 60_000).toBe(0);
      expect(Math.abs(decoded.tick - Date.now())).toBeLessThan(120_000);
      expect(MessageDeduplicationId).toBe(`${MessageGroupId}:${decoded.tick}`);
      expect(decoded.target.cluster.name).toBe(MessageGroupId);
    }
    expect(emf).toEqual([
      { namespace: 'certmarshal', dimensions: { service: 'dispatch' }, metrics: { Dispatched: [12] } },
    ]);
  });

  it('tolerates a placeholder that nobody replaced', async () => {
    const { answered, entries } = await dispatch({ scheduledTime: '<aws.scheduler.scheduled-time>' }, accept);
    expect(answered).toEqual({});
    expect(entries).toHaveLength(12);
  });

  it('ends a sweep before Lambda would, and reports it as incomplete', async () => {
    // Accepts connections and says nothing: the worst that a cluster can do.
    const silent = createTcpServer();
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server has such an address
    const { port } = silent.address() as AddressInfo;
    await using secretsManager = await startJsonService(() => ({ body: { SecretString: kubeconfigOf(port) } }));
    await using bundle = await loadBundle(synthesized.bundles.sweep, {
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.url,
    });
    const body = encodeTarget({ cluster: { name: 'silent', provider: 'eks' }, kubeconfigSecret: SECRET }, 0);
    const record = { messageId: '1', eventSource: 'aws:sqs', attributes: { MessageGroupId: 'silent' }, body };

    const startedAt = performance.now();
    const answered = await bundle.invoke({ Records: [record] }, 10_500);
    silent.close();

    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(answered).toEqual({ result: { batchItemFailures: [] } });
    expect(emfRecords(bundle.output())).toMatchObject([{ metrics: { SweepsIncomplete: [1] } }]);
    expect(bundle.output()).toContain('"kind":"aborted"');
  });

  it('fails when a cluster is not in the queue, and counts those that are', async () => {
    const { answered, emf } = await dispatch({}, (call) =>
      entriesOf(call).length === 2 ? refusal('AccessDenied', 403) : accept(call),
    );
    expect(answered.error).toContain('2 of 12 clusters will not be swept');
    expect(emf).toMatchObject([{ metrics: { Dispatched: [10] } }]);
  });
});
