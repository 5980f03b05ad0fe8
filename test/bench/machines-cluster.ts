import { rbacManifests } from '../../bin/commands/rbac.ts';
import { DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import { type Admin, connectAdmin } from '../control-plane/admin.ts';
import { resolveBinaries } from '../control-plane/binaries.ts';
import { applyCrds } from '../control-plane/crds.ts';
import { ensureCluster } from '../control-plane/fixtures.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/start.ts';
import { machineOf } from './fixtures.ts';
import { inParallel } from './in-parallel.ts';

/** Objects that are created at a time. */
export const CREATORS = 32;

/** A real kube-apiserver without a signer, with so many Machines, in which certmarshal has its rights. */
export interface MachinesCluster extends AsyncDisposable {
  readonly controlPlane: ControlPlane;
  readonly admin: Admin;
}

/** @throws Error when the programs of a control plane are missing */
export async function startMachinesCluster(machines: number, say: (text: string) => void): Promise<MachinesCluster> {
  const binaries = await resolveBinaries();
  if ('missing' in binaries) throw new Error(binaries.missing);
  await using parts = new AsyncDisposableStack();
  const controlPlane = await startControlPlane({ binaries, controllerManager: false });
  parts.defer(() => controlPlane.stop());
  const admin = connectAdmin(controlPlane);
  parts.defer(() => admin.close());
  await applyCrds(controlPlane);
  await admin.apply(rbacManifests({ group: 'certmarshal' }, [DEFAULT_POLICY]));
  await admin.apply(rbacManifests({ group: 'certmarshal', management: true }, [DEFAULT_POLICY]));
  say(`${machines} Machines`);
  await createMachines(admin, machines);
  const started = parts.move();
  return { controlPlane, admin, [Symbol.asyncDispose]: async () => started.disposeAsync() };
}

/** Machines of cluster `bench`, one for each of the first `count` nodes. */
async function createMachines(admin: Admin, count: number): Promise<void> {
  const path = '/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machines';
  await ensureCluster(admin, 'default', 'bench');
  await inParallel(count, CREATORS, async (index) => {
    const machine = machineOf(index) as { metadata: object; spec: object; status: object };
    const { metadata } = await admin.post<{ metadata: { name: string } }>(path, {
      ...machine,
      // Its owners are not there, and have no uid.
      metadata: { ...machine.metadata, namespace: 'default', ownerReferences: undefined },
      spec: { ...machine.spec, bootstrap: {}, infrastructureRef: {} },
    });
    await admin.put(`${path}/${metadata.name}/status`, { ...machine, metadata });
  });
}
