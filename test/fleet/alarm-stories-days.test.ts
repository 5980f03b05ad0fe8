import { Template } from 'aws-cdk-lib/assertions';
import type { SQSEvent } from 'aws-lambda';
import { expect, it } from 'vitest';
import type { JsonObjects } from '../../lambdas/aws/json-objects.ts';
import { DEFAULT_MONITORING } from '../../lambdas/config/fleet.ts';
import type { FateRow } from '../../lambdas/contracts/fates.ts';
import type { SweepOutcome, VerdictLine } from '../../lambdas/contracts/outcome.ts';
import { encodeOutcome } from '../../lambdas/fleet/outcome-message.ts';
import { createFoldBatch } from '../../lambdas/functions/fold-batch.ts';
import { createNotifyHandler } from '../../lambdas/functions/handle-notify.ts';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import { FATES, type Fate, toldMinutes } from '../../lambdas/slo/fates.ts';
import { createLogger, createMetrics } from '../../lambdas/telemetry/telemetry.ts';
import { runs } from '../runs.ts';
import {
  at,
  auditSummary,
  DAY,
  DUBLIN,
  dispatched,
  MINUTE,
  NOW,
  PARIS,
  registered,
  registry,
  swept,
  verdictLine,
} from '../unit/fleet/values.ts';
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
const [ON_EKS = ''] = IDS;
/** How often something happens in a minute. */
const ODDS = {
  outcomeLost: 0.01,
  outcomeAgain: 0.01,
  outcomeLate: 0.005,
  batchAgain: 0.005,
  tickLost: 0.002,
  request: 0.005,
};

interface Request {
  readonly minute: number;
  readonly fate: Fate;
}

/** A fleet in which nothing is wrong, as its outcomes tell it: what is lost, late, twice or slow is of every day. */
function quietFleet(random: () => number): (minute: number) => readonly SweepOutcome[] {
  const requests = new Map<string, Request[]>(IDS.map((id) => [id, []]));
  /** By cluster: until which minute it cannot be reached. */
  const away = new Map<string, number>();
  const chance = (odds: number): boolean => random() < odds;
  return (minute) =>
    IDS.map((id, index) => {
      const startedAt = NOW + minute * MINUTE + Math.floor(random() * 9_000);
      const asked = (requests.get(id) ?? []).filter((request) => request.minute > minute - 90);
      requests.set(id, asked);
      // Most of those on EKS are approved by EKS.
      const fate: Fate = id === ON_EKS && chance(0.9) ? 'others' : 'us';
      if (chance(ODDS.request)) asked.push({ minute, fate });
      // A control plane is upgraded: six minutes without an answer, twice a month.
      if (chance(2 / (30 * 24 * 60))) away.set(id, minute + 6);
      const readable = minute >= (away.get(id) ?? minute);
      // One audit of a hundred is not made.
      const audited = (minute + index) % 15 === 0 && !chance(0.01);
      return swept({
        id,
        name: CLUSTERS[index]?.cluster.name ?? id,
        provider: id === ON_EKS ? 'eks' : 'eks-anywhere',
        server: `${index}.example.com:6443`,
        startedAt: new Date(startedAt).toISOString(),
        durationMs: 100 + Math.floor(random() * 900),
        readable,
        complete: readable,
        ...(readable ? { fates: fatesOf(asked, startedAt), verdicts: verdictsOf(asked, minute, startedAt) } : {}),
        audit: audited && readable ? quietAudit(startedAt) : undefined,
      });
    });
}

function fatesOf(asked: readonly Request[], lookedAt: number): readonly FateRow[] {
  const { first, end } = toldMinutes(lookedAt);
  const byMinute = Map.groupBy(asked, ({ minute }) => NOW / MINUTE + minute);
  return [...byMinute]
    .filter(([minute]) => minute >= first && minute < end)
    .map(([minute, same]): FateRow => {
      const [us = 0, others = 0, missed = 0, refused = 0, unprovable = 0] = FATES.map(
        (fate) => same.filter((request) => request.fate === fate).length,
      );
      return [minute, us, others, missed, refused, unprovable];
    });
}

