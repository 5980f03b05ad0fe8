import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import { PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { WEBHOOK_EVERY_MS } from '../../lambdas/fleet/deadlines.ts';
import { sweepPath } from '../../lambdas/fleet/webhook-token.ts';
import type { Account } from './account.ts';
import type { MiniStack } from './ministack.ts';

const SWEPT_WITHIN_MS = 60_000;

export interface WebhookOptions {
  readonly hub: Account;
  /** Of the state. */
  readonly bucket: string;
  readonly ministack: MiniStack;
  /** Outputs of the hub: the URL of its webhook, and the secret of the key. */
  readonly url: string;
  readonly keyArn: string;
  /** Id of a cluster whose requests are judged at once. */
  readonly cluster: string;
}

/** A call with a wrong token is refused; one with the right token has the cluster swept by the deployed functions, between two ticks. */
export async function expectWebhook({ hub, bucket, ministack, url, keyArn, cluster }: WebhookOptions): Promise<void> {
  // The emulator puts punctuation into the key that it makes, which the template excludes. This is how a person changes the key.
  const key = randomBytes(32).toString('hex');
  await hub.secrets.send(new PutSecretValueCommand({ SecretId: keyArn, SecretString: key }));
  const sweeps = async () => {
    const { Contents = [] } = await hub.s3.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: 'outcomes/' }));
    return Contents.filter(({ Key = '' }) => Key.includes('/webhook-')).length;
  };
  const expectStatus = async (expected: number, path: string, what: string): Promise<void> => {
    const uid = randomUUID();
    const { status, body } = await post(new URL(path, url), JSON.stringify({ request: { uid } }), ministack);
    assert.equal(status, expected, `${what}: ${body}`);
    assert.deepEqual(JSON.parse(body).response, { uid, allowed: true }, 'the answer to the webhook');
  };
  await expectStatus(403, sweepPath('another'.repeat(10), cluster), 'the token of another key');
  const [token] = sweepPath(key, 'another').split('/').slice(-1);
  await expectStatus(403, `/sweep/${cluster}/${token}`, 'the token of another cluster');
  await sleep(5_000);
  assert.equal(await sweeps(), 0, 'sweeps by wrong tokens');
  for (const deadline = Date.now() + SWEPT_WITHIN_MS; (await sweeps()) === 0; await sleep(WEBHOOK_EVERY_MS)) {
    assert.ok(Date.now() < deadline, `no sweep of ${cluster} by its webhook within ${SWEPT_WITHIN_MS} ms`);
    await expectStatus(200, sweepPath(key, cluster), 'the token of the cluster');
  }
}

/** The emulator knows the URL by its host name. */
async function post(
  url: URL,
  body: string,
  { endpoint, caPem }: MiniStack,
): Promise<{ readonly status: number | undefined; readonly body: string }> {
  const sent = request(`${endpoint}${url.pathname}`, {
    method: 'POST',
    ca: caPem,
    servername: 'localhost',
    agent: false,
    headers: { host: url.host, 'content-type': 'application/json' },
  });
  sent.end(body);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the event "response" carries
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: answer.statusCode, body: await text(answer) };
}
