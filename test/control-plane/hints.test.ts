import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { credentialsHintsCommand } from '../../bin/commands/credentials/hints.ts';
import { decodeWaitingHint, type WaitingHint } from '../../lambdas/contracts/waiting-hint.ts';
import { hintPath } from '../../lambdas/fleet/webhook-token.ts';
import { createWebhookHandler } from '../../lambdas/functions/handle-webhook.ts';
import { PATIENCE_MS } from '../patience.ts';
import { type FunctionUrl, startFunctionUrl, type Trouble } from '../support/function-url.ts';
import { recordedIo } from '../unit/bin/io.ts';
import { valueOf } from '../unit/contracts/value-of.ts';
import { type Admin, connectAdmin } from './admin.ts';
import { CSRS, createCsr } from './fixtures.ts';
import { createKubeletRequest } from './pki.ts';
import { realComponents } from './real.ts';
import { type ControlPlane, startControlPlane } from './start.ts';

const real = await realComponents('hints of a real kube-apiserver', 'etcd', 'kubeApiserver');
const KEY = randomBytes(32).toString('hex');
const ID = 'mgmt/eksa-system/berlin';
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

describe.skipIf(real.missing)('hints of a real kube-apiserver', () => {
  let controlPlane: ControlPlane;
  let admin: Admin;
  let functionUrl: FunctionUrl;
  let requestPem: string;
  let made = 0;
  const hints: WaitingHint[] = [];

  beforeAll(async () => {
    controlPlane = await startControlPlane({ binaries: real.binaries, controllerManager: false });
    admin = connectAdmin(controlPlane);
    const handle = createWebhookHandler({
      readKey: async () => KEY,
      salt: () => 'salt',
      wait: async (body) => void hints.push(valueOf(decodeWaitingHint(body))),
      clock: Date.now,
    });
    functionUrl = await startFunctionUrl({ handle: async (event) => handle(event, new AbortController().signal) });
    requestPem = (await createKubeletRequest({ nodeName: 'worker-1', dnsNames: ['worker-1'] })).requestPem;
    await switchOn();
  });

  afterEach(() => {
    functionUrl.trouble = undefined;
  });

  afterAll(async () => {
    admin?.close();
    await functionUrl?.[Symbol.asyncDispose]();
    await controlPlane?.stop();
  });

  /** A kubelet asks. @returns how long the API server took, in milliseconds, and what it said to the webhook meanwhile */
  async function ask(signerName?: string) {
    const [before, startedAt] = [functionUrl.calls.length, performance.now()];
    made += 1;
    const csr = await createCsr(admin, {
      name: `csr-${made}`,
      nodeName: 'worker-1',
      requestPem,
      signerName,
      usages: signerName === undefined ? undefined : ['digital signature', 'client auth'],
    });
    const ms = performance.now() - startedAt;
    return { csr, ms, calls: functionUrl.calls.slice(before) };
  }

  /** Applies what the command prints, for the server of this test in the place of the function URL, and waits until the API server knows it. */
  async function switchOn(path?: string): Promise<void> {
    const io = { ...recordedIo(), readWebhook: async () => ({ url: functionUrl.url, key: KEY }) };
    expect(await credentialsHintsCommand({ cluster: ID, output: 'table' }, undefined, signal(), io)).toBe(0);
    const manifest = parse(io.stdout.text());
    const { clientConfig } = manifest.webhooks[0];
    if (path !== undefined) clientConfig.url = `${functionUrl.url}${path}`;
    // The certificate of a function URL is public; this one is not.
    clientConfig.caBundle = Buffer.from(functionUrl.caPem).toString('base64');
    await admin.apply(stringify(manifest));
    const expected = new URL(clientConfig.url).pathname;
    for (const deadline = Date.now() + PATIENCE_MS; ; await delay(100)) {
      const { calls } = await ask();
      if (calls.some((call) => call.path === expected)) break;
      if (Date.now() > deadline) throw new Error('the API server does not call the webhook');
    }
  }

  const signal = () => new AbortController().signal;

  it('arrive, with the id of the cluster, when a kubelet asks for a serving certificate', async () => {
    await nextInterval();
    const before = hints.length;
    const { csr, calls } = await ask();
    expect(csr.spec.username).toBe('system:node:worker-1');
    expect(calls.map(({ path }) => path)).toEqual([hintPath(KEY, ID)]);
    expect(hints.slice(before)).toMatchObject([{ id: ID, fresh: true }]);
  });

  it('are answered so that the API server counts none as failed', async () => {
    const before = await failedOpen();
    await ask();
    expect(await failedOpen()).toBe(before);
    functionUrl.trouble = 'another uid';
    await ask();
    expect(await failedOpen()).toBe(before + 1);
  });

  it('are not sent for another signer, and not for an approval or a deletion', async () => {
    const { calls } = await ask('kubernetes.io/kube-apiserver-client-kubelet');
    expect(calls).toEqual([]);
    const before = functionUrl.calls.length;
    const csr = await admin.get<{ status: object }>(`${CSRS}/csr-${made}`);
    const conditions = [{ type: 'Approved', status: 'True', reason: 'Test', message: 'by a test' }];
    await admin.put(`${CSRS}/csr-${made}/approval`, { ...csr, status: { conditions } });
    await admin.delete(`${CSRS}/csr-${made}`);
    expect(functionUrl.calls.length).toBe(before);
  });

  it.each<[Trouble, string]>([
    ['no answer', 'takes the connection and says nothing'],
    ['slow', 'answers after three seconds'],
    ['garbage', 'answers what is no JSON'],
    ['another uid', 'answers "not allowed" with another uid'],
    ['error', 'fails'],
  ])('keep no request from being created when the URL gives %s: it %s', async (trouble) => {
    functionUrl.trouble = trouble;
    const { csr, ms, calls } = await ask();
    expect(csr.metadata.uid).toBeDefined();
    expect(calls).toHaveLength(1);
    // The manifest says 1 s; the rest is the API server's own.
    expect(Math.floor(ms / 10_000)).toBe(0);
    say(`${trouble}: created in ${Math.round(ms)} ms`);
  });

  it('are no more than one in three seconds from 300 requests at once, and each request is created', async () => {
    await nextInterval();
    const [before, called, startedAt] = [hints.length, functionUrl.calls.length, Date.now()];
    const openedBefore = await failedOpen();
    const asked = await Promise.all(Array.from({ length: 300 }, async () => ask()));
    const intervals = Math.floor(Date.now() / 3_000) - Math.floor(startedAt / 3_000) + 1;
    expect(asked).toHaveLength(300);
    // On a busy machine a call may not arrive within its second: then the API server creates the request without it, and counts that.
    const calls = functionUrl.calls.length - called;
    expect(calls).toBeLessThanOrEqual(300);
    expect(calls + (await failedOpen()) - openedBefore).toBeGreaterThanOrEqual(300);
    expect(hints.length - before).toBeGreaterThan(0);
    expect(hints.length - before).toBeLessThanOrEqual(intervals);
  });

  it('with the token of another cluster are none', async () => {
    await switchOn(hintPath(KEY, 'rome').replace('rome', 'paris'));
    await nextInterval();
    const before = hints.length;
    const { csr, calls } = await ask();
    expect(csr.metadata.uid).toBeDefined();
    expect(calls).toHaveLength(1);
    expect(hints.length).toBe(before);
  });

  it('keep no request from being created when nothing listens at the URL, nor when the webhook is gone', async () => {
    await functionUrl[Symbol.asyncDispose]();
    const { csr, ms } = await ask();
    expect(csr.metadata.uid).toBeDefined();
    say(`connection refused: created in ${Math.round(ms)} ms`);
    await admin.delete(`${WEBHOOKS}/certmarshal-hints`);
    expect((await ask()).csr.metadata.uid).toBeDefined();
  });

  it.each(['?a=1', '#a'])('go to no URL with %s: the API server takes none', async (more) => {
    const io = { ...recordedIo(), readWebhook: async () => ({ url: functionUrl.url, key: KEY }) };
    await credentialsHintsCommand({ cluster: ID, output: 'json' }, undefined, signal(), io);
    const manifest = JSON.parse(io.stdout.text());
    manifest.metadata.name = 'refused';
    manifest.webhooks[0].clientConfig.url += more;
    await expect(admin.post(WEBHOOKS, manifest)).rejects.toMatchObject({ status: 422 });
  });

  /** How often the API server went on without an answer. */
  async function failedOpen(): Promise<number> {
    const metrics = await metricsOf(controlPlane);
    const counts = metrics.matchAll(
      /^apiserver_admission_webhook_fail_open_count\{name="hints\.certmarshal\.dev",[^}]*\} (?<count>\d+)$/gm,
    );
    return [...counts].reduce((sum, { groups }) => sum + Number(groups?.['count']), 0);
  }
});

/** Hints of one interval are one. */
async function nextInterval(): Promise<void> {
  await delay(3_000 - (Date.now() % 3_000) + 10);
}

function say(text: string): void {
  process.stderr.write(`  ${text}\n`);
}

async function metricsOf({ server, caPem, adminToken }: ControlPlane): Promise<string> {
  const { request } = await import('node:https');
  return new Promise((resolve, reject) => {
    const sent = request(`${server}/metrics`, {
      ca: caPem,
      headers: { authorization: `Bearer ${adminToken}` },
      agent: false,
    });
    sent.once('error', reject);
    sent.once('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    });
    sent.end();
  });
}
