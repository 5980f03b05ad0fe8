import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { summaryOf } from '../../../lambdas/audit/summary.ts';
import type { AuditSummary } from '../../../lambdas/contracts/audit-summary.ts';
import type { ExpiryFinding } from '../../../lambdas/contracts/finding.ts';
import {
  type Finding,
  type FleetIndex,
  type IndexedCluster,
  parseFleetIndex,
} from '../../../lambdas/contracts/fleet-index.ts';
import type { CertificateObservation } from '../../../lambdas/contracts/observation.ts';
import type { SweepOutcome } from '../../../lambdas/contracts/outcome.ts';
import { newCounts } from '../../../lambdas/fleet/count-csrs.ts';
import { foldOutcomes } from '../../../lambdas/fleet/fold-outcomes.ts';
import { CERTIFICATE_CLASSES, type CertificateClass } from '../../../lambdas/tables/certificate-classes.ts';
import { SEVERITIES } from '../../../lambdas/tables/finding-codes.ts';
import { roundTrip } from './decode-outcome.ts';
import {
  at,
  auditSummary,
  DAY,
  expiryFinding,
  indexed,
  index as indexOf,
  MINUTE,
  NOW,
  swept,
  TROUBLE,
  verdictLine,
} from './values.ts';

const CLASSES = Object.keys(CERTIFICATE_CLASSES) as CertificateClass[];

