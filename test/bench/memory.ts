import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { rbacManifests } from '../../bin/commands/rbac.ts';
import { DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import { connectAdmin } from '../control-plane/admin.ts';
import { resolveBinaries } from '../control-plane/binaries.ts';
import { applyCrds } from '../control-plane/crds.ts';
import { CSRS } from '../control-plane/fixtures.ts';
import { startControlPlane } from '../control-plane/start.ts';
import { lambdaNode } from '../support/lambda-node.ts';
import { bundled } from './bundled.ts';
import { type Figure, figure } from './statistics.ts';
import { createMachines, createStorm } from './storm.ts';

const run = promisify(execFile);
const RUNS = 5;
const REQUESTS = 10_000;

/** Largest resident memory of a process of its own that sweeps 10,000 pending requests against 10,000 Machines, on a real kube-apiserver. */
export async function benchMemory(say: (text: string) => void): Promise<Figure[]> {
  const binaries = await resolveBinaries();
  if ('missing' in binaries) throw new Error(binaries.missing);
  const controlPlane = await startControlPlane({ binaries, controllerManager: false });
  const admin = connectAdmin(controlPlane);
  try {
    await applyCrds(controlPlane);
    await admin.apply(rbacManifests({ group: 'certmarshal' }, [DEFAULT_POLICY]));
    await admin.apply(rbacManifests({ group: 'certmarshal', management: true }, [DEFAULT_POLICY]));
    say(`${REQUESTS} Machines`);
    await createMachines(admin, REQUESTS);
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
  } finally {
    admin.close();
    await controlPlane.stop();
  }
}
