import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { skip } from '../control-plane/real.ts';
import { demoPicture, steady } from '../pictures/demo.ts';
import { textOf } from '../pictures/terminal-svg.ts';

// Debian has it in bsdutils, which is always there.
const missing = spawnSync('script', ['--version']).status !== 0;
if (missing) skip('the picture of the demo', 'there is no "script" on the PATH; install util-linux');

describe.skipIf(missing)('docs/images/demo.svg', () => {
  // Its sweeps come at set times: a machine that stands still for half a minute of the demo, 2 seconds, sees other lines.
  it('is what the demo prints; npm run pictures makes it anew', { retry: 2 }, async () => {
    const image = readFileSync(new URL('../../docs/images/demo.svg', import.meta.url), 'utf8');
    expect(steady(textOf(await demoPicture()))).toEqual(steady(textOf(image)));
  });
});

describe('npm run demo -- --keep', () => {
  const DEMO = fileURLToPath(new URL('demo.ts', import.meta.url));
  const PROGRAM = fileURLToPath(new URL('../../bin/certmarshal.ts', import.meta.url));
  const run = (args: readonly string[], kubeconfig: string) =>
    spawnSync(process.execPath, [PROGRAM, ...args], {
      encoding: 'utf8',
      env: { ...process.env, KUBECONFIG: kubeconfig },
    });

  it('prints a kubeconfig whose clusters answer until Ctrl-C', { retry: 2 }, async () => {
    const demo = spawn(process.execPath, [DEMO, '--keep'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(demo, 'exit');
    try {
      let kubeconfig = '';
      const commands: string[][] = [];
      const lines = createInterface(demo.stdout)[Symbol.asyncIterator]();
      for (;;) {
        const { value: line = 'kubectl' } = await lines.next();
        kubeconfig ||= /export KUBECONFIG=(\S+)/.exec(line)?.[1] ?? '';
        const command = / npx certmarshal (.+)/.exec(line)?.[1];
        if (kubeconfig !== '' && command !== undefined) commands.push(command.split(' '));
        if (line.includes('kubectl')) break;
      }
      const report = `${kubeconfig}.html`;
      const [one = [], look = [], write = [], expired = [], plan = [], audit = []] = commands;
      expect(run(one, kubeconfig)).toMatchObject({
        status: 0,
        stdout: expect.stringMatching(/4 nodes have a pending request[^]*Next +certmarshal run\n/) as unknown,
      });
      expect(run([...audit, '--report', report], kubeconfig)).toMatchObject({
        status: 1,
        stdout: expect.stringMatching(/ · 3 clusters, .*\n[^]*\n {2}berlin /) as unknown,
      });
      expect(readFileSync(report, 'utf8')).toContain('madrid');
      expect(run(['doctor'], kubeconfig)).toMatchObject({
        status: 0,
        stdout: expect.stringContaining('Everything works.') as unknown,
      });
      expect(run([...one, '--management-context', 'berlin'], kubeconfig).stdout).not.toContain('SourceUnread');
      expect(run(expired, kubeconfig).stdout).toMatch(/Next +certmarshal runbook recovery --context oslo\n/);
      expect(run([...expired, '--tolerate-expired', 'authority'], kubeconfig).stdout).toMatch(
        /6 findings: 1 critical, 5 warnings[^]*Next +certmarshal runbook recovery --context oslo\n/,
      );
      expect(
        run(
          `run --context oslo --no-handshakes --tolerate-expired authority --recover control-plane-1 --until ${new Date(Date.now() + 600_000).toISOString()}`.split(
            ' ',
          ),
          kubeconfig,
        ).stderr,
      ).toContain('Client certificates of kubelets would be approved until');
      expect(plan).toEqual(['rollout', 'plan', '--context', 'madrid']);
      expect(run(look, kubeconfig).stdout).toMatch(/berlin +✖ critical +3 would +1 /);
      expect(run(write, kubeconfig).stdout).toMatch(/berlin +✖ critical +3 +1 /);
      demo.kill('SIGINT');
      expect(await ended).toEqual([0, null]);
      await lines.next();
      expect(await lines.next()).toMatchObject({ value: 'The clusters are closed.' });
      expect(existsSync(kubeconfig)).toBe(false);
    } finally {
      demo.kill('SIGKILL');
    }
  });

  it.each([
    ['--help', 0],
    ['--kept', 2],
  ])('says how it is used: %s', (option, status) => {
    const { stdout, stderr, ...result } = spawnSync(process.execPath, [DEMO, option], { encoding: 'utf8' });
    expect(result.status).toBe(status);
    expect(stdout + stderr).toContain('Usage: npm run demo [-- --keep]');
  });
});
