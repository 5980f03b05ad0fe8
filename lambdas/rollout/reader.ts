import { AwsError } from '../aws/errors.ts';
import { type Problem, problemOf } from '../contracts/problem.ts';
import { KubernetesError, type KubernetesErrorKind } from '../kubernetes/errors.ts';
import { eachInTurns } from '../processor-time.ts';

/** Reads that may fail: a failure is reported, never thrown. */
export interface Reader {
  /** Failed reads so far. */
  readonly unread: Problem[];
  /** Undefined if it could not be read; an error of a `fine` kind is not a problem. */
  one<T>(read: () => Promise<T>, ...fine: readonly KubernetesErrorKind[]): Promise<T | undefined>;
  /**
   * Visits each object of a list without keeping it.
   *
   * @param most more objects are a problem, and are not visited
   * @returns how it ended; if `too-large` is a `fine` kind, only the beginning was visited
   */
  each(
    pages: AsyncIterable<readonly unknown[]>,
    most: number,
    look: (object: unknown) => void,
    ...fine: readonly KubernetesErrorKind[]
  ): Promise<ListEnd>;
}

export type ListEnd = 'whole' | 'too-large' | 'unread';

export function createReader(): Reader {
  const unread: Problem[] = [];
  const failed = (error: unknown, fine: readonly KubernetesErrorKind[]): string => {
    if (!(error instanceof KubernetesError) && !(error instanceof AwsError)) throw error;
    if (!fine.some((kind) => kind === error.kind)) unread.push(problemOf(error));
    return error.kind;
  };
  return {
    unread,
    async one(read, ...fine) {
      try {
        return await read();
      } catch (error) {
        failed(error, fine);
        return undefined;
      }
    },
    async each(pages, most, look, ...fine) {
      try {
        await lookAt(pages, most, look);
        return 'whole';
      } catch (error) {
        return failed(error, fine) === 'too-large' ? 'too-large' : 'unread';
      }
    },
  };
}

async function lookAt(
  pages: AsyncIterable<readonly unknown[]>,
  most: number,
  look: (object: unknown) => void,
): Promise<void> {
  let count = 0;
  const lookAtOne = (object: unknown): void => {
    count += 1;
    if (count > most) throw tooMany(most);
    look(object);
  };
  for await (const page of pages) await eachInTurns(page, lookAtOne);
}

function tooMany(most: number): KubernetesError {
  return new KubernetesError({
    kind: 'too-large',
    object: 'a list of the management cluster',
    problem: `it has more than ${most} objects, and no more are read`,
    remedy: 'Find out who creates so many of these objects.',
  });
}
