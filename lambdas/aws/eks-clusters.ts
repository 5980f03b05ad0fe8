import { isIP } from 'node:net';
import { type Cluster, DescribeClusterCommand, ListClustersCommand, type RemoteNodeNetwork } from '@aws-sdk/client-eks';
import type { AwsScope } from '../contracts/target.ts';
import { MAX_CIDRS } from '../identifiers.ts';
import { printable } from '../printable.ts';
import { describeCall } from './call.ts';
import { invalid } from './classify.ts';
import { createEksCalls, type EksReaderOptions, eksPages, PAGE } from './eks-calls.ts';
import { isCa, isMatch, isText, MAX_CA } from './eks-values.ts';

/** The used part of DescribeCluster, validated and bounded. */
export interface EksCluster {
  readonly name: string;
  readonly arn: string;
  /** `ACTIVE`, `CREATING`, `UPDATING`, `DELETING`, `FAILED`, `PENDING` or something newer. */
  readonly status: string;
  /** `https://` URL; like the CA, absent during creation. */
  readonly endpoint?: string;
  /** PEM certificates, base64-encoded as in the answer of EKS. */
  readonly certificateAuthority?: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly vpcId?: string;
  readonly endpointAccess: EndpointAccess;
  readonly serviceCidrs: readonly string[];
  readonly remoteNodeNetworks: readonly string[];
  /** `API`, `API_AND_CONFIG_MAP` or `CONFIG_MAP`. */
  readonly authenticationMode?: string;
}

/** Who can reach the endpoint: everyone, only `publicAccessCidrs`, or only its VPC and networks routed to it. */
export type EndpointAccess = 'public' | 'allow-list' | 'private';

/** Reads EKS. Calls may be concurrent: those to one account and Region are started evenly, ten a second. */
export interface EksReader {
  /**
   * The names of all clusters, page by page.
   *
   * @throws AwsError
   */
  listClusters(scope: AwsScope, signal: AbortSignal): AsyncIterable<readonly string[]>;
  /** @throws AwsError `not-found` if the cluster does not exist */
  describeCluster(scope: AwsScope, name: string, signal: AbortSignal): Promise<EksCluster>;
}

/** Pages of one list: 10,000 clusters in one account and Region. */
const MAX_PAGES = 100;
/** Tags of one resource, characters of a key and of a value (EKS user guide, "Tag restrictions"). */
const MAX_TAGS = 50;
const MAX_KEY = 128;
const MAX_VALUE = 256;

/** Default of `publicAccessCidrs`. The default lane has IPv4 addresses. */
const EVERYBODY = '0.0.0.0/0';

/** EKS API reference, CreateCluster. */
const CLUSTER_NAME = /^[0-9A-Za-z][A-Za-z0-9_-]{0,99}$/;
const CLUSTER_ARN = /^arn:aws[a-z-]{0,20}:eks:[a-z0-9-]{1,30}:\d{12}:cluster\/(?<name>[A-Za-z0-9_-]{1,100})$/;
const VPC_ID = /^vpc-\w{1,40}$/;
const WORD = /^[A-Z_]{1,40}$/;

/** One client for each scope, kept with its connections. */
export function createEksReader(options: EksReaderOptions): EksReader {
  const callsTo = createEksCalls(options);
  return {
    async *listClusters(scope, signal) {
      const object = describeCall('eks:ListClusters', scope);
      const call = callsTo(scope);
      const pages = eksPages(object, MAX_PAGES, (nextToken) =>
        call({ object }, signal, async (client, sending) => {
          const answer = await client.send(new ListClustersCommand({ maxResults: PAGE, nextToken }), sending);
          return { items: answer.clusters, nextToken: answer.nextToken };
        }),
      );
      for await (const names of pages) yield clusterNames(names, object);
    },
    async describeCluster(scope, name, signal) {
      const object = describeCall(`eks:DescribeCluster ${printable(name)}`, scope);
      const remedies = { 'not-found': 'It was deleted or renamed; the next discovery forgets it.' };
      const { cluster } = await callsTo(scope)({ object, remedies }, signal, (client, sending) =>
        client.send(new DescribeClusterCommand({ name }), sending),
      );
      return readCluster(cluster, name, object);
    },
  };
}

function clusterNames(names: readonly unknown[] | undefined, object: string): readonly string[] {
  if (!Array.isArray(names) || names.length > PAGE)
    throw invalid(object, `the answer is not a list of at most ${PAGE} names`);
  return names.map((name: unknown) => {
    if (!isMatch(name, CLUSTER_NAME))
      throw invalid(object, `“${printable(String(name))}” is not the name of a cluster`);
    return name;
  });
}

