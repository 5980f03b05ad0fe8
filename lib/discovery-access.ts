import { Effect, type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { ArnFormat, Aws, Stack, Token } from 'aws-cdk-lib/core';
import type { IConstruct } from 'constructs';
import { spokeRoles } from '../lambdas/config/exact-resources.ts';
import { type EksDiscovery, type Fleet, SELF } from '../lambdas/config/fleet.ts';
import { acknowledgeWildcards } from './acknowledge-wildcards.ts';
import { allowExactly } from './exact-policies.ts';
import type { HubPlace } from './spokes-of.ts';

/** Allows roles of the hub to assume the role of each spoke account, by complete ARN. */
export function allowSpokes(stack: Stack, roles: readonly IRole[], fleet: Pick<Fleet, 'discovery' | 'hub'>): void {
  const tagged = fleet.discovery.some(({ sessionTags }) => Object.keys(sessionTags).length > 0);
  allowExactly(stack, 'SpokeAccess', {
    roles,
    actions: ['sts:AssumeRole', ...(tagged ? ['sts:TagSession'] : [])],
    resources: spokeRoles(fleet),
    what: 'roles of spoke accounts',
  });
}

export interface OwnClusters {
  readonly discovery: readonly EksDiscovery[];
  readonly place: HubPlace;
  readonly dispatchRole: IRole;
  readonly sweepRole: IRole;
}

/** In the hub's own account its roles read clusters directly. */
export function allowTheOwnClusters(stack: Stack, { discovery, place, dispatchRole, sweepRole }: OwnClusters): void {
  const own = discovery.filter(({ accounts }) =>
    accounts.some((account) => account === SELF || account === place.account),
  );
  const regions = [
    ...new Set(own.flatMap((entry) => entry.regions.map((region) => (region === SELF ? stack.region : region)))),
  ];
  if (regions.length === 0) return;
  for (const role of [dispatchRole, sweepRole]) {
    const may = {
      list: role === dispatchRole,
      instances: role === sweepRole,
      audit: role === sweepRole,
    };
    for (const statement of readClusters(regions, may)) role.addToPrincipalPolicy(statement);
    acknowledgeReading(role, regions);
  }
}

/** EKS calls of an audit. Source: Service Authorization Reference, Amazon EKS. */
const AUDIT_OF_CLUSTERS = ['eks:ListCertificateAuthorities', 'eks:DescribeCertificateAuthority'];

/** Permissions of a role in its own account, in some Regions. */
interface ClusterRights {
  readonly list: boolean;
  readonly instances: boolean;
  readonly audit: boolean;
}

/** Permissions to read EKS clusters and instances of its own account in exactly these Regions. */
export function readClusters(
  regions: readonly string[],
  { list, instances, audit }: ClusterRights,
): readonly PolicyStatement[] {
  const clusters = regions.map((region) => `arn:${Aws.PARTITION}:eks:${region}:${Aws.ACCOUNT_ID}:cluster/*`);
  // Neither supports resource-level permissions. Source: Service Authorization Reference, Amazon EKS and Amazon EC2.
  const anywhere = [...(list ? ['eks:ListClusters'] : []), ...(instances ? ['ec2:DescribeInstances'] : [])];
  return [
    new PolicyStatement({ actions: ['eks:DescribeCluster', ...(audit ? AUDIT_OF_CLUSTERS : [])], resources: clusters }),
    new PolicyStatement({
      actions: anywhere,
      resources: ['*'],
      conditions: { StringEquals: { 'aws:RequestedRegion': [...regions] } },
    }),
  ];
}

/** Tells cdk-nag why {@link readClusters} has wildcards. */
export function acknowledgeReading(scope: IConstruct, regions: readonly string[]): void {
  acknowledgeWildcards(scope, 'eks:ListClusters and ec2:DescribeInstances know no resources.', ['Resource::*']);
  acknowledgeWildcards(
    scope,
    'Which clusters there are is what the discovery finds out; it reads their description, and enters none by it.',
    regions.map((region) => `Resource::arn:<AWS::Partition>:eks:${regionName(region)}:<AWS::AccountId>:cluster/*`),
  );
}

function regionName(region: string): string {
  return Token.isUnresolved(region) ? '<AWS::Region>' : region;
}

/** Actions that Lambda needs to connect a function to a VPC, and that the function itself must not use. */
const NETWORK_INTERFACES = [
  'ec2:AssignPrivateIpAddresses',
  'ec2:CreateNetworkInterface',
  'ec2:DeleteNetworkInterface',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeSubnets',
  'ec2:UnassignPrivateIpAddresses',
];

/**
 * Lets Lambda connect the functions of a role to VPCs. Calls of the functions' own code, which carry the ARN of the function, are denied.
 * Source: AWS Lambda Developer Guide, "Giving Lambda functions access to resources in an Amazon VPC", required IAM permissions.
 */
export function allowAttachingToVpcs(role: IRole): void {
  const stack = Stack.of(role);
  const functions = stack.formatArn({
    service: 'lambda',
    resource: 'function',
    resourceName: '*',
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
  role.addToPrincipalPolicy(new PolicyStatement({ actions: NETWORK_INTERFACES, resources: ['*'] }));
  role.addToPrincipalPolicy(
    new PolicyStatement({
      effect: Effect.DENY,
      actions: NETWORK_INTERFACES,
      resources: ['*'],
      conditions: { ArnLike: { 'lambda:SourceFunctionArn': functions } },
    }),
  );
  acknowledgeWildcards(
    role,
    'Lambda wants them so when a function is connected to a VPC; the function itself is denied them.',
    ['Resource::*'],
  );
}
