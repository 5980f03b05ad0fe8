import { createHash } from 'node:crypto';
import type { Shard } from '../contracts/registry.ts';
import { HUB_SIZES } from '../hub-sizes.ts';
import { DAY_MS, MINUTE_MS } from '../time.ts';

/** Clusters in one message. */
export const SHARD_SIZE = HUB_SIZES.sweep.clusters;
/**
 * Most clusters of a lane that are swept alone, and most shards of silent ones: this bounds the extra invocations a
 * minute.
 */
export const MAX_PARTS = 50;
/** A lane has at most a quarter more shards than its clusters fill. */
const FILL = HUB_SIZES.sweep.leastFill;
/** Outcomes of a tick are in the index within 100 s, so one missing after two ticks was not sent. */
const SILENT_MS = 2 * MINUTE_MS;
/** Numbers restart long after their last use. */
const MAX_NUMBER = 1_000_000;
/** The clocks of two functions may differ by this. */
const SKEW_MS = 20_000;

/** A cluster to be ordered in this tick. */
export interface ShardMember {
  readonly id: string;
  readonly lane: string;
  /** It answered quickly, or nothing is known against it. */
  readonly quick: boolean;
  /** When it last held the thread or used up its processor time. Milliseconds since the epoch. */
  readonly heavyAt: number | undefined;
  /** Start of the newest sweep in the index. Milliseconds since the epoch. */
  readonly heardAt: number | undefined;
  readonly before: Shard | undefined;
}

type Kind = 'ordinary' | 'slow' | 'part' | 'alone';
interface Judged extends ShardMember {
  readonly waitingSince: number;
  readonly aloneUntil: number | undefined;
  readonly silent: boolean;
}

interface Place {
  readonly name: string;
  readonly members: readonly Judged[];
}

/**
 * Decides which clusters are swept together. Pure.
 *
 * - A cluster keeps its shard while it stays of the same kind; few others move when one joins or leaves.
 * - Slow clusters share shards with each other. One that holds the thread is alone for a day.
 * - Silent clusters, without an outcome for two ticks, leave their shard: one of them may have ended the process. They
 * are halved in each tick until each is alone or was heard. One that is silent alone stays alone for a day. The others
 * of that shard move, because the message group waits for the unacknowledged message.
 * - At most {@link MAX_PARTS} clusters of a lane are alone, and as many shards are halves; further silent clusters
 * share shards with each other.
 *
 * @param tick milliseconds since the epoch
 * @param isKnown whether the index is of the last minute: an old one says nothing about who is silent
 * @returns by id
 */
export function assignShards(
  members: readonly ShardMember[],
  tick: number,
  isKnown: boolean,
): ReadonlyMap<string, Shard> {
  const judged = members
    .map((member) => judge(member, tick, isKnown))
    .toSorted((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id)));
  return new Map(
    [...Map.groupBy(judged, ({ lane }) => lane)].flatMap(([lane, ofLane]) => assignLane(lane, ofLane, tick)),
  );
}

function judge(member: ShardMember, tick: number, isKnown: boolean): Judged {
  const { before, heardAt = -Infinity, heavyAt = -Infinity } = member;
  const isWaiting = before !== undefined && (!isKnown || heardAt < before.waitingSince - SKEW_MS);
  // A wrong clock must not make it wait for ever.
  const waitingSince = isWaiting ? Math.min(before.waitingSince, tick) : tick;
  const silent = isKnown && tick - waitingSince >= SILENT_MS;
  const isAlone = before !== undefined && kindOf(before.name) === 'alone';
  const until = Math.max(
    Math.min(before?.aloneUntil ?? 0, tick + DAY_MS),
    heavyAt + DAY_MS,
    silent && isAlone ? tick + DAY_MS : 0,
  );
  return { ...member, waitingSince, silent, aloneUntil: until > tick ? until : undefined };
}