/** @throws AwsError `invalid`; an invalid answer is not used in part */
function readCluster(cluster: Cluster | undefined, name: string, object: string): EksCluster {
  const wrong = (field: string, what: string) => invalid(object, `cluster.${field} ${what}`);
  if (cluster === undefined) throw invalid(object, 'the answer holds no cluster');
  if (cluster.name !== name) throw wrong('name', 'is that of another cluster');
  const { arn, status, endpoint, certificateAuthority, tags = {}, resourcesVpcConfig = {} } = cluster;
  if (!isText(arn) || CLUSTER_ARN.exec(arn)?.groups?.['name'] !== name)
    throw wrong('arn', 'is not that of the cluster');
  if (!isMatch(status, WORD)) throw wrong('status', 'is not a status');
  if (endpoint !== undefined && !isEndpoint(endpoint)) throw wrong('endpoint', 'is not an https:// URL of a server');
  const ca = certificateAuthority?.data;
  if (ca !== undefined && !isCa(ca))
    throw wrong('certificateAuthority.data', `is not base64 of at most ${MAX_CA} characters`);
  if (!areTags(tags)) throw wrong('tags', `is not a map of at most ${MAX_TAGS} tags`);
  const { vpcId, endpointPublicAccess = false, publicAccessCidrs = [] } = resourcesVpcConfig;
  if (typeof endpointPublicAccess !== 'boolean')
    throw wrong('resourcesVpcConfig.endpointPublicAccess', 'is not true or false');
  if (!Array.isArray(publicAccessCidrs)) throw wrong('resourcesVpcConfig.publicAccessCidrs', 'is not a list');
  const isOpen = publicAccessCidrs.length === 0 || publicAccessCidrs.includes(EVERYBODY);
  if (vpcId !== undefined && !isMatch(vpcId, VPC_ID)) throw wrong('resourcesVpcConfig.vpcId', 'is not the id of a VPC');
  const { serviceIpv4Cidr, serviceIpv6Cidr } = cluster.kubernetesNetworkConfig ?? {};
  const serviceCidrs = [serviceIpv4Cidr, serviceIpv6Cidr].filter((cidr) => cidr !== undefined);
  if (!serviceCidrs.every(isCidr)) throw wrong('kubernetesNetworkConfig', 'has a service CIDR that is not a CIDR');
  const remoteNodeNetworks = networksOf(cluster.remoteNetworkConfig?.remoteNodeNetworks);
  if (remoteNodeNetworks === undefined)
    throw wrong('remoteNetworkConfig.remoteNodeNetworks', `is not a list of at most ${MAX_CIDRS} CIDRs`);
  const authenticationMode: unknown = cluster.accessConfig?.authenticationMode;
  if (authenticationMode !== undefined && !isMatch(authenticationMode, WORD))
    throw wrong('accessConfig.authenticationMode', 'is not a mode');
  return {
    name,
    arn,
    status,
    endpoint,
    certificateAuthority: ca,
    tags,
    vpcId,
    endpointAccess: endpointPublicAccess ? (isOpen ? 'public' : 'allow-list') : 'private',
    serviceCidrs,
    remoteNodeNetworks,
    authenticationMode,
  };
}

function isEndpoint(value: unknown): value is string {
  if (!isText(value) || value.length > 512 || !URL.canParse(value)) return false;
  const { protocol, username, password, pathname, search, hash } = new URL(value);
  return protocol === 'https:' && `${username}${password}${search}${hash}` === '' && pathname === '/';
}

function areTags(value: unknown): value is Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const tags = Object.entries(value);
  return (
    tags.length <= MAX_TAGS &&
    tags.every(([key, text]) => key.length <= MAX_KEY && isText(text) && text.length <= MAX_VALUE)
  );
}

/** Source: EKS service quotas, 15 of a cluster. */
function networksOf(networks: readonly RemoteNodeNetwork[] = []): readonly string[] | undefined {
  if (!Array.isArray(networks)) return undefined;
  const cidrs = networks.slice(0, MAX_CIDRS + 1).flatMap((network?: RemoteNodeNetwork) => network?.cidrs ?? []);
  return networks.length <= MAX_CIDRS && cidrs.length <= MAX_CIDRS && cidrs.every(isCidr) ? cidrs : undefined;
}

function isCidr(value: unknown): value is string {
  if (!isText(value)) return false;
  const [address = '', length = '', ...rest] = value.split('/');
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return rest.length === 0 && /^\d{1,3}$/.test(length) && Number(length) <= bits;
}
