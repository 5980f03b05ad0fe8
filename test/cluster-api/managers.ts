import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BuildError, buildExecutables, type NamedSource } from '../control-plane/go-build.ts';

const CORE = 'sigs.k8s.io/cluster-api';
const TEST = 'sigs.k8s.io/cluster-api/test';

/** One manager of Cluster API: a process with controllers, and the files that its project publishes with it. */
export interface ManagerSource {
  /** Also its user, its log and the prefix of its webhook configurations. */
  readonly name: string;
  readonly goPackage: string;
  /** The Go module with its definitions and webhooks, and the directory in it that holds `config/`. */
  readonly module: string;
  readonly directory: string;
  /** Its flags besides those that all take. */
  readonly flags: readonly string[];
}

/** MachinePools want definitions and controllers that no test has a use for. */
const WITHOUT_POOLS = ['--feature-gates=MachinePool=false'];

/** The managers, in the order in which they start. */
export const MANAGERS: readonly ManagerSource[] = [
  { name: 'capi-core', goPackage: `${CORE}/core`, module: CORE, directory: 'core', flags: WITHOUT_POOLS },
  {
    name: 'capi-kubeadm-bootstrap',
    goPackage: `${CORE}/bootstrap/kubeadm`,
    module: CORE,
    directory: 'bootstrap/kubeadm',
    flags: WITHOUT_POOLS,
  },
  {
    name: 'capi-kubeadm-control-plane',
    goPackage: `${CORE}/controlplane/kubeadm`,
    module: CORE,
    directory: 'controlplane/kubeadm',
    flags: [],
  },
  {
    name: 'capi-development-provider',
    goPackage: `${TEST}/infrastructure/docker`,
    module: TEST,
    directory: 'infrastructure/docker',
    flags: WITHOUT_POOLS,
  },
];

/** Executables that come out of controllers/go.mod. */
export interface ManagerBinaries {
  /** By the manager's name. */
  readonly managers: Readonly<Record<string, string>>;
  /** Brings `lo` up and becomes another program. */
  readonly onLoopback: string;
}

/**
 * Builds the managers, or finds them in the cache.
 *
 * @throws ToolError where they cannot be built on this machine; BuildError when the compiler fails
 */
export async function buildManagers(): Promise<ManagerBinaries> {
  const directory = join(import.meta.dirname, 'controllers');
  const version = /^\s*sigs\.k8s\.io\/cluster-api (v\S+)/m.exec(await readFile(join(directory, 'go.mod'), 'utf8'))?.[1];
  if (version === undefined) throw new BuildError('controllers/go.mod does not require sigs.k8s.io/cluster-api');
  const sources: readonly NamedSource[] = [
    { executable: 'on-loopback', label: 'on-loopback', goPackage: './on-loopback', coldBuild: '5 s' },
    ...MANAGERS.map(({ name, goPackage }, index) => ({
      executable: name,
      label: `${name} ${version}`,
      goPackage,
      coldBuild: index === 0 ? '3 min' : '30 s',
    })),
  ];
  const [onLoopback = '', ...managers] = await buildExecutables(
    directory,
    sources,
    `-s -w -X ${CORE}/version.gitVersion=${version}`,
  );
  return { onLoopback, managers: Object.fromEntries(MANAGERS.map(({ name }, index) => [name, managers[index] ?? ''])) };
}
