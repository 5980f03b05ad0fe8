import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { DEFAULT_LANE } from '../../lambdas/config/fleet.ts';
import { type Order, readOrders, type SweepItem } from '../../lambdas/contracts/order.ts';
import type { SweepOutcome } from '../../lambdas/contracts/outcome.ts';
import { outcomesObject } from '../../lambdas/fleet/outcomes.ts';
import { ordersKey, outcomesKey, STATE_KEYS } from '../../lambdas/fleet/state-keys.ts';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import { jsonBytes } from '../../lambdas/json-bytes.ts';
import { awsEnvironment } from '../fleet/aws/aws-environment.ts';
import { type SimulatedAws, startSimulatedAws } from '../fleet/aws/simulated-aws.ts';
import { fastClock } from '../fleet/clock.ts';
import { lambdaNode } from '../support/lambda-node.ts';
import { loadBundle } from '../unit/functions/invoke-bundle.ts';
import { type Synthesized, synthesize } from '../unit/lib/synthesize.ts';
import { auditOf } from '../unit/page/fleets.ts';
import { giveShareOfCore, shareOfCore } from './core-share.ts';
import { caData } from './fixtures.ts';
import { p95, runFleet } from './run-fleet.ts';
import { type ServedCluster, serveClusters } from './simulated-servers.ts';
import { type Figure, figure, median } from './statistics.ts';

/** Sizes of fleets, with the most seconds of plan, sweeps and report. */
const FLEETS = [
  { size: 1_000, most: 8 },
  { size: 10_000, most: 40 },
] as const;
const MOST_OF_PLAN = 10;
const HUB = { account: '111122223333', region: 'eu-central-1', partition: 'aws' } as const;
const ROLE = 'certmarshal-dispatch-eu-central-1';
/** Accounts and Regions: each has as many clusters, and rates of its own. */
const PLACES = Array.from({ length: 20 }, (_, index) => ({
  account: `2222${String(Math.floor(index / 4)).padStart(8, '0')}`,
  region: ['eu-central-1', 'eu-west-1', 'us-east-1', 'us-west-2'][index % 4] ?? '',
}));
/** AWS publishes no rates of EKS. */
const EKS_RATE = { rate: 10, burst: 10 };
const UNWELL = 0.05;
/** Functions believe a time that is so far from theirs: a run need not wait for the next minute. Milliseconds. */
const BEFORE_MS = 3 * 60_000;
/** One of them writes the page. */
const WELL_MINUTES = 5;
const UNWELL_MINUTES = 2;
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

/**
 * A minute of large fleets of EKS clusters in 20 accounts and Regions: each function with the memory, the flags and the
 * share of a core that it has in Lambda.
 *
 * @param only this size. @default all
 */
export async function benchScale(say: (text: string) => void, [only]: readonly string[] = []): Promise<Figure[]> {
  await using synthesized = await synthesize(FLEET);
  const fleets = FLEETS.filter(({ size }) => only === undefined || size === Number(only));
  const largest = Math.max(...fleets.map(({ size }) => size));
  say(`starting ${largest} API servers`);
  await using served = await serveClusters(largest, false);
  const figures: Figure[] = [];
  for (const { size, most } of fleets) {
    const sweeps = await benchSweeps(served.clusters.slice(0, size), say);
    const hub = await benchHub(synthesized, size, say);
    const minute = hub.planSeconds + sweeps.seconds + hub.reportSeconds;
    const name = `${named(size)}: plan, sweeps and report`;
    figures.push(figure(name, 's', [minute], atMost(most)), ...hub.figures, ...sweeps.figures);
  }
  return figures;
}

