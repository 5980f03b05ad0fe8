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
      /** It was read to its end: what is not among `clusters` is not there. */
      readonly ok: true;
      readonly clusters: readonly FoundCluster[];
      /** What is wrong with it nevertheless. */
      readonly problem?: Problem;
    }
  | {
      readonly source: string;
      readonly ok: false;
      readonly problem: Problem;
      /** What was found before it failed. Nothing is said about others. */
      readonly clusters?: readonly FoundCluster[];
    };

export interface FoundCluster {
  readonly id: string;
  /** How to reach it. Absent when it cannot be swept; `problem` then says why. */
  readonly target?: Target;
  readonly problem?: Problem;
  /** It is there, and was not looked at: the target that is known of it stays. */
  readonly unread?: true;
  /** `fleet.yaml` does not want it. */
  readonly unwanted?: true;
  /** `fleet.yaml` may want it by its name, and does not want it with the tags that it has. Whoever tags clusters decides that, so it is no order to forget it. */
  readonly untagged?: true;
  /** Its own clusters are looked for through it, in these namespaces. */
  readonly managesClusters?: readonly string[];
}

/** EKS throttles DescribeCluster by account and Region: more at once would only wait. */
const CONCURRENCY = 8;
/** The quota is 100 clusters in a Region, and can be raised. Source: EKS User Guide, "Service quotas". */
const MAX_CLUSTERS = 10_000;

export interface DiscoverOptions {
  /** Only these sources. @default all */
  readonly only?: readonly string[];
  /** Where time is short, clusters that it cannot reach are described first, and then those seen longest ago. */
  readonly previous?: Registry | undefined;
}

/**
 * Looks for EKS clusters in every account and Region that `discovery` names, in all of them at once.
 *
 * Each result comes when its source is done, so that a slow account holds up no other one. When the signal aborts, the remaining ones
 * come at once with what they have: a source whose clusters are all known by then is complete, any other one is `unfinished`.
 * Nothing throws: whatever goes wrong is the problem of a source, or of a cluster.
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
    // The iterator is shared: each takes the next name.
    for (const name of left) {
      const cluster = await describeOne(source, name, reading);
      if (cluster !== undefined) found.push(cluster);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, describeNext));
  return found;
}

/** Undefined when it is gone since it was listed. */
async function describeOne(source: EksSource, name: string, reading: Reading): Promise<FoundCluster | undefined> {
  const { reader, signal, previous, lanes } = reading;
  const id = idOf(source, name);
  const known = entryOf(previous?.clusters, id)?.target !== undefined;
  const unfinished = (): FoundCluster => ({
    id,
    unread: true,
    // What is known of it stays; of another one nothing is known, and its source has to be read again.
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
    message: 'the time of the discovery was over before it was read',
    remedy: 'The next discovery continues with it; if it stays, find out who else calls EKS so often in that account.',
  };
}

/** AWS answered with something that cannot be right. */
class UnusableAnswer extends AwsError {
  constructor(object: string, problem: string) {
    super({ kind: 'invalid', object, problem, remedy: 'Find out what answers there in the name of EKS.' });
  }
}

function problemOf(object: string, error: unknown, signal: AbortSignal): Problem {
  return signal.aborted ? timeIsOver(object) : awsProblem(object, error);
}
