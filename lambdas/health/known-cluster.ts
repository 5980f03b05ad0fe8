import { commandOf, nameInId } from '../audit/commands.ts';
import { type CommandCluster, clusterCommand, word } from '../command.ts';
import type { KeptFinding } from '../contracts/finding.ts';
import type { IndexedCluster } from '../contracts/fleet-index.ts';
import type { RegisteredCluster } from '../contracts/registry.ts';
import { DEFAULT_NAMESPACE } from '../identifiers.ts';
import type { SloState } from '../slo/objective.ts';

/** Characters of a story; it has to fit on a phone. */
export const MAX_STORY = 300;

/** What is known of a cluster that is not gone, or that is still looked at. */
export interface KnownCluster {
  readonly registered: RegisteredCluster;
  /** Absent when no sweep has told anything yet. */
  readonly indexed?: IndexedCluster | undefined;
  readonly slo: SloState;
  readonly auditEveryMinutes: number;
}

type Words = Pick<KnownCluster, 'registered' | 'indexed'>;

/** The command of a finding of its audit. */
export function commandForFinding(finding: KeptFinding, known: Words): string {
  return commandOf(finding, wordsFor(known));
}

/** The command that says why a cluster is not reached. */
export function doctorCommand(id: string): string {
  return `certmarshal doctor --fleet fleet.yaml --cluster ${word(id, 'ID')}`;
}

/** A command for a person, who has a kubeconfig of the cluster and knows it by its name. */
export function commandFor(command: string, known: Words): string {
  return clusterCommand(command, wordsFor(known));
}

/** What a command calls a cluster. */
export function wordsFor({ registered: { id, target }, indexed }: Words): CommandCluster {
  const namespace = target?.management?.namespace;
  const provider = target?.cluster.provider ?? indexed?.provider;
  return {
    name: target?.cluster.name ?? indexed?.name ?? nameInId(id),
    namespace: namespace === undefined || namespace === DEFAULT_NAMESPACE ? undefined : namespace,
    provider,
    isManaged: target?.management?.access !== undefined,
  };
}
