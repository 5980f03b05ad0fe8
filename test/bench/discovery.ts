import { createEksReader } from '../../lambdas/aws/eks-clusters.ts';
import { DEFAULT_LANE, type EksDiscovery } from '../../lambdas/config/fleet.ts';
import type { Registry } from '../../lambdas/contracts/registry.ts';
import { discoverEks } from '../../lambdas/fleet/discover.ts';
import { updateRegistry } from '../../lambdas/fleet/update-registry.ts';
import { awsClientConfig } from '../fleet/aws/aws-environment.ts';
import { type SimulatedAws, startSimulatedAws } from '../fleet/aws/simulated-aws.ts';
import { fastClock } from '../fleet/clock.ts';
import { caData } from './fixtures.ts';
import { type Figure, figure } from './statistics.ts';

const CLUSTERS = 1_000;
const REGIONS = Array.from({ length: 10 }, (_, index) => `eu-test-${index + 1}`);
const ACCOUNT = '111122223333';
const THROTTLE = { rate: 10, burst: 10 };
/** What report has left of its time. */
const DEADLINE_MS = 45_000;
const RUNS = 3;

/** ListClusters and DescribeCluster of 1,000 clusters with the real client, where each account and Region allows 10 requests a second. */
export async function benchDiscovery(say: (text: string) => void): Promise<Figure[]> {
  const spread: number[] = [];
  const single: number[] = [];
  for (let count = 1; count <= RUNS; count += 1) {
    say(`run ${count} of ${RUNS}: ${CLUSTERS} clusters in ${REGIONS.length} Regions`);
    spread.push((await discover(REGIONS)).seconds);
  }
  say(`${CLUSTERS} clusters in one Region, over as many ticks as it takes`);
  single.push((await discover(REGIONS.slice(0, 1))).seconds);
  return [
    figure('1,000 clusters, 100 in each of 10 Regions', 's', spread, { text: '≤ 30', met: (value) => value <= 30 }),
    figure('1,000 clusters in one Region (quota raised), several ticks', 's', single),
  ];
}

async function discover(regions: readonly string[]): Promise<{ readonly seconds: number }> {
  await using aws = await startSimulatedAws({ clock: fastClock(Date.now(), 1) });
  putClusters(aws, regions);
  aws.throttle('eks', THROTTLE);
  const { endpoint, credentials } = awsClientConfig(aws, { account: ACCOUNT });
  const reader = createEksReader({ credentials: () => async () => credentials, config: { endpoint } });
  const entry: EksDiscovery = {
    accounts: [ACCOUNT],
    regions,
    role: 'certmarshal-spoke',
    sessionTags: {},
    include: {},
    exclude: {},
    accessEntries: [],
  };
  const hub = { account: ACCOUNT, region: regions[0] ?? '', partition: 'aws' };
  const startedAt = performance.now();
  let registry: Registry | undefined;
  const found = () =>
    Object.values(registry?.clusters ?? {}).filter(({ target }) => target?.lane === DEFAULT_LANE).length;
  while (found() < CLUSTERS) {
    const results = [];
    for await (const result of discoverEks([entry], hub, [], reader, AbortSignal.timeout(DEADLINE_MS), {
      previous: registry,
    }))
      results.push(result);
    registry = updateRegistry(registry, results, Date.now());
  }
  return { seconds: (performance.now() - startedAt) / 1000 };
}

function putClusters(aws: SimulatedAws, regions: readonly string[]): void {
  for (let index = 0; index < CLUSTERS; index += 1) {
    const region = regions[index % regions.length] ?? '';
    aws.eks.putCluster(
      { account: ACCOUNT, region },
      {
        name: `cluster-${index}`,
        endpoint: `https://${index}.gr7.${region}.eks.amazonaws.com`,
        certificateAuthority: caData(),
      },
    );
  }
}
