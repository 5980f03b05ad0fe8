import { Option } from 'commander';
import type { AuditReport } from '../../../lambdas/audit/audit.ts';
import type { AuditTarget } from '../../../lambdas/audit/audit-target.ts';
import type { Thresholds } from '../../../lambdas/audit/rules/thresholds.ts';
import { SEVERITIES } from '../../../lambdas/tables/finding-codes.ts';
import { type AllContextsOptions, DEFAULT_PAGE, requireOneCluster, withAllContexts } from '../../all-contexts.ts';
import { type Register, repeatable, withCluster, withOutput } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { loadFleet } from '../../fleet.ts';
import { PROCESS, print, printJson } from '../../io.ts';
import { type NamedServer, otherwiseNotice } from '../../target.ts';
import type { Places } from '../../terminal/phrases.ts';
import { startProgress } from '../../terminal/progress.ts';
import { viewOf } from './groups.ts';
import { auditJson } from './json.ts';
import { type AuditIo, type AuditOnceOptions, auditOnce, CRITICAL_PASSES } from './once.ts';
import { type AuditRepeat, auditRepeat } from './repeat.ts';
import { type AuditTargetOptions, openAuditTarget } from './target.ts';
import { auditLines } from './view.ts';

export interface AuditCommandOptions extends AuditRepeat, AuditOnceOptions, Places {
  readonly output: 'table' | 'json';
  readonly verbose?: boolean;
}

export const register: Register = (command, { program: name, interruption, run }) => {
  withOutput(
    withAllContexts(withCluster(command), 'audits', DEFAULT_PAGE)
      .option('--policy <file>', 'fleet.yaml with audit.thresholds; default: the built-in thresholds')
      .option('--no-handshakes', 'connect by TLS to the API endpoint only, not to machines and Nodes')
      .option('--secrets', 'read TLS Secrets and those of Cluster API too; the right: certmarshal rbac --audit-secrets')
      .option(
        '--kubelet-metrics',
        'read the metrics of the kubelets through the API server; the right: certmarshal rbac --kubelet-metrics',
      )
      .option(
        '--port <name=port>',
        'port of a server on the machines, if it is not the default of Kubernetes or etcd; repeatable; names: kube-apiserver, kubelet, etcd, etcd-peer, kube-controller-manager, kube-scheduler',
        repeatable,
      )
      .addOption(
        new Option('--fail-on <severity>', 'exit status 1 for a finding of at least this severity').choices(SEVERITIES),
      )
      .option('--verbose', 'show each finding; in JSON every observation'),
  )
    .addHelpText(
      'after',
      `
Nothing is written to the cluster. Nothing is sent after a TLS handshake. docs/output.md describes every output,
docs/findings.md every finding, docs/coverage.md what is read where.

Examples:
  ${name} audit --kubeconfig berlin.yaml
  ${name} audit --kubeconfig berlin.yaml --management-kubeconfig management.yaml --cluster berlin-prod
  ${name} audit --kubeconfig berlin.yaml --no-handshakes --policy fleet.yaml --output json
  ${name} audit --kubeconfig berlin.yaml --fail-on critical --port kubelet=10250
  ${name} audit --all-contexts --no-handshakes --report fleet.html

Exit status:
  0  done; without --fail-on also with critical findings
  1  a source could not be read, or a finding is at least as severe as --fail-on. A place that did not answer is a finding
  2  wrong usage or configuration; nothing was done`,
    )
    .action(
      run(async (options: AuditTargetOptions & AllContextsOptions & AuditCommandOptions & { policy?: string }) => {
        const fleet = await loadFleet(options.policy);
        if (options.allContexts === true) {
          // Load the page only on request.
          const { auditAllContexts } = await import('./all-contexts.ts');
          const given = { ...options, program: name };
          return auditAllContexts(given, fleet, interruption('what was read so far is shown'), PROCESS);
        }
        requireOneCluster(options);
        const target = await openAuditTarget(options, fleet);
        const { runbooks } = fleet.monitoring;
        const given = { ...options, program: name, runbooks, ...auditRepeat(options, target.server.eks) };
        const signal = interruption('what was read so far is shown');
        return auditCommand(target, fleet.audit.thresholds, given, signal, PROCESS).finally(() => target.close());
      }),
    );
};

/**
 * Audits one cluster once and prints the result.
 *
 * @returns the exit status: `incomplete` if a source could not be read, or if a finding is as severe as `failOn`
 */
export async function auditCommand(
  target: AuditTarget & { readonly server?: NamedServer },
  thresholds: Thresholds,
  options: AuditCommandOptions,
  signal: AbortSignal,
  io: AuditIo,
): Promise<number> {
  const { stderr } = io;
  stderr.write(otherwiseNotice(target.cluster.name, target.server) ?? '');
  const progress = startProgress(stderr);
  const { report, status, failed, critical } = await auditOnce(target, thresholds, options, signal, io, (left) =>
    progress.say(`${target.cluster.name}: ${left}`),
  ).finally(() => progress.done());
  show(report, options, target.server, io);
  if (signal.aborted) stderr.write('Interrupted: what was not read by then is listed as not read.\n');
  // In an unattended job, the exit status alone does not tell a finding from a failed read.
  if (failed && options.output !== 'table') stderr.write(`A finding is at least ${options.failOn}.\n`);
  if (status === EXIT.done && critical && io.stdout.isTTY !== true) stderr.write(CRITICAL_PASSES);
  return status;
}

function show(report: AuditReport, options: AuditCommandOptions, server: NamedServer | undefined, io: AuditIo): void {
  const now = io.clock();
  const { verbose = false } = options;
  if (options.output === 'json') printJson(io, auditJson(viewOf(report, now), options));
  else print(io, auditLines(viewOf(report, now), { ...options, verbose, server, now }));
}
