import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Registry } from '../../lambdas/contracts/registry.ts';
import { resolveBinaries } from '../control-plane/binaries.ts';
import { letReachLoopback } from '../unit/functions/reach-loopback.ts';
import { expectAccess } from './access.ts';
import { type Account, openAccount } from './account.ts';
import { stacksOf, transformAssembly } from './assembly.ts';
import { cdkOk } from './cdk.ts';
import { REAL, SIMULATED, startClusters } from './clusters.ts';
import { type DeployableApp, type DeployedStack, deployStack } from './deployment.ts';
import { startEksEndpoints } from './eks-endpoints.ts';
import {
  expectAudits,
  expectCertificates,
  expectIdentity,
  expectIndex,
  expectJournal,
  expectNoSecrets,
  expectPage,
} from './expectations.ts';
import { AUDIT_EVERY_MINUTES, fleetFile } from './fleet-file.ts';
import { logsOf } from './function-logs.ts';
import { LISTED_TYPES, takeInventory } from './inventory.ts';
import { expectMessages } from './messages.ts';
import { ACCOUNT, type MiniStack, REGION, SPOKE_ACCOUNT, startMiniStack } from './ministack.ts';
import { remakeHub } from './remade-hub.ts';
import type { Summary } from './summary.ts';
import { takeAway } from './uninstall.ts';
import { expectExecutions, type Progress, readState, startMinutes, waitForRegistry, watchIndex } from './watch.ts';
import { expectWebhook } from './webhook.ts';

const PROJECT = resolve(import.meta.dirname, '../..');
/** The two of the hub's account, that of the spoke, and those that are listed. */
const CLUSTERS = 3 + SIMULATED.length;

/**
 * Deploys the app as a user does, to an emulated AWS, and watches it approve and the signer issue.
 *
 * @throws AssertionError when something is not as it has to be; other errors when a part does not run.
 */
