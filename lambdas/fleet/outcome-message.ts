import { PROVIDERS } from '../approval/policy.ts';
import type { Problem } from '../problem.ts';
import { firstProblems } from './first-problems.ts';
import type { DispatchOutcome, Outcome, SweepOutcome, WorkloadCluster } from './outcome.ts';
import { readAudit, readableAudit } from './read-audit.ts';
import { boundedProblem, readProblem } from './read-problem.ts';
import {
  isNameable,
  MAX_WORKLOAD_CLUSTERS,
  readCounts,
  readServer,
  readWorkloadCluster,
  SERVER,
} from './read-sweep.ts';
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
  reading,
  time,
  versionOf,
} from './shape.ts';
import { CLUSTER_ID, CLUSTER_NAME } from './target.ts';

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
const WORKLOAD_CLUSTERS_SIZE = 120_000;
const DISPATCH_PROBLEMS_SIZE = 190_000;

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

function boundedSweep({ audit, ...outcome }: SweepOutcome): SweepOutcome {
  if (audit === undefined) return withoutAudit(outcome);
  const read = reading(() => readAudit(audit, 'audit'));
  if (read.ok) return { ...withoutAudit(outcome), audit: read.value };
  // What it found is in the snapshot; that it cannot be told must be.
  const lost = lostAudit(outcome.id, read.problem);
  return withoutAudit({
    ...outcome,
    problems: [lost, ...outcome.problems],
    problemCount: outcome.problemCount + 1,
  });
}

function lostAudit(id: string, problem: string): Problem {
  return {
    kind: 'bug',
    object: `audit of cluster ${id}`,
    message: `its summary cannot be sent: ${problem}`,
    remedy: 'Report it as a bug of certmarshal; the snapshot of the cluster has what was found.',
  };
}

function withoutAudit({ workloadClusters, name, server, ...outcome }: SweepOutcome): SweepOutcome {
  const bounded = {
    ...outcome,
    // A clock that was set back is no reason to lose the rest.
    durationMs: Math.max(0, Math.round(outcome.durationMs)),
    ...(name !== undefined && CLUSTER_NAME.test(name) ? { name } : {}),
    ...(server !== undefined && SERVER.test(server) ? { server } : {}),
  };
  if (workloadClusters === undefined) return { ...bounded, problems: sweepProblems(outcome.problems) };
  const readable = workloadClusters.filter((cluster) => reading(() => readWorkloadCluster(cluster, '')).ok);
  const sent = fitting(readable, MAX_WORKLOAD_CLUSTERS, WORKLOAD_CLUSTERS_SIZE);
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

/** The first ones, as many as fit. */
function fitting<T>(entries: readonly T[], most: number, bytes: number): readonly T[] {
  let size = 0;
  const end = entries.findIndex((entry, index) => {
    size += Buffer.byteLength(JSON.stringify(entry)) + 1;
    return index >= most || size > bytes;
  });
  return end === -1 ? entries : entries.slice(0, end);
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
  return present({
    version: 1 as const,
    kind: 'sweep' as const,
    id: matching(CLUSTER_ID, 'the id of a cluster')(message['id'], 'id'),
    name: optional(matching(CLUSTER_NAME, 'a cluster name'))(message['name'], 'name'),
    provider: optional(oneOf(PROVIDERS))(message['provider'], 'provider'),
    startedAt: time(message['startedAt'], 'startedAt'),
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
    audit: readableAudit(message['audit'], 'audit'),
  });
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
