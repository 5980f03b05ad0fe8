import { DescribeClusterCommand, type EKSClient, paginateListClusters } from '@aws-sdk/client-eks';
import * as z from 'zod/mini';
import { type Contract, list, matching, record, text } from '../contracts/contract.ts';
import { type AwsScope, EksAccess, VpcId } from '../contracts/target.ts';
import { Cidrs, ClusterName } from '../contracts/values.ts';
import { MAX_CIDRS } from '../identifiers.ts';
import { printable } from '../printable.ts';
import { callAws, describeCall } from './call.ts';
import { invalid } from './classify.ts';
import { createEksClients, type EksReaderOptions, listed, parsed } from './eks-clients.ts';

const Names = list(ClusterName, 10_000);

/** What is used of DescribeCluster. Tags: EKS user guide, "Tag restrictions". */
const Cluster = z.object({
  name: ClusterName,
  status: matching(/^[A-Z_]{1,40}$/, 'a status'),
  endpoint: z.optional(EksAccess.shape.endpoint),
  certificateAuthority: z.optional(z.object({ data: z.optional(EksAccess.shape.certificateAuthority) })),
  tags: z.optional(record(text(128), text(256), 50)),
  resourcesVpcConfig: z.optional(
    z.object({
      vpcId: z.optional(VpcId),
      endpointPublicAccess: z.optional(z.boolean()),
      publicAccessCidrs: z.optional(z.array(z.string())),
    }),
  ),
  kubernetesNetworkConfig: z.optional(
    z.object({ serviceIpv4Cidr: z.optional(z.string()), serviceIpv6Cidr: z.optional(z.string()) }),
  ),
  remoteNetworkConfig: z.optional(
    z.object({
      remoteNodeNetworks: z.optional(list(z.object({ cidrs: z.optional(z.array(z.string())) }), MAX_CIDRS)),
    }),
  ),
});
type Cluster = Contract<typeof Cluster>;
const Networks = z.object({ serviceCidrs: Cidrs, remoteNodeNetworks: Cidrs });

export interface EksCluster extends Pick<Cluster, 'name' | 'endpoint'>, Contract<typeof Networks> {
  /** `ACTIVE`, `CREATING`, `UPDATING`, `DELETING`, `FAILED`, `PENDING` or something newer. */
  readonly status: string;
  /** PEM certificates, base64-encoded as in the answer of EKS; like the endpoint, absent during creation. */
  readonly certificateAuthority?: string;
  readonly tags: NonNullable<Cluster['tags']>;
  readonly vpcId?: string;
  readonly endpointAccess: EndpointAccess;
}

/** Who can reach the endpoint: everyone, only `publicAccessCidrs`, or only its VPC and networks routed to it. */
export type EndpointAccess = 'public' | 'allow-list' | 'private';

/** Reads EKS. Calls may be concurrent: those to one account and Region are started evenly, ten a second. */
export interface EksReader {
  /**
   * The names of all clusters.
   *
   * @throws AwsError
   */
  listClusters(scope: AwsScope, signal: AbortSignal): AsyncIterable<readonly string[]>;
  /** @throws AwsError `not-found` if the cluster does not exist */
  describeCluster(scope: AwsScope, name: string, signal: AbortSignal): Promise<EksCluster>;
}

/** Default of `publicAccessCidrs`. The default lane has IPv4 addresses. */
const EVERYBODY = '0.0.0.0/0';

export function createEksReader(options: EksReaderOptions): EksReader {
  const clients = createEksClients(options);
  return {
    async *listClusters(scope, signal) {
      const object = describeCall('eks:ListClusters', scope);
      const { client, turn } = clients(scope);
      await turn(signal);
      yield await callAws({ object }, signal, async (abortSignal) => {
        const pages = paginateListClusters({ client }, {}, { abortSignal });
        return listed(pages, ({ clusters }) => clusters, Names, object);
      });
    },
    async describeCluster(scope, name, signal) {
      const { client, turn } = clients(scope);
      await turn(signal);
      return describeCluster(client, scope, name, signal);
    },
  };
}

/** @throws AwsError */
export async function describeCluster(
  client: EKSClient,
  scope: AwsScope,
  name: string,
  signal: AbortSignal,
): Promise<EksCluster> {
  const object = describeCall(`eks:DescribeCluster ${printable(name)}`, scope);
  const remedies = { 'not-found': 'It was deleted or renamed; the next discovery forgets it.' };
  const { cluster } = await callAws({ object, remedies }, signal, (abortSignal) =>
    client.send(new DescribeClusterCommand({ name }), { abortSignal }),
  );
  return clusterOf(parsed(Cluster, cluster, object), name, object);
}

/** @throws AwsError `invalid` */
function clusterOf(cluster: Cluster, asked: string, object: string): EksCluster {
  const { name, status, endpoint, certificateAuthority, tags = {}, resourcesVpcConfig = {} } = cluster;
  if (name !== asked) throw invalid(object, 'the answer is about another cluster');
  const { vpcId, endpointPublicAccess = false, publicAccessCidrs = [] } = resourcesVpcConfig;
  const { serviceIpv4Cidr, serviceIpv6Cidr } = cluster.kubernetesNetworkConfig ?? {};
  const isOpen = publicAccessCidrs.length === 0 || publicAccessCidrs.includes(EVERYBODY);
  const networks = {
    serviceCidrs: [serviceIpv4Cidr, serviceIpv6Cidr].filter((cidr) => cidr !== undefined),
    remoteNodeNetworks: (cluster.remoteNetworkConfig?.remoteNodeNetworks ?? []).flatMap(({ cidrs = [] }) => cidrs),
  };
  return {
    name,
    status,
    endpoint,
    certificateAuthority: certificateAuthority?.data,
    tags,
    vpcId,
    endpointAccess: endpointPublicAccess ? (isOpen ? 'public' : 'allow-list') : 'private',
    ...parsed(Networks, networks, object),
  };
}
