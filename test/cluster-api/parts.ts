import { spawnSync } from 'node:child_process';
import { type Binaries, resolveBinaries } from '../control-plane/binaries.ts';
import { ToolError } from '../control-plane/cache.ts';
import { downloadedModules } from '../control-plane/published-crds.ts';
import { skip } from '../control-plane/real.ts';
import { buildManagers, type ManagerBinaries } from './managers.ts';

/** Everything that {@link startClusterApi} starts or reads, as absolute paths. */
export interface ClusterApiParts extends ManagerBinaries {
  readonly binaries: Binaries<'etcd' | 'kubeApiserver'>;
  /** Directories of the Go modules that publish definitions, by module path. */
  readonly modules: Readonly<Record<string, string>>;
  /** What makes the private network, before the program and its arguments. */
  readonly inPrivateNetwork: readonly string[];
}

/** Modules whose definitions are installed without patches. */
export const PUBLISHED: Readonly<Record<string, readonly string[]>> = {
  'github.com/aws/etcdadm-controller': ['config/crd/bases/etcdcluster.cluster.x-k8s.io_etcdadmclusters.yaml'],
  'github.com/aws/etcdadm-bootstrap-provider': ['config/crd/bases/bootstrap.cluster.x-k8s.io_etcdadmconfigs.yaml'],
  'github.com/aws/eks-anywhere': ['config/crd/bases/anywhere.eks.amazonaws.com_clusters.yaml'],
};

/**
 * Finds, builds and downloads what the stack consists of, once. Await it at the top level of a test file.
 *
 * @param suite what is skipped without it, for the message: see {@link skip}
 * @returns the parts, or why this machine cannot have them: `describe.skipIf(parts.missing)`
 * @throws BuildError when Go is there and a build fails
 */
export async function clusterApiParts(
  suite: string,
): Promise<(ClusterApiParts & { readonly missing?: undefined }) | { readonly missing: string }> {
  try {
    return await find();
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    skip(suite, error.message);
    return { missing: error.message };
  }
}

async function find(): Promise<ClusterApiParts> {
  if (process.platform !== 'linux')
    throw new ToolError(
      `the managers of Cluster API need a network namespace, which ${process.platform} does not have; run this on Linux`,
    );
  const binaries = await resolveBinaries('etcd', 'kubeApiserver');
  if ('missing' in binaries) throw new ToolError(binaries.missing);
  const built = await buildManagers();
  const inPrivateNetwork = privateNetwork(built.onLoopback);
  if (inPrivateNetwork === undefined)
    throw new ToolError(
      'the managers of Cluster API listen on every interface and are only started in a network namespace of their own; ' +
        'run as root or allow unprivileged user namespaces (unshare, of util-linux)',
    );
  const modules = await downloadedModules([
    'sigs.k8s.io/cluster-api',
    'sigs.k8s.io/cluster-api/test',
    ...Object.keys(PUBLISHED),
  ]);
  return { ...built, binaries, modules: Object.fromEntries(modules), inPrivateNetwork };
}

/** As root; else as nobody in particular, who is root in a user namespace of its own. */
function privateNetwork(onLoopback: string): readonly string[] | undefined {
  return [
    ['unshare', '--net', onLoopback],
    ['unshare', '--user', '--map-root-user', '--net', onLoopback],
  ].find(([command = '', ...args]) => spawnSync(command, [...args, '/bin/true'], { stdio: 'ignore' }).status === 0);
}
