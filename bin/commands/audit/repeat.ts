import { readRunbook } from '../../../lambdas/command.ts';
import type { ExpiryFinding } from '../../../lambdas/contracts/finding.ts';
import type { Typed } from '../../../lambdas/page/cluster-details.ts';
import type { FleetContext } from '../../all-contexts.ts';
import { pasteable } from '../../program.ts';
import { repeatedFlags, repeatOptions } from '../../target.ts';
import type { AuditTargetOptions } from './target.ts';

/** Options as they were given, for commands that are to be pasted. */
export interface AuditRepeat {
  /** Of this program, which cluster. */
  readonly repeat: string;
  /** Of `certmarshal explain` and `sweep`. */
  readonly repeatExplain: string;
  /** Of `certmarshal audit`, all of them. */
  readonly repeatAudit: string;
  /** Of kubectl. */
  readonly kubectl: { readonly workload: string; readonly management: string };
}

interface Given extends AuditTargetOptions {
  readonly policy?: string | undefined;
  readonly snapshots?: string | undefined;
}

export function auditRepeat(options: Given): AuditRepeat {
  // Only a judgement of requests takes service CIDRs.
  const { policy, serviceCidr, ...target } = options;
  const repeat = repeatOptions(target);
  const { kubeconfig, context, managementKubeconfig } = options;
  const workload = repeatedFlags([
    ['--kubeconfig', kubeconfig],
    ['--context', context],
  ]);
  const ports = (options.port ?? []).map((port) => ['--port', port] as const);
  return {
    repeat,
    repeatExplain: `${repeat}${repeatedFlags([
      ['--policy', policy],
      ...(serviceCidr ?? []).map((cidr) => ['--service-cidr', cidr] as const),
      ...ports,
    ])}`,
    repeatAudit: `${repeat}${repeatedFlags([
      ['--policy', policy],
      ['--no-handshakes', options.handshakes === false],
      ['--secrets', options.secrets],
      ['--kubelet-metrics', options.kubeletMetrics],
      ...ports,
      ['--snapshots', options.snapshots],
    ])}`,
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

/** One of ours, by the options that stand for a cluster: {@link clusterCommand}, and `doctor` of a fleet. */
const ABOUT_A_CLUSTER = /^certmarshal (?<verb>[a-z]+)(?<what>.*?) --(?:kubeconfig KUBECONFIG|fleet fleet\.yaml) /;

/** Commands of a page that is made of the contexts of a kubeconfig. @param options as they were given */
export function typedCommands(
  clusters: readonly FleetContext[],
  { program, ...options }: Given & { readonly program: string },
): Typed {
  const repeats = new Map(clusters.map(({ id, context }) => [id, auditRepeat({ ...options, context })]));
  return (command, { id, what }) => {
    const given = repeats.get(id);
    return given === undefined ? command : asTyped({ command, what }, program, given);
  };
}

/** The next command of a finding, as the user has to type it. The audit itself was just done: then it is the runbook. */
export function nextOfFinding(
  { command, what, runbook }: Pick<ExpiryFinding, 'command' | 'what' | 'runbook'>,
  program: string,
  given: AuditRepeat,
): string {
  const isThisAudit = command.startsWith('certmarshal audit --kubeconfig KUBECONFIG ');
  return isThisAudit ? pasteable(readRunbook(runbook), program) : asTyped({ command, what }, program, given);
}

/** A command as the user has to type it: for this program, and for the cluster that was audited. */
export function asTyped(
  { command, what }: Pick<ExpiryFinding, 'command' | 'what'>,
  program: string,
  given: AuditRepeat,
) {
  const { verb, what: words } = ABOUT_A_CLUSTER.exec(command)?.groups ?? {};
  if (verb !== undefined) {
    const { repeat, repeatAudit, repeatExplain } = given;
    return `${program} ${verb}${words}${verb === 'audit' ? repeatAudit : verb === 'explain' || verb === 'sweep' ? repeatExplain : repeat}`;
  }
  if (!command.startsWith('kubectl ')) return command.replace(/^certmarshal /, `${program} `);
  const { workload, management } = given.kubectl;
  // Secrets of Cluster API are beside its Machines; those of workloads are in the cluster.
  const isManaged = MANAGED.test(command) || (command.includes(' get secret ') && what !== 'tls-secret');
  return command.replace('kubectl', `kubectl${isManaged ? management : workload}`);
}
