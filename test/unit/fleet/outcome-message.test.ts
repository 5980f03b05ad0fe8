import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Outcome, SweepOutcome } from '../../../lambdas/fleet/outcome.ts';
import { decodeOutcome, encodeOutcome } from '../../../lambdas/fleet/outcome-message.ts';
import { auditSummary, dispatched, expiryFinding, swept, TROUBLE } from './values.ts';

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
    ['a tick', dispatched({ problems: [TROUBLE] })],
  ])('tells the whole of %s', (_, outcome) => {
    expect(decodeOutcome(encodeOutcome(outcome))).toStrictEqual({ ok: true, outcome });
  });

  it('says that an audit cannot be told, and tells of the sweep all the same', () => {
    const audit = auditSummary({ findings: [expiryFinding({ due: 'tomorrow' })] });
    const told = sent(swept({ audit }));
    expect(told).not.toHaveProperty('audit');
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
    expect(decodeOutcome(body)).toStrictEqual({ ok: true, outcome: swept() });
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
    expect(decoded.ok && decoded.outcome.problems).toEqual([
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
      expect(sent(swept({ server }))).not.toHaveProperty('server');
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
    expect(decodeOutcome(body)).toStrictEqual({ ok: true, outcome: swept() });
  });

  it.each([
    ['', 'the message is not JSON'],
    ['[]', 'the message is not a JSON object'],
    [' '.repeat(220_001), 'the message is longer than 220000 characters'],
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
      'problems[0].kind is not a text of at most 81 characters',
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
    expect(decodeOutcome(body)).toStrictEqual({ ok: false, problem });
  });

  it('gives a value for every text', () => {
    const damaged = fc
      .tuple(
        fc.constantFrom('version', 'kind', 'id', 'startedAt', 'readable', 'problems'),
        fc.dictionary(fc.string(), fc.jsonValue()),
      )
      .map(([field, value]) => message({ [field]: value }));
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.json({ maxDepth: 3 }), damaged), (body) => {
        expect(decodeOutcome(body).ok).toBe(false);
      }),
      { seed: 15, numRuns: 150 },
    );
  });
});

function message(changed: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ ...swept(), ...changed });
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
  if (!decoded.ok || decoded.outcome.kind !== 'sweep') throw new Error('not a sweep');
  return decoded.outcome;
}
