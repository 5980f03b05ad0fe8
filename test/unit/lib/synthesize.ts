import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const PROJECT = resolve(import.meta.dirname, '../../..');
const run = promisify(execFile);

/** What `npm run synth` makes, in a temporary directory. */
export interface Synthesized extends AsyncDisposable {
  /** Paths of the bundles that would be deployed. */
  readonly bundles: Readonly<Record<'plan' | 'sweep' | 'report' | 'notify', string>>;
  /** The same for the webhook, where the fleet has it. */
  readonly webhookBundle?: string;
}

interface Template {
  readonly Resources: Readonly<
    Record<string, { readonly Type: string; readonly Metadata?: Readonly<Record<string, unknown>> }>
  >;
}

/**
 * Runs `cdk synth` as the npm script does: cdk.json, bin/app.ts, esbuild, cdk-nag.
 *
 * @param fleet text of the fleet.yaml
 */
export async function synthesize(fleet: string): Promise<Synthesized> {
  const directory = await mkdtemp(join(tmpdir(), 'certmarshal-synth-'));
  const dispose = async () => rm(directory, { recursive: true, force: true });
  try {
    const file = join(directory, 'fleet.yaml');
    const output = join(directory, 'cdk.out');
    await writeFile(file, fleet);
    const cdk = join(PROJECT, 'node_modules/aws-cdk/bin/cdk');
    const options = ['--quiet', '--no-notices', '--no-lookups', '--context', `fleet=${file}`, '--output', output];
    await run(process.execPath, [cdk, 'synth', ...options], { cwd: PROJECT });
    const template: Template = JSON.parse(await readFile(join(output, 'CertMarshal.template.json'), 'utf8'));
    const bundle = (name: string): string | undefined => {
      const found = Object.values(template.Resources).find(
        ({ Type, Metadata }) =>
          Type === 'AWS::Lambda::Function' && String(Metadata?.['aws:cdk:path']).includes(`/${name}/Resource`),
      );
      const path = found?.Metadata?.['aws:asset:path'];
      return typeof path === 'string' ? join(output, path, 'index.mjs') : undefined;
    };
    const [plan = '', sweep = '', report = '', notify = ''] = ['Plan', 'Sweep', 'Report', 'Notify'].map(bundle);
    const webhookBundle = bundle('Webhook');
    return { bundles: { plan, sweep, report, notify }, webhookBundle, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}
