import { type Document, isCollection, isScalar, visit, type YAMLError } from 'yaml';

/** A mistake in a YAML text. */
export interface YamlFault {
  /** Where it is, or where the quote or bracket opens that is not closed. */
  readonly offset: number;
  /** What is wrong and what to do, never quoting the text; undefined for a rare mistake. */
  readonly words: string | undefined;
}

const INDENT =
  'the indentation does not fit the lines above; start all keys of one section, and all "-" of one list, in one column';
const TAB = 'a tab indents this line; use spaces';
const COLON = 'this key has no colon and space after it; write, for example, "name: berlin"';
const COMMA = 'a comma is missing between two entries, or a bracket or brace is not closed; add it';

type Row = readonly [code: YAMLError['code'], message: RegExp, words: string];

/** What is not closed; the parser says so where it ends. */
const UNCLOSED: readonly Row[] = [
  ['BAD_INDENT', /end with a \]/, 'this "[" is not closed; add "]"'],
  ['BAD_INDENT', /end with a \}/, 'this "{" is not closed; add "}"'],
  ['MISSING_CHAR', /closing ["']/, 'this quote is not closed; add the second one'],
];

/** Other mistakes that people make. Source of codes and messages: the package yaml, src/compose/ and src/errors.ts. */
const FAULTS: readonly Row[] = [
  ['TAB_AS_INDENT', /./, TAB],
  ['BAD_INDENT', /./, INDENT],
  ['MISSING_CHAR', /^Sequence item/, INDENT],
  ['MISSING_CHAR', /^Implicit map keys/, COLON],
  ['MISSING_CHAR', /^Missing ,/, COMMA],
  ['MISSING_CHAR', /^Comments/, 'a space is missing before "#"; add it, or put the text in quotes'],
  ['MULTILINE_IMPLICIT_KEY', /./, COLON],
  ['BLOCK_AS_IMPLICIT_KEY', /sequence/, INDENT],
  ['BLOCK_IN_FLOW', /./, COMMA],
  ['BAD_SCALAR_START', /./, 'this value starts with a character that YAML reserves; put it in quotes'],
  ['BAD_ALIAS', /^Alias cannot/, 'a value that starts with "*" needs quotes'],
  ['BAD_DQ_ESCAPE', /./, 'an unknown escape in double quotes; write \\\\ for a backslash, or use single quotes'],
  ['UNEXPECTED_TOKEN', /^Unexpected flow-(?:seq|map)-end/, 'this bracket or brace was not opened; remove it'],
  [
    'UNEXPECTED_TOKEN',
    /scalar at node end/,
    'the value before this has ended; put the whole value in quotes, or indent this line like those above',
  ],
  ['RESOURCE_EXHAUSTION', /./, 'it is nested too deeply'],
];

/** Says a mistake that the parser found in `text`. */
export function yamlFault({ code, message, pos: [offset] }: YAMLError, document: Document, text: string): YamlFault {
  const before = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset);
  const line = /^.*/.exec(text.slice(offset))?.[0] ?? '';
  if (/^\s*$/.test(before) && /^ *\t/.test(before + line)) return { offset, words: TAB };
  if (code === 'BLOCK_AS_IMPLICIT_KEY' && message.startsWith('Nested'))
    return {
      offset,
      words: /:\s/.test(line)
        ? 'a value with ": " in it needs quotes'
        : 'the next line is indented deeper than the key of this one; start both in one column',
    };
  const wordsIn = (rows: readonly Row[]) => rows.find(([of, pattern]) => of === code && pattern.test(message))?.[2];
  const unclosed = wordsIn(UNCLOSED);
  return unclosed === undefined
    ? { offset, words: wordsIn(FAULTS) }
    : { offset: openedAt(document, offset) ?? offset, words: unclosed };
}

/** Where the innermost quote, bracket or brace opens that reaches to `end`. */
function openedAt(document: Document, end: number): number | undefined {
  let opened: number | undefined;
  visit(document, {
    Node(_, node) {
      const isOpened = isCollection(node) ? node.flow : isScalar(node) && node.type?.startsWith('QUOTE');
      if (isOpened && node.range?.[1] === end) opened = node.range[0];
    },
  });
  return opened;
}
