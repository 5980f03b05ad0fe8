import type { SourceReading } from '../approval/evidence/evidence.ts';
import type { MemberObservation, Observation } from '../contracts/observation.ts';
import type { SourceId } from '../tables/audit-sources.ts';
import type { Certificate } from '../x509/certificate.ts';
import type { AuditTarget } from './audit-target.ts';
import type { IssuedJudge } from './issued-certificates.ts';

/** Of an observation. */
export type Origin = Pick<Observation, 'source' | 'observedAt'>;

export interface AuditContext {
  readonly target: AuditTarget;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Aborts at the deadline of the source. */
  readonly signal: AbortSignal;
  /** Machines and Nodes that sources of the first stage found, plus the remembered ones of a source that failed. */
  readonly members: readonly MemberObservation[];
  /** CAs that the cluster trusts, found by sources of the first stage: possible signers of its certificates. */
  readonly authorities: readonly Certificate[];
  /** Judges kubelet serving certificates. The first call reads the evidence that the first stage did not list. */
  readonly issuedJudge: () => Promise<IssuedJudge>;
  /** Sources with observations in the previous audit: what they read existed. */
  readonly remembered: ReadonlySet<SourceId>;
}

/**
 * One source of observations. If it cannot be read at all, it throws KubernetesError or AwsError, which becomes its
 * `unread` observation. It returns an `unread` observation with `where` for one place, and without if it was not read
 * completely. If it was, the caller adds a `read` observation.
 */
export interface AuditSource {
  readonly id: SourceId;
  /** Sources that find members or CAs run first. */
  readonly stage: 'first' | 'second';
  /** Milliseconds. Waiting for the turn of EKS does not count. */
  readonly deadlineMs: number;
  /**
   * A 404 can mean that the cluster does not have what it reads; see `isAbsent`. An object: only for a cluster that is
   * assumed to be its own management cluster, and may lack something of Cluster API: what, for people.
   */
  readonly optional?: 'always' | { readonly lacking: string };
  /** Why it is not read; undefined if it is. `false` if the cluster has no such thing, which is not reported. */
  off(target: AuditTarget): string | false | undefined;
  observe(context: AuditContext): Promise<SourceObservations>;
}

export interface SourceObservations {
  readonly observations: readonly Observation[];
  /** Objects read. */
  readonly count: number;
  /** First stage only: CAs that the cluster trusts. */
  readonly authorities?: readonly Certificate[];
  /** First stage only: the owners of names, to judge issued certificates. */
  readonly evidence?: SourceReading;
}
