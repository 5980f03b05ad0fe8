import { stripVTControlCharacters } from 'node:util';

interface Style {
  readonly colour: string;
  readonly bold: boolean;
}

const PLAIN = '#c9d1d9';
const DIM = '#8b949e';
/** The colours of `bin/terminal/paint.ts` on a dark terminal, by their codes (ECMA-48, SGR). */
const COLOURS: Readonly<Record<string, string>> = { 31: '#ff7b72', 32: '#56d364', 33: '#d29922' };
/** A character of 14 px in each of the fonts, which `textLength` makes true. */
const CHARACTER = 8.4;
const LINE = 20;
const MARGIN = 20;

/**
 * A picture of what a terminal shows.
 *
 * @param shown lines with the colours of `bin/terminal/paint.ts`; other control sequences are dropped
 * @param label what it shows, for people who cannot see it
 */
export function terminalSvg(shown: string, label: string): string {
  const lines = shown.split('\n');
  const columns = Math.max(...lines.map((line) => Array.from(stripVTControlCharacters(line)).length));
  const width = Math.ceil(columns * CHARACTER + 2 * MARGIN);
  const height = lines.length * LINE + 2 * MARGIN;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="14" role="img" aria-label="${escaped(label)}">`,
    '<rect width="100%" height="100%" rx="10" fill="#0d1117"/>',
    ...textsOf(lines),
    '</svg>',
    '',
  ].join('\n');
}

/** The lines of a picture, without colours: the words of each, one space between them. */
export function textOf(svg: string): readonly string[] {
  const byHeight = Map.groupBy(
    svg.matchAll(/<text x="[^"]+" y="(?<y>\d+)"[^>]*>(?<text>[^<]*)</g),
    ({ groups }) => groups?.['y'],
  );
  return Array.from(byHeight.values(), (texts) =>
    unescaped(texts.map(({ groups }) => groups?.['text']).join(' ')).replace(/ +/g, ' '),
  );
}

function textsOf(lines: readonly string[]): readonly string[] {
  const texts: string[] = [];
  // As on a terminal, a colour that a line begins goes on in the next.
  let style: Style = { colour: PLAIN, bold: false };
  for (const [row, line] of lines.entries()) {
    let column = 0;
    // oxlint-disable-next-line eslint/no-control-regex -- the escape of SGR
    for (const part of line.split(/(\u001b\[[\d;]*m)/)) {
      if (part.startsWith('\u001b')) style = styled(style, part.slice(2, -1));
      // SVG shows several spaces as one.
      else
        for (const [run] of stripVTControlCharacters(part).matchAll(/ {2,}|(?: ?[^ ])+| /g)) {
          const words = run.trim();
          if (words !== '') texts.push(textAt(words, row, column + run.indexOf(words), style));
          column += Array.from(run).length;
        }
    }
  }
  return texts;
}

function textAt(words: string, row: number, column: number, { colour, bold }: Style): string {
  const x = (MARGIN + column * CHARACTER).toFixed(1);
  const length = (Array.from(words).length * CHARACTER).toFixed(1);
  const weight = bold ? ' font-weight="600"' : '';
  return `<text x="${x}" y="${MARGIN + row * LINE + 14}" fill="${colour}"${weight} textLength="${length}" lengthAdjust="spacingAndGlyphs">${escaped(words)}</text>`;
}

function styled(style: Style, codes: string): Style {
  return codes.split(';').reduce<Style>((now, code) => {
    if (code === '1') return { ...now, bold: true };
    if (code === '2') return { ...now, colour: DIM };
    // 22 ends bold and dim, 39 a colour.
    if (code === '22') return { colour: now.colour === DIM ? PLAIN : now.colour, bold: false };
    return { ...now, colour: COLOURS[code] ?? PLAIN };
  }, style);
}

const ENTITIES = [
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
] as const;

function escaped(text: string): string {
  return ENTITIES.reduce((done, [character, entity]) => done.replaceAll(character, entity), text);
}

function unescaped(text: string): string {
  return ENTITIES.reduceRight((done, [character, entity]) => done.replaceAll(entity, character), text);
}