describe('foldOutcomes', () => {
  it('keeps the newest outcome of each cluster, and the last good times', () => {
    const first = swept({ startedAt: at(-2 * MINUTE) });
    const { server: _, ...unreachable } = swept({
      startedAt: at(-MINUTE),
      readable: false,
      complete: false,
      problems: [TROUBLE],
      problemCount: 7,
    });
    const index = foldOutcomes(undefined, [first, unreachable, swept({ id: 'rome', name: 'rome' })], NOW);
    expect(Object.keys(index.clusters)).toEqual(['paris', 'rome']);
    expect(index.clusters['paris']).toEqual({
      id: 'paris',
      name: 'paris',
      provider: 'eks-anywhere',
      counts: first.counts,
      sweptAt: at(-MINUTE),
      triedAt: at(-MINUTE),
      durationMs: 200,
      readable: false,
      complete: false,
      findings: [{ ...TROUBLE, since: at(-MINUTE) }],
      findingCount: 7,
      readableAt: at(-2 * MINUTE),
      completeAt: at(-2 * MINUTE),
      server: 'paris.example.com:6443',
      serverAt: at(-2 * MINUTE),
    });
  });

  it('remembers the last sweep that held the thread', () => {
    const index = foldAll([
      swept({ startedAt: at(-2 * MINUTE), heavy: true }),
      swept({ startedAt: at(-3 * MINUTE), heavy: true }),
      swept({ startedAt: at(-MINUTE) }),
    ]);
    expect(index.clusters['paris']).toMatchObject({ sweptAt: at(-MINUTE), heavyAt: at(-2 * MINUTE) });
  });

  it('remembers since when a finding is there without a break', () => {
    const index = foldAll([
      swept({ startedAt: at(-4 * MINUTE), problems: [TROUBLE] }),
      swept({ startedAt: at(-3 * MINUTE) }),
      swept({ startedAt: at(-2 * MINUTE), problems: [TROUBLE] }),
      swept({
        startedAt: at(-MINUTE),
        problems: [
          { ...TROUBLE, object: 'cluster y' },
          { ...TROUBLE, message: 'still no' },
        ],
      }),
    ]);
    expect(index.clusters['paris']?.findings.map(({ object, since }) => [object, since])).toEqual([
      ['cluster y', at(-MINUTE)],
      ['cluster x', at(-2 * MINUTE)],
    ]);
  });

  it('takes no more from a late outcome than when things were last well, and that a finding is older', () => {
    const late = swept({ startedAt: at(-MINUTE), problems: [TROUBLE], counts: undefined });
    const newest = swept({ readable: false, complete: false, problems: [TROUBLE], problemCount: 1 });
    const index = foldAll([newest, late]);
    expect(index.clusters['paris']).toMatchObject({
      sweptAt: at(),
      readable: false,
      counts: newest.counts,
      readableAt: at(-MINUTE),
      findings: [{ ...TROUBLE, since: at(-MINUTE) }],
    });
  });

  it('keeps when a sweep last came as far as the cluster', () => {
    const untried = swept({
      startedAt: at(-MINUTE),
      untried: true,
      readable: false,
      complete: false,
      problems: [TROUBLE],
    });
    const index = foldAll([swept({ startedAt: at(-2 * MINUTE) }), untried]);
    expect(index.clusters['paris']).toMatchObject({
      sweptAt: at(-MINUTE),
      triedAt: at(-2 * MINUTE),
      findings: [{ ...TROUBLE, since: at(-MINUTE) }],
    });
    expect(foldAll([untried]).clusters['paris']).not.toHaveProperty('triedAt', expect.anything());
  });

  it('keeps workload clusters until they were looked for again', () => {
    const workloadClusters = [{ namespace: 'eksa-system', name: 'berlin' }];
    const index = foldAll([swept({ startedAt: at(-MINUTE), workloadClusters }), swept()]);
    expect(index.clusters['paris']?.workloadClusters).toEqual({ readAt: at(-MINUTE), clusters: workloadClusters });
    const none = foldOutcomes(index, [swept({ startedAt: at(1), workloadClusters: [] })], NOW);
    expect(none.clusters['paris']?.workloadClusters?.clusters).toEqual([]);
    expect(none.clusters['paris']?.workloadClusters).not.toHaveProperty('cut', expect.anything());
    const cut = swept({ startedAt: at(2), workloadClusters, workloadClustersCut: true });
    expect(foldOutcomes(none, [cut], NOW).clusters['paris']?.workloadClusters).toMatchObject({
      readAt: at(2),
      cut: true,
    });
  });

  it('keeps only the decisions of a sweep by webhook', () => {
    const before = foldAll([swept({ startedAt: at(-MINUTE), audit: auditSummary() })]);
    const verdicts = [verdictLine({ outcome: 'written' })];
    const hook = swept({ byWebhook: true, readable: false, problems: [TROUBLE], verdicts, server: 'elsewhere:443' });
    const after = foldOutcomes(before, [hook, { ...hook, id: 'unheard-of' }], NOW);
    expect(after.clusters).toEqual({ paris: { ...before.clusters['paris'], verdicts } });
  });

  it.each([
    ['ten minutes ahead', 10 * MINUTE, true],
    ['more than ten minutes ahead', 10 * MINUTE + 1, false],
    ['almost 30 days old', -30 * DAY + 1, true],
    ['30 days old', -30 * DAY, false],
  ])('an outcome that is %s counts: %3$s', (_, age, counts) => {
    const index = foldOutcomes(undefined, [swept({ startedAt: at(age) })], NOW);
    expect(Object.keys(index.clusters).length === 1).toBe(counts);
  });

  it('forgets a cluster 30 days after its newest outcome', () => {
    const index = foldOutcomes(undefined, [swept()], NOW);
    expect(Object.keys(foldOutcomes(index, [], NOW + 30 * DAY - 1).clusters)).toEqual(['paris']);
    expect(Object.keys(foldOutcomes(index, [], NOW + 30 * DAY).clusters)).toEqual([]);
  });

  it('keeps the 50,000 clusters that were swept last', () => {
    const ages = [2, ...Array.from({ length: 50_000 }, (_, n) => n % 2), 2];
    const all = ages.map((age, n) => indexed(`c${n}`, { sweptAt: at(-age * MINUTE) }));
    const { clusters } = foldOutcomes(indexOf(...all), [], NOW);
    expect(Object.keys(clusters)).toHaveLength(50_000);
    expect([clusters['c0'], clusters['c50001']]).toEqual([undefined, undefined]);
  });

  describe('the counts of CSRs', () => {
    const countedIn = (from: number | undefined, to: number, issued = 1) =>
      swept({ startedAt: at(to - NOW), counted: { from, to, issued, late: 2, notProvable: 3 } });
    const known = indexOf(indexed('paris', { countedTo: NOW }));
    const sumOf = (outcomes: readonly SweepOutcome[], before: FleetIndex | undefined = known) => ({
      issued: newCounts(before, outcomes, NOW + 5 * MINUTE).get('paris')?.issued,
      countedTo: foldOutcomes(before, outcomes, NOW + 5 * MINUTE).clusters['paris']?.countedTo,
    });
    const [first, second] = [countedIn(NOW, NOW + MINUTE), countedIn(NOW + MINUTE, NOW + 2 * MINUTE, 10)];

    it.each<[string, readonly SweepOutcome[], object]>([
      ['that begin where the index ends', [first], { issued: 1, countedTo: NOW + MINUTE }],
      ['twice', [first, first], { issued: 1, countedTo: NOW + MINUTE }],
      ['of two ticks, in any order', [second, first], { issued: 11, countedTo: NOW + 2 * MINUTE }],
      ['of two sweeps of one tick', [countedIn(NOW, NOW + 61_000, 9), first], { issued: 1, countedTo: NOW + MINUTE }],
      ['of a sweep after a lost one', [second], { issued: undefined, countedTo: NOW }],
      ['of a first sweep', [countedIn(undefined, NOW + MINUTE)], { issued: undefined, countedTo: NOW }],
      ['that end before they begin', [countedIn(NOW, NOW - MINUTE)], { issued: undefined, countedTo: NOW }],
      ['of a time to come', [countedIn(NOW, NOW + 15 * MINUTE + 1)], { issued: undefined, countedTo: NOW }],
      ['of a sweep that counts nothing', [swept({ startedAt: at(MINUTE) })], { issued: undefined, countedTo: NOW }],
    ])('%s', (_, outcomes, expected) => {
      expect(sumOf(outcomes)).toEqual(expected);
    });

    it('begin with the first sweep, and stay where a sweep reads nothing', () => {
      const begun = foldOutcomes(undefined, [countedIn(undefined, NOW)], NOW);
      expect(begun.clusters['paris']?.countedTo).toBe(NOW);
      expect(sumOf([countedIn(undefined, NOW)], foldOutcomes(undefined, [], NOW))).toEqual({
        issued: 1,
        countedTo: NOW,
      });
      expect(sumOf([swept({ startedAt: at(MINUTE), readable: false })], begun)).toEqual({ countedTo: NOW });
    });

    it('say what lies too far back to be counted', () => {
      const to = NOW + 5 * MINUTE;
      const away = (from: number) =>
        newCounts(indexOf(indexed('paris', { countedTo: from })), [countedIn(from, to)], to).get('paris')?.notCountedMs;
      expect([away(to - 60 * MINUTE), away(to - 60 * MINUTE - 1)]).toEqual([0, 1]);
    });
  });

  it('keeps decisions for a week, those of late outcomes too', () => {
    const hostile = verdictLine({ uid: 'a', at: at(-MINUTE), hostile: true });
    const newer = swept({ verdicts: [verdictLine({ uid: 'b' })] });
    const late = swept({ startedAt: at(-MINUTE), verdicts: [hostile] });
    const index = foldAll([newer, late]);
    expect(index.clusters['paris']?.verdicts).toEqual([hostile, verdictLine({ uid: 'b' })]);
    const later = at(7 * DAY - 1);
    const unreadable = swept({ startedAt: later, readable: false });
    const left = foldOutcomes(index, [unreadable], NOW + 7 * DAY - 1).clusters['paris'];
    expect(left?.verdicts).toEqual([verdictLine({ uid: 'b' })]);
    for (const startedAt of [at(7 * DAY), at(-MINUTE)])
      expect(foldOutcomes(index, [swept({ startedAt })], NOW + 7 * DAY).clusters['paris']).not.toHaveProperty(
        'verdicts',
        expect.anything(),
      );
  });

  it('takes a cluster named like a member of every object as one like any other', () => {
    const index = foldAll([swept({ id: 'constructor', name: 'constructor' })]);
    expect(index.clusters['constructor']?.sweptAt).toBe(at());
  });
});

