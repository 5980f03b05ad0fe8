import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { terminalSvg } from './terminal-svg.ts';

const DEMO = fileURLToPath(new URL('../fleet/demo.ts', import.meta.url));

/**
 * Runs the demo on a terminal of 120 columns, in 25 seconds.
 *
 * @returns a picture of what the terminal shows at its end
 */
export async function demoPicture(): Promise<string> {
  const { NO_COLOR: _, ...env } = process.env;
  // script(1) of util-linux gives it a terminal.
  const command = `stty cols 120 rows 50 && exec "${process.execPath}" "${DEMO}"`;
  const { stdout } = await promisify(execFile)('script', ['-qec', command, '/dev/null'], {
    env: { ...env, TERM: 'xterm-256color' },
    maxBuffer: 2 ** 24,
  });
  return terminalSvg(settled(stdout), 'Terminal: the demo of certmarshal with three simulated clusters');
}

/** What is left of an output whose only movements are back over whole lines, which are then written again. */
export function settled(output: string): string {
  const lines: string[] = [''];
  // oxlint-disable-next-line eslint/no-control-regex -- cursor up and erase below, ECMA-48
  for (const part of output.replaceAll('\r', '').split(/(\n|\u001b\[\d+A\u001b\[0J)/)) {
    // oxlint-disable-next-line eslint/no-control-regex -- the same
    const up = /^\u001b\[(\d+)A/.exec(part)?.[1];
    if (up !== undefined) lines.splice(lines.length - 1 - Number(up), Number(up) + 1, '');
    else if (part === '\n') lines.push('');
    else lines.push((lines.pop() ?? '') + part);
  }
  return lines.join('\n').trimEnd();
}

/**
 * The lines of a demo without what differs between two runs: how long something took, dates, ports, and
 * which of two clusters was first.
 */
export function steady(lines: readonly string[]): readonly string[] {
  return lines
    .map((line) =>
      line
        .replace(/\b\d\d:\d\d\b/g, 'MM:SS')
        .replace(/in (?:\d+ ms|one sweep)/, 'in one sweep')
        .replace(/\b\d{4}-\d\d-\d\d\b/g, 'DATE')
        .replace(/127\.0\.0\.1:\d+/, 'SERVER')
        .replace(/ +/g, ' ')
        .trim(),
    )
    .filter((line) => line !== '')
    .toSorted();
}
