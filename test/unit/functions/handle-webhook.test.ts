import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import { decodeWaitingHint, type WaitingHint } from '../../../lambdas/contracts/waiting-hint.ts';
import { hintPath, PROOF_HEADER, proofOf } from '../../../lambdas/fleet/webhook-token.ts';
import { createWebhookHandler, type WebhookAnswer } from '../../../lambdas/functions/handle-webhook.ts';
import { valueOf } from '../contracts/value-of.ts';

const KEY = randomBytes(32).toString('hex');
const NEW_KEY = randomBytes(32).toString('hex');
const NOW = Date.parse('2026-11-23T10:00:01.000Z');
const UID = randomUUID();
const never = new AbortController().signal;
const UNREADABLE = new AwsError({ kind: 'denied', object: 'secret', problem: 'access is denied', remedy: 'Allow it.' });

/** Source: AWS Lambda Developer Guide, "Invoking Lambda function URLs", request payload format. */
const call = (changed: { path?: string; method?: string; body?: unknown; isBase64Encoded?: boolean } = {}) => {
  const { path = hintPath(KEY, 'paris'), method = 'POST', body = review(UID), isBase64Encoded = false } = changed;
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath: path,
    rawQueryString: 'timeout=1s',
    headers: { 'content-type': 'application/json' },
    requestContext: {
      http: { method, path, protocol: 'HTTP/1.1', sourceIp: '203.0.113.7', userAgent: 'kube-apiserver' },
    },
    body,
    isBase64Encoded,
  };
};
/** Source: Kubernetes API reference, admission.k8s.io/v1 AdmissionReview. */
const review = (uid: unknown) =>
  JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: { uid, operation: 'CREATE' } });

function start() {
  let salts = 0;
  const world = { now: NOW, key: KEY as string | AwsError, reads: 0 };
  const waiting: (WaitingHint & { delay: number })[] = [];
  const handle = createWebhookHandler({
    async readKey() {
      world.reads += 1;
      if (world.key instanceof AwsError) throw world.key;
      return world.key;
    },
    async wait(body, delay) {
      waiting.push({ ...valueOf(decodeWaitingHint(body)), delay });
    },
    salt: () => `salt${(salts += 1)}`,
    clock: () => world.now,
  });
  return { world, waiting, handle: async (event: unknown = call()) => handle(event, never) };
}

const proofIn = ({ headers }: WebhookAnswer) => headers[PROOF_HEADER];
const uidIn = ({ body }: WebhookAnswer): unknown => JSON.parse(body).response.uid;

describe('the webhook', () => {
  it('makes the cluster of the token wait until the end of an interval, and allows the request', async () => {
    const { waiting, handle } = start();
    const answer = await handle();
    expect(waiting).toEqual([{ id: 'paris', due: NOW + 2_000, delay: 2, fresh: true }]);
    expect(answer.statusCode).toBe(200);
    expect(JSON.parse(answer.body)).toEqual({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: { uid: UID, allowed: true },
    });
    expect(proofIn(answer)).toBe(proofOf(KEY, 'accepted', UID, 'salt1'));
  });

  it.each([
    ['the token of another cluster', call({ path: hintPath(KEY, 'paris').replace('paris', 'rome') })],
    ['a token of another key', call({ path: hintPath(NEW_KEY, 'paris') })],
    ['another path', call({ path: '/' })],
    ['another method', call({ method: 'GET' })],
    ['a method in small letters', call({ method: 'post' })],
    ['nothing that a function URL sends', {}],
    ['nothing at all', null],
  ])('does nothing for %s, and answers as ever', async (_, event) => {
    const { waiting, handle } = start();
    const answer = await handle(event);
    const accepted = await handle();
    expect(waiting).toHaveLength(1);
    const uid = event !== null && 'body' in event ? UID : '';
    expect(proofIn(answer)).toBe(proofOf(KEY, 'refused', uid, 'salt1'));
    // Who has not the key sees no difference but that of a random text.
    const shown = ({ headers, ...rest }: WebhookAnswer) => ({
      ...rest,
      headers: { ...headers, [PROOF_HEADER]: headers[PROOF_HEADER]?.length },
    });
    expect(shown(answer)).toEqual(shown({ ...accepted, body: accepted.body.replace(UID, uid) }));
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
  ])('repeats no uid of %s, and looks at the cluster all the same', async (_, body) => {
    const { waiting, handle } = start();
    expect(uidIn(await handle(call({ body })))).toBe('');
    expect(waiting).toHaveLength(1);
  });

  it('shows no difference between two answers to the same call, and so none to that of a token that is taken', async () => {
    const { handle } = start();
    const forged = call({ path: hintPath(NEW_KEY, 'paris') });
    const proofs = [proofIn(await handle(forged)), proofIn(await handle(forged)), proofIn(await handle())];
    expect(new Set(proofs).size).toBe(3);
  });

  it('makes one hint of a flood of a cluster in three seconds, replays among them, and forgets no other cluster', async () => {
    const { world, waiting, handle } = start();
    const flood = call();
    for (let index = 0; index < 10_000; index += 1) {
      world.now = NOW + Math.floor(index * 6);
      await handle(flood);
    }
    // A minute: twenty intervals and the rest of the first one.
    expect(waiting).toHaveLength(21);
    expect(new Set(waiting.map(({ due }) => due)).size).toBe(21);
    await handle(call({ path: hintPath(KEY, 'rome') }));
    expect(waiting).toHaveLength(22);
  });

  it('remembers a bounded number of clusters', async () => {
    const { waiting, handle } = start();
    const paths = Array.from({ length: 1_001 }, (_, index) => hintPath(KEY, `c${index}`));
    for (const path of [...paths, ...paths.slice(-1), ...paths.slice(0, 1)]) await handle(call({ path }));
    expect(waiting).toHaveLength(1_002);
  });

  it('tries again when a hint could not be sent', async () => {
    let tries = 0;
    const handle = createWebhookHandler({
      readKey: async () => KEY,
      async wait() {
        tries += 1;
        throw UNREADABLE;
      },
      salt: () => 'salt',
      clock: () => NOW,
    });
    await expect(handle(call(), never)).rejects.toBe(UNREADABLE);
    await expect(handle(call(), never)).rejects.toBe(UNREADABLE);
    expect(tries).toBe(2);
  });

  it('reads the key every five minutes, and takes no token of the one before then', async () => {
    const { world, waiting, handle } = start();
    await handle();
    world.key = NEW_KEY;
    world.now += 5 * 60_000 - 1;
    await handle();
    expect([world.reads, waiting.length]).toEqual([1, 2]);
    world.now += 3_000;
    expect(proofIn(await handle())).toBe(proofOf(NEW_KEY, 'refused', UID, 'salt3'));
    await handle(call({ path: hintPath(NEW_KEY, 'paris') }));
    expect([world.reads, waiting.length]).toEqual([2, 3]);
  });

  it('fails once in ten seconds while the key cannot be read, believes nothing, and lets every request pass', async () => {
    const { world, waiting, handle } = start();
    world.key = UNREADABLE;
    await expect(handle()).rejects.toBe(UNREADABLE);
    for (let index = 0; index < 100; index += 1) {
      const answer = await handle();
      expect([uidIn(answer), proofIn(answer)]).toEqual([UID, '']);
    }
    expect([world.reads, waiting.length]).toEqual([1, 0]);
    world.now += 10_000;
    world.key = KEY;
    await handle();
    expect([world.reads, waiting.length]).toEqual([2, 1]);
  });
});
