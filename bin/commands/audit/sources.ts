import type {
  Observation,
  OffObservation,
  ReadObservation,
  UnreadObservation,
} from '../../../lambdas/contracts/observation.ts';
import type { SourceId } from '../../../lambdas/tables/audit-sources.ts';

export interface AuditedSources {
  readonly read: readonly ReadObservation[];
  /** Sources that failed as a whole; a single unread place is a finding. */
  readonly unread: readonly UnreadObservation[];
  readonly off: readonly OffObservation[];
}

/**
 * The newest result of each source; kept observations are older. A source can be off in part: `tls` without machines
 * reads the API endpoint.
 */
export function auditedSources(observations: readonly Observation[]): AuditedSources {
  const newest = new Map<SourceId, ReadObservation | UnreadObservation>();
  for (const observation of observations) {
    if (observation.kind !== 'read' && observation.kind !== 'unread') continue;
    if (observation.kind === 'unread' && observation.where !== undefined) continue;
    const known = newest.get(observation.source);
    if (known === undefined || Date.parse(known.observedAt) <= Date.parse(observation.observedAt))
      newest.set(observation.source, observation);
  }
  const all = [...newest.values()].toSorted(bySource);
  const off = observations.filter((observation) => observation.kind === 'off').toSorted(bySource);
  return {
    read: all.filter((observation) => observation.kind === 'read'),
    unread: all
      .filter((observation) => observation.kind === 'unread')
      .filter(({ source }) => !off.some((one) => one.source === source)),
    off,
  };
}

function bySource(a: { readonly source: SourceId }, b: { readonly source: SourceId }): number {
  return a.source < b.source ? -1 : 1;
}

/** The number of servers with a TLS handshake, successful or not. */
export function handshakesOf({ read }: AuditedSources): number {
  return read.find(({ source }) => source === 'tls')?.count ?? 0;
}
