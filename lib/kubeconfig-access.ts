import { Effect, type IRole, ManagedPolicy, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import type { FleetCluster } from '../lambdas/fleet/target.ts';

/** IAM quota: characters of a managed policy, white space not counted. The rest is left for what stands around the ARNs. */
const POLICY_CHARACTERS = 6_144 - 300;
/** IAM quota: managed policies of a role, without asking AWS for more. */
const POLICIES_OF_A_ROLE = 10;

/** Thrown when IAM cannot name all secrets of a fleet one by one. */
export class TooManySecretsError extends Error {
  override readonly name = 'TooManySecretsError';

  constructor(secrets: number, policies: number) {
    super(
      `The fleet names ${secrets} secrets. To allow exactly these takes ${policies} policies and a role may have ` +
        `${POLICIES_OF_A_ROLE}: divide the fleet between two stacks, or let clusters with one management cluster share its secret.`,
    );
  }
}

/**
 * Allows a role to read exactly the secrets that the fleet names, by complete ARN.
 *
 * @throws TooManySecretsError
 */
export function allowReadingKubeconfigs(scope: Construct, role: IRole, clusters: readonly FleetCluster[]): void {
  const policies = packed(secretsOf(clusters));
  if (policies.length > POLICIES_OF_A_ROLE) throw new TooManySecretsError(policies.flat().length, policies.length);
  for (const [index, resources] of policies.entries())
    new ManagedPolicy(scope, `KubeconfigAccess${index}`, {
      description: 'certmarshal: read the kubeconfigs of the fleet',
      roles: [role],
      statements: [
        new PolicyStatement({
          effect: Effect.ALLOW,
          actions: ['secretsmanager:GetSecretValue'],
          resources: [...resources],
        }),
      ],
    });
}

/** Every secret once, in an order that does not change with the order of the clusters. */
function secretsOf(clusters: readonly FleetCluster[]): readonly string[] {
  const secrets = clusters.flatMap(({ kubeconfigSecret, managementKubeconfigSecret }) => [
    kubeconfigSecret,
    ...(managementKubeconfigSecret === undefined ? [] : [managementKubeconfigSecret]),
  ]);
  return [...new Set(secrets)].toSorted();
}

/** As few policies as possible. */
function packed(arns: readonly string[]): readonly (readonly string[])[] {
  const policies: string[][] = [];
  let room = 0;
  for (const arn of arns) {
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
