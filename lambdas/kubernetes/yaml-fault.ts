import type { ErrorCode, LineCounter, YAMLError } from 'yaml';

/** Common mistakes; others get a general text. */
const WORDS: Readonly<Partial<Record<ErrorCode, string>>> = {
  BAD_DQ_ESCAPE: 'double quotes hold an escape that YAML does not know',
  BAD_INDENT: 'the indentation does not fit the lines around it, or a bracket or brace above is not closed',
  BAD_SCALAR_START: 'a value starts with a character that YAML reserves and needs quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a line has more than one "key: value"',
  BLOCK_IN_FLOW: 'a bracket or brace above is not closed',
  MISSING_CHAR: 'a quote, bracket, brace, colon or comma is missing',
  MULTILINE_IMPLICIT_KEY: 'a key runs over several lines; a colon is missing or a quote is not closed',
  RESOURCE_EXHAUSTION: 'it is nested too deeply',
  TAB_AS_INDENT: 'a tab indents it where YAML takes spaces only',
};

/** The mistake and its line. Never the parser's own message, which may quote a token. */
export function describeYamlFault({ code, pos: [offset] }: YAMLError, lines: LineCounter): string {
  return `line ${Math.max(1, lines.linePos(offset).line)}: ${WORDS[code] ?? 'something is where YAML does not expect it'}`;
}
