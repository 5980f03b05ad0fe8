import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { decodeOrders } from '../../lambdas/contracts/order.ts';
import type { SweepOutcome } from '../../lambdas/contracts/outcome.ts';
import type { Registry } from '../../lambdas/contracts/registry.ts';
import { encodeReportStart } from '../../lambdas/contracts/report-start.ts';
import { encodeOutcome, encodeOutcomes } from '../../lambdas/fleet/outcome-message.ts';
import { STATE_KEYS } from '../../lambdas/fleet/state-keys.ts';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import { awsEnvironment } from '../fleet/aws/aws-environment.ts';
import { type SimulatedAws, startSimulatedAws } from '../fleet/aws/simulated-aws.ts';
import { fastClock } from '../fleet/clock.ts';
import { lambdaNode } from '../support/lambda-node.ts';
import { loadBundle } from '../unit/functions/invoke-bundle.ts';
import { type Synthesized, synthesize } from '../unit/lib/synthesize.ts';
import { giveShareOfCore, shareOfCore } from './core-share.ts';
import { CA_DATA } from './fixtures.ts';
import { p95, runFleet } from './run-fleet.ts';
import { serveClusters } from './simulated-servers.ts';
import { type Figure, figure } from './statistics.ts';

const CLUSTERS = 10_000;
const HUB = { account: '111122223333', region: 'eu-central-1', partition: 'aws' } as const;
/** Accounts and Regions: each has as many clusters, and rates of its own. */
const PLACES = Array.from({ length: 20 }, (_, index) => ({
  account: `2222${String(Math.floor(index / 4)).padStart(8, '0')}`,
  region: ['eu-central-1', 'eu-west-1', 'us-east-1', 'us-west-2'][index % 4] ?? '',
}));
/** AWS publishes no rates of EKS. */
const EKS_RATE = { rate: 10, burst: 10 };
const UNWELL = 500;
/** Functions believe a time that is so far from theirs: a run need not wait for the next minute. Milliseconds. */
const BEFORE_MS = 3 * 60_000;
const MAX_DISCOVERY_TICKS = 4;
/** What a tick had no time for is looked for again after that. */
const RETRY_MS = 125_000;
const TWO_THIRDS = 2 / 3;

const FLEET = `
version: 1
discovery:
  - accounts: [${[...new Set(PLACES.map(({ account }) => `'${account}'`))].join(', ')}]
    regions: [${[...new Set(PLACES.map(({ region }) => region))].join(', ')}]
hub: { account: '${HUB.account}', region: ${HUB.region} }
`;

/** 10,000 clusters in 20 accounts and Regions: each function with the memory, the flags and the share of a core that it has in Lambda. */
export async function benchScale(say: (text: string) => void): Promise<Figure[]> {
  const hub = await benchHub(say);
  return [...hub, ...(await benchSweeps(say))];
}

async function benchHub(say: (text: string) => void): Promise<Figure[]> {
  await using synthesized = await synthesize(FLEET);
  await using aws = await startSimulatedAws({ clock: fastClock(Date.now(), 1) });
  const world = createWorld(aws, synthesized);

  await using dispatch = await world.load('dispatch');
  await using report = await world.load('report');
  const times: Record<'finding' | 'dispatch' | 'well' | 'unwell', number[]> = {
    finding: [],
    dispatch: [],
    well: [],
    unwell: [],
  };
  const minute = async (kind: 'well' | 'unwell', found: number[]) => {
    world.nextMinute();
    found.push(await dispatch.run());
    const ordered = world.takeOrders();
    if (found !== times.finding && ordered !== CLUSTERS) throw new Error(`${ordered} clusters were ordered`);
    world.sendOutcomes(kind === 'unwell' ? UNWELL : 0);
    times[kind].push(await report.run());
  };

  while (world.known() < CLUSTERS) {
    if (times.finding.length === MAX_DISCOVERY_TICKS) throw new Error(`only ${world.known()} clusters were found`);
    await minute('well', times.finding);
    say(`dispatch finds clusters: ${world.known()} of ${CLUSTERS}`);
    if (world.known() < CLUSTERS) await delay(RETRY_MS);
  }
  for (const kind of ['well', 'well', 'unwell', 'unwell'] as const) {
    say(`a minute in which ${kind === 'well' ? 'all clusters are healthy' : `${UNWELL} clusters are not well`}`);
    await minute(kind, times.dispatch);
  }

  const ofDispatch = HUB_SIZES.dispatch;
  const ofReport = HUB_SIZES.report;
  return [
    seconds('dispatch, while it finds the clusters', times.finding, ofDispatch.timeoutSeconds),
    seconds('dispatch, each tick', times.dispatch, ofDispatch.timeoutSeconds),
    memory('dispatch', dispatch.peakMiB(), ofDispatch.memoryMiB),
    seconds('report, all clusters well', times.well, ofReport.timeoutSeconds),
    seconds(`report, ${UNWELL} clusters not well at once`, times.unwell, ofReport.timeoutSeconds),
    memory('report', report.peakMiB(), ofReport.memoryMiB),
  ];
}

