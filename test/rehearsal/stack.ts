import type { AwsCalls } from './aws-call.ts';

export interface StackResource {
  readonly logicalId: string;
  readonly physicalId: string;
  readonly type: string;
}

const VERSION = '2010-05-15';

/** What CloudFormation made of a stack. */
export async function resourcesOf(calls: AwsCalls, stack: string): Promise<readonly StackResource[]> {
  const xml = await calls.query('cloudformation', VERSION, 'DescribeStackResources', { StackName: stack });
  return membersOf(xml, 'StackResources').map((member) => ({
    logicalId: textOf(member, 'LogicalResourceId'),
    physicalId: textOf(member, 'PhysicalResourceId'),
    type: textOf(member, 'ResourceType'),
  }));
}

/** The outputs of a stack, by name. */
export async function outputsOf(calls: AwsCalls, stack: string): Promise<Readonly<Record<string, string>>> {
  const xml = await calls.query('cloudformation', VERSION, 'DescribeStacks', { StackName: stack });
  return Object.fromEntries(
    membersOf(xml, 'Outputs').map((member) => [textOf(member, 'OutputKey'), textOf(member, 'OutputValue')]),
  );
}

function membersOf(xml: string, list: string): readonly string[] {
  const inside = new RegExp(`<${list}>(.*)</${list}>`, 's').exec(xml)?.[1] ?? '';
  return [...inside.matchAll(/<member>(.*?)<\/member>/gs)].map(([, member = '']) => member);
}

function textOf(xml: string, element: string): string {
  const text = new RegExp(`<${element}>([^<]*)</${element}>`).exec(xml)?.[1] ?? '';
  return text.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}
