import { AwsFault } from './aws-fault.ts';
import { jsonAnswer, restJson } from './json-protocol.ts';
import { pageOf } from './pages.ts';
import { type AwsRequest, type Place, placed, type Service } from './service.ts';

/** A certificate authority of a cluster. Times in milliseconds since the epoch. */
export interface SimulatedEksAuthority {
  readonly id: string;
  readonly createdAt: number;
  readonly activatedAt?: number;
  /** @default IN_USE */
  readonly signingStatus?: 'NOT_USED' | 'ACTIVATING' | 'IN_USE';
  /** @default COMPLETE */
  readonly distributionStatus?: 'IN_PROGRESS' | 'COMPLETE' | 'FAILED' | 'DELETING';
  readonly notBefore: number;
  readonly notAfter: number;
  readonly firstAutoActivation?: number;
  readonly finalAutoActivation?: number;
  /** Base64 of PEM. */
  readonly data?: string;
}

/** An EKS cluster, as far as discovery and audit look at it. */
export interface SimulatedEksCluster {
  readonly name: string;
  /** Absent while it is created. */
  readonly endpoint?: string;
  /** Base64 of PEM. */
  readonly certificateAuthority?: string;
  /** @default ACTIVE */
  readonly status?: 'CREATING' | 'ACTIVE' | 'DELETING' | 'FAILED' | 'UPDATING' | 'PENDING';
  readonly tags?: Readonly<Record<string, string>>;
  /** @default vpc-0 */
  readonly vpcId?: string;
  /** @default true */
  readonly endpointPublicAccess?: boolean;
  readonly publicAccessCidrs?: readonly string[];
  /** @default 172.20.0.0/16 */
  readonly serviceIpv4Cidr?: string;
  /** @default none */
  readonly authorities?: readonly SimulatedEksAuthority[];
}

export interface SimulatedEks {
  /** Creates or replaces a cluster. */
  putCluster(place: Place, cluster: SimulatedEksCluster): void;
  removeCluster(place: Place, name: string): void;
}

interface EksInput {
  /** Of the cluster. */
  readonly name?: string;
  /** Of what is part of the cluster. */
  readonly part?: string;
  readonly maxResults: string | null;
  readonly nextToken: string | null;
}

const PAGE_SIZE = 100;

/** ListClusters, DescribeCluster, and the same of certificate authorities and node groups. Source: Amazon EKS API reference. */
export function createEks(): SimulatedEks & Service<EksInput> {
  const clusters = new Map<string, Map<string, SimulatedEksCluster>>();
  const at = (place: Place) => clusters.get(placed(place));

  return {
    putCluster(place, cluster) {
      const key = placed(place);
      clusters.set(key, (clusters.get(key) ?? new Map()).set(cluster.name, cluster));
    },
    removeCluster: (place, name) => void at(place)?.delete(name),
    protocol: restJson(readRequest),
    handle(action, input, caller) {
      if (action === 'ListClusters') return listed('clusters', [...(at(caller)?.keys() ?? [])], input);
      const { name = '', part = '' } = input;
      const cluster = at(caller)?.get(name);
      if (cluster === undefined)
        throw new AwsFault(404, 'ResourceNotFoundException', `No cluster found for name: ${name}.`);
      const { authorities = [] } = cluster;
      if (action === 'ListCertificateAuthorities')
        return listed('certificateAuthorities', authorities.map(summaryOf), input);
      if (action === 'DescribeCertificateAuthority')
        return jsonAnswer({ certificateAuthority: authorityOf(found(authorities, ({ id }) => id === part, part)) });
      return jsonAnswer({ cluster: described(caller, cluster) });
    },
  };
}

function listed(field: string, items: readonly unknown[], { maxResults, nextToken }: EksInput) {
  const size = maxResults === null ? PAGE_SIZE : Number(maxResults);
  if (!(size >= 1 && size <= PAGE_SIZE)) throw invalidParameter('maxResults is not from 1 to 100');
  const page = pageOf(items, size, nextToken);
  if (page === undefined) throw invalidParameter('nextToken is not valid');
  return jsonAnswer({ [field]: page.items, nextToken: page.nextToken ?? null });
}

