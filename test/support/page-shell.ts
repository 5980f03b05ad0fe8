import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A block of shell commands of a page. */
export interface ShellBlock {
  /** The heading that it is under. */
  readonly heading: string;
  readonly text: string;
}

/** @param page path from the root of the project */
export function shellBlocks(page: string): readonly ShellBlock[] {
  const [, ...sections] = `\n${readFileSync(join(ROOT, page), 'utf8')}`.split(/\n#+ /);
  return sections.flatMap((section) =>
    [...section.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, text = '']) => ({
      heading: section.slice(0, section.indexOf('\n')),
      text,
    })),
  );
}

/** A program and its arguments, after bash has read them. */
export type Command = readonly [string, ...string[]];

export interface Recorded {
  readonly commands: readonly Command[];
  /** Lines of bash about a variable that is not set, a program that is not there, or what it cannot read. */
  readonly problems: readonly string[];
}

/** Programs that are not run but recorded. */
const RECORDED = ['aws', 'certmarshal', 'kubectl', 'npx'];
/** What stands for the answer of each: long enough for an ARN, and with the word that a loop looks for. */
const ANSWER = 'a-VersionId-or-any-other-answer';
const PROBLEM = /unbound variable|syntax error|unexpected|command not found/;

/** Lets bash read blocks, in one shell, and notes which programs it would have run. */
export function recordCommands(blocks: readonly ShellBlock[]): Recorded {
  const directory = mkdtempSync(join(tmpdir(), 'certmarshal-page-'));
  try {
    const [log, bin] = [join(directory, 'log'), join(directory, 'bin')];
    mkdirSync(bin);
    const program = (name: string, lines: string): void => {
      writeFileSync(join(bin, name), `#!/bin/bash\n${lines}\n`);
      chmodSync(join(bin, name), 0o755);
    };
    // One write each, because some are run side by side.
    for (const name of RECORDED)
      program(name, `record=$(printf '%s\\x1f' ${name} "$@"); printf '%s\\x1e' "$record" >> '${log}'; echo ${ANSWER}`);
    // What takes time, or makes files: once is enough.
    for (const [name, lines] of Object.entries({ sleep: '', zip: '', openssl: ': > "${!#}"', seq: 'echo 1' }))
      program(name, lines);
    writeFileSync(log, '');
    // The list that the page about taking certmarshal away begins with.
    const stays = 'AWS::S3::Bucket certmarshal-journal\nAWS::Logs::LogGroup CertMarshal-Logs\n';
    const script = blocks.map(({ text }) => `printf '%s' '${stays}' > certmarshal-stays.txt\n${text}`).join('\n');
    const { stderr } = spawnSync('bash', ['--norc', '-u', '-c', script], {
      stdio: ['ignore', 'ignore', 'pipe'],
      cwd: directory,
      encoding: 'utf8',
      env: { PATH: `${bin}:${process.env['PATH'] ?? ''}`, HOME: directory },
    });
    const commands = readFileSync(log, 'utf8')
      .split('\x1e')
      .filter((record) => record !== '')
      .map((record) => record.split('\x1f').slice(0, -1))
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each begins with the name of its program
      .map((words) => words as unknown as Command);
    return { commands, problems: stderr.split('\n').filter((line) => PROBLEM.test(line)) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
