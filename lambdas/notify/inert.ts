import { withoutLinks } from '../printable.ts';

/** A dot that may belong to a domain name: no top-level domain begins with a digit. */
const DOMAIN_DOT = /\.(?=[\p{L}\p{M}])/gu;
const NAME = /[\p{L}\p{M}\p{N}.-]+/gu;
/**
 * Names of EC2 instances end in these, and they cannot be registered. Source: ICANN, Board resolution of 29 July 2024
 * (internal); RFC 6762, section 3 (local).
 */
const PRIVATE = /^(?:[a-z0-9]+(?:-+[a-z0-9]+)*\.)+(?:internal|local)\.?$/;
/** Markdown drops the backslash. Source: CommonMark 0.31.2, 2.4 Backslash escapes. */
const ESCAPES = /\\+(?=[!-/:-@[-`{-~])/g;
/** Longest name that is searched for a dot. Characters. */
const LONGEST_NAME = 1_000;

/**
 * Makes text from a cluster plain, in e-mail, on a pager and in a chat: no mention, no link. `https://` becomes
 * `https[:]//`, `example.com` becomes `example[.]com`, and `@` becomes `(at)`.
 * Source: Slack, "Formatting text for app surfaces", Automatic parsing; CommonMark 0.31.2, 6.3 Links.
 */
export function inert(text: string): string {
  return withoutLinks(withoutMarkup(text.replaceAll(ESCAPES, '')))
    .replaceAll('&', '＆')
    .replaceAll('@', '(at)')
    .replaceAll('](', '] (')
    .replaceAll(NAME, (name) => (PRIVATE.test(name) ? name : name.replaceAll(DOMAIN_DOT, '[.]')));
}

/** A name as a command may have it: empty if a reader could make a link of it. */
export function inertWord(name: string): string {
  return inert(name) === name ? name : '';
}

/** Slack reads text between < and > as a mention or a link, also in code. */
export function withoutMarkup(text: string): string {
  return text.replaceAll('<', '‹').replaceAll('>', '›').replaceAll('`', "'");
}

/** Drops a name with dots that is cut in half: the rest could be another domain name. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const head = text.slice(0, most - 1).toWellFormed();
  const last = /\S*$/.exec(head.slice(-LONGEST_NAME))?.[0] ?? '';
  return `${last.includes('.') ? head.slice(0, -last.length) : head}…`;
}
