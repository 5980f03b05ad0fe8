import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';

const PROJECT = resolve(import.meta.dirname, '../..');

export interface CdkRun {
  /** Both streams, as they came. */
  readonly output: string;
  readonly code: number;
}

/**
 * Runs the AWS CDK CLI of the project as a person does, in the directory given.
 *
 * @param environment the only variables besides PATH and HOME
 */
export async function cdk(
  directory: string,
  environment: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<CdkRun> {
  const child = spawn(
    process.execPath,
    [join(PROJECT, 'node_modules/aws-cdk/bin/cdk'), ...args, '--no-notices', '--no-color'],
    {
      cwd: directory,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: `${join(PROJECT, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`,
        HOME: process.env['HOME'] ?? '/',
        CDK_DISABLE_CLI_TELEMETRY: 'true',
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        CDK_VALIDATION: process.env['CDK_VALIDATION'],
        ...environment,
      },
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const code = await new Promise<number>((done, reject) => {
    child.once('error', reject);
    child.once('close', (status) => done(status ?? -1));
  });
  return { output, code };
}

/** The same, and a failure is an error that ends with what the CLI said. */
export async function cdkOk(
  directory: string,
  environment: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<string> {
  const { output, code } = await cdk(directory, environment, ...args);
  if (code !== 0) throw new Error(`cdk ${args.join(' ')} ended with ${code}:\n${output.slice(-6000)}`);
  return output;
}
