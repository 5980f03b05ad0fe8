import type { Instance } from '@aws-sdk/client-ec2';
import { AwsFault } from './aws-fault.ts';
import { fieldOf, passes, readFilters } from './ec2-filters.ts';
import { instanceXml } from './ec2-instance-xml.ts';
import { pageOf } from './pages.ts';
import { numbered, queryProtocol } from './query-protocol.ts';
import { type Caller, type Place, placed, type Service } from './service.ts';

/** An instance as DescribeInstances shows it, so that evidence and its tests speak of the same. */
export type SimulatedInstance = Instance & { readonly InstanceId: string };

export interface SimulatedEc2 {
  /** Creates or replaces an instance. It runs unless it says otherwise. */
  putInstance(place: Place, instance: SimulatedInstance): void;
  removeInstance(place: Place, id: string): void;
}

const protocol = queryProtocol('ec2');

/** DescribeInstances. Source: Amazon EC2 API reference. */
export function createEc2(): SimulatedEc2 & Service<URLSearchParams> {
  const instances = new Map<string, Map<string, SimulatedInstance>>();

  const describeInstances = (input: URLSearchParams, caller: Caller) => {
    if (input.get('DryRun') === 'true')
      throw new AwsFault(412, 'DryRunOperation', 'Request would have succeeded, but DryRun flag is set.');
    const here = instances.get(placed(caller)) ?? new Map<string, SimulatedInstance>();
    const ids = numbered(input, 'InstanceId');
    const chosen = ids.length === 0 ? [...here.values()] : named(here, ids);
    const filters = readFilters(input);
    // Also when there is no instance to look at.
    for (const { name } of filters) fieldOf(name);
    const size = pageSize(input, ids);
    const page = pageOf(
      chosen.filter((instance) => passes(instance, filters)),
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
    removeInstance: (place, id) => void instances.get(placed(place))?.delete(id),
    protocol,
    handle(action, input, caller) {
      if (action === 'DescribeInstances') return describeInstances(input, caller);
      throw new AwsFault(400, 'InvalidAction', `Not simulated: ${action}`);
    },
  };
}

function named(here: ReadonlyMap<string, SimulatedInstance>, ids: readonly string[]): readonly SimulatedInstance[] {
  const malformed = ids.find((id) => !/^i-[0-9a-f]{8,17}$/.test(id));
  if (malformed !== undefined) throw new AwsFault(400, 'InvalidInstanceID.Malformed', `Invalid id: "${malformed}"`);
  return ids.map((id) => {
    const instance = here.get(id);
    if (instance !== undefined) return instance;
    throw new AwsFault(400, 'InvalidInstanceID.NotFound', `The instance ID '${id}' does not exist`);
  });
}

function pageSize(input: URLSearchParams, ids: readonly string[]): number {
  const maxResults = input.get('MaxResults');
  if (maxResults === null) return 1000;
  if (ids.length > 0)
    throw new AwsFault(400, 'InvalidParameterCombination', 'The parameter instancesSet cannot be used with maxResults');
  const size = Number(maxResults);
  if (!(size >= 5 && size <= 1000))
    throw new AwsFault(400, 'InvalidParameterValue', `Value (${maxResults}) for parameter maxResults is invalid`);
  return size;
}
