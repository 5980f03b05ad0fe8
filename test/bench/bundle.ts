import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { synthesize } from '../unit/lib/synthesize.ts';
import { type Figure, figure } from './statistics.ts';

const run = promisify(execFile);
const RUNS = 15;
const FLEET = new URL('../../fleet.yaml', import.meta.url);

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
  return [
    figure('sweep bundle, minified', 'kB', [(await stat(sweep)).size / 1000], {
      text: '≤ 900',
      met: (size) => size <= 900,
    }),
    figure('sweep bundle, gzipped', 'kB', [gzipSync(await readFile(sweep)).length / 1000]),
    figure('load of the sweep bundle on one core', 'ms', loads, { text: '≤ 120', met: (time) => time <= 120 }),
    figure('synth, with esbuild and cdk-nag', 's', [synthSeconds]),
  ];
}

/** Time of `import`, in a process that has done nothing before. */
async function loadMs(bundle: string): Promise<number> {
  const script = `const startedAt = performance.now(); await import(${JSON.stringify(bundle)}); console.log(performance.now() - startedAt)`;
  const node = [process.execPath, '--input-type=module', '--eval', script];
  // taskset is part of every Linux; elsewhere the figure is that of all cores.
  const [command = '', ...args] = process.platform === 'linux' ? ['taskset', '--cpu-list', '0', ...node] : node;
  const { stdout } = await run(command, args, { env: { AWS_REGION: 'eu-west-1' }, cwd: dirname(bundle) });
  return Number(stdout);
}
