import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runbookCommand } from '../../../bin/commands/runbook.ts';
import { CHECK_IDS } from '../../../lambdas/rollout/checks.ts';
import { HOLD_IDS } from '../../../lambdas/rollout/hold-reasons.ts';
import { NODE_GROUP_CHECK_IDS } from '../../../lambdas/rollout/node-group-checks.ts';
import { NODE_GROUP_HOLD_IDS } from '../../../lambdas/rollout/node-groups.ts';
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

  it('has the section of every check and hold of a rollout, after the head of its page', async () => {
    const page = readFileSync('docs/runbooks/rollouts.md', 'utf8');
    const head = page.slice(0, page.indexOf('\n## '));
    for (const id of [...CHECK_IDS, ...keysOf(HOLD_IDS), ...NODE_GROUP_CHECK_IDS, ...keysOf(NODE_GROUP_HOLD_IDS)]) {
      const { stdout } = await printed(id);
      expect(stdout.startsWith(`${head}\n## ${id}\n\n**`)).toBe(true);
      expect(stdout.match(/^## /gm)).toHaveLength(1);
      expect(page).toContain(stdout.slice(head.length));
    }
    expect(await printed('docs/runbooks/rollouts.md#no-hold')).toEqual(await printed('no-hold'));
    expect((await printed('rollouts')).stdout).toBe(page);
  });

  it('lists all names', async () => {
    const names = (await printed()).stdout.trimEnd().split('\n');
    expect(names).toEqual(
      expect.arrayContaining(['alarms', 'runbooks', 'certificate-critical', 'no-hold', 'san-not-owned']),
    );
    expect(names).toEqual([...new Set(names)].toSorted());
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
