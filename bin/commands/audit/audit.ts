import { Option } from 'commander';
import { type AuditOptions, type AuditReport, audit } from '../../../lambdas/audit/audit.ts';
import type { AuditTarget } from '../../../lambdas/audit/audit-target.ts';
import { directorySnapshots, snapshotFileName } from '../../../lambdas/audit/directory-snapshots.ts';
import { tryDirectory } from '../../../lambdas/audit/make-directory.ts';
import type { Thresholds } from '../../../lambdas/audit/rules/thresholds.ts';
import type { Snapshots, StoredSnapshot } from '../../../lambdas/audit/snapshots.ts';
import { AUDIT_SOURCES } from '../../../lambdas/audit/sources.ts';
import { isWhole } from '../../../lambdas/audit/whole.ts';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import { printable } from '../../../lambdas/printable.ts';
import type { SourceId } from '../../../lambdas/tables/audit-sources.ts';
import { SEVERITIES, type Severity } from '../../../lambdas/tables/finding-codes.ts';
import { firstOf } from '../../../lambdas/words.ts';
import { type Register, repeatable, withCluster, withOutput } from '../../command.ts';
import { EXIT, UsageError } from '../../exit-codes.ts';
import { loadFleet } from '../../fleet.ts';
import { type Io, PROCESS, print, printJson } from '../../io.ts';
import { systemErrorWords } from '../../system-error.ts';
import { type NamedServer, otherwiseNotice } from '../../target.ts';
import { startProgress } from '../../terminal/progress.ts';
import { auditCsv } from './csv.ts';
import { viewOf } from './groups.ts';
import { auditJson } from './json.ts';
import { auditOpenMetrics } from './openmetrics.ts';
import { type AuditRepeat, auditRepeat } from './repeat.ts';
import { auditedSources } from './sources.ts';
import { type AuditTargetOptions, openAuditTarget } from './target.ts';
import { auditLines } from './view.ts';

export interface AuditCommandOptions extends AuditRepeat {
  readonly output: 'table' | 'json' | 'csv' | 'openmetrics';
  /** Exit status 1 for a finding that is at least so severe. */
  readonly failOn?: Severity;
  readonly verbose?: boolean;
  /** Directory of the snapshots: what was known before counts, and what is known now is written. */
  readonly snapshots?: string;
  /** How the user starts this program, for the commands it recommends. */
  readonly program: string;
}

/** What the command does it with; tests have sources of their own. */
export interface AuditIo extends Io {
  readonly sources?: AuditOptions['sources'];
}

export const register: Register = (command, { program: name, interruption, run }) => {
  withOutput(
    withCluster(command)
      .option('--policy <file>', 'fleet.yaml, whose audit.thresholds count; default: the built-in ones')
      .option('--no-handshakes', 'no TLS handshakes with machines and Nodes; only one with the API endpoint')
      .option('--secrets', 'read TLS Secrets and those of Cluster API too: certmarshal rbac --audit-secrets')
      .option('--kubelet-metrics', 'ask the kubelets through the API server: certmarshal rbac --kubelet-metrics')
      .option(
        '--port <name=port>',
        'where a server of the machines listens, if not where Kubernetes and etcd do; repeatable; names: kube-apiserver, kubelet, etcd, etcd-peer, kube-controller-manager, kube-scheduler',
        repeatable,
      )
      .option(
        '--snapshots <directory>',
        'remember what was seen from one audit to the next, in a file of this directory',
      )
      .addOption(
        new Option('--fail-on <severity>', 'exit status 1 for a finding that is at least so severe').choices(
          SEVERITIES,
        ),
      )
      .option('--verbose', 'every finding by itself; in JSON every observation'),
    'table for people, json for programs, csv for a spreadsheet, openmetrics',
    ['json', 'csv', 'openmetrics'],
  )
    .addHelpText(
      'after',
      `
Nothing is written to the cluster. A handshake sends nothing but the handshake. docs/output.md describes every output,
docs/findings.md every finding, docs/coverage.md what is seen where.

Examples:
  ${name} audit --kubeconfig berlin.yaml
  ${name} audit --kubeconfig berlin.yaml --management-kubeconfig management.yaml --cluster berlin-prod --snapshots snapshots
  ${name} audit --kubeconfig berlin.yaml --no-handshakes --policy fleet.yaml --output json
  ${name} audit --kubeconfig berlin.yaml --output openmetrics > certmarshal.prom
  ${name} audit --kubeconfig berlin.yaml --fail-on critical --port kubelet=10250

Exit status:
  0  done
  1  a source or a snapshot could not be read or written, or a finding is as severe as --fail-on; the output says what
  2  wrong usage or configuration; nothing was done`,
    )
    .action(
      run(async (options: AuditTargetOptions & AuditCommandOptions & { policy?: string }) => {
        const { snapshots, policy } = options;
        const fleet = await loadFleet(policy);
        if (snapshots !== undefined) await trySnapshots(snapshots);
        const target = await openAuditTarget(options, fleet);
        const given = { ...options, program: name, ...auditRepeat(options) };
        const signal = interruption('what was read by now is shown');
        return auditCommand(target, fleet.audit.thresholds, given, signal, PROCESS).finally(() => target.close());
      }),
    );
};

