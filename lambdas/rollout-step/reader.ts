import { AwsError } from '../aws/errors.ts';
import { KubernetesError, type KubernetesErrorKind } from '../kubernetes/errors.ts';
import type { Problem } from '../problem.ts';
import { eachInTurns } from '../processor-time.ts';
import { problemOf } from './problem-of.ts';

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
   * @returns whether it was read to its end
   */
  each(
    pages: AsyncIterable<readonly unknown[]>,
    most: number,
    look: (object: unknown) => void,
    ...fine: readonly KubernetesErrorKind[]
  ): Promise<boolean>;
}

export function createReader(): Reader {
  const unread: Problem[] = [];
  const one: Reader['one'] = async (read, ...fine) => {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof KubernetesError) && !(error instanceof AwsError)) throw error;
      if (!fine.some((kind) => kind === error.kind)) unread.push(problemOf(error));
      return undefined;
    }
  };
  return {
    unread,
    one,
    each: async (pages, most, look, ...fine) => (await one(async () => lookAt(pages, most, look), ...fine)) ?? false,
  };
}

async function lookAt(
  pages: AsyncIterable<readonly unknown[]>,
  most: number,
  look: (object: unknown) => void,
): Promise<true> {
  let count = 0;
  const lookAtOne = (object: unknown): void => {
    count += 1;
    if (count > most) throw tooMany(most);
    look(object);
  };
  for await (const page of pages) await eachInTurns(page, lookAtOne);
  return true;
}

function tooMany(most: number): KubernetesError {
  return new KubernetesError({
    kind: 'too-large',
    object: 'a list of the management cluster',
    problem: `there are more than ${most} objects in it, and no more are read`,
    remedy: 'Find out who creates so many of these objects.',
  });
}
