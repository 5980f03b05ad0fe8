import { createHash } from 'node:crypto';
import type { Shard } from '../contracts/registry.ts';
import { HUB_SIZES } from '../hub-sizes.ts';
import { DAY_MS, MINUTE_MS } from '../time.ts';

/** Clusters in one message. */
export const SHARD_SIZE = HUB_SIZES.sweep.clusters;
/** Clusters of a lane that are swept alone, and shards of silent ones: so many invocations a minute are the most that suspicion costs, each. */
export const MAX_PARTS = 50;
/** A lane has at most a quarter more shards than its clusters would fill. */
const FILL = HUB_SIZES.sweep.leastFill;
/** Outcomes of a tick are in the index within 100 s, so one that is missing after two ticks was not sent. */
const SILENT_MS = 2 * MINUTE_MS;
/** They begin anew long after they were last used. */
const MAX_NUMBER = 1_000_000;
/** Clocks of two functions differ by some. */
const SKEW_MS = 20_000;

/** A cluster that is ordered in a tick. */
export interface ShardMember {
  readonly id: string;
  readonly lane: string;
  /** It answered in little time, or nothing is known against it. */
  readonly quick: boolean;
  /** When it last held the thread or spent its processor time. Milliseconds since the epoch. */
  readonly heavyAt: number | undefined;
  /** When the newest sweep that the index knows began. Milliseconds since the epoch. */
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
 * Which clusters are swept together. Pure.
 *
 * - A cluster keeps its shard while it is of the same kind; few others move when one joins or leaves.
 * - Slow clusters share shards with each other. One that takes the thread is alone for a day.
 * - Silent clusters, whose orders had no outcome for two ticks, leave their shard: something of it may have ended the process. They are halved in each
 *   tick until each is alone or was heard. One that is silent although it was alone stays so for a day. The rest of that shard goes to others, because the group of
 *   the queue waits for the message that was not acknowledged.
 * - Of a lane at most {@link MAX_PARTS} clusters are alone and as many shards are halves; silent clusters beyond share shards with each other.
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
  // A clock that was wrong must not make it wait for ever.
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
  // Where no cluster of the lane is heard, its functions or queues are the cause as likely as any of them.
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

/** Leaves each cluster where it was, if that may stay; the others fill what has room, the fullest first. */
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

/** A new name is a new message group, which waits for nothing: its number is above all that are in use. */
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
