import { isAlias, isMap, isScalar, isSeq, LineCounter, type ParsedNode, parseDocument } from 'yaml';
import { printable } from '../printable.ts';

/** Where a value is inside a file: map keys and list indexes from the root. */
export type Path = readonly (string | number)[];

/** A problem at a place of the text; lines and columns count from 1. */
export interface TextProblem {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

export type YamlFile =
  | {
      readonly ok: true;
      readonly value: unknown;
      /** Keys that are there twice or are not text; the first of two counts. */
      readonly problems: readonly TextProblem[];
      /** The place of the value or the key at `path`, or of what is nearest above it when there is none. */
      readonly positionOf: (path: Path, at?: 'value' | 'key') => Pick<TextProblem, 'line' | 'column'>;
    }
  | { readonly ok: false; readonly problems: readonly TextProblem[] };

const MAX_BYTES = 1024 * 1024;
const MAX_DEPTH = 16;
/** With aliases expanded: what stops a small file from meaning a huge one. Enough for 4,000 clusters. */
const MAX_VALUES = 50_000;
/** One slip makes the parser stumble on, so later syntax errors are mostly echoes. */
const MAX_SYNTAX_PROBLEMS = 20;

/**
 * Reads one YAML 1.2 document with the place of every value. Never throws. Bounded in size, depth and, with aliases expanded,
 * in the number of values. A tag that the core schema does not know is a problem, not a guess.
 */
export function readYaml(text: string): YamlFile {
  if (Buffer.byteLength(text) > MAX_BYTES)
    return { ok: false, problems: [{ line: 1, column: 1, message: 'the file is larger than 1 MiB; split the fleet' }] };

  const lines = new LineCounter();
  const place = (offset: number): Pick<TextProblem, 'line' | 'column'> => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    // This reader looks for them itself: the parser compares every key with every other.
    uniqueKeys: false,
    resolveKnownTags: false,
    logLevel: 'error',
  });
  const complaints = [...document.errors, ...document.warnings];
  if (complaints.some(({ code }) => code === 'RESOURCE_EXHAUSTION')) return tooDeep(place(0));
  if (complaints.length > 0)
    return {
      ok: false,
      problems: complaints.slice(0, MAX_SYNTAX_PROBLEMS).map(({ code, message, pos }) => ({
        ...place(pos[0]),
        message:
          code === 'MULTIPLE_DOCS'
            ? 'a second YAML document starts here; one file holds one document, so remove this line'
            : `not valid YAML: ${printable(message, 200)}`,
      })),
    };

  const problems: TextProblem[] = [];
  const offsets = new Map<string, { readonly key?: number; readonly value: number }>();
  const anchors = new Map<string, ParsedNode>();
  let values = 0;
  let limit: YamlFile | undefined;

  /** `key`: where the key of the node is; `alias`: where the alias is through which the node is read. */
  const convert = (node: ParsedNode | null, path: Path, key?: number, alias?: number): unknown => {
    if (limit !== undefined || node === null) return null;
    const [start, end] = node.range;
    values += 1;
    if (path.length > MAX_DEPTH) limit = tooDeep(place(alias ?? start));
    if (values > MAX_VALUES)
      limit = {
        ok: false,
        problems: [
          { ...place(alias ?? start), message: `more than ${MAX_VALUES} values, aliases expanded; split the fleet` },
        ],
      };
    // People look for a list, a section or nothing at all where its key is.
    const atKey = key !== undefined && (isMap(node) || isSeq(node) || start === end);
    const id = JSON.stringify(path);
    if (!offsets.has(id)) offsets.set(id, { ...(key === undefined ? {} : { key }), value: atKey ? key : start });

    if (isAlias(node)) {
      const anchored = anchors.get(node.source);
      if (anchored !== undefined) return convert(anchored, path, key, alias ?? start);
      problems.push({ ...place(start), message: `no anchor &${printable(node.source, 60)} above this alias` });
      return null;
    }
    // An alias means the last anchor of its name above it in the file, whatever is expanded in between.
    if (node.anchor !== undefined && alias === undefined) anchors.set(node.anchor, node);
    if (isScalar(node)) return node.value;
    if (isSeq(node)) return node.items.map((item, index) => convert(item, [...path, index], undefined, alias));

    const entries = new Map<string, unknown>();
    for (const pair of node.items) {
      const name = isScalar(pair.key) ? pair.key.value : undefined;
      const [keyStart] = pair.key?.range ?? node.range;
      if (typeof name !== 'string')
        problems.push({ ...place(keyStart), message: 'a key that is not text; every key of this file is a word' });
      else if (entries.has(name))
        problems.push({
          ...place(keyStart),
          message: `key "${printable(name, 60)}" is there twice; keep one of the two`,
        });
      else entries.set(name, convert(pair.value, [...path, name], keyStart, alias));
    }
    return Object.fromEntries(entries);
  };

  const value = convert(document.contents, []);
  if (limit !== undefined) return limit;
  return {
    ok: true,
    value,
    problems,
    positionOf: (path, at = 'value') => {
      for (let length = path.length; length >= 0; length--) {
        const found = offsets.get(JSON.stringify(path.slice(0, length)));
        if (found !== undefined) return place(at === 'key' ? (found.key ?? found.value) : found.value);
      }
      return place(0);
    },
  };
}

function tooDeep(place: Pick<TextProblem, 'line' | 'column'>): YamlFile {
  return {
    ok: false,
    problems: [{ ...place, message: `nested more than ${MAX_DEPTH} levels deep; no part of this file needs that` }],
  };
}
