import { delimiter } from 'node:path';
import { type Connection, parseServerUrl } from '../../lambdas/kubernetes/connection.ts';
import { KubeconfigError, type LoadedKubeconfig, selectContext } from '../../lambdas/kubernetes/kubeconfig-document.ts';
import { text } from '../../lambdas/resources/fields.ts';
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
  readKubeconfigs,
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
  const workload = await orProblem(load(files, options));
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
          : door(managers.join(delimiter), await orProblem(load(managers, source)), renew(true), 'never'),
    },
    group,
  );
}

type Loaded = LoadedKubeconfig | KubeconfigError;

/** @throws UsageError for an unreadable file */
async function orProblem<T>(read: Promise<T>): Promise<T | KubeconfigError> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof UsageError && error.cause instanceof KubeconfigError) return error.cause;
    throw error;
  }
}

/** The cluster entry of a kubeconfig that is otherwise unusable. */
async function clusterIn(files: readonly string[], context: string | undefined) {
  const cluster = await orProblem(readKubeconfigs(files, (read) => selectContext(read, context).cluster));
  if (cluster instanceof KubeconfigError) return undefined;
  const server = text(cluster.content, 'server') ?? '';
  return typeof parseServerUrl(server) === 'string' ? undefined : { cluster: cluster.name, server };
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
