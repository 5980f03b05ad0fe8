import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { cacheBase, sourceKey } from './cache.ts';
import { COMPONENTS, type Component, type ComponentSource } from './components.ts';
import { hasCode } from './errno.ts';
import { withFileLock } from './file-lock.ts';

/** Thrown when Go is absent or too old. Its message says what to do about it. */
export class ToolchainError extends Error {
  override readonly name = 'ToolchainError';
}

/** Thrown when Go is there but a component does not build. Its message ends with the compiler's last lines. */
export class BuildError extends Error {
  override readonly name = 'BuildError';
}

const module = import.meta.dirname;

/**
 * Builds the components that are not in the cache yet, one after the other, and says so on stderr.
 *
 * Each executable appears in the cache by a rename, so a file that is there is complete; a lock keeps two test workers
 * from building the same thing at once.
 *
 * @returns absolute paths, one for each component wanted.
 * @throws ToolchainError without a usable Go; BuildError when the compiler fails.
 */
export async function buildComponents(wanted: readonly Component[]): Promise<Partial<Record<Component, string>>> {
  const version = await kubernetesVersion();
  const flags = linkerFlags(version);
  const paths: Partial<Record<Component, string>> = {};
  for (const [directory, components] of Map.groupBy(wanted, directoryOf)) {
    const sources = components.map((component) => withVersion(COMPONENTS[component], version));
    const built = await buildExecutables(directory, sources, flags);
    components.forEach((component, index) => Object.assign(paths, { [component]: built[index] }));
  }
  return paths;
}

/** Where the go.mod of a component is. */
function directoryOf(component: Component): string {
  return join(module, COMPONENTS[component].module ?? '.');
}

/** What is printed while it is built. */
function withVersion(source: ComponentSource, version: string): NamedSource {
  const { executable, goPackage } = source;
  return { ...source, label: goPackage.startsWith('k8s.io/kubernetes') ? `${executable} ${version}` : executable };
}

/** A program to build, and how it is called while that goes on. */
export interface NamedSource extends Omit<ComponentSource, 'module'> {
  readonly label: string;
}

/**
 * Builds those executables of one Go module that are not in the cache yet: see {@link buildComponents}.
 *
 * @param directory the directory of its go.mod
 * @param linker what `-ldflags` gets
 * @returns absolute paths, in the order of `wanted`
 * @throws ToolchainError without a usable Go; BuildError when the compiler fails
 */
export async function buildExecutables(
  directory: string,
  wanted: readonly NamedSource[],
  linker: string,
): Promise<string[]> {
  const flags = ['-trimpath', '-buildvcs=false', '-ldflags', linker];
  const key = await sourceKey(directory, [await toolchain(), ...flags]);
  const cache = join(cacheBase(), 'control-plane', key);
  const pathOf = ({ executable }: NamedSource): string => join(cache, executable);

  const absent = async (): Promise<NamedSource[]> => {
    const built = await Promise.all(wanted.map((source) => exists(pathOf(source))));
    return wanted.filter((_, index) => !built[index]);
  };
  if ((await absent()).length > 0) {
    await mkdir(cache, { recursive: true });
    const lock = join(cache, '.lock');
    const onWait = (): void => say(`another process is building (${lock}), waiting for it…`);
    // Looked at again inside the lock: whoever held it before may have built what is wanted here.
    const build = async (): Promise<void> => {
      for (const source of await absent()) await buildOne(directory, source, pathOf(source), flags);
    };
    await withFileLock(lock, build, { onWait });
  }
  return wanted.map(pathOf);
}

async function buildOne(
  directory: string,
  { goPackage, coldBuild, label }: NamedSource,
  path: string,
  flags: readonly string[],
): Promise<void> {
  say(`building ${label} (once, about ${coldBuild})…`);
  const started = Date.now();
  const unfinished = `${path}.${process.pid}.tmp`;
  try {
    const { code, stderr } = await go(['build', ...flags, '-o', unfinished, goPackage], directory);
    if (code !== 0) throw new BuildError(`go build ${goPackage} failed (${code}):\n${lastLines(stderr, 20)}`);
    await rename(unfinished, path);
  } finally {
    await rm(unfinished, { force: true });
  }
  say(`built ${label} in ${Math.round((Date.now() - started) / 1000)} s`);
}

/** The version that go.mod pins, for example `v1.36.3`. */
async function kubernetesVersion(): Promise<string> {
  const text = await readFile(join(module, 'go.mod'), 'utf8');
  const version = /^\s*k8s\.io\/kubernetes (v\S+)/m.exec(text)?.[1];
  if (version === undefined) throw new BuildError('go.mod does not require k8s.io/kubernetes');
  return version;
}

/** What upstream's release build sets: without it the server reports v0.0.0, which clients refuse. */
function linkerFlags(version: string): string {
  const [, major = '', minor = ''] = /^v(\d+)\.(\d+)\./.exec(version) ?? [];
  const variables = { gitVersion: version, gitMajor: major, gitMinor: minor };
  const packages = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'];
  const settings = packages.flatMap((name) =>
    Object.entries(variables).map(([variable, value]) => `-X ${name}.${variable}=${value}`),
  );
  return ['-s', '-w', ...settings].join(' ');
}

/**
 * Go's version and platform, for example `go1.26.8 linux amd64`.
 *
 * @throws ToolchainError when there is no usable Go
 */
export async function toolchain(): Promise<string> {
  const advice = 'install Go 1.26 or newer, or point KUBEBUILDER_ASSETS at a directory that holds the executables';
  let answer: Output;
  try {
    answer = await go(['env', 'GOVERSION', 'GOOS', 'GOARCH']);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    throw new ToolchainError(`there is no "go" on the PATH; ${advice}`);
  }
  if (answer.code !== 0) throw new ToolchainError(`${lastLines(answer.stderr, 1)}; ${advice}`);
  return answer.stdout.trim().split('\n').join(' ');
}

export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs Go; its failure is the code, its absence an ENOENT. */
export async function go(args: readonly string[], cwd: string = module): Promise<Output> {
  // Static executables, and no surrounding workspace: the result depends on the directory alone.
  const env = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' };
  const child = spawn('go', args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? 1, stdout, stderr }));
  });
}

function say(line: string): void {
  process.stderr.write(`control-plane: ${line}\n`);
}

function lastLines(text: string, count: number): string {
  return text.trimEnd().split('\n').slice(-count).join('\n');
}

async function exists(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
