import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { SweepItem } from '../../../lambdas/contracts/order.ts';
import { readOutcomes } from '../../../lambdas/fleet/outcomes.ts';
import { ordersKey, outcomesKey, STATE_KEYS } from '../../../lambdas/fleet/state-keys.ts';
import { sweepPath } from '../../../lambdas/fleet/webhook-token.ts';
import { jsonBytes, jsonOf } from '../../../lambdas/json-bytes.ts';
import { type HttpCall, s3Refusal, startHttpService } from '../aws/http-service.ts';
import { startJsonService } from '../aws/json-service.ts';
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
].join('\n');

let synthesized: Synthesized;
beforeAll(async () => {
  synthesized = await synthesize(FLEET);
});
afterAll(async () => synthesized?.[Symbol.asyncDispose]());

/** An SQS that takes everything; the SDK compares the hash. */
/** S3 with the bucket of the state, and no other; the SDK names a bucket of an address in the path. */
async function startState(initial: Readonly<Record<string, unknown>> = {}) {
  const objects = new Map<string, Uint8Array>();
  const put = async (key: string, value: unknown) =>
    objects.set(key, (await jsonBytes(key, value)) ?? new Uint8Array());
  for (const [key, value] of Object.entries(initial)) await put(key, value);
  const service = await startHttpService(({ method, path, bytes }: HttpCall) => {
    if (!path.startsWith('/state')) return s3Refusal('AccessDenied', 403);
    const key = decodeURIComponent(path.replace(/^\/state\//, ''));
    const headers = {
      etag: `"${createHash('md5')
        .update(objects.get(key) ?? '')
        .digest('hex')}"`,
    };
    if (path === '/state' || path === '/state/')
      return { body: '<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>' };
    if (method === 'PUT') objects.set(key, bytes);
    const body = objects.get(key);
    if (body === undefined) return s3Refusal('NoSuchKey', 404);
    return method === 'PUT' ? { headers } : { headers, body };
  });
  const read = async (key: string) => jsonOf(objects.get(key) ?? new Uint8Array());
  return { url: service.url, objects, read, [Symbol.asyncDispose]: service[Symbol.asyncDispose] };
}

const HUB = { STATE_BUCKET: 'state', HUB_ACCOUNT: '123456789012', HUB_PARTITION: 'aws' };

async function runPlan(s3: string, event: unknown) {
  await using bundle = await loadBundle(synthesized.bundles.plan, {
    ...HUB,
    LANE_FUNCTIONS: JSON.stringify({ default: 'CertMarshal-sweep-default' }),
    AWS_ENDPOINT_URL_S3: s3,
  });
  const answered = await bundle.invoke(event, 30_000);
  return { answered, emf: emfRecords(bundle.output()) };
}

async function runReport(s3: string, event: unknown) {
  await using bundle = await loadBundle(synthesized.bundles.report, {
    ...HUB,
    LANES: JSON.stringify(['default']),
    AWS_ENDPOINT_URL_S3: s3,
  });
  const answered = await bundle.invoke(event, 30_000);
  return { answered, emf: emfRecords(bundle.output()) };
}

const ITEM: SweepItem = { function: 'CertMarshal-sweep-default', lane: 'default', tick: 0, object: 0, shard: 0 };
let TICK = 0;
let tick = '';
let item = ITEM;
// An order is refused after three minutes.
beforeEach(() => {
  TICK = Math.floor(Date.now() / 60_000) * 60_000;
  tick = new Date(TICK).toISOString();
  item = { ...ITEM, tick: TICK };
});

/** A bucket with an order for one cluster. */
const ordered = async (order: object) =>
  startState({
    [ordersKey('default', TICK, 0)]: {
      version: 5,
      lane: 'default',
      tick: TICK,
      shards: [{ shard: 0, orders: [{ facts: {}, tick: TICK, deadlineMs: 45_000, endpointAddresses: [], ...order }] }],
    },
  });

type StateBucket = Awaited<ReturnType<typeof startState>>;
const sweepEvent = () => ({ item, began: new Date().toISOString() });
const outcomesIn = async ({ read }: StateBucket) =>
  readOutcomes(await read(outcomesKey('default', TICK, 0))).map((outcome) =>
    outcome.ok ? outcome.value : outcome.problem,
  );

/** The first of the fleet. */
const ID = 'cluster-0';

function kubeconfigOf(port: number): string {
  return JSON.stringify({
    clusters: [{ name: 'c', cluster: { server: `https://127.0.0.1:${port}` } }],
    users: [{ name: 'u', user: { token: 'a-token' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
}

describe('the bundles that synthesis makes', () => {
  it.each(['plan', 'sweep', 'report', 'notify'] as const)('loads at most 900 kB for %s', async (name) => {
    expect(await loadedBytes(synthesized.bundles[name])).toBeLessThan(900_000);
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

  it('writes index and registry in report, then orders in plan for every cluster of the fleet', async () => {
    await using state = await startState();
    // The first tick: there is nothing to sweep yet.
    expect(await runPlan(state.url, { tick })).toMatchObject({ answered: { result: [] } });
    expect((await runReport(state.url, { tick, shards: [], outcomes: [] })).answered).toEqual({});
    expect([...state.objects.keys()].toSorted()).toEqual([STATE_KEYS.index, STATE_KEYS.registry]);

    const { answered, emf } = await runPlan(state.url, { tick });
    expect(answered).toEqual({ result: [item] });
    const orders = await state.read(ordersKey('default', TICK, 0));
    expect(JSON.stringify(orders).match(/"id":"cluster-\d+"/g)).toHaveLength(CLUSTERS.length);
    expect(emf).toMatchObject([
      { namespace: 'certmarshal', dimensions: { service: 'plan' }, metrics: { Dispatched: [12], Registered: [12] } },
    ]);
  });

  it('fails in plan and report while S3 does not answer', async () => {
    const nowhere = 'http://127.0.0.1:1';
    for (const { answered } of [
      await runPlan(nowhere, { tick }),
      await runReport(nowhere, { tick, error: 'AwsError' }),
    ])
      expect(answered.error).toContain('s3:GetObject s3://state/');
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
    await using state = await ordered({ id: ID });
    await using bundle = await loadBundle(bundlePath, {
      ...SWEEP_ENVIRONMENT,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.url,
      AWS_ENDPOINT_URL_S3: state.url,
    });
    const answered = await bundle.invoke(sweepEvent(), 12_000);
    silent.close();
    return { answered, output: bundle.output(), outcomes: await outcomesIn(state), connections };
  }

  it('ends a sweep before Lambda would, and reports it as incomplete', async () => {
    const { answered, output, outcomes } = await sweepSilent(await reachingLoopback(synthesized.bundles.sweep));
    expect(answered).toEqual({ result: { shard: 0 } });
    expect(emfRecords(output)).toMatchObject([{ metrics: { SweepsIncomplete: [1] } }]);
    expect(output).toContain('"kind":"aborted"');
    // A try is given up after 10 s, and made again.
    expect(output).toContain('"retries":0');
    expect(outcomes).toMatchObject([{ id: ID, readable: false }]);
  });

  it('connects to no server of its own machine, whatever the secret says', async () => {
    const { answered, outcomes, connections } = await sweepSilent(synthesized.bundles.sweep);
    expect(answered).toEqual({ result: { shard: 0 } });
    expect(outcomes).toMatchObject([
      {
        id: ID,
        readable: false,
        problems: [{ kind: 'invalid', message: expect.stringContaining('127.0.0.1 is a loopback, link-local') }],
      },
    ]);
    expect(connections).toBe(0);
  });

  it('begins no sweep of an execution that began long ago', async () => {
    await using state = await ordered({ id: ID });
    await using bundle = await loadBundle(synthesized.bundles.sweep, {
      ...SWEEP_ENVIRONMENT,
      AWS_ENDPOINT_URL_S3: state.url,
    });
    const began = new Date(Date.now() - 201_000).toISOString();
    expect((await bundle.invoke({ item, began })).error).toMatch(/^NotBegun: /);
    expect([...state.objects.keys()]).toEqual([ordersKey('default', TICK, 0)]);
  });
});

describe('an order that fleet.yaml does not have', () => {
  it('is a finding, with the secret of another account never read', async () => {
    await using secretsManager = await startJsonService(() => ({ body: { SecretString: 'no kubeconfig' } }));
    await using state = await ordered({ id: 'foreign' });
    await using bundle = await loadBundle(synthesized.bundles.sweep, {
      ...SWEEP_ENVIRONMENT,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.url,
      AWS_ENDPOINT_URL_S3: state.url,
    });
    expect(await bundle.invoke(sweepEvent())).toEqual({ result: { shard: 0 } });
    expect(secretsManager.calls).toEqual([]);
    expect(await outcomesIn(state)).toMatchObject([
      { id: 'foreign', untried: true, problems: [{ kind: 'order', object: 'cluster foreign' }] },
    ]);
  });
});

describe('the audit that a sweep loads late', () => {
  it('tells of a cluster that it cannot open, while its snapshot cannot be read', async () => {
    await using secretsManager = await startJsonService(() => ({ body: { SecretString: 'no kubeconfig' } }));
    await using state = await ordered({ id: ID, audit: {} });
    await using bundle = await loadBundle(synthesized.bundles.sweep, {
      ...SWEEP_ENVIRONMENT,
      AWS_ENDPOINT_URL_S3: state.url,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.url,
    });
    expect(await bundle.invoke(sweepEvent())).toEqual({ result: { shard: 0 } });
    expect(await outcomesIn(state)).toMatchObject([
      {
        id: ID,
        readable: false,
        audit: { partial: true, snapshotProblem: expect.stringContaining('snapshots/cluster-0.json.gz') },
      },
    ]);
    expect(emfRecords(bundle.output())).toMatchObject([{ metrics: { Audits: [1], SnapshotsUnwritten: [1] } }]);
  });
});

describe('the webhook', () => {
  it('reads the key, starts the sweep of a cluster, and answers the API server', async () => {
    await using made = await synthesize(`${FLEET}\nhub: { webhook: true }`);
    const webhookBundle = made.webhookBundle ?? '';
    const key = randomBytes(32).toString('hex');
    await using secretsManager = await startJsonService(() => ({ body: { SecretString: key } }));
    await using lambda = await startHttpService(() => ({ status: 202 }));
    await using bundle = await loadBundle(webhookBundle, {
      KEY_SECRET_ARN: 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:key-AbCdEf',
      LANE_FUNCTIONS: JSON.stringify({ default: 'CertMarshal-sweep-default' }),
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.url,
      AWS_ENDPOINT_URL_LAMBDA: lambda.url,
    });
    const uid = randomUUID();
    const call = async (path: string) =>
      bundle.invoke(
        {
          rawPath: path,
          requestContext: { http: { method: 'POST' } },
          body: JSON.stringify({ request: { uid } }),
        },
        10_000,
      );
    const path = sweepPath(key, 'paris');
    expect([await call(path), await call(path.replace('paris', 'rome'))]).toMatchObject(
      [200, 403].map((statusCode) => ({ result: { statusCode, body: expect.stringContaining(uid) } })),
    );
    expect(lambda.calls.map(({ path: called, bytes }) => [called, bytes.toString()])).toEqual([
      ['/2015-03-31/functions/CertMarshal-sweep-default/invocations', '{"cluster":"paris"}'],
    ]);
    expect(await loadedBytes(webhookBundle)).toBeLessThan(600_000);
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
