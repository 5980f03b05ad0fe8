import { randomBytes } from 'node:crypto';
import { request as httpsRequest } from 'node:https';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { stringify } from 'yaml';
import { webhookCommand } from '../../bin/commands/credentials/webhook.ts';
import type { Io } from '../../bin/io.ts';
import { approve } from '../../lambdas/approval/approve.ts';
import type { SweepTarget } from '../../lambdas/approval/observe.ts';
import { DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import { WEBHOOK_WAIT_MS } from '../../lambdas/fleet/deadlines.ts';
import { createWebhookHandler } from '../../lambdas/functions/handle-webhook.ts';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import type { Admin } from '../control-plane/admin.ts';
import { CSRS, createCsr } from '../control-plane/fixtures.ts';
import { kubeconfigYaml } from '../control-plane/kubeconfig.ts';
import type { ControlPlane } from '../control-plane/start.ts';
import { startSimulatedAws } from '../fleet/aws/simulated-aws.ts';
import { fastClock } from '../fleet/clock.ts';
import { type Hub, startHub } from '../fleet/hub/hub.ts';
import { HUB } from '../fleet/hub/places.ts';
import { type FunctionUrl, startFunctionUrl } from '../support/function-url.ts';
import { localClient } from '../support/local-client.ts';
import { fleet as fleetOf } from '../unit/config/parsing.ts';
import { nodeName, requestOf } from './fixtures.ts';
import { startMachinesCluster } from './machines-cluster.ts';
import { type Figure, figure } from './statistics.ts';

const KUBELETS = 500;
const TICK_MS = 60_000;
const POLL_MS = 10_000;
/** Longer than two ticks. */
const PATIENCE_MS = 150_000;
const CLUSTER = 'bench';
const KEY = randomBytes(32).toString('hex');
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

/**
 * Kubelets that restart at once: seconds from the creation of each request, as the kubelet sees it begin, to its
 * approval. On a real kube-apiserver with its default priority and fairness, approved by plan, sweep and report of this
 * process with real clients: by the webhook, by the tick alone, and by an approver in the cluster that proves the same
 * with the same engine.
 *
 * All ask two seconds after a tick, which is when they wait the longest for the next one. What AWS adds is not in it:
 * the way to Lambda, cold starts.
 *
 * @param options how many kubelets. @default 500
 */
export async function benchLatency(
  say: (text: string) => void,
  [count = `${KUBELETS}`]: readonly string[],
): Promise<Figure[]> {
  const kubelets = Number(count);
  // What the functions say would be between the figures.
  Object.assign(process.env, { POWERTOOLS_LOG_LEVEL: 'SILENT', POWERTOOLS_METRICS_DISABLED: 'true' });
  await using cluster = await startMachinesCluster(kubelets, say);
  const { controlPlane, admin } = cluster;
  const requests = Array.from({ length: kubelets }, (_, index) => requestOf(index).toString());
  const storm = async () => measureStorm(controlPlane, admin, requests);

  const { called, ticked } = await byHub(controlPlane, admin, storm, say);
  say('an approver in the cluster that watches');
  const watched = await besideApprover(controlPlane, storm, (signal) => changes(controlPlane, signal));
  say(`an approver in the cluster that polls every ${POLL_MS / 1_000} s`);
  const polled = await besideApprover(controlPlane, storm, polls);

  return [
    figure('by the webhook, p50', 's', [share(called, 0.5)]),
    figure('by the webhook, p95', 's', [share(called, 0.95)], { text: '≤ 5', met: (value) => value <= 5 }),
    figure('by the webhook, the last', 's', [share(called, 1)]),
    figure('by the tick alone, p50', 's', [share(ticked, 0.5)]),
    figure('by the tick alone, p95', 's', [share(ticked, 0.95)]),
    figure('by an approver in the cluster that watches, p50', 's', [share(watched, 0.5)]),
    figure('by an approver in the cluster that watches, p95', 's', [share(watched, 0.95)]),
    figure('by an approver in the cluster that polls, p50', 's', [share(polled, 0.5)]),
    figure('by an approver in the cluster that polls, p95', 's', [share(polled, 0.95)]),
  ];
}

/** The value that this share of all is not above. */
function share(values: readonly number[], of: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * of) - 1] ?? Number.NaN;
}