function verdictsOf(asked: readonly Request[], minute: number, now: number): readonly VerdictLine[] {
  return asked
    .filter((request) => request.minute === minute && request.fate === 'us')
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

function quietAudit(now: number): NonNullable<SweepOutcome['audit']> {
  return auditSummary({
    auditedAt: new Date(now).toISOString(),
    counts: { critical: 0, warning: 0, info: 0 },
    findings: [],
    findingCount: 0,
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

it(`says nothing in ${DAYS} quiet days but one digest a day`, async () => {
  const random = seededRandom(7);
  const outcomesOf = quietFleet(random);
  const store = createMetricStore();
  const alarms = alarmsOf(Template.fromStack(stacksOf(fleetOf()).hub).toJSON());
  const simulator = createSimulator(alarms, store);
  const state = bucketOf({
    'registry.v2.json.gz': registry(...CLUSTERS.map((target) => registered(target.id, { target, foundAt: at(-DAY) }))),
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
  const foldBatch = createFoldBatch({ ...common, metrics });
  const told: string[] = [];
  const notify = createNotifyHandler({
    ...common,
    metrics: createMetrics('notify'),
    publish: async (severity, { subject }) => void told.push(`${severity} ${subject}`),
    putEvents: async () => ({ unsent: [] }),
    link: undefined,
  });
  const never = new AbortController().signal;
  const endListening = listen((text) => {
    for (const sample of samplesOf(text, now)) store.add(sample);
  });
  const fold = async (bodies: readonly string[]): Promise<void> => {
    const records = bodies.map((body, index) => ({ messageId: String(index), body }));
    await foldBatch({ Records: records } as SQSEvent, never);
    metrics.publishStoredMetrics();
  };
  const publish = (service: string, values: Readonly<Record<string, number>>): void => {
    for (const [name, value] of Object.entries(values))
      store.add({ namespace: 'certmarshal', name, dimensions: { service }, at: now, value });
  };

  const transitions: Transition[] = [];
  let late: string[] = [];
  let beaten = 0;
  // Every cluster has had its audit by then.
  const warmUp = 20;
  try {
    for (let minute = 0; minute < DAYS * 24 * 60; minute += 1) {
      now = NOW + minute * MINUTE + 5_000;
      // Scheduler lets a tick fall out now and then; the next one comes.
      const ticks = random() >= ODDS.tickLost;
      // Once a day EKS throttles the discovery for some minutes.
      const throttled = minute % (24 * 60) < 4 ? 1 : 0;
      if (ticks) publish('dispatch', { Dispatched: IDS.length, Registered: IDS.length, DiscoveryProblems: throttled });
      const outcomes = ticks ? outcomesOf(minute) : [];
      const bodies = late;
      late = [];
      for (const outcome of outcomes) {
        const body = encodeOutcome(outcome);
        if (random() < ODDS.outcomeLost) continue;
        if (random() < ODDS.outcomeLate) late.push(body);
        else bodies.push(body);
        if (random() < ODDS.outcomeAgain) late.push(body);
      }
      if (ticks)
        bodies.push(encodeOutcome(dispatched({ startedAt: new Date(now).toISOString(), registered: IDS.length })));
      publish('sweep', { SnapshotsUnwritten: 0, JournalUnwritten: 0 });
      now = NOW + minute * MINUTE + 25_000;
      if (bodies.length > 0) {
        await fold(bodies);
        beaten += 1;
        if (random() < ODDS.batchAgain) await fold(bodies);
      }
      now = NOW + (minute + 1) * MINUTE;
      if (minute < warmUp) continue;
      transitions.push(...simulator.evaluate(now));
      if (now % (HUB_SIZES.notify.looksEverySeconds * 1_000) === 0) await notify({ look: true }, never);
      if (minute % (24 * 60) === 21 * 60) await notify({ digest: true }, never);
    }
  } finally {
    endListening();
  }
  expect(transitions.filter(({ to }) => to === 'ALARM')).toEqual([]);
  expect(told).toHaveLength(DAYS);
  for (const line of told) expect(line).toMatch(/^warning \[digest\] Fleet: 3 of 3 clusters well; /);
  expect(beaten).toBeGreaterThan(DAYS * 24 * 59);
  // Nobody paid for a series that was not needed: those of clusters that were away, and the totals.
  expect(store.size).toBeLessThan(40);
});
