import { escaped } from '../printable.ts';
import { printableName } from '../printable-name.ts';

/** Source: CloudWatch API Reference, Dimension. */
const MAX_VALUE = 1_024;

/**
 * A text as the value of a CloudWatch dimension: printable ASCII, 1 to 1,024 characters, not blank, no leading colon.
 * Ids of clusters stay unchanged. Other characters become `\u{…}`, and a value that is too long ends in a hash of the
 * whole, so that different texts stay different. Pure.
 */
export function dimensionValue(text: string): string {
  const value = printableName(escaped(text, /[^\x20-\x7e]|^[: ]| $/gu), MAX_VALUE);
  return value === '' ? String.raw`\u{}` : value;
}
