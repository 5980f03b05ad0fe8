import { awsProblem } from '../aws/aws-problem.ts';
import type { EksReader } from '../aws/eks-clusters.ts';
import { AwsError } from '../aws/errors.ts';
import type { EksDiscovery, Lane } from '../config/fleet.ts';
import type { Problem } from '../contracts/problem.ts';
import type { Registry } from '../contracts/registry.ts';
import type { Target } from '../contracts/target.ts';
import { CLUSTER_NAME } from '../identifiers.ts';
import { entryOf } from '../tables/keys.ts';
import { nameMayBeWanted } from './cluster-selection.ts';
import { describedCluster } from './eks-target.ts';
import { type EksSource, eksClusterId, eksSources, type HubIdentity } from './sources.ts';

export type { HubIdentity } from './sources.ts';

export type SourceResult =
  | {
      readonly source: string;
      /** It was read completely: other clusters do not exist. */
      readonly ok: true;
      readonly clusters: readonly FoundCluster[];
      /** Problems that did not stop it. */
      readonly problem?: Problem;
    }
  | {
      readonly source: string;
      readonly ok: false;
      readonly problem: Problem;
      /** Found before it failed; says nothing about others. */
      readonly clusters?: readonly FoundCluster[];
    };

export interface FoundCluster {
  readonly id: string;
  /** How to reach it. Absent when it cannot be swept; `problem` then says why. */
  readonly target?: Target;
  readonly problem?: Problem;
  /** It exists and was not described: its known target stays. */
  readonly unread?: true;
  /** `fleet.yaml` does not select it. */
  readonly unwanted?: true;
  /**
   * `fleet.yaml` selects it by name but not by tags. Tags are set by users of the account, so the cluster must not be
   * forgotten.
   */
  readonly untagged?: true;
  /** Namespaces in which its workload clusters are looked for. */
  readonly managesClusters?: readonly string[];
}

/** EKS throttles DescribeCluster by account and Region: more at once would only wait. */
const CONCURRENCY = 8;
/** The quota is 100 clusters in a Region, and can be raised. Source: EKS User Guide, "Service quotas". */
const MAX_CLUSTERS = 10_000;

export interface DiscoverOptions {
  /** Only these sources. @default all */
  readonly only?: readonly string[];
  /** When time is short, clusters without a target are described first, then those seen longest ago. */
  readonly previous?: Registry | undefined;
}

/**
 * Discovers EKS clusters in every account and Region of `discovery`, concurrently.
 *
 * Each result arrives when its source is done, so that a slow account delays no other. When the signal aborts, the rest
 * arrive at once with what they have: a source whose clusters are all known is complete, any other one `unfinished`.
 * Never throws: every failure is the problem of a source or of a cluster.
 */
export async function* discoverEks(
  discovery: readonly EksDiscovery[],
  hub: HubIdentity,
  lanes: readonly Lane[],
  reader: EksReader,
  signal: AbortSignal,
  { only, previous }: DiscoverOptions = {},
): AsyncGenerator<SourceResult, void, undefined> {
  const asked = eksSources(discovery, hub).filter(({ name }) => only === undefined || only.includes(name));
  const running = new Map(
    asked.map((source) => [source.name, readSource(source, { lanes, reader, signal, previous })]),
  );
  while (running.size > 0) {
    const result = await Promise.race(running.values());
    running.delete(result.source);
    yield result;
  }
}

interface Reading {
  readonly lanes: readonly Lane[];
  readonly reader: EksReader;
  readonly signal: AbortSignal;
  readonly previous: Registry | undefined;
}

async function readSource(source: EksSource, reading: Reading): Promise<SourceResult> {
  try {
    const names = await listNames(source, reading);
    const { wanted = [], others = [] } = Object.groupBy(names, (name) =>
      source.entries.some((entry) => nameMayBeWanted(entry, name)) ? 'wanted' : 'others',
    );
    const clusters = await describeAll(source, inOrderOfNeed(source, wanted, reading.previous), reading);
    return resultOf(source, [
      ...clusters,
      ...others.map((name) => ({ id: idOf(source, name), unwanted: true as const })),
    ]);
  } catch (error) {
    return { source: source.name, ok: false, problem: problemOf(source.name, error, reading.signal) };
  }
}

