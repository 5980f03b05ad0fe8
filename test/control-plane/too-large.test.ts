import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rbacManifests } from '../../bin/commands/rbac.ts';
import { approve } from '../../lambdas/approval/approve.ts';
import { DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import { createKubernetesClient, type KubernetesClient } from '../../lambdas/kubernetes/client.ts';
import { KubernetesError } from '../../lambdas/kubernetes/errors.ts';
import { listKind } from '../../lambdas/kubernetes/list.ts';
import { loadLocalKubeconfig } from '../../lambdas/kubernetes/local-kubeconfig.ts';
import { text } from '../../lambdas/resources/fields.ts';
import { makeRequest } from '../unit/x509/request-factory.ts';
import { type Admin, connectAdmin } from './admin.ts';
import { applyCrds } from './crds.ts';
import { asNode, CSRS, createCsr, createMachine, createNode } from './fixtures.ts';
import { realComponents } from './real.ts';
import { type ControlPlane, startControlPlane } from './start.ts';

const real = await realComponents('objects that are too large, in a real API server', 'etcd', 'kubeApiserver');
const signal = new AbortController().signal;

/** As many as fit into the 256 KiB of annotations that Kubernetes allows. */
const annotations = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [index.toString(36).padStart(4, 'a'), '']));

describe.skipIf(real.missing)('one object of a real cluster that is too large', () => {
  let controlPlane: ControlPlane;
  let admin: Admin;
  let client: KubernetesClient;

  const requestOf = (node: string, address: string): string =>
    makeRequest({
      commonName: `system:node:${node}`,
      sans: [
        { kind: 'dNSName', value: node },
        { kind: 'iPAddress', value: address },
      ],
    }).pem.toString();

  beforeAll(async () => {
    controlPlane = await startControlPlane({ binaries: real.binaries, controllerManager: false });
    admin = connectAdmin(controlPlane);
    await applyCrds(controlPlane);
    await admin.apply(rbacManifests({ group: 'certmarshal', audit: true }, [DEFAULT_POLICY]));
    await admin.apply(rbacManifests({ group: 'certmarshal', management: true, audit: false }, [DEFAULT_POLICY]));
    const kubeconfig = await readFile(controlPlane.kubeconfig('certmarshal'), 'utf8');
    client = createKubernetesClient({ ...(await loadLocalKubeconfig(kubeconfig)), addresses: 'local' });
  });

  afterAll(async () => {
    client?.close();
    admin?.close();
    await controlPlane?.stop();
  });

  it.each(['a-poison', 'z-poison'])(
    'is a request %s of one node: all others are judged, and it is named',
    async (name) => {
      for (const n of [1, 2]) {
        const [node, address] = [`${name}-${n}`, `10.0.${name.codePointAt(0)}.${n}`];
        const addresses = [{ type: 'InternalIP', address } as const, { type: 'Hostname', address: node } as const];
        await createMachine(admin, { name: node, clusterName: 'berlin', nodeName: node, addresses });
        if (n === 1)
          await createCsr(admin, { name: `csr-${node}`, nodeName: node, requestPem: requestOf(node, address) });
        else
          await asNode(admin, node).post(CSRS, {
            apiVersion: 'certificates.k8s.io/v1',
            kind: 'CertificateSigningRequest',
            metadata: { name, annotations: annotations(12_000) },
            spec: {
              request: Buffer.from(requestOf(node, address)).toString('base64'),
              signerName: 'kubernetes.io/kubelet-serving',
              usages: ['digital signature', 'server auth'],
            },
          });
      }
      const report = await approve(
        {
          cluster: { name: 'berlin', provider: 'eks-anywhere' },
          workload: client,
          management: client,
          machinesNamespace: 'eksa-system',
        },
        [DEFAULT_POLICY],
        Date.now,
        signal,
      );
      expect(report).toMatchObject({ readable: true, counts: { approved: 1 } });
      expect(report.problems).toEqual([
        expect.objectContaining({
          object: `CertificateSigningRequest ${name}`,
          message: expect.stringContaining(
            `requested by system:node:${name}-2 of signer kubernetes.io/kubelet-serving`,
          ) as string,
        }),
      ]);
      await admin.delete(`${CSRS}/${name}`);
    },
  );

  // A Node, whose list begins with its metadata, and a custom resource, whose list ends with it.
  it.each(['nodes', 'machines'] as const)('is one of the %s: the others are listed, and it is named', async (kind) => {
    for (const name of ['a-large', 'm-small', 'z-large']) {
      const large = name.endsWith('large') ? annotations(12_000) : {};
      // The managed fields of a custom resource do not repeat every name of its annotations.
      const labels = name.endsWith('large')
        ? Object.fromEntries(Object.keys(annotations(9_000)).map((key) => [`${key}x`, '']))
        : {};
      if (kind === 'nodes') {
        await createNode(admin, { name, addresses: [] });
        await admin.patch(`/api/v1/nodes/${name}`, { metadata: { annotations: large, labels } });
      } else
        await createMachine(admin, {
          name,
          namespace: 'large',
          clusterName: 'large',
          nodeName: name,
          addresses: [],
          annotations: large,
          labels,
        });
    }
    const names: unknown[] = [];
    const listing = (async () => {
      for await (const page of listKind(client, kind, kind === 'nodes' ? { signal } : { namespace: 'large', signal }))
        names.push(...page.map((item) => text(item, 'metadata', 'name')));
    })();
    const error = await listing.catch((thrown: unknown) => thrown);
    if (!(error instanceof KubernetesError)) throw new Error('nothing is too large', { cause: error });
    expect(names).toEqual(['m-small']);
    expect(error.skipped).toMatchObject({ count: 2, items: [{ name: 'a-large' }, { name: 'z-large' }] });
    expect(error.problem).toContain('2 objects are too large to read: a-large (the first of the list), z-large');
  });
});
