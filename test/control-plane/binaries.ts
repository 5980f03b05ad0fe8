import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ToolError } from './cache.ts';
import { ALL_COMPONENTS, COMPONENTS, type Component } from './components.ts';
import { buildComponents } from './go-build.ts';

/** Absolute paths of executables, by component. */
export type Binaries<C extends Component = Component> = Readonly<Record<C, string>>;

/** Why the real components cannot be had on this machine, as one sentence for a person. */
export interface Missing {
  readonly missing: string;
}

/**
 * Finds the executables that a test needs: first in `KUBEBUILDER_ASSETS` (the envtest convention: a directory with
 * `etcd`, `kube-apiserver` and `kubectl`), and what is not there in the cache of the Go build, built now if need be.
 *
 * @param wanted components to find; all of them when empty. Ask for few: only those are built.
 * @returns the paths, or the reason why one cannot be had.
 * @throws BuildError when Go is there but the build fails: that is a defect of this module, never a reason to skip.
 */
export async function resolveBinaries(): Promise<Binaries | Missing>;
export async function resolveBinaries<C extends Component>(...wanted: readonly C[]): Promise<Binaries<C> | Missing>;
export async function resolveBinaries(...wanted: readonly Component[]): Promise<Partial<Binaries> | Missing> {
  const components = wanted.length > 0 ? wanted : ALL_COMPONENTS;
  const assets = process.env['KUBEBUILDER_ASSETS'];
  if (assets && !(await isDirectory(assets)))
    return { missing: `KUBEBUILDER_ASSETS=${assets} is not a directory; correct it, or leave it empty` };

  const paths: Partial<Record<Component, string>> = assets ? await inAssets(assets, components) : {};
  const rest = components.filter((component) => paths[component] === undefined);
  if (rest.length === 0) return paths;
  try {
    return { ...paths, ...(await buildComponents(rest)) };
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    const names = rest.map((component) => COMPONENTS[component].executable).join(', ');
    return { missing: assets ? `KUBEBUILDER_ASSETS=${assets} lacks ${names}, and ${error.message}` : error.message };
  }
}

async function inAssets(assets: string, wanted: readonly Component[]): Promise<Partial<Binaries>> {
  const paths: Partial<Record<Component, string>> = {};
  for (const component of wanted) {
    const path = join(assets, COMPONENTS[component].executable);
    if (await isExecutable(path)) paths[component] = path;
  }
  return paths;
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
