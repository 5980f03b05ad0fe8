import { AwsError, isConflict } from '../aws/errors.ts';
import { read } from '../contracts/contract.ts';
import type { Problem } from '../contracts/problem.ts';
import {
  MAX_ROLLOUTS,
  MAX_UNDONE,
  type PastRollout,
  RolloutLedger as StoredLedger,
  type UndoneClaim,
} from '../contracts/rollout-ledger.ts';
import { STATE_KEYS } from '../fleet/state-keys.ts';
import { type RolloutHistory, UNDONE_MS } from '../rollout/history.ts';
import type { RolloutLimits } from '../rollout/policy.ts';
import type { RolloutLedger } from '../rollout/step-rollout.ts';
import { hasTurn } from '../rollout/turn.ts';
import type { State } from '../state.ts';
import { DAY_MS, isAhead } from '../time.ts';

/** Key in the state bucket. */
export const ROLLOUT_LEDGER_KEY = STATE_KEYS.rollouts;

/** Longer than any check looks back. */
const REMEMBERED_MS = 100 * DAY_MS;
/**
 * A rollout without a recorded end counts as ended after this: its cluster may be gone. The others wait for it only for
 * `TURN_MS`.
 */
const MAX_MS = 14 * DAY_MS;
/** Tries of a write that others overtake. */
const MAX_TRIES = 5;

export interface RolloutLedgerOptions {
  /** The state bucket. */
  readonly objects: State;
  readonly limits: RolloutLimits;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

interface Ledger {
  readonly rollouts: readonly PastRollout[];
  readonly undone: readonly UndoneClaim[];
}

interface Loaded extends Ledger {
  /** Number of dropped entries with a future time. */
  readonly ahead: number;
  readonly etag: string | undefined;
  readonly damage?: string;
}

/**
 * The rollouts of the fleet, in one object of the state bucket. Every write replaces exactly the version that was read,
 * and a claim checks the budget against that version: of two clusters that begin at once, one does. Only a claim adds a
 * rollout.
 */
export function createRolloutLedger({ objects, limits, clock }: RolloutLedgerOptions): RolloutLedger {
  const load = async (signal: AbortSignal): Promise<Loaded> => {
    const stored = await objects.get(ROLLOUT_LEDGER_KEY, signal);
    if (stored === undefined) return { rollouts: [], undone: [], ahead: 0, etag: undefined };
    const ledger = read(StoredLedger, stored.value, 'the ledger');
    if (!ledger.ok) return { rollouts: [], undone: [], ahead: 0, etag: stored.etag, damage: ledger.problem };
    const { rollouts, undone = [] } = ledger.value;
    return { ...remembered({ rollouts, undone }, clock()), etag: stored.etag };
  };

  /** @returns whether it was written; `change` returns undefined to leave everything as it is */
  const write = async (
    { etag, rollouts, undone }: Loaded,
    change: (loaded: Ledger) => Ledger | undefined,
    signal: AbortSignal,
  ): Promise<'written' | 'unchanged' | 'overtaken'> => {
    const changed = change({ rollouts, undone });
    if (changed === undefined) return 'unchanged';
    try {
      await objects.put(ROLLOUT_LEDGER_KEY, bounded(changed), etag, signal);
      return 'written';
    } catch (error) {
      if (isConflict(error)) return 'overtaken';
      throw error;
    }
  };

  /** The same, with retries when others wrote first. @throws AwsError */
  const settle = async (change: (loaded: Ledger) => Ledger | undefined, signal: AbortSignal): Promise<void> => {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const loaded = await load(signal);
      if (loaded.damage !== undefined) throw damaged(loaded.damage);
      if ((await write(loaded, change, signal)) !== 'overtaken') return;
    }
    throw new AwsError({
      kind: 'conflict',
      object: ROLLOUT_LEDGER_KEY,
      problem: `${MAX_TRIES} writes in a row were overtaken by others`,
      remedy: 'The next look tries again.',
    });
  };

