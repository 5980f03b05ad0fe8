import { describe, expect, it } from 'vitest';
import { indexEvidence, type Owner, ownedNames } from '../../../lambdas/approval/evidence.ts';

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
    expect(evidence.ownersOf('node-1')).toEqual([first]);
    expect(evidence.holdersOf('dns', 'node-2')).toEqual([second]);
    expect(evidence.holdersOf('ip', '10.0.0.9')).toEqual([first, second]);
  });

  it('knows nothing of names that nobody lists, nor of those of objects in JavaScript', () => {
    for (const name of ['node-3', '', 'constructor', '__proto__', 'toString']) {
      expect(evidence.ownersOf(name)).toEqual([]);
      expect(evidence.holdersOf('dns', name)).toEqual([]);
      expect(evidence.holdersOf('ip', name)).toEqual([]);
    }
  });

  it('keeps DNS names and addresses apart', () => {
    expect(evidence.holdersOf('dns', '10.0.0.1')).toEqual([]);
    expect(evidence.holdersOf('ip', 'node-1')).toEqual([]);
  });

  it('counts an object once that was listed twice', () => {
    expect(indexEvidence([reading(first, { ...first })]).ownersOf('node-1')).toEqual([first]);
  });

  it('counts an owner once that lists a name twice', () => {
    const twice = owner('Machine a/1', 'node-1', '10.0.0.1', '10.0.0.1');
    expect(indexEvidence([reading(twice)]).holdersOf('ip', '10.0.0.1')).toEqual([twice]);
  });

  it('takes nothing from a source that could not be read', () => {
    const unreadable = { source: 'machine', ok: false, problem: '403', remedy: 'Grant it.' } as const;
    const index = indexEvidence([unreadable]);
    expect(index.ownersOf('node-1')).toEqual([]);
    expect(index.readings).toEqual([unreadable]);
  });

  it('takes nothing from Machines in several namespaces: two clusters have one name', () => {
    const [here, there] = [
      { ...first, namespace: 'a' },
      { ...second, namespace: 'b' },
    ];
    expect(indexEvidence([reading(here, { ...second, namespace: 'a' })]).ownersOf('node-1')).toEqual([here]);
    const index = indexEvidence([reading(here, there)]);
    expect(index.ownersOf('node-1')).toEqual([]);
    expect(index.holdersOf('ip', '10.0.0.2')).toEqual([]);
    expect(index.readings).toEqual([
      {
        source: 'machine',
        ok: false,
        problem: expect.stringContaining('in several namespaces (a, b)'),
        remedy: 'Rename one of them.',
      },
    ]);
  });

  it('joins several readings of one source', () => {
    expect(indexEvidence([reading(first), reading(second)]).holdersOf('ip', '10.0.0.9')).toEqual([first, second]);
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
});
