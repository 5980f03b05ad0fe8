/** Values of a CloudFormation template, read strictly. */
export type Fields = Readonly<Record<string, unknown>>;

const PSEUDO: Readonly<Record<string, string>> = {
  'AWS::AccountId': '999900001111',
  'AWS::Partition': 'aws',
  'AWS::Region': 'eu-central-1',
  'AWS::StackName': 'certmarshal',
  'AWS::URLSuffix': 'amazonaws.com',
};

/**
 * The text of a value. A reference to a resource is its logical id, and so is an attribute that names it.
 *
 * @throws Error for a function that is not understood
 */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  const [[intrinsic, argument] = ['nothing', undefined], ...others] = Object.entries(object(value, 'a value'));
  if (others.length === 0) {
    if (intrinsic === 'Ref') return reference(textOf(argument));
    if (intrinsic === 'Fn::GetAtt') {
      const [id = '', attribute = ''] = list(argument, 'Fn::GetAtt').map(textOf);
      // QueueName, TopicName, FunctionName: what Ref gives for other types.
      return attribute.endsWith('Name') ? id : `${id}.${attribute}`;
    }
    if (intrinsic === 'Fn::Join') {
      const [separator, parts] = list(argument, 'Fn::Join');
      return list(parts, 'Fn::Join').map(textOf).join(textOf(separator));
    }
  }
  throw new Error(`${intrinsic} is not understood`);
}

function reference(id: string): string {
  if (id.startsWith('AWS::') && !Object.hasOwn(PSEUDO, id)) throw new Error(`${id} is not understood`);
  return PSEUDO[id] ?? id;
}

export function object(value: unknown, what: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${what} is no object`);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every field is unknown
  return value as Fields;
}

export function list(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`${what} is no list`);
  return value;
}

export function numeric(value: unknown, what: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new Error(`${what} is no number`);
  return value;
}
