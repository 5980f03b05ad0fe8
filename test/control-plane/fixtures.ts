import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE_MS } from '../patience.ts';
import type { Admin, KubeObject, ObjectMeta } from './admin.ts';

/** Collection path of certificate signing requests. */
export const CSRS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

/** A condition of a certificate signing request. */
export interface CsrCondition {
  readonly type: 'Approved' | 'Denied' | 'Failed';
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

/** A CertificateSigningRequest as the API server returns it. */
export interface Csr extends KubeObject {
  readonly spec: {
    readonly request: string;
    readonly signerName: string;
    readonly usages: readonly string[];
    readonly username: string;
    readonly groups: readonly string[];
    readonly expirationSeconds?: number;
  };
  readonly status: {
    readonly conditions?: readonly CsrCondition[];
    /** Base64 of PEM. */
    readonly certificate?: string;
  };
}

/** What to ask for, and as whom. */
export interface CsrFixture {
  /** Object name. */
  readonly name: string;
  /** The node that asks: `system:node:<nodeName>` in the groups of a node. */
  readonly nodeName: string;
  /** PEM. */
  readonly requestPem: string;
  /** @default 'kubernetes.io/kubelet-serving' */
  readonly signerName?: string;
  /** @default ['digital signature', 'server auth'] */
  readonly usages?: readonly string[];
  /** Seconds. @default none */
  readonly expirationSeconds?: number;
}

/** Acts as a node: what a kubelet with its client certificate may do. */
export function asNode(admin: Admin, nodeName: string): Admin {
  return admin.as({ user: `system:node:${nodeName}`, groups: ['system:nodes', 'system:authenticated'] });
}

/**
 * Creates a request as the node itself.
 *
 * @throws ApiError 403 when NodeRestriction refuses it, 422 when it is not valid.
 */
export async function createCsr(admin: Admin, wanted: CsrFixture): Promise<Csr> {
  return asNode(admin, wanted.nodeName).post<Csr>(CSRS, {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: wanted.name },
    spec: {
      request: Buffer.from(wanted.requestPem).toString('base64'),
      signerName: wanted.signerName ?? 'kubernetes.io/kubelet-serving',
      usages: wanted.usages ?? ['digital signature', 'server auth'],
      expirationSeconds: wanted.expirationSeconds,
    },
  });
}

/** Approves a request as the administrator, as `kubectl certificate approve` does. */
export async function approveCsr(admin: Admin, name: string): Promise<Csr> {
  const csr = await admin.get<Csr>(`${CSRS}/${name}`);
  const approved: CsrCondition = { type: 'Approved', status: 'True', reason: 'Test', message: 'approved by a test' };
  return admin.put<Csr>(`${CSRS}/${name}/approval`, {
    ...csr,
    status: { ...csr.status, conditions: [...(csr.status.conditions ?? []), approved] },
  });
}

/**
 * Waits until the signer has signed a certificate.
 *
 * @returns the certificate, PEM.
 * @throws Error when the signer failed it, or after `timeoutMs`.
 */
export async function signedCertificate(admin: Admin, name: string, timeoutMs = PATIENCE_MS): Promise<string> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const { status } = await admin.get<Csr>(`${CSRS}/${name}`);
    if (status.certificate !== undefined) return Buffer.from(status.certificate, 'base64').toString('utf8');
    const failed = status.conditions?.find(({ type }) => type === 'Failed');
    if (failed) throw new Error(`${name} failed: ${failed.reason}: ${failed.message}`);
    if (Date.now() > deadline) throw new Error(`${name} was not signed within ${timeoutMs} ms`);
    await sleep(50);
  }
}

/** An address of a node or machine. */
export interface Address {
  readonly type: 'Hostname' | 'ExternalIP' | 'InternalIP' | 'ExternalDNS' | 'InternalDNS';
  readonly address: string;
}

/** A Machine with its status. */
export interface MachineFixture {
  readonly name: string;
  /** Is made where it is not there. @default 'eksa-system' */
  readonly namespace?: string;
  /** @default 'v1beta2' */
  readonly version?: 'v1beta1' | 'v1beta2';
  readonly clusterName: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly providerID?: string;
  /** Name of the Node that the machine became. */
  readonly nodeName?: string;
  /** @default [] */
  readonly addresses?: readonly Address[];
  /** @default 'Running' */
  readonly phase?: string;
  /** Further fields of the status. */
  readonly status?: Readonly<Record<string, unknown>>;
}

/** Creates the Cluster of a name, unless it is there: Cluster API has no Machine without one. */
export async function ensureCluster(admin: Admin, namespace: string, name: string): Promise<void> {
  await admin.apply(
    JSON.stringify({
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Cluster',
      metadata: { name, namespace },
      spec: { clusterNetwork: { services: { cidrBlocks: ['10.96.0.0/16'] } } },
    }),
  );
}

/** Creates a Machine, then writes its status, as the Machine controller does. */
export async function createMachine(admin: Admin, wanted: MachineFixture): Promise<KubeObject> {
  const { name, namespace = 'eksa-system', version = 'v1beta2', clusterName, nodeName, providerID } = wanted;
  const path = `/apis/cluster.x-k8s.io/${version}/namespaces/${namespace}/machines`;
  await admin.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }));
  await ensureCluster(admin, namespace, clusterName);
  const created = await admin.post(path, {
    apiVersion: `cluster.x-k8s.io/${version}`,
    kind: 'Machine',
    metadata: {
      name,
      namespace,
      labels: { 'cluster.x-k8s.io/cluster-name': clusterName, ...wanted.labels },
      annotations: { ...wanted.annotations },
    },
    spec: { clusterName, bootstrap: {}, infrastructureRef: {}, providerID },
  });
  const nodeReference = { ...(version === 'v1beta1' ? { apiVersion: 'v1', kind: 'Node' } : {}), name: nodeName };
  return admin.put(`${path}/${name}/status`, {
    ...created,
    status: {
      phase: wanted.phase ?? 'Running',
      addresses: wanted.addresses ?? [],
      nodeRef: nodeName === undefined ? undefined : nodeReference,
      ...wanted.status,
    },
  });
}

/** A Node with its status. */
export interface NodeFixture {
  readonly name: string;
  /** @default [] */
  readonly addresses?: readonly Address[];
  readonly providerID?: string;
  readonly labels?: ObjectMeta['labels'];
}

/** Creates a Node, then writes its addresses, as kubelet and cloud provider do. */
export async function createNode(admin: Admin, wanted: NodeFixture): Promise<KubeObject> {
  const created = await admin.post('/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: wanted.name, labels: { ...wanted.labels } },
    spec: wanted.providerID === undefined ? {} : { providerID: wanted.providerID },
  });
  return admin.put(`/api/v1/nodes/${wanted.name}/status`, {
    ...created,
    status: { addresses: wanted.addresses ?? [] },
  });
}
