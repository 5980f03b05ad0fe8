import { CreateAccessEntryCommand } from '@aws-sdk/client-eks';
import type { Account } from './account.ts';
import type { LeftOut } from './transform.ts';

/** A resource that was left out of the template, with every value that CloudFormation would have given it. */
export interface ResolvedLeftOut extends LeftOut {
  readonly properties: Readonly<Record<string, unknown>>;
}

/** Puts the values of the stack's outputs in the place of `{ Output: name }`. */
export function resolveOutputs(leftOut: LeftOut, outputs: Readonly<Record<string, string>>): ResolvedLeftOut {
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit);
    if (typeof value !== 'object' || value === null) return value;
    if ('Output' in value) {
      const resolved = outputs[String(value.Output)];
      if (resolved === undefined)
        throw new Error(`${leftOut.logicalId}: the stack has no output ${String(value.Output)}`);
      return resolved;
    }
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, visit(inner)]));
  };
  const properties = Object.fromEntries(Object.entries(leftOut.properties).map(([key, value]) => [key, visit(value)]));
  return { ...leftOut, properties };
}

/**
 * Makes through the API what CloudFormation of the emulator refuses.
 *
 * @returns false for a type that the API of the emulator does not make either.
 */
export async function createThroughApi(
  { type, logicalId, properties }: ResolvedLeftOut,
  { calls, eks }: Pick<Account, 'calls' | 'eks'>,
): Promise<boolean> {
  switch (type) {
    case 'AWS::EKS::AccessEntry': {
      const { ClusterName, PrincipalArn, KubernetesGroups, Type } = properties;
      await eks.send(
        new CreateAccessEntryCommand({
          clusterName: String(ClusterName),
          principalArn: String(PrincipalArn),
          kubernetesGroups: listOf(KubernetesGroups),
          type: String(Type),
        }),
      );
      return true;
    }
    case 'AWS::CloudWatch::CompositeAlarm': {
      const { AlarmName = logicalId, AlarmRule, AlarmActions = [] } = properties;
      const actions = listOf(AlarmActions).map((action, index) => [`AlarmActions.member.${index + 1}`, action]);
      await calls.query('monitoring', '2010-08-01', 'PutCompositeAlarm', {
        AlarmName: String(AlarmName),
        AlarmRule: String(AlarmRule),
        ...Object.fromEntries(actions),
      });
      return true;
    }
    default:
      return false;
  }
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
