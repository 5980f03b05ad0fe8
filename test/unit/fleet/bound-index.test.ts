import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commandOf } from '../../../lambdas/audit/commands.ts';
import { type AuditSummary, kindOf } from '../../../lambdas/contracts/audit-summary.ts';
import type { KeptFinding } from '../../../lambdas/contracts/finding.ts';
import { type FleetIndex, type IndexedCluster, parseFleetIndex } from '../../../lambdas/contracts/fleet-index.ts';
import type { VerdictLine } from '../../../lambdas/contracts/outcome.ts';
import type { HoldReason } from '../../../lambdas/contracts/rollout-summary.ts';
import { boundIndex, MAX_INDEX_SIZE } from '../../../lambdas/fleet/bound-index.ts';
import { bare, brief, terse } from '../../../lambdas/fleet/brief-cluster.ts';
import { foldOutcomes } from '../../../lambdas/fleet/fold-outcomes.ts';
import { fleetHealth, type Monitoring } from '../../../lambdas/health/fleet-health.ts';
import { CERTIFICATE_CLASSES, type CertificateClass } from '../../../lambdas/tables/certificate-classes.ts';
import { FINDING_CODES, type FindingCode, runbookOf, SEVERITIES } from '../../../lambdas/tables/finding-codes.ts';
import {
  at,
  auditSummary,
  DAY,
  expiryFinding,
  indexed,
  index as indexOf,
  MINUTE,
  NOW,
  registered,
  registry,
  rolloutSummary,
  swept,
  TROUBLE,
  verdictLine,
} from './values.ts';

const MONITORING: Monitoring = { alarms: {}, maintenance: [], auditEveryMinutes: 15 };
const MAX_OBJECT = 32 * 1024 * 1024;
const CLASSES = Object.keys(CERTIFICATE_CLASSES) as CertificateClass[];
const CODES = Object.keys(FINDING_CODES) as FindingCode[];
/** What a text may have after `printable`: three bytes of UTF-8, or two of JSON. */
const hostileText = (n: number) => '"\u{fffd}\\ж'.repeat(n).slice(0, n);

/** As much of everything as an outcome may tell. */
function hostile(id: string): IndexedCluster {
  const findings = Array.from({ length: 20 }, (_, n): KeptFinding => {
    const code = CODES[n] ?? 'WeakKey';
    return expiryFinding({
      cluster: id,
      code,
      severity: SEVERITIES[n % 2] ?? 'critical',
      what: CLASSES[n] ?? 'etcd-peer',
      object: `${n} ${hostileText(190)}`,
      message: hostileText(300),
      renewedBy: hostileText(300),
      places: [hostileText(100), hostileText(100)],
      placeCount: 20,
      runbook: runbookOf(code),
    });
  });
  const tally = CODES.map((code, n) => ({
    code,
    severity: SEVERITIES[n % 2] ?? 'critical',
    what: CLASSES[n] ?? 'etcd-peer',
    count: 1_000 + n,
  }));
  const verdicts = Array.from({ length: 12 }, (_, n) =>
    verdictLine({
      csr: `${n} ${hostileText(250)}`,
      uid: `00000000-0000-4000-8000-${100_000_000_000 + n}`,
      node: hostileText(253),
      message: hostileText(200),
      at: at(-(n + 1) * 30_000),
      hostile: n < 11 ? true : undefined,
    }),
  );
  return indexed(id, {
    name: id,
    findings: Array.from({ length: 20 }, (_, n) => ({
      kind: `k${n}`,
      object: hostileText(300),
      message: hostileText(600),
      remedy: hostileText(1_000),
      since: at(-DAY),
    })),
    findingCount: 20,
    readable: false,
    readableAt: at(-DAY),
    audit: auditSummary({
      findings,
      findingCount: tally.reduce((sum, { count }) => sum + count, 0),
      tally,
      ends: CLASSES.map((what, n) => ({ what, count: 5, notAfter: at((n + 1) * DAY), where: hostileText(100) })),
    }),
    verdicts,
    countedTo: NOW,
    workloadClusters: {
      readAt: at(),
      clusters: Array.from({ length: 1_000 }, (_, n) => ({ namespace: 'n'.repeat(60), name: `w${n}` })),
    },
  });
}