/** A hub that ticks every minute, first with the webhook and then without it. */
async function byHub(
  controlPlane: ControlPlane,
  admin: Admin,
  storm: () => Promise<readonly number[]>,
  say: (text: string) => void,
): Promise<{ readonly called: readonly number[]; readonly ticked: readonly number[] }> {
  const clock = fastClock(Date.now(), 1);
  await using aws = await startSimulatedAws({ clock });
  const { server, caPem } = controlPlane;
  const kubeconfig = kubeconfigYaml(server, caPem, 'certmarshal', { token: controlPlane.tokenFor('certmarshal') });
  const secret = aws.secretsManager.putSecret(HUB, 'certmarshal/bench', kubeconfig);
  const fleet = fleetOf(
    `version: 1\nclusters:\n  - { name: ${CLUSTER}, provider: eks-anywhere, kubeconfigSecret: '${secret}', namespace: default }\n`,
  );
  await using hub = startHub({ aws, clock, fleet, home: 'bucket', audits: false });
  let sweeps = 0;
  const { concurrency } = HUB_SIZES.webhook;
  await using url = await startFunctionUrl({
    handle: createWebhookHandler({
      readKey: async () => KEY,
      starts: [
        // Lambda answers before the function runs.
        async (cluster) => {
          sweeps += 1;
          void delay(WEBHOOK_WAIT_MS).then(async () => hub.webhook(cluster));
        },
      ],
      log: (error) => say(String(error)),
      clock: Date.now,
    }),
    limits: { concurrency, perSecond: 10 * concurrency },
  });
  say('the hub finds the cluster');
  // The first one registers it, the second one shows which API server is behind it.
  await hub.minute();
  await hub.minute();
  const ticks = tick(hub);
  try {
    const webhook = await webhookOf(url);
    await admin.apply(stringify(webhook));
    say('by the webhook');
    await ticks.next();
    await delay(2_000);
    const called = await storm();
    say(`  ${url.calls.length} calls of the URL, ${url.refused} refused by its limits, ${sweeps} sweeps`);
    await admin.delete(`${WEBHOOKS}/${webhook.metadata.name}`);
    say('by the tick alone');
    await ticks.next();
    await delay(2_000);
    return { called, ticked: await storm() };
  } finally {
    await ticks.end();
  }
}

interface Webhook {
  readonly metadata: { readonly name: string };
  readonly webhooks: readonly { readonly clientConfig: object }[];
}

/** As `credentials create` prints it. The certificate of a function URL is public; this one is not. */
async function webhookOf({ url, caPem }: FunctionUrl): Promise<Webhook> {
  let printed = '';
  const io = { stdout: { write: (text: string) => (printed += text) } } as unknown as Io;
  await webhookCommand({ cluster: CLUSTER, output: 'json' }, undefined, async () => ({ url, key: KEY }), io);
  const manifest: Webhook = JSON.parse(printed);
  const caBundle = Buffer.from(caPem).toString('base64');
  const webhooks = manifest.webhooks.map((one) => ({ ...one, clientConfig: { ...one.clientConfig, caBundle } }));
  return { ...manifest, webhooks };
}

/** Ticks every minute, whoever asks. `next` resolves when the next one has ended. */
function tick(hub: Hub): { next(): Promise<void>; end(): Promise<void> } {
  const ending = new AbortController();
  let ticked = Promise.withResolvers<void>();
  const running = (async () => {
    for (;;) {
      await delay(TICK_MS, undefined, { signal: ending.signal }).catch(() => undefined);
      if (ending.signal.aborted) return;
      await hub.minute();
      ticked.resolve();
      ticked = Promise.withResolvers<void>();
    }
  })();
  return {
    next: async () => ticked.promise,
    async end() {
      ending.abort();
      await running;
    },
  };
}

