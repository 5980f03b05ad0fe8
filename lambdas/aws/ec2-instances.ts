import { DescribeInstancesCommand, EC2Client, type EC2ClientConfig } from '@aws-sdk/client-ec2';

import { callAws, describeCall } from './call.ts';
import { invalid } from './classify.ts';
import type { AwsScope } from './scope.ts';
import { createScopedClients } from './scoped-clients.ts';
import type { CredentialsOf } from './spoke-credentials.ts';

/**
 * The running EC2 instances of the nodes named, page by page, as DescribeInstances gives them (`Instance` of the EC2 API reference). Nodes that
 * cannot be instances, as those of Fargate and hybrid nodes, are not asked for.
 *
 * @param nodes at most 2,000 names of Nodes
 * @throws AwsError
 */
export type ListInstances = (
  scope: AwsScope,
  nodes: readonly string[],
  signal: AbortSignal,
) => AsyncIterable<readonly unknown[]>;

export interface InstanceReaderOptions {
  readonly credentials: CredentialsOf;
  /** Of every client, beside Region and credentials. */
  readonly config?: EC2ClientConfig;
}

/** How DescribeInstances finds the instance of a node. */
export interface InstanceFilter {
  readonly name: 'instance-id' | 'private-dns-name';
  readonly values: readonly string[];
}

/** Names in one call of {@link ListInstances}. */
const MOST_NODES = 2_000;
/** Values of one filter, and instances of one page (EC2 API reference, DescribeInstances). */
const MOST_VALUES = 200;
const PAGE = 1_000;
/** Of one filter: more than one page comes only when instances of several VPCs have the same name. */
const MOST_PAGES = 5;
/** In one account and Region. Fewer when EC2 throttles. */
const CALLS_PER_SECOND = 20;

/** RFC 1123 subdomain, as names of Nodes are. It has no `*`, `?` or `\`, which mean something to a filter. */
const NODE_NAME = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;
const INSTANCE_ID = /^(?<id>i-[0-9a-f]{8,40})(?:\.|$)/;
/** Pods of Fargate, and hybrid nodes (managed instances of Systems Manager). */
const NO_INSTANCE = /^(?:fargate-|mi-)/;

/** One client for each scope, kept with its connections. */
export function createInstanceReader({ credentials, config = {} }: InstanceReaderOptions): ListInstances {
  const scoped = createScopedClients(CALLS_PER_SECOND, (scope) => {
    // The pace tries again, not the SDK: only so are all calls to one scope counted together.
    return new EC2Client({ ...config, maxAttempts: 1, region: scope.region, credentials: credentials(scope) });
  });
  return async function* listInstances(scope, nodes, signal) {
    const object = describeCall('ec2:DescribeInstances', scope);
    if (nodes.length > MOST_NODES)
      throw invalid(object, `${nodes.length} nodes are more than ${MOST_NODES}`, 'Ask for fewer nodes at once.');
    for (const { name, values } of instanceFilters(nodes)) {
      const { client, pace } = scoped(scope);
      let nextToken: string | undefined;
      for (let page = 0; page === 0 || nextToken !== undefined; page += 1) {
        if (page === MOST_PAGES) throw invalid(object, `the list does not end after ${MOST_PAGES} pages`);
        const command = new DescribeInstancesCommand({
          Filters: [
            { Name: name, Values: [...values] },
            { Name: 'instance-state-name', Values: ['running'] },
          ],
          // Instances of EKS Auto Mode are managed resources, and an account may hide those.
          IncludeManagedResources: true,
          MaxResults: PAGE,
          ...(nextToken && { NextToken: nextToken }),
        });
        const call = () => callAws({ object }, signal, (abortSignal) => client.send(command, { abortSignal }));
        const { Reservations = [], NextToken } = await pace(call, signal);
        const instances = Reservations.flatMap(({ Instances = [] }) => Instances);
        if (instances.length > 0) yield instances;
        // The last page has an empty one.
        nextToken = NextToken === '' ? undefined : NextToken;
      }
    }
  };
}

/**
 * What to ask EC2 for: each name once, none that cannot be the name of an instance.
 *
 * Source: EC2 user guide, "Amazon EC2 instance hostname types": a node is called by the private IP DNS name or by the resource name, which
 * begins with the instance id; nodes of EKS Auto Mode by the instance id alone.
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
  const count = Math.ceil(values.length / MOST_VALUES);
  return Array.from({ length: count }, (_, index) => ({
    name,
    values: values.slice(index * MOST_VALUES, (index + 1) * MOST_VALUES),
  }));
}
