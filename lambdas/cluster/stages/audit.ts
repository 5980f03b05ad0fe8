import type { ApprovalPolicy } from '../../approval/policy.ts';
import { assessInSteps } from '../../audit/assess.ts';
import { audit, auditUnopened } from '../../audit/audit.ts';
import type { AuditReach, AuditTarget } from '../../audit/audit-target.ts';
import type { Thresholds } from '../../audit/rules/thresholds.ts';
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
import { stepsInTurns } from '../../processor-time.ts';
import { canonicalJson } from '../../same-json.ts';
import { EKS_SOURCES, REMEMBERED_SOURCES, STORED_MS } from '../../tables/audit-sources.ts';
import { CERTIFICATE_CLASSES } from '../../tables/certificate-classes.ts';
import type { OpenTarget } from '../connect/connect.ts';
import type { Stage, StageContext } from '../stage.ts';

export interface AuditStageOptions {
  readonly snapshots: Snapshots;
  readonly thresholds: Thresholds;
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
  readonly assessInSteps: typeof assessInSteps;
}

const ENGINE: AuditEngine = { audit, auditUnopened, assessInSteps };

/** A hanging bucket must not use up the time of the audit. Milliseconds. */
const READ_MS = 3_000;

interface Before {
  readonly stored?: StoredSnapshot | undefined;
  /** It could not be read, so it must not be overwritten. */
  readonly unread?: string;
}

/**
 * Reads the newest snapshot before an audit and replaces it after one that saw something else, unless another audit
 * wrote in between. An unreadable snapshot is not replaced: that would destroy what only it knows. While one is lost,
 * damaged or missing, every audit is partial, and so removes nothing from the index, until a later one has seen
 * everything again.
 */
