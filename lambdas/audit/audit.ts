import { notRead } from '../approval/evidence/believed.ts';
import { AwsError } from '../aws/errors.ts';
import type { Observation } from '../contracts/observation.ts';
import type { Problem } from '../contracts/problem.ts';
import type { Snapshot } from '../contracts/snapshot.ts';
import { KubernetesError } from '../kubernetes/errors.ts';
import { once } from '../lazy.ts';
import { printable } from '../printable.ts';
import { stepsInTurns } from '../processor-time.ts';
import { EKS_SOURCES, type SourceId } from '../tables/audit-sources.ts';
import { timestamp } from '../time.ts';
import { isAbsent } from './absent.ts';
import { assessInSteps } from './assess.ts';
import type { AuditContext, AuditSource, SourceObservations } from './audit-source.ts';
import type { AuditTarget } from './audit-target.ts';
import { createIssuedJudge } from './issued-certificates.ts';
import { keepObservations } from './keep-observations.ts';
import type { Acceptance } from './rules/accepted.ts';
import type { Thresholds } from './rules/thresholds.ts';
import { AUDIT_SOURCES } from './sources.ts';

/** What fleet.yaml says about findings. */
export interface AuditRules {
  readonly thresholds: Thresholds;
  readonly accept?: readonly Acceptance[] | undefined;
}

export interface AuditOptions extends AuditRules {
  /** The previous snapshot of the same cluster. */
  readonly previous: Snapshot | undefined;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly signal: AbortSignal;
  /** @default all */
  readonly sources?: readonly AuditSource[];
  /** EKS is not asked: what is known from it stays. @default it is */
  readonly withoutEks?: true | undefined;
  /** Called after each source, to show progress. */
  readonly onSource?: (source: SourceId) => void;
}

/** The result of one audit, for CLI and function. */
export interface AuditReport {
  readonly snapshot: Snapshot;
  readonly durationMs: number;
  /** Requests sent to API servers, including retries. */
  readonly requests: number;
}

/**
 * Audits one cluster: reads every source, each with its own deadline, and assesses the result together with the
 * previous snapshot. Writes nothing. Failed reads are part of the result; only a bug throws.
 */
export async function audit(target: AuditTarget, options: AuditOptions): Promise<AuditReport> {
  const { previous, thresholds, accept, clock, signal, sources = AUDIT_SOURCES, onSource } = options;
  const startedAt = clock();
  const requestsBefore = requestsOf(target);
  const remembered = rememberedSources(previous);
  // Waiting for the calls of other clusters does not make a cluster slow.
  let waitedMs = 0;
  const run = async (
    stage: AuditSource['stage'],
    found: Pick<AuditContext, 'members' | 'authorities' | 'issuedJudge'>,
  ) => {
    const stageAt = clock();
    const results = await Promise.all(
      sources
        .filter((source) => source.stage === stage)
        .map(async (source) => {
          const before = fromBefore(source, options);
          if (before === undefined && stage === 'first' && EKS_SOURCES.has(source.id)) await target.eks?.turn(signal);
          const begunAt = clock();
          const read = before ?? (await observeSource(source, { target, now: clock, signal, ...found, remembered }));
          onSource?.(source.id);
          return { read, tookMs: clock() - begunAt };
        }),
    );
    waitedMs += clock() - stageAt - Math.max(0, ...results.map(({ tookMs }) => tookMs));
    return results.map(({ read }) => read);
  };

  const nothing = { members: [], authorities: [], issuedJudge: neverAsked };
  const first = await run('first', nothing);
  const seen = first.flatMap(({ observations }) => observations);
  const known = (now: readonly Observation[]) => keepObservations(now, previous?.observations ?? [], startedAt).all;
  const members = known(seen).filter((one) => one.kind === 'member');
  const authorities = first.flatMap((source) => source.authorities ?? []);
  const listed = first.flatMap(({ evidence }) => evidence ?? []);
  const issuedJudge = once(async () => createIssuedJudge({ target, members, signal }, listed, previous));
  const second = await run('second', { ...nothing, members, authorities, issuedJudge });
  const later = second.flatMap(({ observations }) => observations);
  const all = [...seen, ...later, ...clocks(target, clock())];
  const { provider } = target.cluster;
  const { observations, findings } = await stepsInTurns(
    assessInSteps({ id: target.id, provider, accept }, all, previous, thresholds, clock()),
  );
  return {
    snapshot: {
      version: 1,
      cluster: target.id,
      provider,
      auditedAt: new Date(startedAt).toISOString(),
      observations,
      findings,
    },
    durationMs: clock() - startedAt - waitedMs,
    requests: requestsOf(target) - requestsBefore,
  };
}

