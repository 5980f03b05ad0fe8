import type { IRole } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { secretsOf } from '../lambdas/config/exact-resources.ts';
import type { Fleet } from '../lambdas/config/fleet.ts';
import { allowExactly } from './exact-policies.ts';

/** Allows a role to read exactly the secrets that the fleet names, by complete ARN. */
export function allowReadingKubeconfigs(
  scope: Construct,
  role: IRole,
  fleet: Pick<Fleet, 'clusters' | 'managementClusters'>,
): void {
  allowExactly(scope, 'KubeconfigAccess', {
    roles: [role],
    actions: ['secretsmanager:GetSecretValue'],
    resources: secretsOf(fleet),
    what: 'secrets with kubeconfigs',
  });
}
