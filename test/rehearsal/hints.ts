import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { reviewOf } from '../../lambdas/contracts/admission-review.ts';
import { hintPath, PROOF_HEADER, provesAccepted } from '../../lambdas/fleet/webhook-token.ts';
import { METRIC } from '../../lambdas/telemetry/metric-names.ts';
import type { Account } from './account.ts';
import { logsOf } from './function-logs.ts';
import type { MiniStack } from './ministack.ts';

const SWEPT_WITHIN_MS = 60_000;

export interface HintsOptions {
  readonly hub: Account;
  readonly ministack: MiniStack;
  /** Outputs of the hub: its URL for hints, and the secret of their key. */
  readonly url: string;
  readonly keyArn: string;
  /** Id of a cluster whose requests are judged at once. */
  readonly cluster: string;
}

/** A forged hint is answered as a true one is, and refused; the true one has the cluster swept by the deployed functions, between two ticks. */
export async function expectHints({ hub, ministack, url, keyArn, cluster }: HintsOptions): Promise<void> {
  // The emulator puts punctuation into the key that it makes, which the template excludes. This is how a person changes the key.
  const key = randomBytes(32).toString('hex');
  await hub.secrets.send(new PutSecretValueCommand({ SecretId: keyArn, SecretString: key }));
  const sweeps = async () =>
    [...(await logsOf(hub.calls)).values()].join('\n').split(`"${METRIC.hintedSweeps}":`).length;
  const isAccepted = async (path: string): Promise<boolean> => {
    const uid = randomUUID();
    const { status, proof, body } = await post(new URL(path, url), reviewOf(uid), ministack);
    assert.equal(status, 200, body);
    assert.deepEqual(JSON.parse(body).response, { uid, allowed: true }, 'the answer to the webhook');
    return provesAccepted(key, uid, proof);
  };
  const before = await sweeps();
  assert.equal(await isAccepted(hintPath('another'.repeat(10), cluster)), false, 'a forged hint');
  const [token] = hintPath(key, 'another').split('/').slice(-1);
  assert.equal(await isAccepted(`/hint/${cluster}/${token}`), false, 'the token of another cluster');
  // A hint of the same interval would be one with it.
  await sleep(5_000);
  assert.equal(await sweeps(), before, 'sweeps by forged hints');
  assert.equal(await isAccepted(hintPath(key, cluster)), true, 'a hint of the cluster');
  for (const deadline = Date.now() + SWEPT_WITHIN_MS; (await sweeps()) === before; await sleep(500))
    assert.ok(Date.now() < deadline, `no sweep of ${cluster} by its hint within ${SWEPT_WITHIN_MS} ms`);
}

/** The emulator knows the URL by its host name. */
async function post(
  url: URL,
  body: string,
  { endpoint, caPem }: MiniStack,
): Promise<{ readonly status: number | undefined; readonly proof: string; readonly body: string }> {
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
  return { status: answer.statusCode, proof: String(answer.headers[PROOF_HEADER]), body: await text(answer) };
}
