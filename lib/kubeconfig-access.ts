import type { IRole } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import type { Fleet } from '../lambdas/config/fleet.ts';
import { allowExactly, POLICIES_OF_A_ROLE } from './exact-policies.ts';

/** The parts of a fleet that name secrets. */
type FleetWithSecrets = Pick<Fleet, 'clusters' | 'managementClusters'>;

/**
 * Allows a role to read exactly the secrets that the fleet names, by complete ARN.
 *
 * @param room managed policies left for the role
 * @throws TooManyResourcesError
 */
export function allowReadingKubeconfigs(
  scope: Construct,
  role: IRole,
  fleet: FleetWithSecrets,
  room = POLICIES_OF_A_ROLE,
): void {
  allowExactly(scope, 'KubeconfigAccess', {
    roles: [role],
    actions: ['secretsmanager:GetSecretValue'],
    resources: secretsOf(fleet),
    what: 'secrets with kubeconfigs',
    room,
  });
}

function secretsOf({ clusters, managementClusters }: FleetWithSecrets): readonly string[] {
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
