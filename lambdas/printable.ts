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

/** A plain value with every text in it {@link printable}, and lists cut to their first `most`. */
export function printableParts<T>(value: T, limit: number, most = Number.POSITIVE_INFINITY): T {
  const made = (part: unknown): unknown => {
    if (typeof part === 'string') return printable(part, limit);
    if (Array.isArray(part)) return part.slice(0, most).map(made);
    if (typeof part !== 'object' || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, made(inner)]));
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of the same form
  return made(value) as T;
}

/** What a server or a node says, for messages: {@link printable}, and no reader makes a link of it. */
export function printableStory(text: string, limit: number): string {
  return withoutLinks(printable(text, limit));
}

export function withoutLinks(text: string): string {
  return text.replaceAll('://', '[:]//');
}

/** Whether a text is one word of a command line as it is: no escape, mark or option of anyone else. */
export function isPlainWord(text: string): boolean {
  return printable(text, Number.POSITIVE_INFINITY) === text && text.search(OUR_MARKS) === -1 && !text.startsWith('-');
}

/** With `\u{…}` in place of each character that a global pattern finds. */
export function escaped(text: string, pattern: RegExp): string {
  return text.replaceAll(pattern, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