function fleet(clusters: number, of: (id: string) => IndexedCluster): FleetIndex {
  const one = of('c');
  return indexOf(...Array.from({ length: clusters }, (_, n) => ({ ...one, id: `c-${n}` })));
}

function size(index: FleetIndex): number {
  return Buffer.byteLength(JSON.stringify(index));
}

/** All that is told of signals. */
function signalsOf(index: FleetIndex) {
  const all = registry(...Object.keys(index.clusters).map((id) => registered(id, { foundAt: at(-40 * DAY) })));
  return fleetHealth(all, index, MONITORING, NOW);
}

describe('boundIndex', () => {
  it('leaves an index as it is that has room', () => {
    const index = indexOf(hostile('paris'), indexed('rome'));
    expect(boundIndex(index)).toBe(index);
  });

  it('makes no command of half of an object', () => {
    const object = `Secret ${'n'.repeat(60)}/${'m'.repeat(80)} tls.crt`;
    const id = '111122223333/eu-central-1/dublin';
    const findings = CODES.slice(0, 20).map((code) => expiryFinding({ code, object, cluster: id }));
    const audit = auditSummary({ findings, findingCount: findings.length });
    const whole = indexed(id, { name: 'dublin', provider: 'eks', audit });
    const commands = new Set(
      [brief(whole), terse(whole), bare(whole)]
        .flatMap((cluster) => cluster.audit?.findings ?? [])
        .filter((finding) => finding.object !== object)
        .map((finding) => commandOf(finding, { provider: 'eks' })),
    );
    expect(commands).toEqual(new Set(['certmarshal audit --kubeconfig KUBECONFIG --cluster dublin']));
  });

  it('cuts those that say the most, as little as is needed, and says so', () => {
    const small = { ...indexed('small'), verdicts: [verdictLine()], findings: [{ ...TROUBLE, since: at() }] };
    const index = indexOf(small, hostile('loud'), hostile('noisy'));
    const most = size(index) - 300_000;
    const bound = boundIndex(index, most);
    expect(size(bound)).toBeLessThanOrEqual(most);
    expect(bound.clusters['small']).toBe(index.clusters['small']);
    expect([bound.clusters['loud']?.cut, bound.clusters['noisy']?.cut]).toEqual([true, true]);
    // To be brief was enough.
    expect(bound.clusters['loud']?.countedTo).toBe(NOW);
    expect(parseFleetIndex(JSON.parse(JSON.stringify(bound)), NOW)).toEqual(bound);
  });

  it('keeps the whole text of the first problem of a sweep', () => {
    const long = { ...TROUBLE, message: 'm'.repeat(2_000), remedy: 'r'.repeat(2_000), since: at() };
    const index = indexOf(indexed('paris', { findings: [long, long, long], findingCount: 3 }));
    expect(boundIndex(index, size(index) - 100).clusters['paris']).toMatchObject({ findings: [long], findingCount: 3 });
  });

  it('shortens the texts of what no signal tells and no tally counts, and leaves none out', () => {
    const findings = Array.from({ length: 20 }, (_, n) =>
      expiryFinding({ cluster: 'paris', object: `Secret a/${n}`, message: 'm'.repeat(300), severity: 'info' }),
    );
    const audit = auditSummary({ findings, tally: [] });
    const index = indexOf(indexed('paris', { audit }));
    const bound = boundIndex(index, size(index) - 1).clusters['paris']?.audit?.findings ?? [];
    expect(bound.length).toBe(findings.length);
    expect(bound[0]?.message.length).toBe(300);
    expect(bound.at(-1)?.message.length).toBeLessThan(300);
  });

  it('tells the three most urgent findings of those that a tally counts and no signal tells', () => {
    const findings = ['e', 'd', 'c', 'b', 'a'].map((object) =>
      expiryFinding({ cluster: 'paris', code: 'WeakKey', what: 'etcd-peer', object }),
    );
    const tally = [{ code: 'WeakKey', severity: 'warning', what: 'etcd-peer', count: 5 }] as const;
    const { audit } = brief(indexed('paris', { audit: auditSummary({ findings, findingCount: 5, tally }) }));
    expect(audit?.findings.map(({ object }) => object)).toEqual(['c', 'b', 'a']);
    expect(audit?.tally).toEqual(tally);
  });

  it('keeps the whole text of what stops a rollout first', () => {
    const reason = (id: HoldReason['id']) => ({ id, message: 'm'.repeat(200), remedy: 'r'.repeat(200) });
    const rollout = { ...rolloutSummary({ reasons: [reason('stuck'), reason('not-verified')] }), since: at() };
    const [first, second] = brief(indexed('paris', { rollout })).rollout?.reasons ?? [];
    expect(first).toEqual(reason('stuck'));
    expect([second?.id, second?.message.length, second?.remedy.length]).toEqual(['not-verified', 80, 80]);
  });

  it('lets a new audit bring back what was left out', () => {
    const index = boundIndex(indexOf(hostile('paris')), 60_000);
    expect(index.clusters['paris']?.cut).toBe(true);
    const minute = foldOutcomes(index, [swept({ startedAt: at(MINUTE) })], NOW + MINUTE);
    expect(minute.clusters['paris']?.cut).toBe(true);
    const audited = foldOutcomes(index, [swept({ startedAt: at(MINUTE), audit: auditSummary({}) })], NOW + MINUTE);
    expect(audited.clusters['paris']).not.toHaveProperty('cut', expect.anything());
  });

  it('cuts the largest first, and no more of them than it must', () => {
    const index = indexOf(indexed('small'), hostile('loud'), brief(hostile('noisy')));
    const bound = boundIndex(index, size(index) - 20_000);
    expect([bound.clusters['loud']?.cut, bound.clusters['noisy']?.cut]).toEqual([true, undefined]);
    expect(Object.keys(bound.clusters)).toEqual(Object.keys(index.clusters));
  });

  it('stays in the bound when those that are bare already leave little to the others', () => {
    const index = indexOf(
      ...Array.from({ length: 10 }, (_, n) => ({ ...terse(hostile('c')), id: `loud-${n}` })),
      ...Array.from({ length: 10 }, (_, n) => ({ ...bare(hostile('c')), id: `bare-${n}`, cut: undefined })),
    );
    const all = indexOf(...Object.values(index.clusters).map((cluster) => ({ ...bare(cluster), cut: true as const })));
    const most = size(all) + 1_000;
    expect(size(boundIndex(index, most))).toBeLessThanOrEqual(most);
  });

  // A thousandth of the room, or a two thousandth, is the same for few clusters as for many.
  it('has room for a thousand hostile clusters, and all their signals', () => {
    const index = fleet(20, hostile);
    const bound = boundIndex(index, MAX_INDEX_SIZE / 50);
    expect(size(index)).toBeGreaterThan(5_000_000);
    expect(size(bound)).toBeLessThanOrEqual(MAX_INDEX_SIZE / 50);
    expect(signalsOf(bound).totals).toEqual(signalsOf(index).totals);
  });

  it('keeps two thousand hostile clusters so small that they can be written, and all their signals', () => {
    const index = fleet(20, hostile);
    const bound = boundIndex(index, MAX_INDEX_SIZE / 100);
    expect(100 * size(bound)).toBeLessThan(MAX_OBJECT);
    expect(idsOf(bound)).toEqual(idsOf(index));
  });
});

