import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runbookCommand } from '../../../bin/commands/runbook.ts';
import { ALARM_IDS, runbookPlace } from '../../../lambdas/tables/alarms.ts';
import { FINDING_CODES } from '../../../lambdas/tables/finding-codes.ts';
import { keysOf } from '../../../lambdas/tables/keys.ts';
import { outcomeOf, recordedIo } from './io.ts';
import { runCli } from './run-cli.ts';

const printed = async (name?: string) => {
  const io = recordedIo();
  return outcomeOf(io, runbookCommand(name, io));
};

describe('certmarshal runbook', () => {
  it('prints the page', async () => {
    const { status, stdout, stderr } = await runCli(['runbook', 'certificate-critical']);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toBe(readFileSync('docs/runbooks/alarms/certificate-critical.md', 'utf8'));
  });

  it.each(ALARM_IDS)('has the page that a message of %s names', async (id) => {
    const name = runbookPlace(id, undefined).replace('certmarshal runbook ', '');
    expect((await printed(name)).stdout).toMatch(/^# /);
    expect((await printed(id)).stdout).toMatch(/^# /);
  });

  it('has the page of every finding, and takes its path too', async () => {
    for (const code of keysOf(FINDING_CODES)) expect((await printed(code)).stdout).toMatch(/^# /);
    const { stdout } = await printed('docs/runbooks/san-not-owned.md');
    expect(stdout).toBe(readFileSync('docs/runbooks/san-not-owned.md', 'utf8'));
  });

  it('lists all names', async () => {
    const names = (await printed()).stdout.trimEnd().split('\n');
    expect(names).toEqual(expect.arrayContaining(['alarms', 'runbooks', 'certificate-critical', 'san-not-owned']));
    expect(names).toEqual(names.toSorted());
  });

  it.each([
    ['certificate-critcal', 'Did you mean certificate-critical?'],
    ['../../package', 'certmarshal runbook lists all.'],
    ['', 'certmarshal runbook lists all.'],
  ])('refuses %j', async (name, hint) => {
    const { status, stdout, stderr } = await runCli(['runbook', name]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toBe(`There is no runbook ${JSON.stringify(name)}. ${hint}\n`);
  });
});
