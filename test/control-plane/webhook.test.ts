import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { webhookCommand } from '../../bin/commands/credentials/webhook.ts';
import { WEBHOOK_EVERY_MS } from '../../lambdas/fleet/deadlines.ts';
import { sweepPath } from '../../lambdas/fleet/webhook-token.ts';
import { createWebhookHandler } from '../../lambdas/functions/handle-webhook.ts';
import { PATIENCE_MS } from '../patience.ts';
import { type FunctionUrl, startFunctionUrl, type Trouble } from '../support/function-url.ts';
import { recordedIo } from '../unit/bin/io.ts';
import { type Admin, connectAdmin } from './admin.ts';
import { CSRS, createCsr } from './fixtures.ts';
import { createKubeletRequest } from './pki.ts';
import { realComponents } from './real.ts';
import { type ControlPlane, startControlPlane } from './start.ts';

const real = await realComponents('webhook of a real kube-apiserver', 'etcd', 'kubeApiserver');
const KEY = randomBytes(32).toString('hex');
const ID = 'mgmt/eksa-system/berlin';
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

describe.skipIf(real.missing)('webhook of a real kube-apiserver', () => {
  let controlPlane: ControlPlane;
  let admin: Admin;
  let functionUrl: FunctionUrl;
  let requestPem: string;
  let made = 0;
  const started: string[] = [];

  beforeAll(async () => {
    controlPlane = await startControlPlane({ binaries: real.binaries, controllerManager: false });
    admin = connectAdmin(controlPlane);
    const handle = createWebhookHandler({
      readKey: async () => KEY,
      starts: [async (id) => void started.push(id)],
      log: () => undefined,
      clock: Date.now,
    });
    functionUrl = await startFunctionUrl({ handle });
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
    const manifest = await printed();
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

  async function printed() {
    const io = recordedIo();
    const read = async () => ({ url: functionUrl.url, key: KEY });
    expect(await webhookCommand({ cluster: ID, output: 'table' }, undefined, read, io)).toBe(0);
    return parse(io.stdout.text());
  }

  it('starts the sweep of the cluster when a kubelet asks for a serving certificate', async () => {
    await delay(2 * WEBHOOK_EVERY_MS);
    const before = started.length;
    const { csr, calls } = await ask();
    expect(csr.spec.username).toBe('system:node:worker-1');
    expect(calls.map(({ path }) => path)).toEqual([sweepPath(KEY, ID)]);
    expect(started.slice(before)).toEqual([ID]);
  });

  it('is answered so that the API server counts no call as failed', async () => {
    const before = await failedOpen();
    await ask();
    expect(await failedOpen()).toBe(before);
    functionUrl.trouble = 'another uid';
    await ask();
    expect(await failedOpen()).toBe(before + 1);
  });

  it('is not called for another signer, and not for an approval or a deletion', async () => {
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
  ])('keeps no request from being created when the URL gives %s: it %s', async (trouble) => {
    functionUrl.trouble = trouble;
    const { csr, ms, calls } = await ask();
    expect(csr.metadata.uid).toBeDefined();
    expect(calls).toHaveLength(1);
    // The manifest says 1 s; the rest is the API server's own.
    expect(Math.floor(ms / 10_000)).toBe(0);
    say(`${trouble}: created in ${Math.round(ms)} ms`);
  });

  it('starts one sweep in a second and a half for 300 requests at once, and each request is created', async () => {
    await delay(2 * WEBHOOK_EVERY_MS);
    const [before, called, startedAt] = [started.length, functionUrl.calls.length, Date.now()];
    const openedBefore = await failedOpen();
    const asked = await Promise.all(Array.from({ length: 300 }, async () => ask()));
    expect(asked).toHaveLength(300);
    // On a busy machine a call may not arrive within its second: then the API server creates the request without it, and counts that.
    const calls = functionUrl.calls.length - called;
    expect(calls).toBeLessThanOrEqual(300);
    expect(calls + (await failedOpen()) - openedBefore).toBeGreaterThanOrEqual(300);
    expect(started.length - before).toBeGreaterThan(0);
    // Calls that the API server no longer waits for arrive later.
    expect(started.length - before).toBeLessThanOrEqual(Math.floor((Date.now() - startedAt) / WEBHOOK_EVERY_MS) + 1);
  });

  it('starts nothing with the token of another cluster, which the API server counts as failed', async () => {
    await switchOn(sweepPath(KEY, 'rome').replace('rome', 'paris'));
    await delay(2 * WEBHOOK_EVERY_MS);
    const [before, failed] = [started.length, await failedOpen()];
    const { csr, calls } = await ask();
    expect(csr.metadata.uid).toBeDefined();
    expect(calls).toHaveLength(1);
    expect([started.length, await failedOpen()]).toEqual([before, failed + 1]);
  });

  it('keeps no request from being created when nothing listens at the URL, nor when the webhook is gone', async () => {
    await functionUrl[Symbol.asyncDispose]();
    const { csr, ms } = await ask();
    expect(csr.metadata.uid).toBeDefined();
    say(`connection refused: created in ${Math.round(ms)} ms`);
    await admin.delete(`${WEBHOOKS}/certmarshal`);
    expect((await ask()).csr.metadata.uid).toBeDefined();
  });

  it.each(['?a=1', '#a'])('has no URL with %s: the API server takes none', async (more) => {
    const manifest = await printed();
    manifest.metadata.name = 'refused';
    manifest.webhooks[0].clientConfig.url += more;
    await expect(admin.post(WEBHOOKS, manifest)).rejects.toMatchObject({ status: 422 });
  });

  /** How often the API server went on without an answer. */
  async function failedOpen(): Promise<number> {
    const metrics = await metricsOf(controlPlane);
    const counts = metrics.matchAll(
      /^apiserver_admission_webhook_fail_open_count\{name="sweep\.certmarshal\.dev",[^}]*\} (?<count>\d+)$/gm,
    );
    return [...counts].reduce((sum, { groups }) => sum + Number(groups?.['count']), 0);
  }
});

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
