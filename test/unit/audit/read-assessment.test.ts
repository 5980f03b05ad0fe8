import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readAssessment } from '../../../lambdas/audit/read-assessment.ts';
import { readSnapshot } from '../../../lambdas/contracts/snapshot.ts';
import { functionCalls } from '../function-calls.ts';
import { assess, certificate, days, member, NOW, read, unread } from './fixtures.ts';

const clock = () => NOW;
const problems = (line: unknown) => {
  const result = readAssessment(line, clock);
  return result.ok ? [] : result.problems;
};

describe('readAssessment', () => {
  it('fills in what a short line leaves out', () => {
    const observations = [
      { where: '10.0.1.31:6443', notAfter: '2026-12-01T10:00:00+02:00' },
      { source: 'machines', where: 'x', notAfter: days(1) },
    ];
    expect(readAssessment({ cluster: 'berlin', observations }, clock)).toMatchObject({
      ok: true,
      input: {
        cluster: { id: 'berlin', provider: 'eks-anywhere' },
        now: NOW,
        previous: undefined,
        observations: [
          {
            kind: 'certificate',
            source: 'tls',
            basis: 'certificate',
            what: 'endpoint',
            observedAt: days(0),
            notAfter: '2026-12-01T08:00:00.000Z',
          },
          { source: 'machines', basis: 'status' },
        ],
      },
    });
    expect(
      readAssessment(
        { cluster: { name: 'dublin', provider: 'eks' }, observations: [], now: '2026-01-01T00:00:00Z' },
        clock,
      ),
    ).toMatchObject({
      input: { cluster: { id: 'dublin', name: 'dublin', provider: 'eks' }, now: Date.parse('2026-01-01T00:00:00Z') },
    });
  });

  it('takes back what an assessment gave', () => {
    const answer = assess([certificate(), member(), unread('webhooks'), read('tls'), read('nodes')]);
    const line: unknown = JSON.parse(JSON.stringify({ cluster: 'berlin', observations: [], previous: answer }));
    const result = readAssessment(line, clock);
    expect(result).toMatchObject({ ok: true, input: { previous: JSON.parse(JSON.stringify(answer)) as object } });
  });

  it('says every problem with its path', () => {
    expect(
      problems({
        cluster: {},
        now: 'tomorrow',
        observations: [
          { where: 'x' },
          { kind: 'other' },
          1,
          { where: 'x', what: 'unknown', notAfter: '2026-13-01T00:00:00Z', source: 'ftp' },
        ],
        previous: [],
      }),
    ).toEqual([
      expect.stringMatching(/^cluster\.id is missing/),
      'now is not a time as in 2026-11-21T10:02:17Z',
      'observations[0].notAfter is missing: a time as in 2026-11-21T10:02:17Z',
      expect.stringMatching(/^observations\[1\]\.kind is not one of certificate, member/),
      'observations[2] is not an object',
      expect.stringMatching(/^observations\[3\]\.source is not one of nodes/),
      expect.stringMatching(/^observations\[3\]\.what is not one of kube-apiserver/),
      'observations[3].notAfter is not a time as in 2026-11-21T10:02:17Z',
      'previous is not an object with observations and findings',
    ]);
    expect(problems({ cluster: 'x', observations: Array.from({ length: 30 }, () => 1) })).toHaveLength(21);
    expect(problems({ cluster: 'x', observations: Array.from({ length: 50_001 }, () => 1) })).toEqual([
      'observations has 50001 entries: at most 50000 are read',
    ]);
    expect(problems({ cluster: 'x' })).toEqual(['observations is missing: a list']);
    expect(problems({ cluster: 'x', observations: {} })).toEqual(['observations is not a list']);
    expect(problems({ observations: [] })).toEqual(['cluster is missing: a name, or an object with a name or an id']);
    expect(problems(null)).toEqual(['the line is not a JSON object']);
  });

  it.each([
    [[], []],
    [['10.0.0.1', 'x'], []],
    [['10.0.0.1', 1], ['observations[0].addresses is not a list of strings']],
    ['10.0.0.1', ['observations[0].addresses is not a list of strings']],
  ])('takes only a list of texts for addresses: %j', (addresses, expected) => {
    expect(problems({ cluster: 'x', observations: [{ ...member(), addresses }] })).toEqual(expected);
  });

  it('says which field or word a misspelt one may stand for', () => {
    expect(problems({ cluster: 'x', observation: [], nwo: '2026-11-21T10:00:00Z', comment: 1 })).toEqual([
      'observation is not known: did you mean observations?',
      'nwo is not known: did you mean now?',
      'comment is not known: there are cluster, observations, previous, now',
      'observations is missing: a list',
    ]);
    const observations = [
      { where: 'x', notAfer: days(1) },
      { where: 'x', notAfter: days(1), what: 'kube-apisever', source: 'tsl' },
      { kind: 'certifcate', where: 'x', notAfter: days(1) },
      { knd: 'read', count: 1, source: 'tls' },
    ];
    expect(problems({ cluster: { name: 'x', provder: 'eks' }, observations })).toEqual([
      'cluster.provder is not known: did you mean provider?',
      'observations[0].notAfter is missing: a time as in 2026-11-21T10:02:17Z',
      'observations[0].notAfer is not known: did you mean notAfter?',
      expect.stringMatching(/^observations\[1\]\.source is not /),
      'observations[1].what is not known: did you mean kube-apiserver?',
      'observations[2].kind is not known: did you mean certificate?',
      expect.stringMatching(/^observations\[3\]\.where is missing/),
      expect.stringMatching(/^observations\[3\]\.notAfter is missing/),
      'observations[3].knd is not known: did you mean kind?',
      'observations[3].count is not known',
    ]);
    expect(problems({ cluster: { name: 'x', provider: 'eks-anywere' }, observations: [] })).toEqual([
      'cluster.provider is not known: did you mean eks-anywhere?',
    ]);
    expect(problems({ cluster: 'x', observations: [], 'no\u001B[2J': 1 })[0]).not.toContain('\u001B');
  });

  it('reads what a newer audit wrote: an observation that has all it needs may have more', () => {
    const later = { where: 'x', notAfter: days(1), colour: 'blue', notAfer: 1 };
    const line = {
      cluster: 'x',
      observations: [later],
      previous: { version: 7, colour: 'red', observations: [later] },
    };
    expect(problems({ ...line, previous: null })).toEqual([]);
    const kept = { ...certificate(), colour: 'blue' };
    expect(problems({ ...line, previous: { ...line.previous, observations: [kept], findings: [] } })).toEqual([]);
  });

  it('does not look for the meaning of more words than it tells', () => {
    const observations = Array.from({ length: 50_000 }, () => ({
      where: 'x',
      notAfterwards: 1,
      what: 'kube-apiservers',
    }));
    const looking = / didYouMean$/;
    const calls = functionCalls(() => {
      expect(problems({ cluster: 'x', observations })).toHaveLength(21);
    }, looking);
    expect(calls).toBeGreaterThan(0);
    expect(calls).toBeLessThanOrEqual(20);
  });

  it.each(['kind', 'source'])('refuses a %s that cannot be made a text', (field) => {
    const observation = { where: 'x', notAfter: days(1), [field]: { toString: 1, valueOf: 1 } };
    expect(problems({ cluster: 'x', observations: [observation] })).toEqual([
      expect.stringMatching(new RegExp(`^observations\\[0\\]\\.${field} is not one of `)),
    ]);
  });

  it('makes texts harmless', () => {
    const result = readAssessment({ cluster: 'x', observations: [{ where: 'a\u001B[31m', notAfter: days(1) }] }, clock);
    expect(result).toMatchObject({ input: { observations: [{ where: String.raw`a\u{1b}[31m` }] } });
  });
});

