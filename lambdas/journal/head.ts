import { createHash } from 'node:crypto';
import { readJson } from '../contracts/contract.ts';
import { JournalHead } from '../contracts/journal-line.ts';
import { CHAIN_START, type ChainEnd, chainLines, readLine } from './chain.ts';
import type { JournalEntry } from './journal.ts';
import { journalKey, parseJournalKey } from './keys.ts';

/** An entry that was written so long ago is written again: no request is open for longer, but where a policy says so. Seconds. */
const RECENT_SECONDS = 3_600;
/** The oldest of more are forgotten. */
const MAX_RECENT = 10_000;
/** Of the lines of one object, in bytes; a head with them stays far below what is read. */
const MAX_BODY = 4 * 1024 * 1024;
/** `seq`, `previous` and `hash` of a line. */
const CHAINING_BYTES = 200;

/**
 * What makes an entry the same as another one: the request, and what was decided about it with which result. The uid alone does not: an API server that lies
 * may give one to many requests. Of a rollout: the write, and what became of it; of two that were done each counts.
 */
export function entryKey(entry: JournalEntry): string {
  return createHash('sha256')
    .update(JSON.stringify(sameness(entry)))
    .digest('hex')
    .slice(0, 16);
}

function sameness(entry: JournalEntry): readonly unknown[] {
  const { cluster, uid, reason, outcome } = entry;
  if (entry.kind === 'rollout') {
    const { object, write, rollout, at } = entry;
    const isDone = outcome === 'written' || outcome === 'unknown';
    return ['rollout', cluster, object, uid, write, rollout, reason, outcome, ...(isDone ? [at] : [])];
  }
  const { csr, requester, requestHash, verdict, hostile } = entry;
  if (entry.kind === 'recovery')
    return ['recovery', cluster, uid, csr, requester, requestHash, entry.window, verdict, reason, hostile, outcome];
  const { names, nameCount } = entry;
  return [[cluster, uid, csr, requester, requestHash, names, nameCount], verdict, reason, hostile, outcome];
}

/** The next state of a chain. */
export interface Advanced {
  readonly head: JournalHead;
  /** Entries that are in it now. */
  readonly added: number;
  /** Entries that take another object. */
  readonly rest: number;
}

/** Appends what is new of these entries, as much as one object takes. Undefined when nothing is. Pure. */
export function advance(
  head: JournalHead | undefined,
  cluster: string,
  entries: readonly JournalEntry[],
): Advanced | undefined {
  const recent = new Map(Object.entries(head?.recent ?? {}));
  const fresh = [...new Map(entries.map((entry) => [entryKey(entry), entry]))].filter(([key]) => !recent.has(key));
  const taken = firstOf(fresh, MAX_BODY);
  if (taken.length === 0) return undefined;
  const before: ChainEnd = head ?? CHAIN_START;
  const chained = chainLines(
    before,
    taken.map(([, entry]) => entry),
  );
  for (const [key, { at }] of taken) recent.set(key, Math.floor(Date.parse(at) / 1000));
  const days = taken.map(([, { at }]) => at.slice(0, 10));
  const key = journalKey({ day: latest([dayOf(head), ...days]), cluster, seq: before.seq + 1 });
  return {
    head: { version: 1, cluster, ...chained.end, key, body: chained.body, recent: pruned(recent) },
    added: taken.length,
    rest: fresh.length - taken.length,
  };
}

/** Never before the day of the lines before, so that the order of the keys is that of the chain whatever a clock says. */
function dayOf(head: JournalHead | undefined): string {
  return head === undefined ? '' : (parseJournalKey(head.key)?.day ?? '');
}

function latest(days: readonly string[]): string {
  return days.reduce((last, day) => (day > last ? day : last), '');
}

function firstOf(
  fresh: readonly (readonly [key: string, entry: JournalEntry])[],
  bytes: number,
): readonly (readonly [key: string, entry: JournalEntry])[] {
  let size = 0;
  const over = fresh.findIndex(([, entry]) => {
    size += Buffer.byteLength(JSON.stringify(entry)) + CHAINING_BYTES;
    return size > bytes;
  });
  return over === -1 ? fresh : fresh.slice(0, Math.max(1, over));
}

function pruned(recent: ReadonlyMap<string, number>): Record<string, number> {
  const now = [...recent.values()].reduce((last, time) => Math.max(last, time), 0);
  const kept = [...recent].filter(([, time]) => time > now - RECENT_SECONDS).toSorted(([, a], [, b]) => b - a);
  return Object.fromEntries(kept.slice(0, MAX_RECENT));
}

/** What can be told of the head of a chain from its last object; undefined when that is damaged. Pure. */
export function headOfObject(key: string, body: string): JournalHead | undefined {
  const cluster = parseJournalKey(key)?.cluster;
  const lines = body.endsWith('\n') ? body.slice(0, -1).split('\n').map(readLine) : [];
  const last = lines.at(-1);
  if (cluster === undefined || last === undefined || !last.intact || last.cluster !== cluster) return undefined;
  const recent = new Map<string, number>();
  for (const line of lines) {
    if (line === undefined) continue;
    const what = { ...line.value, cluster };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only hashed: a line that is another one is just not found again
    recent.set(entryKey(what as unknown as JournalEntry), Math.floor(Date.parse(line.at) / 1000));
  }
  return { version: 1, cluster, seq: last.seq, hash: last.hash, key, body, recent: pruned(recent) };
}

export function encodeHead(head: JournalHead): Buffer {
  return Buffer.from(JSON.stringify(head));
}

/** Undefined for what is not the head of this cluster, or does not agree with the lines in it. Pure. */
export function decodeHead(bytes: Buffer | undefined, cluster: string): JournalHead | undefined {
  const stored = bytes && readJson(JournalHead, bytes.toString('utf8'), bytes.length);
  if (!stored?.ok || stored.value.cluster !== cluster) return undefined;
  const { key, body, seq, hash, recent } = stored.value;
  const head = headOfObject(key, body);
  if (head === undefined || head.cluster !== cluster || head.seq !== seq || head.hash !== hash) return undefined;
  return { ...head, recent };
}
