import { describe, expect, it } from 'vitest';
import type { KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { readClusterObject } from '../../../lambdas/kubernetes/cluster-object.ts';

const { signal } = new AbortController();

/** A management cluster with these Clusters of the name, as a LIST with a field selector answers. */
function management(version: string, ...items: readonly unknown[]) {
  const asked: unknown[] = [];
  const client: KubernetesClient = {
    server: 'https://management.example',
    stats: { requests: 0, writes: 0, retries: 0, throttled: 0, bytes: 0 },
    close() {},
    async request({ path, query }) {
      if (path === '/apis/cluster.x-k8s.io') return { versions: [{ version }] };
      asked.push([path, query?.['fieldSelector']]);
      return { metadata: {}, items: [...items] };
    },
  };
  return { client, asked };
}

/** Source: Cluster API, `ClusterSpec`, `APIEndpoint`, `NetworkRanges`. */
const spec = {
  clusterNetwork: { services: { cidrBlocks: ['10.96.0.0/12', 'fd00:10:96::/112'] }, pods: { cidrBlocks: ['x'] } },
  controlPlaneEndpoint: { host: '10.0.1.5', port: 6443 },
  infrastructureRef: { kind: 'VSphereCluster', name: 'berlin' },
};
const metadata = { name: 'berlin', namespace: 'eksa-system' };
const BARE = { ...metadata, deleting: false, paused: false, topology: false, managedEtcd: false };
const read = (client: KubernetesClient) =>
  readClusterObject(client, { clusterName: 'berlin', namespace: 'eksa-system', signal });

describe('readClusterObject', () => {
  it.each(['v1beta1', 'v1beta2'])('reads one of %s with one LIST', async (version) => {
    const { client, asked } = management(version, { metadata, spec });
    expect(await read(client)).toEqual({
      ...BARE,
      serviceCidrs: ['10.96.0.0/12', 'fd00:10:96::/112'],
      endpoint: '10.0.1.5',
      infrastructure: 'VSphereCluster',
    });
    expect(asked).toEqual([
      [`/apis/cluster.x-k8s.io/${version}/namespaces/eksa-system/clusters`, 'metadata.name=berlin'],
    ]);
  });

  it.each<[string, unknown, readonly string[] | 'unusable']>([
    ['nothing', {}, []],
    ['null', { clusterNetwork: null, controlPlaneEndpoint: null, infrastructureRef: null }, []],
    [
      'what is of the wrong kind',
      {
        clusterNetwork: { services: { cidrBlocks: '10.96.0.0/12' } },
        controlPlaneEndpoint: { host: ['10.0.1.5'] },
        infrastructureRef: { kind: 7 },
      },
      'unusable',
    ],
    [
      'what is no CIDR, and texts without end',
      {
        clusterNetwork: { services: { cidrBlocks: ['10.96.0.0/12', '10.96.0.0/33'] } },
        controlPlaneEndpoint: { host: 'x'.repeat(254) },
        infrastructureRef: { kind: '' },
      },
      'unusable',
    ],
    [
      'too many',
      { clusterNetwork: { services: { cidrBlocks: Array.from({ length: 17 }, () => '10.96.0.0/12') } } },
      'unusable',
    ],
  ])('takes nothing from one that says %s', async (_, given, serviceCidrs) => {
    expect(await read(management('v1beta2', { metadata, spec: given }).client)).toEqual({ ...BARE, serviceCidrs });
  });

  it('says where it looked when there is none', async () => {
    await expect(read(management('v1beta2').client)).rejects.toMatchObject({
      kind: 'not-found',
      problem: 'there is no Cluster called berlin in namespace eksa-system',
      remedy: expect.stringContaining('kubectl get clusters.cluster.x-k8s.io -A'),
    });
  });
});
