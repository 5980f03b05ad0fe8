import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { summaryOf } from '../../../lambdas/audit/summary.ts';
import { MAX_TALLY } from '../../../lambdas/contracts/audit-summary.ts';
import { MAX_OUTCOMES, type Outcome, type SweepOutcome, type VerdictLine } from '../../../lambdas/contracts/outcome.ts';
import { decodeOutcomes, encodeOutcome, encodeOutcomes } from '../../../lambdas/fleet/outcome-message.ts';
import { CERTIFICATE_CLASSES, type CertificateClass } from '../../../lambdas/tables/certificate-classes.ts';
import { FINDING_CODES, type FindingCode } from '../../../lambdas/tables/finding-codes.ts';
import { decodeOutcome } from './decode-outcome.ts';
import {
  at,
  auditedFinding,
  auditSummary,
  dispatched,
  expiryFinding,
  MINUTE,
  NOW,
  swept,
  TROUBLE,
  verdictLine,
} from './values.ts';

const COUNTED = { from: NOW - MINUTE, to: NOW, issued: 5, late: 4, notProvable: 3 };

describe('encodeOutcome', () => {
  it.each<[string, Outcome]>([
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
    ['a tick', dispatched({ problems: [TROUBLE] })],
  ])('tells the whole of %s', (_, outcome) => {
    expect(decodeOutcome(encodeOutcome(outcome))).toEqual({ ok: true, value: outcome });
  });

  it('says that an audit cannot be told, and tells of the sweep all the same', () => {
    const audit = auditSummary({ findings: [expiryFinding({ due: 'tomorrow' })] });
    const told = sent(swept({ audit }));
    expect(told).not.toHaveProperty('audit', expect.anything());
    expect(told).toMatchObject({
      counts: swept().counts,
      problemCount: 1,
      problems: [{ kind: 'bug', object: 'audit of cluster paris' }],
    });
  });

  it('takes no path of a runbook from a message', () => {
    const audit = auditSummary({ findings: [expiryFinding({ runbook: 'https://elsewhere.example.com' })] });
    expect(sent(swept({ audit })).audit?.findings[0]?.runbook).toBe('docs/runbooks/certificate-expiring.md');
  });

  it('loses no sweep to an audit of another version', () => {
    const finding = { ...expiryFinding(), code: 'SomethingNew' };
    const body = JSON.stringify({ ...swept(), audit: { ...auditSummary(), findings: [finding] } });
    expect(decodeOutcome(body)).toEqual({ ok: true, value: swept() });
  });

  it('takes an earlier audit from a sweep: that of the last snapshot', () => {
    const outcome = swept({ audit: auditSummary({ auditedAt: at(-9 * 24 * 60 * MINUTE) }) });
    expect(decodeOutcome(encodeOutcome(outcome))).toEqual({ ok: true, value: outcome });
  });

  it('takes no audit of nine days after it from a sweep, and loses nothing else', () => {
    const outcome = swept({ audit: auditSummary({ auditedAt: at(9 * 24 * 60 * MINUTE) }) });
    expect(decodeOutcome(JSON.stringify(outcome))).toEqual({ ok: true, value: swept() });
    expect(sent(outcome)).toMatchObject({ problems: [{ object: 'audit of cluster paris' }] });
  });

  it('has room for twelve ordinary decisions, and cuts long ones', () => {
    const ordinary = lines(12, { node: 'ip-10-0-101-124.eu-central-1.compute.internal', hostile: true });
    expect(sent(swept({ verdicts: ordinary })).verdicts).toEqual(ordinary);
    const long = lines(12, { csr: 'c'.repeat(253), node: '一'.repeat(253), message: '一'.repeat(200) });
    const { verdicts = [] } = sent(swept({ verdicts: long }));
    expect(verdicts).toEqual(long.slice(0, verdicts.length));
    expect(verdicts.length).toBeGreaterThan(1);
    expect(Buffer.byteLength(JSON.stringify(verdicts))).toBeLessThan(5_100);
  });

  it('keeps the first twenty problems, and their number', () => {
    const problems = Array.from({ length: 30 }, (_, n) => ({ ...TROUBLE, object: `o${n}` }));
    expect(sent(swept({ problems, problemCount: 30 }))).toMatchObject({
      problems: problems.slice(0, 20),
      problemCount: 30,
    });
  });

  it('keeps the first problems of a tick, and says how many there are', () => {
    const problems = Array.from({ length: 150 }, (_, n) => ({ ...TROUBLE, object: `o${n}`, remedy: 'r'.repeat(900) }));
    const decoded = decodeOutcome(encodeOutcome(dispatched({ problems })));
    expect(decoded.ok && decoded.value.problems).toEqual([
      ...problems.slice(0, 99),
      expect.objectContaining({ kind: 'more', object: '51 more problems' }),
    ]);
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

  it.each(['a!b.example.com:443', 'x*y:443', `${'a'.repeat(301)}:443`, `a:443/${'p'.repeat(301)}`, 'a:443/\u202e', ''])(
    'leaves out a server that no outcome can carry: %.40s',
    (server) => {
      expect(sent(swept({ server }))).not.toHaveProperty('server', expect.anything());
    },
  );

  it('is readable whatever a cluster makes of its parts', () => {
    const anyText = fc.oneof(fc.string({ unit: 'binary', maxLength: 400 }), fc.webUrl(), fc.domain());
    const workload = fc.record(
      { namespace: anyText, name: anyText, serviceCidrs: fc.array(anyText, { maxLength: 30 }) },
      { requiredKeys: ['namespace', 'name'] },
    );
    const outcome = fc.record({
      name: anyText,
      server: anyText,
      durationMs: fc.oneof(fc.integer(), fc.double({ min: -1e9, max: 1e9, noNaN: true })),
      workloadClusters: fc.array(workload, { maxLength: 20 }),
    });
    fc.assert(
      fc.property(outcome, (parts) => {
        expect(decodeOutcome(encodeOutcome(swept(parts)))).toMatchObject({ ok: true });
      }),
      { seed: 19, numRuns: 500 },
    );
  });

  it('has room for every part at its worst', () => {
    const findings = Array.from({ length: 400 }, (_, n) =>
      auditedFinding({
        ...worst(),
        severity: 'critical',
        command: '"'.repeat(5_000),
        // As many kinds as are told apart.
        code: Object.keys(FINDING_CODES)[n % 10] as FindingCode,
        what: Object.keys(CERTIFICATE_CLASSES)[Math.floor(n / 10) % 6] as CertificateClass,
      }),
    );
    const audit = summaryOf(
      { version: 1, cluster: 'paris', provider: 'eks', auditedAt: at(), observations: [], findings },
      { durationMs: 1, snapshotProblem: '‮'.repeat(5_000) },
    );
    const body = encodeOutcome(
      swept({
        problems: Array(150).fill(worst()),
        workloadClusters: Array.from({ length: 1_500 }, () => ({ namespace: 'n'.repeat(63), name: 'w'.repeat(100) })),
        verdicts: lines(12, { csr: 'c'.repeat(253), node: '一'.repeat(253), message: '"'.repeat(200) }),
        audit,
      }),
    );
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(220_000);
    const decoded = decodeOutcome(body);
    const told = decoded.ok && decoded.value.kind === 'sweep' ? decoded.value : undefined;
    expect(told?.audit?.tally).toHaveLength(MAX_TALLY);
    expect(told?.verdicts?.length).toBeGreaterThan(1);
  });

  it('is never longer than a message, and always readable', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 50 }),
      fc.constantFrom(
        '\u202e'.repeat(5_000),
        '"'.repeat(5_000),
        '\ud800'.repeat(5_000),
        '\u{1f600}'.repeat(5_000),
        '\u4e00'.repeat(9_000),
      ),
    );
    const problem = fc.record({ kind: text, object: text, message: text, remedy: text });
    const cidr = '2001:0db8:1111:2222:3333:4444:5555:6666/128';
    const workload = fc.record({
      namespace: fc.constant('n'.repeat(63)),
      name: fc.constant('w'.repeat(100)),
      serviceCidrs: fc.constantFrom([], Array<string>(16).fill(cidr)),
    });
    const outcome = fc.oneof(
      fc
        .record({
          problems: fc.array(problem, { maxLength: 150 }),
          workloadClusters: fc.array(workload, { maxLength: 1_500 }),
        })
        .map((parts): Outcome => swept({ ...parts, problemCount: parts.problems.length })),
      fc.array(problem, { maxLength: 150 }).map((problems): Outcome => dispatched({ problems })),
    );
    fc.assert(
      fc.property(outcome, (each) => {
        const body = encodeOutcome(each);
        expect(Buffer.byteLength(body)).toBeLessThanOrEqual(200_000);
        expect(decodeOutcome(body)).toMatchObject({ ok: true });
      }),
      {
        seed: 14,
        numRuns: 60,
        examples: [
          [
            swept({
              problems: Array(150).fill(worst()),
              workloadClusters: Array.from({ length: 1_500 }, () => ({
                namespace: 'n'.repeat(63),
                name: 'w'.repeat(100),
              })),
            }),
          ],
          [dispatched({ problems: Array(150).fill(worst()) })],
        ],
      },
    );
  });
});

