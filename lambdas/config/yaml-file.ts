import { type Document, LineCounter, parseDocument, type YAMLError } from 'yaml';
import { printable } from '../printable.ts';
import { yamlFault } from '../yaml-fault.ts';
import { type Path, type Remark, readValues, TOO_DEEP } from './yaml-values.ts';

/** Lines and columns count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface TextProblem extends Position {
  readonly message: string;
}

export type YamlFile =
  | {
      readonly ok: true;
      readonly value: unknown;
      /** Problems that leave the rest readable. */
      readonly problems: readonly TextProblem[];
      /** The position of the value or the key at `path`, or of its nearest existing parent. */
      readonly positionOf: (path: Path, at?: 'value' | 'key') => Position;
    }
  | { readonly ok: false; readonly problems: readonly TextProblem[] };

const MAX_BYTES = 1024 * 1024;
/** One error confuses the parser, so later syntax errors are mostly echoes. */
const MAX_SYNTAX_PROBLEMS = 20;

/**
 * Reads one YAML 1.2 document with the position of every value. Never throws. Bounded in size, depth and, with aliases
 * expanded, in the number of values. A tag outside the core schema is a problem, not a guess.
 */
export function readYaml(text: string): YamlFile {
  const lines = new LineCounter();
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const problem = ({ offset, message }: Remark): TextProblem => ({ ...positionAt(offset), message });
  const unreadable = (...remarks: readonly Remark[]): YamlFile => ({ ok: false, problems: remarks.map(problem) });

  if (Buffer.byteLength(text) > MAX_BYTES)
    return unreadable({ offset: 0, message: 'the file is larger than 1 MiB; split it into two deployments' });
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    // readValues finds duplicates: the parser compares every key with every other.
    uniqueKeys: false,
    resolveKnownTags: false,
    // `silent` would hide a second document.
    logLevel: 'error',
  });
  const complaints = [...document.errors, ...document.warnings];
  if (complaints.some(({ code }) => code === 'RESOURCE_EXHAUSTION'))
    return unreadable({ offset: 0, message: TOO_DEEP });
  if (complaints.length > 0) {
    const remarks = complaints.slice(0, MAX_SYNTAX_PROBLEMS).map((complaint) => remarkOf(complaint, document, text));
    const lineOf = ({ offset }: Remark) => positionAt(offset).line;
    // Of a line, the others are echoes.
    return unreadable(
      ...remarks.filter((remark, index) => remarks.findIndex((one) => lineOf(one) === lineOf(remark)) === index),
    );
  }

  const { value, placeOf, remarks, limit } = readValues(document.contents);
  if (limit !== undefined) return unreadable(limit);
  return {
    ok: true,
    value,
    problems: remarks.map(problem),
    positionOf: (path, at = 'value') => {
      for (let length = path.length; length >= 0; length--) {
        const place = placeOf(path.slice(0, length));
        if (place !== undefined) return positionAt(at === 'key' ? (place.key ?? place.value) : place.value);
      }
      return positionAt(0);
    },
  };
}

function remarkOf(error: YAMLError, document: Document, text: string): Remark {
  if (error.code === 'MULTIPLE_DOCS')
    return {
      offset: error.pos[0],
      message: 'a second YAML document starts here; one file holds one document, so remove this line',
    };
  const { offset, words = `not valid YAML: ${printable(error.message, 200)}` } = yamlFault(error, document, text);
  return { offset, message: words };
}
