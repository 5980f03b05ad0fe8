import type { UnreadObservation } from '../contracts/observation.ts';
import type { Failure } from '../contracts/problem.ts';
import { printable } from '../printable.ts';

/** What is known of a place, or of a whole source, before it is read. */
export type Place = Pick<UnreadObservation, 'source' | 'observedAt' | 'where' | 'what' | 'member'>;

/** The observation of a place that could not be read; without `where`, of the whole source or the rest of it. */
export function unreadBecause(place: Place, { kind, object, problem, remedy }: Failure): UnreadObservation {
  // Only its deadline, or that of the audit, aborts a source.
  const overdue = kind === 'aborted';
  return {
    kind: 'unread',
    ...place,
    problem: overdue ? 'timeout' : kind,
    message: `${printable(object)}: ${overdue ? 'not done in time' : problem}`,
    remedy: overdue ? 'Check the load of the server and the route to it.' : remedy,
  };
}
