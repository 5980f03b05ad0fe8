import type { UnreadObservation } from '../contracts/observation.ts';
import { KubernetesError } from '../kubernetes/errors.ts';
import { inTurns } from '../processor-time.ts';
import type { Origin } from './audit-source.ts';
import { unreadBecause } from './unread.ts';

/** A list, read completely or up to a problem. */
export interface ListReading {
  /** Objects read. */
  readonly count: number;
  readonly problem?: KubernetesError;
}

/**
 * Reads each object of a list as far as possible: what was read before a failure is kept.
 *
 * @param look returns whether it accepts more
 */
export async function readList<T>(
  pages: AsyncIterable<readonly T[]>,
  look: (item: T) => 'more' | 'full',
): Promise<ListReading> {
  let count = 0;
  try {
    for await (const page of pages) {
      for await (const looked of inTurns(page, look)) {
        if (looked === 'full') return { count, problem: tooMany(count) };
        count += 1;
      }
    }
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    return { count, problem: error };
  }
  return { count };
}

function tooMany(count: number): KubernetesError {
  return new KubernetesError({
    kind: 'too-large',
    object: 'the list',
    problem: `it is longer than an audit reads; it was read up to object ${count}`,
    remedy: 'Find out who creates so many of these objects.',
  });
}

/**
 * The `unread` observations of lists of one source that were not read completely.
 *
 * @throws KubernetesError when nothing of any was read
 */
export function cutShort(origin: Origin, ...readings: readonly ListReading[]): readonly UnreadObservation[] {
  const problems = readings.flatMap(({ problem }) => problem ?? []);
  const [first] = problems;
  if (first !== undefined && readings.every(({ count, problem }) => count === 0 && problem !== undefined)) throw first;
  return problems.map((problem) => unreadBecause(origin, problem));
}
