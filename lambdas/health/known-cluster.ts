import { clusterCommand, commandOf, nameInId } from '../expiry/commands.ts';
import type { KeptFinding } from '../expiry/finding.ts';
import type { IndexedCluster } from '../fleet/fleet-index.ts';
import type { RegisteredCluster } from '../fleet/registry.ts';
import type { SloState } from '../slo/objective.ts';

/** Characters of a story; it has to fit on a phone. */
export const LONGEST_STORY = 300;

/** What is known of a cluster that is not gone, or that is still looked at. */
export interface KnownCluster {
  readonly registered: RegisteredCluster;
  /** Absent when no sweep has told anything yet. */
  readonly indexed?: IndexedCluster | undefined;
  readonly slo: SloState;
  readonly auditEveryMinutes: number;
}

/** The command of a finding of its audit. */
export function commandForFinding(
  finding: KeptFinding,
  { registered, indexed }: Pick<KnownCluster, 'registered' | 'indexed'>,
): string {
  const { target } = registered;
  return commandOf(finding, {
    name: target?.cluster.name ?? indexed?.name,
    provider: target?.cluster.provider ?? indexed?.provider,
  });
}

/** A command for a person, who has a kubeconfig of the cluster and knows it by its name. */
export function commandFor(
  command: string,
  { registered, indexed }: Pick<KnownCluster, 'registered' | 'indexed'>,
): string {
  const { id, target } = registered;
  const name = target?.cluster.name ?? indexed?.name ?? nameInId(id);
  const provider = target?.cluster.provider ?? indexed?.provider;
  return clusterCommand(command, { name, provider, isManaged: target?.management?.access !== undefined });
}