async function benchHub(synthesized: Synthesized, size: number, say: (text: string) => void) {
  await using aws = await startSimulatedAws({ clock: fastClock(Date.now(), 1) });
  const world = createWorld(aws, synthesized, size);
  await using plan = await world.load('plan');
  await using report = await world.load('report');
  const minute = async (unwell = 0) => {
    const tick = world.nextMinute();
    const planned = await plan.run(tick);
    const shards = planned.result as readonly SweepItem[];
    const clusters = await world.sweep(shards, unwell);
    const reported = await report.run(tick, { shards, outcomes: shards.map(({ shard }) => ({ shard })) });
    return { clusters, plan: planned, report: reported };
  };
  const minutes = async (count: number, unwell = 0) => {
    const all: Awaited<ReturnType<typeof minute>>[] = [];
    while (all.length < count) all.push(await minute(unwell));
    const few = all.find(({ clusters }) => clusters !== size);
    if (few !== undefined) throw new Error(`${few.clusters} of ${size} clusters were planned`);
    return all;
  };

  const discoveries: number[] = [];
  while (world.registered() < size) {
    if (discoveries.length === MAX_DISCOVERY_TICKS) throw new Error(`only ${world.registered()} clusters were found`);
    if (discoveries.length > 0) await delay(RETRY_MS);
    discoveries.push((await minute()).report.seconds);
    say(`report finds clusters: ${world.registered()} of ${size}`);
  }
  // Each cluster is audited.
  await minutes(1);
  say(`${WELL_MINUTES} minutes in which all clusters are well`);
  const well = await minutes(WELL_MINUTES);
  say(`${UNWELL_MINUTES} minutes in which ${UNWELL * size} clusters are not well`);
  const unwell = await minutes(UNWELL_MINUTES, UNWELL * size);
  const plans = [...well, ...unwell].map((one) => one.plan.seconds);
  const reports = well.map((one) => one.report.seconds);
  const processor = (name: 'plan' | 'report') => {
    const busy = median(well.map((one) => one[name].processorSeconds));
    const share = shareOfCore(HUB_SIZES[name].memoryMiB);
    return `${named(size)}: ${name} takes ${busy.toFixed(2)} s of a processor, ${(busy / share).toFixed(2)} s of ${share.toFixed(2)} of one`;
  };
  return {
    planSeconds: median(plans),
    reportSeconds: median(reports),
    figures: [
      {
        ...figure(`${named(size)}: plan`, 's', plans, atMost(MOST_OF_PLAN)),
        details: [processor('plan'), processor('report'), ...world.sizes()],
      },
      memory(`${named(size)}: plan`, plan.peakMiB(), HUB_SIZES.plan.memoryMiB),
      seconds(`${named(size)}: report, all clusters well`, reports, HUB_SIZES.report.timeoutSeconds),
      seconds(
        `${named(size)}: report, ${UNWELL * size} clusters not well at once`,
        unwell.map((one) => one.report.seconds),
        HUB_SIZES.report.timeoutSeconds,
      ),
      figure(`${named(size)}: report that finds the clusters`, 's', discoveries),
      memory(`${named(size)}: report`, report.peakMiB(), HUB_SIZES.report.memoryMiB),
    ],
  };
}

async function benchSweeps(clusters: readonly ServedCluster[], say: (text: string) => void) {
  const { memoryMiB, timeoutSeconds, maxConcurrency } = HUB_SIZES.sweep;
  const size = clusters.length;
  say(`${size} clusters in one process on one core`);
  const whole = await runFleet(clusters);
  say(`${size} clusters in one process with the share of a core that a function has`);
  const shared = await runFleet(clusters, { share: shareOfCore(memoryMiB) });
  for (const { sweeps } of [whole, shared])
    if (sweeps.length !== size || sweeps.some(({ complete }) => !complete)) throw new Error('not swept');
  const times = shared.shards.map(({ ms }) => ms / 1_000);
  const processorMs = shared.shards.reduce((sum, shard) => sum + shard.processorMs, 0);
  return {
    seconds: greedy(times, maxConcurrency),
    figures: [
      {
        ...figure(`${named(size)}: all idle, one process, one core`, 's', [whole.totalMs / 1_000]),
        details: [`${named(size)}: a sweep takes ${(processorMs / size).toFixed(2)} ms of a processor for a cluster`],
      },
      seconds(`${named(size)}: sweep of a shard, the slowest of ${times.length}`, [Math.max(...times)], timeoutSeconds),
      figure(`${named(size)}: sweep of a shard, p95`, 's', [p95(times)]),
      memory(`${named(size)}: sweep`, Math.max(whole.maxRssMiB, shared.maxRssMiB), memoryMiB),
      figure(`${named(size)}: all shards, ${maxConcurrency} at once`, 's', [greedy(times, maxConcurrency)]),
    ],
  };
}

/** When the last one ends, if each begins in order at the first free slot. */
function greedy(times: readonly number[], slots: number): number {
  const free = Array.from({ length: slots }, () => 0);
  for (const time of times) {
    const first = free.indexOf(Math.min(...free));
    free[first] = (free[first] ?? 0) + time;
  }
  return Math.max(...free);
}

