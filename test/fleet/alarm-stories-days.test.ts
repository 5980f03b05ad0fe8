import { Template } from 'aws-cdk-lib/assertions';
import type { SQSEvent } from 'aws-lambda';
import { expect, it } from 'vitest';
import type { JsonObjects } from '../../lambdas/aws/json-objects.ts';
import { DEFAULT_MONITORING } from '../../lambdas/config/fleet.ts';
import type { FleetIndex } from '../../lambdas/contracts/fleet-index.ts';
import type { CsrCounts, SweepOutcome, VerdictLine } from '../../lambdas/contracts/outcome.ts';
import { encodeReportStart } from '../../lambdas/contracts/report-start.ts';
import { encodeOutcome, encodeOutcomes } from '../../lambdas/fleet/outcome-message.ts';
import { createNotifyHandler } from '../../lambdas/functions/handle-notify.ts';
import { MAX_WAIT_MS } from '../../lambdas/functions/outcome-sender.ts';
import { createReportTick } from '../../lambdas/functions/report-tick.ts';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import { createLogger, createMetrics } from '../../lambdas/telemetry/telemetry.ts';
import { runs } from '../runs.ts';
import {
  at,
  auditSummary,
  DAY,
  DUBLIN,
  dispatched,
  expiryFinding,
  MINUTE,
  NOW,
  PARIS,
  registered,
  registry,
  swept,
  verdictLine,
} from '../unit/fleet/values.ts';
import { memoryQueue } from '../unit/functions/memory-queue.ts';
import { fleetOf, stacksOf } from '../unit/lib/stacks.ts';
import { alarmsOf } from './alarms/alarm-definitions.ts';
import { samplesOf } from './alarms/emf.ts';
import { listen } from './alarms/listen.ts';
import { createMetricStore } from './alarms/metric-store.ts';
import { createSimulator, type Transition } from './alarms/simulator.ts';
import { seededRandom } from './random.ts';

const DAYS = runs(3);
const CLUSTERS = [DUBLIN, PARIS, { ...PARIS, id: 'rome', cluster: { ...PARIS.cluster, name: 'rome' } }];
const IDS = CLUSTERS.map(({ id }) => id);
const [ON_EKS = '', , ROME = ''] = IDS;
const SECOND = 1_000;
const DAY_MINUTES = 24 * 60;
/** How often something happens in a minute. */
const ODDS = {
  outcomeLost: 0.01,
  outcomeAgain: 0.01,
  outcomeLate: 0.005,
  startAgain: 0.005,
  reportKilled: 0.005,
  tickLost: 0.002,
  request: 0.005,
};
const NEVER = Object.fromEntries(Object.keys(ODDS).map((what) => [what, 0])) as typeof ODDS;

interface Request {
  readonly minute: number;
  /** Most of those on EKS are approved by EKS. */
  readonly ours: boolean;
}

/** What is wrong, in minutes from the beginning to the end. */
interface Trouble {
  readonly romeAway?: readonly [from: number, until: number];
  readonly certificateEnds?: readonly [from: number, until: number];
}

const isIn = (minute: number, [from, until]: readonly [number, number] = [0, 0]): boolean =>
  minute >= from && minute < until;

