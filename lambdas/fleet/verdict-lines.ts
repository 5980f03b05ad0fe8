import type { SweepRow } from '../approval/report.ts';
import { MAX_VERDICTS, VERDICT_LIMITS, type VerdictLine } from '../contracts/outcome.ts';
import { boundedFacts } from '../contracts/verdict-facts.ts';
import { printable } from '../printable.ts';
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
      csr: printable(csr, VERDICT_LIMITS.csr),
      uid: printable(uid, VERDICT_LIMITS.uid),
      node: printable(node, VERDICT_LIMITS.node),
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
 * The newest decisions of a week, hostile ones first; for each request the last hostile and the last other one, so that
 * neither hides the other. Nodes take turns, so that no node hides another. Pure.
 *
 * A line is only replaced by one that sorts before it, and no turn of a node gets older, so a dropped line would be
 * dropped again: the order of arrival does not matter.
 *
 * @param now milliseconds since the epoch
 */
export function foldVerdicts(
  before: readonly VerdictLine[],
  told: readonly VerdictLine[],
  now: number,
): readonly VerdictLine[] {
  const last = new Map<string, VerdictLine>();
  for (const line of [...before, ...told]) {
    const key = JSON.stringify([line.uid, line.hostile]);
    const known = last.get(key);
    if (now - Date.parse(line.at) < KEPT_MS && (known === undefined || line.at > known.at)) last.set(key, line);
  }
  return inTurns([...last.values()].toSorted(byUrgency))
    .slice(0, MAX_VERDICTS)
    .toSorted(byUrgency);
}

/**
 * First the newest of each node, then the second of each, and so on; hostile ones take turns among themselves, before
 * all others.
 */
function inTurns(sorted: readonly VerdictLine[]): readonly VerdictLine[] {
  const turns = new Map<string, number>();
  return sorted
    .map((line) => {
      const key = JSON.stringify([line.node, line.hostile]);
      const turn = turns.get(key) ?? 0;
      turns.set(key, turn + 1);
      return { line, turn };
    })
    .toSorted((a, b) => hostileFirst(a.line, b.line) || a.turn - b.turn)
    .map(({ line }) => line);
}

function hostileFirst(a: VerdictLine, b: VerdictLine): number {
  return Number(b.hostile ?? false) - Number(a.hostile ?? false);
}

function byUrgency(a: VerdictLine, b: VerdictLine): number {
  return hostileFirst(a, b) || compare(b.at, a.at) || compare(a.uid, b.uid);
}
