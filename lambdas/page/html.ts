import { printable } from '../printable.ts';

const MARKUP = Symbol('markup');

/** A piece of a document. Only {@link html} and {@link constant} make one. */
export interface Html {
  readonly [MARKUP]: string;
}

/** What may stand in a template: text is escaped, whatever it is; `undefined` and `false` are nothing. */
export type Part = Html | string | number | undefined | false | readonly Html[];

/** Characters of one text; who knows better cuts before. */
const MAX_TEXT = 600;

/**
 * A piece of HTML. Everything in `${…}` that is not itself such a piece is text: characters that cannot be printed become visible, and those
 * that mean something in HTML, in an element or in a quoted attribute, are escaped. So there is no way to forget it.
 */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let markup = strings[0] ?? '';
  parts.forEach((part, index) => {
    markup += markupOf(part) + (strings[index + 1] ?? '');
  });
  return { [MARKUP]: markup };
}

/** Our own style and script. Never for what comes from anywhere else. */
export function constant(text: string): Html {
  return { [MARKUP]: text };
}

/** JSON for a `<script type="application/json">`: nothing in it can end the element or begin a comment, and no text is unprintable. */
export function embeddedJson(value: unknown): Html {
  const json = JSON.stringify(value, (_key, entry: unknown) =>
    typeof entry === 'string' ? printable(entry, MAX_TEXT) : entry,
  );
  return { [MARKUP]: json.replaceAll('<', String.raw`\u003c`) };
}

export function markupOf(part: Part): string {
  if (part === undefined || part === false) return '';
  if (typeof part === 'string') return escaped(part);
  if (typeof part === 'number') return String(part);
  if (MARKUP in part) return part[MARKUP];
  return part.map((piece) => piece[MARKUP]).join('');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return printable(text, MAX_TEXT).replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
