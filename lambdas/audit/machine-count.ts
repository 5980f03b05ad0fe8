import type { UnreadObservation } from '../contracts/observation.ts';
import type { SourceId } from '../tables/audit-sources.ts';

/** An int32 that counts something. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 31;
}

/** What is said of an object that keeps machines, and does not say how many. */
export function noCount(
  where: string,
  told: { readonly source: SourceId; readonly observedAt: string },
): UnreadObservation {
  return {
    kind: 'unread',
    ...told,
    where,
    problem: 'malformed',
    message: 'its spec.replicas is no number of machines',
    remedy: 'Check that the management cluster is one: its API server takes only a number.',
  };
}
