import { describe, expect, it } from 'vitest';
import { auditedSources, handshakesOf } from '../../../../bin/commands/audit/sources.ts';
import type { Observation } from '../../../../lambdas/contracts/observation.ts';
import { READ } from './audits.ts';

const unread = (changes: object = {}): Observation => ({
  kind: 'unread',
  source: 'nodes',
  observedAt: '2026-11-21T09:00:00.000Z',
  problem: 'timeout',
  message: 'm',
  remedy: 'r',
  ...changes,
});

describe('what became of each source', () => {
  it('is its newest word, whatever is kept of before', () => {
    const { read, unread: failed, off } = auditedSources([...READ, unread()]);
    expect(read.map(({ source }) => source)).toEqual(['clock', 'nodes', 'tls']);
    expect(failed).toEqual([]);
    expect(off.map(({ source }) => source)).toEqual(['cluster-secrets', 'tls-secrets']);
    const later = unread({ observedAt: '2026-11-21T11:00:00.000Z' });
    expect(auditedSources([later, ...READ]).unread).toEqual([later]);
  });

  it('is not told by one place of it', () => {
    const place = unread({ observedAt: '2026-11-21T11:00:00.000Z', where: '10.0.0.1:10250' });
    expect(auditedSources([...READ, place]).unread).toEqual([]);
  });

  it('counts handshakes', () => {
    expect(handshakesOf(auditedSources(READ))).toBe(58);
    expect(handshakesOf(auditedSources([]))).toBe(0);
  });
});
