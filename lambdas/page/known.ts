/** What a fleet is known from: the sweeps and audits of a hub, audits of a person, or one sweep of a person, which only looks. */
export type Basis = 'hub' | 'audits' | 'sweep';

/** What a page may speak of. What is outside of it gets no tick. */
export interface Known {
  readonly basis: Basis;
  /** Parts of the state that could not be read. */
  readonly unread: readonly string[];
}
