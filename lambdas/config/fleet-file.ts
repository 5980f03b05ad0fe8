import { z } from 'zod';
import { kindOf } from './describe-issue.ts';
import { DEFAULT_LANE } from './fleet.ts';
import { Audit, auditRules } from './sections/audit.ts';
import { Clusters, clusterRules } from './sections/clusters.ts';
import { Discovery, discoveryRules } from './sections/discovery.ts';
import { Hub, hubRules } from './sections/hub.ts';
import { Journal } from './sections/journal.ts';
import { Lanes, laneRule, laneRules, namesOf } from './sections/lanes.ts';
import { ManagementClusters, managementClusterRules } from './sections/management-clusters.ts';
import { Monitoring, monitoringRules } from './sections/monitoring.ts';
import { Policies, policyRules } from './sections/policies.ts';
import { Recovery, recoveryRules } from './sections/recovery.ts';
import { Rollouts, rolloutRules } from './sections/rollouts.ts';
import { type RuleProblem, Written } from './written.ts';

// Each section is one file: its schema with every rule about a single value and its conversion, and its rules about
// several values. Texts for type errors, misspellings and missing or unknown keys are in describe-issue.ts.

/** `fleet.yaml`, version 1. */
export const FleetFile = z
  .strictObject(
    {
      version: z.literal(1).describe('Version of this format.'),
      discovery: Discovery,
      managementClusters: ManagementClusters,
      clusters: Clusters,
      lanes: Lanes,
      hub: Hub,
      audit: Audit,
      monitoring: Monitoring,
      journal: Journal,
      rollouts: Rollouts,
      recovery: Recovery,
      policies: Policies,
    },
    {
      error: ({ code, input }) =>
        code === 'invalid_type'
          ? `${input === null ? 'the file is empty' : `the file is ${kindOf(input)}`}; begin it with "version: 1"`
          : undefined,
    },
  )
  .meta({
    title: 'certmarshal fleet',
    description: 'The clusters of a fleet, and what is approved in them.',
    examples: [{ version: 1, discovery: [{ accounts: ['self'], regions: ['self'] }], policies: [{ mode: 'observe' }] }],
  })
  .transform(({ version: _version, ...fleet }) => ({
    ...fleet,
    monitoring: { ...fleet.monitoring, auditEveryMinutes: fleet.audit.everyMinutes },
  }));

export type ReadFleet = z.output<typeof FleetFile>;

/** Problems about several values of a file. Takes any value; parts of invalid shape are skipped. */
export function brokenRules(value: unknown): readonly RuleProblem[] {
  const problems: RuleProblem[] = [];
  const file = new Written<typeof FleetFile>(FleetFile, value, problems);
  const discovery = file.at('discovery');
  const managementClusters = file.at('managementClusters');
  const clusters = file.at('clusters');
  const lanes = file.at('lanes');
  discoveryRules(discovery);
  managementClusterRules(managementClusters);
  clusterRules(clusters, managementClusters);
  laneRules(lanes);
  const named = namesOf(lanes);
  for (const entry of discovery.entries) laneRule(entry.at('lane'), named);
  for (const entry of managementClusters.entries) laneRule(entry.at('lane'), [...named, DEFAULT_LANE]);
  for (const entry of clusters.entries) laneRule(entry.at('lane'), [...named, DEFAULT_LANE]);
  hubRules(file.at('hub'), discovery);
  auditRules(file.at('audit'));
  monitoringRules(file.at('monitoring'));
  rolloutRules(file.at('rollouts'));
  recoveryRules(file.at('recovery'));
  policyRules(file.at('policies'), managementClusters, clusters);
  return problems;
}
