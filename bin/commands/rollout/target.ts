import { enforcing, matchesGlob } from '../../../lambdas/approval/selection.ts';
import { type LoadedKubeconfig, listContexts } from '../../../lambdas/kubernetes/kubeconfig-document.ts';
import { printable } from '../../../lambdas/printable.ts';
import type { RolloutTarget } from '../../../lambdas/rollout/observe.ts';
import {
  ACCEPTANCES,
  type Acceptance,
  DEFAULT_ROLLOUT_POLICY,
  type RolloutPolicy,
  WAIVERS,
  type Waiver,
} from '../../../lambdas/rollout/policy.ts';
import { matchesId } from '../../../lambdas/rollout/policy-of.ts';
import { handshakes } from '../../../lambdas/tls/handshakes.ts';
import { UsageError } from '../../exit-codes.ts';
import { loadFleet } from '../../fleet.ts';
import {
  entryOf,
  expiredServerOf,
  kubeconfigFiles,
  type Listed,
  load,
  managementSource,
  type NamedServer,
  nameOf,
  namesManagement,
  namespaceOf,
  openServer,
  providerOf,
  readKubeconfigs,
  repeatedFlags,
  repeatOptions,
  type TargetOptions,
} from '../../target.ts';
import type { RolloutSubject } from './commands.ts';

export interface RolloutTargetOptions extends TargetOptions {
  readonly fleet?: string;
  /** Each `spare-capacity,etcd-backup`. */
  readonly accept?: readonly string[];
  readonly secrets?: boolean;
}

/**
 * Opens the cluster of a rollout command, and finds its policy.
 *
 * @throws UsageError for an unusable option, kubeconfig or fleet.yaml
 */
export async function openSubject(
  options: RolloutTargetOptions,
): Promise<RolloutSubject & { readonly target: OpenRolloutTarget }> {
  const { accepted, waivers } = acceptances(options.accept);
  const fleet = await loadFleet(options.fleet, '--fleet');
  const opened = await openRolloutTarget(options, fleet);
  const cluster = { name: opened.name, provider: 'eks-anywhere' } as const;
  const target =
    options.fleet === undefined ? opened : { ...opened, approves: enforcing(fleet.policies, cluster).length > 0 };
  const policy =
    options.fleet === undefined
      ? { ...DEFAULT_ROLLOUT_POLICY, clusters: ['*'] }
      : fleet.rollouts.clusters.find((entry) => isOf(entry, target));
  return {
    target,
    waivers,
    policy: policy === undefined ? undefined : { ...policy, accepted: [...new Set([...policy.accepted, ...accepted])] },
    ofFleet: options.fleet !== undefined,
  };
}

/** The cluster that the command line names, with a connection to its management cluster. */
export interface OpenRolloutTarget extends RolloutTarget {
  /** Of the management cluster. */
  readonly server: NamedServer;
  close(): void;
}

/**
 * Opens a connection to the management cluster only, where rollouts are read and written. Without one on the command
 * line the cluster manages itself, as in every command.
 *
 * @param fleet the cluster's entry has its id, namespace and EKS Anywhere namespace
 * @throws UsageError for an unusable option or kubeconfig
 */
async function openRolloutTarget(options: RolloutTargetOptions, fleet: Listed): Promise<OpenRolloutTarget> {
  const expiredServer = expiredServerOf(options);
  const isManaged = namesManagement(options);
  const { files, ...source } = isManaged ? managementSource(options, process.env) : { files: [] };
  const manager = isManaged ? await load(files, source) : undefined;
  const own = await loadOwn(options, manager);
  const connection = manager ?? own;
  if (connection === undefined) throw new UsageError('Name the cluster with --cluster.');
  // A management cluster says nothing about its workload clusters.
  const known = own ?? (manager === undefined || manager.cluster === options.cluster ? connection : undefined);
  if (providerOf(options.provider, known?.server ?? 'https://unknown.invalid') === 'eks')
    throw new UsageError(
      'This is an EKS cluster: AWS renews the certificates of its control plane, so there is nothing to roll. certmarshal audit shows when its CA expires.',
    );
  const named = options.cluster ?? own?.cluster ?? connection.cluster;
  const entry = entryOf(fleet, named);
  const name = entry?.name ?? named;
  const managesItself =
    manager === undefined || (own === undefined ? manager.cluster === name : isSameServer(own, manager));
  // The CAs in the kubeconfig are those of the cluster's control plane. The management cluster has others.
  const caPem = own?.caPem ?? (managesItself ? manager?.caPem : undefined);
  const { client: management, server, close } = openServer(connection, expiredServer);
  return {
    id: entry?.id ?? name,
    name,
    management,
    managesItself,
    namespace: namespaceOf(options, entry),
    eksAnywhereNamespace: entry?.eksAnywhereNamespace,
    readEtcdClientSecret: options.secrets === true ? true : undefined,
    handshakes,
    authorities: caPem === undefined ? undefined : async () => caPem,
    server,
    close,
  };
}

