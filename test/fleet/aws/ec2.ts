import type { Instance } from '@aws-sdk/client-ec2';
import { AwsFault } from './aws-fault.ts';
import { readFilters } from './ec2-filters.ts';
import { instanceXml } from './ec2-instance-xml.ts';
import { pageOf } from './pages.ts';
import { queryProtocol } from './query-protocol.ts';
import { type Caller, type Place, placed, type Service } from './service.ts';

/** An instance as DescribeInstances shows it, so that evidence and its tests speak of the same. */
export type SimulatedInstance = Instance & { readonly InstanceId: string };

export interface SimulatedEc2 {
  /** Creates or replaces an instance. It runs unless it says otherwise. */
  putInstance(place: Place, instance: SimulatedInstance): void;
}

const protocol = queryProtocol('ec2');
const SIMULATED = /^(?:Action|Version|Filter\.\d+\.(?:Name|Value\.\d+)|MaxResults|NextToken|IncludeManagedResources)$/;

/** DescribeInstances. Source: Amazon EC2 API reference. */
export function createEc2(): SimulatedEc2 & Service<URLSearchParams> {
  const instances = new Map<string, Map<string, SimulatedInstance>>();

  const describeInstances = (input: URLSearchParams, caller: Caller) => {
    const other = [...input.keys()].find((key) => !SIMULATED.test(key));
    if (other !== undefined) throw new AwsFault(400, 'InvalidParameter', `Not simulated: ${other}`);
    const filters = readFilters(input);
    const size = Number(input.get('MaxResults') ?? 1000);
    if (!(size >= 5 && size <= 1000))
      throw new AwsFault(400, 'InvalidParameterValue', `Value (${size}) for parameter maxResults is invalid`);
    const here = [...(instances.get(placed(caller))?.values() ?? [])];
    const page = pageOf(
      here.filter((instance) => filters.every((passes) => passes(instance))),
      size,
      input.get('NextToken'),
    );
    if (page === undefined) throw new AwsFault(400, 'InvalidNextToken', 'The token is not valid');
    return protocol.answer('DescribeInstances', {
      reservationSet: {
        item: page.items.map((instance) => ({
          reservationId: `r-${instance.InstanceId.slice(2)}`,
          ownerId: caller.account,
          instancesSet: { item: instanceXml(instance) },
        })),
      },
      nextToken: page.nextToken,
    });
  };

  return {
    putInstance(place, instance) {
      const key = placed(place);
      const running = { State: { Code: 16, Name: 'running' }, ...instance } as const;
      instances.set(key, (instances.get(key) ?? new Map()).set(instance.InstanceId, running));
    },
    protocol,
    handle(action, input, caller) {
      if (action === 'DescribeInstances') return describeInstances(input, caller);
      throw new AwsFault(400, 'InvalidAction', `Not simulated: ${action}`);
    },
  };
}
