import { createHash } from 'node:crypto';

/** Source: CloudWatch API Reference, Dimension. */
const MAX_VALUE = 1_024;
const HASH_DIGITS = 16;

/**
 * A text as the value of a CloudWatch dimension: printable ASCII, 1 to 1,024 characters, not blank, no leading colon.
 * Ids of clusters stay unchanged. Other characters become `\u{…}`, and a value that is too long ends in a hash of the
 * whole, so that different texts stay different. Pure.
 */
export function dimensionValue(text: string): string {
  const escaped = text.replaceAll(
    /[^\x20-\x7e]|^[: ]| $/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
  if (escaped === '') return String.raw`\u{}`;
  if (escaped.length <= MAX_VALUE) return escaped;
  const hash = createHash('sha256').update(text).digest('hex').slice(0, HASH_DIGITS);
  return `${escaped.slice(0, MAX_VALUE - HASH_DIGITS - 1)}~${hash}`;
}