/**
 * The cluster itself is not read: it has no data of a rollout. Its kubeconfig has its name and CAs.
 *
 * @returns undefined where the current context is another cluster than the named one
 * @throws UsageError
 */
async function loadOwn(
  options: RolloutTargetOptions,
  manager: LoadedKubeconfig | undefined,
): Promise<LoadedKubeconfig | undefined> {
  const { kubeconfig, context, managementKubeconfig, cluster } = options;
  if (managementKubeconfig !== undefined && cluster !== undefined && kubeconfig === undefined) return undefined;
  const files = ownKubeconfig(options);
  const own = await load(files, options);
  if (manager === undefined || cluster === undefined || context !== undefined || nameOf(own) === cluster) return own;
  const servers = new Set((await readKubeconfigs(files, listContexts)).map(({ server }) => server));
  if (servers.size === 1) return own;
  // It may be the management cluster, or --cluster another name for it.
  if (isSameServer(own, manager))
    throw new UsageError(
      `The current context is the management cluster, which the kubeconfig calls ${printable(nameOf(own), 120)}: name the context of ${printable(cluster, 120)} with --context.`,
    );
  return undefined;
}

/** Behind one host may be a proxy to many clusters. */
function isSameServer(one: LoadedKubeconfig, other: LoadedKubeconfig): boolean {
  return new URL(one.server).href === new URL(other.server).href;
}

/** @throws UsageError */
function ownKubeconfig(options: RolloutTargetOptions): readonly string[] {
  try {
    return kubeconfigFiles(options, process.env);
  } catch (error) {
    if (options.managementKubeconfig === undefined) throw error;
    throw new UsageError(
      'Name the cluster: --cluster as Cluster API calls it, or its own kubeconfig with --kubeconfig.',
      {
        cause: error,
      },
    );
  }
}

/** Without an entry in fleet.yaml the id of a discovered cluster is unknown here; its last part is the name. */
function isOf({ clusters }: RolloutPolicy, { id, name }: OpenRolloutTarget): boolean {
  const isNamed = (glob: string) => glob.includes('/') && matchesGlob(glob.split('/').at(-1) ?? '', name);
  return clusters.some((glob) => matchesId(glob, id) || (id === name && isNamed(glob)));
}

/**
 * Parses what the user vouches for on the command line.
 *
 * @throws UsageError that names all unknown words
 */
export function acceptances(given: readonly string[] = []): {
  readonly accepted: readonly Acceptance[];
  readonly waivers: readonly Waiver[];
} {
  const words = given.flatMap((list) => list.split(',')).flatMap((item) => (item.trim() === '' ? [] : [item.trim()]));
  const known: readonly string[] = [...ACCEPTANCES, ...WAIVERS];
  const unknown = words.filter((item) => !known.includes(item));
  if (unknown.length > 0)
    throw new UsageError(`--accept takes ${known.join(', ')}; got ${printable(unknown.join(', '))}`);
  return {
    accepted: ACCEPTANCES.filter((one) => words.includes(one)),
    waivers: WAIVERS.filter((one) => words.includes(one)),
  };
}

/** The given options as text, for the next command. */
export function repeatRollout(options: RolloutTargetOptions): string {
  return `${repeatOptions(options)}${repeatedFlags([
    ['--fleet', options.fleet],
    ['--accept', options.accept?.join(',')],
    ['--secrets', options.secrets === true],
  ])}`;
}
