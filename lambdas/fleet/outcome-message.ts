import { PROVIDERS } from '../approval/policy.ts';
import type { Problem } from '../problem.ts';
import { firstProblems } from './first-problems.ts';
import { fitting } from './fitting.ts';
import type { DispatchOutcome, Outcome, SweepOutcome, VerdictLine, WorkloadCluster } from './outcome.ts';
import { auditOf } from './read-audit.ts';
import { fatesUntil } from './read-fates.ts';
import { boundedProblem, readProblem } from './read-problem.ts';
import { rolloutOf } from './read-rollout.ts';
import {
  isNameable,
  MAX_WORKLOAD_CLUSTERS,
  readCounts,
  readServer,
  readWorkloadCluster,
  SERVER,
} from './read-sweep.ts';
import { readVerdicts } from './read-verdicts.ts';
import {
  count,
  type Fields,
  flag,
  list,
  mark,
  matching,
  oneOf,
  optional,
  parsed,
  present,
  type Read,
  readable,
  reading,
  time,
  versionOf,
} from './shape.ts';
import { CLUSTER_ID, CLUSTER_NAME } from './target.ts';
import { MAX_VERDICTS } from './verdict-lines.ts';

export type DecodedOutcome =
  | { readonly ok: true; readonly outcome: Outcome }
  | { readonly ok: false; readonly problem: string };

const MESSAGE_VERSION = 1;
/** Characters. A message of SQS has 256 KiB for certain. */
const MAX_MESSAGE_LENGTH = 220_000;
const MAX_SWEEP_PROBLEMS = 20;
const MAX_DISPATCH_PROBLEMS = 100;
/** Bytes of JSON: with the few of the rest of an outcome they are a message. */
const SWEEP_PROBLEMS_SIZE = 70_000;
const WORKLOAD_CLUSTERS_SIZE = 110_000;
const DISPATCH_PROBLEMS_SIZE = 190_000;
/** Twelve ordinary ones. */
const VERDICTS_SIZE = 5_000;

/**
 * The body of the SQS message that tells report of an outcome, never longer than 220 kB: what is cut is counted, or a problem of its own.
 * Whatever the cluster made of its parts, {@link decodeOutcome} takes it: an outcome that is refused would be a sweep that nobody knows of.
 */
export function encodeOutcome(outcome: Outcome): string {
  const bounded = outcome.kind === 'dispatch' ? boundedDispatch(outcome) : boundedSweep(outcome);
  return JSON.stringify({ ...bounded, version: MESSAGE_VERSION });
}

function boundedDispatch(outcome: DispatchOutcome): DispatchOutcome {
  const problems = firstProblems(outcome.problems, MAX_DISPATCH_PROBLEMS).map(boundedProblem);
  return { ...outcome, problems: fitting(problems, MAX_DISPATCH_PROBLEMS, DISPATCH_PROBLEMS_SIZE) };
}

function boundedSweep({ audit, fates, verdicts, rollout, ...outcome }: SweepOutcome): SweepOutcome {
  const read = {
    audit: reading(() => optional(auditOf(outcome.startedAt))(audit, 'audit')),
    fates: reading(() => optional(fatesUntil(outcome.startedAt))(fates, 'fates')),
    rollout: reading(() => optional(rolloutOf(outcome.startedAt))(rollout, 'rollout')),
  };
  // What is in them cannot be told; that it cannot must be.
  const lost = [
    ...(read.audit.ok ? [] : [lostPart(`audit of cluster ${outcome.id}`, read.audit.problem)]),
    ...(read.fates.ok ? [] : [lostPart(`requests of cluster ${outcome.id}`, read.fates.problem)]),
    ...(read.rollout.ok ? [] : [lostPart(`rollout of cluster ${outcome.id}`, read.rollout.problem)]),
  ];
  return {
    ...withoutParts({
      ...outcome,
      problems: [...lost, ...outcome.problems],
      problemCount: outcome.problemCount + lost.length,
    }),
    ...present({
      audit: read.audit.ok ? read.audit.value : undefined,
      fates: read.fates.ok ? read.fates.value : undefined,
      rollout: read.rollout.ok ? read.rollout.value : undefined,
      verdicts: boundedVerdicts(verdicts, outcome.startedAt),
    }),
  };
}

/** The journal and the log have what is left out. */
function boundedVerdicts(verdicts: SweepOutcome['verdicts'], startedAt: string): SweepOutcome['verdicts'] {
  const read = readable(verdictsOf(startedAt))(verdicts, 'verdicts');
  return read === undefined ? undefined : fitting(read, MAX_VERDICTS, VERDICTS_SIZE);
}

function lostPart(object: string, problem: string): Problem {
  return {
    kind: 'bug',
    object,
    message: `what is known of it cannot be sent: ${problem}`,
    remedy: 'Report it as a bug of certmarshal; the snapshot and the log of the cluster have what was found.',
  };
}

