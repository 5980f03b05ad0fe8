import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeOrders, deduplicationIdOf, encodeOrders } from '../../../lambdas/contracts/order.ts';
import { encodeReportStart } from '../../../lambdas/contracts/report-start.ts';
import type { Target } from '../../../lambdas/contracts/target.ts';
import { decodeOutcomes } from '../../../lambdas/fleet/outcome-message.ts';
import { hintPath } from '../../../lambdas/fleet/webhook-token.ts';
import {
  type JsonService,
  refusal,
  type ServiceAnswer,
  type ServiceCall,
  startJsonService,
} from '../aws/json-service.ts';
import { type Synthesized, synthesize } from '../lib/synthesize.ts';
import { emfRecords } from '../telemetry/emf.ts';
import { loadBundle, SWEEP_ENVIRONMENT } from './invoke-bundle.ts';
import { reachingLoopback } from './reach-loopback.ts';

const CLUSTERS = Array.from({ length: 12 }, (_, index) => `cluster-${index}`);
const FLEET = [
  'version: 1',
  'clusters:',
  ...CLUSTERS.flatMap((name) => [
    `  - name: ${name}`,
    '    provider: eks',
    `    kubeconfigSecret: arn:aws:secretsmanager:eu-west-1:123456789012:secret:${name}-AbCdEf`,
  ]),
  'hub: { webhook: true }',
].join('\n');

let synthesized: Synthesized;
beforeAll(async () => {
  synthesized = await synthesize(FLEET);
});
afterAll(async () => synthesized?.[Symbol.asyncDispose]());

