import { visibleWidth, wrap } from './wrap.ts';

export interface TableOptions {
  /** Columns of the terminal: the last cell of a row is wrapped to them. Undefined wraps nothing. */
  readonly width?: number | undefined;
  /** On a terminal narrower than this the last cell of a row gets lines of its own. */
  readonly stackBelow?: number;
}

const INDENT = '  ';
// A last column narrower than this is a ribbon nobody can read.
const NARROWEST = 24;

/** Lines of a table with aligned columns, two spaces apart; the last column is not padded. */
export function table(rows: readonly (readonly string[])[], { width, stackBelow = 0 }: TableOptions = {}): string[] {
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
