import { stripVTControlCharacters } from 'node:util';

/** Columns of a terminal; undefined where nobody looks, and then nothing is wrapped: programs read lines. */
export function terminalWidth(stream: { readonly isTTY?: boolean; readonly columns?: number }): number | undefined {
  // A terminal that does not tell its size says 0.
  return stream.isTTY === true ? stream.columns || 80 : undefined;
}

/** Columns that a text takes; colours take none. */
export function visibleWidth(text: string): number {
  return Array.from(stripVTControlCharacters(text)).length;
}

/** Breaks a text at its spaces, and inside a word only where the word alone is too long. Colours may span lines. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').flatMap((whole) => pieces(whole, width))) {
    if (line === '') line = word;
    else if (visibleWidth(line) + 1 + visibleWidth(word) <= width) line += ` ${word}`;
    else {
      lines.push(line.trimEnd());
      line = word;
    }
  }
  return [...lines, line.trimEnd()];
}

function pieces(word: string, width: number): string[] {
  // A colour must not be cut in two; a coloured word of ours is short.
  if (visibleWidth(word) <= width || word !== stripVTControlCharacters(word)) return [word];
  const characters = Array.from(word);
  return Array.from({ length: Math.ceil(characters.length / width) }, (_, index) =>
    characters.slice(index * width, (index + 1) * width).join(''),
  );
}

/** A text behind a mark; without a width in one line, else with its further lines under its first word. */
export function hang(mark: string, text: string, width: number | undefined): string[] {
  if (width === undefined) return [mark + text];
  const indent = visibleWidth(mark);
  return wrap(text, Math.max(20, width - indent)).map(
    (line, index) => (index === 0 ? mark : ' '.repeat(indent)) + line,
  );
}