function withoutParts({ workloadClusters, name, server, ...outcome }: SweepOutcome): SweepOutcome {
  const bounded = {
    ...outcome,
    // A clock that was set back is no reason to lose the rest.
    durationMs: Math.max(0, Math.round(outcome.durationMs)),
    ...(name !== undefined && CLUSTER_NAME.test(name) ? { name } : {}),
    ...(server !== undefined && SERVER.test(server) ? { server } : {}),
  };
  if (workloadClusters === undefined) return { ...bounded, problems: sweepProblems(outcome.problems) };
  const known = workloadClusters.filter((cluster) => reading(() => readWorkloadCluster(cluster, '')).ok);
  const sent = fitting(known, MAX_WORKLOAD_CLUSTERS, WORKLOAD_CLUSTERS_SIZE);
  const lost = lostClusters(outcome.id, workloadClusters, sent.length);
  // One that cannot be named never was among them.
  const cut = outcome.workloadClustersCut ?? sent.length < workloadClusters.filter(isNameable).length;
  return {
    ...bounded,
    problems: sweepProblems([...lost, ...outcome.problems]),
    problemCount: outcome.problemCount + lost.length,
    workloadClusters: sent,
    ...(cut ? { workloadClustersCut: true } : {}),
  };
}

function sweepProblems(problems: readonly Problem[]): readonly Problem[] {
  const kept = problems.slice(0, MAX_SWEEP_PROBLEMS).map(boundedProblem);
  return fitting(kept, MAX_SWEEP_PROBLEMS, SWEEP_PROBLEMS_SIZE);
}

function lostClusters(id: string, all: readonly WorkloadCluster[], sent: number): readonly Problem[] {
  if (sent === all.length) return [];
  return [
    {
      kind: 'workload-clusters',
      object: `cluster ${id}`,
      message: `${all.length - sent} of its ${all.length} Clusters are not taken into account: they are too many, or described as no EKS Anywhere cluster is`,
      remedy: `Name a Cluster with at most 100 letters, digits, "-" and "."; a management cluster has room for ${MAX_WORKLOAD_CLUSTERS}.`,
    },
  ];
}

/**
 * Reads the body of an SQS message. Never throws: a message that certmarshal did not write is a value, with the field that is wrong and
 * nothing of its content. Unknown fields are ignored.
 */
export function decodeOutcome(body: string): DecodedOutcome {
  const read = reading(() => readOutcome(body));
  return read.ok ? { ok: true, outcome: read.value } : read;
}

function readOutcome(body: string): Outcome {
  const message = parsed(body, MAX_MESSAGE_LENGTH);
  versionOf(message, MESSAGE_VERSION);
  const kind = oneOf(['sweep', 'dispatch'])(message['kind'], 'kind');
  return kind === 'sweep' ? readSweep(message) : readDispatch(message);
}

function readSweep(message: Fields): SweepOutcome {
  const startedAt = time(message['startedAt'], 'startedAt');
  return present({
    version: 1 as const,
    kind: 'sweep' as const,
    id: matching(CLUSTER_ID, 'the id of a cluster')(message['id'], 'id'),
    name: optional(matching(CLUSTER_NAME, 'a cluster name'))(message['name'], 'name'),
    provider: optional(oneOf(PROVIDERS))(message['provider'], 'provider'),
    startedAt,
    durationMs: count(message['durationMs'], 'durationMs'),
    untried: optional(mark)(message['untried'], 'untried'),
    readable: flag(message['readable'], 'readable'),
    complete: flag(message['complete'], 'complete'),
    counts: optional(readCounts)(message['counts'], 'counts'),
    problems: list(readProblem, MAX_SWEEP_PROBLEMS)(message['problems'], 'problems'),
    problemCount: count(message['problemCount'], 'problemCount'),
    server: optional(readServer)(message['server'], 'server'),
    workloadClusters: optional(list(readWorkloadCluster, MAX_WORKLOAD_CLUSTERS))(
      message['workloadClusters'],
      'workloadClusters',
    ),
    workloadClustersCut: optional(mark)(message['workloadClustersCut'], 'workloadClustersCut'),
    audit: readable(auditOf(startedAt))(message['audit'], 'audit'),
    fates: readable(fatesUntil(startedAt))(message['fates'], 'fates'),
    verdicts: readable(verdictsOf(startedAt))(message['verdicts'], 'verdicts'),
    rollout: readable(rolloutOf(startedAt))(message['rollout'], 'rollout'),
  });
}

/** No sweep decides before it begins to look, nor tells of another one. */
function verdictsOf(startedAt: string): Read<readonly VerdictLine[]> {
  return (value, path) => readVerdicts(value, path).filter(({ at }) => at === startedAt);
}

function readDispatch(message: Fields): DispatchOutcome {
  return {
    version: MESSAGE_VERSION,
    kind: 'dispatch',
    startedAt: time(message['startedAt'], 'startedAt'),
    registered: count(message['registered'], 'registered'),
    dispatched: count(message['dispatched'], 'dispatched'),
    problems: list(readProblem, MAX_DISPATCH_PROBLEMS)(message['problems'], 'problems'),
  };
}