/** A fleet in which nothing else is wrong, as its outcomes tell it. */
function fleetWith(
  { romeAway, certificateEnds }: Trouble,
  random: () => number,
): (minute: number, tickAt: number, index: FleetIndex | undefined) => readonly SweepOutcome[] {
  const requests = new Map<string, Request[]>(IDS.map((id) => [id, []]));
  /** By cluster: until which minute it cannot be reached. */
  const away = new Map<string, number>();
  const chance = (odds: number): boolean => random() < odds;
  return (minute, tickAt, known) =>
    IDS.map((id, index) => {
      const startedAt = Math.floor(tickAt + random() * 9_000);
      const asked = (requests.get(id) ?? []).filter((request) => request.minute > minute - 90);
      requests.set(id, asked);
      const ours = id !== ON_EKS || !chance(0.9);
      if (chance(ODDS.request)) asked.push({ minute, ours });
      // A control plane is upgraded: six minutes without an answer, twice a month.
      if (chance(2 / (30 * 24 * 60))) away.set(id, minute + 6);
      const readable = minute >= (away.get(id) ?? minute) && !(id === ROME && isIn(minute, romeAway));
      // One audit of a hundred is not made.
      const audited = (minute + index) % 15 === 0 && !chance(0.01);
      return swept({
        id,
        name: CLUSTERS[index]?.cluster.name ?? id,
        provider: id === ON_EKS ? 'eks' : 'eks-anywhere',
        server: `${index}.example.com:6443`,
        startedAt: new Date(startedAt).toISOString(),
        // One of twenty hangs, and the others of its batch are not waited for.
        durationMs: random() < 0.05 ? 45_000 : 100 + Math.floor(random() * 900),
        readable,
        complete: readable,
        ...(readable
          ? {
              counted: countedOf(asked, startedAt, known?.clusters[id]?.countedTo),
              verdicts: verdictsOf(asked, minute, startedAt),
            }
          : {}),
        audit: audited && readable ? auditAt(startedAt, id === ON_EKS && isIn(minute, certificateEnds)) : undefined,
      });
    });
}

function countedOf(asked: readonly Request[], to: number, from: number | undefined): CsrCounts {
  const due = asked.map(({ minute }) => NOW + (minute + 15) * MINUTE).filter((at) => at >= (from ?? to) && at < to);
  return { from, to, issued: due.length, late: 0, notProvable: 0 };
}

function verdictsOf(asked: readonly Request[], minute: number, now: number): readonly VerdictLine[] {
  return asked
    .filter((request) => request.minute === minute && request.ours)
    .map(() =>
      verdictLine({
        csr: `csr-${minute}`,
        uid: `${minute}`,
        verdict: 'approve',
        reason: 'Proven',
        message: 'every name is proven',
        outcome: 'written',
        at: new Date(now).toISOString(),
      }),
    );
}

function auditAt(now: number, isEnding: boolean): NonNullable<SweepOutcome['audit']> {
  const findings = isEnding ? [expiryFinding({ severity: 'critical', cluster: ON_EKS })] : [];
  return auditSummary({
    auditedAt: new Date(now).toISOString(),
    counts: { critical: findings.length, warning: 0, info: 0 },
    findings,
    findingCount: findings.length,
    ends: [{ what: 'kube-apiserver', count: 3, notAfter: at(300 * DAY), where: '10.0.1.31:6443' }],
    sources: { read: ['nodes', 'tls', 'machines'], unread: [], off: ['tls-secrets'] },
  });
}

/** Nobody changes what is in it, so nothing is copied: there are a hundred thousand writes. */
function bucketOf(initial: Readonly<Record<string, unknown>>): JsonObjects {
  const objects = new Map(Object.entries(initial).map(([key, value]) => [key, { value, etag: key }]));
  return {
    read: async (key) => objects.get(key),
    async write(key, value) {
      objects.set(key, { value, etag: key });
      return key;
    },
  };
}

interface Days {
  readonly days: number;
  readonly odds: typeof ODDS;
  /** How far a tick, and the report after it, are from their time, to both sides. Milliseconds. */
  readonly jitter: { readonly tick: number; readonly report: number };
  readonly trouble?: Trouble;
}

