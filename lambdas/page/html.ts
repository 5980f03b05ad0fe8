import { printable } from '../printable.ts';

const MARKUP = Symbol('markup');

/** A piece of a document. Only {@link html} and {@link constant} make one. */
export interface Html {
  readonly [MARKUP]: string;
}

/** Values in a template: text is escaped; `undefined` and `false` are empty. */
export type Part = Html | string | number | undefined | false | readonly Html[];

/** Longest text in characters; callers may cut earlier. */
const MAX_TEXT = 600;

/**
 * A piece of HTML. Any other value in `${…}` is text: unprintable characters become visible, and characters with a
 * meaning in HTML, in an element or a quoted attribute, are escaped. So escaping cannot be forgotten.
 */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let markup = strings[0] ?? '';
  parts.forEach((part, index) => {
    markup += markupOf(part) + (strings[index + 1] ?? '');
  });
  return { [MARKUP]: markup };
}

/** For our own style and script only, never for other text. */
export function constant(text: string): Html {
  return { [MARKUP]: text };
}

/**
 * JSON for a `<script type="application/json">`: it cannot end the element or begin a comment, and contains no
 * unprintable text.
 */
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
