import { DescribeInstancesCommand, EC2Client, type EC2ClientConfig } from '@aws-sdk/client-ec2';
import type { AwsScope } from '../contracts/target.ts';
import { CLUSTER_TAG, CLUSTER_TAG_VALUES, EKS_CLUSTER_TAGS } from '../resources/instance-clusters.ts';
import { callAws, describeCall } from './call.ts';
import { invalid } from './classify.ts';
import { createScopedClients } from './scoped-clients.ts';
import type { CredentialsOf } from './spoke-credentials.ts';

export interface InstanceQuery {
  /** At most 2,000 names of Nodes. Names that cannot be instances, such as Fargate and hybrid nodes, are skipped. */
  readonly nodes: readonly string[];
  /** If known, instances of other VPCs are dropped. */
  readonly vpcId?: string | undefined;
  /**
   * All instances tagged for the cluster of this name, instead of those of the nodes; pending, stopping and stopped
   * ones too, because they keep their addresses.
   */
  readonly cluster?: string;
}

/**
 * The EC2 instances of a query, page by page and each once, as in DescribeInstances (`Instance` of the EC2 API
 * reference).
 *
 * @throws AwsError also for more than 20,000
 */
export type ListInstances = (
  scope: AwsScope,
  query: InstanceQuery,
  signal: AbortSignal,
) => AsyncIterable<readonly unknown[]>;

export interface InstanceReaderOptions {
  readonly credentials: CredentialsOf;
  readonly config?: EC2ClientConfig;
}

/** How DescribeInstances finds instances. */
export interface InstanceFilter {
  readonly name: 'instance-id' | 'private-dns-name' | `tag:${string}`;
  readonly values: readonly string[];
}

/** Names in one call of {@link ListInstances}. */
const MAX_NODES = 2_000;
const RUNNING = ['running'];
/** Source: EC2 API reference, `InstanceState`. A terminated instance has no address. */
const NOT_TERMINATED = [...RUNNING, 'pending', 'shutting-down', 'stopping', 'stopped'];
/** Filter values of one call (EC2 API reference, FilterLimitExceeded): state and VPC take two. */
const MAX_VALUES = 200 - 2;
/** Instances of one page (EC2 API reference, DescribeInstances). */
const PAGE = 1_000;
/** Instances of one query. */
const MAX_INSTANCES = 20_000;
/** Of the 20 a second that autoscaler, CNI and everyone else in an account and Region share. */
const CALLS_PER_SECOND = 5;
/** Of one call; its deadline may be earlier. */
const MAX_ATTEMPTS = 6;

/** RFC 1123 subdomain, like Node names. No `*`, `?` or `\`, which are special in a filter. */
const NODE_NAME = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;
const INSTANCE_ID = /^(?<id>i-[0-9a-f]{8,40})(?:\.|$)/;
/** Cluster names, without characters that are special in a filter. */
const CLUSTER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
/** Pods of Fargate, and hybrid nodes (managed instances of Systems Manager). */
const NO_INSTANCE = /^(?:fargate-|mi-)/;

export function createInstanceReader({ credentials, config = {} }: InstanceReaderOptions): ListInstances {
  const shared = { ...config, maxAttempts: MAX_ATTEMPTS };
  const scoped = createScopedClients(CALLS_PER_SECOND, (scope) => {
    return new EC2Client({ ...shared, region: scope.region, credentials: credentials(scope) });
  });
  return async function* listInstances(scope, query, signal) {
    const object = describeCall('ec2:DescribeInstances', scope);
    const { nodes, vpcId, cluster } = query;
    const states = cluster === undefined ? RUNNING : NOT_TERMINATED;
    if (nodes.length > MAX_NODES)
      throw invalid(object, `${nodes.length} nodes are more than ${MAX_NODES}`, 'Ask for fewer nodes at once.');
    if (cluster !== undefined && !CLUSTER_NAME.test(cluster))
      throw invalid(
        object,
        'the name of the cluster cannot be an EKS tag',
        'Give the name that the cluster has in EKS.',
      );
    const { client, turn } = scoped(scope);
    const seen = new Set<string>();
    for (const { name, values } of cluster === undefined ? instanceFilters(nodes) : clusterFilters(cluster)) {
      const input = {
        Filters: [
          { Name: name, Values: [...values] },
          { Name: 'instance-state-name', Values: states },
          ...(vpcId === undefined ? [] : [{ Name: 'vpc-id', Values: [vpcId] }]),
        ],
        // Instances of EKS Auto Mode are managed resources, which an account may hide.
        IncludeManagedResources: true,
        MaxResults: PAGE,
      };
      let NextToken: string | undefined;
      do {
        await turn(signal);
        const command = new DescribeInstancesCommand({ ...input, NextToken });
        const answer = await callAws({ object }, signal, (abortSignal) => client.send(command, { abortSignal }));
        const instances = (answer.Reservations ?? [])
          .flatMap(({ Instances = [] }) => Instances)
          .filter(({ InstanceId = '' }) => !seen.has(InstanceId) && seen.add(InstanceId));
        if (seen.size > MAX_INSTANCES)
          throw invalid(
            object,
            `there are more than ${MAX_INSTANCES} instances`,
            'Use ec2 without Machines, Nodes or patterns in every policy for this cluster: then only the nodes that ask are read.',
          );
        if (instances.length > 0) yield instances;
        // The last page has an empty token.
        NextToken = answer.NextToken || undefined;
      } while (NextToken !== undefined);
    }
  };
}

/** EC2 combines filters with *and*, so each tag needs its own call. */
function clusterFilters(cluster: string): readonly InstanceFilter[] {
  return [
    ...EKS_CLUSTER_TAGS.map((tag) => ({ name: `tag:${tag}` as const, values: [cluster] })),
    { name: `tag:${CLUSTER_TAG}${cluster}`, values: CLUSTER_TAG_VALUES },
  ];
}

/**
 * The names to query: each once, without those that cannot be an instance.
 *
 * Source: EC2 user guide, "Amazon EC2 instance hostname types": a node is called by the private IP DNS name or by the
 * resource name, which begins with the instance id; nodes of EKS Auto Mode by the instance id alone.
 */
export function instanceFilters(nodes: readonly string[]): readonly InstanceFilter[] {
  const ids = new Set<string>();
  const dnsNames = new Set<string>();
  for (const node of nodes) {
    if (!NODE_NAME.test(node) || NO_INSTANCE.test(node)) continue;
    const id = INSTANCE_ID.exec(node)?.groups?.['id'];
    if (id === undefined) dnsNames.add(node);
    else ids.add(id);
  }
  return [...filters('instance-id', [...ids]), ...filters('private-dns-name', [...dnsNames])];
}

function filters(name: InstanceFilter['name'], values: readonly string[]): readonly InstanceFilter[] {
  const count = Math.ceil(values.length / MAX_VALUES);
  return Array.from({ length: count }, (_, index) => ({
    name,
    values: values.slice(index * MAX_VALUES, (index + 1) * MAX_VALUES),
  }));
}
