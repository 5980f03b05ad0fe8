import { z } from 'zod';
import { DEFAULT_POLICY } from '../approval/policy.ts';
import { isFor } from '../approval/selection.ts';
import { needsNodes } from '../tables/evidence-sources.ts';
import { ClusterEntry, ManagementClusterEntry } from './cluster-entries.ts';
import { formatDuration } from './duration.ts';
import { PolicyEntry } from './policy-entry.ts';
import { few, type RuleProblem, readable, repeatedNames, type Sections } from './rule.ts';
import type { Path } from './yaml-values.ts';

const PolicyName = z.object({ name: PolicyEntry.shape.name });
const Entries = z.array(z.unknown()).default([]);
const PolicyEvidence = z.object({
  evidence: Entries,
  patterns: z.object({ cidrs: Entries, dnsNames: Entries }).optional(),
});
const PolicySelection = z.object({
  evidence: Entries,
  providers: PolicyEntry.shape.providers,
  clusters: PolicyEntry.shape.clusters,
});
const PolicyAge = z.object({ providers: PolicyEntry.shape.providers, age: PolicyEntry.shape.age });
const ClusterServices = z.object({
  name: ClusterEntry.shape.name,
  provider: ClusterEntry.shape.provider,
  serviceCidrs: z.unknown().optional(),
});
const ManagementServices = z
  .object({ name: ManagementClusterEntry.shape.name, serviceCidrs: z.unknown().optional() })
  .transform((cluster) => ({ ...cluster, provider: 'eks-anywhere' as const }));

export function policyRules({ managementClusters, clusters, policies }: Sections): readonly RuleProblem[] {
  // Clusters that are found tell their Service CIDRs themselves.
  const withoutServices = [
    ...readable(managementClusters, ManagementServices),
    ...readable(clusters, ClusterServices),
  ].flatMap(({ data }) => (data.serviceCidrs === undefined ? [data] : []));
  return [
    ...repeatedNames('policies', policies, PolicyName),
    ...policies.flatMap((policy, index) => [
      ...unusedPatterns(policy, ['policies', index]),
      ...emptyAge(policy, ['policies', index]),
      ...unknownServices(policy, ['policies', index], withoutServices),
    ]),
  ];
}

function unusedPatterns(policy: unknown, path: Path): readonly RuleProblem[] {
  const read = PolicyEvidence.safeParse(policy);
  if (!read.success) return [];
  const { evidence, patterns } = read.data;
  const listed = evidence.indexOf('patterns');
  if (listed === -1 && patterns !== undefined)
    return [
      {
        path: [...path, 'patterns'],
        message: 'never read, because evidence does not list patterns; add it there, or remove these',
      },
    ];
  if (listed !== -1 && (patterns === undefined || patterns.cidrs.length + patterns.dnsNames.length === 0))
    return [
      {
        path: [...path, 'evidence', listed],
        message:
          'patterns prove nothing, because there are none; write patterns.cidrs or patterns.dnsNames, or remove it',
      },
    ];
  return [];
}

/** What a node says of itself may be the address of a Service, so these have to be known. */
function unknownServices(
  policy: unknown,
  path: Path,
  withoutServices: readonly z.output<typeof ClusterServices>[],
): readonly RuleProblem[] {
  const read = PolicySelection.safeParse(policy);
  if (!read.success) return [];
  const listed = read.data.evidence.findIndex((source) => needsNodes(String(source)));
  if (listed === -1) return [];
  const unknown = withoutServices.filter((cluster) => isFor(read.data, cluster));
  if (unknown.length === 0) return [];
  return [
    {
      path: [...path, 'evidence', listed],
      message: `believes what a node says of itself, which may be the address of a Service; write serviceCidrs at ${few(unknown.map(({ name }) => name))}`,
    },
  ];
}

/** A window that no request can be in, with the defaults of every provider that the policy is for. */
function emptyAge(policy: unknown, path: Path): readonly RuleProblem[] {
  const read = PolicyAge.safeParse(policy);
  if (!read.success) return [];
  const { providers, age } = read.data;
  for (const provider of providers) {
    const defaults = DEFAULT_POLICY.age[provider];
    const min = age.min ?? defaults.minSeconds;
    const max = age.max ?? defaults.maxSeconds;
    if (min < max) continue;
    const [key, found, other] =
      age.min === undefined
        ? ([
            'max',
            `${formatDuration(max)} is not above age.min`,
            `${formatDuration(min)} (the default on ${provider})`,
          ] as const)
        : ([
            'min',
            `${formatDuration(min)} is not below age.max`,
            `${formatDuration(max)}${age.max === undefined ? ' (the default)' : ''}`,
          ] as const);
    return [
      {
        path: [...path, 'age', key],
        message: `${found}, ${other}; no request could be judged, so write a wider window`,
      },
    ];
  }
  return [];
}
