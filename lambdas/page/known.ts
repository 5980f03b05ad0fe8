/** The origin of the data: sweeps and audits of a hub, audits of a person, or one dry run of sweep by a person. */
export type Basis = 'hub' | 'audits' | 'sweep';

/** What a page is about, as its title and its heading. */
export const TITLES: Readonly<Record<Basis, string>> = {
  hub: 'Fleet report',
  audits: 'Certificates',
  sweep: 'Requests',
};

/** What a page may judge. Anything else gets no check mark. */
export interface Known {
  readonly basis: Basis;
  /** How the reader starts certmarshal. */
  readonly program: string;
  /** The command that makes the other page of the same clusters: their requests, or their certificates. */
  readonly other: string;
  /** Parts of the state that could not be read. */
  readonly unread: readonly string[];
}
