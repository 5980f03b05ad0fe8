import { execFile } from 'node:child_process';
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { SWEEP_ENVIRONMENT } from '../unit/functions/invoke-bundle.ts';
import { synthesize } from '../unit/lib/synthesize.ts';
import { type Figure, figure } from './statistics.ts';

const run = promisify(execFile);
const RUNS = 15;
const FLEET = new URL('../../fleet.yaml', import.meta.url);

/** What the function cannot start without. */
const ENVIRONMENT = { ...SWEEP_ENVIRONMENT, AWS_REGION: 'eu-west-1', OUTCOMES_QUEUE_URL: 'http://127.0.0.1:1' };

/** Size and load time of the sweep function's bundle, as `npm run synth` makes it. Every load is a new process on one core. */
export async function benchBundle(say: (text: string) => void): Promise<Figure[]> {
  say('synthesizing');
  const startedAt = performance.now();
  await using synthesized = await synthesize(await readFile(FLEET, 'utf8'));
  const synthSeconds = (performance.now() - startedAt) / 1000;
  const { sweep } = synthesized.bundles;
  const loads: number[] = [];
  for (let count = 1; count <= RUNS; count += 1) {
    say(`load ${count} of ${RUNS}`);
    loads.push(await loadMs(sweep));
  }
  const { atStart, later } = await parts(sweep);
  return [
    figure('sweep bundle, what is loaded at start, minified', 'kB', [await bytes(atStart)], {
      text: '≤ 900',
      met: (size) => size <= 900,
    }),
    figure('the same, gzipped', 'kB', [
      gzipSync(Buffer.concat(await Promise.all(atStart.map((file) => readFile(file))))).length / 1000,
    ]),
    figure('what is loaded with the first open request of an EKS cluster', 'kB', [await bytes(later)]),
    figure('load of the sweep bundle on one core', 'ms', loads, { text: '≤ 120', met: (time) => time <= 120 }),
    figure('synth, with esbuild and cdk-nag', 's', [synthSeconds]),
  ];
}

/** The files of a bundle: what it imports, and what it may import later. */
async function parts(
  bundle: string,
): Promise<{ readonly atStart: readonly string[]; readonly later: readonly string[] }> {
  const directory = dirname(bundle);
  const atStart = new Set<string>();
  const follow = async (file: string): Promise<void> => {
    if (atStart.has(file)) return;
    atStart.add(file);
    const text = await readFile(file, 'utf8');
    for (const [, name = ''] of text.matchAll(/(?:from|import)"\.\/([^"]+\.mjs)"/g))
      await follow(join(directory, name));
  };
  await follow(bundle);
  const all = (await readdir(directory)).filter((name) => name.endsWith('.mjs')).map((name) => join(directory, name));
  return { atStart: [...atStart], later: all.filter((file) => !atStart.has(file)) };
}

async function bytes(files: readonly string[]): Promise<number> {
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  return sizes.reduce((sum, next) => sum + next, 0) / 1000;
}

/** Time of `import`, in a process that has done nothing before. */
async function loadMs(bundle: string): Promise<number> {
  const script = `const startedAt = performance.now(); await import(${JSON.stringify(bundle)}); console.log(performance.now() - startedAt)`;
  const node = [process.execPath, '--input-type=module', '--eval', script];
  // taskset is part of every Linux; elsewhere the figure is that of all cores.
  const [command = '', ...args] = process.platform === 'linux' ? ['taskset', '--cpu-list', '0', ...node] : node;
  const { stdout } = await run(command, args, { env: ENVIRONMENT, cwd: dirname(bundle) });
  return Number(stdout);
}
