import { type Contract, type Reading, read } from '../contracts/contract.ts';
import {
  MAX_SWEEP_PROBLEMS,
  MAX_WORKLOAD_CLUSTERS,
  Outcomes,
  SweepOutcome,
  WorkloadCluster,
} from '../contracts/outcome.ts';
import { boundedProblem, type Problem } from '../contracts/problem.ts';
import { isDuring, isUntilEnd } from '../contracts/values.ts';
import { CLUSTER_NAME, NAMESPACE } from '../identifiers.ts';

/** The object with the outcomes of one sweep. {@link readOutcomes} accepts it whatever a cluster wrote. */
export function outcomesObject(outcomes: readonly SweepOutcome[]): Contract<typeof Outcomes> {
  return { version: 2, outcomes: outcomes.map(bounded) };
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

/** Problems and names of Clusters are a cluster's own words, and may be too many. */
function bounded(outcome: SweepOutcome): SweepOutcome {
  const { id, workloadClusters } = outcome;
  const valid = workloadClusters?.filter((one) => read(WorkloadCluster, one).ok).slice(0, MAX_WORKLOAD_CLUSTERS);
  const lost = lostClusters(id, workloadClusters, valid);
  return {
    ...outcome,
    problems: [...lost, ...outcome.problems].slice(0, MAX_SWEEP_PROBLEMS).map(boundedProblem),
    problemCount: outcome.problemCount + lost.length,
    workloadClusters: valid,
    // An invalid name never was a Cluster of EKS Anywhere.
    workloadClustersCut:
      outcome.workloadClustersCut ??
      ((valid?.length ?? 0) < (workloadClusters ?? []).filter(isNameable).length || undefined),
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
