import { readRunbook } from '../../../lambdas/command.ts';
import type { ExpiryFinding } from '../../../lambdas/contracts/finding.ts';
import { nameInId, type Provider } from '../../../lambdas/identifiers.ts';
import type { Typed } from '../../../lambdas/page/cluster-details.ts';
import { nextOf } from '../../../lambdas/words/findings.ts';
import type { ContextCluster } from '../../minute/contexts.ts';
import { namesManagement, repeatedFlags, repeatNames, repeatOptions } from '../../target.ts';
import type { AuditTargetOptions } from './target.ts';

export interface AuditRepeat {
  /** For this program: the target options. */
  readonly repeat: string;
  /** For `certmarshal runbook`. */
  readonly repeatNames: string;
  /** For `certmarshal explain` and `run`. */
  readonly repeatExplain: string;
  /** For `certmarshal audit`: all options. */
  readonly repeatAudit: string;
  readonly kubectl: { readonly workload: string; readonly management: string };
}

interface Given extends AuditTargetOptions {
  readonly policy?: string | undefined;
}

export function auditRepeat(options: Given): AuditRepeat {
  // Only commands that judge requests accept service CIDRs.
  const { policy, serviceCidr, ...target } = options;
  const repeat = repeatOptions(target);
  const { kubeconfig, context, managementKubeconfig, managementContext } = options;
  const workload = repeatedFlags([
    ['--kubeconfig', kubeconfig],
    ['--context', context],
  ]);
  const ports = (options.port ?? []).map((port) => ['--port', port] as const);
  return {
    repeat,
    repeatNames: repeatNames(options),
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
    ])}`,
    kubectl: {
      workload,
      management: namesManagement(options)
        ? repeatedFlags([
            ['--kubeconfig', managementKubeconfig ?? kubeconfig],
            ['--context', managementContext],
          ])
        : // The cluster manages itself.
          workload,
    },
  };
}

/** Our commands with placeholder options for a cluster: {@link clusterCommand}, and `doctor` of a fleet. */
const ABOUT_A_CLUSTER = /^certmarshal (?<verb>[a-z]+)(?<what>.*?) --(?:kubeconfig KUBECONFIG|fleet fleet\.yaml) /;

/**
 * The commands of a page of all contexts of a kubeconfig.
 *
 * @param options as given
 */
export function typedCommands(
  clusters: readonly ContextCluster[],
  { program, ...options }: Given & { readonly program: string },
): Typed {
  const repeats = new Map(clusters.map(({ id, context }) => [id, auditRepeat({ ...options, context })]));
  return (command, { id }) => {
    const given = repeats.get(id);
    return given === undefined ? command : asTyped(command, program, given);
  };
}

/** The next command of a finding, as the user has to type it. The audit itself was just done: then it is the runbook. */
export function nextOfFinding(finding: ExpiryFinding, provider: Provider, program: string, given: AuditRepeat): string {
  const runbook = readRunbook(finding.code);
  const next = nextOf(finding, { name: nameInId(finding.cluster), provider }, runbook);
  return `${asTyped(next, program, given)}${RUNBOOK.test(next) ? given.repeatNames : ''}`;
}

const RUNBOOK = /^certmarshal runbook [a-z-]+$/;

/** A command as the user must type it: with this program's name, for the audited cluster. */
export function asTyped(command: string, program: string, given: AuditRepeat): string {
  const { verb, what: words } = ABOUT_A_CLUSTER.exec(command)?.groups ?? {};
  if (verb !== undefined) {
    const { repeat, repeatAudit, repeatExplain } = given;
    return `${program} ${verb}${words}${verb === 'audit' ? repeatAudit : verb === 'explain' || verb === 'run' ? repeatExplain : repeat}`;
  }
  const { workload, management } = given.kubectl;
  return command
    .replace(/^certmarshal /, `${program} `)
    .replace(
      /^kubectl --kubeconfig (KUBECONFIG|MANAGEMENT)/,
      (_all, file) => `kubectl${file === 'MANAGEMENT' ? management : workload}`,
    );
}
