import { Option } from 'commander';
import type { AuditReport, AuditRules } from '../../../lambdas/audit/audit.ts';
import type { AuditTarget } from '../../../lambdas/audit/audit-target.ts';
import type { Fleet } from '../../../lambdas/config/fleet.ts';
import { runbookOf, SEVERITIES } from '../../../lambdas/tables/finding-codes.ts';
import { messageOf } from '../../../lambdas/words/findings.ts';
import { type Register, repeatable, withCluster, withClusters, withOutput } from '../../command.ts';
import { EXIT, UsageError } from '../../exit-codes.ts';
import { loadFleet } from '../../fleet.ts';
import { type Io, PROCESS, print, printJson } from '../../io.ts';
import type { MinuteCommandOptions } from '../../minute/run-minutes.ts';
import { type NamedServer, otherwiseNotice } from '../../target.ts';
import type { Places } from '../../terminal/phrases.ts';
import { startProgress } from '../../terminal/progress.ts';
import { type AuditView, certificatesOf, severityCounts, viewOf } from './groups.ts';
import { type AuditIo, type AuditOnceOptions, auditOnce, CRITICAL_PASSES } from './once.ts';
import { type AuditRepeat, auditRepeat, nextOfFinding } from './repeat.ts';
import { auditedSources, handshakesOf } from './sources.ts';
import { openAuditTarget } from './target.ts';
import { auditLines } from './view.ts';

export interface AuditCommandOptions extends AuditRepeat, AuditOnceOptions, Places {
  readonly output: 'table' | 'json';
  readonly verbose?: boolean;
}

/** What people expect of audits by hand: they are too old after twice that. Minutes. */
const BY_HAND_EVERY = 12 * 60;

export const register: Register = (command, { program: name, interruption, run }) => {
  withOutput(
    withClusters(withCluster(command))
      .option('--policy <file>', 'fleet.yaml with audit.thresholds and audit.accept; default: the built-in thresholds')
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
      .option('--verbose', 'show each finding of one cluster; in JSON every observation'),
  )
    .addHelpText(
      'after',
      `
Nothing is written to a cluster. Nothing is sent after a TLS handshake. docs/output.md describes every output,
docs/findings.md every finding, docs/coverage.md what is read where.

Examples:
  ${name} audit --all-contexts
  ${name} audit --kubeconfig berlin.yaml
  ${name} audit --kubeconfig berlin.yaml --management-kubeconfig management.yaml --cluster berlin-prod
  ${name} audit --kubeconfig berlin.yaml --no-handshakes --policy fleet.yaml --output json
  ${name} audit --kubeconfig berlin.yaml --fail-on critical --port kubelet=10250
  ${name} audit --fleet fleet.yaml --state state --report fleet.html

Exit status:
  0  done; without --fail-on also with critical findings
  1  a source could not be read, or a finding is at least as severe as --fail-on. A place that did not answer is a finding
  2  wrong usage or configuration; nothing was done`,
    )
    .action(
      run(async (options: MinuteCommandOptions & AuditCommandOptions) => {
        const signal = interruption('what was read so far is shown');
        if (options.allContexts === true || options.fleet !== undefined)
          return auditFleet({ ...options, program: name }, signal, PROCESS);
        for (const [flag, given] of Object.entries({ '--report': options.report, '--state': options.state }))
          if (given !== undefined)
            throw new UsageError(`${flag} goes with --all-contexts or --fleet FILE: add one, or leave out ${flag}.`);
        const fleet = await loadFleet(options.policy);
        const target = await openAuditTarget(options, fleet);
        const { runbooks } = fleet.monitoring;
        const ofCommand = { ...options, program: name, runbooks, ...auditRepeat(options) };
        return auditCommand(target, fleet.audit, ofCommand, signal, PROCESS).finally(() => target.close());
      }),
    );
};

/**
 * Makes one minute of several clusters that writes to none, with an audit of each.
 *
 * @returns the exit status
 * @throws UsageError
 */