async function listNames({ name, scope }: EksSource, { reader, signal }: Reading): Promise<readonly string[]> {
  const names = new Set<string>();
  for await (const page of reader.listClusters(scope, signal)) {
    for (const found of page) {
      if (!CLUSTER_NAME.test(found)) throw new UnusableAnswer(name, 'ListClusters returned an invalid cluster name');
      names.add(found);
    }
    if (names.size > MAX_CLUSTERS)
      throw new UnusableAnswer(name, `ListClusters named more than ${MAX_CLUSTERS} clusters`);
  }
  return [...names];
}

function inOrderOfNeed(source: EksSource, names: readonly string[], previous: Registry | undefined): readonly string[] {
  const seenAt = (name: string) => {
    const known = entryOf(previous?.clusters, idOf(source, name));
    return known?.target === undefined ? '' : known.seenAt;
  };
  return names
    .map((name) => ({ name, seenAt: seenAt(name) }))
    .toSorted((a, b) => (a.seenAt < b.seenAt ? -1 : Number(a.seenAt > b.seenAt)))
    .map(({ name }) => name);
}

async function describeAll(source: EksSource, names: readonly string[], reading: Reading): Promise<FoundCluster[]> {
  const found: FoundCluster[] = [];
  const left = names.values();
  const describeNext = async (): Promise<void> => {
    // The workers share the iterator: each takes the next name.
    for (const name of left) {
      const cluster = await describeOne(source, name, reading);
      if (cluster !== undefined) found.push(cluster);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, describeNext));
  return found;
}

/** Undefined if it was deleted after the list. */
async function describeOne(source: EksSource, name: string, reading: Reading): Promise<FoundCluster | undefined> {
  const { reader, signal, previous, lanes } = reading;
  const id = idOf(source, name);
  const known = entryOf(previous?.clusters, id)?.target !== undefined;
  const unfinished = (): FoundCluster => ({
    id,
    unread: true,
    // A known cluster keeps its target; for an unknown one the source must be read again.
    problem: known ? undefined : timeIsOver(`cluster ${id}`),
  });
  if (signal.aborted) return unfinished();
  try {
    return describedCluster(source, await reader.describeCluster(source.scope, name, signal), id, lanes);
  } catch (error) {
    if (error instanceof AwsError && error.kind === 'not-found') return undefined;
    return signal.aborted ? unfinished() : { id, unread: true, problem: problemOf(`cluster ${id}`, error, signal) };
  }
}

function resultOf({ name, problem }: EksSource, clusters: readonly FoundCluster[]): SourceResult {
  if (clusters.some((cluster) => cluster.problem?.kind === UNFINISHED))
    return { source: name, ok: false, problem: timeIsOver(name), clusters };
  return { source: name, ok: true, clusters, problem };
}

function idOf({ scope }: EksSource, name: string): string {
  return eksClusterId(scope, name);
}

const UNFINISHED = 'unfinished';

function timeIsOver(object: string): Problem {
  return {
    kind: UNFINISHED,
    object,
    message: 'the discovery ran out of time before it was read',
    remedy:
      'The next discovery continues with it; if it persists, find out who else calls EKS so often in that account.',
  };
}

/** AWS returned something impossible. */
class UnusableAnswer extends AwsError {
  constructor(object: string, problem: string) {
    super({ kind: 'invalid', object, problem, remedy: 'Find out what answers there in the name of EKS.' });
  }
}

function problemOf(object: string, error: unknown, signal: AbortSignal): Problem {
  return signal.aborted ? timeIsOver(object) : awsProblem(object, error);
}
