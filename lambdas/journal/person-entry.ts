import type { Acted } from '../approval/act.ts';
import { type DecidedByPerson, MAX_BECAUSE } from '../approval/person.ts';
import type { Verdict } from '../approval/verdict.ts';
import { printable } from '../printable.ts';
import { decisionEntry, type SweepContext } from './decisions.ts';
import type { PersonEntry } from './journal.ts';

export interface ActedByPerson extends Pick<Acted, 'csr' | 'outcome'>, DecidedByPerson {
  /** The verdict shown to the person. */
  readonly verdict: Verdict;
}

/**
 * The entry of one decision of a person; undefined if nothing was sent, for example because the CSR was decided or
 * changed first. Pure.
 */
export function personEntry(
  { csr, outcome, verdict, decision, by, because }: ActedByPerson,
  context: SweepContext,
): PersonEntry | undefined {
  if (outcome.kind === 'overtaken' || outcome.kind === 'unfinished') return undefined;
  return {
    ...decisionEntry({ csr, verdict, outcome }, decision, context),
    kind: 'person',
    verdict: decision,
    judged: verdict.verdict,
    failed: verdict.checks.flatMap(({ passed, rule }) => (passed ? [] : [rule])),
    by: printable(by),
    because: printable(because, MAX_BECAUSE),
  };
}
