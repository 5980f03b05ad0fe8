import type { Fix } from './check.ts';
import { type HubRoles, roleOf, whereIsTheRole } from './hub-roles.ts';

/** Grants one more action to a role. */
export function allowFix(principal: string, action: string, resource: string, text: string): Fix {
  const role = roleOf(principal);
  if (role === undefined) return { text: `${text} The principal is ${principal}.` };
  const document = JSON.stringify({
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Action: action, Resource: resource }],
  });
  return {
    text: `${text} Deploy the stack that has the role ${role.name} again; until then, as an administrator of its account:`,
    command: `aws iam put-role-policy --role-name ${role.name} --policy-name certmarshal-${action.replace(':', '-')} --policy-document '${document}'`,
  };
}

/** The group of the access entry, and the default subject of `certmarshal rbac`. */
export const GROUP = 'certmarshal';

/** Creates the access entry of the sweep role. Source: EKS User Guide, "Create access entries". */
export function accessEntryFix(roles: HubRoles, cluster: string, region: string): Fix {
  return {
    text: `It needs an access entry for the role of the sweep; the authentication mode must include API. As an administrator of its account:${whereIsTheRole(roles)}`,
    command: `aws eks create-access-entry --cluster-name ${cluster} --region ${region} --principal-arn ${roles.sweepRole} --kubernetes-groups ${GROUP}`,
  };
}
