import { createHash } from 'node:crypto';
import { printable } from './printable.ts';

/** Digits of the hash, which is hexadecimal. */
const DIGITS = 16;

/**
 * A name that tells things apart, harmless as {@link printable} makes it. One of more than `limit` characters ends in a hash of all of it, so that no two names become
 * one. Pure.
 */
export function printableName(name: string, limit: number): string {
  const safe = printable(name, Number.POSITIVE_INFINITY);
  if (safe.length <= limit) return safe;
  const hash = createHash('sha256').update(safe).digest('hex').slice(0, DIGITS);
  return `${safe.slice(0, limit - DIGITS - 1).toWellFormed()}~${hash}`;
}

/** Whether the end of a name is missing, so that it names something else: cut by {@link printableName}, or by {@link printable}. */
export function isCut(name: string): boolean {
  return /(?:…|~[0-9a-f]{16})$/.test(name);
}
