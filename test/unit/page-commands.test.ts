import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubeconfigYaml } from '../control-plane/kubeconfig.ts';
import { type SimulatedApiServer, startSimulatedApiServer } from '../fleet/api-server.ts';
import { fastClock } from '../fleet/clock.ts';
import { recordCommands, shellBlocks } from '../support/page-shell.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PAGES = ['docs/uninstall.md', 'docs/field-test.md', 'docs/forty-clusters.md'];
const recorded = new Map(PAGES.map((page) => [page, recordCommands(shellBlocks(page))]));
/** Those of certmarshal, once each. */
const ours = new Set(
  [...recorded.values()]
    .flatMap(({ commands }) => commands)
    .flatMap(([program, ...words]) => (program === 'certmarshal' ? [words.join(' ')] : [])),
);

describe('the commands of pages that are blocks to paste', () => {
  it.each(PAGES)('of %s are read by bash to the last line, and every variable is set', (page) => {
    const { commands = [], problems } = recorded.get(page) ?? {};
    expect(problems).toEqual([]);
    const [last = '?'] =
      shellBlocks(page)
        .at(-1)
        ?.text.match(/\b(?:aws|certmarshal) \S+ \S+(?=[^\n]*\n[^]{0,10}$)/) ?? [];
    expect(commands.at(-1)?.join(' ')).toContain(last);
  });

  it('of the next day of docs/field-test.md need no variable of the day before', () => {
    const nextDay = shellBlocks('docs/field-test.md').filter(({ heading }) => heading.startsWith('The bill'));
    expect(nextDay).toHaveLength(1);
    expect(recordCommands(nextDay).problems).toEqual([]);
  });

  it('of docs/uninstall.md destroy the stack of the Region that is named, and look whether it is gone', () => {
    const [destroy, look] = shellBlocks('docs/uninstall.md').filter(({ heading }) => heading === '2. The hub');
    expect(destroy?.text).toContain('\nAWS_REGION="$REGION" npx cdk destroy CertMarshal\n');
    expect(look?.text).toMatch(/^aws cloudformation describe-stacks --stack-name CertMarshal --region "\$REGION" /);
  });

  describe('of certmarshal, tried on a cluster, and on an AWS that does not answer', () => {
    let directory: string;
    let server: SimulatedApiServer;
    const results = new Map<string, { readonly status: number; readonly said: string }>();
    beforeAll(async () => {
      directory = mkdtempSync(join(tmpdir(), 'certmarshal-commands-'));
      server = await startSimulatedApiServer({ clock: fastClock(Date.now(), 1), name: 'dublin' });
      const kubeconfig = kubeconfigYaml(server.server, server.caPem, 'admin', { token: server.adminToken });
      for (const name of ['berlin', 'dublin', 'forty', 'management'])
        writeFileSync(join(directory, `${name}.yaml`), kubeconfig);
      cpSync(join(ROOT, 'fleet.yaml'), join(directory, 'fleet.yaml'));
      await Promise.all([...ours].map(async (line) => results.set(line, await run(line.split(' ')))));
    });
    afterAll(async () => {
      await server.stop();
      rmSync(directory, { recursive: true, force: true });
    });

    const run = (words: readonly string[]) =>
      new Promise<{ readonly status: number; readonly said: string }>((done) => {
        const env = {
          PATH: process.env['PATH'] ?? '',
          HOME: directory,
          AWS_ENDPOINT_URL: 'http://127.0.0.1:1',
          AWS_REGION: 'eu-central-1',
          AWS_ACCESS_KEY_ID: 'none',
          AWS_SECRET_ACCESS_KEY: 'none',
          AWS_MAX_ATTEMPTS: '1',
        };
        const program = [join(ROOT, 'bin/certmarshal.ts'), ...words];
        const child = execFile(process.execPath, program, { cwd: directory, env }, (_, stdout, stderr) =>
          done({ status: child.exitCode ?? -1, said: stdout + stderr }),
        );
        // What repeats until Ctrl-C is ended after its first minute.
        if (words.includes('--every')) child.stdout?.once('data', () => child.kill('SIGINT'));
      });

    it.each([...ours])('%s', (line) => {
      const { status, said } = results.get(line) ?? {};
      // No wrong usage, and no error that nobody caught.
      expect({ line, status, said }).toEqual({
        line,
        status: expect.toBeOneOf([0, 1]),
        said: expect.not.stringMatching(/^ {4}at /m),
      });
    });
  });
});
