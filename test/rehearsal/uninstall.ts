import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { appendFile, chmod, mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { CreateAccessEntryCommand, DescribeAccessEntryCommand } from '@aws-sdk/client-eks';
import { DescribeSecretCommand } from '@aws-sdk/client-secrets-manager';
import { shellBlocks } from '../support/page-shell.ts';
import type { Account } from './account.ts';
import { installAwsCli } from './aws-cli.ts';
import { CLOSED, type Clusters } from './clusters.ts';
import { type DeployableApp, type DeployedStack, deleteLeftOut } from './deployment.ts';
import { REGION } from './ministack.ts';
import type { Progress } from './watch.ts';

const PROJECT = resolve(import.meta.dirname, '../..');
const PAGE = 'docs/uninstall.md';

export interface TakeAwayOptions {
  readonly app: DeployableApp;
  readonly stacks: readonly [hub: DeployedStack, spoke: DeployedStack];
  readonly clusters: Clusters;
  readonly kubectl: string;
  /** What earlier deployments left, as an inventory names it. */
  readonly leftBefore: readonly string[];
  readonly progress: Progress;
  /** Called when the stacks are gone, and before anything else is. */
  readonly stacksAreGone: () => Promise<void>;
}

/** Takes everything away with the commands of the page, run as they are printed, but for the values of the variables. */
export async function takeAway(options: TakeAwayOptions): Promise<void> {
  const { app, stacks, clusters, kubectl, leftBefore, progress, stacksAreGone } = options;
  const [hub, spoke] = stacks;
  const [real] = clusters.real;
  const [anywhere] = clusters.simulated;
  assert.ok(real !== undefined && anywhere !== undefined, 'clusters');
  const directory = join(app.directory, 'uninstall');
  await mkdir(join(directory, 'bin'), { recursive: true });
  const program = async (name: string, line: string): Promise<void> => {
    const file = join(directory, 'bin', name);
    await writeFile(file, `#!/bin/sh\nexec ${line}\n`);
    await chmod(file, 0o755);
  };
  const node = `'${process.execPath}'`;
  await program('aws', `'${join(await installAwsCli(), 'aws')}' "$@"`);
  await program('kubectl', `'${kubectl}' "$@"`);
  await program('certmarshal', `${node} '${join(PROJECT, 'bin/certmarshal.ts')}' "$@"`);
  // `npx cdk destroy CertMarshal`, of this assembly and without a question.
  const cdk = `${node} '${join(PROJECT, 'node_modules/aws-cdk/bin/cdk')}'`;
  await program(
    'npx',
    `sh -c 'shift; exec ${cdk} "$@" --no-notices --app "${app.assembly}" --exclusively --force' sh "$@"`,
  );

  const run = async (
    step: string,
    { environment }: Account,
    values: Readonly<Record<string, string>> = {},
    which = 0,
  ): Promise<void> => {
    const block = shellBlocks(PAGE).filter(({ heading }) => heading.startsWith(step))[which];
    assert.ok(block !== undefined, `${PAGE} has a block under ${step}`);
    const set = { REGION, ...values };
    const text = block.text.replaceAll(/^((?:export )?([A-Z_]+)=)(?!\$).*$/gm, (line, start: string, name: string) => {
      const value = Object.entries(set).find(([key]) => key === name)?.[1];
      return value === undefined ? line : `${start}'${value}'`;
    });
    progress(`${PAGE}, ${block.heading}`);
    await promisify(execFile)('bash', ['--norc', '-eu', '-o', 'pipefail', '-c', text], {
      cwd: directory,
      env: {
        ...environment,
        AWS_PAGER: '',
        CDK_DISABLE_CLI_TELEMETRY: 'true',
        HOME: directory,
        PATH: `${join(directory, 'bin')}:${process.env['PATH'] ?? ''}`,
      },
    }).catch((error: unknown) => {
      throw new Error(`${PAGE}, ${block.heading}: ${String(error)}`, { cause: error });
    });
  };

  const byHand = { clusterName: CLOSED, principalArn: hub.outputs['SweepRoleArn'] ?? '' };
  await hub.account.eks.send(new CreateAccessEntryCommand({ ...byHand, kubernetesGroups: ['certmarshal'] }));
  // The emulator's CloudFormation would not do it.
  for (const stack of stacks) await deleteLeftOut(stack);
  await run('2. The hub', hub.account);
  await run('3. The spokes', spoke.account, { SPOKE: spoke.name });
  await stacksAreGone();
  await run('4. Access entries', hub.account, { CLUSTER: CLOSED, SWEEP_ROLE: byHand.principalArn });
  await assert.rejects(hub.account.eks.send(new DescribeAccessEntryCommand(byHand)), /ResourceNotFound/);

  const kubeconfig = real.controlPlane.kubeconfig('admin');
  const rights = async (): Promise<string> => {
    const words = ['get', 'clusterroles,clusterrolebindings,roles,rolebindings', '--all-namespaces', '-o', 'name'];
    return (await promisify(execFile)(kubectl, ['--kubeconfig', kubeconfig, ...words])).stdout;
  };
  assert.match(await rights(), /certmarshal/, 'rights in the cluster');
  await run('5. In each cluster', hub.account, { KUBECONFIG: kubeconfig });
  assert.doesNotMatch(await rights(), /certmarshal/, 'rights in the cluster');

  await run('6. Secrets', hub.account, { SECRET: anywhere.kubeconfigSecret });
  const secret = await hub.account.secrets.send(new DescribeSecretCommand({ SecretId: anywhere.kubeconfigSecret }));
  assert.ok(secret.DeletedDate !== undefined, 'the secret is to be deleted');
  await run('8. Delete the records', hub.account);
  await appendFile(join(directory, 'certmarshal-stays.txt'), leftBefore.map((line) => `${line}\n`).join(''));
  for (const which of [1, 2]) await run('8. Delete the records', hub.account, {}, which);
}
