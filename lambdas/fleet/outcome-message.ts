import type { z } from 'zod/mini';
import { AuditSummary } from '../contracts/audit-summary.ts';
import { type Contract, type Reading, read, readJson } from '../contracts/contract.ts';
import {
  type DispatchOutcome,
  MAX_DISPATCH_PROBLEMS,
  MAX_SWEEP_PROBLEMS,
  MAX_VERDICTS,
  MAX_WORKLOAD_CLUSTERS,
  Outcome,
  OutcomeMessage,
  type SweepOutcome,
  VerdictLines,
  WorkloadCluster,
} from '../contracts/outcome.ts';
import { boundedProblem, type Problem } from '../contracts/problem.ts';
import { RolloutSummary } from '../contracts/rollout-summary.ts';
import { isDuring, isUntilEnd } from '../contracts/values.ts';
import { fitting } from '../fitting.ts';
import { CLUSTER_NAME, NAMESPACE, SERVER } from '../identifiers.ts';
import { firstProblems } from './first-problems.ts';

/** Bytes of a message, below every limit of SQS. */
export const MAX_MESSAGE_SIZE = 262_144;
/** Bytes of JSON of one outcome; together with the envelope they fit into a message. */
const SWEEP_PROBLEMS_SIZE = 70_000;
const WORKLOAD_CLUSTERS_SIZE = 110_000;
const DISPATCH_PROBLEMS_SIZE = 190_000;
/** As large as twelve ordinary ones. */
const VERDICTS_SIZE = 5_000;

/**
 * Encodes an outcome in at most 220 kB: cut parts are counted, or become a problem. {@link decodeOutcomes} accepts it
 * whatever the cluster wrote: a rejected outcome would be a sweep that no one knows of.
 */
export function encodeOutcome(outcome: Outcome): string {
  return JSON.stringify(outcome.kind === 'dispatch' ? boundedDispatch(outcome) : boundedSweep(outcome));
}

/**
 * The body of the SQS message with outcomes for report.
 *
 * @param encoded results of {@link encodeOutcome}, at most MAX_OUTCOMES
 */
export function encodeOutcomes(encoded: readonly string[]): string {
  return `{"version":1,"kind":"outcomes","outcomes":[${encoded.join(',')}]}`;
}

/**
 * Reads the body of an SQS message: one result for each outcome, and one for a message that cannot be read at all.
 * Never throws: invalid input becomes a value with the wrong field and nothing of its content. Unknown fields, and
 * parts of another time than the sweep, are dropped.
 */
export function decodeOutcomes(body: string): readonly Reading<Outcome>[] {
  const message = readJson(OutcomeMessage, body, MAX_MESSAGE_SIZE);
  if (!message.ok) return [message];
  return message.value.outcomes.map((one) => {
    const outcome = read(Outcome, one, 'the outcome');
    return outcome.ok ? { ok: true, value: ofItsTime(outcome.value) } : outcome;
  });
}

function ofItsTime(outcome: Outcome): Outcome {
  if (outcome.kind === 'dispatch') return outcome;
  const { startedAt, audit, verdicts, rollout } = outcome;
  return {
    ...outcome,
    audit: audit && isUntilEnd(startedAt, audit.auditedAt) ? audit : undefined,
    verdicts: verdicts && ofSweep(verdicts, startedAt),
    rollout: rollout && isDuring(startedAt, rollout.at) ? rollout : undefined,
  };
}

/** A sweep decides nothing before it begins, and reports no other sweep. */
function ofSweep(verdicts: Contract<typeof VerdictLines>, startedAt: string): Contract<typeof VerdictLines> {
  return verdicts.filter(({ at }) => at === startedAt);
}

function boundedDispatch(outcome: DispatchOutcome): DispatchOutcome {
  const problems = firstProblems(outcome.problems, MAX_DISPATCH_PROBLEMS).map(boundedProblem);
  return { ...outcome, problems: fitting(problems, MAX_DISPATCH_PROBLEMS, DISPATCH_PROBLEMS_SIZE) };
}

