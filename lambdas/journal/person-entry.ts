import type { Acted } from '../approval/act.ts';
import { type DecidedByPerson, MAX_BECAUSE } from '../approval/person.ts';
import type { Verdict } from '../approval/verdict.ts';
import { printable } from '../printable.ts';
import { collectEntries, decisionEntry, type SweepContext } from './decisions.ts';
import type { PersonEntry } from './journal.ts';

/** What a person decided, and what became of it. */
export interface ActedByPerson extends Pick<Acted, 'csr' | 'outcome'>, DecidedByPerson {
  /** The judgement that they were shown. */
  readonly verdict: Verdict;
}

/** The entry of one decision of a person; none where the request was decided or changed first, or nothing was sent, as of a sweep. Pure. */
export function personEntries(
  { csr, outcome, verdict, decision, by, because }: ActedByPerson,
  context: SweepContext,
): readonly PersonEntry[] {
  const collector = collectEntries<PersonEntry>(0);
  collector.take({ verdict: decision, hostile: verdict.hostile, outcome: outcome.kind }, () => ({
    ...decisionEntry({ csr, verdict, outcome }, decision, context),
    kind: 'person',
    verdict: decision,
    judged: verdict.verdict,
    failed: verdict.checks.flatMap(({ passed, rule }) => (passed ? [] : [rule])),
    by: printable(by),
    because: printable(because, MAX_BECAUSE),
  }));
  return collector.collected().entries;
}