function idsOf(index: FleetIndex) {
  return signalsOf(index).clusters.map(({ signals }) => signals.map(({ id }) => id).toSorted());
}

const text = (most: number) => fc.string({ unit: 'grapheme', maxLength: most });
const times = fc.integer({ min: 0, max: 600 }).map((seconds) => at(-seconds * 1_000));
const findings = fc.uniqueArray(
  fc
    .record({
      code: fc.constantFrom(...CODES),
      severity: fc.constantFrom(...SEVERITIES),
      what: fc.constantFrom(...CLASSES),
      object: text(120),
      message: text(150),
      places: fc.array(text(50), { maxLength: 2 }),
      since: times,
    })
    .map((changed) => expiryFinding(changed)),
  { maxLength: 20, size: 'max', selector: ({ code, object }) => `${code} ${object}` },
);
const verdicts: fc.Arbitrary<readonly VerdictLine[]> = fc.array(
  fc
    .record({ csr: text(120), uid: fc.uuid(), node: text(120), message: text(150), at: times, isHostile: fc.boolean() })
    .map(({ isHostile, ...line }) => verdictLine({ ...line, ...(isHostile ? { hostile: true } : {}) })),
  { minLength: 1, maxLength: 12, size: 'max' },
);
const clusters = fc
  .record({
    audit: fc.record({ findings, more: fc.nat(3) }).map(({ findings: found, more }) => {
      const tally = found.map(({ code, severity, what }) => ({ code, severity, what, count: 1 + more }));
      const unique = [...new Map(tally.map((entry) => [JSON.stringify(entry), entry])).values()];
      return auditSummary({
        findings: found,
        ends: CLASSES.map((what, n) => ({ what, count: 1, notAfter: at(n * DAY), where: 'w'.repeat(50) })),
        tally: unique,
      });
    }),
    verdicts,
    readable: fc.boolean(),
    findings: fc.array(
      fc.record({ kind: text(20), object: text(100), message: text(300), remedy: text(300), since: times }),
      { maxLength: 20, size: 'max' },
    ),
  })
  .map((cluster) => indexed('paris', { ...cluster, readableAt: at(-DAY), countedTo: NOW }));

