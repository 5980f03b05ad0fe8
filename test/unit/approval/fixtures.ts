import { ownerFromInstance } from '../../../lambdas/approval/evidence/ec2.ts';
import {
  type Evidence,
  indexEvidence,
  type Owner,
  type SourceReading,
} from '../../../lambdas/approval/evidence/evidence.ts';
import { readHybridNodes } from '../../../lambdas/approval/evidence/hybrid.ts';
import { ownerFromMachine } from '../../../lambdas/approval/evidence/machine.ts';
import { ownerFromNode } from '../../../lambdas/approval/evidence/node.ts';
import { KUBELET_SERVING_SIGNER } from '../../../lambdas/approval/policy.ts';
import type { ClusterContext } from '../../../lambdas/approval/request.ts';
import type { SigningRequest } from '../../../lambdas/resources/signing-request.ts';
import { readSigningRequest } from '../../../lambdas/resources/signing-request.ts';
import { workerMachine } from '../../providers/objects.ts';
import { PROVIDERS } from '../../providers/table.ts';
import { makeRequest, type RequestOptions, type San } from '../x509/request-factory.ts';

/** The instant of every test: what the judge calls now. */
export const NOW = Date.parse('2026-03-02T12:00:00Z');

export const BERLIN: ClusterContext = { name: 'berlin', provider: 'eks-anywhere', endpoints: ['berlin.example.com'] };
export const DUBLIN: ClusterContext = {
  name: 'dublin',
  provider: 'eks',
  endpoints: ['0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com'],
};

/** RFC 3339 as an API server writes it. */
export function timestamp(secondsAgo: number): string {
  return new Date(NOW - secondsAgo * 1000).toISOString().replace('.000Z', 'Z');
}

export const dns = (...values: string[]): San[] => values.map((value) => ({ kind: 'dNSName', value }));
export const ips = (...values: string[]): San[] => values.map((value) => ({ kind: 'iPAddress', value }));

export const RSA_USAGES = ['digital signature', 'key encipherment', 'server auth'];
export const EC_USAGES = ['digital signature', 'server auth'];
export const CLIENT_USAGES = ['digital signature', 'key encipherment', 'client auth'];
export const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';

/** What differs from the request that the kubelet of `node` sends. */
export interface CsrFields {
  /** Default `csr-1`. */
  readonly name?: string;
  /** Default `node-1`: username, common name and the one DNS name. */
  readonly node?: string;
  readonly username?: string;
  readonly groups?: readonly string[];
  /** Default: what fits an ECDSA key. */
  readonly usages?: unknown;
  readonly signerName?: string;
  readonly expirationSeconds?: number;
  /** The PKCS#10 request. Default: common name and one DNS name of `node`. */
  readonly request?: RequestOptions;
  /** Replaces the PKCS#10 request: the bytes under the base64 of `spec.request`. */
  readonly pem?: Uint8Array;
  /** Default 12. */
  readonly ageSeconds?: number;
  readonly deleting?: boolean;
  /** Types of conditions. */
  readonly conditions?: readonly string[];
  /** Base64, as in `status.certificate`. */
  readonly certificate?: string;
}

/** A CertificateSigningRequest as an API server returns it. */
export function csrObject(fields: CsrFields = {}) {
  const node = fields.node ?? 'node-1';
  const pem = fields.pem ?? makeRequest({ commonName: `system:node:${node}`, sans: dns(node), ...fields.request }).pem;
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: {
      name: fields.name ?? 'csr-1',
      uid: `uid-of-${fields.name ?? 'csr-1'}`,
      resourceVersion: '42',
      creationTimestamp: timestamp(fields.ageSeconds ?? 12),
      deletionTimestamp: fields.deleting === true ? timestamp(1) : undefined,
    },
    spec: {
      request: Buffer.from(pem).toString('base64'),
      signerName: fields.signerName ?? KUBELET_SERVING_SIGNER,
      usages: fields.usages === undefined ? EC_USAGES : fields.usages,
      username: fields.username ?? `system:node:${node}`,
      groups: fields.groups ?? ['system:nodes', 'system:authenticated'],
      expirationSeconds: fields.expirationSeconds,
    },
    status: {
      conditions:
        fields.conditions === undefined
          ? undefined
          : fields.conditions.map((type) => ({ type, status: 'True', reason: 'ByHand' })),
      certificate: fields.certificate,
    },
  };
}

