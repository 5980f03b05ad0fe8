import { type AuditOptions, type AuditReport, audit } from '../../../lambdas/audit/audit.ts';
import type { AuditTarget } from '../../../lambdas/audit/audit-target.ts';
import { directorySnapshots, snapshotFileName } from '../../../lambdas/audit/directory-snapshots.ts';
import type { Thresholds } from '../../../lambdas/audit/rules/thresholds.ts';
import type { Snapshots, StoredSnapshot } from '../../../lambdas/audit/snapshots.ts';
import { AUDIT_SOURCES } from '../../../lambdas/audit/sources.ts';
import { isWhole } from '../../../lambdas/audit/whole.ts';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import { printable } from '../../../lambdas/printable.ts';
import type { SourceId } from '../../../lambdas/tables/audit-sources.ts';
import { SEVERITIES, type Severity } from '../../../lambdas/tables/finding-codes.ts';
import { firstOf } from '../../../lambdas/words.ts';
import { EXIT, UsageError } from '../../exit-codes.ts';
import type { Io } from '../../io.ts';
import { systemErrorWords } from '../../system-error.ts';
import type { NamedServer } from '../../target.ts';
import { auditedSources } from './sources.ts';

export interface AuditOnceOptions {
  /** Exit status 1 for a finding of at least this severity. */
  readonly failOn?: Severity;
  /** Directory of the snapshots: the earlier one is read, the new one is written. */
  readonly snapshots?: string;
}

/** For a job that fails only by its exit status. */
export const CRITICAL_PASSES = 'Exit status 0 despite a critical finding; for status 1: --fail-on critical\n';

/** Dependencies of the command; tests pass their own sources. */
export interface AuditIo extends Io {
  readonly sources?: AuditOptions['sources'];
}

export interface Audited {
  readonly report: AuditReport;
  readonly status: number;
  /** Whether a finding is as severe as `failOn`. */
  readonly failed: boolean;
  /** Whether a finding is critical. */
  readonly critical: boolean;
}

/**
 * Audits one cluster once with its earlier snapshot, and writes the new one. Prints only problems of the snapshot.
 *
 * @param onLeft called with the sources that are still pending
 * @throws UsageError if the earlier snapshot is of another API server
 */
export async function auditOnce(
  target: AuditTarget & { readonly server?: NamedServer },
  thresholds: Thresholds,
  options: AuditOnceOptions,
  signal: AbortSignal,
  io: Pick<AuditIo, 'stderr' | 'clock' | 'sources'>,
  onLeft: (left: string) => void = () => {},
): Promise<Audited> {
  const { stderr } = io;
  const snapshots = snapshotsOf(options);
  const before = await readBefore(snapshots, target.id, stderr, signal);
  refuseAnother(before, target, options.snapshots);
  const given = { previous: before.stored?.snapshot, thresholds, signal };
  const audited = await auditWithProgress(target, given, io, onLeft);
  const partial = lossOf(before, audited, stderr);
  const report = partial === undefined ? audited : { ...audited, snapshot: { ...audited.snapshot, partial } };
  const interrupted = signal.aborted;
  const kept =
    snapshots === undefined ||
    (before.readable &&
      !interrupted &&
      (await writeAfter(snapshots, ofServer(report, target.server), before.stored?.etag, stderr)));
  const { findings, observations } = report.snapshot;
  const complete = kept && partial === undefined && !interrupted && auditedSources(observations).unread.length === 0;
  const failed = options.failOn !== undefined && findings.some(({ severity }) => reaches(severity, options.failOn));
  const critical = findings.some(({ severity }) => reaches(severity));
  return { report, status: complete && !failed ? EXIT.done : EXIT.incomplete, failed, critical };
}

export function snapshotsOf({ snapshots }: Pick<AuditOnceOptions, 'snapshots'>): Snapshots | undefined {
  return snapshots === undefined ? undefined : directorySnapshots(snapshots);
}

function reaches(severity: Severity, limit: Severity = 'critical'): boolean {
  return SEVERITIES.indexOf(severity) <= SEVERITIES.indexOf(limit);
}

function auditWithProgress(
  target: AuditTarget,
  options: Pick<AuditOptions, 'previous' | 'thresholds' | 'signal'>,
  { clock, sources = AUDIT_SOURCES }: Pick<AuditIo, 'clock' | 'sources'>,
  onLeft: (left: string) => void,
): Promise<AuditReport> {
  const waiting = new Set<SourceId>(sources.map(({ id }) => id));
  const say = () =>
    onLeft(`${sources.length - waiting.size} of ${sources.length} sources read, waiting for ${firstOf([...waiting])}`);
  say();
  return audit(target, {
    ...options,
    clock,
    sources,
    onSource(source) {
      waiting.delete(source);
      say();
    },
  });
}

interface Before {
  readonly stored: StoredSnapshot | undefined;
  /** Whether the file could be read: an unreadable one is not overwritten. */
  readonly readable: boolean;
}

/** The earlier snapshot of a cluster. Prints why it is unusable. */
export async function readBefore(
  snapshots: Snapshots | undefined,
  id: string,
  stderr: NodeJS.WritableStream,
  signal: AbortSignal,
): Promise<Before> {
  if (snapshots === undefined) return { stored: undefined, readable: true };
  try {
    const stored = await snapshots.read(id, signal);
    if (stored !== undefined && stored.snapshot === undefined)
      stderr.write(
        `The earlier snapshot of ${printable(id)} is damaged; this audit starts without it, and writes a new one.\n`,
      );
    return { stored, readable: true };
  } catch (error) {
    stderr.write(
      `The earlier snapshot of ${printable(id)} cannot be read: ${systemErrorWords(error)}. This audit starts without it, and writes none.\n`,
    );
    return { stored: undefined, readable: false };
  }
}

/**
 * Kubeconfigs give different clusters the same name: their results must not be mixed.
 *
 * @throws UsageError if the earlier snapshot is of another API server
 */
function refuseAnother(
  { stored }: Before,
  { id, server }: Pick<AuditTarget, 'id'> & { readonly server?: NamedServer },
  directory = '',
): void {
  const before = stored?.snapshot?.server;
  if (before === undefined || server === undefined || before === server.address) return;
  throw new UsageError(
    `--snapshots ${printable(directory)}: its snapshot of ${printable(id)} is of the API server ${printable(before)}; this one is ${printable(server.address)}. If they are two clusters with one name, name this one with --cluster. If it is the same cluster at another address, move ${printable(snapshotFileName(id))} away.`,
  );
}

function ofServer(report: AuditReport, server: NamedServer | undefined): AuditReport {
  return server === undefined ? report : { ...report, snapshot: { ...report.snapshot, server: server.address } };
}

/** Whether an earlier snapshot was lost, and not everything has been seen again. */
function lossOf({ stored }: Before, { snapshot }: AuditReport, stderr: NodeJS.WritableStream): true | undefined {
  if (stored === undefined) return undefined;
  if (stored.snapshot === undefined) return true;
  if (stored.snapshot.partial === undefined || isWhole(snapshot)) return undefined;
  stderr.write(
    'A snapshot was lost, and not everything was seen again since: what is missing here may still exist. Make every source readable.\n',
  );
  return true;
}

/** Prints why it could not be written. @returns whether it was written */
export async function writeAfter(
  snapshots: Snapshots,
  { snapshot }: Pick<AuditReport, 'snapshot'>,
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
        : `The snapshot of ${printable(snapshot.cluster)} cannot be written: ${systemErrorWords(error)}. The next audit knows nothing of this one; fix that, or name another directory with --snapshots.\n`,
    );
    return false;
  }
}
