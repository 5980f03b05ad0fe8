import { type CommandCluster, clusterCommand, word } from '../command.ts';
import type { IndexedCluster } from '../contracts/fleet-index.ts';
import type { RegisteredCluster } from '../contracts/registry.ts';
import { DEFAULT_NAMESPACE, nameInId } from '../identifiers.ts';

/** A cluster that is in the fleet, or still swept. */
export interface KnownCluster {
  readonly registered: RegisteredCluster;
  /** Absent before its first sweep. */
  readonly indexed?: IndexedCluster | undefined;
  readonly auditEveryMinutes: number;
  /** When state was rebuilt. What it lacks then may still be so. */
  readonly rebuiltAt: { readonly registry: string | undefined; readonly index: string | undefined };
}

type Words = Pick<KnownCluster, 'registered' | 'indexed'>;

/** The command that says why a cluster is not reached. */
export function doctorCommand(id: string): string {
  return `certmarshal doctor --fleet fleet.yaml --cluster ${word(id, 'ID')}`;
}

/** A command for an engineer who has a kubeconfig of the cluster and knows its name. */
export function commandFor(command: string, known: Words): string {
  return clusterCommand(command, wordsFor(known));
}

/** How a command names the cluster. */
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
