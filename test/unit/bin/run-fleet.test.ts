import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { auditFleet } from '../../../bin/commands/audit/audit.ts';
import { runCommand } from '../../../bin/commands/run.ts';
import { never } from '../journal/values.ts';
import { outcomeOf, recordedIo } from './io.ts';

const asked = vi.fn<() => AsyncGenerator<readonly string[]>>(async function* () {});
const caller = {
  account: '111122223333',
  arn: 'arn:aws:iam::111122223333:user/mia',
  partition: 'aws',
  region: 'eu-west-1',
};
vi.mock('../../../bin/doctor/aws-calls.ts', () => ({ connectAws: async () => ({ caller }) }));
vi.mock('../../../lambdas/aws/eks-clusters.ts', () => ({ createEksReader: () => ({ listClusters: asked }) }));

it.each(Object.entries({ run: runCommand, audit: auditFleet }))(
  '%s --fleet reads the clusters of the file as the user',
  async (_, command) => {
    const directory = mkdtempSync(join(tmpdir(), 'certmarshal-fleet-'));
    const [fleet, report] = [join(directory, 'fleet.yaml'), join(directory, 'page.html')];
    writeFileSync(fleet, 'version: 1\ndiscovery: [{ regions: [eu-central-1] }]\n');
    const options = { fleet, report, output: 'json', program: 'certmarshal' } as const;
    const io = recordedIo({ now: Date.now() });
    const { status, stdout, stderr } = await outcomeOf(io, command(options, never, io));
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: `${report} was not written: the page is about at least two clusters.\n`,
    });
    expect(JSON.parse(stdout)).toMatchObject({ clusters: [], problems: [] });
    expect(asked.mock.lastCall).toMatchObject([{ account: caller.account, region: 'eu-central-1' }, {}]);
    await expect(command({ ...options, context: 'c' }, never, io)).rejects.toThrow(
      '--context is about clusters of a kubeconfig',
    );
    await expect(command({ ...options, policy: fleet }, never, io)).rejects.toThrow('leave out --policy');
  },
);
