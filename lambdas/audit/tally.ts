import { type FindingTally, kindOf, MAX_TALLY } from '../contracts/audit-summary.ts';
import type { KeptFinding } from '../contracts/finding.ts';
import { compare } from '../words.ts';

/** All of the findings, counted by kind. Pure. */
export function tallyOf(findings: readonly KeptFinding[]): readonly FindingTally[] {
  return bounded(
    combined(
      findings.map(({ code, severity, what }) => ({ code, severity, what, count: 1 })),
      (a, b) => a + b,
    ),
  );
}

/** The largest count of each kind in any tally. Pure. */
export function largestTally(tallies: readonly (readonly FindingTally[])[]): readonly FindingTally[] {
  const most = combined(tallies.flat(), Math.max);
  // Drops classes before taking the largest: otherwise the sums without classes would grow with every union.
  return most.length <= MAX_TALLY ? most : combined(tallies.flatMap(withoutClasses), Math.max);
}

function bounded(tally: readonly FindingTally[]): readonly FindingTally[] {
  return tally.length <= MAX_TALLY ? tally : withoutClasses(tally);
}

function withoutClasses(tally: readonly FindingTally[]): readonly FindingTally[] {
  return combined(
    tally.map(({ code, severity, count }) => ({ code, severity, count })),
    (a, b) => a + b,
  );
}

/** One entry a kind, the worst first. */
function combined(tally: readonly FindingTally[], of: (a: number, b: number) => number): readonly FindingTally[] {
  const kinds = new Map<string, FindingTally>();
  for (const entry of tally) {
    const key = kindOf(entry);
    kinds.set(key, { ...entry, count: of(kinds.get(key)?.count ?? 0, entry.count) });
  }
  return [...kinds].toSorted(([a], [b]) => compare(a, b)).map(([, entry]) => entry);
}
