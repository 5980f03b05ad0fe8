import type { Reading } from '../../../lambdas/contracts/contract.ts';
import type { SweepOutcome } from '../../../lambdas/contracts/outcome.ts';
import { outcomesObject, readOutcomes } from '../../../lambdas/fleet/outcomes.ts';

/** An outcome as report reads it. */
export function roundTrip(outcome: SweepOutcome): Reading<SweepOutcome> {
  return only(readOutcomes(JSON.parse(JSON.stringify(outcomesObject([outcome])))));
}

export function readOutcome(value: unknown): Reading<SweepOutcome> {
  return only(readOutcomes(JSON.parse(JSON.stringify({ version: 2, outcomes: [value] }))));
}

/** @throws Error when it is not exactly one */
function only([first, ...others]: readonly Reading<SweepOutcome>[]): Reading<SweepOutcome> {
  if (first === undefined || others.length > 0) throw new Error('not one outcome');
  return first;
}
