import { expect, it } from 'vitest';
import type { FleetIndex } from '../../lambdas/contracts/fleet-index.ts';
import type { CsrCounts, SweepOutcome, VerdictLine } from '../../lambdas/contracts/outcome.ts';
import { runs } from '../runs.ts';
import {
  at,
  auditSummary,
  DAY,
  DUBLIN,
  expiryFinding,
  MINUTE,
  NOW,
  PARIS,
  swept,
  TROUBLE,
  verdictLine,
} from '../unit/fleet/values.ts';
import { startReportStory } from './alarms/report-story.ts';
import type { Transition } from './alarms/simulator.ts';
import { seededRandom } from './random.ts';

const DAYS = runs(3);
const CLUSTERS = [DUBLIN, PARIS, { ...PARIS, id: 'rome', cluster: { ...PARIS.cluster, name: 'rome' } }];
const IDS = CLUSTERS.map(({ id }) => id);
const [ON_EKS = '', , ROME = ''] = IDS;
const SECOND = 1_000;
const DAY_MINUTES = 24 * 60;
/** How often something happens in a minute. */
const ODDS = {
  outcomesLost: 0.01,
  outcomesLate: 0.005,
  reportAgain: 0.005,
  reportKilled: 0.005,
  tickLost: 0.002,
  request: 0.005,
};

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
  const due = asked
    .map(({ minute }) => NOW + (minute + 15) * MINUTE)
    .filter((time) => time >= (from ?? to) && time < to);
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
        facts: { cause: 'proven', proofs: [] },
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

/** Days of a hub: alarms are judged after each minute. */
async function live(days: number, trouble: Trouble = {}) {
  const random = seededRandom(7);
  const chance = (what: keyof typeof ODDS): boolean => random() < ODDS[what];
  const outcomesOf = fleetWith(trouble, random);
  let current = 0;
  using story = startReportStory({
    targets: CLUSTERS,
    // Once a day EKS throttles the discovery for some minutes.
    sources: () => ({
      'fleet.yaml': { triedAt: at(), readAt: at(), problem: current % DAY_MINUTES < 4 ? TROUBLE : undefined },
    }),
  });
  let late: (() => Promise<unknown>)[] = [];
  let reports = 0;
  const tickOf = async (minute: number): Promise<void> => {
    const tick = NOW + minute * MINUTE;
    const outcomes = outcomesOf(minute, story.now, story.index());
    const write = async () => story.write(tick, outcomes);
    // What is late is there just after the report of its own tick.
    if (chance('outcomesLate')) late.push(write);
    else if (!chance('outcomesLost')) await write();
    story.now += Math.max(...outcomes.map(({ durationMs }) => durationMs));
    if (chance('reportKilled')) return;
    for (let times = chance('reportAgain') ? 2 : 1; times > 0; times -= 1) await story.report(tick);
    reports += 1;
  };

  const transitions: Transition[] = [];
  // Every cluster has had its audit by then.
  const warmUp = 40;
  for (let minute = 0; minute < days * DAY_MINUTES; minute += 1) {
    current = minute;
    // Scheduler is late, and lets a tick fall out now and then; the next one comes.
    story.now = NOW + minute * MINUTE + random() * 10 * SECOND;
    const [held] = [late];
    late = [];
    if (!chance('tickLost')) await tickOf(minute);
    for (const write of held) await write();
    story.now = NOW + (minute + 1) * MINUTE;
    if (minute < warmUp) continue;
    transitions.push(...(await story.judge()));
    expect(story.people.unheard(story.simulator)).toEqual([]);
    if (minute % DAY_MINUTES === 21 * 60) await story.people.daily();
  }
  // CloudWatch itself says that what is about notify is well, when it is new.
  const messages = story.people.messages.filter(({ state }) => state !== 'raw');
  return { transitions, messages, store: story.store, reports };
}

it(`says nothing in ${DAYS} quiet days but one message a day`, async () => {
  const { transitions, messages, store, reports } = await live(DAYS);
  expect(transitions.filter(({ to }) => to === 'ALARM')).toEqual([]);
  expect(messages.map(({ topic, line }) => `${topic} ${line}`)).toEqual(
    Array.from({ length: DAYS }, () =>
      ['warning', 'chat'].map((topic) => `${topic} [daily] All is well: 3 clusters, 3 well`),
    ).flat(),
  );
  expect(reports).toBeGreaterThan(DAYS * 24 * 59);
  // Nobody paid for a series that was not needed: those that are always on, and those of clusters that were away.
  expect(store.size).toBeLessThan(16);
});

it('fires and clears each alarm once in a day with an hour without an answer and a certificate that nearly ends', async () => {
  const trouble: Trouble = { romeAway: [180, 240], certificateEnds: [600, 720] };
  const { transitions, messages } = await live(1, trouble);
  const changes = transitions
    .filter(({ contributor, from, to }) => contributor === undefined && [from, to].includes('ALARM'))
    .map(({ alarm, to }) => `${alarm.name.replace('certmarshal-', '')} ${to}`);
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
  for (const topic of ['pager', 'chat', 'critical'])
    expect(
      messages
        .filter((sent) => sent.topic === topic && sent.state !== 'daily')
        .map(({ state, key }) => `${state} ${key}`),
    ).toEqual([
      'opened ClusterUnreadable rome',
      'closed ClusterUnreadable rome',
      `opened CertificateCritical ${ON_EKS} kube-apiserver`,
      `closed CertificateCritical ${ON_EKS} kube-apiserver`,
    ]);
});
