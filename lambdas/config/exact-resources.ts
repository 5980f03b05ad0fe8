import { type Fleet, SELF } from './fleet.ts';
import type { RuleProblem } from './written.ts';

/** IAM quota: characters of a managed policy, white space not counted. The rest is left for what stands around the ARNs. */
const POLICY_CHARACTERS = 6_144 - 300;
/** IAM quota: managed policies of a role, without asking AWS for more. */
const POLICIES_OF_A_ROLE = 10;
/** Of the hub: known when it is deployed. As long as the longest. */
export const PARTITION = '<partition>';

/** What keeps IAM from naming every secret and spoke role of a fleet one by one. Pure. */
export function resourceProblems(fleet: Fleet): readonly RuleProblem[] {
  let room = POLICIES_OF_A_ROLE;
  return [
    { what: 'roles of spoke accounts', arns: spokeRoles(fleet) },
    { what: 'secrets with kubeconfigs', arns: secretsOf(fleet) },
  ].flatMap(({ what, arns }) => {
    const policies = packed(arns);
    const left = room;
    room -= policies.length;
    if (policies.length <= left) return [];
    const message = `the fleet names ${policies.flat().length} ${what}. To allow exactly these takes ${policies.length} policies and there is room for ${Math.max(left, 0)}: divide the fleet between two stacks (cdk deploy -c fleet=FILE in another account or Region)`;
    return [{ path: [], message }];
  });
}

/** The role of each spoke account, by complete ARN but for {@link PARTITION}. */
export function spokeRoles({ discovery, hub }: Pick<Fleet, 'discovery' | 'hub'>): readonly string[] {
  return discovery.flatMap(({ accounts, role }) =>
    accounts
      .filter((account) => account !== SELF && account !== hub.account)
      .map((account) => `arn:${PARTITION}:iam::${account}:role/${role}`),
  );
}

/** Every secret with a kubeconfig, by complete ARN. */
export function secretsOf({
  clusters,
  managementClusters,
}: Pick<Fleet, 'clusters' | 'managementClusters'>): readonly string[] {
  return [
    ...clusters.flatMap(({ kubeconfigSecret, managementKubeconfigSecret }) => [
      kubeconfigSecret,
      ...(managementKubeconfigSecret === undefined ? [] : [managementKubeconfigSecret]),
    ]),
    ...managementClusters.flatMap(({ kubeconfigSecret, workloadClusters }) => [
      kubeconfigSecret,
      ...Object.values(workloadClusters.kubeconfigSecrets),
    ]),
  ];
}

/** As few policies as possible, each ARN once, in an order that does not change with the order of the file. */
export function packed(arns: readonly string[]): readonly (readonly string[])[] {
  const policies: string[][] = [];
  let room = 0;
  for (const arn of [...new Set(arns)].toSorted()) {
    // Two quotation marks and a comma.
    const size = arn.length + 3;
    if (size > room) {
      policies.push([]);
      room = POLICY_CHARACTERS;
    }
    policies.at(-1)?.push(arn);
    room -= size;
  }
  return policies;
}