/** Reads a request that must be readable. */
export function signingRequest(object: unknown): SigningRequest {
  const reading = readSigningRequest(object);
  if (!reading.ok) throw new Error(`not readable: ${reading.problem}`);
  return reading.csr;
}

type AddressType = 'InternalIP' | 'ExternalIP' | 'InternalDNS' | 'ExternalDNS' | 'Hostname';
type Addresses = Partial<Record<AddressType, readonly string[]>>;

function addressList(addresses: Addresses): { type: string; address: string }[] {
  return Object.entries(addresses).flatMap(([type, values]) => values.map((address) => ({ type, address })));
}

/** A running Cluster API Machine of the cluster berlin that became `node`. Its addresses are those of the test: what each provider lists is in test/providers. */
export function machine(node: string, addresses: Addresses = {}, name = `md-0-${node}`) {
  const of = { provider: PROVIDERS['vSphere, 0.26'], name: BERLIN.name, version: 'v1beta1' } as const;
  const made = workerMachine(of, { name, address: '' });
  return {
    ...made,
    status: { ...made.status, nodeRef: { ...made.status.nodeRef, name: node }, addresses: addressList(addresses) },
  };
}

/** A Node that says this about itself. */
export function nodeObject(name: string, addresses: Addresses = {}) {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    status: { addresses: addressList(addresses) },
  };
}

/** When the instances of these tests were launched. */
export const LAUNCHED = '2026-02-28T08:00:00Z';

/** How a network interface is attached to its instance. */
export function attachment(deviceIndex: number, attachTime: unknown = LAUNCHED) {
  return { DeviceIndex: deviceIndex, NetworkCardIndex: 0, Status: 'attached', AttachTime: attachTime };
}

/** A running EC2 instance of the cluster dublin, in eu-west-1, with one network interface. */
export function instance(id: string, address: string) {
  const privateDnsName = `ip-${address.replaceAll('.', '-')}.eu-west-1.compute.internal`;
  return {
    InstanceId: id,
    State: { Code: 16, Name: 'running' },
    Placement: { AvailabilityZone: 'eu-west-1a' },
    PrivateDnsName: privateDnsName,
    PrivateIpAddress: address,
    PublicDnsName: '',
    VpcId: 'vpc-1',
    Tags: [{ Key: 'kubernetes.io/cluster/dublin', Value: 'owned' }],
    NetworkInterfaces: [
      {
        Attachment: attachment(0),
        PrivateDnsName: privateDnsName,
        PrivateIpAddress: address,
        PrivateIpAddresses: [{ Primary: true, PrivateIpAddress: address, PrivateDnsName: privateDnsName }],
        Ipv6Addresses: [],
      },
    ],
  };
}

/** What a sweep of `cluster` reads. Without `instances` or `nodes` that source is not read at all. */
export interface Sources {
  readonly machines?: readonly unknown[];
  readonly instances?: readonly unknown[];
  readonly nodes?: readonly unknown[];
  /** Sources that could not be read. */
  readonly unreadable?: readonly SourceReading['source'][];
}

export function evidenceFor(cluster: ClusterContext, sources: Sources): Evidence {
  const readings: SourceReading[] = [];
  const read = (
    source: SourceReading['source'],
    objects: readonly unknown[] | undefined,
    owner: (object: unknown) => Owner | undefined,
  ): void => {
    if (sources.unreadable?.includes(source) === true)
      readings.push({ source, ok: false, problem: '403 Forbidden', remedy: 'Grant it.' });
    else if (objects !== undefined)
      readings.push({
        source,
        ok: true,
        lookedAt: objects.length,
        owners: objects.map(owner).filter((found) => found !== undefined),
      });
  };
  const { name } = cluster;
  read('machine', sources.machines, (object) => ownerFromMachine(object, name));
  read('ec2', sources.instances, (object) => ownerFromInstance(object, name));
  read('node', sources.nodes, ownerFromNode);
  const asking = new Set(
    readings.flatMap((reading) => (reading.ok ? reading.owners.flatMap(({ nodes }) => nodes) : [])),
  );
  const hybrid = readHybridNodes(cluster, asking, readings);
  return indexEvidence(hybrid === undefined ? readings : [...readings, hybrid]);
}
