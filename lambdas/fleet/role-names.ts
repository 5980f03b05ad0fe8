import { partitionOf } from '../aws/eks-endpoint.ts';

/** Name of the hub's stack in CloudFormation. */
export const HUB_STACK = 'CertMarshal';

/** Who of the hub has a role that other accounts trust, or that has access entries. */
export type HubPart = 'sweep' | 'dispatch';

/** The fixed name of a role of the hub. A role's name is unique in an account, a stack's in a Region of it. */
export function roleName(
  { stackName, region }: { readonly stackName: string; readonly region: string },
  part: HubPart,
): string {
  return `${stackName}-${part}-${region}`;
}

/** ARN of a role of the hub, by where the hub is. */
export function hubRoleArn(
  { account, region }: { readonly account: string; readonly region: string },
  part: HubPart,
): string {
  return `arn:${partitionOf(region)}:iam::${account}:role/${roleName({ stackName: HUB_STACK, region }, part)}`;
}

/** The fixed name of the function that takes hints: who has credentials for the hub finds its URL by it. A function's name is unique in a Region of an account. */
export function webhookFunctionName(stackName: string): string {
  return `${stackName}-webhook`;
}
