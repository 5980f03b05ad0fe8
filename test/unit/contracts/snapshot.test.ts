import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readSnapshot } from '../../../lambdas/contracts/snapshot.ts';
import { assess, certificate, days, member, unread } from '../audit/fixtures.ts';

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

  it('refuses what this version does not write', () => {
    for (const other of [
      null,
      1,
      [],
      {},
      { ...snapshot, version: 2 },
      { ...snapshot, findings: 1 },
      { ...snapshot, findings: [{}] },
      { ...snapshot, observations: [...snapshot.observations, { kind: 'new' }] },
      { ...snapshot, auditedAt: 'x' },
    ])
      expect(readSnapshot(other)).toBeUndefined();
  });

  it('makes texts harmless, and writes times as we do', () => {
    const shown = { ...certificate(), where: 'a\u001B[31m', notAfter: '2026-12-01T10:00:00+02:00' };
    expect(readSnapshot({ ...snapshot, observations: [shown] })?.observations).toMatchObject([
      { where: String.raw`a\u{1b}[31m`, notAfter: '2026-12-01T08:00:00.000Z' },
    ]);
  });

  const inherited = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', '__proto__'];
  it.each(inherited)('takes no word that every object has for one of an observation: %s', (word) => {
    for (const field of ['kind', 'source', 'what', 'basis']) {
      const observations = [{ ...certificate(), [field]: word }];
      expect(readSnapshot({ ...snapshot, observations })).toBeUndefined();
    }
    readSnapshot(JSON.parse(`{"version":1,"${word}":{"polluted":1},"observations":[{"${word}":{"polluted":1}}]}`));
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(Object.keys(Object.prototype)).toEqual([]);
  });

  it.each([[['10.0.0.1', 1]], ['10.0.0.1']])('takes only a list of texts for addresses: %j', (addresses) => {
    expect(readSnapshot({ ...snapshot, observations: [{ ...member(), addresses }] })).toBeUndefined();
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true }), fc.array(fc.anything()), (value, list) => {
        expect(() => readSnapshot(value)).not.toThrow();
        readSnapshot({ ...snapshot, observations: list, findings: list });
      }),
      { seed: 1, numRuns: 500 },
    );
  });
});
