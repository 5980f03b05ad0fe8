import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runbookCommand } from '../../../bin/commands/runbook.ts';
import { runbookName } from '../../../lambdas/command.ts';
import { CHECK_IDS } from '../../../lambdas/rollout/checks.ts';
import { HOLD_IDS } from '../../../lambdas/rollout/hold-reasons.ts';
import { ALARM_IDS, runbookPlace } from '../../../lambdas/tables/alarms.ts';
import { FINDING_CODES } from '../../../lambdas/tables/finding-codes.ts';
import { keysOf } from '../../../lambdas/tables/keys.ts';
import { outcomeOf, recordedIo } from './io.ts';
import { runCli } from './run-cli.ts';

const printed = async (name?: string) => {
  const io = recordedIo();
  return outcomeOf(io, runbookCommand(name, { program: 'certmarshal' }, io));
};

describe('certmarshal runbook', () => {
  it('prints the page', async () => {
    const { status, stdout, stderr } = await runCli(['runbook', 'certificate-critical']);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^# CertificateCritical: /);
  });

  it('wraps the page on a terminal, at 100 columns at most', async () => {
    for (const [columns, longest] of [
      [60, 60],
      [200, 100],
    ] as const) {
      const io = recordedIo({ columns });
      const { stdout } = await outcomeOf(io, runbookCommand('san-not-owned', { program: 'certmarshal' }, io));
      const [prose] = stdout.split('```');
      expect(Math.max(...(prose ?? '').split('\n').map((line) => line.length))).toBeLessThanOrEqual(longest);
      expect(stdout).not.toContain('**');
      expect(stdout).toMatch(/^certmarshal explain "\$CSR" --kubeconfig .* --cluster "\$CLUSTER"$/m);
    }
    expect((await printed('san-not-owned')).stdout).toContain('**What it means.** ');
  });

  it('says below the title that values in commands are examples', async () => {
    const told = '\n\nThe values in the commands (NAME=…) are examples: put in your own.\n';
    expect((await printed('dispatch-heartbeat')).stdout).toContain(`${told}\n**What it means.**`);
    const { stdout } = await printed('impersonation-attempt');
    expect(stdout).toContain(`${told}If your kubeconfig has the cluster, --context NAME replaces --kubeconfig`);
    expect((await printed('runbooks')).stdout).not.toContain('are examples');
  });

  it.each(ALARM_IDS)('has the page that a message of %s names', async (id) => {
    const name = runbookPlace(id, undefined).replace('certmarshal runbook ', '');
    expect((await printed(name)).stdout).toMatch(/^# /);
    expect((await printed(id)).stdout).toMatch(/^# /);
  });

  it('has the page of every finding, and takes its path too', async () => {
    for (const code of keysOf(FINDING_CODES)) expect((await printed(code)).stdout).toMatch(/^# /);
    const { stdout } = await printed('docs/runbooks/san-not-owned.md');
    expect(stdout.split('\n', 1)).toEqual(readFileSync('docs/runbooks/san-not-owned.md', 'utf8').split('\n', 1));
  });

  it('names commands where the page links to other runbooks, and files where it links to other pages', async () => {
    const expired = await printed('certificate-expired');
    expect(expired.stdout).toContain('`certmarshal runbook replace-node`');
    expect(expired.stdout).toContain('Renew in place (`certmarshal runbook renew-in-place`), over SSH.');
    expect(expired.stdout).not.toMatch(/\]\([\w-]+\.md\)/);
    const { stdout } = await printed('no-hold');
    expect(stdout).toContain('checks (`certmarshal runbook opted-in-by-fleet`)');
    expect(stdout).toContain('docs/rollouts.md');
    expect(stdout).not.toMatch(/\]\([\w./-]+\.md/);
  });

  it('prints sentences: no parentheses in parentheses, no page that is called runbooks', async () => {
    const names = [...keysOf(FINDING_CODES), ...ALARM_IDS, 'recovery', 'renew-in-place', 'replace-node', 'rollouts'];
    const texts = await Promise.all(names.map(async (name) => (await printed(name)).stdout));
    const nested = texts.flatMap((text) => text.match(/\([^()\n]*\((?:docs\/|`certmarshal )[^)]*\)+/g) ?? []);
    expect(nested).toEqual([]);
    expect(texts.join('')).not.toMatch(/certmarshal runbook runbooks|How rollouts work \(/);
  });

  it('prints the finding and the alarm of one name, one after the other', async () => {
    const { stdout } = await printed('issued-names-another');
    expect(stdout.match(/^# IssuedNamesAnother: /gm)).toHaveLength(2);
  });

  it('has the section of every check and hold of a rollout, after the head of its page', async () => {
    const page = readFileSync('docs/runbooks/rollouts.md', 'utf8');
    const head = page.slice(0, page.indexOf('\n## '));
    for (const id of [...CHECK_IDS, ...keysOf(HOLD_IDS)]) {
      const { stdout } = await printed(id);
      expect(stdout.startsWith(head.slice(0, head.indexOf('\n')))).toBe(true);
      expect(stdout).toContain(`\n## ${id}\n\n**`);
      expect(stdout.match(/^## /gm)).toHaveLength(1);
    }
    expect(await printed('docs/runbooks/rollouts.md#no-hold')).toEqual(await printed('no-hold'));
    expect((await printed('rollouts')).stdout.match(/^## /gm)).toEqual(page.match(/^## /gm));
  });

  it('puts the names of a cluster into the commands, and says what is still an example', async () => {
    const io = recordedIo();
    const given = { context: 'oslo', managementKubeconfig: 'm.yaml' };
    const { stdout } = await outcomeOf(io, runbookCommand('certificate-expiring', { program: 'npx c', ...given }, io));
    expect(stdout).toMatch(/^# .*\n\n\*\*What it means/);
    expect(stdout).toContain(
      '```sh\nMANAGEMENT=m.yaml\nnpx c audit --context oslo --management-kubeconfig "$MANAGEMENT"\n```',
    );
    expect(stdout).toContain('`npx c runbook renew-in-place --context oslo --management-kubeconfig m.yaml`');
    const { stdout: expired } = await runCli(['runbook', 'certificate-expired', '--cluster', 'oslo']);
    expect(expired).toContain('The values in the commands (KUBECONFIG=…, MANAGEMENT=…, HOST=…, CSR=…) are examples: ');
    expect(expired).toContain('\nIf your kubeconfig has the cluster, --context NAME');
    expect(expired).toContain('\nCLUSTER=oslo\nexport KUBECONFIG=berlin.yaml\n');
  });

  it('lists the pages by what names them, after how to print one', async () => {
    const { stdout } = await printed();
    const groups = stdout
      .trimEnd()
      .split('\n\n')
      .map((group) => group.split('\n'));
    expect(groups.map(([title]) => title)).toEqual([
      'certmarshal runbook NAME; the message or the finding has the name.',
      'Findings and verdicts',
      'Alarms',
      'Procedures',
    ]);
    const [, findings = [], alarms = [], procedures = []] = groups.map((group) => group.slice(1));
    const codes = [...keysOf(FINDING_CODES).map(runbookName), 'san-not-owned'];
    const namesOf = (lines: readonly string[]) => lines.map((line) => line.trim().split(' ', 1)[0] ?? '');
    expect(namesOf(findings)).toEqual(codes.toSorted());
    expect(namesOf(alarms)).toEqual(
      ALARM_IDS.map(runbookName)
        .filter((name) => !codes.includes(name))
        .toSorted(),
    );
    expect(procedures).toContain('  rollouts        each check and each reason for a hold');
    expect([...findings, ...alarms, ...procedures].filter((line) => !/^ {2}[\w-]+ {2,}\S/.test(line))).toEqual([]);
    expect(stdout.split(/\s+/).length).toBeLessThan(750);
  });

  it.each([
    ['certificate-critcal', 'Did you mean certificate-critical?'],
    ['no-holds', 'Did you mean no-hold?'],
    ['../../package', 'certmarshal runbook lists all.'],
    ['', 'certmarshal runbook lists all.'],
  ])('refuses %j', async (name, hint) => {
    const { status, stdout, stderr } = await runCli(['runbook', name]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toBe(`There is no runbook ${JSON.stringify(name)}. ${hint}\n`);
  });
});
