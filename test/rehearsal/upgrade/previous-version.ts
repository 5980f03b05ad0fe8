import { execFile } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { build, type Plugin } from 'esbuild';
import type { createJsonObjects } from '../../../lambdas/aws/json-objects.ts';
import type { foldOutcomes } from '../../../lambdas/fleet/fold-outcomes.ts';
import type { STATE_KEYS } from '../../../lambdas/fleet/state-keys.ts';
import type { KubernetesError } from '../../../lambdas/kubernetes/errors.ts';
import type { stepRollout } from '../../../lambdas/rollout/step-rollout.ts';
import { note } from '../../control-plane/real.ts';
import type { Version } from '../../fleet/alarms/story.ts';
import { installOnce } from '../install-once.ts';
import { tool } from '../tool.ts';

/** The last commits of what this version may meet. */
export const PREVIOUS = {
  /** An order is for one cluster, and report starts when outcomes come. */
  orders: 'deeec444f2eeaf9a57877c151ac2e7685f3b5abf',
  /** The same, and registry and index have no number in their keys. */
  keys: 'f9eebd1973007719b6ca7c186d96415ee39cc477',
} as const;
/** What they need and this version does not, as their lock files have it. */
const GONE = '@aws-lambda-powertools/batch@2.35.0';
const PROJECT = resolve(import.meta.dirname, '../../..');
const run = promisify(execFile);

/** The functions of a version before, as its own tests wire them, and what else of it writes state. */
export interface PreviousVersion extends Version {
  readonly STATE_KEYS: typeof STATE_KEYS;
  readonly createJsonObjects: typeof createJsonObjects;
  readonly foldOutcomes: typeof foldOutcomes;
}

/** What rolls, and opens recovery windows, in that of `PREVIOUS.orders`. */
export interface RecoveringVersion extends PreviousVersion {
  readonly KubernetesError: typeof KubernetesError;
  readonly stepRollout: typeof stepRollout;
  readonly recoveryBucket: (...given: readonly unknown[]) => Promise<unknown>;
  readonly recoveryOpenInBucket: (...given: readonly unknown[]) => Promise<number>;
  readonly recoveryWindow: (...given: readonly unknown[]) => unknown;
}

const FILES: Readonly<Record<keyof PreviousVersion, string>> = {
  startHub: 'test/fleet/hub/hub.ts',
  startNotify: 'test/fleet/alarms/story.ts',
  fleetOf: 'test/fleet/hub/world.ts',
  STATE_KEYS: 'lambdas/fleet/state-keys.ts',
  createJsonObjects: 'lambdas/aws/json-objects.ts',
  foldOutcomes: 'lambdas/fleet/fold-outcomes.ts',
};
const RECOVERING: Readonly<Record<Exclude<keyof RecoveringVersion, keyof PreviousVersion>, string>> = {
  KubernetesError: 'lambdas/kubernetes/errors.ts',
  stepRollout: 'lambdas/rollout/step-rollout.ts',
  recoveryBucket: 'bin/commands/recovery/aws.ts',
  recoveryOpenInBucket: 'bin/commands/recovery/bucket.ts',
  recoveryWindow: 'bin/commands/recovery/window.ts',
};

/**
 * Finds (and installs, once) the versions before. Await it at the top level of a test file.
 *
 * @returns why the suite has to be skipped: also in CI, where the clone is a shallow one
 */
export async function withoutPrevious(suite: string): Promise<string | undefined> {
  for (const commit of Object.values(PREVIOUS)) {
    const isThere = await run('git', ['-C', PROJECT, 'cat-file', '-e', commit]).catch(() => undefined);
    if (isThere === undefined) {
      const reason = `this clone does not have the commit ${commit}; git fetch --unshallow`;
      note(suite, reason);
      return reason;
    }
    const { missing } = await tool(suite, async () => previousSource(commit));
    if (missing !== undefined) return missing;
  }
  return undefined;
}

/**
 * The source of a version before, from the history of this clone, and what it needs.
 *
 * @returns its directory
 * @throws ToolError where npm cannot be reached
 */
export async function previousSource(commit: string): Promise<string> {
  const install = async (directory: string): Promise<void> => {
    const [archive, source] = [join(directory, 'source.tar'), join(directory, 'source')];
    await run('git', ['-C', PROJECT, 'archive', '--output', archive, commit]);
    await mkdir(source);
    await run('tar', ['-xf', archive, '-C', source]);
    const quiet = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts'];
    await run('npm', ['install', '--prefix', directory, ...quiet, GONE]);
  };
  return join(await installOnce({ name: 'previous-version', version: commit }, install), 'source');
}

export async function loadPrevious(commit: string): Promise<PreviousVersion> {
  return load(commit, FILES);
}

export async function loadRecovering(): Promise<RecoveringVersion> {
  return load(PREVIOUS.orders, { ...FILES, ...RECOVERING });
}

async function load<T>(commit: string, files: Readonly<Record<string, string>>): Promise<T> {
  const source = await previousSource(commit);
  const outfile = join(process.env['CERTMARSHAL_SCRATCH'] ?? source, `${commit}.mjs`);
  await build({
    stdin: {
      contents: Object.entries(files)
        .map(([name, file]) => `export { ${name} } from './${file}';`)
        .join(''),
      resolveDir: source,
    },
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    keepNames: true,
    logLevel: 'warning',
    nodePaths: [join(PROJECT, 'node_modules')],
    plugins: [AS_IN_A_STORY],
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
  });
  return import(pathToFileURL(outfile).href);
}

/** Its stories have alarms of its templates: of them, only how they wire notify is needed. */
const AS_IN_A_STORY: Plugin = {
  name: 'as in a story',
  setup(bundle) {
    bundle.onResolve({ filter: /^aws-cdk-lib|\/unit\/lib\/stacks\.ts$/ }, ({ path }) => ({ path, namespace: 'none' }));
    bundle.onLoad({ filter: /./, namespace: 'none' }, () => ({
      contents: 'export const Template = undefined, stacksOf = undefined;',
    }));
    // As in the simulated fleet: nobody waits between tries.
    bundle.onResolve({ filter: /^node:timers\/promises$/ }, ({ path, namespace }) =>
      namespace === 'timers' ? undefined : { path, namespace: 'timers' },
    );
    bundle.onLoad({ filter: /./, namespace: 'timers' }, () => ({
      contents: "export * from 'timers/promises'; export const setTimeout = async () => undefined;",
    }));
    bundle.onLoad({ filter: /\/alarms\/story\.ts$/ }, async ({ path }) => ({
      contents: `${await readFile(path, 'utf8')}\nexport { startNotify };`,
      loader: 'ts',
    }));
  },
};