function createWorld(aws: SimulatedAws, { bundles }: Synthesized, size: number) {
  aws.s3.createBucket(HUB, 'state');
  for (let index = 0; index < size; index += 1) {
    const place = PLACES[index % PLACES.length];
    if (place === undefined) throw new Error('no place');
    aws.eks.putCluster(place, {
      name: `cluster-${index}`,
      endpoint: `https://${index.toString(16).padStart(32, '0').toUpperCase()}.gr7.${place.region}.eks.amazonaws.com`,
      certificateAuthority: caData(),
    });
  }
  for (const account of new Set(PLACES.map((place) => place.account)))
    aws.identity.putRole({
      arn: `arn:aws:iam::${account}:role/certmarshal-spoke`,
      trusts: [`arn:aws:iam::${HUB.account}:role/${ROLE}`],
    });
  aws.throttle('eks', EKS_RATE);
  let tick = 0;
  const stored = { orders: 0, outcomes: 0, audits: 0 };
  const write = async (key: string, value: object): Promise<number> => {
    const bytes = (await jsonBytes(key, value)) ?? Buffer.alloc(0);
    aws.s3.write('state', key, bytes);
    return bytes.length;
  };
  const lengthOf = (key: string) => aws.s3.read('state', key)?.length ?? 0;

  return {
    nextMinute(): number {
      tick = Math.max(tick + 60_000, Math.floor((Date.now() - BEFORE_MS) / 60_000) * 60_000);
      return tick;
    },

    registered(): number {
      const body = aws.s3.read('state', STATE_KEYS.registry);
      if (body === undefined) return 0;
      const { clusters } = JSON.parse(gunzipSync(body).toString('utf8'));
      return Object.values<{ target?: object }>(clusters).filter(({ target }) => target !== undefined).length;
    },

    /** Writes what the sweeps would. @returns the clusters */
    async sweep(items: readonly SweepItem[], unwell: number): Promise<number> {
      let clusters = 0;
      Object.assign(stored, { orders: 0, outcomes: 0, audits: 0 });
      for (const [object, some] of Map.groupBy(items, (item) => item.object)) {
        const body = aws.s3.read('state', ordersKey(DEFAULT_LANE, tick, object)) ?? Buffer.alloc(0);
        stored.orders += body.length;
        const orders = readOrders(JSON.parse(gunzipSync(body).toString('utf8')), DEFAULT_LANE);
        if (!orders.ok) throw new Error(orders.problem);
        for (const { shard } of some) {
          const outcomes = (orders.value.get(shard) ?? []).map((order) => {
            if (!order.ok) throw new Error(order.problem);
            clusters += 1;
            return outcomeOf(order.value, tick + 1_000, clusters <= unwell);
          });
          stored.audits += outcomes.filter(({ audit }) => audit !== undefined).length;
          stored.outcomes += await write(outcomesKey(DEFAULT_LANE, tick, shard), outcomesObject(outcomes));
        }
      }
      return clusters;
    },

    /** Of what the last minute wrote. */
    sizes(): readonly string[] {
      const each = (bytes: number) => `${Math.round(bytes / size)} B`;
      const { orders, outcomes, audits } = stored;
      const [registry, index, page] = [STATE_KEYS.registry, STATE_KEYS.index, STATE_KEYS.page].map(lengthOf);
      return [
        `${named(size)}: stored of a cluster: orders ${each(orders)}, outcomes ${each(outcomes)} with ${audits} audits, registry ${each(registry ?? 0)}, index ${each(index ?? 0)}; page ${page} B`,
      ];
    },

    async load(name: 'plan' | 'report') {
      const { memoryMiB, timeoutSeconds } = HUB_SIZES[name];
      const environment = {
        ...awsEnvironment(aws, {
          account: HUB.account,
          role: `arn:aws:iam::${HUB.account}:role/${ROLE}`,
          region: HUB.region,
        }),
        STATE_BUCKET: 'state',
        LANE_FUNCTIONS: JSON.stringify({ [DEFAULT_LANE]: 'CertMarshal-sweep-default' }),
        LANES: JSON.stringify([DEFAULT_LANE]),
        HUB_ACCOUNT: HUB.account,
        HUB_PARTITION: HUB.partition,
      };
      const bundle = await loadBundle(bundles[name], environment, lambdaNode(memoryMiB));
      execFileSync('taskset', ['-a', '-p', '-c', '0', `${bundle.pid}`]);
      const share = giveShareOfCore(bundle.pid, shareOfCore(memoryMiB));
      return {
        async run(at: number, event: object = {}) {
          const processor = processorSeconds(bundle.pid);
          const begin = performance.now();
          const { error, ...answer } = await bundle.invoke(
            { tick: new Date(at).toISOString(), ...event },
            timeoutSeconds * 1_000,
          );
          if (error !== undefined) throw new Error(`${error}\n${bundle.output().slice(-2_000)}`);
          return {
            ...answer,
            seconds: (performance.now() - begin) / 1_000,
            processorSeconds: processorSeconds(bundle.pid) - processor,
          };
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

function outcomeOf({ id, audit }: Order, startedAt: number, isUnwell: boolean): SweepOutcome {
  const name = id.split('/').at(-1) ?? id;
  const message = 'the API server does not answer within 10 s';
  const at = new Date(startedAt).toISOString();
  return {
    id,
    name,
    provider: 'eks',
    startedAt: at,
    durationMs: isUnwell ? 10_000 : 60,
    readable: !isUnwell,
    complete: !isUnwell,
    problems: isUnwell ? [{ kind: 'timeout', object: 'API server', message, remedy: 'Check the route to it.' }] : [],
    problemCount: isUnwell ? 1 : 0,
    counted: { from: startedAt - 60_000, to: startedAt, issued: 0, late: 0, notProvable: 0 },
    audit: audit && auditOf(Number(name.split('-')[1]), 'eks', { auditedAt: at }),
  };
}

/** Of all threads. */
function processorSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // utime and stime, in hundredths of a second. Source: proc(5).
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** The largest that its memory ever was. */
function peakOf(pid: number): number {
  const peak = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(peak) / 1_024;
}

function named(size: number): string {
  return `${size.toLocaleString('en')} clusters`;
}

function atMost(most: number): { readonly text: string; readonly met: (value: number) => boolean } {
  return { text: `≤ ${most}`, met: (value) => value <= most };
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
