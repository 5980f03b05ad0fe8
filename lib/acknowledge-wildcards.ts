import { Validations } from 'aws-cdk-lib/core';
import type { IConstruct } from 'constructs';

/**
 * Tells cdk-nag why a policy below a construct has wildcards.
 *
 * @param findings as printed by AwsSolutions-IAM5: `Resource::*`
 */
export function acknowledgeWildcards(scope: IConstruct, reason: string, findings: readonly string[]): void {
  for (const finding of findings) Validations.of(scope).acknowledge({ id: `AwsSolutions-IAM5[${finding}]`, reason });
}
