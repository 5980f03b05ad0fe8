import { matchesGlob } from '../../../lambdas/approval/selection.ts';
import { nameInId } from '../../../lambdas/audit/commands.ts';
import { word } from '../../../lambdas/command.ts';
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
  addressOf,
  entryOf,
  expiredServerOf,
  kubeconfigFiles,
  type Listed,
  load,
  type NamedServer,
  namespaceOf,
  openServer,
  providerOf,
  repeatedFlags,
  repeatOptions,
  type TargetOptions,
} from '../../target.ts';
import type { RolloutSubject } from './ports.ts';

export interface RolloutTargetOptions extends TargetOptions {
  readonly fleet?: string;
  /** `spare-capacity,etcd-backup`. */
  readonly accept?: string;
  /** The client certificate of external etcd is read, and the private key beside it. */
  readonly secrets?: boolean;
}

/**
 * Opens what a command about a rollout is about: the cluster, and the policy that is its own.
 *
 * @throws UsageError when an option, a kubeconfig or a fleet.yaml cannot be used
 */
export async function openSubject(
  options: RolloutTargetOptions,
): Promise<RolloutSubject & { readonly target: OpenRolloutTarget }> {
  const { accepted, waivers } = acceptances(options.accept);
  const fleet = await loadFleet(options.fleet, '--fleet');
  const target = await openRolloutTarget(options, fleet);
  const policy =
    options.fleet === undefined
      ? { ...DEFAULT_ROLLOUT_POLICY, clusters: ['*'] }
      : fleet.rollouts.clusters.find((entry) => isOf(entry, target));
  return {
    target,
    waivers,
    policy: policy === undefined ? undefined : { ...policy, accepted: [...new Set([...policy.accepted, ...accepted])] },
    everyMinutes: options.fleet === undefined ? undefined : fleet.audit.everyMinutes,
  };
}

/** The cluster that the command line names, and an open connection to its management cluster. */
export interface OpenRolloutTarget extends RolloutTarget {
  /** The management cluster. */
  readonly server: NamedServer;
  close(): void;
}

/**
 * Opens a connection to what rollouts are read from and written to: the management cluster, and nothing else. Without `--management-kubeconfig` the cluster manages
 * itself, as for every command.
 *
 * @param fleet the entry of this cluster's name tells its id, its namespace and that of its Cluster of EKS Anywhere
 * @throws UsageError when an option or a kubeconfig cannot be used
 */
async function openRolloutTarget(options: RolloutTargetOptions, fleet: Listed): Promise<OpenRolloutTarget> {
  const { kubeconfig, managementKubeconfig } = options;
  const expiredServer = expiredServerOf(options);
  // The cluster itself is not asked: nothing of a rollout is in it. Its kubeconfig tells its name, and which authorities it has.
  const own =
    managementKubeconfig !== undefined && kubeconfig === undefined && options.cluster !== undefined
      ? undefined
      : await load(ownKubeconfig(options), options);
  const manager =
    managementKubeconfig === undefined
      ? undefined
      : await load([managementKubeconfig], {
          option: '--management-kubeconfig',
          allowExec: options.allowExec,
        });
  const connection = manager ?? own;
  if (connection === undefined) throw new UsageError('Name the cluster with --cluster.');
  if (providerOf(options.provider, (own ?? connection).server) === 'eks')
    throw new UsageError(
      `This is an EKS cluster: AWS renews the certificates of its control plane, there is nothing to roll. Its node groups roll automatically where fleet.yaml has nodeGroups: true; aws eks list-updates --name ${word(options.cluster ?? nameInId((own ?? connection).cluster), 'CLUSTER')} --nodegroup-name NODEGROUP shows how far one is. certmarshal audit shows when its CA expires.`,
    );
  const named = options.cluster ?? own?.cluster ?? connection.cluster;
  const entry = entryOf(fleet, named);
  const name = entry?.name ?? named;
  const managesItself =
    manager === undefined ||
    (own === undefined ? manager.cluster === name : addressOf(own.server) === addressOf(manager.server));
  // What a client of the cluster trusts are the authorities of its control plane. The management cluster has others.
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

/** Without its entry the id of a found cluster is not known here; the last part of that id is its name. */
function isOf({ clusters }: RolloutPolicy, { id, name }: OpenRolloutTarget): boolean {
  return clusters.some((glob) => matchesId(glob, id) || (id === name && isNameIn(glob, name)));
}

function isNameIn(glob: string, name: string): boolean {
  const parts = glob.split('/');
  return parts.length > 1 && matchesGlob(parts.at(-1) ?? '', name);
}

/**
 * What somebody vouches for on the command line.
 *
 * @throws UsageError that names all that are unknown
 */
export function acceptances(given: string | undefined): {
  readonly accepted: readonly Acceptance[];
  readonly waivers: readonly Waiver[];
} {
  const words = (given ?? '').split(',').flatMap((item) => (item.trim() === '' ? [] : [item.trim()]));
  const known: readonly string[] = [...ACCEPTANCES, ...WAIVERS];
  const unknown = words.filter((item) => !known.includes(item));
  if (unknown.length > 0)
    throw new UsageError(`--accept takes ${known.join(', ')}; got ${printable(unknown.join(', '))}`);
  return {
    accepted: ACCEPTANCES.filter((one) => words.includes(one)),
    waivers: WAIVERS.filter((one) => words.includes(one)),
  };
}

/** The options again as they were given, for the exact next command. */
export function repeatRollout(options: RolloutTargetOptions): string {
  return `${repeatOptions(options)}${repeatedFlags([
    ['--fleet', options.fleet],
    ['--accept', options.accept],
    ['--secrets', options.secrets === true],
  ])}`;
}