/** An audit of a cluster that could not be opened: earlier observations still hold. */
export async function auditUnopened(
  { id, cluster: { provider } }: Pick<AuditTarget, 'id' | 'cluster'>,
  { kind, message, remedy }: Problem,
  { previous, thresholds, accept, clock, sources = AUDIT_SOURCES }: Omit<AuditOptions, 'signal'>,
): Promise<AuditReport> {
  const observedAt = timestamp(clock());
  const lost = new Set(previous?.observations.flatMap(({ source }) => source));
  const unread = sources
    .filter((source) => lost.has(source.id))
    .map(({ id: source }) => ({ kind: 'unread' as const, source, observedAt, problem: kind, message, remedy }));
  const { observations, findings } = await stepsInTurns(
    assessInSteps({ id, provider, accept }, unread, previous, thresholds, clock()),
  );
  const snapshot: Snapshot = { version: 1, cluster: id, provider, auditedAt: observedAt, observations, findings };
  return { snapshot, durationMs: 0, requests: 0 };
}

type ReadSource = Omit<SourceObservations, 'count'>;

/** The evidence that is missing if one of these sources fails. */
const LISTS_OF_OWNERS: Partial<Record<SourceId, 'machine' | 'node'>> = { machines: 'machine', nodes: 'node' };

async function neverAsked(): Promise<never> {
  throw new Error('only sources of the second stage judge');
}

/** The observations of the previous audit, if this one does not ask EKS. */
function fromBefore({ id }: AuditSource, { previous, withoutEks }: AuditOptions): ReadSource | undefined {
  if (withoutEks !== true || !EKS_SOURCES.has(id)) return undefined;
  return { observations: previous?.observations.filter(({ source }) => source === id) ?? [] };
}

async function observeSource(source: AuditSource, context: AuditContext): Promise<ReadSource> {
  const { id, deadlineMs } = source;
  const why = source.off(context.target);
  const origin = { source: id, observedAt: timestamp(context.now()) };
  if (why === false) return { observations: [] };
  if (why !== undefined) return { observations: [{ kind: 'off', ...origin, why }] };

  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), deadlineMs);
  try {
    const signal = AbortSignal.any([context.signal, deadline.signal]);
    const read = await source.observe({ ...context, signal });
    const cut = read.observations.some((seen) => seen.kind === 'unread' && seen.where === undefined);
    return cut
      ? read
      : { ...read, observations: [...read.observations, { kind: 'read', ...origin, count: read.count }] };
  } catch (error) {
    if (!(error instanceof KubernetesError) && !(error instanceof AwsError)) throw error;
    if (source.optional === 'always' && isAbsent(error, id, context))
      return { observations: [{ kind: 'read', ...origin, count: 0 }] };
    const isOwn = context.target.management === context.target.workload;
    if (typeof source.optional === 'object' && isOwn && isAbsent(error, id, context))
      return {
        observations: [{ kind: 'off', ...origin, why: `this cluster has no ${source.optional.lacking}` }],
      };
    const overdue = error.kind === 'aborted' && deadline.signal.aborted;
    const { object } = error;
    const kind = overdue ? 'timeout' : error.kind;
    const problem = overdue ? `not done within ${deadlineMs / 1000} s` : error.problem;
    const remedy = overdue ? 'Check the load of the server and the route to it.' : error.remedy;
    const list = LISTS_OF_OWNERS[id];
    return {
      observations: [{ kind: 'unread', ...origin, problem: kind, message: `${printable(object)}: ${problem}`, remedy }],
      evidence: list && notRead(list, { kind, object, problem, remedy }),
    };
  } finally {
    clearTimeout(timer);
  }
}

/** Sources with an observation other than `read`, `off` or `unread`. */
function rememberedSources(previous: Snapshot | undefined): ReadonlySet<SourceId> {
  const remembered = (previous?.observations ?? []).filter(
    ({ kind }) => kind !== 'read' && kind !== 'off' && kind !== 'unread',
  );
  return new Set(remembered.map(({ source }) => source));
}

function clocks({ workload: { clock, server } }: AuditTarget, now: number): readonly Observation[] {
  if (clock === undefined) return [];
  const origin = { source: 'clock' as const, observedAt: timestamp(now) };
  return [
    { kind: 'clock', ...origin, server, skewMs: clock.skewMs },
    { kind: 'read', ...origin, count: 1 },
  ];
}

function requestsOf({ workload, management }: AuditTarget): number {
  const clients = new Set([workload, ...(management === undefined ? [] : [management])]);
  return [...clients].reduce((sum, { stats }) => sum + stats.requests, 0);
}
