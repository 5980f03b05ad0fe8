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
 * The newest decisions of a week, hostile ones first: for each request the last hostile and the last other one, so that
 * neither hides the other. Nodes take turns, so that no node hides another. Pure.
 *
 * A line is only replaced by one that sorts before it, and no turn of a node gets older, so a dropped line would be
 * dropped again: the order of arrival does not matter.
 *
 * @param now milliseconds since the epoch
 */
export function foldVerdicts(
  before: readonly VerdictLine[],
  newer: readonly VerdictLine[],
  now: number,
): readonly VerdictLine[] {
  const week = [...before, ...newer].filter(({ at }) => now - Date.parse(at) < KEPT_MS).toSorted(byUrgency);
  const turns = new Map<string, number>();
  const turnOf = (key: string): number => turns.set(key, (turns.get(key) ?? -1) + 1).get(key) ?? 0;
  return week
    .filter(({ uid, hostile }) => turnOf(`request ${uid} ${hostile}`) === 0)
    .map((line) => ({ line, turn: turnOf(`node ${line.node} ${line.hostile}`) }))
    .toSorted((a, b) => hostileFirst(a.line, b.line) || a.turn - b.turn)
    .slice(0, MAX_VERDICTS)
    .map(({ line }) => line)
    .toSorted(byUrgency);
}

function hostileFirst(a: VerdictLine, b: VerdictLine): number {
  return Number(b.hostile ?? false) - Number(a.hostile ?? false);
}

function byUrgency(a: VerdictLine, b: VerdictLine): number {
  return hostileFirst(a, b) || compare(b.at, a.at) || compare(a.uid, b.uid);
}