// Unique times for each cluster: a message group is received by one at a time.
const outcomes: fc.Arbitrary<readonly SweepOutcome[]> = fc.uniqueArray(
  fc
    .record({
      id: fc.constantFrom('paris', 'rome', 'constructor'),
      minute: fc.integer({ min: -50, max: 12 }),
      readable: fc.boolean(),
      complete: fc.boolean(),
      kinds: fc.subarray(['forbidden', 'timeout', 'evidence']),
      server: fc.constantFrom(undefined, 'a:443', 'b:443'),
      workload: fc.constantFrom(undefined, [], [{ namespace: 'n', name: 'w' }]),
      verdicts: fc.uniqueArray(fc.tuple(fc.nat({ max: 12 }), fc.boolean()), {
        selector: ([uid]) => uid,
        maxLength: 12,
      }),
    })
    .map(({ id, minute, kinds, server, workload, readable, complete, verdicts }): SweepOutcome => {
      const problems = kinds.map((kind) => ({ ...TROUBLE, kind }));
      const startedAt = at(minute * MINUTE);
      const { server: _, ...rest } = swept({ id, startedAt, problems, readable, complete, durationMs: minute + 50 });
      return {
        ...rest,
        ...(server === undefined ? {} : { server }),
        ...(workload === undefined ? {} : { workloadClusters: workload }),
        ...(verdicts.length === 0
          ? {}
          : {
              verdicts: verdicts.map(([uid, isHostile]) =>
                verdictLine({ uid: `${uid}`, at: startedAt, hostile: isHostile ? true : undefined }),
              ),
            }),
      };
    }),
  { maxLength: 30, selector: (outcome) => JSON.stringify([outcome.id, outcome.startedAt]) },
);

