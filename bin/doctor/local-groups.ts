import { delimiter } from 'node:path';
import { type Connection, parseServerUrl } from '../../lambdas/kubernetes/connection.ts';
import {
  FILE_LIMITS,
  KubeconfigError,
  type LoadedKubeconfig,
  selectCluster,
  textOf,
} from '../../lambdas/kubernetes/kubeconfig-document.ts';
import { UsageError } from '../exit-codes.ts';
import {
  entryOf,
  expiredServerOf,
  kubeconfigFiles,
  type Listed,
  load,
  managementSource,
  nameOf,
  namesManagement,
  namespaceOf,
  providerOf,
  quote,
  readKubeconfigFiles,
  type TargetOptions,
} from '../target.ts';
import type { CheckGroup, Fix } from './check.ts';
import { clusterGroups, type Door, type GroupOptions } from './cluster-groups.ts';
import { kubeconfigCheck, renewFix } from './kubeconfig-door.ts';

/** The checks for the kubeconfigs of the user. */
export async function localGroups(options: TargetOptions, group: GroupOptions, fleet: Listed): Promise<CheckGroup[]> {
  const expiredServer = expiredServerOf(options);
  const files = kubeconfigFiles(options, process.env);
  const file = files.join(delimiter);
  const workload = await tryToLoad(files, options);
  const named = workload instanceof KubeconfigError ? await clusterIn(files, options.context) : workload;
  const provider = providerOf(options.provider, named?.server ?? 'https://unknown.invalid');
  const found = named && nameOf(named);
  const name = options.cluster ?? found ?? file;
  const renew = (management: boolean): Fix =>
    renewFix(group.program, {
      cluster: found === undefined && options.cluster === undefined ? undefined : quote(name),
      management,
      policyFile: group.policyFile === undefined ? undefined : quote(group.policyFile),
    });
  const { files: managers, ...source } = namesManagement(options)
    ? managementSource(options, process.env)
    : { files: [] };
  return clusterGroups(
    {
      subject: name,
      cluster: { name, provider },
      namespaces: [namespaceOf(options, entryOf(fleet, name))],
      workload: door(file, workload, renew(managers.length === 0 && provider === 'eks-anywhere'), expiredServer),
      management:
        managers.length === 0
          ? undefined
          : door(managers.join(delimiter), await tryToLoad(managers, source), renew(true), 'never'),
    },
    group,
  );
}

type Loaded = LoadedKubeconfig | KubeconfigError;

/** @throws UsageError for an unreadable file */
async function tryToLoad(files: readonly string[], options: Parameters<typeof load>[1]): Promise<Loaded> {
  try {
    return await load(files, options);
  } catch (error) {
    if (error instanceof UsageError && error.cause instanceof KubeconfigError) return error.cause;
    throw error;
  }
}

/** The cluster entry of a kubeconfig that is otherwise unusable. */
async function clusterIn(
  files: readonly string[],
  context: string | undefined,
): Promise<Pick<LoadedKubeconfig, 'cluster' | 'server'> | undefined> {
  try {
    const { cluster } = selectCluster(await readKubeconfigFiles(files), context, FILE_LIMITS);
    const server = textOf(cluster, 'server') ?? '';
    return typeof parseServerUrl(server) === 'string' ? undefined : { cluster: cluster.name, server };
  } catch (error) {
    if (error instanceof KubeconfigError) return undefined;
    throw error;
  }
}

function door(file: string, loaded: Loaded, renew: Fix, expiredServer: Connection['expiredServer']): Door {
  return {
    object: loaded instanceof KubeconfigError ? file : new URL(loaded.server).host,
    renew,
    opening: (server) => [
      kubeconfigCheck(server, { object: file, renew }, () => {
        if (loaded instanceof KubeconfigError) throw loaded;
        return { ...loaded, addresses: 'local', expiredServer };
      }),
    ],
  };
}