/** Approves what the engine proves, whenever `occasions` has one. */
async function besideApprover(
  controlPlane: ControlPlane,
  storm: () => Promise<readonly number[]>,
  occasions: (signal: AbortSignal) => AsyncIterable<unknown>,
): Promise<readonly number[]> {
  const client = localClient(controlPlane, controlPlane.tokenFor('certmarshal'));
  const target: SweepTarget = {
    cluster: { name: CLUSTER, provider: 'eks-anywhere' },
    workload: client,
    management: client,
    machinesNamespace: 'default',
  };
  const ending = new AbortController();
  const approver = (async () => {
    for await (const _ of occasions(ending.signal))
      await approve(target, [DEFAULT_POLICY], Date.now, AbortSignal.timeout(PATIENCE_MS));
  })();
  try {
    return await storm();
  } finally {
    ending.abort();
    await approver;
    client.close();
  }
}

async function* polls(signal: AbortSignal): AsyncGenerator<void> {
  while (!signal.aborted) {
    yield;
    await delay(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** An occasion for all that changed since the last one. */
async function* changes(controlPlane: ControlPlane, signal: AbortSignal): AsyncGenerator<void> {
  let changed = Promise.withResolvers<void>();
  const stop = await watchCsrs(controlPlane, ({ type, approved }) => {
    if (type === 'ADDED' && !approved) changed.resolve();
  });
  signal.addEventListener('abort', () => changed.resolve(), { once: true });
  try {
    for (;;) {
      await changed.promise;
      if (signal.aborted) return;
      changed = Promise.withResolvers<void>();
      yield;
    }
  } finally {
    stop();
  }
}

/** All ask at once. @returns seconds until each is approved */
async function measureStorm(
  controlPlane: ControlPlane,
  admin: Admin,
  requests: readonly string[],
): Promise<readonly number[]> {
  await admin.delete(CSRS);
  const asked = new Map<string, number>();
  const seconds = new Map<string, number>();
  const all = Promise.withResolvers<void>();
  const stop = await watchCsrs(controlPlane, ({ name, approved }) => {
    const at = asked.get(name);
    if (!approved || at === undefined || seconds.has(name)) return;
    seconds.set(name, (performance.now() - at) / 1_000);
    if (seconds.size === requests.length) all.resolve();
  });
  const patience = setTimeout(
    () => all.reject(new Error(`${seconds.size} of ${requests.length} were approved in time`)),
    PATIENCE_MS,
  );
  try {
    await Promise.all(
      requests.map(async (requestPem, index) => {
        const name = `kubelet-${index}`;
        asked.set(name, performance.now());
        await createCsr(admin, { name, nodeName: nodeName(index), requestPem });
      }),
    );
    await all.promise;
    return [...seconds.values()];
  } finally {
    clearTimeout(patience);
    stop();
  }
}

interface CsrEvent {
  readonly type: string;
  readonly name: string;
  readonly approved: boolean;
}

/** Watches all requests from now on, as the administrator. @returns what ends it */
async function watchCsrs(controlPlane: ControlPlane, seen: (event: CsrEvent) => void): Promise<() => void> {
  const { server, caPem, adminToken } = controlPlane;
  const options = { ca: caPem, headers: { authorization: `Bearer ${adminToken}` }, agent: false } as const;
  const started = Promise.withResolvers<void>();
  const request = httpsRequest(`${server}${CSRS}?watch=1`, options, (response) => {
    started.resolve();
    const lines = createInterface({ input: response });
    // How a watch ends that nobody needs any more.
    lines.on('error', () => undefined);
    lines.on('line', (line) => {
      const { type, object } = JSON.parse(line);
      const conditions: readonly { readonly type: string }[] = object.status?.conditions ?? [];
      seen({
        type,
        name: object.metadata?.name,
        approved: conditions.some((condition) => condition.type === 'Approved'),
      });
    });
    response.on('error', () => undefined);
  });
  request.on('error', started.reject);
  request.end();
  await started.promise;
  return () => void request.destroy();
}