/**
 * Makes the directory of the snapshots and tries it: an audit takes minutes, so that none can be written is to be known before.
 *
 * @throws UsageError with the directory and what is wrong with it
 */
export async function trySnapshots(directory: string): Promise<void> {
  try {
    await tryDirectory(directory);
  } catch (error) {
    throw new UsageError(
      `--snapshots ${printable(directory)}: no snapshot can be written there: ${systemErrorWords(error)}. Name a directory that exists or can be made.`,
      { cause: error },
    );
  }
}

/**
 * Audits one cluster once and prints what was found.
 *
 * @returns the exit status: `incomplete` when a source or the snapshot could not be read or written, when a snapshot was lost and not everything was
 * seen again since, or when a finding is as severe as `failOn`
 */
export async function auditCommand(
  target: AuditTarget & { readonly server?: NamedServer },
  thresholds: Thresholds,
  options: AuditCommandOptions,
  signal: AbortSignal,
  io: AuditIo,
): Promise<number> {
  const { stderr } = io;
  const { server } = target;
  stderr.write(otherwiseNotice(target.cluster.name, server) ?? '');
  const snapshots = options.snapshots === undefined ? undefined : directorySnapshots(options.snapshots);
  const before = await readBefore(snapshots, target.id, stderr, signal);
  refuseAnother(before, target, options.snapshots);
  const audited = await auditWithProgress(target, { previous: before.stored?.snapshot, thresholds, signal }, io);
  const partial = lossOf(before, audited, stderr);
  const report = partial === undefined ? audited : { ...audited, snapshot: { ...audited.snapshot, partial } };
  show(report, thresholds, options, server, io);
  const interrupted = signal.aborted;
  if (interrupted)
    stderr.write(
      `Interrupted: what was not read by then is listed as not read${snapshots === undefined ? '' : ', and no snapshot was written'}.\n`,
    );
  const kept =
    snapshots === undefined ||
    (before.readable &&
      !interrupted &&
      (await writeAfter(snapshots, ofServer(report, server), before.stored?.etag, stderr)));
  const { findings, observations } = report.snapshot;
  const complete = kept && partial === undefined && !interrupted && auditedSources(observations).unread.length === 0;
  const failed = options.failOn !== undefined && findings.some(({ severity }) => reaches(severity, options.failOn));
  // Whoever runs it in a job where nobody looks at the output wants to know which of the two it was.
  if (failed && options.output !== 'table') stderr.write(`A finding is at least ${options.failOn}.\n`);
  return complete && !failed ? EXIT.done : EXIT.incomplete;
}

function reaches(severity: Severity, limit: Severity = 'critical'): boolean {
  return SEVERITIES.indexOf(severity) <= SEVERITIES.indexOf(limit);
}

