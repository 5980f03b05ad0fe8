import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import { CSRS } from '../control-plane/fixtures.ts';
import { lambdaNode } from '../support/lambda-node.ts';
import { bundled } from './bundled.ts';
import { startMachinesCluster } from './machines-cluster.ts';
import { type Figure, figure } from './statistics.ts';
import { createStorm } from './storm.ts';

const run = promisify(execFile);
const RUNS = 5;
const REQUESTS = 10_000;

/** Largest resident memory of a process of its own that sweeps 10,000 pending requests against 10,000 Machines, on a real kube-apiserver. */
export async function benchMemory(say: (text: string) => void): Promise<Figure[]> {
  await using cluster = await startMachinesCluster(REQUESTS, say);
  const { controlPlane, admin } = cluster;
  const program = await bundled('sweep-process', controlPlane.directory);
  const peaks: number[] = [];
  for (let count = 1; count <= RUNS; count += 1) {
    say(`run ${count} of ${RUNS}`);
    await createStorm(admin, { valid: REQUESTS, hostile: 0 });
    const node = [...lambdaNode(HUB_SIZES.sweep.memoryMiB), program, controlPlane.kubeconfig('certmarshal')];
    const { stdout } = await run(process.execPath, node);
    const { approved, maxRssMiB } = JSON.parse(stdout) as { approved: number; maxRssMiB: number };
    if (approved !== REQUESTS) throw new Error(`${approved} of ${REQUESTS} approved`);
    peaks.push(maxRssMiB);
    await admin.delete(CSRS);
  }
  return [
    figure('peak RSS of a sweep, 10,000 requests and 10,000 Machines', 'MiB', peaks, {
      text: '< 256',
      met: (peak) => peak < 256,
    }),
  ];
}
