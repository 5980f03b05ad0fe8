import type { Reading } from '../../../lambdas/contracts/contract.ts';
import type { Outcome } from '../../../lambdas/contracts/outcome.ts';
import { decodeOutcomes } from '../../../lambdas/fleet/outcome-message.ts';

/** @throws Error when the message does not hold exactly one */
export function decodeOutcome(body: string): Reading<Outcome> {
  const [only, ...others] = decodeOutcomes(body);
  if (only === undefined || others.length > 0) throw new Error(`not one outcome: ${body}`);
  return only;
}
