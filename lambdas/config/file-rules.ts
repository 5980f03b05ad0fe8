import { z } from 'zod';
import { auditRules } from './audit-rules.ts';
import { clusterRules } from './cluster-rules.ts';
import { discoveryRules } from './discovery-rules.ts';
import { laneRules } from './lane-rules.ts';
import { monitoringRules } from './monitoring-rules.ts';
import { policyRules } from './policy-rules.ts';
import { rolloutRules } from './rollout-rules.ts';
import type { RuleProblem } from './rule.ts';

const Section = z.array(z.unknown()).nullish().catch(null);
const File = z.object({
  discovery: Section,
  managementClusters: Section,
  clusters: Section,
  lanes: Section,
  policies: Section,
  audit: z.object({ thresholds: Section }).nullish().catch(null),
  monitoring: z.looseObject({ maintenance: Section }).nullish().catch(null),
  rollouts: z.object({ clusters: Section }).nullish().catch(null),
  recovery: Section,
});

/** Checks the rules of `fleet.yaml` that are about more than one value. Takes any value; what has no valid shape is skipped. */
export function brokenRules(file: unknown): readonly RuleProblem[] {
  const read = File.safeParse(file);
  if (!read.success) return [];
  const { discovery, managementClusters, clusters, lanes, policies, audit, monitoring, rollouts, recovery } = read.data;
  const sections = {
    discovery: discovery ?? [],
    managementClusters: managementClusters ?? [],
    clusters: clusters ?? [],
    lanes: lanes ?? [],
    policies: policies ?? [],
    thresholds: audit?.thresholds ?? [],
    maintenance: monitoring?.maintenance ?? [],
    monitoring: monitoring ?? {},
    rollouts: rollouts?.clusters ?? [],
    recovery: recovery ?? [],
  };
  return [
    ...(policies?.length === 0 ? [NO_POLICY] : []),
    ...[discoveryRules, clusterRules, laneRules, policyRules, auditRules, monitoringRules, rolloutRules].flatMap(
      (rules) => rules(sections),
    ),
  ];
}

/** Whoever empties the list wants nothing approved, and would get the built-in policy. */
const NO_POLICY: RuleProblem = {
  path: ['policies'],
  message: 'an empty list; remove it for the built-in policy, or write a policy with mode: observe to approve nothing',
};
