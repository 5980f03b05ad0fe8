import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '../patience.ts';
import { type Admin, connectAdmin, type KubeObject } from './admin.ts';
import { ToolError } from './cache.ts';
import { go } from './go-build.ts';
import { skip } from './real.ts';
import type { ControlPlane } from './start.ts';

/** The definitions that an audit reads from, by the Go module that publishes them. Their versions are those of published-crds/go.mod. */
const FILES: Readonly<Record<string, readonly string[]>> = {
  'sigs.k8s.io/cluster-api': [
    'core/config/crd/bases/cluster.x-k8s.io_clusters.yaml',
    'core/config/crd/bases/cluster.x-k8s.io_machines.yaml',
    'bootstrap/kubeadm/config/crd/bases/bootstrap.cluster.x-k8s.io_kubeadmconfigs.yaml',
    'controlplane/kubeadm/config/crd/bases/controlplane.cluster.x-k8s.io_kubeadmcontrolplanes.yaml',
  ],
  'github.com/aws/etcdadm-controller': ['config/crd/bases/etcdcluster.cluster.x-k8s.io_etcdadmclusters.yaml'],
  'github.com/aws/etcdadm-bootstrap-provider': ['config/crd/bases/bootstrap.cluster.x-k8s.io_etcdadmconfigs.yaml'],
  'github.com/aws/eks-anywhere': [
    'config/crd/bases/anywhere.eks.amazonaws.com_clusters.yaml',
    'config/crd/bases/anywhere.eks.amazonaws.com_vspheredatacenterconfigs.yaml',
  ],
  'github.com/cert-manager/cert-manager': ['deploy/crds/cert-manager.io_certificates.yaml'],
};

const MODULE = join(import.meta.dirname, 'published-crds');

/**
 * The texts of the definitions as their projects publish them, out of Go's module cache; what is not there yet is downloaded
 * (40 MB, seconds), and has to have the checksum that go.sum records. Nothing is compiled.
 *
 * @returns YAML of each, or why they cannot be had on this machine: see {@link skip}
 */
export async function publishedCrds(): Promise<readonly string[] | { readonly missing: string }> {
  let directories: ReadonlyMap<string, string>;
  try {
    directories = await downloadedModules(Object.keys(FILES));
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    skip('what reads published definitions', error.message);
    return { missing: error.message };
  }
  return Promise.all(
    Object.entries(FILES).flatMap(([path, files]) =>
      files.map((file) => readFile(join(directories.get(path) ?? '', file), 'utf8')),
    ),
  );
}

/**
 * The directories of Go modules that published-crds/go.mod pins, in Go's module cache; downloads what is not there yet.
 *
 * @throws ToolError where they cannot be had
 */
export async function downloadedModules(paths: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const versions = await pinnedVersions();
  const wanted = paths.map((path) => `${path}@${versions.get(path)}`);
  const stdout = await go(['mod', 'download', '-json', ...wanted], MODULE);
  return new Map(downloads(stdout).map(({ Path, Dir }) => [Path, Dir]));
}

/**
 * Installs them, and waits until they are served.
 *
 * @throws Error when they never are
 */
export async function applyPublishedCrds(
  controlPlane: Pick<ControlPlane, 'server' | 'caPem' | 'adminToken'>,
  definitions: readonly string[],
): Promise<void> {
  const admin = connectAdmin(controlPlane);
  try {
    const applied = await Promise.all(definitions.map((definition) => admin.apply(definition)));
    await untilServed(admin, applied.flat());
  } finally {
    admin.close();
  }
}

/** Waits until all served versions of these definitions are. @throws Error when they never are */
export async function untilServed(admin: Admin, definitions: readonly KubeObject[]): Promise<void> {
  for (const list of definitions.flatMap(listsOf)) {
    const isServed = async (): Promise<boolean> =>
      admin.get(list).then(
        () => true,
        () => false,
      );
    await waitFor(list, isServed, { everyMs: 50 });
  }
}

interface Definition extends KubeObject {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
  };
}

function listsOf(definition: KubeObject): string[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server accepted it as one
  const { group, names, versions } = (definition as Definition).spec;
  return versions.filter(({ served }) => served).map(({ name }) => `/apis/${group}/${name}/${names.plural}?limit=1`);
}

async function pinnedVersions(): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(join(MODULE, 'go.mod'), 'utf8');
  return new Map([...text.matchAll(/^\t(\S+) (v\S+)$/gm)].map(([, path = '', version = '']) => [path, version]));
}

interface Download {
  readonly Path: string;
  readonly Dir: string;
}

/** Objects that follow each other, as Go prints them. */
function downloads(stdout: string): readonly Download[] {
  return stdout
    .split(/(?<=^\})\n/m)
    .filter((text) => text.trim() !== '')
    .map((text): Download => JSON.parse(text));
}
