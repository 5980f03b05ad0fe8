import { partitionOf } from '../aws/eks-endpoint.ts';

/** Name of the hub's stack in CloudFormation. */
export const HUB_STACK = 'CertMarshal';

/** Parts of the hub with a role that other accounts trust, or that has access entries. */
export type HubPart = 'sweep' | 'dispatch';

/** The fixed name of a role of the hub. A role's name is unique in an account, a stack's in a Region of it. */
export function roleName(
  { stackName, region }: { readonly stackName: string; readonly region: string },
  part: HubPart,
): string {
  return `${stackName}-${part}-${region}`;
}

export function hubRoleArn(
  { account, region }: { readonly account: string; readonly region: string },
  part: HubPart,
): string {
  return `arn:${partitionOf(region)}:iam::${account}:role/${roleName({ stackName: HUB_STACK, region }, part)}`;
}

/**
 * The fixed name of the function that admission webhooks call: the command line finds its URL by it. A function's name is unique
 * in a Region of an account.
 */
export function webhookFunctionName(stackName: string): string {
  return `${stackName}-webhook`;
}