  return {
    async read(signal): Promise<RolloutHistory> {
      const { rollouts, undone, ahead, damage } = await load(signal);
      const shown = rollouts.map((rollout) => withEnd(rollout, clock()));
      return {
        rollouts: shown,
        limits,
        undone: undone.length === 0 ? undefined : undone,
        problems: ahead === 0 ? undefined : [aheadOfTime(ahead)],
        unread: damage === undefined ? undefined : damaged(damage).problem,
      };
    },

    async take(rollout, signal) {
      const loaded = await load(signal);
      if (loaded.damage !== undefined) throw damaged(loaded.damage);
      const { id, cluster, trigger, at } = rollout;
      const others = loaded.rollouts.filter((past) => past.cluster !== cluster);
      if (trigger === 'schedule' && !hasRoom(others, limits, at)) return false;
      // A concurrent step was faster, and its claim may have begun.
      const isNew = (past: PastRollout): boolean => past.endedAt === undefined && at - past.startedAt <= UNDONE_MS;
      if (loaded.rollouts.some((past) => past.cluster === cluster && isNew(past))) return false;
      const claimed: PastRollout = { id, cluster, trigger, startedAt: at };
      // An earlier unfinished claim of this cluster never began.
      const isUndone = (past: PastRollout): boolean => past.cluster === cluster && past.endedAt === undefined;
      const change = (ledger: Ledger): Ledger => {
        const { rollouts, undone } = withoutUndone(ledger, isUndone);
        return { rollouts: [...rollouts, claimed], undone };
      };
      return (await write(loaded, change, signal)) === 'written';
    },

    async end({ id, cluster, at, undone }, signal) {
      const isIt = (past: PastRollout): boolean =>
        past.id === id &&
        past.cluster === cluster &&
        past.endedAt === undefined &&
        (undone === undefined || past.startedAt === undone.claimedAt);
      await settle((ledger) => {
        if (!ledger.rollouts.some(isIt)) return undefined;
        if (undone !== undefined) return withoutUndone(ledger, isIt);
        const rollouts = ledger.rollouts.map((past) =>
          isIt(past) ? { ...past, endedAt: Math.max(at, past.startedAt) } : past,
        );
        return { ...ledger, rollouts };
      }, signal);
    },
  };
}

/** Whether the budget of the fleet allows one more besides these. */
function hasRoom(others: readonly PastRollout[], { atOnce, pauseMs }: RolloutLimits, at: number): boolean {
  const going = others.filter((past) => hasTurn(past, at));
  return going.length < atOnce && others.every(({ startedAt }) => at - startedAt >= pauseMs);
}

/** Adds an end to entries without one for too long. */
function withEnd(past: PastRollout, now: number): PastRollout {
  const last = past.startedAt + MAX_MS;
  return past.endedAt === undefined && last <= now ? { ...past, endedAt: last } : past;
}

/** An unbegun rollout is removed; its claim stays recorded. */
function withoutUndone({ rollouts, undone }: Ledger, isUndone: (past: PastRollout) => boolean): Ledger {
  const more = rollouts.filter(isUndone).map(({ cluster, startedAt }) => ({ cluster, claimedAt: startedAt }));
  return { rollouts: rollouts.filter((past) => !isUndone(past)), undone: [...undone, ...more] };
}

/** Drops old entries, and entries more than ten minutes ahead, which would make every wait last until then. */
function remembered(ledger: Ledger, now: number): Ledger & Pick<Loaded, 'ahead'> {
  const rollouts = ledger.rollouts.filter(
    ({ startedAt, endedAt = startedAt }) => !isAhead(Math.max(startedAt, endedAt), now),
  );
  const undone = ledger.undone.filter(({ claimedAt }) => !isAhead(claimedAt, now));
  return {
    rollouts: rollouts.filter(({ startedAt }) => now - startedAt < REMEMBERED_MS),
    undone: undone.filter(({ claimedAt }) => now - claimedAt < REMEMBERED_MS),
    ahead: ledger.rollouts.length - rollouts.length + (ledger.undone.length - undone.length),
  };
}

function aheadOfTime(count: number): Problem {
  return {
    kind: 'rollout-ledger',
    object: ROLLOUT_LEDGER_KEY,
    message: `${count} of its entries have a time in the future and do not count: certmarshal did not write them`,
    remedy:
      'Find out who wrote the object in the state bucket: CloudTrail shows it if its data events are on. The next rollout that begins or ends removes the entries.',
  };
}

/** The stored form. */
function bounded({ rollouts, undone }: Ledger): object {
  return {
    version: 1,
    rollouts: newest(rollouts),
    undone: undone.length === 0 ? undefined : undone.slice(-MAX_UNDONE),
  };
}

/** Keeps rollouts in progress, and as many others as fit. */
function newest(rollouts: readonly PastRollout[]): readonly PastRollout[] {
  if (rollouts.length <= MAX_ROLLOUTS) return rollouts;
  const byUse = rollouts.toSorted(
    (a, b) => Number(a.endedAt !== undefined) - Number(b.endedAt !== undefined) || b.startedAt - a.startedAt,
  );
  return byUse.slice(0, MAX_ROLLOUTS);
}

function damaged(problem: string): AwsError {
  return new AwsError({
    kind: 'invalid',
    object: ROLLOUT_LEDGER_KEY,
    problem: `the object ${ROLLOUT_LEDGER_KEY} of the state bucket is damaged: ${problem}`,
    remedy:
      'Check with `certmarshal rollout status` of each cluster that none rolls, then delete the object. What it remembered is lost, and certmarshal writes a new one.',
  });
}
