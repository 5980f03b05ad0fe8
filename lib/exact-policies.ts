import { type IRole, ManagedPolicy, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Stack } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { PARTITION, packed } from '../lambdas/config/exact-resources.ts';

export interface ExactPermission {
  readonly roles: readonly IRole[];
  readonly actions: readonly string[];
  /** Complete ARNs but for {@link PARTITION}; repetitions are allowed. No more than `resourceProblems` allows. */
  readonly resources: readonly string[];
  /** Plural name of the resources, for the description. */
  readonly what: string;
}

/** Allows roles an action on exactly these resources, in as few managed policies as possible. */
export function allowExactly(scope: Construct, id: string, permission: ExactPermission): void {
  const { partition } = Stack.of(scope);
  for (const [index, arns] of packed(permission.resources).entries())
    new ManagedPolicy(scope, `${id}${index}`, {
      description: `certmarshal: ${permission.what} of the fleet`,
      roles: [...permission.roles],
      statements: [
        new PolicyStatement({
          actions: [...permission.actions],
          resources: arns.map((arn) => arn.replace(PARTITION, () => partition)),
        }),
      ],
    });
}