function assignLane(lane: string, members: readonly Judged[], tick: number): readonly (readonly [string, Shard])[] {
  const names = namesOf(lane, members);
  const silent = members.filter((member) => member.silent && member.aloneUntil === undefined);
  const suspects = Map.groupBy(silent, ({ before }) => before?.name);
  const sizes = Map.groupBy(members, ({ before }) => before?.name);
  // If no cluster of the lane is heard, the cause is as likely its functions or queues.
  const isHeard = members.some((member) => !member.silent);

  const alone: Judged[] = members.filter(({ aloneUntil }) => aloneUntil !== undefined);
  const parts: (readonly Judged[])[] = [];
  for (const [name, some] of suspects) {
    const half = Math.ceil(some.length / 2);
    const [only] = some;
    if (only !== undefined && sizes.get(name)?.length === 1 && isHeard)
      alone.push({ ...only, aloneUntil: tick + DAY_MS });
    else parts.push(some.slice(0, half), some.slice(half));
  }
  const asked = parts.filter(({ length }) => length > 0);
  const crowd = [...asked.slice(MAX_PARTS), alone.slice(MAX_PARTS)].flat();
  const placed: Place[] = [
    ...alone.slice(0, MAX_PARTS).map((member) => ({ name: names.alone(member.id), members: [member] })),
    ...asked.slice(0, MAX_PARTS).map((some) => ({ name: names.next('part'), members: some })),
  ];
  for (let at = 0; at < crowd.length; at += SHARD_SIZE)
    placed.push({ name: names.next('part'), members: crowd.slice(at, at + SHARD_SIZE) });

  const rest = members.filter((member) => member.aloneUntil === undefined && !member.silent);
  for (const kind of ['ordinary', 'slow'] as const) {
    const ofKind = rest.filter(({ quick }) => quick === (kind === 'ordinary'));
    placed.push(
      ...fill(
        ofKind,
        (name) => names.isOf(name, kind) && !suspects.has(name),
        () => names.next(kind),
      ),
    );
  }
  return placed.flatMap(({ name, members: some }) =>
    some.map(({ id, waitingSince, aloneUntil }) => [id, { name, waitingSince, aloneUntil }] as const),
  );
}

/** Leaves each cluster where it was if possible; the others fill free places, the fullest shard first. */
function fill(members: readonly Judged[], mayStay: (name: string) => boolean, next: () => string): readonly Place[] {
  const shards = new Map<string, Judged[]>();
  const moving: Judged[] = [];
  for (const member of members) {
    const name = member.before?.name;
    const stayed = name === undefined || !mayStay(name) ? undefined : (shards.get(name) ?? []);
    if (name === undefined || stayed === undefined || stayed.length === SHARD_SIZE) moving.push(member);
    else shards.set(name, [...stayed, member]);
  }
  const fullest = [...shards].toSorted(([a, one], [b, other]) => other.length - one.length || (a < b ? -1 : 1));
  const enough = Math.ceil(members.length / (SHARD_SIZE * FILL));
  for (const [, some] of fullest.splice(enough)) moving.push(...some);
  const open = fullest.filter(([, some]) => some.length < SHARD_SIZE);
  for (const member of moving) {
    const [last] = open;
    const into = last ?? ([next(), []] satisfies [string, Judged[]]);
    if (last === undefined) {
      open.push(into);
      fullest.push(into);
    }
    into[1].push(member);
    if (into[1].length === SHARD_SIZE) open.shift();
  }
  return fullest.map(([name, some]) => ({ name, members: some }));
}

/** A new name is a new message group, which waits for nothing: its number is above all in use. */
function namesOf(lane: string, members: readonly Judged[]) {
  const numbers = new Set(members.map(({ before }) => numberOf(before?.name ?? '')));
  let last = Math.max(...numbers);
  return {
    next(kind: Exclude<Kind, 'alone'>): string {
      do last = (last + 1) % MAX_NUMBER;
      while (numbers.has(last));
      return `${lane}.${kind}.${last}`;
    },
    alone: (id: string): string => `${lane}.alone.${createHash('sha256').update(id).digest('hex').slice(0, 32)}`,
    isOf: (name: string, kind: Kind): boolean => name.startsWith(`${lane}.${kind}.`),
  };
}

function numberOf(name: string): number {
  const number = /^[^.]+\.(?:ordinary|slow|part)\.(\d{1,9})$/.exec(name)?.[1];
  return number === undefined ? 0 : Number(number);
}

/** @param name of a shard */
function kindOf(name: string): string | undefined {
  return name.split('.')[1];
}
