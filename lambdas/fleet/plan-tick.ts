import type { Problem } from '../problem.ts';
import { firstProblems } from './first-problems.ts';
import type { FleetIndex } from './fleet-index.ts';
import type { SweepOrder } from './order.ts';
import { isTurnOf } from './phase.ts';
import type { Registry } from './registry.ts';
import { sameServer } from './same-server.ts';
import { entryOf } from './shape.ts';
import type { Target } from './target.ts';

/** What dispatch does in one tick. */
export interface TickPlan {
  readonly orders: readonly { readonly lane: string; readonly order: SweepOrder }[];
  readonly problems: readonly Problem[];
}

const DEADLINE_MS = 45_000;
/** Of a cluster that did not answer: it must not take the time of others in its batch. */
const SHORT_DEADLINE_MS = 10_000;
/** How often what is not done each minute is done: looking for workload clusters, and giving a cluster that did not answer all the time. */
const CADENCE_MINUTES = 10;
const MAX_PROBLEMS = 100;

/**
 * One order for each cluster that can be swept, and what is wrong with the others. Pure.
 *
 * @param tick the minute, in milliseconds since the epoch
 * @param lanes that are deployed; what is in another one cannot be swept. @default all
 */
export function planTick(
  registry: Registry,
  index: FleetIndex | undefined,
  tick: number,
  lanes?: ReadonlySet<string>,
): TickPlan {
  const clusters = Object.values(registry.clusters);
  const isDeployed = ({ lane }: Target) => lanes?.has(lane) ?? true;
  const reachable = clusters.filter(({ target }) => target !== undefined && isDeployed(target));
  const conflicts = sameServer(reachable, index);
  const orders = reachable.flatMap(({ target, managesClusters }) => {
    if (target === undefined) return [];
    const holdWrites = conflicts.get(target.id)?.message;
    const lookForClusters = managesClusters === true && isTimeToLook(target.id, index, tick);
    const order: SweepOrder = {
      target,
      tick,
      deadlineMs: deadlineOf(target.id, index, tick),
      ...(holdWrites === undefined ? {} : { holdWrites }),
      ...(lookForClusters ? { lookForClusters } : {}),
    };
    return [{ lane: target.lane, order }];
  });
  const problems = [
    ...conflicts.values(),
    ...clusters.flatMap(({ target, problem }) => [
      ...(problem === undefined ? [] : [problem]),
      ...(target === undefined || isDeployed(target) ? [] : [unknownLane(target)]),
    ]),
  ];
  return { orders, problems: firstProblems(problems, MAX_PROBLEMS) };
}

function deadlineOf(id: string, index: FleetIndex | undefined, tick: number): number {
  const answered = entryOf(index?.clusters, id)?.readable ?? true;
  // A cluster that is only slow has to be able to show it.
  return answered || isTurnOf(id, CADENCE_MINUTES, tick) ? DEADLINE_MS : SHORT_DEADLINE_MS;
}

function isTimeToLook(id: string, index: FleetIndex | undefined, tick: number): boolean {
  return entryOf(index?.clusters, id)?.workloadClusters === undefined || isTurnOf(id, CADENCE_MINUTES, tick);
}

function unknownLane({ id, lane }: Target): Problem {
  return {
    kind: 'lane',
    object: `cluster ${id}`,
    message: `it was found for lane ${lane}, which is not deployed`,
    remedy: `Nothing, if lane ${lane} was just removed: the next discovery finds another one. Else add it to lanes in fleet.yaml, and deploy.`,
  };
}
