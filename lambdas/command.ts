import type { Provider } from './identifiers.ts';

/**
 * No character of these means anything to a shell, and the first makes no option of it. What has others is replaced by a word that a person fills in:
 * a command that is pasted must not be written by a node.
 */
const HARMLESS = /^[A-Za-z0-9](?:[A-Za-z0-9._:/@-]{0,251}[A-Za-z0-9])?$/;

/** Whether a text is one word of a command, to any shell. */
export function isWord(text: string | undefined): text is string {
  return text !== undefined && HARMLESS.test(text);
}

/** A text as one word of a command; `otherwise` where a shell would see more in it. */
export function word(text: string | undefined, otherwise: string): string {
  return isWord(text) ? text : otherwise;
}

/** A cluster as a command has to name it. */
export interface CommandCluster {
  /** Its name, which is not its id in the fleet: that says nothing to a kubeconfig. */
  readonly name: string;
  /** Of its Cluster in Cluster API, where that is not the default. */
  readonly namespace?: string | undefined;
  readonly provider?: Provider | undefined;
  /** Whether its Machines are in another cluster. */
  readonly isManaged?: boolean;
}

/**
 * A command about one cluster, as it can be typed once KUBECONFIG, and MANAGEMENT where it is there, are replaced by files: `--cluster` chooses no server, and what
 * `KUBECONFIG` of the environment names may be another cluster.
 *
 * @param command of this program, without the cluster: `audit`
 */
export function clusterCommand(command: string, { name, namespace, isManaged = false }: CommandCluster): string {
  const management = isManaged ? ' --management-kubeconfig MANAGEMENT' : '';
  const where = namespace === undefined ? '' : ` --namespace ${word(namespace, 'NAMESPACE')}`;
  return `certmarshal ${command} --kubeconfig KUBECONFIG${management} --cluster ${word(name, 'CLUSTER')}${where}`;
}