describe('readSnapshot', () => {
  const snapshot = {
    version: 1,
    cluster: 'berlin',
    provider: 'eks',
    auditedAt: days(0),
    ...assess([certificate(), member(), unread('webhooks')]),
  };

  it('gives back what was written', () => {
    expect(readSnapshot(JSON.parse(JSON.stringify(snapshot)))).toEqual(JSON.parse(JSON.stringify(snapshot)));
  });

  it('gives back how many machines somebody wants, and when these are replaced', () => {
    const sighting = { source: 'kubeadm-control-plane', observedAt: days(0) } as const;
    const group = { kind: 'group', ...sighting, role: 'control-plane', name: 'x', wanted: 3 } as const;
    const observations = [{ ...group, rolloutBeforeDays: 30, paused: true }];
    expect(readSnapshot({ ...snapshot, observations, colour: 'blue' })?.observations).toEqual(observations);
  });

  it('passes over what it does not know, and refuses what is none', () => {
    const odd = { ...snapshot, observations: [...snapshot.observations, { kind: 'new' }, 7], findings: [{}] };
    expect(readSnapshot(odd)).toMatchObject({ observations: { length: 3 }, findings: [] });
    for (const other of [
      null,
      1,
      [],
      {},
      { ...snapshot, version: 2 },
      { ...snapshot, findings: 1 },
      { ...snapshot, auditedAt: 'x' },
    ])
      expect(readSnapshot(other)).toBeUndefined();
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true }), fc.array(fc.anything()), (value, list) => {
        expect(() => readSnapshot(value)).not.toThrow();
        readSnapshot({ ...snapshot, observations: list, findings: list });
        readAssessment(value, clock);
        readAssessment({ cluster: value, observations: list, previous: value }, clock);
      }),
      { seed: 1, numRuns: 500 },
    );
  });
});
