import { styleFor } from '../../bin/terminal/style.ts';
import { table } from '../../bin/terminal/table.ts';

/** How one cluster stands at one moment. */
export interface Standing {
  readonly cluster: string;
  /** Nodes that serve with a certificate. */
  readonly served: number;
  readonly nodes: number;
  readonly note: string;
  readonly mood: 'good' | 'warn' | 'bad';
}

const BAR = 24;
const SYMBOLS = { good: '✔', warn: '◌', bad: '✖' } as const;

/** Events scroll; on a terminal the standing of all clusters stays below them. */
export interface Screen {
  event(cluster: string, mood: Standing['mood'] | 'plain', text: string): void;
  standing(rows: readonly Standing[]): void;
  close(): void;
}

export function openScreen(stream: NodeJS.WriteStream, minutes: () => string): Screen {
  const style = styleFor(stream, process.env);
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
        style[mood](bar(served, nodes)),
        nodes === 0 ? '' : `${served}/${nodes}`,
        `${style[mood](SYMBOLS[mood])} ${note}`,
      ]),
    );

  return {
    event(cluster, mood, text) {
      erase();
      const symbol = mood === 'plain' ? ' ' : style[mood](SYMBOLS[mood]);
      stream.write(
        `  ${style.faint(minutes())}  ${cluster.padEnd(7)} ${symbol} ${mood === 'bad' ? style.bad(text) : text}\n`,
      );
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

function bar(part: number, whole: number): string {
  const filled = whole === 0 ? 0 : Math.round((part / whole) * BAR);
  return '█'.repeat(filled) + '░'.repeat(BAR - filled);
}
