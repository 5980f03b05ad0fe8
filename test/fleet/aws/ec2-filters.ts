import type { Instance } from '@aws-sdk/client-ec2';
import { AwsFault } from './aws-fault.ts';

// Amazon EC2 API reference, "Filter": 200 values in all.
const MAX_VALUES = 200;

type Values = (instance: Instance) => readonly (string | undefined)[];

/** What a filter compares with; of several values one is enough. */
const FIELDS: Readonly<Record<string, Values>> = {
  'instance-id': ({ InstanceId }) => [InstanceId],
  'instance-state-name': ({ State }) => [State?.Name],
  'private-dns-name': ({ PrivateDnsName }) => [PrivateDnsName],
  'vpc-id': ({ VpcId }) => [VpcId],
};

/**
 * `Filter.n` of a request, each as whether an instance has one of its values. Patterns are not simulated: nothing of ours may send one.
 *
 * @throws AwsFault when there are too many, there is no such filter, or a value is a pattern.
 */
export function readFilters(input: URLSearchParams): readonly ((instance: Instance) => boolean)[] {
  let count = 0;
  const filters = [...input].filter(([key]) => /^Filter\.\d+\.Name$/.test(key));
  const passes = filters.map(([key, name]) => {
    const prefix = key.replace(/Name$/, 'Value.');
    const wanted = [...input].filter(([other]) => other.startsWith(prefix)).map(([, value]) => value);
    const field = fieldOf(name);
    if (wanted.length === 0) throw invalid(`The filter '${name}' has no value`);
    if (wanted.some((value) => /[*?\\]/.test(value))) throw invalid(`The filter '${name}' has a pattern`);
    count += wanted.length;
    return (instance: Instance) => field(instance).some((value) => value !== undefined && wanted.includes(value));
  });
  if (count > MAX_VALUES)
    throw new AwsFault(
      400,
      'FilterLimitExceeded',
      'The maximum number of filter values specified on a single call is 200',
    );
  return passes;
}

function fieldOf(name: string): Values {
  if (name.startsWith('tag:'))
    return ({ Tags = [] }) => Tags.filter(({ Key }) => Key === name.slice(4)).map(({ Value }) => Value);
  const field = FIELDS[name];
  if (field === undefined) throw invalid(`The filter '${name}' is invalid`);
  return field;
}

function invalid(message: string): AwsFault {
  return new AwsFault(400, 'InvalidParameterValue', message);
}