export async function auditFleet(
  options: MinuteCommandOptions & AuditOnceOptions,
  signal: AbortSignal,
  io: Io,
): Promise<number> {
  const { fleet: file, policy, failOn, program } = options;
  if (file !== undefined && policy !== undefined)
    throw new UsageError('--fleet FILE has the thresholds too: leave out --policy.');
  const loaded = await loadFleet(file ?? policy, file === undefined ? '--policy' : '--fleet');
  const [{ runMinutes }, { findingLines, minuteLines, reaches, unreadIn }] = await Promise.all([
    import('../../minute/run-minutes.ts'),
    import('../../minute/screen.ts'),
  ]);
  const work = {
    writes: false,
    auditsAll: true,
    show: (health: Parameters<typeof minuteLines>[0], also: Parameters<typeof minuteLines>[2]) => [
      minuteLines(health, program, also),
      '',
      findingLines(health, program),
    ],
    statusOf: (health: Parameters<typeof unreadIn>[0]) => {
      const { clusters, problems } = health;
      const isFailed = failOn !== undefined && clusters.some((cluster) => reaches(cluster, failOn));
      if (isFailed || unreadIn(health).length + problems.length > 0) return EXIT.incomplete;
      if (io.stdout.isTTY !== true && clusters.some((cluster) => reaches(cluster, 'critical')))
        io.stderr.write(CRITICAL_PASSES);
      return EXIT.done;
    },
  };
  return runMinutes(options, byHand(loaded), work, signal, io);
}

function byHand(fleet: Fleet): Fleet {
  const auditEveryMinutes = Math.max(fleet.monitoring.auditEveryMinutes, BY_HAND_EVERY);
  return { ...fleet, monitoring: { ...fleet.monitoring, auditEveryMinutes } };
}
/**
 * Audits one cluster once and prints the result.
 *
 * @returns the exit status: `incomplete` if a source could not be read, or if a finding is as severe as `failOn`
 */
export async function auditCommand(
  target: AuditTarget & { readonly server?: NamedServer },
  rules: AuditRules,
  options: AuditCommandOptions,
  signal: AbortSignal,
  io: AuditIo,
): Promise<number> {
  const { stderr } = io;
  stderr.write(otherwiseNotice(target.cluster.name, target.server) ?? '');
  const progress = startProgress(stderr);
  const { report, status, failed, critical } = await auditOnce(target, rules, options, signal, io, (left) =>
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
  const { provider } = report.snapshot;
  if (options.output === 'json') printJson(io, auditJson(viewOf(report, now), options, now));
  else print(io, auditLines(viewOf(report, now), { ...options, verbose, provider, server, now }));
}

/**
 * The audit for programs: docs/output.md.
 *
 * @param given `verbose` includes all other observations
 */
function auditJson(
  { report, groups, issued }: AuditView,
  given: AuditRepeat & Pick<Places, 'program'> & { readonly verbose?: boolean },
  now: number,
): object {
  const { snapshot, durationMs, requests } = report;
  const { version, cluster, provider, auditedAt, findings, observations } = snapshot;
  const sources = auditedSources(observations);
  return {
    version,
    cluster,
    provider,
    auditedAt,
    durationMs,
    requests,
    handshakes: handshakesOf(sources),
    counts: severityCounts(findings),
    findings: findings.map((finding) => ({
      ...finding,
      message: messageOf(finding, now),
      command: nextOfFinding(finding, provider, given.program, given),
      runbook: runbookOf(finding.code),
    })),
    groups,
    issued,
    sources: {
      read: sources.read.map(({ source, count }) => ({ source, count })),
      unread: sources.unread.map(({ source, problem, message, remedy }) => ({ source, problem, message, remedy })),
      off: sources.off.map(({ source, why }) => ({ source, why })),
    },
    certificates: certificatesOf(report),
    observations: given.verbose === true ? observations.filter(({ kind }) => kind !== 'certificate') : undefined,
  };
}
