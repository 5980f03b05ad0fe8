import { audit, auditUnopened } from '../audit/audit.ts';
import type { AuditReach, AuditTarget } from '../audit/audit-target.ts';
import type { Snapshots, StoredSnapshot } from '../audit/snapshots.ts';
import { type AuditSummary, summaryOf } from '../audit/summary.ts';
import type { EksAuditReader } from '../aws/eks-audit.ts';
import { AwsError } from '../aws/errors.ts';
import type { AwsScope } from '../aws/scope.ts';
import { assessExpiry } from '../expiry/assess-expiry.ts';
import type { Snapshot } from '../expiry/snapshot.ts';
import type { Thresholds } from '../expiry/thresholds.ts';
import type { Problem } from '../problem.ts';
import type { OpenTarget } from './open-target.ts';
import type { Target } from './target.ts';

/** An audit that is due. */
export interface DueAudit {
  readonly target: Target;
  readonly reach: AuditReach;
  /** Absent when nothing can be asked about the cluster; `problem` then says why. */
  readonly open: OpenTarget | undefined;
  readonly problem: Problem;
  /** Ends the looking. */
  readonly signal: AbortSignal;
  /** Ends everything: what was seen is still to be written when the looking was told to end. */
  readonly last: AbortSignal;
}

/** Audits one cluster and keeps what it saw. Whatever is wrong outside of certmarshal is part of the summary; only a bug rejects. */
export type AuditCluster = (due: DueAudit) => Promise<AuditSummary>;

export interface ClusterAuditorOptions {
  readonly snapshots: Snapshots;
  readonly thresholds: Thresholds;
  readonly eksAudit: (scope: AwsScope, name: string) => EksAuditReader;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** @default those that there are */
  readonly engine?: AuditEngine;
}

export interface AuditEngine {
  readonly audit: typeof audit;
  readonly auditUnopened: typeof auditUnopened;
  readonly assessExpiry: typeof assessExpiry;
}

const ENGINE: AuditEngine = { audit, auditUnopened, assessExpiry };

/** A bucket that hangs must not take the time of the audit. Milliseconds. */
const READ_MS = 3_000;

/** What is known of the stored snapshot. */
interface Known {
  readonly stored?: StoredSnapshot | undefined;
  /** It could not be read: what is there must not be written over. */
  readonly unread?: string;
}

/**
 * The newest snapshot is read before and replaced after an audit, under the condition that nobody wrote another one meanwhile. One that cannot be
 * read is not replaced: it would be the end of what only it knows.
 */
export function createClusterAuditor(options: ClusterAuditorOptions): AuditCluster {
  const { snapshots, thresholds, eksAudit, clock, engine = ENGINE } = options;

  return async ({ target, reach, open, problem, signal, last }) => {
    const { stored, unread } = await known(target.id, signal);
    const previous = stored?.snapshot;
    const { snapshot, durationMs } =
      open === undefined
        ? engine.auditUnopened(target, problem, { previous, thresholds, clock })
        : await engine.audit(auditTarget(target, reach, open), { previous, thresholds, clock, signal });
    if (unread !== undefined) return summaryOf(snapshot, { durationMs, snapshotProblem: unread, partial: true });

    const isDamaged = stored !== undefined && previous === undefined;
    const written = await write(snapshot, stored?.etag, last);
    const snapshotProblem = written.problem ?? (isDamaged ? DAMAGED : undefined);
    return summaryOf(written.snapshot, { durationMs, snapshotProblem, partial: isDamaged ? true : undefined });
  };

  async function known(id: string, signal: AbortSignal): Promise<Known> {
    try {
      return { stored: await snapshots.read(id, AbortSignal.any([signal, AbortSignal.timeout(READ_MS)])) };
    } catch (error) {
      return { unread: problemOf(error) };
    }
  }

  /** @returns what is there now, or would be */
  async function write(
    snapshot: Snapshot,
    etag: string | undefined,
    signal: AbortSignal,
  ): Promise<{ readonly snapshot: Snapshot; readonly problem?: string }> {
    try {
      await snapshots.write(snapshot, etag, signal);
      return { snapshot };
    } catch (error) {
      if (!(error instanceof AwsError) || error.kind !== 'conflict') return { snapshot, problem: problemOf(error) };
    }
    // Another audit of the cluster was faster; what it saw is of before.
    const { stored, unread } = await known(snapshot.cluster, signal);
    if (unread !== undefined) return { snapshot, problem: unread };
    const merged = stored?.snapshot === undefined ? snapshot : assessedAfter(stored.snapshot, snapshot);
    try {
      await snapshots.write(merged, stored?.etag, signal);
      return { snapshot: merged };
    } catch (error) {
      return { snapshot: merged, problem: problemOf(error) };
    }
  }

  function assessedAfter(previous: Snapshot, snapshot: Snapshot): Snapshot {
    const { cluster: id, provider, auditedAt } = snapshot;
    const seen = snapshot.observations.filter(({ observedAt }) => observedAt >= auditedAt);
    return { ...snapshot, ...engine.assessExpiry({ id, provider }, seen, previous, thresholds, clock()) };
  }

  function auditTarget(
    { id, cluster: { name }, access }: Target,
    reach: AuditReach,
    { cluster, workload, management, machinesNamespace }: OpenTarget,
  ): AuditTarget {
    return {
      id,
      cluster,
      workload,
      ...(management === undefined ? {} : { management }),
      ...(machinesNamespace === undefined ? {} : { machinesNamespace }),
      ...(access.kind === 'eks' ? { eks: eksAudit(access.scope, name) } : {}),
      reach,
    };
  }
}

const DAMAGED =
  'The stored snapshot was damaged, and was written anew. Earlier versions of the object in the bucket have what it knew.';

function problemOf(error: unknown): string {
  if (error instanceof AwsError) return error.message;
  throw error;
}
