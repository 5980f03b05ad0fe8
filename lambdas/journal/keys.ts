/** Prefix of the lines; permissions name it. */
export const JOURNAL_PREFIX = 'journal/';
/** Prefix of the heads of chains; permissions name it. */
export const HEAD_PREFIX = 'heads/';

/** Key of an object with lines. */
export interface JournalKey {
  /** `2026-11-21`, UTC. */
  readonly day: string;
  readonly cluster: string;
  /** Number of its first line. */
  readonly seq: number;
}

const KEY = /^journal\/(?<day>\d{4}-\d\d-\d\d)\/(?<cluster>.+)\/(?<seq>\d{12})\.ndjson$/;
const HEAD = /^heads\/(?<cluster>.+)\.json$/;

/** `journal/2026-11-21/111122223333/eu-central-1/dublin/000000000042.ndjson`: an id has no character that a key cannot have. */
export function journalKey({ day, cluster, seq }: JournalKey): string {
  return `${clusterPrefix(day, cluster)}${String(seq).padStart(12, '0')}.ndjson`;
}

/** Undefined for any other key. */
export function parseJournalKey(key: string): JournalKey | undefined {
  const { day, cluster, seq } = KEY.exec(key)?.groups ?? {};
  if (day === undefined || cluster === undefined || seq === undefined || Number(seq) === 0) return undefined;
  return { day, cluster, seq: Number(seq) };
}

/**
 * The day in the key of a new object: that of its newest line, but never before the day of the previous object, so that
 * the order of keys is the order of the chain even if a clock jumps back.
 *
 * @param before key of the previous object
 */
export function dayOfObject(before: string | undefined, lines: readonly { readonly at: string }[]): string {
  const days = lines.map(({ at }) => at.slice(0, 10));
  return [parseJournalKey(before ?? '')?.day ?? '', ...days].toSorted().at(-1) ?? '';
}

/** Prefix of all objects of a day. */
export function dayPrefix(day: string): string {
  return `${JOURNAL_PREFIX}${day}/`;
}

/** Prefix of the objects of one cluster and day, and of clusters whose id begins with `<id>/`. */
export function clusterPrefix(day: string, cluster: string): string {
  return `${dayPrefix(day)}${cluster}/`;
}

/** `heads/111122223333/eu-central-1/dublin.json`. */
export function headKey(cluster: string): string {
  return `${HEAD_PREFIX}${cluster}.json`;
}

/** Id of the cluster of a head; undefined for any other key. */
export function parseHeadKey(key: string): string | undefined {
  return HEAD.exec(key)?.groups?.['cluster'];
}
