import * as z from 'zod/mini';
import { type Contract, read } from './contract.ts';
import { ExpiryFinding } from './finding.ts';
import { AnyTime, Name, Observation } from './observation.ts';
import { Flag, Provider } from './values.ts';

/** Most findings of one cluster; with more, one of them has the number. */
export const MAX_FINDINGS = 10_000;

const Stored = z.object({
  version: z.literal(1),
  /** Id in the fleet; at the command line the name. */
  cluster: Name,
  provider: Provider,
  /** RFC 3339: when the audit began. */
  auditedAt: AnyTime,
  /** Earlier knowledge was lost and not read again: what is missing here may still exist. */
  partial: Flag,
  observations: z.array(z.unknown()),
  findings: z.array(z.unknown()).check(z.maxLength(MAX_FINDINGS)),
});

/**
 * The knowledge of one audit of one cluster: what it saw, and the latest earlier observation of what it could not read.
 */
export interface Snapshot extends Omit<Contract<typeof Stored>, 'observations' | 'findings'> {
  /** An observation older than `auditedAt` was kept because its source could not be read again. */
  readonly observations: readonly Observation[];
  readonly findings: readonly ExpiryFinding[];
}

/**
 * Reads a stored snapshot. Invalid observations and findings are dropped and the snapshot becomes partial: the rest is
 * still useful. Never throws.
 *
 * @returns undefined if invalid as a whole
 */
export function readSnapshot(value: unknown): Snapshot | undefined {
  const stored = read(Stored, value);
  if (!stored.ok) return undefined;
  const observations = known(Observation, stored.value.observations);
  return {
    ...stored.value,
    partial: stored.value.partial ?? (observations.length < stored.value.observations.length || undefined),
    observations,
    findings: known(ExpiryFinding, stored.value.findings),
  };
}

function known<S extends z.ZodMiniType>(schema: S, values: readonly unknown[]): readonly Contract<S>[] {
  return values.flatMap((value) => {
    const one = read(schema, value);
    return one.ok ? [one.value] : [];
  });
}
