import { z } from 'zod';
import { DEFAULT_POLICY } from '../approval/policy.ts';
import { isFor } from '../approval/selection.ts';
import { formatDuration } from './duration.ts';
import { ClusterEntry, PolicyEntry } from './fleet-file.ts';
import type { Path } from './yaml-values.ts';

/** A broken rule about more than one value. */
export interface RuleProblem {
  readonly path: Path;
  readonly message: string;
}

// Each rule parses just the fields it needs, so that a mistake elsewhere in the same entry hides nothing.
const ClusterName = z.object({ name: ClusterEntry.shape.name });
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
const ClusterServices = z.object({
  name: ClusterEntry.shape.name,
  provider: ClusterEntry.shape.provider,
  serviceCidrs: z.unknown().optional(),
});
const PolicyAge = z.object({ providers: PolicyEntry.shape.providers, age: PolicyEntry.shape.age });

/** Checks the rules of `fleet.yaml` that are about more than one value. Takes any value; what has no valid shape is skipped. */
export function brokenRules(file: unknown): readonly RuleProblem[] {
  const { clusters, policies, empty } = z
    .object({ clusters: z.array(z.unknown()).catch([]), policies: z.array(z.unknown()).nullish().catch(null) })
    .transform((read) => ({
      clusters: read.clusters,
      policies: read.policies ?? [],
      empty: read.policies?.length === 0,
    }))
    .catch({ clusters: [], policies: [], empty: false })
    .parse(file);
  return [
    ...(empty ? [NO_POLICY] : []),
    ...repeatedNames('clusters', clusters, ClusterName),
    ...repeatedNames('policies', policies, PolicyName),
    ...policies.flatMap((policy, index) => [
      ...unusedPatterns(policy, ['policies', index]),
      ...emptyAge(policy, ['policies', index]),
      ...unknownServices(policy, ['policies', index], clusters),
    ]),
  ];
}

/** Whoever empties the list wants nothing approved, and would get the built-in policy. */
const NO_POLICY: RuleProblem = {
  path: ['policies'],
  message: 'an empty list; remove it for the built-in policy, or write a policy with mode: observe to approve nothing',
};

function repeatedNames(
  section: 'clusters' | 'policies',
  entries: readonly unknown[],
  schema: z.ZodType<{ name: string }>,
): readonly RuleProblem[] {
  const first = new Map<string, number>();
  return entries.flatMap((entry, index) => {
    const read = schema.safeParse(entry);
    if (!read.success) return [];
    const { name } = read.data;
    const earlier = first.get(name);
    if (earlier === undefined) {
      first.set(name, index);
      return [];
    }
    const message = `"${name}" is the name of ${section}[${earlier}] too; give each its own name`;
    return [{ path: [section, index, 'name'], message }];
  });
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
function unknownServices(policy: unknown, path: Path, clusters: readonly unknown[]): readonly RuleProblem[] {
  const read = PolicySelection.safeParse(policy);
  if (!read.success) return [];
  const listed = read.data.evidence.findIndex((source) => source === 'node' || source === 'patterns');
  if (listed === -1) return [];
  const unknown = clusters.flatMap((entry) => {
    const cluster = ClusterServices.safeParse(entry);
    if (!cluster.success || cluster.data.serviceCidrs !== undefined || !isFor(read.data, cluster.data)) return [];
    return [cluster.data.name];
  });
  if (unknown.length === 0) return [];
  const names =
    unknown.length > 3 ? `${unknown.slice(0, 3).join(', ')} and ${unknown.length - 3} more` : unknown.join(', ');
  return [
    {
      path: [...path, 'evidence', listed],
      message: `believes what a node says of itself, which may be the address of a Service; write serviceCidrs at ${names}`,
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
