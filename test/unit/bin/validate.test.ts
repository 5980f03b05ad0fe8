import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { validateCommand } from '../../../bin/commands/validate.ts';
import { recordedIo } from './io.ts';

async function validated(text: string, output: 'table' | 'json' = 'table') {
  const file = join(mkdtempSync(join(process.env['CERTMARSHAL_SCRATCH'] ?? tmpdir(), 'validate-')), 'fleet.yaml');
  writeFileSync(file, text);
  const io = recordedIo();
  const status = await validateCommand(file, output, 'certmarshal', io);
  return { file, status, stdout: io.stdout.text(), stderr: io.stderr.text() };
}

const FOREIGN = "version: 1\ndiscovery:\n  - accounts: ['111122223333']\n    regions: [eu-central-1]\n";

describe('certmarshal validate', () => {
  it('says what a valid file names, how to write nothing, and the next command', async () => {
    const { file, status, stdout, stderr } = await validated(
      'version: 1\ndiscovery: [{ accounts: [self], regions: [self] }]\n',
    );
    expect({ status, stdout, stderr }).toEqual({
      status: 0,
      stdout: `${file} is valid: 1 discovery entry; policies: default (observe on eks, enforce on eks-anywhere); enforce approves proven requests, observe writes nothing; mode: observe under policies only shows.\n\n  Next  certmarshal doctor --fleet ${file}\n`,
      stderr: '',
    });
  });

  it('warns of what is probably not meant, as a deployment does', async () => {
    const text = 'version: 1\ndiscovery: [{ accounts: [self], regions: [eu-centrall-1] }]\n';
    const message =
      'discovery[0].regions[0]: Region eu-centrall-1 is not among those that this version of certmarshal knows; is it misspelled?';
    const { file, status, stdout, stderr } = await validated(text);
    expect({ status, stderr }).toEqual({ status: 0, stderr: `${file}:2:43: warning: ${message}\n` });
    expect(stdout).toContain('is valid, with 1 warning: ');
    const json = await validated(text, 'json');
    expect(JSON.parse(json.stdout)).toMatchObject({
      valid: true,
      problems: [],
      warnings: [{ line: 2, column: 43, message }],
    });
    expect({ status: json.status, stderr: json.stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('warns in the order of the lines, at the values', async () => {
    const lane = (name: string) =>
      `{ name: ${name}, vpcId: vpc-0a1b2c3d, subnetIds: [subnet-0a1b2c3d], securityGroupIds: [sg-0a1b2c3d] }`;
    const secret = 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:a-Ab12Cd';
    const cluster = (name: string) =>
      `  - name: ${name}\n    provider: eks-anywhere\n    kubeconfigSecret: ${secret}\n    lane: a\n`;
    const { file, stderr } = await validated(
      `version: 1\nlanes:\n  - ${lane('a')}\n  - ${lane('b')}\nclusters:\n${cluster('berlin')}${cluster('paris')}`,
    );
    expect(stderr).toBe(
      `${file}:4:5: warning: lanes[1]: no cluster names lane b\n${file}:12:23: warning: clusters[1].kubeconfigSecret: paris has the kubeconfig secret of berlin, and a kubeconfig is for one cluster; write its own\n`,
    );
  });

  it.each([
    [
      'no place of the hub',
      FOREIGN,
      [
        '1:1: hub: write account and region, those that certmarshal is deployed to: the roles in 111122223333 trust its roles by name',
      ],
    ],
    [
      'half a place of the hub',
      "version: 1\nhub:\n  account: '999988887777'\n",
      ['2:1: hub: account and region go together; write both or neither'],
    ],
    ['several problems', 'version: 1\naudit: { every: 1m }\npolicy: []\n', ['2:17: audit.every: ', '3:1: ']],
    [
      'the hub beside other problems',
      `${FOREIGN}audit: { every: 1m }\nhub: { region: eu-central-1, webhook: maybe }\n`,
      ['5:17: audit.every: ', '6:1: hub: write account and region', '6:39: hub.webhook: '],
    ],
    ['a hub that is no section', `${FOREIGN}hub: []\n`, ['5:1: hub: ']],
    [
      'nodes that may be recovered for more than a day',
      "version: 1\nrecovery: [{ cluster: a, nodes: [cp-1], until: '2199-01-01T00:00:00Z' }]\n",
      [
        '2:48: recovery[0].until: 2199-01-01T00:00:00Z is more than 24 hours from now; with nodes write an earlier time',
      ],
    ],
  ])('names line, column and remedy of %s', async (_, text, problems) => {
    const { file, status, stdout, stderr } = await validated(text);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    const lines = stderr.trimEnd().split('\n');
    expect(lines).toHaveLength(problems.length + 1);
    const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
    expect(lines.at(-1)).toMatch(new RegExp(`^${count} in .*\\. Warnings follow when (?:it is|they are) fixed\\.$`));
    for (const [index, problem] of problems.entries()) expect(lines[index]).toContain(`${file}:${problem}`);
  });

  it('names no way to write nothing where the file has policies, and no next command without clusters', async () => {
    const { file, stdout } = await validated('version: 1\npolicies: [{ mode: observe }]\n');
    expect(stdout).toBe(
      `${file} is valid, with 2 warnings: no clusters; policies: default (observe on eks, observe on eks-anywhere); enforce approves proven requests, observe writes nothing.\n`,
    );
  });

  it('gives programs the same', async () => {
    const { status, stdout } = await validated(FOREIGN, 'json');
    expect(status).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ version: 1, valid: false, problems: [{ line: 1, column: 1 }] });
  });

  it('names a file that is missing', async () => {
    await expect(validateCommand('/nowhere/fleet.yaml', 'table', 'certmarshal', recordedIo())).rejects.toThrow(
      'There is no file',
    );
  });
});
