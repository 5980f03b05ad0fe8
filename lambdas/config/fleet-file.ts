import { z } from 'zod';
import { Audit } from './audit-entry.ts';
import { ClusterEntry, ManagementClusterEntry } from './cluster-entries.ts';
import { kindOf } from './describe-issue.ts';
import { DiscoveryEntry } from './discovery-entry.ts';
import { Hub, LaneEntry, MAX_LANES } from './hub-entries.ts';
import { Journal } from './journal-entry.ts';
import { Monitoring } from './monitoring-entry.ts';
import { PolicyEntry } from './policy-entry.ts';
import { RecoveryEntry } from './recovery-entry.ts';
import { Rollouts } from './rollout-entry.ts';

// The shape of fleet.yaml and every rule about a single value. Rules about several values are in file-rules.ts, the wording of
// type errors, misspelled words and missing or unknown keys in describe-issue.ts.

/** A section with nothing but comments below its key is null. */
function section<S extends z.ZodType>(entry: S) {
  return z.array(entry).nullish();
}

/** `fleet.yaml`, version 1. */
export const FleetFile = z
  .strictObject(
    {
      version: z.literal(1).meta({ description: 'Version of this format.' }),
      discovery: section(DiscoveryEntry).meta({
        description: 'EKS clusters that are found by themselves, by account and Region.',
      }),
      managementClusters: section(ManagementClusterEntry).meta({
        description:
          'EKS Anywhere and other Cluster API management clusters; their workload clusters are found by themselves.',
      }),
      clusters: section(ClusterEntry).meta({ description: 'Clusters that are listed one by one.' }),
      lanes: z.array(LaneEntry).max(MAX_LANES).nullish().meta({
        description: 'Networks from which clusters are swept that the internet does not reach.',
      }),
      hub: Hub.nullish().meta({ description: 'Options of the stack that is deployed.' }),
      audit: Audit.nullish().meta({
        description: 'How often the certificates of each cluster are looked at, and when one is a finding.',
      }),
      monitoring: Monitoring.nullish().meta({
        description: 'When somebody is told, and of what. Nothing has to be written.',
      }),
      journal: Journal.nullish().meta({ description: 'The record of every decision.' }),
      rollouts: Rollouts.nullish().meta({
        description:
          'Control planes whose machines are replaced before their certificates end. Nothing is, unless it is listed.',
      }),
      recovery: section(RecoveryEntry).meta({
        description:
          'Clusters that are entered although the certificate of their API server has expired, for a few days, until that is mended.',
      }),
      policies: section(PolicyEntry).meta({
        description:
          'A request is approved when any policy that is for its cluster finds every name proven. Without policies the built-in default applies.',
      }),
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
  });
