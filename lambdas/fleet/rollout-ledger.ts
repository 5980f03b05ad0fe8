import { AwsError } from '../aws/errors.ts';
import type { JsonObjects } from '../aws/json-objects.ts';
import { type PastRollout, type RolloutHistory, UNDONE_MS } from '../rollout/history.ts';
import type { RolloutLimits } from '../rollout/policy.ts';
import type { RolloutLedger } from '../rollout-step/step-rollout.ts';
import { fields, instant, list, oneOf, optional, present, type Read, reading, text, versionOf } from './shape.ts';

/** Key in the state bucket. */
export const ROLLOUT_LEDGER_KEY = 'rollouts.json';

const DAY_MS = 86_400_000;
/** Longer than any check looks back. */
const REMEMBERED_MS = 100 * DAY_MS;
/** A rollout that nobody ended counts as going on no longer than this: its cluster may be gone, and the others must not wait for it for ever. */
const LONGEST_MS = 14 * DAY_MS;
const MOST_ROLLOUTS = 20_000;
/** Of a write that others overtake. */
const MOST_TRIES = 5;

export interface RolloutLedgerOptions {
  /** The state bucket. */
  readonly objects: JsonObjects;
  readonly limits: RolloutLimits;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

interface Loaded {
  readonly rollouts: readonly PastRollout[];
  readonly etag: string | undefined;
  /** Why the object cannot be used. */
  readonly damage?: string;
}

/**
 * What the fleet remembers of rollouts, in one object of the state bucket. Every write replaces just the version that was read, and a claim judges the budget by that
 * version: of two clusters that begin at once, one does.
 */
export function createRolloutLedger({ objects, limits, clock }: RolloutLedgerOptions): RolloutLedger {
  const load = async (signal: AbortSignal): Promise<Loaded> => {
    const found = await objects.read(ROLLOUT_LEDGER_KEY, signal);
    if (found === undefined) return { rollouts: [], etag: undefined };
    const read = reading(() => readLedger(found.value));
    if (!read.ok) return { rollouts: [], etag: found.etag, damage: read.problem };
    return { rollouts: remembered(read.value, clock()), etag: found.etag };
  };

  /** @returns whether it was written; undefined from `change` leaves everything as it is */
  const write = async (
    { rollouts, etag }: Loaded,
    change: (rollouts: readonly PastRollout[]) => readonly PastRollout[] | undefined,
    signal: AbortSignal,
  ): Promise<'written' | 'unchanged' | 'overtaken'> => {
    const changed = change(rollouts);
    if (changed === undefined) return 'unchanged';
    try {
      await objects.write(ROLLOUT_LEDGER_KEY, { version: 1, rollouts: newest(changed) }, etag, signal);
      return 'written';
    } catch (error) {
      if (error instanceof AwsError && error.kind === 'conflict') return 'overtaken';
      throw error;
    }
  };

  /** The same, again when others were faster. @throws AwsError */
  const settle = async (
    change: (rollouts: readonly PastRollout[]) => readonly PastRollout[] | undefined,
    signal: AbortSignal,
  ): Promise<void> => {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const loaded = await load(signal);
      if (loaded.damage !== undefined) throw damaged(loaded.damage);
      if ((await write(loaded, change, signal)) !== 'overtaken') return;
    }
    throw new AwsError({
      kind: 'conflict',
      object: ROLLOUT_LEDGER_KEY,
      problem: `${MOST_TRIES} writes in a row were overtaken by others`,
      remedy: 'It is tried again with the next look.',
    });
  };

