import { canonicalDnsName, isDnsName } from '../names.ts';

const NODE = '{node}';

/** The problem of a DNS name pattern such as `{node}.corp.example.com`, or undefined. */
export function dnsPatternProblem(pattern: string): string | undefined {
  if (!pattern.includes(NODE))
    return `has no ${NODE}: any node could ask for a name that is tied to no node; write, for example, ${NODE}.corp.example.com`;
  // With `{node}0`, worker-1 could claim the name of worker-10.
  if (!pattern.split('.').every((label) => label === NODE || !label.includes(NODE)))
    return `has ${NODE} next to other characters of a label, so names of two nodes could collide; put a dot between`;
  // With a node called 10, `{node}.0.0.2` is an address.
  if (!isDnsName(canonicalDnsName(pattern.replaceAll(NODE, 'node'))) || /\.\d+\.?$/.test(pattern))
    return `is not a DNS name; around ${NODE} use labels of letters, digits and hyphens, for example ${NODE}.corp.example.com`;
  return undefined;
}
