import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runApp } from '../unit/lib/run-app.ts';
import { stacksOf, templateFile } from './assembly.ts';
import { tool } from './tool.ts';
import { pythonTool } from './venv.ts';

const CFN_LINT = { name: 'cfn-lint', version: '1.58.0' } as const;
const PROJECT = resolve(import.meta.dirname, '../..');
const FLEETS = ['fleet.yaml', ...(await readdir(join(PROJECT, 'examples'))).map((file) => `examples/${file}`)];

/** The CDK writes dependencies that a reference implies already; CloudFormation does not mind. */
const SUPPRESSED = ['W3005'];

interface Finding {
  readonly Rule: { readonly Id: string };
  readonly Message: string;
  readonly Filename: string;
}

const { path: bin, missing } = await tool('cfn-lint over the templates', () => pythonTool(CFN_LINT));

describe('the full templates', () => {
  let directory: string;
  const synthesized = new Map<string, Awaited<ReturnType<typeof runApp>>>();
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'certmarshal-templates-'));
    for (const file of FLEETS) synthesized.set(file, await runApp(file, join(directory, file)));
  });
  afterAll(async () => rm(directory, { recursive: true, force: true }));

  it.each(FLEETS)('of %s are synthesized, with nothing that cdk-nag finds', (file) => {
    expect(synthesized.get(file)).toMatchObject({ status: 0, stderr: expect.stringContaining(`${file}: `) });
  });

  it('come with what the fleet is, in one line', () => {
    expect(synthesized.get('fleet.yaml')?.stderr.trim().split('\n').at(-1)).toMatch(
      /^fleet\.yaml: 0 clusters named; EKS discovery in 1 account, 1 Region; 1 lane; 0 spokes; policies: default \(observe on eks, observe on eks-anywhere\)\./,
    );
  });

  it.skipIf(missing).each(FLEETS)('of %s have no finding of cfn-lint', async (file) => {
    const assembly = join(directory, file);
    const templates = (await stacksOf(assembly)).map(({ name }) => templateFile(assembly, name));
    expect(templates.length).toBeGreaterThan(0);
    expect(await lint(templates)).toEqual([]);
  });

  it.skipIf(missing)('would show one', async () => {
    const template = join(import.meta.dirname, 'unknown-property.template.json');
    expect(await lint([template])).toEqual([expect.stringContaining('E3002')]);
  });
});

async function lint(templates: readonly string[]): Promise<readonly string[]> {
  const ignored = SUPPRESSED.flatMap((rule) => ['--ignore-checks', rule]);
  const call = promisify(execFile)(join(bin, 'cfn-lint'), [...ignored, '--format', 'json', '--', ...templates], {
    maxBuffer: 16 * 1024 * 1024,
  });
  // Findings are its exit code; the list is on stdout all the same.
  const { stdout } = await call.catch((error: { readonly stdout: string }) => error);
  const findings: readonly Finding[] = JSON.parse(stdout);
  return findings.map(({ Rule, Message, Filename }) => `${Filename.split('/').at(-1)}: ${Rule.Id} ${Message}`);
}
