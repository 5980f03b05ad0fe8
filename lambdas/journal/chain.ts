import { createHash } from 'node:crypto';
import { read, readJson } from '../contracts/contract.ts';
import { JournalLine, JournalObject } from '../contracts/journal-line.ts';
import type { JournalEntry } from './journal.ts';

/** The last line of a chain. */
export interface ChainEnd {
  /** 0 for a chain without a line. */
  readonly seq: number;
  readonly hash: string;
}

/** The hash before the first line. */
export const CHAIN_START: ChainEnd = { seq: 0, hash: '0'.repeat(64) };

/**
 * Writes entries as the next lines of a chain. Pure.
 *
 * @returns NDJSON, with a newline after each line, and the new end of the chain
 */
export function chainLines(
  before: ChainEnd,
  entries: readonly JournalEntry[],
): { readonly body: string; readonly end: ChainEnd } {
  let end = before;
  let body = '';
  for (const entry of entries) {
    const line = JSON.stringify({ ...entry, seq: end.seq + 1, previous: end.hash });
    const hash = sha256(line);
    body += `${line.slice(0, -1)},"hash":"${hash}"}\n`;
    end = { seq: end.seq + 1, hash };
  }
  return { body, end };
}

/** In hexadecimal digits. */
export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

/**
 * `hash` is the last property, so that the hash covers the text as written: no second serialization has to match the
 * first.
 */
const HASHED = /^(?<before>\{.+),"hash":"(?<hash>[0-9a-f]{64})"\}$/s;

/** Far more than an entry has. Bytes. */
const MAX_LINE = 1_000_000;

/** A line as read from an object. */
export interface RawLine extends ChainEnd {
  readonly previous: string;
  readonly cluster: string;
  /** RFC 3339. */
  readonly at: string;
  /** False when it was changed after it was hashed. */
  readonly intact: boolean;
  /** The whole line. */
  readonly value: Readonly<Record<string, unknown>>;
}

/** Undefined for anything but a line of a journal. Pure. */
export function readLine(text: string): RawLine | undefined {
  const { before, hash } = HASHED.exec(text)?.groups ?? {};
  if (before === undefined || hash === undefined) return undefined;
  const value = readJson(JournalObject, text, MAX_LINE);
  const line = value.ok ? read(JournalLine, value.value) : value;
  if (!value.ok || !line.ok) return undefined;
  return { ...line.value, hash, intact: sha256(`${before}}`) === hash, value: value.value };
}
