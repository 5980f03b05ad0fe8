import type { StageContext } from '../../../lambdas/cluster/stage.ts';
import type { Target } from '../../../lambdas/contracts/target.ts';

const { signal: never } = new AbortController();

/** What a stage works with, of a cluster that is not asked for more. */
export function contextOf<Due>(
  target: Target,
  context: Pick<StageContext<Due>, 'due' | 'open'> & Partial<StageContext<Due>>,
): StageContext<Due> {
  const connection = {
    open: async () => Promise.reject(new Error('not asked for')),
    doubt: async () => Promise.reject(new Error('not asked for')),
    release: () => undefined,
  };
  return { order: { target, tick: 0, deadlineMs: 10_000 }, connection, signal: never, last: never, ...context };
}
