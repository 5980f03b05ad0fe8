import { draw as drawn, type Lines, screenOf, table } from '../../bin/terminal/draw.ts';
import { bad, faint, good, strong, warn } from '../../bin/terminal/paint.ts';
import { wrap } from '../../bin/terminal/wrap.ts';

/** How one cluster stands at one moment. */
export interface Standing {
  readonly cluster: string;
  /** Nodes that serve with a certificate. */
  readonly served: number;
  readonly nodes: number;
  readonly note: string;
  readonly mood: Mood;
}

export type Mood = 'plain' | 'good' | 'warn' | 'bad';

const BAR = 24;
const INDENT = 19;
const SYMBOLS = { plain: '·', good: '✔', warn: '◌', bad: '✖' } as const;

/** Events scroll; on a terminal the standing of all clusters stays below them. */
export interface Screen {
  event(cluster: string, mood: Mood, text: string): void;
  standing(rows: readonly Standing[]): void;
  close(): void;
}

export function openScreen(stream: NodeJS.WriteStream, minutes: () => string): Screen {
  const paints = { plain: faint, good, warn, bad } as const;
  const shown = (lines: Lines) => drawn(lines, screenOf(stream, process.env));
  let board: string[] = [];
  let latest: readonly Standing[] = [];

  const erase = () => {
    if (board.length > 0) stream.write(`\u001b[${board.length}A\u001b[0J`);
    board = [];
  };
  const draw = () => {
    if (!stream.isTTY || latest.length === 0) return;
    board = ['', ...render(latest)];
    stream.write(`${board.join('\n')}\n`);
  };
  const render = (rows: readonly Standing[]): string[] =>
    // A line that the terminal breaks by itself could not be erased.
    shown(
      table(
        rows.map(({ cluster, served, nodes, note, mood }) => [
          strong(cluster),
          bar(served, nodes),
          nodes === 0 ? '' : `${served}/${nodes}`,
          `${paints[mood](SYMBOLS[mood])} ${note}`,
        ]),
      ),
    ).split('\n');

  return {
    event(cluster, mood, text) {
      erase();
      const symbol = mood === 'plain' ? ' ' : paints[mood](SYMBOLS[mood]);
      const width = Math.max(30, (screenOf(stream, process.env).width ?? 120) - INDENT - 1);
      const [first = '', ...rest] = text.split('\n').flatMap((paragraph) => wrap(paragraph, width));
      const paint = mood === 'bad' ? bad : (line: string) => line;
      const lines = [`  ${faint(minutes())}  ${cluster.padEnd(6)}  ${symbol} ${paint(first)}`];
      for (const line of rest) lines.push(`${' '.repeat(INDENT)}${paint(line)}`);
      stream.write(`${shown(lines)}\n`);
      draw();
    },
    standing(rows) {
      latest = rows;
      erase();
      draw();
    },
    close() {
      erase();
      if (latest.length > 0) stream.write(`\n${render(latest).join('\n')}\n`);
      latest = [];
    },
  };
}

/** Full only when nothing is missing. */
function bar(part: number, whole: number): string {
  const filled = whole === 0 ? 0 : Math.floor((part / whole) * BAR);
  return good('█'.repeat(filled)) + faint('░'.repeat(BAR - filled));
}
