import type { ApprovalPolicy } from '../../approval/policy.ts';
import { type AuditRules, audit, auditUnopened } from '../../audit/audit.ts';
import type { AuditReach, AuditTarget } from '../../audit/audit-target.ts';
import type { Snapshots, StoredSnapshot } from '../../audit/snapshots.ts';
import { summaryOf } from '../../audit/summary.ts';
import type { EksAuditReader } from '../../aws/eks-audit.ts';
import { AwsError, isConflict } from '../../aws/errors.ts';
import type { AuditSummary } from '../../contracts/audit-summary.ts';
import type { ExpiryFinding } from '../../contracts/finding.ts';
import type { Observation } from '../../contracts/observation.ts';
import type { OrderedAudit } from '../../contracts/order.ts';
import type { Problem } from '../../contracts/problem.ts';
import type { Snapshot } from '../../contracts/snapshot.ts';
import type { AwsScope, Target } from '../../contracts/target.ts';
import { canonicalJson } from '../../same-json.ts';
import { STORED_MS } from '../../tables/audit-sources.ts';
import type { OpenTarget } from '../connect/connect.ts';
import type { Stage, StageContext } from '../stage.ts';

export interface AuditStageOptions extends AuditRules {
  readonly snapshots: Snapshots;
  /** Policies for judging issued certificates. */
  readonly policies: readonly ApprovalPolicy[];
  readonly eksAudit: (scope: AwsScope, name: string) => EksAuditReader;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** @default all */
  readonly engine?: AuditEngine;
}

export interface AuditEngine {
  readonly audit: typeof audit;
  readonly auditUnopened: typeof auditUnopened;
}

const ENGINE: AuditEngine = { audit, auditUnopened };

/** A hanging bucket must not use up the time of the audit. Milliseconds. */
const READ_MS = 3_000;

interface Before {
  readonly stored?: StoredSnapshot | undefined;
  /** It could not be read, so it must not be overwritten. */
  readonly unread?: string;
}

/**
 * Reads the newest snapshot before an audit and replaces it after one that saw something else, unless another audit
 * wrote in between. An unreadable snapshot is not replaced: that would destroy what only it knows. A lost or damaged one
 * is made again.
 */
export function createAuditStage(options: AuditStageOptions): Stage<OrderedAudit, AuditSummary> {
  const { snapshots, thresholds, accept, policies, eksAudit, clock, engine = ENGINE } = options;

  return async (context) => ({ result: await auditOrdered(context), problems: [] });

  /** Problems outside of certmarshal are part of the summary. */
  async function auditOrdered({ order, due, open, trouble, signal, last }: StageContext<OrderedAudit>) {
    const { target, handshakes = false } = order;
    const { known, stored: onlyStored, withoutEks, ...ordered } = due;
    const { stored, unread } = await readBefore(target.id, signal);
    const previous = stored?.snapshot;
    if (onlyStored) return previous && summaryOf(previous, { durationMs: 0 });
    const { snapshot, durationMs } =
      open === undefined
        ? await engine.auditUnopened(target, trouble ?? unexplained(target), { previous, thresholds, accept, clock })
        : await engine.audit(auditTarget(target, { handshakes, ...ordered }, open), {
            previous,
            thresholds,
            accept,
            clock,
            signal,
            withoutEks,
          });
    // It knows nothing, or saw and knows nothing: nothing is overwritten, and the index keeps what it has.
    if (unread !== undefined || (open === undefined && previous === undefined))
      return summaryOf(snapshot, { durationMs, snapshotProblem: unread ?? lossOf(stored, known), partial: true });
    const problem = worthWriting(previous, snapshot) ? await write(snapshot, stored?.etag, last) : undefined;
    return summaryOf(snapshot, { durationMs, snapshotProblem: problem ?? lossOf(stored, known) });
  }

  async function readBefore(id: string, signal: AbortSignal): Promise<Before> {
    try {
      return { stored: await snapshots.read(id, AbortSignal.any([signal, AbortSignal.timeout(READ_MS)])) };
    } catch (error) {
      return { unread: problemOf(error) };
    }
  }

  /** @returns why it was not stored. After another audit was faster, the next one knows what that saw. */
  async function write(snapshot: Snapshot, etag: string | undefined, signal: AbortSignal): Promise<string | undefined> {
    try {
      await snapshots.write(snapshot, etag, signal);
      return undefined;
    } catch (error) {
      return isConflict(error) ? undefined : problemOf(error);
    }
  }

  function auditTarget(
    { id, cluster: { name }, access, eksAnywhereNamespace }: Target,
    reach: AuditReach,
    open: OpenTarget,
  ): AuditTarget {
    const eks = access.kind === 'eks' ? eksAudit(access.scope, name) : open.eks;
    return { ...open, id, eksAnywhereNamespace, eks, reach, policies };
  }
}

function unexplained({ id }: Target): Problem {
  return {
    kind: 'unreadable',
    object: `cluster ${id}`,
    message: 'the sweep could not read it',
    remedy: 'Read the findings of its sweep.',
  };
}

/** Why earlier audits are not known. */
function lossOf(stored: StoredSnapshot | undefined, known: true | undefined): string | undefined {
  if (stored === undefined) return known === undefined ? undefined : MISSING;
  return stored.snapshot === undefined ? DAMAGED : undefined;
}

const EARLIER = 'Earlier versions of the object in the bucket have what was known.';
const DAMAGED = `The stored snapshot was damaged. ${EARLIER}`;
const MISSING = `There is no stored snapshot although audits ran before: it was deleted or never written. ${EARLIER}`;

function problemOf(error: unknown): string {
  if (error instanceof AwsError) return error.message;
  throw error;
}

/** No rule needs a finer skew, and no two measurements are equal. */
const CLOCK_STEP_MS = 60_000;

/**
 * Whether an audit says something that the stored snapshot does not, but the time of observations: what is stored is
 * two hours too old at most, and then counts as lost that much sooner. Pure.
 *
 * @param previous the stored one, from which `snapshot` was made
 */
export function worthWriting(previous: Snapshot | undefined, snapshot: Snapshot): boolean {
  const age = Date.parse(snapshot.auditedAt) - Date.parse(previous?.auditedAt ?? '');
  // The age is unknown if the clock was set back.
  if (previous === undefined || !(age >= 0 && age < STORED_MS)) return true;
  return textOf(previous) !== textOf(snapshot);
}

function textOf({ provider, observations, findings }: Snapshot): string {
  return JSON.stringify([provider, observations.map(factOf).toSorted(), findings.map(lastingOf).toSorted()]);
}

/** An observation without its time. Canonical, as a stored one has its fields in another order. */
function factOf(observation: Observation): string {
  const { observedAt: _, ...fact } =
    observation.kind === 'clock'
      ? { ...observation, skewMs: Math.round(observation.skewMs / CLOCK_STEP_MS) }
      : observation;
  return canonicalJson(fact);
}

/** A finding without its facts, some of which change with the time. */
function lastingOf({
  code,
  object,
  severity,
  since,
  due,
  lastSeen,
  places,
  placeCount,
  accepted,
}: ExpiryFinding): string {
  return JSON.stringify([code, object, severity, since, due, lastSeen, places, placeCount, accepted]);
}