async function benchSweeps(say: (text: string) => void): Promise<Figure[]> {
  say(`starting ${CLUSTERS} API servers`);
  await using served = await serveClusters(CLUSTERS, false);
  say('all clusters in one process on one core');
  const whole = await runFleet(served.clusters);
  say('all clusters in one process with the share of a core that a function has');
  const { memoryMiB, timeoutSeconds, maxConcurrency } = HUB_SIZES.sweep;
  const shared = await runFleet(served.clusters, { share: shareOfCore(memoryMiB) });
  for (const { sweeps } of [whole, shared])
    if (sweeps.length !== CLUSTERS || sweeps.some(({ complete }) => !complete)) throw new Error('not swept');
  const shards = Map.groupBy(shared.sweeps, ({ shard }) => shard);
  const times = [...shards.values()].map((sweeps) => Math.max(...sweeps.map(({ ms }) => ms)) / 1_000);
  const minute = times.reduce((sum, time) => sum + time, 0) / maxConcurrency;
  return [
    figure(`${CLUSTERS} idle clusters, one process, one core`, 's', [whole.totalMs / 1_000], {
      text: '≤ 35',
      met: (value) => value <= 35,
    }),
    seconds(`sweep of a shard, the slowest of ${times.length}`, [Math.max(...times)], timeoutSeconds),
    figure('sweep of a shard, p95', 's', [p95(times)]),
    memory('sweep', Math.max(whole.maxRssMiB, shared.maxRssMiB), memoryMiB),
    figure(`all shards, ${maxConcurrency} at once`, 's', [minute], { text: '≤ 40', met: (value) => value <= 40 }),
  ];
}