interface Entry {
  readonly Id: string;
  readonly MessageBody: string;
  readonly MessageGroupId: string;
  readonly MessageDeduplicationId: string;
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the shape of SendMessageBatch
const entriesOf = ({ input }: ServiceCall) => input['Entries'] as readonly Entry[];

const isBatch = ({ operation }: ServiceCall) => operation.endsWith('SendMessageBatch');

/** S3 cannot be reached: the listed clusters are swept all the same. */
async function dispatch(event: unknown, answer: (call: ServiceCall) => ServiceAnswer) {
  await using sqs = await startJsonService((call) => (isBatch(call) ? answer(call) : received(call)));
  await using bundle = await loadBundle(synthesized.bundles.dispatch, {
    STATE_BUCKET: 'state',
    LANE_QUEUE_URLS: JSON.stringify({ default: `${sqs.url}/123456789012/orders.fifo` }),
    OUTCOMES_QUEUE_URL: `${sqs.url}/123456789012/outcomes`,
    STARTS_QUEUE_URL: `${sqs.url}/123456789012/starts`,
    HUB_ACCOUNT: '123456789012',
    HUB_PARTITION: 'aws',
    AWS_ENDPOINT_URL_SQS: sqs.url,
    AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1',
  });
  const answered = await bundle.invoke(event, 30_000);
  return {
    answered,
    entries: sqs.calls.filter(isBatch).flatMap(entriesOf),
    outcomes: outcomesIn(sqs),
    starts: sentTo(sqs, 'starts'),
    emf: emfRecords(bundle.output()),
  };
}

/** Inputs of SendMessage. */
const sentTo = ({ calls }: JsonService, queue: string) =>
  calls.map(({ input }) => input).filter(({ QueueUrl }) => String(QueueUrl).endsWith(`/${queue}`));

const outcomesIn = (sqs: JsonService) =>
  sentTo(sqs, 'outcomes').flatMap(({ MessageBody }) =>
    decodeOutcomes(String(MessageBody)).map((outcome) => (outcome.ok ? outcome.value : outcome.problem)),
  );

/** What SendMessage answers; the SDK compares the hash. */
const received = ({ input }: ServiceCall): ServiceAnswer => ({
  body: { MessageId: '1', MD5OfMessageBody: createHash('md5').update(String(input['MessageBody'])).digest('hex') },
});

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

/** The first of the fleet. */
const TARGET: Target = {
  id: 'cluster-0',
  cluster: { name: 'cluster-0', provider: 'eks' },
  access: { kind: 'kubeconfig', secret: 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:cluster-0-AbCdEf' },
  lane: 'default',
};

function kubeconfigOf(port: number): string {
  return JSON.stringify({
    clusters: [{ name: 'c', cluster: { server: `https://127.0.0.1:${port}` } }],
    users: [{ name: 'u', user: { token: 'a-token' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
}

describe('the bundles that synthesis makes', () => {
  it.each(['sweep', 'dispatch', 'report', 'notify'] as const)('loads at most 900 kB for %s', async (name) => {
    expect(await loadedBytes(synthesized.bundles[name])).toBeLessThan(900_000);
  });

  it('loads hint too', async () => {
    if (synthesized.hintBundle === undefined) throw new Error('no hint');
    await using bundle = await loadBundle(synthesized.hintBundle, {
      STATE_BUCKET: 'state',
      LANE_QUEUE_URLS: '{}',
      WAITING_QUEUE_URL: 'http://127.0.0.1:1/waiting',
      HUB_ACCOUNT: '123456789012',
      HUB_PARTITION: 'aws',
    });
    expect(await bundle.invoke({ Records: [] }, 10_000)).toEqual({});
  });

  it('reads the key in webhook, sends a hint, and answers the API server', async () => {
    if (synthesized.webhookBundle === undefined) throw new Error('no webhook');
    const key = randomBytes(32).toString('hex');
    await using service = await startJsonService((called) =>
      called.operation.endsWith('GetSecretValue') ? { body: { SecretString: key } } : received(called),
    );
    await using bundle = await loadBundle(synthesized.webhookBundle, {
      KEY_SECRET_ARN: 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:key-AbCdEf',
      WAITING_QUEUE_URL: `${service.url}/123456789012/waiting`,
      AWS_ENDPOINT_URL: service.url,
    });
    const uid = randomUUID();
    const call = (path: string) => ({
      rawPath: path,
      requestContext: { http: { method: 'POST' } },
      body: JSON.stringify({ request: { uid } }),
    });
    const answers = [
      await bundle.invoke(call(hintPath(key, 'paris')), 10_000),
      await bundle.invoke(call(hintPath(key, 'paris').replace('paris', 'rome')), 10_000),
    ];
    expect(answers.map((answer) => JSON.stringify(answer))).toEqual([
      expect.stringContaining(uid),
      expect.stringContaining(uid),
    ]);
    expect(service.calls.map(({ operation }) => operation)).toEqual([
      'secretsmanager.GetSecretValue',
      'AmazonSQS.SendMessage',
    ]);
    expect(await loadedBytes(synthesized.webhookBundle)).toBeLessThan(600_000);
  });

  it('fails in notify when nobody can be told, so that CloudWatch tells people itself', async () => {
    await using bundle = await loadBundle(synthesized.bundles.notify, {
      STATE_BUCKET: 'state',
      CRITICAL_TOPIC_ARN: 'arn:aws:sns:eu-west-1:123456789012:critical',
      WARNING_TOPIC_ARN: 'arn:aws:sns:eu-west-1:123456789012:warning',
      PAGER_TOPIC_ARN: 'arn:aws:sns:eu-west-1:123456789012:pager',
      CHAT_TOPIC_ARN: 'arn:aws:sns:eu-west-1:123456789012:chat',
      REPORT_LINKS: 'true',
      AWS_ENDPOINT_URL: 'http://127.0.0.1:1',
    });
    const message = { AlarmName: 'certmarshal-plan-heartbeat', NewStateValue: 'ALARM' };
    const { error } = await bundle.invoke({ Records: [{ Sns: { Message: JSON.stringify(message) } }] }, 25_000);
    expect(error).toBeDefined();
  });

  it('receives in report, and gives its start back when it cannot write', async () => {
    await using sqs = await startJsonService(() => ({ body: {} }));
    await using bundle = await loadBundle(synthesized.bundles.report, {
      STATE_BUCKET: 'state',
      OUTCOMES_QUEUE_URL: `${sqs.url}/123456789012/outcomes`,
      AWS_ENDPOINT_URL_SQS: sqs.url,
      AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1',
    });
    const { error } = await bundle.invoke({ Records: [] }, 30_000);
    expect(error).toContain('s3:GetObject s3://state/fleet-index.json.gz');
    expect(sqs.calls.map(({ operation }) => operation)).toEqual(['AmazonSQS.ReceiveMessage']);
  });

  it('dispatches every cluster of the fleet under the minute of the schedule', async () => {
    const scheduled = new Date();
    const event = { scheduledTime: scheduled.toISOString() };
    const { answered, entries, outcomes, starts, emf } = await dispatch(event, accept);
    expect(answered).toEqual({});
    const tick = new Date(scheduled).setUTCSeconds(0, 0);
    expect(starts).toMatchObject([{ DelaySeconds: 30, MessageBody: encodeReportStart({ tick }) }]);
    const [entry, ...others] = entries;
    if (entry === undefined) throw new Error('nothing was sent');
    expect(others).toEqual([]);
    const decoded = decodeOrders(entry.MessageBody);
    if (!decoded.ok) throw new Error(decoded.problem);
    expect(entry.MessageDeduplicationId).toBe(deduplicationIdOf(entry.MessageGroupId, String(tick)));
    expect(decoded.value.map(({ id = '' }) => id).toSorted()).toEqual(CLUSTERS.toSorted());
    for (const read of decoded.value) expect(read).toMatchObject({ ok: true, value: { tick } });
    expect(outcomes).toMatchObject([{ kind: 'dispatch', registered: 12, dispatched: 12 }]);
    expect(emf).toMatchObject([
      { namespace: 'certmarshal', dimensions: { service: 'dispatch' }, metrics: { Dispatched: [12] } },
    ]);
  });

  it('tolerates a placeholder that nobody replaced', async () => {
    const { answered, entries } = await dispatch({ scheduledTime: '<aws.scheduler.scheduled-time>' }, accept);
    expect(answered).toEqual({});
    expect(entries).toHaveLength(1);
  });

  it('fails when a cluster is not in the queue, and counts those that are', async () => {
    const { answered, emf } = await dispatch({}, (call) =>
      entriesOf(call).length > 0 ? refusal('AccessDenied', 403) : accept(call),
    );
    expect(answered.error).toContain('12 of 12 clusters will not be swept');
    expect(emf).toMatchObject([{ metrics: { Dispatched: [0] } }]);
  });

  /** Accepts connections and says nothing: the worst that a cluster can do. */
  async function sweepSilent(bundlePath: string) {
    const silent = createTcpServer();
    let connections = 0;
    silent.on('connection', () => {
      connections += 1;
    });
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    await using secretsManager = await startJsonService(() => ({ body: { SecretString: kubeconfigOf(port) } }));
    await using sqs = await startJsonService(received);
    await using bundle = await loadBundle(bundlePath, {
      ...SWEEP_ENVIRONMENT,
      OUTCOMES_QUEUE_URL: `${sqs.url}/123456789012/outcomes`,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.url,
      AWS_ENDPOINT_URL_SQS: sqs.url,
    });
    const body = encodeOrders([{ id: TARGET.id, facts: {}, tick: Date.now(), deadlineMs: 45_000 }]);
    const record = { messageId: '1', eventSource: 'aws:sqs', attributes: { MessageGroupId: TARGET.id }, body };

    const answered = await bundle.invoke({ Records: [record] }, 12_000);
    silent.close();
    return { answered, output: bundle.output(), outcomes: outcomesIn(sqs), connections };
  }

  it('ends a sweep before Lambda would, and reports it as incomplete', async () => {
    const { answered, output, outcomes } = await sweepSilent(await reachingLoopback(synthesized.bundles.sweep));
    expect(answered).toEqual({});
    expect(emfRecords(output)).toMatchObject([{ metrics: { SweepsIncomplete: [1] } }]);
    expect(output).toContain('"kind":"aborted"');
    // A try is given up after 10 s, and made again.
    expect(output).toContain('"retries":0');
    expect(outcomes).toMatchObject([{ kind: 'sweep', id: TARGET.id, readable: false }]);
  });

  it('connects to no server of its own machine, whatever the secret says', async () => {
    const { answered, outcomes, connections } = await sweepSilent(synthesized.bundles.sweep);
    expect(answered).toEqual({});
    expect(outcomes).toMatchObject([
      {
        id: TARGET.id,
        readable: false,
        problems: [{ kind: 'invalid', message: expect.stringContaining('127.0.0.1 is a loopback, link-local') }],
      },
    ]);
    expect(connections).toBe(0);
  });
});

describe('an order that fleet.yaml does not have', () => {
  it('is a finding, with the secret of another account never read', async () => {
    await using secretsManager = await startJsonService(() => ({ body: { SecretString: 'no kubeconfig' } }));
    await using sqs = await startJsonService(received);
    await using bundle = await loadBundle(synthesized.bundles.sweep, {
      ...SWEEP_ENVIRONMENT,
      OUTCOMES_QUEUE_URL: `${sqs.url}/123456789012/outcomes`,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.url,
      AWS_ENDPOINT_URL_SQS: sqs.url,
    });
    const body = encodeOrders([{ id: 'foreign', facts: {}, tick: Date.now(), deadlineMs: 45_000 }]);
    const record = { messageId: '1', eventSource: 'aws:sqs', attributes: { MessageGroupId: TARGET.id }, body };
    expect(await bundle.invoke({ Records: [record] }, 60_000)).toEqual({});
    expect(secretsManager.calls).toEqual([]);
    expect(outcomesIn(sqs)).toMatchObject([
      { id: 'foreign', untried: true, problems: [{ kind: 'order', object: 'cluster foreign' }] },
    ]);
  });
});

describe('the audit that a sweep loads late', () => {
  it('tells of a cluster that it cannot open, while S3 cannot be reached', async () => {
    await using secretsManager = await startJsonService(() => ({ body: { SecretString: 'no kubeconfig' } }));
    await using sqs = await startJsonService(received);
    await using bundle = await loadBundle(synthesized.bundles.sweep, {
      ...SWEEP_ENVIRONMENT,
      OUTCOMES_QUEUE_URL: `${sqs.url}/123456789012/outcomes`,
      AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1',
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.url,
      AWS_ENDPOINT_URL_SQS: sqs.url,
    });
    const audit = {};
    const body = encodeOrders([{ id: TARGET.id, facts: {}, tick: Date.now(), deadlineMs: 45_000, audit }]);
    const record = { messageId: '1', eventSource: 'aws:sqs', attributes: { MessageGroupId: TARGET.id }, body };

    expect(await bundle.invoke({ Records: [record] }, 60_000)).toEqual({});
    expect(outcomesIn(sqs)).toMatchObject([
      {
        id: TARGET.id,
        readable: false,
        audit: { partial: true, snapshotProblem: expect.stringContaining('snapshots/cluster-0.json.gz') },
      },
    ]);
    expect(emfRecords(bundle.output())).toMatchObject([{ metrics: { Audits: [1], SnapshotsUnwritten: [1] } }]);
  });
});

/** Of a bundle and all that it loads at once. */
async function loadedBytes(file: string, seen = new Set<string>()): Promise<number> {
  if (seen.has(file)) return 0;
  seen.add(file);
  const code = await readFile(file, 'utf8');
  let bytes = Buffer.byteLength(code);
  for (const [, chunk = ''] of code.matchAll(/(?:from|import)"(\.\/[\w-]+\.mjs)"/g))
    bytes += await loadedBytes(join(dirname(file), chunk), seen);
  return bytes;
}
