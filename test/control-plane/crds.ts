import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { connectAdmin, type KubeObject } from './admin.ts';
import type { ControlPlane } from './start.ts';

const MACHINES = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/machines.cluster.x-k8s.io';

/**
 * Installs the Machine definition (machine-crd.yaml) and waits until both of its versions are served.
 *
 * @throws Error when that takes longer than 30 seconds.
 */
export async function applyCrds(controlPlane: Pick<ControlPlane, 'server' | 'caPem' | 'adminToken'>): Promise<void> {
  const admin = connectAdmin(controlPlane);
  try {
    await admin.apply(await readFile(join(import.meta.dirname, 'machine-crd.yaml'), 'utf8'));
    const deadline = Date.now() + 30_000;
    // "Established" comes a moment before the paths answer, so both are asked for.
    while (!(isEstablished(await admin.get<Definition>(MACHINES)) && (await areServed()))) {
      if (Date.now() > deadline) throw new Error('the Machine definition is not served after 30 s');
      await sleep(100);
    }
  } finally {
    admin.close();
  }

  async function areServed(): Promise<boolean> {
    const lists = ['v1beta1', 'v1beta2'].map((version) => admin.get(`/apis/cluster.x-k8s.io/${version}/machines`));
    return Promise.all(lists).then(
      () => true,
      () => false,
    );
  }
}

interface Definition extends KubeObject {
  readonly status?: { readonly conditions: readonly { readonly type: string; readonly status: string }[] | null };
}

function isEstablished(definition: Definition): boolean {
  // The server writes null before it has looked at the definition.
  return (
    definition.status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ?? false
  );
}
