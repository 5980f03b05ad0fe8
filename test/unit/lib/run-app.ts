import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { CDK_CONTEXT } from './cdk-context.ts';

const PROJECT = resolve(import.meta.dirname, '../../..');

/** Runs bin/app.ts as the CDK CLI does, without bundling. @param outdir where the cloud assembly is written */
export async function runApp(fleet: string, outdir: string): Promise<{ status: number | null; stderr: string }> {
  const child = spawn(process.execPath, ['bin/app.ts'], {
    cwd: PROJECT,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      CDK_VALIDATION: process.env['CDK_VALIDATION'],
      CDK_OUTDIR: outdir,
      CDK_CONTEXT_JSON: JSON.stringify({ ...CDK_CONTEXT, fleet, 'aws:cdk:bundling-stacks': [] }),
    },
  });
  const status = new Promise<number | null>((done) => child.once('exit', done));
  return { stderr: await text(child.stderr), status: await status };
}
