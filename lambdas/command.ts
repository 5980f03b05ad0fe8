import type { Provider } from './identifiers.ts';
import { kebab } from './words.ts';

/**
 * Characters without meaning to a shell, the first of which starts no option. Other text is replaced by a placeholder:
 * a node must not be able to write a command that a person pastes.
 */
const HARMLESS = /^[A-Za-z0-9](?:[A-Za-z0-9._:/@-]{0,251}[A-Za-z0-9_-])?$/;

/** Whether a text is a single word to any shell. */
export function isWord(text: string | undefined): text is string {
  return text !== undefined && HARMLESS.test(text);
}

/** A text as one word of a command; `otherwise` if a shell would read more into it. */
export function word(text: string | undefined, otherwise: string): string {
  return isWord(text) ? text : otherwise;
}

/** The name of a runbook, of a code, a path or an anchor: `ClusterUnreadable`, `docs/runbooks/alarms/cluster-unreadable.md`, `rollouts.md#no-hold`. */
export function runbookName(given: string): string {
  return kebab(given.replace(/^.*[/#]/, '').replace(/\.md$/, ''));
}

/** The command that prints a runbook. @param given as {@link runbookName} takes it */
export function readRunbook(given: string): string {
  return `certmarshal runbook ${runbookName(given)}`;
}

/** A command of ours in a remedy; after `kubectl` or `npx` it is as the user types it already. */
const OUR_COMMAND =
  /(?<!(?:kubectl|npx) )\bcertmarshal (?=(?:validate|rbac|doctor|credentials|explain|approve|deny|audit|probe|run|runbook|decide|rollout)\b)/g;

/** A remedy of ours with its commands as the user has to type them. */
export function pasteable(remedy: string, program: string): string {
  return remedy.replace(OUR_COMMAND, () => `${program} `);
}

/** A cluster as a command has to name it. */
export interface CommandCluster {
  /** Its name, not its id in the fleet, which means nothing to a kubeconfig. */
  readonly name: string;
  /** Namespace of its Cluster in Cluster API, if not the default. */
  readonly namespace?: string | undefined;
  readonly provider?: Provider | undefined;
  /** Whether its Machines are in another cluster. */
  readonly isManaged?: boolean;
}

/**
 * A command about one cluster. The reader replaces KUBECONFIG, and MANAGEMENT where present, by files: `--cluster`
 * selects no server, and `KUBECONFIG` of the environment may name another cluster.
 *
 * @param command of this program, without the cluster: `audit`
 */
export function clusterCommand(command: string, { name, namespace, isManaged = false }: CommandCluster): string {
  const management = isManaged ? ' --management-kubeconfig MANAGEMENT' : '';
  const where = namespace === undefined ? '' : ` --namespace ${word(namespace, 'NAMESPACE')}`;
  return `certmarshal ${command} --kubeconfig KUBECONFIG${management} --cluster ${word(name, 'CLUSTER')}${where}`;
}
