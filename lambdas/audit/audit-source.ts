import type { SourceReading } from '../approval/evidence/evidence.ts';
import type { MemberObservation, Observation } from '../contracts/observation.ts';
import type { SourceId } from '../tables/audit-sources.ts';
import type { Certificate } from '../x509/certificate.ts';
import type { AuditTarget } from './audit-target.ts';
import type { IssuedJudge } from './issued-judge.ts';

/** What a source is given beside its target. */
export interface AuditContext {
  readonly target: AuditTarget;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Ends with the deadline of the source. */
  readonly signal: AbortSignal;
  /** Machines, Nodes and node groups that the sources of the first stage found, and those that are remembered where one of them failed. */
  readonly members: readonly MemberObservation[];
  /** Authorities that the cluster trusts, as the sources of the first stage found them: who may have signed its certificates. */
  readonly authorities: readonly Certificate[];
  /** Judges kubelet serving certificates; reads what it needs beside the lists of the first stage once, when the first one is seen. */
  readonly issuedJudge: () => Promise<IssuedJudge>;
  /** Sources of which the audit before has anything: what they read was there. */
  readonly remembered: ReadonlySet<SourceId>;
}

/**
 * One place to look at. What it cannot read at all it throws, as KubernetesError or AwsError, and becomes an `unread` observation of the source;
 * what it cannot read of one place it returns as one with `where`, and where it was not read to its end as one without. A `read` observation is added by whoever
 * called it, when it returned and was read to its end.
 */
export interface AuditSource {
  readonly id: SourceId;
  /** Sources that find members or authorities come first, the others after them. */
  readonly stage: 'first' | 'second';
  /** Milliseconds. */
  readonly deadlineMs: number;
  /**
   * Not every cluster has what it reads, so a 404 can say that there is none; see `isAbsent`. Of Cluster API only a cluster that is merely taken for its own
   * management cluster: `own-management`.
   */
  readonly optional?: 'always' | 'own-management';
  /** Why it is not looked at; undefined when it is. `false` where the cluster has no such thing, and nobody misses it. */
  off(target: AuditTarget): string | false | undefined;
  observe(context: AuditContext): Promise<SourceObservations>;
}

export interface SourceObservations {
  readonly observations: readonly Observation[];
  /** Objects looked at. */
  readonly count: number;
  /** Of the first stage: authorities that the cluster trusts. */
  readonly authorities?: readonly Certificate[];
  /** Of the first stage: who has which names, to judge what was issued. */
  readonly evidence?: SourceReading;
}
