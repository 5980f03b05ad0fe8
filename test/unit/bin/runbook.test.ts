import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runbookCommand } from '../../../bin/commands/runbook.ts';
import { runbookName } from '../../../lambdas/command.ts';
import { CHECK_IDS } from '../../../lambdas/rollout/checks.ts';
import { HOLD_IDS } from '../../../lambdas/rollout/hold-reasons.ts';
import { ALARM_IDS, runbookPlace } from '../../../lambdas/tables/alarms.ts';
import { FINDING_CODES } from '../../../lambdas/tables/finding-codes.ts';
import { keysOf } from '../../../lambdas/tables/keys.ts';
import { recordedIo } from './io.ts';
import { runCli } from './run-cli.ts';

function printed(name: string) {
  const io = recordedIo();
  const status = runbookCommand(name, {}, io);
  return { status, stdout: io.stdout.text() };
}

describe('certmarshal runbook', () => {
  it('prints the page', async () => {
    const { status, stdout, stderr } = await runCli(['runbook', 'certificate-critical']);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^# CertificateCritical: /);
  });

  it.each(ALARM_IDS)('has the page that a message of %s names', (id) => {
    const name = runbookPlace(id, undefined).replace('certmarshal runbook ', '');
    expect(printed(name).stdout).toMatch(/^# /);
    expect(printed(id).stdout).toMatch(/^# /);
  });

  it('has the page of every finding, and takes its path too', () => {
    for (const code of keysOf(FINDING_CODES)) expect(printed(code).stdout).toMatch(/^# /);
    const { stdout } = printed('docs/runbooks/san-not-owned.md');
    expect(stdout).toBe(readFileSync('docs/runbooks/san-not-owned.md', 'utf8'));
  });

  it('prints the finding and the alarm of one name, one after the other', () => {
    const { stdout } = printed('issued-names-another');
    expect(stdout.match(/^# IssuedNamesAnother: /gm)).toHaveLength(2);
  });

  it('has the section of every check and hold of a rollout, after the head of its page', () => {
    const page = readFileSync('docs/runbooks/rollouts.md', 'utf8');
    const head = page.slice(0, page.indexOf('\n## '));
    for (const id of [...CHECK_IDS, ...keysOf(HOLD_IDS)]) {
      const { stdout } = printed(id);
      expect(stdout.startsWith(head)).toBe(true);
      expect(stdout).toContain(`\n## ${id}\n\n**`);
      expect(stdout.match(/^## /gm)).toHaveLength(1);
    }
    expect(printed('docs/runbooks/rollouts.md#no-hold')).toEqual(printed('no-hold'));
    expect(printed('rollouts').stdout.match(/^## /gm)).toEqual(page.match(/^## /gm));
  });

  it('lists every page with its title', async () => {
    const { stdout } = await runCli(['runbook']);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.filter((line) => !/^[a-z-]+: \S/.test(line))).toEqual([]);
    const listed = lines.map((line) => line.split(':', 1)[0]);
    for (const code of [...keysOf(FINDING_CODES), ...ALARM_IDS]) expect(listed).toContain(runbookName(code));
    expect(lines).toContain('rollouts: each check and each reason for a hold');
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
