import { stripVTControlCharacters } from 'node:util';

/** Columns of a text, colours excluded. */
export function visibleWidth(text: string): number {
  return Array.from(stripVTControlCharacters(text)).length;
}

/** Breaks a text at spaces, and within a word only if the word alone is too long. Colours may span lines. */
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
  // An escape sequence must not be split; our coloured words are short.
  if (visibleWidth(word) <= width || word !== stripVTControlCharacters(word)) return [word];
  const characters = Array.from(word);
  return Array.from({ length: Math.ceil(characters.length / width) }, (_, index) =>
    characters.slice(index * width, (index + 1) * width).join(''),
  );
}