/** The outcomes in some order, some of them again, cut into batches. */
const deliveries = outcomes.chain((all) =>
  fc.record({
    all: fc.constant(all),
    batches: fc
      .tuple(
        fc.shuffledSubarray([...all], { minLength: all.length, maxLength: all.length }),
        fc.subarray([...all]),
        fc.integer({ min: 1, max: 5 }),
      )
      .map(([shuffled, again, size]) => {
        const sent = [...shuffled, ...again];
        return Array.from({ length: Math.ceil(sent.length / size) }, (_, n) => sent.slice(n * size, (n + 1) * size));
      }),
  }),
);

describe('any delivery of the same outcomes', () => {
  it('gives the same index, but for the beginning of findings', () => {
    fc.assert(
      fc.property(deliveries, ({ all, batches }) => {
        expect(withoutSince(foldBatches(batches))).toEqual(withoutSince(foldAll(inOrder(all))));
      }),
      { seed: 5, numRuns: 500 },
    );
  });

  it('never lets a finding begin later than in order, nor before anybody saw it', () => {
    fc.assert(
      fc.property(deliveries, ({ all, batches }) => {
        const ordered = findingsOf(foldAll(inOrder(all)));
        const found = findingsOf(foldBatches(batches));
        expect([...found.keys()]).toEqual([...ordered.keys()]);
        for (const [key, { since }] of found) {
          expect(since <= (ordered.get(key)?.since ?? '')).toBe(true);
          const seen = all.filter((outcome) => keysOf(outcome).includes(key)).map(({ startedAt }) => startedAt);
          expect(seen).toContain(since);
        }
      }),
      { seed: 6, numRuns: 500 },
    );
  });

  it('is unchanged by the same outcomes once more, but for the beginning of findings', () => {
    fc.assert(
      fc.property(deliveries, ({ batches }) => {
        const once = foldBatches(batches);
        expect(withoutSince(foldOutcomes(once, batches.flat(), NOW))).toEqual(withoutSince(once));
      }),
      { seed: 7, numRuns: 300 },
    );
  });

  it('is made good by the next outcome when some are lost', () => {
    fc.assert(
      fc.property(outcomes, fc.nat(), (all, seed) => {
        const lossy = all.filter((_, position) => (position + seed) % 3 !== 0);
        const last = swept({ startedAt: at(13 * MINUTE), workloadClusters: [], problems: [TROUBLE] });
        const now = NOW + 13 * MINUTE;
        const state = (outcomesOf: readonly SweepOutcome[]) =>
          withoutRequests(withoutSince(foldOutcomes(undefined, [...outcomesOf, last], now)).clusters['paris']);
        expect(state(lossy)).toEqual(state(all));
      }),
      { seed: 8, numRuns: 300 },
    );
  });

  it('never moves a time back', () => {
    fc.assert(
      fc.property(deliveries, ({ batches }) => {
        let before: FleetIndex | undefined;
        for (const batch of batches) {
          const after = foldOutcomes(before, batch, NOW);
          for (const [id, cluster] of Object.entries(before?.clusters ?? {}))
            for (const time of ['sweptAt', 'heavyAt', 'readableAt', 'completeAt', 'serverAt'] as const)
              expect((cluster[time] ?? '') <= (after.clusters[id]?.[time] ?? '')).toBe(true);
          before = after;
        }
      }),
      { seed: 9, numRuns: 300 },
    );
  });

  it('can be stored and sent', () => {
    fc.assert(
      fc.property(outcomes, (all) => {
        const sent = all.map((outcome) => {
          const decoded = roundTrip(outcome);
          if (!decoded.ok) throw new Error(decoded.problem);
          return decoded.value;
        });
        const index = foldAll(sent);
        expect(index).toEqual(foldAll(all));
        expect(parseFleetIndex(JSON.parse(JSON.stringify(index)), NOW)).toEqual(index);
      }),
      { seed: 10, numRuns: 300 },
    );
  });
});

