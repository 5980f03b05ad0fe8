/** What a fleet is known from: the sweeps of a hub, or the snapshots of audits that somebody made. */
export type Basis = 'sweeps' | 'snapshots';

/** What a page may speak of. What is outside of it gets no tick. */
export interface Known {
  readonly basis: Basis;
  /** Parts of the state that could not be read. */
  readonly unread: readonly string[];
}

/** Whether a number of sweeps, requests or objective means anything. */
export function knowsSweeps({ basis, unread }: Known): boolean {
  return basis === 'sweeps' && unread.length === 0;
}