describe('decodeOutcome', () => {
  it('ignores fields it does not know', () => {
    const body = JSON.stringify({ ...swept(), later: 1 });
    expect(decodeOutcome(body)).toEqual({ ok: true, value: swept() });
  });

  it.each([
    ['[]', 'the outcome is not an object'],
    [message({ version: 2 }), 'version is not 1'],
    [message({ kind: 'party' }), 'kind is not one of sweep, dispatch'],
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
    [JSON.stringify({ ...dispatched(), registered: '3' }), 'registered is not a whole number'],
    [
      JSON.stringify({ ...dispatched(), problems: Array(101).fill(TROUBLE) }),
      'problems is not a list of at most 100 entries',
    ],
  ])('refuses %.60s', (body, problem) => {
    expect(decodeOutcome(body)).toEqual({ ok: false, problem });
  });

  it.each<[string, unknown]>([
    ['no object', [7]],
    ['no end', { ...COUNTED, to: undefined }],
    ['a time that is text', { ...COUNTED, from: at() }],
    ['a count below 0', { ...COUNTED, late: -1 }],
    ['half a CSR', { ...COUNTED, issued: 0.5 }],
    ['more than can be', { ...COUNTED, notProvable: 10_000_001 }],
  ])('leaves out what became of requests, and nothing else, where it has %s', (_, counted) => {
    expect(decodeOutcome(message({ counted }))).toEqual({ ok: true, value: swept() });
  });

  it.each<[string, unknown]>([
    ['of an unknown kind', { verdict: 'perhaps' }],
    ['for an unknown reason', { reason: 'SomethingNew' }],
    ['with an unknown outcome', { outcome: 'lost' }],
    ['of another sweep', { at: at(-1) }],
    ['at no time', { at: 'now' }],
    ['that is hostile in no known way', { hostile: 'very' }],
    ['of a request with too long a name', { csr: 'c'.repeat(508) }],
    ['with too long a message', { message: 'm'.repeat(402) }],
  ])('leaves out a decision %s, and no other one', (_, changed) => {
    const verdicts = [{ ...verdictLine(), ...(changed as object) }, verdictLine({ uid: 'b' })];
    expect(decodeOutcome(message({ verdicts }))).toEqual({
      ok: true,
      value: swept({ verdicts: [verdictLine({ uid: 'b' })] }),
    });
  });

  it.each<[string, unknown]>([
    ['are no list', { 0: verdictLine() }],
    ['are too many', lines(13)],
  ])('leaves out decisions that %s', (_, verdicts) => {
    expect(decodeOutcome(message({ verdicts }))).toEqual({ ok: true, value: swept() });
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
    expect(decodeOutcome(message({ verdicts }))).toMatchObject({ ok: true, value: { verdicts } });
  });

  it('gives a value for every damage', () => {
    const damaged = fc
      .tuple(
        fc.constantFrom('version', 'kind', 'id', 'startedAt', 'readable', 'problems'),
        fc.dictionary(fc.string(), fc.jsonValue()),
      )
      .map(([field, value]) => message({ [field]: value }));
    fc.assert(
      fc.property(damaged, (encoded) => {
        expect(decodeOutcome(encoded).ok).toBe(false);
      }),
      { seed: 15, numRuns: 150 },
    );
  });
});

