import * as z from 'zod/mini';
import { type Contract, read } from './contract.ts';
import { ExpiryFinding } from './finding.ts';
import { AnyTime, Name, Observation } from './observation.ts';
import { Provider } from './values.ts';

/** Most findings of one cluster; with more, one of them has the number. */
export const MAX_FINDINGS = 10_000;

/** The knowledge of one audit of one cluster: what it saw, and the last good answer of what it could not read. */
const Snapshot = z.object({
  version: z.literal(1),
  /** Id in the fleet; at the command line the name. */
  cluster: Name,
  provider: Provider,
  /** RFC 3339: when the audit began. An older observation was kept, because its source could not be read again. */
  auditedAt: AnyTime,
  observations: z.array(Observation),
  findings: z.array(ExpiryFinding).check(z.maxLength(MAX_FINDINGS)),
});
export type Snapshot = Contract<typeof Snapshot>;

/** Undefined if it is not what this version writes: it is a cache, and made again. Never throws. */
export function readSnapshot(value: unknown): Snapshot | undefined {
  const stored = read(Snapshot, value);
  return stored.ok ? stored.value : undefined;
}
