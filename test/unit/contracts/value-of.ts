import type { Reading } from '../../../lambdas/contracts/contract.ts';

/** @throws what does not fit */
export function valueOf<T>(reading: Reading<T>): T {
  if (!reading.ok) throw new Error(reading.problem);
  return reading.value;
}