function foldAll(all: readonly SweepOutcome[]): FleetIndex {
  return foldOutcomes(undefined, all, NOW);
}

function foldBatches(batches: readonly (readonly SweepOutcome[])[]): FleetIndex {
  return batches.reduce<FleetIndex>((index, batch) => foldOutcomes(index, batch, NOW), foldAll([]));
}

function inOrder(all: readonly SweepOutcome[]): readonly SweepOutcome[] {
  return all.toSorted((a, b) => Date.parse(a.startedAt) - Date.parse(b.startedAt));
}

function keysOf(outcome: SweepOutcome): readonly string[] {
  return outcome.problems.map(({ kind }) => `${outcome.id} ${kind}`);
}

function findingsOf(index: FleetIndex): ReadonlyMap<string, Finding> {
  const all = Object.values(index.clusters).flatMap(({ id, findings }) =>
    findings.map((finding) => [id, finding] as const),
  );
  return new Map(all.map(([id, finding]) => [`${id} ${finding.kind}`, finding]));
}

/** Of findings. */
function withoutSince(index: FleetIndex): FleetIndex {
  return JSON.parse(
    JSON.stringify(index, (key, value: unknown) => (key === 'since' && typeof value === 'string' ? undefined : value)),
  );
}

/** What only the lost outcomes knew. */
function withoutRequests(cluster: IndexedCluster | undefined) {
  if (cluster === undefined) return undefined;
  const { verdicts: _, ...rest } = cluster;
  return rest;
}

describe('the index of a thousand clusters', () => {
  it('has room in one object at its worst: 22 MB of 32 MiB', () => {
    const findings = Array.from({ length: 20 }, (_, n) =>
      expiryFinding({ object: `kubelet-serving worker-${n}.example.com:10250`, what: CLASSES[n % 12] ?? 'etcd-peer' }),
    );
    const observations = CLASSES.slice(0, 12).map(
      (what): CertificateObservation => ({
        kind: 'certificate',
        source: 'tls',
        observedAt: at(),
        what,
        where: 'ip-10-0-101-124.eu-central-1.compute.internal:6443',
        basis: 'certificate',
        notBefore: at(-DAY),
        notAfter: at(DAY),
      }),
    );
    const audit = summaryOf(
      { version: 1, cluster: 'paris', provider: 'eks', auditedAt: at(), observations, findings },
      { durationMs: 1 },
    );
    const verdicts = Array.from({ length: 12 }, (_, n) =>
      verdictLine({
        uid: `00000000-0000-4000-8000-${100_000_000_000 + n}`,
        node: `ip-10-0-101-${100 + n}.eu-central-1.compute.internal`,
        facts: {
          cause: 'of-another',
          name: { kind: 'ip', value: '10.0.1.24' },
          owner: {
            node: 'ip-10-0-101-125.eu-central-1.compute.internal',
            object: 'Machine eksa-system/md-0-k2m1',
          },
        },
        hostile: true,
      }),
    );
    const looks = [30, 15, 0].map((ago) =>
      swept({
        startedAt: at(-ago * MINUTE),
        problems: [TROUBLE, { ...TROUBLE, kind: 'evidence' }, { ...TROUBLE, kind: 'timeout' }],
        verdicts: verdicts.map((line) => ({ ...line, at: at(-ago * MINUTE) })),
        audit,
      }),
    );
    const cluster = foldOutcomes(indexOf(indexed('paris', { countedTo: NOW })), looks, NOW).clusters['paris'];
    expect(cluster?.verdicts).toHaveLength(12);
    expect(1_000 * Buffer.byteLength(JSON.stringify(cluster))).toBeLessThan(22_000_000);
  });
});