describe('what is cut', () => {
  it('changes nothing that a signal tells, for as long as details are left', () => {
    fc.assert(
      fc.property(clusters, (cluster) => {
        const [before, after] = [cluster, brief(cluster)].map((one) => signalsOf(indexOf(one)).clusters[0]);
        expect(after?.signals).toEqual(before?.signals);
        expect(after?.state).toBe(before?.state);
      }),
      { seed: 24, numRuns: 300 },
    );
  });

  /** As every audit does. */
  function countsWhatItShows({ tally = [], findings: shown = [] }: Partial<AuditSummary> = {}): boolean {
    const counts = new Map(tally.map((entry) => [kindOf(entry), entry.count]));
    const kinds = [...Map.groupBy(shown, kindOf)];
    return kinds.every(([kind, some]) => (counts.get(kind) ?? 0) >= some.length);
  }

  it('is nothing the second time', () => {
    fc.assert(
      fc.property(clusters, fc.constantFrom(brief, terse, bare), (cluster, cut) => {
        fc.pre(countsWhatItShows(cluster.audit));
        const once = cut(cluster);
        expect(cut(once)).toEqual(once);
      }),
      { seed: 24, numRuns: 300 },
    );
  });

  it('is in the bound for any fleet, and twice is once', () => {
    fc.assert(
      fc.property(fc.array(clusters, { minLength: 1, maxLength: 6 }), (some) => {
        const index = indexOf(...some.map((cluster, n) => ({ ...cluster, id: `c-${n}` })));
        const most = some.length * 14_000;
        const bound = boundIndex(index, most);
        expect(size(bound)).toBeLessThanOrEqual(most);
        expect(boundIndex(bound, most)).toBe(bound);
      }),
      { seed: 24, numRuns: 100 },
    );
  });
});