function found<T>(items: readonly T[], is: (item: T) => boolean, name: string): T {
  const item = items.find(is);
  if (item === undefined) throw new AwsFault(404, 'ResourceNotFoundException', `Nothing found for name: ${name}.`);
  return item;
}

/** REST-JSON writes times as seconds since the epoch. */
const seconds = (milliseconds: number | undefined) => (milliseconds === undefined ? undefined : milliseconds / 1000);

/** The `CertificateAuthoritySummary` of the API. */
function summaryOf(authority: SimulatedEksAuthority) {
  const { id, createdAt, activatedAt, signingStatus = 'IN_USE', distributionStatus = 'COMPLETE' } = authority;
  return {
    id,
    createdAt: seconds(createdAt),
    createdBy: 'EKS',
    activatedAt: seconds(activatedAt),
    activatedBy: activatedAt === undefined ? undefined : 'EKS',
    signingStatus,
    distributionStatus,
  };
}

/** The `CertificateAuthority` of the API. */
function authorityOf(authority: SimulatedEksAuthority) {
  const { notBefore, notAfter, firstAutoActivation, finalAutoActivation, data } = authority;
  return {
    ...summaryOf(authority),
    validity: { notBefore: seconds(notBefore), notAfter: seconds(notAfter) },
    scheduledEvents: {
      firstAutoActivation: seconds(firstAutoActivation),
      finalAutoActivation: seconds(finalAutoActivation),
    },
    rollbackAvailable: false,
    data,
  };
}

/** What is below a cluster in a path: the actions on the list, and on one item. */
const PARTS: Readonly<Record<string, readonly [list: string, describe: string]>> = {
  'certificate-authorities': ['ListCertificateAuthorities', 'DescribeCertificateAuthority'],
};

function readRequest({ method, url }: AwsRequest): { readonly action: string; readonly input: EksInput } {
  const [, root, name, kind, part, ...rest] = url.pathname.split('/').map(decodeURIComponent);
  const [list, describe] = PARTS[kind ?? ''] ?? [];
  const action =
    name === undefined ? 'ListClusters' : kind === undefined ? 'DescribeCluster' : part === undefined ? list : describe;
  if (method !== 'GET' || root !== 'clusters' || rest.length > 0 || action === undefined)
    throw new AwsFault(404, 'ResourceNotFoundException', `Not simulated: ${method} ${url.pathname}`);
  const maxResults = url.searchParams.get('maxResults');
  const nextToken = url.searchParams.get('nextToken');
  const input = { name, part, maxResults, nextToken };
  return { action, input };
}

/** The `Cluster` of the API. */
function described({ account, region }: Place, cluster: SimulatedEksCluster) {
  const { name, endpoint, certificateAuthority, status = 'ACTIVE', tags = {}, vpcId = 'vpc-0' } = cluster;
  const { endpointPublicAccess = true, publicAccessCidrs = ['0.0.0.0/0'], serviceIpv4Cidr = '172.20.0.0/16' } = cluster;
  return {
    name,
    arn: `arn:aws:eks:${region}:${account}:cluster/${name}`,
    version: '1.34',
    status,
    endpoint,
    certificateAuthority: { data: certificateAuthority },
    tags,
    resourcesVpcConfig: {
      vpcId,
      endpointPublicAccess,
      endpointPrivateAccess: !endpointPublicAccess,
      publicAccessCidrs: endpointPublicAccess ? publicAccessCidrs : [],
    },
    kubernetesNetworkConfig: { serviceIpv4Cidr, ipFamily: 'ipv4' },
  };
}

function invalidParameter(message: string): AwsFault {
  return new AwsFault(400, 'InvalidParameterException', message);
}
