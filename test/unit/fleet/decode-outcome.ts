import type { Reading } from '../../../lambdas/contracts/contract.ts';
import type { Outcome } from '../../../lambdas/contracts/outcome.ts';
import { decodeOutcomes, encodeOutcomes } from '../../../lambdas/fleet/outcome-message.ts';

/** @throws Error when the encoded outcome is not exactly one */
export function decodeOutcome(encoded: string): Reading<Outcome> {
  const [only, ...others] = decodeOutcomes(encodeOutcomes([encoded]));
  if (only === undefined || others.length > 0) throw new Error(`not one outcome: ${encoded}`);
  return only;
}
