import { BLANK, OUR_MARKS, withoutLinks } from '../printable.ts';

const LONGEST = 300;
const INVISIBLE = new RegExp(`[\\p{C}${BLANK}]`, 'gu');

/**
 * Text from a cluster, made safe for a terminal, a log line and a person: white space becomes single spaces, control,
 * bidirectional, format, private-use and unpaired-surrogate characters are removed, the marks of certmarshal's own lines
 * become question marks, links and secrets are cut out, at most 300 characters.
 *
 * Removes what ../printable.ts escapes: a secret interrupted by such characters must close up again to be found.
 * Secrets are cut after the cleaning and before the shortening, so neither can assemble one or leave half of one.
 *
 * @param secrets texts that must not be echoed, for example the bearer token of the request
 */
export function printable(text: string, secrets: readonly string[] = []): string {
  let clean = text.replaceAll(/\s+/gu, ' ').replaceAll(INVISIBLE, '').replaceAll(OUR_MARKS, '?').trim();
  for (const secret of secrets) clean = clean.replaceAll(secret, '[redacted]');
  clean = withoutLinks(clean);
  return clean.length <= LONGEST
    ? clean
    : `${clean
        .slice(0, LONGEST - 1)
        .toWellFormed()
        .replace(/\uFFFD$/u, '')}…`;
}
