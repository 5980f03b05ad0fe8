import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SweepOutcome, VerdictLine } from '../../../lambdas/contracts/outcome.ts';
import { readOutcomes } from '../../../lambdas/fleet/outcomes.ts';
import { readOutcome, roundTrip } from './decode-outcome.ts';
import { at, auditSummary, expiryFinding, MINUTE, NOW, swept, TROUBLE, verdictLine } from './values.ts';

const COUNTED = { from: NOW - MINUTE, to: NOW, issued: 5, late: 4, notProvable: 3 };

describe('an outcome', () => {
  it.each<[string, SweepOutcome]>([
    ['a sweep', swept({ problems: [TROUBLE], problemCount: 1 })],
    [
      'a sweep that looked for clusters',
      swept({ workloadClusters: [{ namespace: 'n', name: 'w', serviceCidrs: ['10.96.0.0/12'] }] }),
    ],
    ['a message that could not be read', withoutDetails()],
    ['a sweep that never came as far as the cluster', swept({ untried: true })],
    ['a list that the sweep cut', swept({ workloadClusters: [], workloadClustersCut: true })],
    ['a server behind a path', swept({ server: 'rancher.example.com:443/k8s/clusters/c-m-1~2%20' })],
    ['a sweep with an audit', swept({ audit: auditSummary({ partial: true, snapshotProblem: 'S3 is down' }) })],
    [
      'a sweep that saw what became of requests',
      swept({ counted: COUNTED, verdicts: [verdictLine({ hostile: true })] }),
    ],
    ['a first sweep', swept({ counted: { ...COUNTED, from: undefined } })],
    ['a sweep by webhook', swept({ byWebhook: true })],
  ])('tells the whole of %s', (_, outcome) => {
    expect(roundTrip(outcome)).toEqual({ ok: true, value: outcome });
  });

  it.each<[string, object]>([
    ['a code of another version', { code: 'SomethingNew' }],
    ['facts of another code', { code: 'ClockSkew' }],
    ['facts that are none', { facts: 'x' }],
  ])('loses only a finding to %s', (_, wrong) => {
    const audit = auditSummary();
    const body = swept({
      audit: { ...audit, findings: [...audit.findings, { ...expiryFinding(), ...wrong }] as never },
    });
    expect(readOutcome(body)).toEqual({ ok: true, value: swept({ audit }) });
  });

  it('takes an earlier audit from a sweep: that of the last snapshot', () => {
    const outcome = swept({ audit: auditSummary({ auditedAt: at(-9 * 24 * 60 * MINUTE) }) });
    expect(roundTrip(outcome)).toEqual({ ok: true, value: outcome });
  });

  it('takes no audit of nine days after it from a sweep, and loses nothing else', () => {
    const outcome = swept({ audit: auditSummary({ auditedAt: at(9 * 24 * 60 * MINUTE) }) });
    expect(readOutcome(outcome)).toEqual({ ok: true, value: swept() });
  });

  it('keeps the first twenty problems, and their number', () => {
    const problems = Array.from({ length: 30 }, (_, n) => ({ ...TROUBLE, object: `o${n}` }));
    expect(sent(swept({ problems, problemCount: 30 }))).toMatchObject({
      problems: problems.slice(0, 20),
      problemCount: 30,
    });
  });

  it('says which workload clusters it has no room for, or that cannot be named', () => {
    const workloadClusters = Array.from({ length: 1_001 }, (_, n) => ({ namespace: 'n', name: `w${n}` }));
    const tooMany = sent(swept({ workloadClusters }));
    expect(tooMany.workloadClusters).toEqual(workloadClusters.slice(0, 1_000));
    expect(tooMany).toMatchObject({
      workloadClustersCut: true,
      problemCount: 1,
      problems: [{ kind: 'workload-clusters', object: 'cluster paris' }],
    });
    const unnamed = sent(
      swept({
        workloadClusters: [
          { namespace: 'n', name: 'a'.repeat(101) },
          { namespace: 'n', name: 'b' },
        ],
      }),
    );
    expect(unnamed.workloadClusters).toEqual([{ namespace: 'n', name: 'b' }]);
    expect(unnamed.problemCount).toBe(1);
    // Nothing can be concluded from its absence that would be wrong.
    expect(unnamed.workloadClustersCut).toBeUndefined();
    const odd = { namespace: 'n', name: 'w', serviceCidrs: ['everything'] };
    expect(sent(swept({ workloadClusters: [odd] }))).toMatchObject({ workloadClusters: [], workloadClustersCut: true });
  });

  it('is readable whatever a cluster makes of its parts', () => {
    const anyText = fc.oneof(fc.string({ unit: 'binary', maxLength: 400 }), fc.webUrl(), fc.domain());
    const workload = fc.record(
      { namespace: anyText, name: anyText, serviceCidrs: fc.array(anyText, { maxLength: 30 }) },
      { requiredKeys: ['namespace', 'name'] },
    );
    const outcome = fc.record({ workloadClusters: fc.array(workload, { maxLength: 20 }) });
    fc.assert(
      fc.property(outcome, (parts) => {
        expect(roundTrip(swept(parts))).toMatchObject({ ok: true });
      }),
      { seed: 19, numRuns: 500 },
    );
  });
});

