import { AnyPrincipal, Effect, type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';

/**
 * For a resource policy: denies actions to everyone but these roles, whatever other policies grant. Does not stop
 * anyone who may change the resource policy.
 *
 * `aws:PrincipalArn` of a function is the ARN of its role. Source: IAM User Guide, "AWS global condition context keys".
 */
export function onlyBy(
  roles: readonly IRole[],
  { actions, resources }: { readonly actions: readonly string[]; readonly resources: readonly string[] },
): PolicyStatement {
  return new PolicyStatement({
    effect: Effect.DENY,
    principals: [new AnyPrincipal()],
    actions: [...actions],
    resources: [...resources],
    conditions: { ArnNotEquals: { 'aws:PrincipalArn': roles.map(({ roleArn }) => roleArn) } },
  });
}
