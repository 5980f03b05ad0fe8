import type { ClusterHealth } from '../health/fleet-health.ts';
import { printableStory } from '../printable.ts';
import type { RolloutState } from '../tables/rollout-states.ts';
import { DAY_MS } from '../time.ts';
import { compare, counted, span, timeOf } from '../words.ts';

/** What the lines of a digest are made of. */
export interface View {
  /** Without clusters that are gone. */
  readonly current: readonly ClusterHealth[];
  readonly labelOf: (id: string) => string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

type Rollout = NonNullable<ClusterHealth['rollout']>;

/** Finished rollouts are reported for a day. Milliseconds. */
const OVER_MS = DAY_MS;

/** What each state is called; those without a word need no line. The order is that of the lines. */
const WORDS: Readonly<Partial<Record<RolloutState, string>>> = {
  held: 'held',
  expired: 'not in time',
  refused: 'needs a person',
  assist: 'needs a person',
  rolling: 'rolls',
  verifying: 'rolls',
  ready: 'due',
  waiting: 'due',
  foreign: 'rolled by someone else',
  done: 'done',
  aborted: 'aborted',
};
const ORDER = Object.keys(WORDS);

/** A line for each cluster that rolls, is due, or has rolled since yesterday: what needs a person first. Pure. */
export function rolloutLines({ current, labelOf, now }: View): readonly string[] {
  return current
    .flatMap(({ id, rollout }) => {
      const word = rollout && WORDS[rollout.state];
      if (rollout === undefined || word === undefined || isLongOver(rollout, now)) return [];
      return [{ id, rank: ORDER.indexOf(rollout.state), line: `${labelOf(id)}: ${word}: ${storyOf(rollout)}` }];
    })
    .toSorted((a, b) => a.rank - b.rank || compare(a.id, b.id))
    .map(({ line }) => line);
}

function isLongOver({ state, since }: Rollout, now: number): boolean {
  return (state === 'done' || state === 'aborted' || state === 'foreign') && !(now - (timeOf(since) ?? 0) < OVER_MS);
}

function storyOf({ state, message, reasons: [reason], progress, durationMs, rollout }: Rollout): string {
  if (state === 'done') {
    const by = rollout?.trigger === 'person' ? 'started by a person' : 'started by the schedule';
    return `${durationMs === undefined ? '' : `in ${span(durationMs)}, `}${by}`;
  }
  if ((state === 'rolling' || state === 'verifying') && progress !== undefined)
    return `${progress.verified} of ${counted(progress.wanted, 'machine')} with a new certificate`;
  return printableStory(state === 'held' && reason !== undefined ? `${reason.message} (${reason.id})` : message, 140);
}
