import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const PROGRAM = join(resolve(import.meta.dirname, '../..'), 'bin/certmarshal.ts');

/**
 * Runs the command line as a person with access to the account does.
 *
 * @param environment the only variables besides PATH and HOME
 * @returns what it wrote to its standard output
 * @throws Error with both streams when it does not end with 0
 */
export async function certmarshal(
  environment: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<string> {
  const env = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '/', ...environment };
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...args], { env });
  return stdout;
}
