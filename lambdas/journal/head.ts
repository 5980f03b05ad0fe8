import { readJson } from '../contracts/contract.ts';
import { JournalHead } from '../contracts/journal-line.ts';
import { CHAIN_START, type ChainEnd, chainLines, readLine, sha256 } from './chain.ts';
import type { JournalEntry } from './journal.ts';
import { dayOfObject, journalKey, parseJournalKey } from './keys.ts';

/** An entry is written again after this: no request stays open for longer, unless a policy says so. Seconds. */
const RECENT_SECONDS = 3_600;
/** Above this the oldest are forgotten. */
const MAX_RECENT = 10_000;
/** Most lines of one object: the largest take 24 MB in a head, below the limit of a read. */
const MAX_LINES = 500;

/**
 * The identity of an entry: the request, the decision and its result. The uid alone is not enough: a lying API server
 * may give one uid to many requests. Of a rollout: the write and its result.
 */
const SAME =
  'kind cluster csr uid requester requestHash names nameCount object write rollout verdict reason hostile outcome';

/** @param entry or a line of one */
export function entryKey(entry: {
  readonly kind?: unknown;
  readonly outcome?: unknown;
  readonly at?: unknown;
}): string {
  const { kind, outcome, at } = entry;
  // Each completed write counts, and so does each decision of a person.
  const counts = kind === 'person' || (kind === 'rollout' && (outcome === 'written' || outcome === 'unknown'));
  const when = counts ? String(at) : '';
  return sha256(JSON.stringify(entry, SAME.split(' ')) + when).slice(0, 16);
}

/** The next state of a chain. */
export interface Advanced {
  readonly head: JournalHead;
  /** Entries in this object. */
  readonly added: number;
  /** Entries for the next object. */
  readonly rest: number;
}

/** Appends the new ones of these entries, up to the size of one object. Undefined when none is new. Pure. */
export function advance(
  head: JournalHead | undefined,
  cluster: string,
  entries: readonly JournalEntry[],
): Advanced | undefined {
  const recent = head?.recent ?? {};
  const fresh = [...new Map(entries.map((entry) => [entryKey(entry), entry]))].filter(([key]) => !(key in recent));
  const taken = fresh.slice(0, MAX_LINES).map(([, entry]) => entry);
  if (taken.length === 0) return undefined;
  const before: ChainEnd = head ?? CHAIN_START;
  const { body, end } = chainLines(before, taken);
  const day = dayOfObject(head?.key, taken);
  const key = journalKey({ day, cluster, seq: before.seq + 1 });
  return {
    head: { version: 1, cluster, ...end, key, body, recent: recentOf(taken, recent) },
    added: taken.length,
    rest: fresh.length - taken.length,
  };
}

function recentOf(
  entries: readonly { readonly at: string }[],
  before: Readonly<Record<string, number>> = {},
): Record<string, number> {
  const all = [
    ...Object.entries(before),
    ...entries.map((entry) => [entryKey(entry), Math.floor(Date.parse(entry.at) / 1000)] as const),
  ].toSorted(([, a], [, b]) => b - a);
  const [, now = 0] = all[0] ?? [];
  return Object.fromEntries(all.filter(([, time]) => time > now - RECENT_SECONDS).slice(0, MAX_RECENT));
}

/** Rebuilds the head of a chain from its last object; undefined when that is damaged. Pure. */
export function headOfObject(key: string, body: string): JournalHead | undefined {
  const cluster = parseJournalKey(key)?.cluster;
  const lines = body.endsWith('\n') ? body.slice(0, -1).split('\n').map(readLine) : [];
  const last = lines.at(-1);
  if (cluster === undefined || last === undefined || !last.intact || last.cluster !== cluster) return undefined;
  const entries = lines.flatMap((line) => (line === undefined ? [] : [{ ...line.value, cluster, at: line.at }]));
  return { version: 1, cluster, seq: last.seq, hash: last.hash, key, body, recent: recentOf(entries) };
}

/** Undefined unless it is the head of this cluster and agrees with its lines. Pure. */
export function decodeHead(bytes: Buffer | undefined, cluster: string): JournalHead | undefined {
  const stored = bytes && readJson(JournalHead, bytes.toString('utf8'), bytes.length);
  if (!stored?.ok) return undefined;
  const { key, body, seq, hash } = stored.value;
  const head = headOfObject(key, body);
  const isRight =
    head?.cluster === cluster && stored.value.cluster === cluster && head.seq === seq && head.hash === hash;
  return isRight ? stored.value : undefined;
}
