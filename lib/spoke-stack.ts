import { AccountPrincipal, CfnRole, PolicyDocument, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Aws, BootstraplessSynthesizer, CfnParameter, Fn, Stack, type StackProps } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { SELF } from '../lambdas/config/fleet.ts';
import { AccessEntries } from './constructs/access-entries.ts';
import { acknowledgeReading, readClusters } from './discovery-access.ts';
import type { Spoke, SpokeRoleOptions } from './spokes-of.ts';

export interface SpokeStackProps extends StackProps {
  readonly spoke: Spoke;
  /** Defaults of the parameters. @default none: the parameters must be given */
  readonly hubRoles?: HubRoles | undefined;
}

export interface HubRoles {
  readonly sweepRoleArn: string;
  readonly dispatchRoleArn: string;
}

/**
 * A spoke account: a role that reads its EKS clusters and instances, for exactly two roles of the hub, and access
 * entries for the hub's sweep role. Nothing runs there. No assets and no bootstrap: `aws cloudformation deploy` and
 * StackSets take the template unchanged, for any account and Region.
 */
export class SpokeStack extends Stack {
  constructor(scope: Construct, id: string, { spoke, hubRoles, ...props }: SpokeStackProps) {
    super(scope, id, {
      description: 'certmarshal: lets the hub read and enter the EKS clusters of this account',
      synthesizer: new BootstraplessSynthesizer(),
      ...props,
    });
    const sweepRoleArn = this.#roleParameter('HubSweepRoleArn', hubRoles?.sweepRoleArn);
    const hubArns = { sweepRoleArn, dispatchRoleArn: '' };
    if (spoke.roles.length > 0)
      hubArns.dispatchRoleArn = this.#roleParameter('HubDispatchRoleArn', hubRoles?.dispatchRoleArn);
    for (const options of spoke.roles) this.#role(options, hubArns);
    new AccessEntries(this, 'AccessEntries', { clusters: spoke.accessEntries, principalArn: sweepRoleArn });
  }

  #roleParameter(id: string, value: string | undefined): string {
    return new CfnParameter(this, id, {
      description: `The output ${id.replace('Hub', '')} of the hub's stack`,
      // No wildcard: in a condition it would be a pattern.
      allowedPattern: String.raw`arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]+`,
      default: value,
    }).valueAsString;
  }

  #role(options: SpokeRoleOptions, hub: HubRoles): void {
    const { name, externalId, sessionTags } = options;
    const rights = { list: true, instances: true, audit: true };
    const regions = options.regions.map((region) => (region === SELF ? Aws.REGION : region));
    const role = new CfnRole(this, `Role-${name}`, {
      roleName: name,
      description: 'certmarshal: reads EKS clusters, their CAs, node groups and instances, nothing else',
      assumeRolePolicyDocument: new PolicyDocument({ statements: this.#trust(hub, sessionTags, externalId) }),
      policies: [
        {
          policyName: 'read',
          policyDocument: new PolicyDocument({
            statements: [...readClusters(regions, rights)],
          }),
        },
      ],
    });
    acknowledgeReading(role, regions);
  }

  /**
   * Trusts the hub's account on the condition that the caller is one of two role ARNs. IAM stores a role principal as
   * its unique id, so a hub that was deleted and created again would be rejected. Source: IAM User Guide, "AWS JSON
   * policy elements: Principal".
   *
   * Two statements, because the actions have different condition keys. Source: IAM User Guide, "Pass session tags in
   * AWS STS".
   */
  #trust(
    hub: HubRoles,
    sessionTags: SpokeRoleOptions['sessionTags'],
    externalId: string | undefined,
  ): PolicyStatement[] {
    const principals = [new AccountPrincipal(Fn.select(4, Fn.split(':', hub.sweepRoleArn)))];
    const ArnEquals = { 'aws:PrincipalArn': [hub.dispatchRoleArn, hub.sweepRoleArn] };
    const tags = Object.fromEntries(
      Object.entries(sessionTags).map(([key, value]) => [`aws:RequestTag/${key}`, value] as const),
    );
    const assume = {
      ...tags,
      ...(externalId === undefined ? {} : { 'sts:ExternalId': this.#externalIdParameter(externalId) }),
    };
    return [
      new PolicyStatement({
        principals,
        actions: ['sts:AssumeRole'],
        conditions: Object.keys(assume).length === 0 ? { ArnEquals } : { ArnEquals, StringEquals: assume },
      }),
      ...(Object.keys(tags).length === 0
        ? []
        : [
            new PolicyStatement({
              principals,
              actions: ['sts:TagSession'],
              conditions: { ArnEquals, StringEquals: tags },
            }),
          ]),
    ];
  }

  #externalIdParameter(value: string): string {
    const id = 'ExternalId';
    const existing = this.node.tryFindChild(id);
    if (existing instanceof CfnParameter && existing.default === value) return existing.valueAsString;
    return new CfnParameter(this, existing === undefined ? id : `${id}-${this.node.children.length}`, {
      description: 'Must be the externalId of the discovery in fleet.yaml',
      default: value,
    }).valueAsString;
  }
}
