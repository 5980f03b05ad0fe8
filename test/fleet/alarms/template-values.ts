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
 * The text of a value. A reference to a resource is its logical id, an attribute that names it too, an alarm its name or an ARN that ends in it.
 *
 * @param names of the alarms, by logical id
 * @throws Error for a function that is not understood
 */
export function textOf(value: unknown, names: ReadonlyMap<string, string>): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const [[intrinsic, argument] = ['nothing', undefined], ...others] = Object.entries(object(value, 'a value'));
  if (others.length === 0) {
    if (intrinsic === 'Ref') return reference(textOf(argument, names), names);
    if (intrinsic === 'Fn::GetAtt') {
      const [id, attribute] = list(argument, 'Fn::GetAtt').map((part) => textOf(part, names));
      return attributeOf(id ?? '', attribute ?? '', names);
    }
    if (intrinsic === 'Fn::Join') {
      const [separator, parts] = list(argument, 'Fn::Join');
      return list(parts, 'Fn::Join')
        .map((part) => textOf(part, names))
        .join(textOf(separator, names));
    }
    if (intrinsic === 'Fn::Sub' && typeof argument === 'string')
      return argument.replaceAll(/\$\{(?<id>[^}]+)\}/g, (_, id: string) => {
        const [resource = '', attribute] = id.split('.');
        return attribute === undefined ? reference(resource, names) : attributeOf(resource, attribute, names);
      });
  }
  throw new Error(`${intrinsic} is not understood`);
}

function reference(id: string, names: ReadonlyMap<string, string>): string {
  if (id.startsWith('AWS::') && !Object.hasOwn(PSEUDO, id)) throw new Error(`${id} is not understood`);
  return PSEUDO[id] ?? names.get(id) ?? id;
}

function attributeOf(id: string, attribute: string, names: ReadonlyMap<string, string>): string {
  const alarm = names.get(id);
  if (alarm !== undefined && attribute === 'Arn') return `arn:aws:cloudwatch:eu-central-1:999900001111:alarm:${alarm}`;
  // QueueName, TopicName, FunctionName: what Ref gives for other types.
  return attribute.endsWith('Name') ? id : `${id}.${attribute}`;
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
