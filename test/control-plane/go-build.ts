import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheBase, cacheDirectory, downloadError, sourceKey, ToolError } from './cache.ts';
import { COMPONENTS, type Component, type ComponentSource } from './components.ts';
import { hasCode } from './errno.ts';
import { removeLeftovers, withFileLock } from './file-lock.ts';

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
 * @throws ToolError where Go, what it downloads or the cache cannot be had; BuildError when the compiler fails.
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
 * @throws ToolError where Go, what it downloads or the cache cannot be had; BuildError when the compiler fails
 */
export async function buildExecutables(
  directory: string,
  wanted: readonly NamedSource[],
  linker: string,
): Promise<string[]> {
  const flags = ['-trimpath', '-buildvcs=false', '-ldflags', linker];
  const key = await sourceKey(directory, [await toolchain(directory), ...flags]);
  const cache = join(cacheBase(), 'control-plane', key);
  const lock = join(cache, '.lock');
  const isUnfinished = (name: string): boolean => name.endsWith('.tmp');
  const pathOf = ({ executable }: NamedSource): string => join(cache, executable);

  const absent = async (): Promise<NamedSource[]> => {
    const built = await Promise.all(wanted.map((source) => exists(pathOf(source))));
    return wanted.filter((_, index) => !built[index]);
  };
  if ((await absent()).length > 0) {
    await cacheDirectory('control-plane', key);
    const onWait = (owner: string): void => say(`${owner} is building (${lock}), waiting for it…`);
    // Looked at again inside the lock: whoever held it before may have built what is wanted here.
    const build = async (): Promise<void> => {
      for (const source of await absent()) {
        try {
          await buildOne(directory, source, pathOf(source), flags);
        } finally {
          await removeLeftovers(lock, isUnfinished, true);
        }
      }
    };
    await withFileLock(lock, build, { onWait });
  }
  await removeLeftovers(lock, isUnfinished);
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
  await go(['build', ...flags, '-o', unfinished, goPackage], directory);
  await rename(unfinished, path);
  say(`built ${label} in ${Math.round((Date.now() - started) / 1000)} s`);
}

/** The version that go.mod pins, for example `v1.37.2`. */
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

/** Go's version and platform for a module, for example `go1.26.8 linux amd64`. */
async function toolchain(directory: string): Promise<string> {
  return (await go(['env', 'GOVERSION', 'GOOS', 'GOARCH'], directory)).trim().split('\n').join(' ');
}

/**
 * Runs Go.
 *
 * @param directory of a go.mod
 * @returns what it prints
 * @throws ToolError when it is absent or too old, cannot download what go.mod pins or has no cache of its own; else BuildError
 */
export async function go(args: readonly string[], directory: string): Promise<string> {
  const { code, stdout, stderr } = await run(args, directory).catch(async (error: unknown) => {
    if (!hasCode(error, 'ENOENT')) throw error;
    throw new ToolError(`there is no "go" on the PATH; ${await advice(directory)}`);
  });
  if (code === 0) return stdout;
  const output = `${stderr}${stdout}`;
  if (TOO_OLD.test(output)) throw new ToolError(`the "go" on the PATH is too old; ${await advice(directory)}`);
  const cache = NO_CACHE.exec(output)?.[0];
  if (cache !== undefined)
    throw new ToolError(
      `the caches of Go cannot be written (${cache}); set GOCACHE and GOMODCACHE to directories that can`,
    );
  const command = `go ${args[0] === 'build' ? `build ${args.at(-1)}` : args.slice(0, 2).join(' ')}`;
  throw downloadError('Go modules', output) ?? new BuildError(`${command} failed (${code}):\n${lastLines(output, 20)}`);
}

/** What Go says that is older than go.mod wants: where it may not get a newer one, where it cannot, and before 1.21. */
const TOO_OLD = /requires go >= |download go\d|invalid go version/;

const NO_CACHE = /.*(?:build cache|module cache|(?:mkdir|open) \S+: (?:permission denied|read-only file system)).*/;

async function advice(directory: string): Promise<string> {
  const version = /^go (\d+\.\d+)/m.exec(await readFile(join(directory, 'go.mod'), 'utf8'))?.[1];
  return `install Go ${version} or newer`;
}

interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Its failure is the code, its absence an ENOENT. */
async function run(args: readonly string[], cwd: string): Promise<Output> {
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
