import { z } from 'zod';
import type { Contract } from '../../contracts/contract.ts';
import { didYouMean } from '../../did-you-mean.ts';
import { printable } from '../../printable.ts';
import { laneNameProblem, SECURITY_GROUP_ID, SUBNET_ID, VPC_ID } from '../aws-names.ts';
import { DEFAULT_LANE } from '../fleet.ts';
import { list, matching, refusing, section, text } from '../values.ts';
import { distinctEntries, distinctNames, type Written } from '../written.ts';

/** Each is a function with role, logs and alarm; a stack holds 500 resources. */
const MAX_LANES = 20;
/** Limits of a Lambda function. Source: Lambda API Reference, VpcConfig. */
const MAX_SUBNETS = 16;
const MAX_SECURITY_GROUPS = 5;

function resourceId(kind: string, pattern: RegExp, example: string) {
  return matching(`the id of a ${kind}`, pattern, `is not the id of a ${kind}; write, for example, ${example}`);
}

/** An entry of `lanes`: a network from which clusters are swept. */
const LaneEntry = z
  .strictObject({
    name: refusing(text('the name of the lane'), laneNameProblem).meta({
      description: 'The name that discovery, managementClusters and clusters use for it.',
      examples: ['onprem'],
    }),
    vpcId: resourceId('VPC', VPC_ID, 'vpc-0a1b2c3d4e5f60718').meta({
      description:
        'EKS clusters in this VPC whose endpoint is private, or has an allow list, are swept from here automatically.',
      examples: ['vpc-0a1b2c3d4e5f60718'],
    }),
    subnetIds: list(resourceId('subnet', SUBNET_ID, 'subnet-0a1b2c3d4e5f60718'))
      .max(MAX_SUBNETS)
      .describe(
        'Subnets of the VPC, ideally one in each Availability Zone. They need a route to the API servers and, through NAT or VPC endpoints, to AWS.',
      ),
    securityGroupIds: list(resourceId('security group', SECURITY_GROUP_ID, 'sg-0a1b2c3d4e5f60718'))
      .max(MAX_SECURITY_GROUPS)
      .describe('Security groups of the sweep function. They must allow its connections to the API servers.'),
    handshakes: z
      .boolean()
      .exactOptional()
      .describe(
        'Whether audits from here connect by TLS to machines and nodes, on the ports 2379, 2380, 6443, 10250, 10257 and 10259. Write false where the network does not reach them. Default: true; the lane outside of every VPC never does.',
      ),
  })
  .meta({ title: 'Lane' });

/** `lanes`: networks from which clusters are swept. */
export const Lanes = section(z.array(LaneEntry).max(MAX_LANES), []).describe(
  'Networks from which certmarshal sweeps clusters that are not reachable from the internet.',
);

export type Lane = Contract<typeof LaneEntry>;

export function laneRules({ entries }: Written<typeof Lanes>): void {
  distinctNames(entries);
  for (const entry of entries) distinctEntries(entry.at('subnetIds'), entry.at('securityGroupIds'));
}

/** A lane in a discovery entry is for endpoints with restricted access. */
const NO_WAY =
  'clusters whose endpoint is private, or has an allow list, cannot be reached from the default lane, which is outside of every VPC; name one of lanes, or remove this';

/** @param known the allowed lanes */
export function laneRule(lane: Pick<Written<unknown>, 'text' | 'refuse'>, known: readonly string[]): void {
  const { text: name } = lane;
  if (name === undefined || known.includes(name)) return;
  if (name === DEFAULT_LANE) return lane.refuse(NO_WAY);
  const meant = didYouMean(name, known);
  lane.refuse(
    `"${printable(name, 60)}" is not a lane of this file; ${meant === undefined ? 'add it to lanes' : `did you mean "${meant}"?`}`,
  );
}

export function namesOf({ entries }: Written<typeof Lanes>): readonly string[] {
  return entries.slice(0, MAX_LANES).flatMap((entry) => entry.at('name').valid ?? []);
}