export async function rehearse(progress: Progress): Promise<Summary> {
  await using parts = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'certmarshal-rehearsal-'));
  parts.defer(() => rm(directory, { recursive: true, force: true }));
  const binaries = await resolveBinaries('etcd', 'kubeApiserver', 'kubeControllerManager', 'kubectl');
  if ('missing' in binaries) throw new Error(binaries.missing);

  progress('starting the emulated AWS');
  let emulator: MiniStack | undefined;
  const eksEndpoints = await startEksEndpoints(() => emulator ?? assert.fail('the emulator does not run yet'));
  parts.defer(() => eksEndpoints.stop());
  const ministack = await startMiniStack({ environment: { AWS_ENDPOINT_URL_EKS: eksEndpoints.endpoint } });
  emulator = ministack;
  parts.defer(() => ministack.stop());
  const [hub, spoke] = [openAccount(ministack, ACCOUNT), openAccount(ministack, SPOKE_ACCOUNT)];
  parts.defer(() => [hub, spoke].forEach((account) => account.close()));

  progress('starting the clusters: real control planes, and simulated API servers');
  const clusters = await startClusters({ parts, directory, binaries, ministack, eksEndpoints, hub, spoke });

  progress('cdk bootstrap');
  await cdkOk(directory, hub.environment, 'bootstrap', `aws://${ACCOUNT}/${REGION}`);
  const inventory = async (): Promise<readonly string[]> => [
    ...(await takeInventory(hub.calls)),
    ...[...(await takeInventory(spoke.calls))].map((entry) => `${entry} of the spoke`),
  ];
  const before = new Set(await inventory());

  progress('cdk synth, as it ships');
  const synth = async (output: string, mode: 'enforce' | 'observe'): Promise<string> => {
    const file = join(directory, `${output}.yaml`);
    const listed = clusters.simulated.map(({ name, kubeconfigSecret }) => ({ name, kubeconfigSecret }));
    const accessEntries = { hub: [REAL.hub], spoke: [REAL.spoke] };
    await writeFile(file, fleetFile({ accessEntries, spokeAccount: SPOKE_ACCOUNT, listed, mode, webhook: true }));
    const assembly = join(directory, output);
    await cdkOk(PROJECT, hub.environment, 'synth', '--quiet', '--context', `fleet=${file}`, '--output', assembly);
    return assembly;
  };
  const supported = await ministack.resourceTypes();
  const assembly = join(directory, 'cdk.out-transformed');
  const leftOutOf = await transformAssembly(await synth('cdk.out', 'enforce'), assembly, supported);
  await letReachLoopback(assembly);
  const app: DeployableApp = { directory, assembly, leftOutOf };
  const accountOf = (id: string | undefined): Account => (id === SPOKE_ACCOUNT ? spoke : hub);

  const stacks: DeployedStack[] = [];
  for (const { name, account } of await stacksOf(assembly)) {
    progress(`cdk deploy ${name}`);
    stacks.push(await deployStack(app, { name, account: accountOf(account) }));
  }
  const [hubStack, spokeStack] = stacks;
  assert.ok(hubStack !== undefined && spokeStack !== undefined, 'a hub and a spoke');
  const leftOut = stacks.flatMap((stack) =>
    stack.leftOut.map(
      ({ type, logicalId, reason, created }) =>
        `${type} ${logicalId}: ${reason}; ${created ? 'created through the API' : 'not created'}`,
    ),
  );
  const types = new Set(stacks.flatMap(({ resources }) => resources.map(({ type }) => type)));
  // An inventory that shows nothing could not show what is left.
  const found = (await inventory()).filter((entry) => !before.has(entry));
  for (const type of types)
    assert.equal(
      found.some((entry) => entry.startsWith(`${type} `)),
      LISTED_TYPES.has(type),
      `the inventory shows ${type}`,
    );
  // Subscriptions of fleet.yaml to pager get no warnings.
  const subscriptions = { critical: 2, warning: 0, fallback: 0, unconfirmed: 0 };
  assert.deepEqual(await hub.subscriptions(), subscriptions, 'who is subscribed');
  for (const line of leftOut) progress(`left out of the template: ${line}`);

  progress('waiting for the schedule, and for the first registry');
  const output = (name: string): string => hubStack.outputs[name] ?? assert.fail(`the hub has no output ${name}`);
  const bucket = output('FleetBucketName');
  const state = { s3: hub.s3, bucket };
  await waitForRegistry(state, progress);
  progress(`starting the state machine for ${AUDIT_EVERY_MINUTES} minutes, in which every audit has its turn`);
  const nextMinute = startMinutes(hubStack, CLUSTERS);
  const { index } = await watchIndex(state, progress, async (current) => {
    await nextMinute(current);
    const requests = await Promise.all(clusters.honest.map(({ cluster, name }) => cluster.request(name)));
    return (
      requests.every(({ status }) => status.certificate !== undefined) &&
      clusters.simulated.every((cluster) => cluster.issued() === cluster.nodes) &&
      // The first sweep of a kubeconfig is held; the closed cluster stays unreadable.
      Object.values(current.clusters).filter(
        ({ complete, readable, audit }) => (complete && audit !== undefined) || !readable,
      ).length === CLUSTERS
    );
  });

  progress('checking what the clusters, the index and the logs say');
  const registry = await readState<Registry>(state, 'registry');
  const targets = Object.values(registry?.clusters ?? {}).filter(({ target }) => target !== undefined).length;
  assert.equal(targets, CLUSTERS, 'targets in the registry');
  const { approved, issued } = await expectCertificates(clusters);
  expectIdentity(clusters, output('SweepRoleArn'));
  expectIndex(index);
  await expectAudits(hub.s3, output('SnapshotBucketName'), index);
  await expectPage(hub.s3, bucket);
  const journalLines = await expectJournal(hub.s3, output('JournalBucketName'), clusters);

  progress('webhook of a cluster, with wrong tokens and the right one');
  await expectWebhook({
    hub,
    bucket,
    ministack,
    url: output('WebhookUrl'),
    keyArn: output('WebhookKeyArn'),
    cluster: SIMULATED[0],
  });

  progress('an alarm fires, and is over');
  const message = await expectMessages(hub, {
    warning: output('WarningTopicArn'),
    pager: output('PagerTopicArn'),
    fallback: output('FallbackTopicArn'),
  });
  progress(message);

  progress('who writes what, and starts what');
  await expectAccess({ ministack, hub, stack: hubStack, bucket });

  const ticks = await expectExecutions(hubStack);
  const logs = await logsOf(hub.calls);
  assert.match([...logs.values()].join('\n'), /csr-dublin-1/, 'the logs tell of the approvals');
  expectNoSecrets(new Map([...logs, ['the log of the emulator', await readFile(ministack.logFile, 'utf8')]]), clusters);

  progress('cdk diff of a changed policy');
  const changed = join(directory, 'cdk.out-changed-transformed');
  await transformAssembly(await synth('cdk.out-changed', 'observe'), changed, supported);
  await letReachLoopback(changed);
  const diff = await cdkOk(directory, hub.environment, 'diff', hubStack.name, '--app', changed, '--exclusively');
  const lines = diff.split('\n').filter((line) => line.includes('Policy rehearsal'));
  for (const line of lines) progress(line.trim());
  assert.match(
    lines.join('\n'),
    /Policy rehearsal, mode.*enforce.*observe/,
    'cdk diff shows what changes in the policy',
  );

  progress(`cdk destroy ${hubStack.name}, and deploy it again`);
  const remade = await remakeHub(app, [hubStack, spokeStack], CLUSTERS, progress);

  const left = async (): Promise<readonly string[]> =>
    (await inventory()).filter((entry) => !before.has(entry)).toSorted();
  const retainedNow = remade.flatMap(({ retained }) => retained);
  // Unlike AWS, the emulator gives a log group the name that the one of the first hub has.
  const leftBefore = hubStack.retained.filter((entry) => !retainedNow.includes(entry));
  await takeAway({
    app,
    stacks: remade,
    clusters,
    kubectl: binaries.kubectl,
    leftBefore,
    progress,
    async stacksAreGone() {
      assert.deepEqual(
        await left(),
        [...leftBefore, ...retainedNow].toSorted(),
        'only what is retained on purpose is left',
      );
    },
  });
  assert.deepEqual(await left(), [], 'nothing is left');

  return {
    stacks: stacks.map(({ name }) => name),
    ticks,
    targets,
    csrsApproved: approved,
    csrsIssued: issued,
    journalLines,
    message,
    leftOut,
  };
}

if (import.meta.main) {
  const started = Date.now();
  const say: Progress = (line) => {
    process.stderr.write(`${((Date.now() - started) / 1000).toFixed(0).padStart(4)} s  ${line}\n`);
  };
  try {
    process.stdout.write(`${JSON.stringify(await rehearse(say))}\n`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exitCode = 1;
  }
}
