import { stripVTControlCharacters } from 'node:util';
import type { Paint } from './paint.ts';
import { visibleWidth, wrap } from './wrap.ts';

/** Output for a person, independent of the terminal. Undefined and false print nothing. */
export type Lines =
  | string
  | Hanging
  | Table
  | { readonly block: Lines }
  | readonly Lines[]
  /** Called with the columns of the terminal; undefined if lines are not wrapped. */
  | ((width: number | undefined) => Lines)
  | undefined
  | false;

interface Hanging {
  readonly mark: string;
  readonly text: string;
  /** Applied to each line, mark included. */
  readonly paint: Paint;
}

interface Table {
  readonly rows: readonly (readonly string[])[];
  readonly stackBelow: number;
}

export interface Screen {
  /** Columns; undefined without a terminal. Then lines are not wrapped: programs read them. */
  readonly width?: number | undefined;
  readonly colours?: boolean;
}

/** The screen behind a stream. Colours only on a terminal, and not with `NO_COLOR` (no-color.org). */
export function screenOf(
  stream: { readonly isTTY?: boolean; readonly columns?: number },
  env: NodeJS.ProcessEnv,
): Screen {
  if (stream.isTTY !== true) return {};
  // A terminal of unknown size reports 0 columns.
  return { width: stream.columns || 80, colours: (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb' };
}

/** A text after a mark; further lines align with its first word. */
export function hang(mark: string, text: string, paint: Paint = (line) => line): Lines {
  return { mark, text, paint };
}

/**
 * Aligned columns, two spaces apart; the last column is wrapped.
 *
 * @param stackBelow on a terminal narrower than this, the last cell of a row gets its own lines
 */
export function table(rows: readonly (readonly string[])[], stackBelow = 0): Lines {
  return { rows, stackBelow };
}

/** A blank line and the lines; nothing if the lines are empty. */
export function block(...lines: readonly Lines[]): Lines {
  return { block: lines };
}

export function draw(lines: Lines, screen: Screen = {}): string {
  return linesOf(lines, screen).join('\n');
}

function linesOf(lines: Lines, screen: Screen): readonly string[] {
  const shown = (text: string) => (screen.colours === true ? text : stripVTControlCharacters(text));
  if (lines === undefined || lines === false) return [];
  if (typeof lines === 'string') return [shown(lines)];
  if (typeof lines === 'function') return linesOf(lines(screen.width), screen);
  if ('rows' in lines)
    return tabulated(
      lines.rows.map((row) => row.map(shown)),
      lines.stackBelow,
      screen.width,
    );
  if ('block' in lines) {
    const inside = linesOf(lines.block, screen);
    return inside.length === 0 ? [] : ['', ...inside];
  }
  if ('mark' in lines)
    return hung(shown(lines.mark), shown(lines.text), screen.width).map((line) => shown(lines.paint(line)));
  return lines.flatMap((each) => linesOf(each, screen));
}

function hung(mark: string, text: string, width: number | undefined): string[] {
  if (width === undefined) return [mark + text];
  const indent = visibleWidth(mark);
  return wrap(text, Math.max(20, width - indent)).map(
    (line, index) => (index === 0 ? mark : ' '.repeat(indent)) + line,
  );
}

const INDENT = '  ';
// A narrower last column is unreadable.
const NARROWEST = 24;

function tabulated(rows: readonly (readonly string[])[], stackBelow: number, width: number | undefined): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.slice(0, -1).forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, visibleWidth(cell));
    });
  }
  const before = widths.reduce((sum, next) => sum + next + 2, INDENT.length);
  const stacked = width !== undefined && (width < stackBelow || width - before < NARROWEST);
  return rows.flatMap((row) => {
    const start = row
      .slice(0, -1)
      .map((cell, column) => `${cell}${' '.repeat((widths[column] ?? 0) - visibleWidth(cell))}  `)
      .join('');
    const last = row.at(-1) ?? '';
    if (width === undefined) return [(INDENT + start + last).trimEnd()];
    const indent = stacked ? INDENT.repeat(2) : ' '.repeat(before);
    const lines =
      last === '' ? [] : wrap(last, Math.max(NARROWEST, width - indent.length)).map((line) => indent + line);
    if (stacked || lines.length === 0) return [(INDENT + start).trimEnd(), ...lines];
    return [(INDENT + start + (lines[0] ?? '').slice(indent.length)).trimEnd(), ...lines.slice(1)];
  });
}
