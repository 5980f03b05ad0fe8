import type { z } from 'zod/mini';
import { AuditSummary } from '../contracts/audit-summary.ts';
import { type Contract, type Reading, read } from '../contracts/contract.ts';
import {
  MAX_SWEEP_PROBLEMS,
  MAX_WORKLOAD_CLUSTERS,
  Outcomes,
  SweepOutcome,
  VerdictLines,
  WorkloadCluster,
} from '../contracts/outcome.ts';
import { boundedProblem, type Problem } from '../contracts/problem.ts';
import { RolloutSummary } from '../contracts/rollout-summary.ts';
import { isDuring, isUntilEnd } from '../contracts/values.ts';
import { CLUSTER_NAME, NAMESPACE, SERVER } from '../identifiers.ts';

/**
 * The object with the outcomes of one sweep. {@link readOutcomes} accepts it whatever a cluster wrote: what it rejects
 * is cut, and becomes a problem, because a rejected outcome would be a sweep that no one knows of.
 */
export function outcomesObject(outcomes: readonly SweepOutcome[]): Contract<typeof Outcomes> {
  return { version: 2, outcomes: outcomes.map(readable) };
}

/**
 * Reads what {@link outcomesObject} makes: one result for each outcome, and one for an object that cannot be read at
 * all. Never throws. Parts of another time than the sweep are dropped.
 */
export function readOutcomes(value: unknown): readonly Reading<SweepOutcome>[] {
  const object = read(Outcomes, value, 'the object');
  if (!object.ok) return [object];
  return object.value.outcomes.map((one) => {
    const outcome = read(SweepOutcome, one, 'the outcome');
    return outcome.ok ? { ok: true, value: ofItsTime(outcome.value) } : outcome;
  });
}

function ofItsTime(outcome: SweepOutcome): SweepOutcome {
  const { startedAt, audit, verdicts, rollout } = outcome;
  return {
    ...outcome,
    audit: audit && isUntilEnd(startedAt, audit.auditedAt) ? audit : undefined,
    // A sweep decides nothing before it begins, and reports no other sweep.
    verdicts: verdicts?.filter(({ at }) => at === startedAt),
    rollout: rollout && isDuring(startedAt, rollout.at) ? rollout : undefined,
  };
}

function readable(outcome: SweepOutcome): SweepOutcome {
  const { id, startedAt, name, server, workloadClusters } = outcome;
  const audit = part(AuditSummary, outcome.audit, `audit of cluster ${id}`, (one) =>
    isUntilEnd(startedAt, one.auditedAt),
  );
  const rollout = part(RolloutSummary, outcome.rollout, `rollout of cluster ${id}`, ({ at }) =>
    isDuring(startedAt, at),
  );
  const verdicts = part(VerdictLines, outcome.verdicts, `verdicts of cluster ${id}`, () => true);
  const valid = workloadClusters?.filter((one) => read(WorkloadCluster, one).ok).slice(0, MAX_WORKLOAD_CLUSTERS);
  const lost = [...lostClusters(id, workloadClusters, valid), ...audit.lost, ...rollout.lost, ...verdicts.lost];
  return {
    ...outcome,
    // A clock that was set back must not lose the rest.
    durationMs: Math.max(0, Math.round(outcome.durationMs)),
    name: name !== undefined && CLUSTER_NAME.test(name) ? name : undefined,
    server: server !== undefined && SERVER.test(server) ? server : undefined,
    problems: [...lost, ...outcome.problems].slice(0, MAX_SWEEP_PROBLEMS).map(boundedProblem),
    problemCount: outcome.problemCount + lost.length,
    workloadClusters: valid,
    // An invalid name never was a Cluster of EKS Anywhere.
    workloadClustersCut:
      outcome.workloadClustersCut ??
      ((valid?.length ?? 0) < (workloadClusters ?? []).filter(isNameable).length || undefined),
    audit: audit.value,
    rollout: rollout.value,
    verdicts: verdicts.value,
  };
}

interface Part<T> {
  readonly value?: T;
  /** Its content cannot be written, so that fact is. */
  readonly lost: readonly Problem[];
}

function part<S extends z.ZodMiniType>(
  schema: S,
  value: unknown,
  object: string,
  isOfSweep: (value: Contract<S>) => boolean,
): Part<Contract<S>> {
  if (value === undefined) return { lost: [] };
  const reading = read(schema, value, 'it');
  if (reading.ok && isOfSweep(reading.value)) return { value: reading.value, lost: [] };
  return {
    lost: [
      {
        kind: 'bug',
        object,
        message: `what is known about it cannot be written: ${reading.ok ? 'it is not from this sweep' : reading.problem}`,
        remedy: 'Report it as a bug of certmarshal; the snapshot and the log of the cluster have what was found.',
      },
    ],
  };
}

/** A management cluster may have cluster names that are invalid in a path, log or metric. */
function isNameable({ namespace, name }: WorkloadCluster): boolean {
  return NAMESPACE.test(namespace) && CLUSTER_NAME.test(name);
}

function lostClusters(
  id: string,
  all: SweepOutcome['workloadClusters'] = [],
  valid: SweepOutcome['workloadClusters'] = [],
): readonly Problem[] {
  if (valid.length === all.length) return [];
  return [
    {
      kind: 'workload-clusters',
      object: `cluster ${id}`,
      message: `${all.length - valid.length} of its ${all.length} Clusters are ignored: there are too many, or their fields are not valid for EKS Anywhere`,
      remedy: `Name a Cluster with at most 100 letters, digits, "-" and "."; a management cluster has room for ${MAX_WORKLOAD_CLUSTERS}.`,
    },
  ];
}
