import { createHash } from 'node:crypto';
import type { Apart } from '../contracts/fleet-index.ts';
import { SHARD_SIZE } from '../contracts/order.ts';
import type { Problem } from '../contracts/problem.ts';
import { entryOf } from '../tables/keys.ts';
import { HOUR_MS } from '../time.ts';

/** Most parts of shards in a lane: this bounds the extra sweeps a minute. */
const MAX_PARTS = 50;
/** How long a part of a shard stays one after its last failure. Milliseconds. */
const APART_MS = HOUR_MS;

/** A cluster to be swept in this tick. */
export interface ShardMember {
  readonly id: string;
  readonly lane: string;
  /** It answered quickly, or nothing is known against it. */
  readonly quick: boolean;
}

/** Clusters that one sweep sweeps. */
export interface Shard {
  readonly lane: string;
  /** Turns go by it. */
  readonly name: string;
  readonly ids: readonly string[];
}

/**
 * Decides which clusters are swept together: slow ones with each other, a part of a failed shard on its own, and each
 * cluster with its neighbours by hash, so that a new one moves few. Pure.
 */
export function shardsOf(members: readonly ShardMember[], apart: Apart): readonly Shard[] {
  const partOf = ({ id, lane, quick }: ShardMember): string =>
    `${lane} ${entryOf(apart, id)?.part ?? (quick ? 'quick' : 'slow')}`;
  return [...Map.groupBy(members, partOf)].flatMap(([name, some]) => {
    const ids = byHash(some.map(({ id }) => id));
    return Array.from({ length: Math.ceil(ids.length / SHARD_SIZE) }, (_, n) => ({
      lane: some[0]?.lane ?? '',
      name: `${name} ${n}`,
      ids: ids.slice(n * SHARD_SIZE, (n + 1) * SHARD_SIZE),
    }));
  });
}

/** A shard of the tick whose sweep began and did not end. */
export interface FailedShard {
  readonly lane: string;
  readonly ids: readonly string[];
}

/** How the shards of one lane went. */
export interface LaneTick {
  readonly lane: string;
  readonly shards: number;
  readonly failed: readonly FailedShard[];
}

/**
 * Halves the shards that began and did not end, down to alone: one of their clusters may end the process of a sweep. A
 * part stays one for an hour after its last failure. Where more than a fifth and more than two shards of a lane
 * failed, that is the fault of the lane, and nothing is halved. Pure.
 *
 * @param tick milliseconds since the epoch
 */
export function halveFailed(
  before: Apart,
  lanes: readonly LaneTick[],
  tick: number,
): { readonly apart: Apart; readonly problems: readonly Problem[] } {
  const apart = new Map(Object.entries(before).filter(([, { until }]) => until > tick && until <= tick + APART_MS));
  const problems: Problem[] = [];
  for (const { lane, shards, failed } of lanes) {
    if (failed.length > 2 && failed.length > shards / 5) {
      problems.push(laneFault(lane, failed.length, shards));
      continue;
    }
    let parts = new Set([...apart.values()].filter((one) => one.lane === lane).map(({ part }) => part)).size;
    for (const { ids } of failed) {
      const half = Math.ceil(ids.length / 2);
      const sorted = byHash(ids);
      const halves = [sorted.slice(0, half), sorted.slice(half)].filter(({ length }) => length > 0);
      parts += halves.length;
      if (parts > MAX_PARTS) break;
      for (const some of halves)
        for (const id of some) apart.set(id, { lane, part: hashOf(some.join(' ')), until: tick + APART_MS });
      if (ids.length === 1) problems.push(endsProcess(ids[0] ?? ''));
    }
  }
  return { apart: Object.fromEntries(apart), problems };
}

function byHash(ids: readonly string[]): readonly string[] {
  const hashes = new Map(ids.map((id) => [id, hashOf(id)]));
  return ids.toSorted((a, b) => ((hashes.get(a) ?? '') < (hashes.get(b) ?? '') ? -1 : 1));
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function laneFault(lane: string, failed: number, shards: number): Problem {
  return {
    kind: 'lane-silent',
    object: `lane ${lane}`,
    message: `${failed} of its ${shards} sweeps did not end, so the lane itself is broken and not one cluster in it`,
    remedy: `Read the log of the sweep function of lane ${lane}. After a deploy, deploy the version before again; otherwise check its network, its memory and the concurrency of the account.`,
  };
}

function endsProcess(id: string): Problem {
  return {
    kind: 'sweep-ended',
    object: `cluster ${id}`,
    message:
      'the sweep of this cluster alone began and did not end: it takes all the time or all the memory of a function',
    remedy:
      'Run certmarshal doctor for it, and look at the sizes of its CertificateSigningRequests, Machines, Nodes and Secrets.',
  };
}
