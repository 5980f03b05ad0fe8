import { CreateAccessEntryCommand, DeleteAccessEntryCommand } from '@aws-sdk/client-eks';
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

/** The names of the metric alarms that were left out. */
export function missingAlarms(leftOut: readonly LeftOut[]): ReadonlySet<string> {
  return new Set(
    leftOut
      .filter(({ type }) => type === 'AWS::CloudWatch::Alarm')
      .map(({ logicalId, properties: { AlarmName = logicalId } }) => String(AlarmName)),
  );
}

/** A rule of `ALARM("name")` with OR between, over those alarms that are there: CloudWatch refuses one that asks for another. */
export function ruleWithout(rule: string, missing: ReadonlySet<string>): string {
  const terms = rule.split(' OR ');
  for (const term of terms)
    if (!/^ALARM\("[^"]+"\)$/.test(term)) throw new Error(`the rule of a composite alarm is not understood: ${term}`);
  return terms.filter((term) => !missing.has(term.slice('ALARM("'.length, -'")'.length))).join(' OR ');
}

/**
 * Makes through the API what CloudFormation of the emulator refuses.
 *
 * @param missing names of alarms that are not there
 * @returns false for a type that the API of the emulator does not make either, and for a composite alarm of nothing but missing ones.
 */
export async function createThroughApi(
  { type, logicalId, properties }: ResolvedLeftOut,
  { calls, eks }: Pick<Account, 'calls' | 'eks'>,
  missing: ReadonlySet<string> = new Set(),
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
      const { AlarmName = logicalId, AlarmRule } = properties;
      const rule = ruleWithout(String(AlarmRule), missing);
      if (rule === '') return false;
      await calls.query('monitoring', '2010-08-01', 'PutCompositeAlarm', {
        AlarmName: String(AlarmName),
        AlarmRule: rule,
        ...membersOf('AlarmActions', properties),
        ...membersOf('OKActions', properties),
      });
      return true;
    }
    default:
      return false;
  }
}

/** Deletes what {@link createThroughApi} made, as CloudFormation would: an alarm cannot go while a composite one asks for it. */
export async function deleteThroughApi(
  { type, logicalId, properties }: ResolvedLeftOut,
  { calls, eks }: Pick<Account, 'calls' | 'eks'>,
): Promise<void> {
  const { AlarmName = logicalId, ClusterName, PrincipalArn } = properties;
  if (type === 'AWS::CloudWatch::CompositeAlarm')
    await calls.query('monitoring', '2010-08-01', 'DeleteAlarms', { 'AlarmNames.member.1': String(AlarmName) });
  if (type === 'AWS::EKS::AccessEntry')
    await eks.send(
      new DeleteAccessEntryCommand({ clusterName: String(ClusterName), principalArn: String(PrincipalArn) }),
    );
}

function membersOf(name: string, properties: ResolvedLeftOut['properties']): Readonly<Record<string, string>> {
  return Object.fromEntries(listOf(properties[name]).map((action, index) => [`${name}.member.${index + 1}`, action]));
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
