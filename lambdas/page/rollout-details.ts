import { clusterCommand } from '../command.ts';
import type { IndexedRollout } from '../contracts/fleet-index.ts';
import type { ClusterHealth } from '../health/fleet-health.ts';
import type { RolloutState } from '../tables/rollout-states.ts';
import type { Depth } from './cluster-details.ts';
import { cut } from './words.ts';

const SHORT = { reasons: 1, machines: 0, message: 160 } as const;
const FULL = { reasons: 10, machines: 9, message: 300 } as const;

/** States for which one line is enough. */
const ONE_LINE: Readonly<Record<Depth, ReadonlySet<RolloutState>>> = {
  full: new Set<RolloutState>(['off']),
  short: new Set<RolloutState>(['off', 'idle']),
};

export type RolloutDetails = NonNullable<ReturnType<typeof rolloutDetails>>;

/**
 * What the page shows of a cluster's rollout, as plain data; empty values are absent. Undefined for a cluster without
 * any step: it is not opted in.
 */
export function rolloutDetails(
  { name, namespace, provider, rollout }: Pick<ClusterHealth, 'name' | 'namespace' | 'provider' | 'rollout'>,
  depth: Depth,
) {
  if (rollout === undefined) return undefined;
  const { state, since, soonestEnd, span, nextWindow, reasons, reasonCount, progress } = rollout;
  const most = depth === 'full' ? FULL : SHORT;
  const message = cut(rollout.message, most.message);
  if (ONE_LINE[depth].has(state)) return { state, message };
  return {
    state,
    message,
    since,
    end: soonestEnd,
    span: span && ([span.from, span.until] as const),
    window: nextWindow,
    began: rollout.rollout && ([rollout.rollout.start, rollout.rollout.trigger] as const),
    aborted: rollout.rollout?.abortedAt,
    reasons: filled(
      reasons.slice(0, most.reasons).map(({ id, object, message: text, remedy, passing }) => ({
        id: id.slice(0, 60),
        text: `${object === undefined ? '' : `${cut(object, 120)}: `}${cut(text, 200)}`,
        remedy: cut(remedy, 200),
        passing,
      })),
    ),
    moreReasons: positive(reasonCount - Math.min(reasons.length, most.reasons)),
    machines: progress && partOf(progress, most.machines),
    etcd: progress?.etcd && partOf(progress.etcd, most.machines),
    took: rollout.durationMs === undefined ? undefined : Math.round(rollout.durationMs / 60_000),
    // The actions of a person are in the plan, which is made on demand.
    command:
      state === 'assist' ? clusterCommand('rollout plan', { name, namespace, provider, isManaged: true }) : undefined,
  };
}

type Part = Omit<NonNullable<IndexedRollout['progress']>, 'etcd'>;

function partOf({ wanted, replaced, verified, machines }: Part, most: number) {
  const rows = machines
    .slice(0, most)
    .map(
      ({ name, node = '', state, notBefore = '', notAfter = '' }) =>
        [cut(name, 120), cut(node, 120), state, notBefore, notAfter] as const,
    );
  return [wanted, replaced, verified, rows] as const;
}

export function filled<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

export function positive(count: number): number | undefined {
  return count > 0 ? count : undefined;
}
