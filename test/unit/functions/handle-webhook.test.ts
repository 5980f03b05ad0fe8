import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import { sweepPath } from '../../../lambdas/fleet/webhook-token.ts';
import { createWebhookHandler } from '../../../lambdas/functions/handle-webhook.ts';

const KEY = randomBytes(32).toString('hex');
const NEW_KEY = randomBytes(32).toString('hex');
const NOW = Date.parse('2026-11-23T10:00:01.000Z');
const UID = randomUUID();
const FAILURE = new AwsError({ kind: 'denied', object: 'lambda', problem: 'access is denied', remedy: 'Allow it.' });

/** Source: AWS Lambda Developer Guide, "Invoking Lambda function URLs", request payload format. */
const call = (changed: { path?: string; method?: string; body?: unknown } = {}) => {
  const { path = sweepPath(KEY, 'paris'), method = 'POST', body = review(UID) } = changed;
  return {
    version: '2.0',
    rawPath: path,
    rawQueryString: 'timeout=1s',
    requestContext: { http: { method, path, sourceIp: '203.0.113.7', userAgent: 'kube-apiserver' } },
    body,
    isBase64Encoded: false,
  };
};
/** Source: Kubernetes API reference, admission.k8s.io/v1 AdmissionReview. */
const review = (uid: unknown) =>
  JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: { uid, operation: 'CREATE' } });

function start() {
  const world = {
    now: NOW,
    readKey: async () => KEY,
    sweep: async (_lane: string): Promise<void> => undefined,
    reads: 0,
  };
  const started: string[] = [];
  const logged: unknown[] = [];
  const handle = createWebhookHandler({
    async readKey() {
      world.reads += 1;
      return world.readKey();
    },
    starts: ['default', 'onprem'].map((lane) => async (id) => {
      started.push(`${lane} ${id}`);
      await world.sweep(lane);
    }),
    log: (error) => void logged.push(error),
    clock: () => world.now,
  });
  return {
    world,
    started,
    logged,
    answer: async (event: unknown = call()) => {
      const { statusCode, body } = await handle(event);
      return [statusCode, JSON.parse(body).response];
    },
    handle,
  };
}

const allowed = (uid: string = UID) => ({ uid, allowed: true });

describe('the webhook', () => {
  it('starts the sweep of each lane of the cluster of the token, and allows the request', async () => {
    const { started, handle } = start();
    expect(await handle(call())).toEqual({
      statusCode: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: allowed() }),
    });
    expect(started).toEqual(['default paris', 'onprem paris']);
  });

  it.each([
    ['the token of another cluster', call({ path: sweepPath(KEY, 'paris').replace('paris', 'rome') })],
    ['a token of another key', call({ path: sweepPath(NEW_KEY, 'paris') })],
    ['another path', call({ path: '/' })],
    ['another method', call({ method: 'GET' })],
    ['a method in small letters', call({ method: 'post' })],
    ['nothing that a function URL sends', {}],
    ['nothing at all', null],
  ])('starts nothing for %s, says so by the status, and allows the request', async (_, event) => {
    const { started, logged, answer } = start();
    expect(await answer(event)).toEqual([403, allowed(event !== null && 'body' in event ? UID : '')]);
    expect([started, logged]).toEqual([[], []]);
  });

  it.each([
    ['no body', null],
    ['no JSON', 'x'],
    ['no object', '[]'],
    ['no request', '{}'],
    ['a uid that is none', review('<script>')],
    ['a uid with a line break', review(`${UID}\n`)],
    ['a uid of a thousand letters', review('a'.repeat(1_000))],
    ['a uid that is a number', review(7)],
    ['3 MB', review(UID).replace('{', `{"x":"${'x'.repeat(3_000_000)}",`)],
    ['3 MB of brackets', '['.repeat(3_000_000)],
    ['a body in base64', Buffer.from(review(UID)).toString('base64')],
  ])('repeats no uid of %s, and starts the sweep all the same', async (_, body) => {
    const { started, answer } = start();
    expect(await answer(call({ body }))).toEqual([200, allowed('')]);
    expect(started).toHaveLength(2);
  });

  it('starts one sweep of a cluster in a second and a half, replays among them, and forgets no other cluster', async () => {
    const { world, started, answer } = start();
    for (; world.now < NOW + 60_000; world.now += 6) expect(await answer()).toEqual([200, allowed()]);
    expect(started).toHaveLength(2 * 40);
    await answer(call({ path: sweepPath(KEY, 'rome') }));
    expect(started).toHaveLength(2 * 41);
  });

  it('remembers a bounded number of clusters', async () => {
    const { started, answer } = start();
    const paths = Array.from({ length: 1_001 }, (_, index) => sweepPath(KEY, `c${index}`));
    for (const path of [...paths, ...paths.slice(-1), ...paths.slice(0, 1)]) await answer(call({ path }));
    expect(started).toHaveLength(2 * 1_002);
  });

  it('logs a sweep that could not be started, without the token, and starts that of the other lane', async () => {
    const { world, started, logged, answer } = start();
    world.sweep = async (lane) => {
      if (lane === 'default') throw FAILURE;
    };
    expect(await answer()).toEqual([503, allowed()]);
    expect(started).toHaveLength(2);
    expect(logged).toEqual([FAILURE]);
  });

  it.each(['key', 'sweep'] as const)('answers within a second when AWS does not: %s', async (what) => {
    const { world, answer } = start();
    const silent = async () => new Promise<never>(() => undefined);
    if (what === 'key') world.readKey = silent;
    else world.sweep = silent;
    const began = performance.now();
    expect(await answer()).toEqual([503, allowed()]);
    expect(performance.now() - began).toBeLessThan(1_000);
  });

  it('reads the key every five minutes, and takes no token of the one before then', async () => {
    const { world, started, answer } = start();
    await answer();
    world.readKey = async () => NEW_KEY;
    world.now = NOW + 300_000 - 1;
    expect(await answer()).toEqual([200, allowed()]);
    world.now += 1;
    expect(await answer()).toEqual([403, allowed()]);
    expect(await answer(call({ path: sweepPath(NEW_KEY, 'rome') }))).toEqual([200, allowed()]);
    expect([world.reads, started.length]).toEqual([2, 6]);
  });

  it('fails once in ten seconds while the key cannot be read, believes nothing, and lets every request pass', async () => {
    const { world, started, logged, answer } = start();
    world.readKey = async () => Promise.reject(FAILURE);
    for (let index = 0; index < 100; index += 1) expect(await answer()).toEqual([503, allowed()]);
    world.now += 9_999;
    await answer();
    expect([world.reads, started, logged]).toEqual([1, [], [FAILURE]]);
    world.now += 1;
    world.readKey = async () => KEY;
    expect(await answer()).toEqual([200, allowed()]);
    expect(world.reads).toBe(2);
  });
});
