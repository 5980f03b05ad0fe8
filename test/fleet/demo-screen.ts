import { type Style, styleFor } from '../../bin/terminal/style.ts';
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
const INDENT = 19;
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
        bar(served, nodes, style),
        nodes === 0 ? '' : `${served}/${nodes}`,
        `${style[mood](SYMBOLS[mood])} ${note}`,
      ]),
    );

  return {
    event(cluster, mood, text) {
      erase();
      const symbol = mood === 'plain' ? ' ' : style[mood](SYMBOLS[mood]);
      const [first = '', ...rest] = wrap(text, Math.max(40, (stream.columns || 120) - INDENT - 1));
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

function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap((paragraph) => {
    const lines = [''];
    for (const word of paragraph.split(' ')) {
      const last = lines.at(-1) ?? '';
      if (last === '') lines[lines.length - 1] = word;
      else if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
      else lines.push(word);
    }
    return lines;
  });
}