function createWorld(aws: SimulatedAws, { bundles }: Synthesized) {
  aws.s3.createBucket(HUB, 'state');
  const queue = (name: string) =>
    aws.sqs.createQueue({ ...HUB, name, visibilityTimeoutSeconds: 60, retentionSeconds: 900 });
  const [orders, outcomes, starts] = [queue('orders.fifo'), queue('outcomes'), queue('starts')];
  const roles = { dispatch: 'certmarshal-dispatch-eu-central-1', report: 'certmarshal-report-eu-central-1' };
  for (const [index, place] of Array.from({ length: CLUSTERS }, (_, n) => [n, PLACES[n % PLACES.length]] as const))
    if (place !== undefined)
      aws.eks.putCluster(place, {
        name: `cluster-${index}`,
        endpoint: `https://${index.toString(16).padStart(32, '0').toUpperCase()}.gr7.${place.region}.eks.amazonaws.com`,
        certificateAuthority: CA_DATA,
      });
  for (const account of new Set(PLACES.map((place) => place.account)))
    aws.identity.putRole({
      arn: `arn:aws:iam::${account}:role/certmarshal-spoke`,
      trusts: [`arn:aws:iam::${HUB.account}:role/${roles.dispatch}`],
    });
  aws.throttle('eks', EKS_RATE);
  const registry = (): Registry | undefined => {
    const body = aws.s3.read('state', STATE_KEYS.registry);
    return body === undefined ? undefined : JSON.parse(gunzipSync(body).toString('utf8'));
  };

  const earliestTick = () => Math.floor((Date.now() - BEFORE_MS) / 60_000) * 60_000;
  let tick = 0;

  return {
    nextMinute(): void {
      tick = Math.max(tick + 60_000, earliestTick());
    },

    known: () => Object.values(registry()?.clusters ?? {}).filter(({ target }) => target !== undefined).length,

    takeOrders(): number {
      let clusters = 0;
      for (;;) {
        const messages = orders.receive(10);
        if (messages.length === 0) return clusters;
        for (const { body, receiptHandle } of messages) {
          const read = decodeOrders(body);
          if (read.ok) clusters += read.value.length;
          orders.delete(receiptHandle);
        }
      }
    },

    sendOutcomes(unwell: number): void {
      const ids = Object.keys(registry()?.clusters ?? {});
      const encoded = ids.map((id, index) => encodeOutcome(outcomeOf(id, tick + 1_000, index < unwell)));
      for (let at = 0; at < encoded.length; at += HUB_SIZES.sweep.clusters)
        outcomes.send({ body: encodeOutcomes(encoded.slice(at, at + HUB_SIZES.sweep.clusters)) });
    },

    async load(name: 'dispatch' | 'report') {
      const { memoryMiB, timeoutSeconds } = HUB_SIZES[name];
      const environment = {
        ...awsEnvironment(aws, {
          account: HUB.account,
          role: `arn:aws:iam::${HUB.account}:role/${roles[name]}`,
          region: HUB.region,
        }),
        STATE_BUCKET: 'state',
        LANE_QUEUE_URLS: JSON.stringify({ default: orders.url }),
        OUTCOMES_QUEUE_URL: outcomes.url,
        STARTS_QUEUE_URL: starts.url,
        HUB_ACCOUNT: HUB.account,
        HUB_PARTITION: HUB.partition,
      };
      const bundle = await loadBundle(bundles[name], environment, lambdaNode(memoryMiB));
      execFileSync('taskset', ['-a', '-p', '-c', '0', `${bundle.pid}`]);
      const share = giveShareOfCore(bundle.pid, shareOfCore(memoryMiB));
      return {
        /** Seconds. */
        async run(): Promise<number> {
          const body = encodeReportStart({ tick });
          const event =
            name === 'dispatch'
              ? { scheduledTime: new Date(tick).toISOString() }
              : { Records: [{ messageId: `${tick}`, body, eventSource: 'aws:sqs', attributes: {} }] };
          const begin = performance.now();
          const { error } = await bundle.invoke(event, timeoutSeconds * 1_000);
          if (error !== undefined) throw new Error(`${error}\n${bundle.output().slice(-2_000)}`);
          return (performance.now() - begin) / 1_000;
        },
        peakMiB: () => peakOf(bundle.pid),
        async [Symbol.asyncDispose]() {
          share[Symbol.dispose]();
          await bundle[Symbol.asyncDispose]();
        },
      };
    },
  };
}

function outcomeOf(id: string, startedAt: number, isUnwell: boolean): SweepOutcome {
  const message = 'the API server does not answer within 10 s';
  return {
    version: 1,
    kind: 'sweep',
    id,
    name: id.split('/').at(-1) ?? id,
    provider: 'eks',
    startedAt: new Date(startedAt).toISOString(),
    durationMs: isUnwell ? 10_000 : 60,
    readable: !isUnwell,
    complete: !isUnwell,
    server: `${id.split('/').at(-1)}.gr7.eu-central-1.eks.amazonaws.com:443`,
    problems: isUnwell ? [{ kind: 'timeout', object: 'API server', message, remedy: 'Check the route to it.' }] : [],
    problemCount: isUnwell ? 1 : 0,
  };
}

/** The largest that its memory ever was. */
function peakOf(pid: number): number {
  const peak = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(peak) / 1_024;
}

function seconds(name: string, values: readonly number[], limit: number): Figure {
  const most = limit * TWO_THIRDS;
  return figure(name, 's', values, { text: `≤ ${most.toFixed(0)}`, met: () => Math.max(...values) <= most });
}

function memory(name: string, peakMiB: number, limit: number): Figure {
  const most = limit * TWO_THIRDS;
  return figure(`${name}, peak RSS`, 'MiB', [peakMiB], {
    text: `≤ ${most.toFixed(0)}`,
    met: (value) => value <= most,
  });
}
