import { describe, expect, it } from 'vitest';
import { collectOwners } from '../../../../lambdas/approval/evidence/collect-owners.ts';
import { indexEvidence, indexInSteps, type Owner, ownedNames } from '../../../../lambdas/approval/evidence/evidence.ts';

const owner = (object: string, node: string, ...addresses: string[]): Owner => ({
  source: 'machine',
  object,
  nodes: [node],
  dnsNames: [node],
  addresses,
});
const reading = (...owners: Owner[]) => ({ source: 'machine', ok: true, lookedAt: owners.length, owners }) as const;

describe('indexEvidence', () => {
  const first = owner('Machine a/1', 'node-1', '10.0.0.1', '10.0.0.9');
  const second = owner('Machine a/2', 'node-2', '10.0.0.2', '10.0.0.9');
  const evidence = indexEvidence([reading(first, second)]);

  it('finds owners by node, by DNS name and by address', () => {
    expect(evidence.ownersOf('node-1').owners).toEqual([first]);
    expect(evidence.holdersOf('dns', 'node-2').owners).toEqual([second]);
    expect(evidence.holdersOf('ip', '10.0.0.9').owners).toEqual([first, second]);
  });

  it('knows nothing of names that nobody lists, nor of those of objects in JavaScript', () => {
    for (const name of ['node-3', '', 'constructor', '__proto__', 'toString']) {
      expect(evidence.ownersOf(name).owners).toEqual([]);
      expect(evidence.holdersOf('dns', name).owners).toEqual([]);
      expect(evidence.holdersOf('ip', name).owners).toEqual([]);
    }
  });

  it('keeps DNS names and addresses apart', () => {
    expect(evidence.holdersOf('dns', '10.0.0.1').owners).toEqual([]);
    expect(evidence.holdersOf('ip', 'node-1').owners).toEqual([]);
  });

  it('counts an object once that was listed twice', () => {
    expect(indexEvidence([reading(first, { ...first })]).ownersOf('node-1').owners).toEqual([first]);
  });

  it('counts an object that changed while it was listed as two, in any order', () => {
    const gone: Owner = { ...first, notLive: 'is stopped' };
    for (const listed of [
      [first, gone, first],
      [gone, first, first],
    ])
      expect(new Set(indexEvidence([reading(...listed)]).ownersOf('node-1').owners)).toEqual(new Set([first, gone]));
  });

  it('counts an owner once that lists a name twice', () => {
    const twice = owner('Machine a/1', 'node-1', '10.0.0.1', '10.0.0.1');
    expect(indexEvidence([reading(twice)]).holdersOf('ip', '10.0.0.1').owners).toEqual([twice]);
  });

  it('takes nothing from a source that could not be read', () => {
    const unreadable = { source: 'machine', ok: false, problem: '403', remedy: 'Grant it.' } as const;
    const index = indexEvidence([unreadable]);
    expect(index.ownersOf('node-1').owners).toEqual([]);
    expect(index.readings).toEqual([unreadable]);
  });

  it('keeps eight objects of a source under one key, and says that there are more', () => {
    const many = Array.from({ length: 20_000 }, (_, index) => owner(`Machine a/${index}`, 'same', '10.0.0.1'));
    const nodes = [{ ...owner('Node same', 'same', '10.0.0.1'), source: 'node' as const }];
    const index = indexEvidence([reading(...many), { source: 'node', ok: true, lookedAt: 1, owners: nodes }]);
    for (const { owners, more } of [
      index.ownersOf('same'),
      index.holdersOf('dns', 'same'),
      index.holdersOf('ip', '10.0.0.1'),
    ]) {
      expect(owners).toEqual([...many.slice(0, 8), ...nodes]);
      expect(more).toEqual(['machine']);
    }
    expect(indexEvidence([reading(...many.slice(0, 8))]).ownersOf('same').more).toEqual([]);
  });

  it('is built in steps between which others get the thread', () => {
    const many = Array.from({ length: 20_000 }, (_, index) => owner(`Machine a/${index}`, `node-${index}`));
    const steps = indexInSteps([reading(...many)]);
    let count = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) count += 1;
    expect(count).toBe(20_000);
    expect(step.value.ownersOf('node-19999').owners).toEqual(many.slice(-1));
  });

  it('joins several readings of one source', () => {
    expect(indexEvidence([reading(first), reading(second)]).holdersOf('ip', '10.0.0.9').owners).toEqual([
      first,
      second,
    ]);
  });
});

describe('ownedNames', () => {
  it('writes names in canonical form, each once, and drops what is of the wrong kind', () => {
    expect(
      ownedNames(
        ['Node-1.', 'node-1', '', '.', '10.0.0.1', 'fd00::1'],
        ['FD00:0::1', 'fd00::1', 'node-1', '', '10.0.0.1'],
      ),
    ).toEqual({ dnsNames: ['node-1'], addresses: ['fd00::1', '10.0.0.1'] });
  });

  it('keeps the first 1,024 names and the first 1,024 addresses of an object', () => {
    const names = Array.from({ length: 1_025 }, (_, index) => `node-${index}`);
    const addresses = Array.from({ length: 1_025 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
    expect(ownedNames(names, addresses)).toEqual({
      dnsNames: names.slice(0, 1_024),
      addresses: addresses.slice(0, 1_024),
    });
  });
});

it.each([
  [20_000, 1, true],
  [20_001, 1, false],
  [1, 16 * 2 ** 20 - 100, true],
  [1, 16 * 2 ** 20 - 99, false],
])('collectOwners has room for %i objects with names of %i characters: %s', (count, length, fits) => {
  const collected = collectOwners('machine');
  const one = { ...owner('x'.repeat(length), ''), nodes: [], dnsNames: [] };
  const added = Array.from({ length: count }, () => collected.add(one)).at(-1);
  expect([added, collected.reading().ok]).toEqual([fits, fits]);
});
