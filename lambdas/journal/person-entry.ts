import type { Acted } from '../approval/act.ts';
import { type DecidedByPerson, MAX_BECAUSE } from '../approval/person.ts';
import type { Verdict } from '../approval/verdict.ts';
import { printable } from '../printable.ts';
import { collectEntries, decisionEntry, type SweepContext } from './decisions.ts';
import type { PersonEntry } from './journal.ts';

/** A decision of a person and its result. */
export interface ActedByPerson extends Pick<Acted, 'csr' | 'outcome'>, DecidedByPerson {
  /** The verdict shown to the person. */
  readonly verdict: Verdict;
}

/**
 * The entry of one decision of a person; undefined if nothing was sent, for example because the request was decided or
 * changed first. Pure.
 */
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
