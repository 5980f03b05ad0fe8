import * as z from 'zod/mini';
import { type Contract, read } from './contract.ts';
import { ExpiryFinding } from './finding.ts';
import { AnyTime, Name, Observation } from './observation.ts';
import { Flag, Provider } from './values.ts';

/** Of one cluster: one of 5,000 nodes, with Machines and handshakes, has 30,000. */
export const MAX_OBSERVATIONS = 50_000;
/** Of one cluster; who has more fixes these first, and one of them says how many there are. */
export const MAX_FINDINGS = 10_000;

const Stored = z.object({
  version: z.literal(1),
  /** Id in the fleet; on the command line the name. */
  cluster: Name,
  provider: Provider,
  /** Of the command line: host and port of the API server, which tells clusters apart that are called alike. */
  server: z.optional(Name),
  /** RFC 3339: when the audit began. */
  auditedAt: AnyTime,
  /** Something that was known earlier is lost, and was not looked at again since: what is missing here may be there all the same. */
  partial: Flag,
  observations: z.array(z.unknown()).check(z.maxLength(MAX_OBSERVATIONS)),
  findings: z.array(z.unknown()).check(z.maxLength(MAX_FINDINGS)),
});

/** What one audit of one cluster knows: what it saw, and of what it could not look at the newest that was seen before. */
export interface Snapshot extends Omit<Contract<typeof Stored>, 'observations' | 'findings'> {
  /** An observation that is older than `auditedAt` was kept, because its source could not be read again. */
  readonly observations: readonly Observation[];
  readonly findings: readonly ExpiryFinding[];
}

/**
 * A stored snapshot. Single observations and findings that are not what they should be are passed over: a newer version of certmarshal
 * may have written them, and the others are still worth more than nothing; it is partial then. Never throws.
 *
 * @returns undefined when it is no snapshot at all
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