describe('a message with several outcomes', () => {
  const outcomes: readonly Outcome[] = [
    swept({ id: 'a' }),
    dispatched(),
    swept({ id: 'b', verdicts: [verdictLine()] }),
  ];
  const listed = (list: unknown, changed: object = {}) =>
    JSON.stringify({ version: 1, kind: 'outcomes', outcomes: list, ...changed });

  it('gives each of them', () => {
    const values = outcomes.map((value) => ({ ok: true, value }));
    expect(decodeOutcomes(encodeOutcomes(outcomes.map(encodeOutcome)))).toEqual(values);
    expect(decodeOutcomes(encodeOutcomes([]))).toEqual([]);
    expect(decodeOutcomes(listed(outcomes, { later: 1 }))).toEqual(values);
  });

  it.each([
    ['no outcome', 7, 'the outcome is not an object'],
    ['one of another version', { ...swept(), version: 2 }, 'version is not 1'],
    ['one without a cluster', { ...swept(), id: undefined }, 'id is not the id of a cluster'],
    ['another list', { version: 1, kind: 'outcomes', outcomes: [] }, 'kind is not one of sweep, dispatch'],
  ])('drops %s alone', (_, damaged, problem) => {
    const [before, after] = outcomes;
    expect(decodeOutcomes(listed([before, damaged, after]))).toEqual([
      { ok: true, value: before },
      { ok: false, problem },
      { ok: true, value: after },
    ]);
  });

  it('takes parts of another time from each', () => {
    const late = swept({ audit: auditSummary({ auditedAt: at(16 * MINUTE) }) });
    expect(decodeOutcomes(listed([late]))).toEqual([{ ok: true, value: swept() }]);
  });

  it.each([
    ['empty', '', 'the message is not JSON'],
    ['no object', '[]', 'the message is not an object'],
    ['no list', listed({}), 'outcomes is not a list of at most 1000 entries'],
    ['too many', listed(Array(MAX_OUTCOMES + 1).fill(0)), 'outcomes is not a list of at most 1000 entries'],
    ['too long', listed([' '.repeat(262_144)]), 'the message is longer than 262144 bytes'],
    ['of another version', listed([], { version: 2 }), 'version is not 1'],
    ['one outcome', encodeOutcome(swept()), 'kind is not outcomes'],
  ])('is refused as a whole when it is %s', (_, body, problem) => {
    expect(decodeOutcomes(body)).toEqual([{ ok: false, problem }]);
  });

  it('gives readings for every text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.json({ maxDepth: 3 })), (body) => {
        expect(decodeOutcomes(body)).toMatchObject([{ ok: false }]);
      }),
      { seed: 15, numRuns: 150 },
    );
  });

  it('gives a reading for each entry of any list', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ maxDepth: 3 }), { maxLength: 20 }), (entries) => {
        expect(decodeOutcomes(listed(entries)).map(({ ok }) => ok)).toEqual(entries.map(() => false));
      }),
      { seed: 16, numRuns: 150 },
    );
  });
});

function message(changed: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ ...swept(), ...changed });
}

function lines(many: number, changed: Partial<VerdictLine> = {}): readonly VerdictLine[] {
  return Array.from({ length: many }, (_, n) =>
    verdictLine({ uid: `00000000-0000-4000-8000-${100_000 + n}`, ...changed }),
  );
}

function worst() {
  const text = '\u202e"'.repeat(5_000);
  return { kind: text, object: text, message: text, remedy: text };
}

function withoutDetails(): SweepOutcome {
  const { name: _, provider: __, counts: ___, server: ____, ...rest } = swept({ readable: false, complete: false });
  return rest;
}

function sent(outcome: Outcome): SweepOutcome {
  const decoded = decodeOutcome(encodeOutcome(outcome));
  if (!decoded.ok || decoded.value.kind !== 'sweep') throw new Error('not a sweep');
  return decoded.value;
}
