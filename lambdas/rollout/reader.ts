import { AwsError } from '../aws/errors.ts';
import { type Problem, problemOf } from '../contracts/problem.ts';
import { KubernetesError, type KubernetesErrorKind } from '../kubernetes/errors.ts';
import { eachInTurns } from '../processor-time.ts';

/** Reads what may fail: what cannot be read is told, and never an exception. */
export interface Reader {
  /** What could not be read so far. */
  readonly unread: Problem[];
  /** Undefined when it could not be read; where it is one of the `fine` kinds of error, that is no problem. */
  one<T>(read: () => Promise<T>, ...fine: readonly KubernetesErrorKind[]): Promise<T | undefined>;
  /**
   * Looks at each object of a list, and keeps nothing of it.
   *
   * @param most objects more than this are a problem, and are not looked at
   * @returns how it ended; where `too-large` is one of the `fine` kinds, what was looked at is the beginning of it
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
    problem: `there are more than ${most} objects in it, and no more are read`,
    remedy: 'Find out who creates so many of these objects.',
  });
}
