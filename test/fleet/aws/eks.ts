import { AwsFault } from './aws-fault.ts';
import { jsonAnswer, restJson } from './json-protocol.ts';
import { pageOf } from './pages.ts';
import { type AwsRequest, type Caller, type Place, placed, type Service } from './service.ts';

/** An EKS cluster, as far as discovery looks at it. */
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
  /** @default 172.20.0.0/16 */
  readonly serviceIpv4Cidr?: string;
  /** @default API_AND_CONFIG_MAP */
  readonly authenticationMode?: 'API' | 'API_AND_CONFIG_MAP' | 'CONFIG_MAP';
}

export interface SimulatedEks {
  /** Creates or replaces a cluster. */
  putCluster(place: Place, cluster: SimulatedEksCluster): void;
  removeCluster(place: Place, name: string): void;
}

interface EksInput {
  readonly name?: string;
  readonly maxResults: string | null;
  readonly nextToken: string | null;
}

const PAGE_SIZE = 100;

/** ListClusters and DescribeCluster. Source: Amazon EKS API reference. */
export function createEks(): SimulatedEks & Service<EksInput> {
  const clusters = new Map<string, Map<string, SimulatedEksCluster>>();
  const at = (place: Place) => clusters.get(placed(place));

  const listClusters = ({ maxResults, nextToken }: EksInput, caller: Caller) => {
    const size = maxResults === null ? PAGE_SIZE : Number(maxResults);
    if (!(size >= 1 && size <= PAGE_SIZE)) throw invalidParameter('maxResults is not from 1 to 100');
    const page = pageOf([...(at(caller)?.keys() ?? [])], size, nextToken);
    if (page === undefined) throw invalidParameter('nextToken is not valid');
    return jsonAnswer({ clusters: page.items, nextToken: page.nextToken ?? null });
  };

  return {
    putCluster(place, cluster) {
      const key = placed(place);
      clusters.set(key, (clusters.get(key) ?? new Map()).set(cluster.name, cluster));
    },
    removeCluster: (place, name) => void at(place)?.delete(name),
    protocol: restJson(readRequest),
    handle(action, input, caller) {
      if (action === 'ListClusters') return listClusters(input, caller);
      const { name = '' } = input;
      const cluster = at(caller)?.get(name);
      if (cluster === undefined)
        throw new AwsFault(404, 'ResourceNotFoundException', `No cluster found for name: ${name}.`);
      return jsonAnswer({ cluster: described(caller, cluster) });
    },
  };
}

function readRequest({ method, url }: AwsRequest): { readonly action: string; readonly input: EksInput } {
  const [, root, name, ...rest] = url.pathname.split('/').map(decodeURIComponent);
  if (method !== 'GET' || root !== 'clusters' || rest.length > 0)
    throw new AwsFault(404, 'ResourceNotFoundException', `Not simulated: ${method} ${url.pathname}`);
  const maxResults = url.searchParams.get('maxResults');
  const nextToken = url.searchParams.get('nextToken');
  const action = name === undefined ? 'ListClusters' : 'DescribeCluster';
  return { action, input: { ...(name === undefined ? {} : { name }), maxResults, nextToken } };
}

/** The `Cluster` of the API. */
function described({ account, region }: Place, cluster: SimulatedEksCluster) {
  const { name, endpoint, certificateAuthority, status = 'ACTIVE', tags = {}, vpcId = 'vpc-0' } = cluster;
  const { endpointPublicAccess = true, serviceIpv4Cidr = '172.20.0.0/16' } = cluster;
  return {
    name,
    arn: `arn:aws:eks:${region}:${account}:cluster/${name}`,
    version: '1.34',
    status,
    endpoint,
    certificateAuthority: { data: certificateAuthority },
    tags,
    resourcesVpcConfig: { vpcId, endpointPublicAccess, endpointPrivateAccess: !endpointPublicAccess },
    kubernetesNetworkConfig: { serviceIpv4Cidr, ipFamily: 'ipv4' },
    accessConfig: { authenticationMode: cluster.authenticationMode ?? 'API_AND_CONFIG_MAP' },
  };
}

function invalidParameter(message: string): AwsFault {
  return new AwsFault(400, 'InvalidParameterException', message);
}
