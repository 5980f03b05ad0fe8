import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '../patience.ts';
import { connectAdmin, type KubeObject } from './admin.ts';
import type { ControlPlane } from './start.ts';

const KINDS = ['machines', 'clusters'] as const;
const VERSIONS = ['v1beta1', 'v1beta2'] as const;

/**
 * Installs the definitions of Machine and Cluster (machine-crd.yaml) and waits until both versions of both are served.
 *
 * @throws Error when they never are.
 */
export async function applyCrds(controlPlane: Pick<ControlPlane, 'server' | 'caPem' | 'adminToken'>): Promise<void> {
  const admin = connectAdmin(controlPlane);
  try {
    await admin.apply(await readFile(join(import.meta.dirname, 'machine-crd.yaml'), 'utf8'));
    // "Established" comes a moment before the paths answer, so both are asked for.
    const isDone = async (): Promise<boolean> => (await areEstablished()) && areServed();
    await waitFor('the definitions of Machine and Cluster', isDone);
  } finally {
    admin.close();
  }

  async function areEstablished(): Promise<boolean> {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const found = await Promise.all(KINDS.map((kind) => admin.get<Definition>(`${path}/${kind}.cluster.x-k8s.io`)));
    return found.every(isEstablished);
  }

  async function areServed(): Promise<boolean> {
    const lists = KINDS.flatMap((kind) =>
      VERSIONS.map((version) => admin.get(`/apis/cluster.x-k8s.io/${version}/${kind}`)),
    );
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
