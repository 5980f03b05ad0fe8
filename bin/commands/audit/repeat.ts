import { readRunbook } from '../../../lambdas/command.ts';
import type { ExpiryFinding } from '../../../lambdas/contracts/finding.ts';
import { pasteable } from '../../program.ts';
import { repeatedFlags, repeatOptions } from '../../target.ts';
import type { AuditTargetOptions } from './target.ts';

/** Options as they were given, for commands that are to be pasted. */
export interface AuditRepeat {
  /** Of this program, which cluster. */
  readonly repeat: string;
  /** Of `certmarshal explain --node`. */
  readonly repeatExplain: string;
  /** Of kubectl. */
  readonly kubectl: { readonly workload: string; readonly management: string };
}

export function auditRepeat(options: AuditTargetOptions & { readonly policy?: string }): AuditRepeat {
  const { policy, ...target } = options;
  const repeat = repeatOptions(target);
  const { kubeconfig, context, managementKubeconfig } = options;
  const workload = repeatedFlags([
    ['--kubeconfig', kubeconfig],
    ['--context', context],
  ]);
  const ports = (options.port ?? []).map((port) => ['--port', port] as const);
  return {
    repeat,
    repeatExplain: `${repeat}${repeatedFlags([['--policy', policy], ...ports])}`,
    // Without one of its own, the cluster is its own management cluster.
    kubectl: {
      workload,
      management:
        managementKubeconfig === undefined ? workload : repeatedFlags([['--kubeconfig', managementKubeconfig]]),
    },
  };
}

/** Kinds that are in the management cluster. */
const MANAGED = /cluster\.x-k8s\.io|anywhere\.eks\.amazonaws\.com/;

/** A command as the user has to type it: for this program, and for the cluster that was audited. The audit itself was just done: then it is the runbook. */
export function asTyped(
  { command, what, runbook }: Pick<ExpiryFinding, 'command' | 'what' | 'runbook'>,
  program: string,
  given: AuditRepeat,
): string {
  if (command.startsWith('certmarshal audit --kubeconfig KUBECONFIG ')) return pasteable(readRunbook(runbook), program);
  if (command.startsWith('certmarshal rollout plan --kubeconfig KUBECONFIG '))
    return `${program} rollout plan${given.repeat}`;
  const explained = /^certmarshal (?<verb>explain --node \S+) --kubeconfig KUBECONFIG /.exec(command)?.groups?.['verb'];
  if (explained !== undefined) return `${program} ${explained}${given.repeatExplain}`;
  if (!command.startsWith('kubectl ')) return command.replace(/^certmarshal /, `${program} `);
  const { workload, management } = given.kubectl;
  // Secrets of Cluster API are beside its Machines; those of workloads are in the cluster.
  const isManaged = MANAGED.test(command) || (command.includes(' get secret ') && what !== 'tls-secret');
  return command.replace('kubectl', `kubectl${isManaged ? management : workload}`);
}
