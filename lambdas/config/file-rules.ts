import { z } from 'zod';
import { DEFAULT_POLICY } from '../approval/policy.ts';
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
const PolicyAge = z.object({ providers: PolicyEntry.shape.providers, age: PolicyEntry.shape.age });

/** Checks the rules of `fleet.yaml` that are about more than one value. Takes any value; what has no valid shape is skipped. */
export function brokenRules(file: unknown): readonly RuleProblem[] {
  const { clusters, policies } = z
    .object({ clusters: z.array(z.unknown()).catch([]), policies: z.array(z.unknown()).catch([]) })
    .catch({ clusters: [], policies: [] })
    .parse(file);
  return [
    ...repeatedNames('clusters', clusters, ClusterName),
    ...repeatedNames('policies', policies, PolicyName),
    ...policies.flatMap((policy, index) => [
      ...unusedPatterns(policy, ['policies', index]),
      ...emptyAge(policy, ['policies', index]),
    ]),
  ];
}

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
