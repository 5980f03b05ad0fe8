import { isAlias, isMap, isScalar, isSeq, type ParsedNode } from 'yaml';
import { printable } from '../printable.ts';

/** Where a value is inside a file: map keys and list indexes from the root. */
export type Path = readonly (string | number)[];

/** A problem at an offset of the text. */
export interface Remark {
  readonly offset: number;
  readonly message: string;
}

/** Where a value and its key begin; an entry of a list has no key. */
export interface Place {
  readonly key?: number;
  readonly value: number;
}

/** The plain data of a document, with aliases expanded. */
export interface YamlValues {
  readonly value: unknown;
  readonly placeOf: (path: Path) => Place | undefined;
  /** Duplicate keys, keys that are not text, and aliases without an anchor. */
  readonly remarks: readonly Remark[];
  /** Set when a bound was reached; the rest was not read. */
  readonly limit?: Remark;
}

const MAX_DEPTH = 16;
/** With aliases expanded: stops a small file from expanding to a huge one. A thousand clusters are about 7,000. */
const MAX_VALUES = 50_000;

export const TOO_DEEP = `nested more than ${MAX_DEPTH} levels deep; no part of this file needs that`;
const TOO_MANY = `more than ${MAX_VALUES} values, aliases expanded; split it into two deployments`;

/**
 * Turns the nodes of a YAML document into plain data. Of duplicate keys the first counts. Bounded in depth and in the
 * number of values, even if an alias contains itself.
 */
export function readValues(root: ParsedNode | null): YamlValues {
  const places = new Map<string, Place>();
  const anchors = new Map<string, ParsedNode>();
  const remarks: Remark[] = [];
  let values = 0;
  let limit: Remark | undefined;

  const read = (node: ParsedNode | null, path: Path, key?: number, alias?: number): unknown => {
    if (limit !== undefined || node === null) return null;
    const offset = node.range[0];
    values += 1;
    if (path.length > MAX_DEPTH) limit = { offset: alias ?? offset, message: TOO_DEEP };
    else if (values > MAX_VALUES) limit = { offset: alias ?? offset, message: TOO_MANY };
    const id = JSON.stringify(path);
    if (!places.has(id)) places.set(id, placeOfNode(node, key));

    if (isAlias(node)) {
      const anchored = anchors.get(node.source);
      if (anchored !== undefined) return read(anchored, path, key, alias ?? offset);
      const written = `*${printable(node.source, 60)}`;
      remarks.push({ offset, message: `${written} is read as an alias; put a value that starts with "*" in quotes` });
      return null;
    }
    // An alias means the last anchor of its name above it in the file, whatever is expanded in between.
    if (node.anchor !== undefined && alias === undefined) anchors.set(node.anchor, node);
    if (isScalar(node)) return node.value;
    if (isSeq(node)) return node.items.map((item, index) => read(item, [...path, index], undefined, alias));

    const entries = new Map<string, unknown>();
    for (const pair of node.items) {
      const name = isScalar(pair.key) ? pair.key.value : undefined;
      const keyOffset = pair.key?.range[0] ?? offset;
      if (typeof name !== 'string')
        remarks.push({ offset: keyOffset, message: 'a key that is not text; every key of this file is a word' });
      else if (entries.has(name))
        remarks.push({
          offset: keyOffset,
          message: `key "${printable(name, 60)}" appears twice; keep one of the two`,
        });
      else entries.set(name, read(pair.value, [...path, name], keyOffset, alias));
    }
    return Object.fromEntries(entries);
  };

  const value = read(root, []);
  return {
    value,
    placeOf: (path) => places.get(JSON.stringify(path)),
    remarks,
    limit,
  };
}

/** For a list, a section or an empty value, people look at its key. */
function placeOfNode(node: ParsedNode, key: number | undefined): Place {
  const [start, end] = node.range;
  if (key === undefined) return { value: start };
  return { key, value: isMap(node) || isSeq(node) || start === end ? key : start };
}
