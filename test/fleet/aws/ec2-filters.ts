import type { Instance } from '@aws-sdk/client-ec2';
import { AwsFault } from './aws-fault.ts';

/** `Filter.n` of a request. */
export interface Ec2Filter {
  readonly name: string;
  readonly values: readonly string[];
}

// Amazon EC2 API reference, "Filter": 50 filters, 200 values in all.
const MAX_FILTERS = 50;
const MAX_VALUES = 200;

/** What a filter compares with; of several values one is enough. */
const FIELDS: Readonly<Record<string, (instance: Instance) => readonly (string | undefined)[]>> = {
  'instance-id': ({ InstanceId }) => [InstanceId],
  'instance-state-name': ({ State }) => [State?.Name],
  'private-dns-name': ({ PrivateDnsName }) => [PrivateDnsName],
  'private-ip-address': ({ PrivateIpAddress }) => [PrivateIpAddress],
  'vpc-id': ({ VpcId }) => [VpcId],
  'tag-key': ({ Tags = [] }) => Tags.map(({ Key }) => Key),
};

/** @throws AwsFault when there are too many. */
export function readFilters(input: URLSearchParams): readonly Ec2Filter[] {
  const filters: Ec2Filter[] = [];
  for (let index = 1; ; index += 1) {
    const name = input.get(`Filter.${index}.Name`);
    if (name === null) break;
    const values = [...input].filter(([key]) => key.startsWith(`Filter.${index}.Value.`)).map(([, value]) => value);
    if (values.length === 0) throw new AwsFault(400, 'InvalidParameterValue', `The filter '${name}' has no value`);
    filters.push({ name, values });
  }
  if (filters.length > MAX_FILTERS || filters.reduce((sum, { values }) => sum + values.length, 0) > MAX_VALUES)
    throw new AwsFault(
      400,
      'FilterLimitExceeded',
      'The maximum number of filter values specified on a single call is 200',
    );
  return filters;
}

/**
 * Whether an instance passes all filters, each with one of its values. `*` stands for any characters, `?` for one, a backslash
 * makes the next character itself; case counts.
 *
 * @throws AwsFault when there is no such filter.
 */
export function passes(instance: Instance, filters: readonly Ec2Filter[]): boolean {
  return filters.every(({ name, values }) => {
    const present = fieldOf(name)(instance);
    return values.some((pattern) => {
      const matcher = matcherOf(pattern);
      return present.some((value) => value !== undefined && matcher.test(value));
    });
  });
}

/** @throws AwsFault */
export function fieldOf(name: string): (instance: Instance) => readonly (string | undefined)[] {
  if (name.startsWith('tag:'))
    return ({ Tags = [] }) => Tags.filter(({ Key }) => Key === name.slice(4)).map(({ Value }) => Value);
  const field = FIELDS[name];
  if (field === undefined) throw new AwsFault(400, 'InvalidParameterValue', `The filter '${name}' is invalid`);
  return field;
}

function matcherOf(pattern: string): RegExp {
  const source = pattern.replaceAll(/\\?[^]/g, (piece) => {
    if (piece === '*') return '.*';
    if (piece === '?') return '.';
    return (piece.length > 1 ? piece.slice(1) : piece).replaceAll(/[\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
  });
  return new RegExp(`^${source}$`, 's');
}