describe('decodeOutcome', () => {
  it('ignores fields it does not know', () => {
    const body = { ...swept(), later: 1 };
    expect(readOutcome(body)).toEqual({ ok: true, value: swept() });
  });

  it.each([
    ['[]', 'the outcome is not an object'],
    [message({ id: '__proto__' }), 'id is not the id of a cluster'],
    [message({ name: 7 }), 'name is not a cluster name'],
    [message({ provider: 'gke' }), 'provider is not one of eks, eks-anywhere'],
    [message({ startedAt: 'yesterday' }), 'startedAt is not a time as in 2026-11-21T10:02:17.250Z'],
    [message({ startedAt: '2026-11-21T10:02:17Z' }), 'startedAt is not a time as in 2026-11-21T10:02:17.250Z'],
    [message({ startedAt: '2026-99-21T10:02:17.000Z' }), 'startedAt is not a time as in 2026-11-21T10:02:17.250Z'],
    [message({ durationMs: -1 }), 'durationMs is not a whole number'],
    [message({ readable: 'yes' }), 'readable is neither true nor false'],
    [message({ complete: undefined }), 'complete is neither true nor false'],
    [message({ counts: { approved: 1 } }), 'counts.denied is not a whole number'],
    [message({ problems: Array(21).fill(TROUBLE) }), 'problems is not a list of at most 20 entries'],
    [message({ problems: [7] }), 'problems[0] is not an object'],
    [
      message({ problems: [{ ...TROUBLE, kind: 'k'.repeat(82) }] }),
      'problems[0].kind is not text of at most 81 characters',
    ],
    [message({ problemCount: 1.5 }), 'problemCount is not a whole number'],
    [message({ server: 'a b' }), 'server is not the host, port and path of a server'],
    [message({ untried: false }), 'untried is not true'],
    [message({ workloadClustersCut: 1 }), 'workloadClustersCut is not true'],
    [message({ workloadClusters: {} }), 'workloadClusters is not a list of at most 1000 entries'],
    [
      message({ workloadClusters: [{ namespace: '..', name: 'a' }] }),
      'workloadClusters[0].namespace is not the name of a namespace',
    ],
    [message({ workloadClusters: [{ namespace: 'n', name: '/' }] }), 'workloadClusters[0].name is not a cluster name'],
    [
      message({ workloadClusters: [{ namespace: 'n', name: 'a', serviceCidrs: ['x'] }] }),
      'workloadClusters[0].serviceCidrs is not a list of CIDRs',
    ],
  ])('refuses %.60s', (body, problem) => {
    expect(readOutcome(body)).toEqual({ ok: false, problem });
  });

  it.each<[string, unknown]>([
    ['no object', [7]],
    ['no end', { ...COUNTED, to: undefined }],
    ['a time that is text', { ...COUNTED, from: at() }],
    ['a count below 0', { ...COUNTED, late: -1 }],
    ['half a CSR', { ...COUNTED, issued: 0.5 }],
    ['more than can be', { ...COUNTED, notProvable: 10_000_001 }],
  ])('leaves out what became of requests, and nothing else, where it has %s', (_, counted) => {
    expect(readOutcome(message({ counted }))).toEqual({ ok: true, value: swept() });
  });

  it.each<[string, unknown]>([
    ['of an unknown kind', { verdict: 'perhaps' }],
    ['for an unknown reason', { reason: 'SomethingNew' }],
    ['with an unknown outcome', { outcome: 'lost' }],
    ['of another sweep', { at: at(-1) }],
    ['at no time', { at: 'now' }],
    ['that is hostile in no known way', { hostile: 'very' }],
    ['of a request with too long a name', { csr: 'c'.repeat(508) }],
    ['with too long a text', { facts: { cause: 'fault', problem: 'm'.repeat(508) } }],
  ])('leaves out a decision %s, and no other one', (_, changed) => {
    const verdicts = [{ ...verdictLine(), ...(changed as object) }, verdictLine({ uid: 'b' })];
    expect(readOutcome(message({ verdicts }))).toEqual({
      ok: true,
      value: swept({ verdicts: [verdictLine({ uid: 'b' })] }),
    });
  });

  it.each<[string, unknown]>([
    ['are no list', { 0: verdictLine() }],
    ['are too many', lines(13)],
  ])('leaves out decisions that %s', (_, verdicts) => {
    expect(readOutcome(message({ verdicts }))).toEqual({ ok: true, value: swept() });
  });

  it('knows every decision and whatever can become of it', () => {
    const verdict: Record<VerdictLine['verdict'], true> = { approve: true, deny: true, leave: true, ignore: true };
    const outcome: Record<VerdictLine['outcome'], true> = {
      none: true,
      written: true,
      observed: true,
      overtaken: true,
      unfinished: true,
      failed: true,
      unknown: true,
    };
    const verdicts = [
      ...Object.keys(verdict).map((kind) => ({ ...verdictLine(), verdict: kind })),
      ...Object.keys(outcome).map((kind) => ({ ...verdictLine(), outcome: kind })),
    ];
    expect(readOutcome(message({ verdicts }))).toMatchObject({ ok: true, value: { verdicts } });
  });

  it('gives a value for every damage', () => {
    const damaged = fc
      .tuple(fc.constantFrom('id', 'startedAt', 'readable', 'problems'), fc.dictionary(fc.string(), fc.jsonValue()))
      .map(([field, value]) => message({ [field]: value }));
    fc.assert(
      fc.property(damaged, (encoded) => {
        expect(readOutcome(encoded).ok).toBe(false);
      }),
      { seed: 15, numRuns: 150 },
    );
  });
});

