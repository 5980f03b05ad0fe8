import { clusterCommand, nameInId } from '../expiry/commands.ts';
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

/** A command for a person, who has a kubeconfig of the cluster and knows it by its name. */
export function commandFor(
  command: string,
  { registered, indexed }: Pick<KnownCluster, 'registered' | 'indexed'>,
): string {
  const { id, target } = registered;
  const name = target?.cluster.name ?? indexed?.name ?? nameInId(id);
  const provider = target?.cluster.provider ?? indexed?.provider;
  return clusterCommand(command, { name, provider, isManaged: target?.management !== undefined });
}
