/**
 * Letters and symbols without ink: blanks at which no line breaks. Source: Unicode, `Default_Ignorable_Code_Point`, and
 * U+2800 BRAILLE PATTERN BLANK.
 */
export const BLANK = String.raw`\u115F\u1160\u17B4\u17B5\u2800\u3164\uFFA0`;
// Control, format (bidi, zero-width), separator and blank characters: a cluster could draw on a terminal or forge a log
// line with them.
const UNPRINTABLE = new RegExp(`(?! )[\\p{Cc}\\p{Cf}\\p{Z}${BLANK}]`, 'gu');
/** Begins a line of certmarshal: a mark, or the arrow before a command. */
export const OUR_MARKS = /[✔✖◇◌○◐·→]/gu;

/**
 * Text from a cluster, made safe for terminals, logs and JSON: unprintable characters become `\u{…}`, an unpaired
 * surrogate becomes U+FFFD, and the result is cut to `limit` characters with an ellipsis.
 */
export function printable(text: string, limit = 200): string {
  const cut = (text.length > limit ? text.slice(0, limit) : text).toWellFormed();
  const safe = escaped(cut, UNPRINTABLE);
  return text.length > limit || safe.length > limit * 2 ? `${safe.slice(0, limit * 2).toWellFormed()}…` : safe;
}

/** With `\u{…}` in place of each character that a global pattern finds. */
export function escaped(text: string, pattern: RegExp): string {
  return text.replaceAll(pattern, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
