import { hang, type Lines, table } from './draw.ts';
import { faint, strong } from './paint.ts';
import { visibleWidth } from './wrap.ts';

/** A page of Markdown for a terminal. Paragraphs, items and tables are wrapped; code is not, so that it can be pasted. */
export function markdownLines(page: string): Lines {
  return blocksOf(page.trimEnd()).map((block) => {
    if ('rows' in block) return tableLines(block.rows);
    if ('words' in block) return hang(block.mark, shown(block.words), isHeading(block) ? strong : undefined);
    return block.line.startsWith(FENCE) ? faint(block.line) : block.line;
  });
}

/** A line that stays as it is, text after a mark, which may be empty, or the rows of a table. */
type Block =
  | { readonly line: string }
  | { readonly mark: string; readonly words: string }
  | { readonly rows: readonly (readonly string[])[] };

const FENCE = '```';
const MARKED = /^(?<mark> *(?:-|\d+\.|#+) )?(?<words>.*)$/;
const BETWEEN_HEAD_AND_ROWS = /^[|: -]+$/;
/** A last column that is narrower is hard to read. */
const NARROW = 30;

function blocksOf(page: string): readonly Block[] {
  const blocks: Block[] = [];
  let isInFence = false;
  for (const line of page.split('\n')) {
    const before = blocks.at(-1) ?? { line: '' };
    const continues = 'words' in before && !isHeading(before);
    const { mark = '', words = '' } = MARKED.exec(line)?.groups ?? {};
    const isFence = line.startsWith(FENCE);
    if (isFence || isInFence || line === '' || (!continues && line.startsWith('    '))) blocks.push({ line });
    else if (line.startsWith('|')) {
      if (!('rows' in before)) blocks.push({ rows: [cellsOf(line)] });
      else if (!BETWEEN_HEAD_AND_ROWS.test(line)) blocks.splice(-1, 1, { rows: [...before.rows, cellsOf(line)] });
    } else if (mark === '' && continues)
      blocks.splice(-1, 1, { ...before, words: `${before.words} ${words.trimStart()}` });
    else blocks.push({ mark, words: words.trimStart() });
    if (isFence) isInFence = !isInFence;
  }
  return blocks;
}

function isHeading({ mark }: { readonly mark: string }): boolean {
  return mark.startsWith('#');
}

function cellsOf(row: string): readonly string[] {
  return row.replace(/^\| *| *\|$/g, '').split(/ *\| */);
}

/** Where the other columns leave too little for the last one, they share it; on a narrow terminal, below the first one. */
function tableLines([head = [], ...others]: readonly (readonly string[])[]): Lines {
  const rows = [head.map((cell) => faint(shown(cell))), ...others.map((row) => row.map(shown))];
  const pairs = rows.map(([first = '', ...rest]) => [first, rest.join(' · ')] as const);
  return (width = Infinity) => {
    const fits = [rows, pairs].find((columns) => widthBeforeLast(columns) + NARROW <= width);
    return fits === undefined ? pairs.map(([first, rest]) => [hang('  ', first), hang('    ', rest)]) : table(fits);
  };
}

function widthBeforeLast(rows: readonly (readonly string[])[]): number {
  const columns = rows[0]?.slice(0, -1) ?? [];
  return columns.reduce((sum, _, at) => sum + 2 + Math.max(...rows.map((row) => visibleWidth(row[at] ?? ''))), 2);
}

/** Bold as the terminal has it, and links with their addresses. */
function shown(text: string): string {
  return text.replaceAll(
    /(?<code>`[^`]+`)|\*\*(?<bold>.+?)\*\*|\[(?<label>[^\]]+)\]\((?<url>https:[^)]+)\)/g,
    (all: string, code?: string, bold?: string, label?: string, url?: string) => {
      if (code !== undefined) return all;
      return bold === undefined ? `${label} (${url})` : strong(bold);
    },
  );
}