export function createAuditStage(options: AuditStageOptions): Stage<OrderedAudit, AuditSummary> {
  const { snapshots, thresholds, policies, eksAudit, clock, engine = ENGINE } = options;

  return async (context) => ({ result: await auditOrdered(context), problems: [] });

  /** Problems outside of certmarshal are part of the summary. */
  async function auditOrdered({ order, due, open, trouble, signal, last }: StageContext<OrderedAudit>) {
    const { target, handshakes = false } = order;
    const { known, stored: onlyStored, withoutEks, ...ordered } = due;
    const { stored, unread } = await readBefore(target.id, signal);
    const previous = stored?.snapshot;
    if (onlyStored) return previous && summaryOf(previous, { durationMs: 0, partial: previous.partial });
    const { snapshot, durationMs } =
      open === undefined
        ? await engine.auditUnopened(target, trouble ?? unexplained(target), { previous, thresholds, clock })
        : await engine.audit(auditTarget(target, { handshakes, ...ordered }, open), {
            previous,
            thresholds,
            clock,
            signal,
            withoutEks,
          });
    if (unread !== undefined) return summaryOf(snapshot, { durationMs, snapshotProblem: unread, partial: true });

    const lost = lossOf(stored, known);
    // It saw nothing and knows nothing: nothing is overwritten, and nothing is removed from the index.
    if (open === undefined && previous === undefined)
      return summaryOf(snapshot, { durationMs, snapshotProblem: lost, partial: true });
    const isRead = open !== undefined && withoutEks !== true && isWhole(snapshot);
    const isPartial = lost !== undefined && (lost !== PARTIAL || !isRead);
    if (previous !== undefined && lost === undefined && !worthWriting(previous, snapshot))
      return summaryOf(snapshot, { durationMs });
    const written = await write(isPartial ? { ...snapshot, partial: true } : snapshot, stored?.etag, last);
    const { partial } = written.snapshot;
    const snapshotProblem = written.problem ?? (partial === undefined ? undefined : (lost ?? PARTIAL));
    return summaryOf(written.snapshot, { durationMs, snapshotProblem, partial });
  }

  async function readBefore(id: string, signal: AbortSignal): Promise<Before> {
    try {
      return { stored: await snapshots.read(id, AbortSignal.any([signal, AbortSignal.timeout(READ_MS)])) };
    } catch (error) {
      return { unread: problemOf(error) };
    }
  }

  /** @returns the snapshot that is stored now, or would be */
  async function write(
    snapshot: Snapshot,
    etag: string | undefined,
    signal: AbortSignal,
  ): Promise<{ readonly snapshot: Snapshot; readonly problem?: string }> {
    try {
      await snapshots.write(snapshot, etag, signal);
      return { snapshot };
    } catch (error) {
      if (!isConflict(error)) return { snapshot, problem: problemOf(error) };
    }
    // Another audit of the cluster was faster; this one is older.
    const { stored, unread } = await readBefore(snapshot.cluster, signal);
    if (unread !== undefined) return { snapshot, problem: unread };
    const merged = stored === undefined ? snapshot : await assessedAfter(stored.snapshot, snapshot);
    try {
      await snapshots.write(merged, stored?.etag, signal);
      return { snapshot: merged };
    } catch (error) {
      return { snapshot: merged, problem: problemOf(error) };
    }
  }

  async function assessedAfter(previous: Snapshot | undefined, snapshot: Snapshot): Promise<Snapshot> {
    if (previous === undefined) return { ...snapshot, partial: true };
    const { cluster: id, provider, auditedAt } = snapshot;
    const seen = snapshot.observations.filter(({ observedAt }) => observedAt >= auditedAt);
    const steps = engine.assessInSteps({ id, provider }, seen, previous, thresholds, clock());
    const merged = { ...snapshot, ...(await stepsInTurns(steps)) };
    return previous.partial !== undefined && !isWhole(merged) ? { ...merged, partial: true } : merged;
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

/** What is unknown about earlier audits, and the remedy. */
function lossOf(stored: StoredSnapshot | undefined, known: true | undefined): string | undefined {
  if (stored === undefined) return known === undefined ? undefined : MISSING;
  if (stored.snapshot === undefined) return DAMAGED;
  return stored.snapshot.partial === undefined ? undefined : PARTIAL;
}

const EARLIER = 'Earlier versions of the object in the bucket have what was known.';
const DAMAGED = `The stored snapshot was damaged. ${EARLIER}`;
const MISSING = `There is no stored snapshot although audits ran before: it was deleted or never written. ${EARLIER}`;
const PARTIAL =
  'A snapshot was lost, and not everything has been seen again since. Earlier findings stay in the index. Make every source readable, or restore an earlier version of the object in the bucket.';

function problemOf(error: unknown): string {
  if (error instanceof AwsError) return error.message;
  throw error;
}

/**
 * Whether an audit is complete without the previous snapshot: every source was read, and every control plane server
 * answered. Nodes that are down do not matter: a large cluster always has one.
 */
function isWhole({ observations }: Pick<Snapshot, 'observations'>): boolean {
  return !observations.some(isMissed);
}

function isMissed(observation: Observation): boolean {
  if (observation.kind !== 'unread' || observation.usual === true) return false;
  const { where, what } = observation;
  return where === undefined || (what !== undefined && CERTIFICATE_CLASSES[what].layer === 'control plane');
}

/** No rule needs a finer skew, and no two measurements are equal. */
const CLOCK_STEP_MS = 60_000;

/**
 * Whether an audit says something that the stored snapshot does not. Pure.
 *
 * Only the time of observations is ignored, and only if everything was read: an observation that is kept because its
 * source or place cannot be read says when it was last seen, and must be exact. A stored time that is too old, by two
 * hours at most, makes a source count as lost that much sooner; nothing is ever milder, later or gone. The findings of
 * an audit are always its own, whatever is stored.
 *
 * @param previous the stored one, from which `snapshot` was made
 */
export function worthWriting(previous: Snapshot, snapshot: Snapshot): boolean {
  const age = Date.parse(snapshot.auditedAt) - Date.parse(previous.auditedAt);
  // The age is unknown if the clock was set back.
  if (!(age >= 0 && age < STORED_MS)) return true;
  if (previous.partial !== undefined || snapshot.partial !== undefined) return true;
  if (previous.cluster !== snapshot.cluster || previous.provider !== snapshot.provider) return true;
  if (!sawEverything(snapshot)) return true;
  return (
    !areSame(previous.observations, snapshot.observations, factOf) ||
    !areSame(previous.findings, snapshot.findings, troubleOf)
  );
}

/** Nothing failed but what usually does, and only remembered or resting sources have earlier observations. */
function sawEverything({ auditedAt, observations }: Snapshot): boolean {
  const read = new Set(observations.flatMap(({ kind, source }) => (kind === 'read' ? [source] : [])));
  return observations.every((observation) => {
    const { kind, source, observedAt } = observation;
    if (kind === 'unread' && observation.usual !== true && observation.issued === undefined) return false;
    const mayBeOlder = REMEMBERED_SOURCES.has(source) || EKS_SOURCES.has(source);
    return observedAt >= auditedAt || (mayBeOlder && read.has(source));
  });
}

/** The same elements, each as often, in any order. */
function areSame<T extends {}>(before: readonly T[], now: readonly T[], textOf: (one: T) => string): boolean {
  const left = Map.groupBy(before, textOf);
  return before.length === now.length && now.every((one) => left.get(textOf(one))?.pop() !== undefined);
}

/** An observation without its time. Canonical, as a stored one has its fields in another order. */
function factOf(observation: Observation): string {
  const { observedAt: _, ...fact } =
    observation.kind === 'clock'
      ? { ...observation, skewMs: Math.round(observation.skewMs / CLOCK_STEP_MS) }
      : observation;
  return canonicalJson(fact);
}

/** A finding without its message, which changes with the time left. Has everything that the next audit reads of it. */
function troubleOf({ code, object, severity, since, due, lastSeen, places, placeCount }: ExpiryFinding): string {
  return JSON.stringify([code, object, severity, since, due, lastSeen, places, placeCount]);
}
