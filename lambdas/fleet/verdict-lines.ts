import type { SweepRow } from '../approval/report.ts';
import { MAX_VERDICTS, type VerdictLine } from '../contracts/outcome.ts';
import { boundedFacts } from '../contracts/verdict-facts.ts';
import { DAY_MS } from '../time.ts';
import { compare } from '../words.ts';

const KEPT_MS = 7 * DAY_MS;

/**
 * The displayed decisions of one sweep: hostile ones first, then written ones, then the rest. Pure.
 *
 * @param at when the sweep began, RFC 3339
 */
export function verdictLines(rows: readonly SweepRow[], at: string): readonly VerdictLine[] {
  return rows
    .toSorted((a, b) => rankOf(a) - rankOf(b))
    .slice(0, MAX_VERDICTS)
    .map(({ csr, uid, node, verdict, reason, facts, hostile, outcome }) => ({
      csr,
      uid,
      node,
      verdict,
      reason,
      facts: boundedFacts(facts),
      outcome,
      at,
      hostile: hostile ? true : undefined,
    }));
}

function rankOf({ hostile, outcome }: SweepRow): number {
  if (hostile) return 0;
  return outcome === 'written' ? 1 : 2;
}

/**
 * The newest decisions of a week, hostile ones first: for each node the last hostile and the last other one, so that
 * neither hides the other, and no node another. Pure.
 *
 * A line is only replaced by one that sorts before it, so a dropped line would be dropped again: the order of arrival
 * does not matter.
 *
 * @param now milliseconds since the epoch
 */
export function foldVerdicts(
  before: readonly VerdictLine[],
  newer: readonly VerdictLine[],
  now: number,
): readonly VerdictLine[] {
  const lines = [...before, ...newer].filter(({ at }) => now - Date.parse(at) < KEPT_MS).toSorted(byUrgency);
  const isFirst = ({ node, hostile }: VerdictLine, index: number): boolean =>
    lines.findIndex((line) => line.node === node && line.hostile === hostile) === index;
  return lines.filter(isFirst).slice(0, MAX_VERDICTS);
}

function byUrgency(a: VerdictLine, b: VerdictLine): number {
  return Number(b.hostile ?? false) - Number(a.hostile ?? false) || compare(b.at, a.at) || compare(a.uid, b.uid);
}