function boundedSweep(outcome: SweepOutcome): SweepOutcome {
  const { id, startedAt, name, server, workloadClusters } = outcome;
  const audit = part(AuditSummary, outcome.audit, `audit of cluster ${id}`, (one) =>
    isUntilEnd(startedAt, one.auditedAt),
  );
  const rollout = part(RolloutSummary, outcome.rollout, `rollout of cluster ${id}`, ({ at }) =>
    isDuring(startedAt, at),
  );
  const verdicts = part(VerdictLines, outcome.verdicts, `verdicts of cluster ${id}`, () => true);
  const sent = sentClusters(workloadClusters);
  const lost = [...lostClusters(id, workloadClusters, sent), ...audit.lost, ...rollout.lost, ...verdicts.lost];
  const problems = [...lost, ...outcome.problems].slice(0, MAX_SWEEP_PROBLEMS).map(boundedProblem);
  return {
    ...outcome,
    // A clock that was set back must not lose the rest.
    durationMs: Math.max(0, Math.round(outcome.durationMs)),
    name: name !== undefined && CLUSTER_NAME.test(name) ? name : undefined,
    server: server !== undefined && SERVER.test(server) ? server : undefined,
    problems: fitting(problems, MAX_SWEEP_PROBLEMS, SWEEP_PROBLEMS_SIZE),
    problemCount: outcome.problemCount + lost.length,
    workloadClusters: sent,
    // An invalid name never was a request of the cluster.
    workloadClustersCut:
      outcome.workloadClustersCut ??
      ((sent?.length ?? 0) < (workloadClusters ?? []).filter(isNameable).length || undefined),
    audit: audit.value,
    rollout: rollout.value,
    // The journal and the log have the dropped ones.
    verdicts: verdicts.value && fitting(ofSweep(verdicts.value, startedAt), MAX_VERDICTS, VERDICTS_SIZE),
  };
}

interface Part<T> {
  readonly value?: T;
  /** Its content cannot be sent, so that fact is. */
  readonly lost: readonly Problem[];
}

function part<S extends z.ZodMiniType>(
  schema: S,
  value: unknown,
  object: string,
  isOfSweep: (value: Contract<S>) => boolean,
): Part<Contract<S>> {
  if (value === undefined) return { lost: [] };
  const sent = read(schema, value, 'it');
  if (sent.ok && isOfSweep(sent.value)) return { value: sent.value, lost: [] };
  return {
    lost: [
      {
        kind: 'bug',
        object,
        message: `what is known about it cannot be sent: ${sent.ok ? 'it is not from this sweep' : sent.problem}`,
        remedy: 'Report it as a bug of certmarshal; the snapshot and the log of the cluster have what was found.',
      },
    ],
  };
}

function sentClusters(all: SweepOutcome['workloadClusters']): SweepOutcome['workloadClusters'] {
  const known = all?.filter((cluster) => read(WorkloadCluster, cluster).ok);
  return known && fitting(known, MAX_WORKLOAD_CLUSTERS, WORKLOAD_CLUSTERS_SIZE);
}

/** A management cluster may have cluster names that are invalid in a path, log or metric. */
function isNameable({ namespace, name }: WorkloadCluster): boolean {
  return NAMESPACE.test(namespace) && CLUSTER_NAME.test(name);
}

function lostClusters(
  id: string,
  all: SweepOutcome['workloadClusters'] = [],
  sent: SweepOutcome['workloadClusters'] = [],
): readonly Problem[] {
  if (sent.length === all.length) return [];
  return [
    {
      kind: 'workload-clusters',
      object: `cluster ${id}`,
      message: `${all.length - sent.length} of its ${all.length} Clusters are ignored: there are too many, or their fields are not valid for EKS Anywhere`,
      remedy: `Name a Cluster with at most 100 letters, digits, "-" and "."; a management cluster has room for ${MAX_WORKLOAD_CLUSTERS}.`,
    },
  ];
}
