import type { AwsCaller } from './aws-calls.ts';
import type { Fix } from './check.ts';

/** The role of a principal: `arn:aws:iam::111122223333:role/certmarshal`; undefined for a user. */
export function roleOf(arn: string): { readonly arn: string; readonly name: string } | undefined {
  const { partition, account, name } =
    /^arn:(?<partition>[a-z-]+):(?:sts|iam)::(?<account>\d{12}):(?:assumed-role\/|role\/(?:[\w+=,.@/-]+\/)?)(?<name>[\w+=,.@-]+)(?:\/[\w+=,.@-]+)?$/.exec(
      arn,
    )?.groups ?? {};
  if (name === undefined) return undefined;
  return { arn: `arn:${partition}:iam::${account}:role/${name}`, name };
}

/** Allows one action to a role, beside what it may already. */
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

/** Lets the caller into a cluster. Source: EKS User Guide, "Create access entries". */
export function accessEntryFix({ arn }: AwsCaller, cluster: string, region: string): Fix {
  const role = roleOf(arn);
  const text =
    'The cluster has no access entry for this principal, or its authentication mode is CONFIG_MAP. As an administrator of its account:';
  const principal = role?.arn ?? (/^arn:[a-z-]+:iam::\d{12}:user\/[\w+=,.@/-]+$/.test(arn) ? arn : undefined);
  if (principal === undefined)
    return { text: `${text} make one for the role of certmarshal, in the group certmarshal.` };
  return {
    text,
    command: `aws eks create-access-entry --cluster-name ${cluster} --region ${region} --principal-arn ${principal} --kubernetes-groups certmarshal`,
  };
}