function show(
  report: AuditReport,
  thresholds: Thresholds,
  options: AuditCommandOptions,
  server: NamedServer | undefined,
  io: AuditIo,
): void {
  const now = io.clock();
  const { verbose = false } = options;
  switch (options.output) {
    case 'csv':
      io.stdout.write(auditCsv(report));
      break;
    case 'openmetrics':
      io.stdout.write(auditOpenMetrics(report));
      break;
    case 'json':
      printJson(io, auditJson(viewOf(report, thresholds, now), verbose));
      break;
    case 'table':
      print(io, auditLines(viewOf(report, thresholds, now), { ...options, verbose, server, now }));
  }
}

function auditWithProgress(
  target: AuditTarget,
  options: Pick<AuditOptions, 'previous' | 'thresholds' | 'signal'>,
  { stderr, clock, sources = AUDIT_SOURCES }: AuditIo,
): Promise<AuditReport> {
  const progress = startProgress(stderr);
  const waiting = new Set<SourceId>(sources.map(({ id }) => id));
  const say = () =>
    progress.say(
      `${target.cluster.name}: ${sources.length - waiting.size} of ${sources.length} sources read, waiting for ${firstOf([...waiting])}`,
    );
  say();
  return audit(target, {
    ...options,
    clock,
    sources,
    onSource(source) {
      waiting.delete(source);
      say();
    },
  }).finally(() => progress.done());
}

interface Before {
  readonly stored: StoredSnapshot | undefined;
  /** Whether it is known what is there: nothing is written over what could not be read. */
  readonly readable: boolean;
}

async function readBefore(
  snapshots: Snapshots | undefined,
  id: string,
  stderr: NodeJS.WritableStream,
  signal: AbortSignal,
): Promise<Before> {
  if (snapshots === undefined) return { stored: undefined, readable: true };
  try {
    const stored = await snapshots.read(id, signal);
    if (stored !== undefined && stored.snapshot === undefined)
      stderr.write('The snapshot of before is damaged; this audit knows nothing of before, and writes a new one.\n');
    return { stored, readable: true };
  } catch (error) {
    stderr.write(
      `The snapshot of before cannot be read: ${systemErrorWords(error)}. This audit knows nothing of before, and writes none.\n`,
    );
    return { stored: undefined, readable: false };
  }
}

/**
 * Kubeconfigs call many a cluster alike: what is known of one must not pass for what was known of another.
 *
 * @throws UsageError when the snapshot of before is of another API server
 */
function refuseAnother(
  { stored }: Before,
  { id, server }: Pick<AuditTarget, 'id'> & { readonly server?: NamedServer },
  directory = '',
): void {
  const before = stored?.snapshot?.server;
  if (before === undefined || server === undefined || before === server.address) return;
  throw new UsageError(
    `--snapshots ${printable(directory)}: the snapshot of ${printable(id)} there is of the API server ${printable(before)}; this one is ${printable(server.address)}. Two clusters that are called alike: name this one with --cluster. The same cluster at another address: move ${printable(snapshotFileName(id))} away.`,
  );
}

function ofServer(report: AuditReport, server: NamedServer | undefined): AuditReport {
  return server === undefined ? report : { ...report, snapshot: { ...report.snapshot, server: server.address } };
}

/** Whether something of before is lost, and not everything was seen again since. */
function lossOf({ stored }: Before, { snapshot }: AuditReport, stderr: NodeJS.WritableStream): true | undefined {
  if (stored === undefined) return undefined;
  if (stored.snapshot === undefined) return true;
  if (stored.snapshot.partial === undefined || isWhole(snapshot)) return undefined;
  stderr.write(
    'A snapshot was lost, and not everything was seen again since: what is missing here may be there all the same. Make every source readable.\n',
  );
  return true;
}

/** @returns whether it was written */
async function writeAfter(
  snapshots: Snapshots,
  { snapshot }: AuditReport,
  etag: string | undefined,
  stderr: NodeJS.WritableStream,
): Promise<boolean> {
  try {
    await snapshots.write(snapshot, etag, new AbortController().signal);
    return true;
  } catch (error) {
    stderr.write(
      error instanceof AwsError
        ? `${error.message}\n`
        : `The snapshot cannot be written: ${systemErrorWords(error)}. The next audit knows nothing of this one.\n`,
    );
    return false;
  }
}
