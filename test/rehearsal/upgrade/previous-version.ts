import { execFile } from 'node:child_process';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { note } from '../../control-plane/real.ts';
import { installOnce } from '../install-once.ts';
import { tool } from '../tool.ts';

/** The last commit in which an order is for one cluster, and report starts when outcomes come. */
export const PREVIOUS = { orders: 'deeec444f2eeaf9a57877c151ac2e7685f3b5abf' } as const;
/** What they need and this version does not, as their lock files have it. */
const GONE = '@aws-lambda-powertools/batch@2.35.0';
const PROJECT = resolve(import.meta.dirname, '../../..');
const run = promisify(execFile);

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
async function previousSource(commit: string): Promise<string> {
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

/**
 * A copy of a version before from which it can be deployed: what it depends on is what this version depends on.
 *
 * @param empty a directory
 * @returns that of its cdk.json
 */
export async function previousApp(commit: string, empty: string): Promise<string> {
  const source = await previousSource(commit);
  const app = join(empty, 'source');
  await cp(source, app, { recursive: true });
  await symlink(join(PROJECT, 'node_modules'), join(app, 'node_modules'));
  await symlink(join(dirname(source), 'node_modules'), join(empty, 'node_modules'));
  return app;
}