describe('the audit of a cluster in the index', () => {
  const audited = (minutes: number, changed: Partial<AuditSummary> = {}) =>
    swept({ startedAt: at(minutes * MINUTE), audit: auditSummary({ auditedAt: at(minutes * MINUTE), ...changed }) });
  const auditAfter = (told: readonly SweepOutcome[]) =>
    told.reduce<FleetIndex | undefined>((before, outcome) => foldOutcomes(before, [outcome], NOW + DAY), undefined)
      ?.clusters['paris']?.audit;

  it('is the newest one, also when later sweeps made none and older ones come late', () => {
    const [first, second] = [audited(0), audited(15, { findings: [], findingCount: 0 })];
    const later = swept({ startedAt: at(20 * MINUTE) });
    for (const order of [
      [first, second, later],
      [second, later, first],
      [later, first, second],
    ])
      expect(auditAfter(order)).toEqual(second.audit);
  });

  it('loses nothing to one that did not know what was before', () => {
    const other = expiryFinding({ code: 'SourceUnread', object: 'source nodes', severity: 'warning' });
    const milder = expiryFinding({ severity: 'info', due: at(30 * DAY), since: at(15 * MINUTE) });
    const partial = audited(15, {
      partial: true,
      findings: [other, milder],
      findingCount: 2,
      counts: { critical: 0, warning: 1, info: 1 },
      ends: [{ what: 'kube-apiserver', count: 1, notAfter: at(30 * DAY), where: 'x' }],
    });
    const [before] = [audited(0)];
    for (const order of [
      [before, partial],
      [partial, before],
      [before, partial, partial],
    ]) {
      const known = auditAfter(order);
      expect(known).toMatchObject({ auditedAt: at(15 * MINUTE), partial: true, sources: partial.audit?.sources });
      expect(known?.findings).toContainEqual(other);
      expect(known?.findings).toContainEqual(expiryFinding());
      expect(known?.ends).toEqual(before.audit?.ends);
      expect(known?.counts.warning).toBe(2);
    }
    const knowing = audited(30, { findings: [], findingCount: 0, counts: { critical: 0, warning: 0, info: 0 } });
    expect(auditAfter([before, partial, knowing])).toEqual(knowing.audit);
  });

  it('never has less, milder or later findings after a partial audit', () => {
    const anyFinding = fc
      .record({
        object: fc.constantFrom('a', 'b', 'c'),
        severity: fc.constantFrom(...SEVERITIES),
        due: fc.nat({ max: 100 }).map((days) => at(days * DAY)),
      })
      .map(expiryFinding);
    const anyFindings = fc.uniqueArray(anyFinding, { selector: ({ object }) => object, maxLength: 3 });
    fc.assert(
      fc.property(anyFindings, fc.array(anyFindings, { maxLength: 4 }), (known, partials) => {
        const countsOf = (findings: readonly ExpiryFinding[]) => {
          const count = (severity: string) => findings.filter((finding) => finding.severity === severity).length;
          return { critical: count('critical'), warning: count('warning'), info: count('info') };
        };
        const audits = [known, ...partials].map((findings, n) =>
          audited(15 * n, {
            findings,
            findingCount: findings.length,
            counts: countsOf(findings),
            partial: n === 0 ? undefined : true,
          }),
        );
        const found = auditAfter(audits)?.findings ?? [];
        for (const finding of [known, ...partials].flat()) {
          const same = found.find(({ object }) => object === finding.object);
          expect(SEVERITIES.indexOf(same?.severity ?? 'info')).toBeLessThanOrEqual(
            SEVERITIES.indexOf(finding.severity),
          );
          expect(same?.due !== undefined && same.due <= (finding.due ?? '')).toBe(true);
        }
      }),
      { seed: 7 },
    );
  });
});
