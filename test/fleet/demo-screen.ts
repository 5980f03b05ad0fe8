import { type Style, styleFor } from '../../bin/terminal/style.ts';
import { table } from '../../bin/terminal/table.ts';
import { terminalWidth, wrap } from '../../bin/terminal/wrap.ts';

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
  const style = styleFor(stream, process.env);
  const paints = { plain: style.faint, good: style.good, warn: style.warn, bad: style.bad } as const;
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
    table(
      rows.map(({ cluster, served, nodes, note, mood }) => [
        style.strong(cluster),
        bar(served, nodes, style),
        nodes === 0 ? '' : `${served}/${nodes}`,
        `${paints[mood](SYMBOLS[mood])} ${note}`,
      ]),
      // A line that the terminal breaks by itself could not be erased.
      { width: terminalWidth(stream) },
    );

  return {
    event(cluster, mood, text) {
      erase();
      const symbol = mood === 'plain' ? ' ' : paints[mood](SYMBOLS[mood]);
      const width = Math.max(30, (terminalWidth(stream) ?? 120) - INDENT - 1);
      const [first = '', ...rest] = text.split('\n').flatMap((paragraph) => wrap(paragraph, width));
      const paint = mood === 'bad' ? style.bad : (line: string) => line;
      stream.write(`  ${style.faint(minutes())}  ${cluster.padEnd(6)}  ${symbol} ${paint(first)}\n`);
      for (const line of rest) stream.write(`${' '.repeat(INDENT)}${paint(line)}\n`);
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
function bar(part: number, whole: number, style: Style): string {
  const filled = whole === 0 ? 0 : Math.floor((part / whole) * BAR);
  return style.good('█'.repeat(filled)) + style.faint('░'.repeat(BAR - filled));
}
