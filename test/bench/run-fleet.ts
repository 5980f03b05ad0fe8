import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import { lambdaNode } from '../support/lambda-node.ts';
import { giveShareOfCore } from './core-share.ts';
import type { ServedCluster } from './simulated-servers.ts';

const run = promisify(execFile);

export interface FleetRun {
  readonly totalMs: number;
  readonly shards: readonly {
    readonly clusters: number;
    readonly ms: number;
    /** Of all threads. */
    readonly processorMs: number;
  }[];
  readonly sweeps: readonly {
    readonly id: string;
    /** From the start of its shard to its outcome. */
    readonly ms: number;
    readonly complete: boolean;
    /** The first one. */
    readonly problem: string | undefined;
  }[];
  readonly maxRssMiB: number;
}

export interface FleetRunOptions {
  readonly rounds?: number;
  /** Of the time that orders have. */
  readonly timeScale?: number;
  /** Of one core. @default all of it */
  readonly share?: number;
}

/** Sweeps clusters in one process with one core and the heap of the function, from a bundle as it is deployed. */
export async function runFleet(
  clusters: readonly ServedCluster[],
  { rounds = 1, timeScale = 1, share = 1 }: FleetRunOptions = {},
): Promise<FleetRun> {
  const directory = await mkdtemp(join(tmpdir(), 'certmarshal-bench-'));
  try {
    const program = join(directory, 'fleet-process.mjs');
    await build({
      entryPoints: [new URL('./fleet-process.ts', import.meta.url).pathname],
      outfile: program,
      bundle: true,
      minify: true,
      platform: 'node',
      format: 'esm',
      mainFields: ['module', 'main'],
      banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    });
    const file = join(directory, 'clusters.json');
    await writeFile(file, JSON.stringify(clusters));
    const result = join(directory, 'result.json');
    const node = [
      process.execPath,
      ...lambdaNode(HUB_SIZES.sweep.memoryMiB),
      program,
      file,
      `${rounds}`,
      `${timeScale}`,
      result,
    ];
    const sweeping = run('taskset', ['-c', '0', ...node], {
      maxBuffer: 64 * 2 ** 20,
    });
    using _ = share < 1 ? giveShareOfCore(sweeping.child.pid ?? 0, share) : undefined;
    await sweeping;
    return JSON.parse(await readFile(result, 'utf8'));
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** The value that 95 % are not above. */
export function p95(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? Number.NaN;
}
