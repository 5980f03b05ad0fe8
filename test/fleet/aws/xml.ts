/** What an XML element can hold: text, several elements of one name, or elements by their names. */
export type XmlContent =
  | string
  | number
  | boolean
  | readonly XmlContent[]
  | { readonly [name: string]: XmlContent | undefined };

/** `<name>content</name>`; a list writes the element once for each entry, undefined writes nothing. */
export function element(name: string, content: XmlContent | undefined): string {
  if (content === undefined) return '';
  if (isList(content)) return content.map((entry) => element(name, entry)).join('');
  return `<${name}>${inner(content)}</${name}>`;
}

function inner(content: XmlContent): string {
  if (typeof content !== 'object') return escaped(String(content));
  return Object.entries(content)
    .map(([name, child]) => element(name, child))
    .join('');
}

function isList(content: XmlContent): content is readonly XmlContent[] {
  return Array.isArray(content);
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}
