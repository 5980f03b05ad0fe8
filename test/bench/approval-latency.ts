import { setTimeout as delay } from 'node:timers/promises';
import { DEFAULT_POLICY, everywhere } from '../../lambdas/approval/policy.ts';
import type { Fleet } from '../../lambdas/config/fleet.ts';
import { startSimulatedAws } from '../fleet/aws/simulated-aws.ts';
import { fastClock } from '../fleet/clock.ts';
import { type HubCluster, type HubEksCluster, startEksCluster, startKubeconfigCluster } from '../fleet/hub/clusters.ts';
import { type Hub, startHub } from '../fleet/hub/hub.ts';
import { HUB } from '../fleet/hub/places.ts';
import type { StoredCsr } from '../fleet/kube-object.ts';
import { fleet as fleetOf } from '../unit/config/parsing.ts';

export interface LatencyRun {
  readonly clusters: number;
  /** Made at random moments of `overSeconds`. */
  readonly requests: number;
  readonly overSeconds: number;
}

/** At which age requests on EKS are judged here. Deployed it is two minutes; what is measured begins after it. */
const MIN_AGE_SECONDS = 9;
const TICK_MS = 60_000;

/**
 * Seconds from the moment a request may be judged to its approval by a tick, one for each request, in real time: a hub
 * with real clients, and every API server over TLS. Half of the clusters are EKS.
 *
 * @throws Error when a request is not approved in time
 */
export async function measureLatency({
  clusters: count,
  requests,
  overSeconds,
}: LatencyRun): Promise<readonly number[]> {
  // What the functions say would be between the figures.
  Object.assign(process.env, { POWERTOOLS_LOG_LEVEL: 'SILENT', POWERTOOLS_METRICS_DISABLED: 'true' });
  const clock = fastClock(Date.now(), 1);
  await using aws = await startSimulatedAws({ clock });
  const clusters = await Promise.all(
    Array.from({ length: count }, async (_, index) =>
      index % 2 === 0
        ? startEksCluster({ aws, clock }, HUB, `eks-${index}`)
        : startKubeconfigCluster({ aws, clock }, `anywhere-${index}`),
    ),
  );
  await using hub = startHub({ aws, clock, fleet: fleetWith(clusters), home: 'bucket', audits: false });
  const ticking = new AbortController();
  try {
    // The first one finds the clusters, the second one shows which API servers are behind them.
    await hub.minute();
    await hub.minute();
    const ticks = tick(hub, ticking.signal);
    const latencies = await Promise.all(
      Array.from({ length: requests }, async (_, index) => {
        await delay(Math.random() * overSeconds * 1_000);
        const cluster = clusters[index % clusters.length];
        if (cluster === undefined) throw new Error('no cluster');
        return approval(cluster, Math.floor(index / clusters.length) + 1);
      }),
    );
    ticking.abort();
    await ticks;
    return latencies;
  } finally {
    ticking.abort();
    await Promise.all(clusters.map(async ({ server }) => server.stop()));
  }
}

async function tick(hub: Hub, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const next = delay(TICK_MS, undefined, { signal }).catch(() => undefined);
    await hub.minute();
    await next;
  }
}

/** Makes a request, and waits until it is approved. @returns seconds from when it may be judged */
async function approval(cluster: HubCluster, node: number): Promise<number> {
  const { api } = cluster.server;
  cluster.addNode(node);
  const name = cluster.ask(node);
  const approved = new Promise<number>((resolve, reject) => {
    const unwatch = api.csrs.watch(name, (csr) => {
      if (!isApproved(csr)) return;
      clearTimeout(timer);
      unwatch();
      resolve(api.clock.now());
    });
    const timer = setTimeout(() => {
      unwatch();
      reject(new Error(`${cluster.name}: ${name} was not approved in time`));
    }, 2 * TICK_MS);
  });
  const createdAt = Date.parse(api.csrs.get(name)?.metadata.creationTimestamp ?? '');
  const judgedFrom = createdAt + (isEks(cluster) ? MIN_AGE_SECONDS * 1_000 : 0);
  return Math.max(0, (await approved) - judgedFrom) / 1_000;
}

function isApproved(csr: StoredCsr | undefined): boolean {
  return csr?.status.conditions?.some(({ type }) => type === 'Approved') ?? false;
}

function isEks(cluster: HubCluster): cluster is HubEksCluster {
  return 'accessEntries' in cluster;
}

function fleetWith(clusters: readonly HubCluster[]): Fleet {
  const listed = clusters.flatMap((cluster) =>
    'secret' in cluster
      ? [`  - { name: ${cluster.name}, provider: eks-anywhere, kubeconfigSecret: '${String(cluster.secret)}' }`]
      : [],
  );
  const fleet = fleetOf(`version: 1\ndiscovery:\n  - accounts: [self]\nclusters:\n${listed.join('\n')}\n`);
  const { age } = DEFAULT_POLICY;
  const eks = { ...age.eks, minSeconds: MIN_AGE_SECONDS };
  return { ...fleet, policies: [{ ...DEFAULT_POLICY, mode: everywhere('enforce'), age: { ...age, eks } }] };
}
