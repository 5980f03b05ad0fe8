const LONGEST = 300;

/**
 * Text from a cluster, made safe for a terminal, a log line and a person: white space folded to single spaces, control,
 * bidirectional, format, private-use and unpaired-surrogate characters removed, secrets cut out, at most 300 characters.
 *
 * Removes what ../printable.ts escapes: a secret broken up by such characters has to close up again to be found.
 * Secrets are cut out after the cleaning and before the shortening, so neither can put one together or leave half of one.
 *
 * @param secrets what must not be echoed back, for example the bearer token of the request.
 */
export function printable(text: string, secrets: readonly string[] = []): string {
  let clean = text.replaceAll(/\s+/gu, ' ').replaceAll(/\p{C}/gu, '').trim();
  for (const secret of secrets) clean = clean.replaceAll(secret, '[redacted]');
  return clean.length <= LONGEST
    ? clean
    : `${clean
        .slice(0, LONGEST - 1)
        .toWellFormed()
        .replace(/\uFFFD$/u, '')}…`;
}
