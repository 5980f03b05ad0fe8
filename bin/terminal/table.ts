import { stripVTControlCharacters } from 'node:util';

/** Lines of a table with aligned columns, two spaces apart; the last column is not padded. */
export function table(rows: readonly (readonly string[])[], indent = '  '): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, width(cell));
    });
  }
  return rows.map((row) => {
    const cells = row.map((cell, column) =>
      column === row.length - 1 ? cell : cell + ' '.repeat((widths[column] ?? 0) - width(cell)),
    );
    return (indent + cells.join('  ')).trimEnd();
  });
}

function width(cell: string): number {
  return Array.from(stripVTControlCharacters(cell)).length;
}