/** Days of a hub: the clock goes from one thing that happens to the next, and alarms are judged after each minute. */
async function live({ days, odds, jitter, trouble = {} }: Days) {
  const random = seededRandom(7);
  const chance = (what: keyof typeof ODDS): boolean => random() < odds[what];
  const around = (ms: number): number => (random() * 2 - 1) * ms;
  const outcomesOf = fleetWith(trouble, random);
  const store = createMetricStore();
  const alarms = alarmsOf(Template.fromStack(stacksOf(fleetOf()).hub).toJSON());
  const simulator = createSimulator(alarms, store);
  const state = bucketOf({
    'registry.json.gz': registry(...CLUSTERS.map((target) => registered(target.id, { target, foundAt: at(-DAY) }))),
  });
  let now = NOW;
  const monitoring = { ...DEFAULT_MONITORING, auditEveryMinutes: 15 };
  const common = {
    state,
    monitoring,
    clock: () => now,
    random: () => 0,
    wait: async () => undefined,
    logger: createLogger('report'),
  };
  common.logger.setLogLevel('ERROR');
  const metrics = createMetrics('report');
  const queue = memoryQueue(() => now);
  const reportTick = createReportTick({ ...common, outcomes: queue, metrics });
  const told: string[] = [];
  const notify = createNotifyHandler({
    ...common,
    metrics: createMetrics('notify'),
    publish: async (topic, { subject }) => {
      if (topic === 'critical' || topic === 'warning') told.push(`${topic} ${subject}`);
    },
    place: { partition: 'aws', region: 'eu-central-1', account: '111122223333' },
    putEvents: async () => ({ unsent: [] }),
    link: undefined,
  });
  const never = new AbortController().signal;
  const endListening = listen((text) => {
    for (const sample of samplesOf(text)) store.add(sample);
  });
  const publish = (service: string, values: Readonly<Record<string, number>>): void => {
    for (const [name, value] of Object.entries(values))
      store.add({ namespace: 'certmarshal', name, dimensions: { service }, at: now, value });
  };

  const agenda: { readonly at: number; readonly act: () => Promise<void> | void }[] = [];
  const later = (time: number, act: () => Promise<void> | void): void => void agenda.push({ at: time, act });
  /** By cluster: ends of the sweeps whose outcomes are on their way. */
  const under = new Map<string, { readonly startedAt: string; readonly endedAt: number }[]>();
  const latencies: number[] = [];
  let reports = 0;

  const report = async (tick: number): Promise<void> => {
    if (chance('reportKilled')) {
      await queue.receive();
      later(now + HUB_SIZES.starts.visibilitySeconds * SECOND, async () => report(tick));
      return;
    }
    const body = encodeReportStart({ tick });
    await reportTick({ Records: [{ messageId: 'start', body }] } as SQSEvent, never);
    if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
    reports += 1;
    const index = (await state.read('fleet-index.json.gz', never))?.value as FleetIndex;
    for (const { id, sweptAt } of Object.values(index.clusters)) {
      const [left = [], known = []] = [false, true].map((isKnown) =>
        (under.get(id) ?? []).filter(({ startedAt }) => startedAt <= sweptAt === isKnown),
      );
      under.set(id, left);
      latencies.push(...known.map(({ endedAt }) => now - endedAt));
    }
  };

  const send = (outcome: SweepOutcome): void => {
    const body = encodeOutcomes([encodeOutcome(outcome)]);
    const { id, startedAt, durationMs } = outcome;
    const endedAt = Date.parse(startedAt) + durationMs;
    if (chance('outcomeLost')) return;
    const isLate = chance('outcomeLate');
    // Those of a batch wait for each other.
    later(endedAt + random() * MAX_WAIT_MS + (isLate ? MINUTE : 0), () => queue.send(body));
    if (!isLate) under.set(id, [...(under.get(id) ?? []), { startedAt, endedAt }]);
    if (chance('outcomeAgain')) later(endedAt + MINUTE, () => queue.send(body));
  };

  const tickOf = (minute: number) => async (): Promise<void> => {
    const tick = NOW + minute * MINUTE;
    publish('dispatch', { Dispatched: IDS.length, Registered: IDS.length });
    // Once a day EKS throttles the discovery for some minutes.
    if (minute % DAY_MINUTES < 4) publish('dispatch', { DiscoveryProblems: 1 });
    const outcome = dispatched({ startedAt: new Date(now).toISOString(), registered: IDS.length });
    later(now + SECOND, () => queue.send(encodeOutcomes([encodeOutcome(outcome)])));
    const stored = await state.read('fleet-index.json.gz', never);
    outcomesOf(minute, now, stored?.value as FleetIndex | undefined).forEach(send);
    const startedAt = now + HUB_SIZES.report.delaySeconds * SECOND;
    later(startedAt + around(jitter.report), async () => report(tick));
    if (chance('startAgain')) later(startedAt + around(jitter.report), async () => report(tick));
  };

  const transitions: Transition[] = [];
  // Every cluster has had its audit by then.
  const warmUp = 40;
  try {
    for (let minute = 0; minute < days * DAY_MINUTES; minute += 1) {
      const end = NOW + (minute + 1) * MINUTE;
      // Scheduler lets a tick fall out now and then; the next one comes.
      if (!chance('tickLost')) later(end - MINUTE + jitter.tick + around(jitter.tick), tickOf(minute));
      for (;;) {
        const next = agenda.reduce((first, one, n) => (one.at < (agenda[first]?.at ?? end) ? n : first), -1);
        const [due] = next === -1 ? [] : agenda.splice(next, 1);
        if (due === undefined) break;
        now = due.at;
        await due.act();
      }
      now = end;
      if (minute < warmUp) continue;
      transitions.push(...simulator.evaluate(now));
      if (now % (HUB_SIZES.notify.looksEverySeconds * SECOND) === 0) await notify({ look: true }, never);
      if (minute % DAY_MINUTES === 21 * 60) await notify({ digest: true }, never);
    }
  } finally {
    endListening();
  }
  return { transitions, told, store, reports, latencies: latencies.toSorted((a, b) => a - b) };
}

