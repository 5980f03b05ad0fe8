import { regionOfEksEndpoint } from '../../lambdas/aws/eks-endpoint.ts';
import type { Fleet } from '../../lambdas/config/fleet.ts';
import type { Target } from '../../lambdas/contracts/target.ts';
import { parseServerUrl } from '../../lambdas/kubernetes/connection.ts';
import { type ListedContext, listContexts } from '../../lambdas/kubernetes/kubeconfig-document.ts';
import type { AuditTargetOptions } from '../commands/audit/target.ts';
import { UsageError } from '../exit-codes.ts';
import { entryOf, kubeconfigFiles, load, nameOf, namespaceOf, providerOf, readKubeconfigs } from '../target.ts';

export const LANE = 'default';

/** The one cluster of a context. */
export interface ContextCluster {
  readonly context: string;
  /** Id in the fleet: its name, or a longer form of its kubeconfig name if several clusters share a name. */
  readonly id: string;
  readonly name: string;
  /** URL of its API server in the kubeconfig. */
  readonly server: string | undefined;
  /** Other contexts of the same API server. */
  readonly also: readonly string[];
}

/**
 * The clusters of a kubeconfig, each once, in the order of its contexts.
 *
 * @throws UsageError if the kubeconfig cannot be read, or an option names one cluster
 */
export async function everyContext(
  options: AuditTargetOptions,
  env: NodeJS.ProcessEnv,
): Promise<readonly ContextCluster[]> {
  const { context, cluster, provider } = options;
  for (const [flag, given] of Object.entries({ '--context': context, '--cluster': cluster, '--provider': provider }))
    if (given !== undefined)
      throw new UsageError(`${flag} names one cluster, --all-contexts takes all: leave out one of them.`);
  return clustersOf(await readKubeconfigs(kubeconfigFiles(options, env), listContexts));
}

/**
 * The cluster that the command line names.
 *
 * @throws UsageError if the kubeconfig cannot be used
 */
export async function oneContext(
  options: AuditTargetOptions,
  fleet: Fleet,
  env: NodeJS.ProcessEnv,
): Promise<ContextCluster> {
  const loaded = await load(kubeconfigFiles(options, env), options);
  const named = options.cluster ?? nameOf(loaded);
  const entry = entryOf(fleet, named);
  const name = idOf(entry?.name ?? named);
  return { context: loaded.context, id: entry?.id ?? name, name, server: loaded.server, also: [] };
}

/**
 * The clusters of the contexts, each API server once. Pure.
 *
 * @param listed of several contexts with one API server, the first counts
 */
export function clustersOf(listed: readonly ListedContext[]): readonly ContextCluster[] {
  const byServer = Map.groupBy(listed, ({ context, cluster, server, serverName }) => {
    const url = parseServerUrl(server ?? '');
    if (typeof url === 'string') return `context ${context}`;
    // Another host may be a proxy to many clusters.
    return regionOfEksEndpoint(url.href) !== undefined ? url.href : JSON.stringify([url.href, serverName, cluster]);
  });
  const clusters = [...byServer.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : { ...first, also: others.map(({ context }) => context) },
  );
  const names = Map.groupBy(clusters, ({ cluster }) => cluster && nameOf({ cluster }));
  const taken = new Set<string>();
  return clusters.map(({ context, cluster, server, also }) => {
    const name = cluster && nameOf({ cluster });
    const isAlone = names.get(name)?.length === 1;
    const first = idOf(cluster === undefined || name === undefined ? context : isAlone ? name : longName(cluster));
    let id = first;
    for (let more = 2; taken.has(id); more += 1) id = `${first.slice(0, 90)}-${more}`;
    taken.add(id);
    return { context, id, name: idOf(name ?? context), server, also };
  });
}

/** `111122223333/eu-central-1/dublin`, the fleet's id, from the ARN that EKS writes as cluster name. */
function longName(cluster: string): string {
  const { region, account, name } =
    /^arn:[^:]+:eks:(?<region>[^:]+):(?<account>[^:]+):cluster\/(?<name>.+)$/.exec(cluster)?.groups ?? {};
  return name === undefined ? cluster : `${account}/${region}/${name}`;
}

/** A kubeconfig may name a cluster as it likes; in the state, an id is also a path. */
function idOf(name: string): string {
  const parts = name.split('/').map((part) =>
    part
      .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, 100),
  );
  const usable = parts.filter((part) => part !== '');
  return usable.length === 0 ? 'cluster' : usable.length > 3 ? usable.join('-').slice(0, 100) : usable.join('/');
}

/** Where the fleet finds a cluster of a kubeconfig. */
export function contextTarget(
  { context, id, name, server = '' }: ContextCluster,
  options: AuditTargetOptions,
  fleet: Fleet,
): Target {
  const provider = providerOf(options.provider, URL.canParse(server) ? server : 'https://unknown.invalid');
  const entry = entryOf(fleet, options.cluster ?? name);
  return {
    id,
    cluster: { name: name.split('/').at(-1) ?? name, provider, serviceCidrs: entry?.serviceCidrs },
    access: { kind: 'context', context },
    management: provider === 'eks-anywhere' ? { namespace: namespaceOf(options, entry) } : undefined,
    eksAnywhereNamespace: entry?.eksAnywhereNamespace,
    lane: LANE,
    audit: {
      secrets: options.secrets === true ? true : undefined,
      kubeletMetrics: options.kubeletMetrics === true ? true : undefined,
    },
  };
}