describe('an object with outcomes', () => {
  const object = (outcomes: unknown, changed: object = {}) => ({ version: 2, outcomes, ...changed });

  it.each([
    ['no outcome', 7, 'the outcome is not an object'],
    ['one without a cluster', { ...swept(), id: undefined }, 'id is not the id of a cluster'],
  ])('drops %s alone', (_, damaged, problem) => {
    const [before, after] = [swept({ id: 'a' }), swept({ id: 'b', verdicts: [verdictLine()] })];
    expect(readOutcomes(object([before, damaged, after]))).toEqual([
      { ok: true, value: before },
      { ok: false, problem },
      { ok: true, value: after },
    ]);
  });

  it.each([
    ['damaged', undefined, 'the object is not an object'],
    ['no list', object({}), 'outcomes is not a list of at most 64 entries'],
    ['of 100,000 clusters', object(Array(100_000).fill(0)), 'outcomes is not a list of at most 64 entries'],
    ['of another version', object([], { version: 1 }), 'version is not 2'],
  ])('is refused as a whole when it is %s', (_, value, problem) => {
    expect(readOutcomes(value)).toEqual([{ ok: false, problem }]);
  });

  it('gives readings for every value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
        expect(readOutcomes(value)).toMatchObject([{ ok: false }]);
      }),
      { seed: 15, numRuns: 150 },
    );
  });
});

function message(changed: Readonly<Record<string, unknown>>): object {
  return { ...swept(), ...changed };
}

function lines(many: number, changed: Partial<VerdictLine> = {}): readonly VerdictLine[] {
  return Array.from({ length: many }, (_, n) =>
    verdictLine({ uid: `00000000-0000-4000-8000-${100_000 + n}`, ...changed }),
  );
}

function withoutDetails(): SweepOutcome {
  const { name: _, provider: __, counts: ___, server: ____, ...rest } = swept({ readable: false, complete: false });
  return rest;
}

function sent(outcome: SweepOutcome): SweepOutcome {
  const reading = roundTrip(outcome);
  if (!reading.ok) throw new Error(reading.problem);
  return reading.value;
}