const JITTER = { tick: 20 * SECOND, report: 20 * SECOND };

it(`says nothing in ${DAYS} quiet days but one digest a day`, async () => {
  const { transitions, told, store, reports } = await live({ days: DAYS, odds: ODDS, jitter: JITTER });
  expect(transitions.filter(({ to }) => to === 'ALARM')).toEqual([]);
  expect(told).toHaveLength(DAYS);
  for (const line of told) expect(line).toMatch(/^warning \[digest\] Fleet: 3 of 3 clusters healthy; /);
  expect(reports).toBeGreaterThan(DAYS * 24 * 59);
  // Nobody paid for a series that was not needed: those that are always on, and those of clusters that were away.
  expect(store.size).toBeLessThan(16);
});

it('fires and clears each alarm once in a day with an hour without an answer and a certificate that nearly ends', async () => {
  const trouble: Trouble = { romeAway: [180, 240], certificateEnds: [600, 720] };
  const { transitions } = await live({ days: 1, odds: ODDS, jitter: JITTER, trouble });
  const changes = transitions
    .filter(({ contributor, from, to }) => contributor === undefined && [from, to].includes('ALARM'))
    .map(({ alarm, to }) => `${alarm.replace('certmarshal-', '')} ${to}`);
  expect(changes).toEqual([
    'cluster-unreadable ALARM',
    'critical ALARM',
    'cluster-unreadable OK',
    'critical OK',
    'certificate-critical ALARM',
    'critical ALARM',
    'certificate-critical OK',
    'critical OK',
  ]);
});

it.each([
  ['on time', { tick: 0, report: 0 }],
  ['17 seconds early or late', { tick: 0, report: 17 * SECOND }],
  ['20 seconds early or late, after ticks that are too', JITTER],
])(
  'knows of half of the sweeps within a minute, and of all before the next report, when reports come %s',
  async (_, jitter) => {
    const { latencies } = await live({ days: 0.25, odds: NEVER, jitter });
    const longest = MINUTE + 2 * (jitter.tick + jitter.report) + MAX_WAIT_MS;
    expect(latencies.length).toBeGreaterThan(0.25 * DAY_MINUTES * 2.9);
    expect(latencies[Math.floor(latencies.length / 2)]).toBeLessThanOrEqual(MINUTE);
    expect(latencies.at(-1)).toBeLessThanOrEqual(longest);
  },
);
