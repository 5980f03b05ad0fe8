import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseFleetIndex } from '../../../lambdas/contracts/fleet-index.ts';
import { decodeOrders, encodeOrders, type SweepOrder } from '../../../lambdas/contracts/order.ts';
import { parseRegistry } from '../../../lambdas/contracts/registry.ts';
import { readSnapshot } from '../../../lambdas/contracts/snapshot.ts';
import { encodeOutcome } from '../../../lambdas/fleet/outcome-message.ts';
import { foldFates } from '../../../lambdas/slo/ledger.ts';
import { sloState } from '../../../lambdas/slo/objective.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../lambdas/time.ts';
import { decodeOutcome } from '../fleet/decode-outcome.ts';

// What the version before wrote in a simulated fleet (test/fleet/hub): its state objects, messages of its queues, a snapshot of an audit.
const written = (name: string) => JSON.parse(readFileSync(new URL(`before/${name}.json`, import.meta.url), 'utf8'));
const REGISTRY = written('registry');
const INDEX = written('fleet-index');
const ORDERS: readonly object[] = written('orders');
const OUTCOMES: readonly object[] = written('outcomes');
const SNAPSHOT = written('snapshot');
const NOW = Date.parse(INDEX.writtenAt);
/** Their keys are names of clusters and sources, not fields. */
const BY_NAME = new Set(['clusters', 'sources', 'sessionTags']);

/** What a later version may write: more fields in every object. */
function later(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((one: unknown) => later(one));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, one]) => [name, later(one, name)] as const);
  return Object.fromEntries(
    BY_NAME.has(key) && !Array.isArray(value) ? entries : [...entries, ['addedLater', { list: [1] }]],
  );
}

describe('what the version before wrote', () => {
  it('is read whole: registry, index, snapshot', () => {
    const registry = parseRegistry(REGISTRY, NOW);
    expect(registry).toEqual(REGISTRY);
    const index = parseFleetIndex(INDEX, NOW);
    expect(Object.keys(index?.clusters ?? {})).toEqual(Object.keys(INDEX.clusters));
    expect(index).toMatchObject(INDEX);
    expect(readSnapshot(SNAPSHOT)).toMatchObject(SNAPSHOT);
    expect(readSnapshot(SNAPSHOT)?.partial).toBe(SNAPSHOT.partial);
  });

  it('is no order of this one, which has a queue of its own', () => {
    for (const order of ORDERS) expect(decodeOrders(JSON.stringify(order))).toMatchObject({ ok: false });
  });

  it.each(OUTCOMES.map((outcome) => [JSON.stringify(outcome).slice(0, 60), outcome]))('is folded: %s', (_, outcome) => {
    const decoded = decodeOutcome(JSON.stringify(outcome));
    expect(decoded).toMatchObject({ ok: true, value: outcome });
    const value = decoded.ok ? decoded.value : undefined;
    expect(value && JSON.parse(encodeOutcome(value))).toMatchObject(outcome);
  });
});

describe('what became of requests', () => {
  const minute = Math.floor(NOW / MINUTE_MS);
  /** As the version before wrote it: ten requests in each period that it kept, one of them missed. */
  const rows = (count: number, unit: number, ...more: readonly number[]) =>
    Array.from({ length: count }, (_, n) => [
      Math.floor((minute * MINUTE_MS) / unit) - count - n,
      4,
      3,
      1,
      1,
      1,
      ...more,
    ]);
  const slo = {
    open: rows(37, MINUTE_MS, NOW),
    hours: rows(30, HOUR_MS),
    days: rows(14, DAY_MS),
    since: NOW - 60 * DAY_MS,
    closedBefore: minute - 90,
  };
  const stored = { ...INDEX, clusters: { berlin: { ...INDEX.clusters.berlin, slo } } };
  const ledger = parseFleetIndex(stored, NOW)?.clusters['berlin']?.slo;

  it('is kept over an upgrade, for as long as the version before would have', () => {
    expect(ledger).toEqual(slo);
    for (const [days, requests] of [
      [0, 81],
      [1, 81],
      [5, 78],
    ] as const) {
      const now = NOW + days * DAY_MS;
      const folded = foldFates(ledger, [], now, now);
      expect(sloState([folded], 0.999, now).counts).toMatchObject({ us: 4 * requests, missed: requests });
    }
  });

  it('is written so that the version before reads it', () => {
    const folded = foldFates(ledger, [], NOW + DAY_MS, NOW + DAY_MS);
    expect(Object.keys(folded)).toEqual(Object.keys(slo));
    // What that one does not know stands beside the rest.
    const waited = foldFates(ledger, [[minute - 20, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]], NOW, NOW);
    expect(Object.keys(waited).filter((key) => !(key in slo))).toEqual(['waits']);
    const lengthsOf = (lists: Pick<typeof folded, 'open' | 'hours' | 'days'>) =>
      [lists.open, lists.hours, lists.days].map((list) => [...new Set(list.map((row) => row.length))]);
    expect(lengthsOf(foldFates(ledger, [], NOW, NOW))).toEqual([[7], [6], [6]]);
    expect(lengthsOf(folded)).toEqual([[], [6], [6]]);
  });
});

describe('what a later version writes', () => {
  it('is read without what this one does not know', () => {
    expect(parseRegistry(later(REGISTRY), NOW)).toEqual(REGISTRY);
    expect(parseFleetIndex(later(INDEX), NOW)).toEqual(parseFleetIndex(INDEX, NOW));
    expect(readSnapshot(later(SNAPSHOT))).toEqual(readSnapshot(SNAPSHOT));
    for (const order of ORDERS) {
      const body = encodeOrders([order as SweepOrder]);
      expect(decodeOrders(JSON.stringify(later(JSON.parse(body))))).toEqual(decodeOrders(body));
    }
    for (const outcome of OUTCOMES)
      expect(decodeOutcome(JSON.stringify(later(outcome)))).toEqual(decodeOutcome(JSON.stringify(outcome)));
  });

  it('is not guessed at where its format is another one', () => {
    expect(parseRegistry({ ...REGISTRY, version: 9 }, NOW)).toBeUndefined();
    expect(parseFleetIndex({ ...INDEX, version: 9 }, NOW)).toBeUndefined();
    expect(readSnapshot({ ...SNAPSHOT, version: 9 })).toBeUndefined();
    expect(decodeOrders(JSON.stringify({ version: 9, orders: [ORDERS[0]] }))).toMatchObject({ ok: false });
    expect(decodeOutcome(JSON.stringify({ ...OUTCOMES[0], version: 9 }))).toMatchObject({ ok: false });
  });
});