  return {
    async read(signal): Promise<RolloutHistory> {
      const { rollouts, damage } = await load(signal);
      const shown = rollouts.map((rollout) => withEnd(rollout, clock()));
      return { rollouts: shown, limits, ...(damage === undefined ? {} : { unread: damaged(damage).problem }) };
    },

    async claim(rollout, signal) {
      const loaded = await load(signal);
      if (loaded.damage !== undefined) throw damaged(loaded.damage);
      const { id, cluster, trigger, at } = rollout;
      const others = loaded.rollouts.filter((past) => past.cluster !== cluster);
      if (trigger === 'schedule' && !hasRoom(others, limits, at)) return false;
      // Another look at it was a moment faster, and what that claimed may have begun.
      const isNew = (past: PastRollout): boolean => past.endedAt === undefined && at - past.startedAt <= UNDONE_MS;
      if (loaded.rollouts.some((past) => past.cluster === cluster && isNew(past))) return false;
      const claimed: PastRollout = { id, cluster, trigger, startedAt: at };
      // What this cluster claimed before and is not done never began.
      const kept = loaded.rollouts.filter((past) => past.cluster !== cluster || past.endedAt !== undefined);
      return (await write(loaded, () => [...kept, claimed], signal)) === 'written';
    },

    async keep({ id, cluster, trigger, at }, signal) {
      const kept: PastRollout = { id, cluster, trigger, startedAt: at };
      const isIt = (past: PastRollout): boolean => past.id === id && past.cluster === cluster;
      await settle((rollouts) => {
        if (rollouts.some((past) => isIt(past) && past.endedAt === undefined)) return undefined;
        return [...rollouts.filter((past) => !isIt(past)), kept];
      }, signal);
    },

    async end({ id, cluster, at, undone }, signal) {
      const isIt = (past: PastRollout): boolean =>
        past.id === id &&
        past.cluster === cluster &&
        past.endedAt === undefined &&
        (undone === undefined || past.startedAt === undone.claimedAt);
      await settle((rollouts) => {
        if (!rollouts.some(isIt)) return undefined;
        return undone !== undefined
          ? rollouts.filter((past) => !isIt(past))
          : rollouts.map((past) => (isIt(past) ? { ...past, endedAt: Math.max(at, past.startedAt) } : past));
      }, signal);
    },
  };
}

/** Whether the budget of the fleet allows one more, which is none of these. */
function hasRoom(others: readonly PastRollout[], { atOnce, pauseMs }: RolloutLimits, at: number): boolean {
  const going = others.filter((past) => withEnd(past, at).endedAt === undefined);
  return going.length < atOnce && others.every(({ startedAt }) => at - startedAt >= pauseMs);
}

/** With an end where nobody wrote one for too long. */
function withEnd(past: PastRollout, now: number): PastRollout {
  const last = past.startedAt + LONGEST_MS;
  return past.endedAt === undefined && last <= now ? { ...past, endedAt: last } : past;
}

function remembered(rollouts: readonly PastRollout[], now: number): readonly PastRollout[] {
  return rollouts.filter(({ startedAt }) => now - startedAt < REMEMBERED_MS);
}

/** Those that go on, and of the others as many as fit. */
function newest(rollouts: readonly PastRollout[]): readonly PastRollout[] {
  if (rollouts.length <= MOST_ROLLOUTS) return rollouts;
  const byUse = rollouts.toSorted(
    (a, b) => Number(a.endedAt !== undefined) - Number(b.endedAt !== undefined) || b.startedAt - a.startedAt,
  );
  return byUse.slice(0, MOST_ROLLOUTS);
}

/** @throws ShapeError */
function readLedger(value: unknown): readonly PastRollout[] {
  const ledger = fields(value, 'the ledger');
  versionOf(ledger, 1);
  return list(readPast, MOST_ROLLOUTS)(ledger['rollouts'], 'rollouts');
}

const readPast: Read<PastRollout> = (value, path) => {
  const past = fields(value, path);
  return present({
    id: text(64)(past['id'], `${path}.id`),
    cluster: text(512)(past['cluster'], `${path}.cluster`),
    trigger: oneOf(['schedule', 'person'])(past['trigger'], `${path}.trigger`),
    startedAt: instant(past['startedAt'], `${path}.startedAt`),
    endedAt: optional(instant)(past['endedAt'], `${path}.endedAt`),
  });
};

function damaged(problem: string): AwsError {
  return new AwsError({
    kind: 'invalid',
    object: ROLLOUT_LEDGER_KEY,
    problem: `the object ${ROLLOUT_LEDGER_KEY} of the state bucket is damaged: ${problem}`,
    remedy:
      'See with `certmarshal rollout status` of each cluster that none rolls, then delete the object: what it remembered is lost, and it is written anew.',
  });
}
