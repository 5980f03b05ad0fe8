import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { ALL_COMPONENTS, COMPONENTS, type Component } from './components.ts';
import { buildComponents, ToolchainError } from './go-build.ts';

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
 * @throws Error with that same reason when `CERTMARSHAL_REQUIRE_REAL=1`: CI must fail, not skip.
 * @throws BuildError when Go is there but the build fails: that is a defect of this module, never a reason to skip.
 */
export async function resolveBinaries(): Promise<Binaries | Missing>;
export async function resolveBinaries<C extends Component>(...wanted: readonly C[]): Promise<Binaries<C> | Missing>;
export async function resolveBinaries(...wanted: readonly Component[]): Promise<Partial<Binaries> | Missing> {
  const found = await find(wanted.length > 0 ? wanted : ALL_COMPONENTS);
  if ('missing' in found && process.env['CERTMARSHAL_REQUIRE_REAL'] === '1') {
    throw new Error(`CERTMARSHAL_REQUIRE_REAL=1, but ${found.missing}`);
  }
  return found;
}

async function find(wanted: readonly Component[]): Promise<Partial<Binaries> | Missing> {
  const assets = process.env['KUBEBUILDER_ASSETS'];
  if (assets && !(await isDirectory(assets))) return { missing: `KUBEBUILDER_ASSETS=${assets} is not a directory` };

  const paths: Partial<Record<Component, string>> = assets ? await inAssets(assets, wanted) : {};
  const rest = wanted.filter((component) => paths[component] === undefined);
  if (rest.length === 0) return paths;
  try {
    return { ...paths, ...(await buildComponents(rest)) };
  } catch (error) {
    if (!(error instanceof ToolchainError)) throw error;
    const names = rest.map((component) => COMPONENTS[component].executable).join(', ');
    const where = assets ? `not in KUBEBUILDER_ASSETS=${assets}` : 'KUBEBUILDER_ASSETS is not set';
    return { missing: `${names}: ${where}, and cannot be built: ${error.message}` };
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
