import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';

const ENTRY = fileURLToPath(new URL('../../../bin/certmarshal.ts', import.meta.url));

export interface CliResult {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command line from the source in a process of its own, without a terminal. */
export function runCli(args: readonly string[], input = '', env: NodeJS.ProcessEnv = {}): Promise<CliResult> {
  return run(process.execPath, [ENTRY, ...args], input, env);
}

/** The same, while it runs. */
export function startCli(args: readonly string[]): {
  readonly child: ChildProcess;
  readonly result: Promise<CliResult>;
} {
  return start(process.execPath, [ENTRY, ...args], '', {});
}

/** What the command line does with arguments that it refuses: exit status 2, the reason on standard error and nothing on standard output. */
export function refusal(reason: string | RegExp) {
  const stderr: unknown = typeof reason === 'string' ? expect.stringContaining(reason) : expect.stringMatching(reason);
  return { status: 2, stdout: '', stderr };
}

/** Runs a line of a shell in which `certmarshal` is the command line from the source. */
export function runShell(line: string, input = ''): Promise<CliResult> {
  const command = `certmarshal() { "$PROGRAM_NODE" "$PROGRAM_ENTRY" "$@"; }\n${line}`;
  return run('bash', ['--norc', '-c', command], input, { PROGRAM_NODE: process.execPath, PROGRAM_ENTRY: ENTRY });
}

function run(file: string, args: readonly string[], input: string, env: NodeJS.ProcessEnv): Promise<CliResult> {
  return start(file, args, input, env).result;
}

function start(file: string, args: readonly string[], input: string, env: NodeJS.ProcessEnv) {
  // The npm script that runs the tests does not start the program.
  const child = spawn(file, args, { env: { ...process.env, npm_lifecycle_event: '', ...env } });
  const result = new Promise<CliResult>((resolve, reject) => {
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.on('error', reject);
    child.on('close', (status) => resolve({ status, stdout, stderr }));
    // A program that refuses its arguments does not read.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
  return { child, result };
}
