import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { FleetIndex } from '../../lambdas/contracts/fleet-index.ts';
import type { Registry } from '../../lambdas/contracts/registry.ts';
import { resolveBinaries } from '../control-plane/binaries.ts';
import { letReachLoopback } from '../unit/functions/reach-loopback.ts';
import { type Account, openAccount } from './account.ts';
import { stacksOf, transformAssembly } from './assembly.ts';
import { cdkOk } from './cdk.ts';
import { REAL, SIMULATED, startClusters } from './clusters.ts';
import { startEksEndpoints } from './eks-endpoints.ts';
import {
  expectAudits,
  expectCertificates,
  expectIdentity,
  expectIndex,
  expectJournal,
  expectNoSecrets,
  expectPage,
  retainedOf,
} from './expectations.ts';
import { AUDIT_EVERY_MINUTES, fleetFile } from './fleet-file.ts';
import { logsOf } from './function-logs.ts';
import { LISTED_TYPES, takeInventory } from './inventory.ts';
import { createThroughApi, deleteThroughApi, missingAlarms, resolveOutputs } from './left-out.ts';
import { ACCOUNT, type MiniStack, REGION, SPOKE_ACCOUNT, startMiniStack } from './ministack.ts';
import { outputsOf, resourcesOf } from './stack.ts';
import type { Summary } from './summary.ts';
import { expectTold } from './told.ts';
import { type Progress, readState, watchIndex } from './watch.ts';

const PROJECT = resolve(import.meta.dirname, '../..');
const HUB = 'CertMarshal';
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
  const binaries = await resolveBinaries('etcd', 'kubeApiserver', 'kubeControllerManager');
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
    await writeFile(file, fleetFile({ accessEntries, spokeAccount: SPOKE_ACCOUNT, listed, mode }));
    const assembly = join(directory, output);
    await cdkOk(PROJECT, hub.environment, 'synth', '--quiet', '--context', `fleet=${file}`, '--output', assembly);
    return assembly;
  };
  const supported = await ministack.resourceTypes();
  const app = join(directory, 'cdk.out-transformed');
  const leftOutOf = await transformAssembly(await synth('cdk.out', 'enforce'), app, supported);
  await letReachLoopback(app);
  const accountOf = (id: string | undefined): Account => (id === SPOKE_ACCOUNT ? spoke : hub);
  const stacks = (await stacksOf(app)).map(({ name, account }) => ({ name, account: accountOf(account) }));

  const leftOut: string[] = [];
  const retained: string[] = [];
  const types = new Set<string>();
  let dispatch = '';
  for (const { name, account } of stacks) {
    progress(`cdk deploy ${name}`);
    const options = ['--app', app, '--exclusively', '--require-approval', 'never'];
    await cdkOk(directory, account.environment, 'deploy', name, ...options);
    const outputs = await outputsOf(account.calls, name);
    const ofStack = leftOutOf.get(name) ?? [];
    for (const resource of ofStack) {
      const created = await createThroughApi(resolveOutputs(resource, outputs), account, missingAlarms(ofStack));
      const { type, logicalId, reason } = resource;
      leftOut.push(`${type} ${logicalId}: ${reason}; ${created ? 'created through the API' : 'not created'}`);
    }
    const made = await resourcesOf(account.calls, name);
    retained.push(...(await retainedOf(app, name, made)));
    for (const { type, logicalId, physicalId } of made) {
      types.add(type);
      if (type === 'AWS::Lambda::Function' && logicalId.startsWith('Dispatch')) dispatch = physicalId;
    }
  }
  // An inventory that shows nothing could not show what is left.
  const found = (await inventory()).filter((entry) => !before.has(entry));
  for (const type of types)
    assert.equal(
      found.some((entry) => entry.startsWith(`${type} `)),
      LISTED_TYPES.has(type),
      `the inventory shows ${type}`,
    );
  for (const line of leftOut) progress(`left out of the template: ${line}`);

  progress('waiting for the scheduler, dispatch and report');
  const outputs = await outputsOf(hub.calls, HUB);
  const output = (name: string): string => outputs[name] ?? assert.fail(`the hub has no output ${name}`);
  const bucket = output('FleetBucketName');
  const state = { s3: hub.s3, bucket };
  await watchIndex(state, progress, async (current) => current.dispatch !== undefined);
  progress(`starting dispatch for the next ${AUDIT_EVERY_MINUTES} minutes, in which every audit has its turn`);
  let minutes = 0;
  let startedAt = '';
  const nextMinute = async (current: FleetIndex): Promise<void> => {
    const swept = Object.values(current.clusters).filter(({ triedAt = '' }) => triedAt > startedAt);
    if (minutes === AUDIT_EVERY_MINUTES || swept.length < CLUSTERS) return;
    minutes += 1;
    startedAt = new Date().toISOString();
    const scheduledTime = new Date(Date.now() + minutes * 60_000).toISOString();
    const answer = await hub.calls.post('lambda', `/2015-03-31/functions/${dispatch}/invocations`, { scheduledTime });
    assert.equal(answer, 'null', 'what dispatch returns');
  };
  const { index, ticks } = await watchIndex(state, progress, async (current) => {
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
  const journalLines = await expectJournal(hub, output('JournalBucketName'), clusters);

  progress('an alarm rings, and is over');
  const told = await expectTold(hub, { warning: output('WarningTopicArn'), pager: output('PagerTopicArn') });
  progress(told);

  const logs = await logsOf(hub.calls);
  assert.match([...logs.values()].join('\n'), /csr-dublin-1/, 'the logs tell of the approvals');
  expectNoSecrets(new Map([...logs, ['the log of the emulator', await readFile(ministack.logFile, 'utf8')]]), clusters);

  progress('cdk diff of a changed policy');
  const changed = join(directory, 'cdk.out-changed-transformed');
  await transformAssembly(await synth('cdk.out-changed', 'observe'), changed, supported);
  await letReachLoopback(changed);
  const diff = await cdkOk(directory, hub.environment, 'diff', HUB, '--app', changed, '--exclusively');
  const lines = diff.split('\n').filter((line) => line.includes('Policy rehearsal'));
  for (const line of lines) progress(line.trim());
  assert.match(
    lines.join('\n'),
    /Policy rehearsal, mode.*enforce.*observe/,
    'cdk diff shows what changes in the policy',
  );

  for (const { name, account } of stacks.toReversed()) {
    progress(`cdk destroy ${name}`);
    for (const resource of leftOutOf.get(name) ?? []) await deleteThroughApi(resource, account);
    await cdkOk(directory, account.environment, 'destroy', name, '--app', app, '--exclusively', '--force');
  }
  const remaining = (await inventory()).filter((entry) => !before.has(entry));
  for (const entry of remaining) progress(`retained: ${entry}`);
  assert.deepEqual(remaining.toSorted(), retained.toSorted(), 'only what is retained on purpose is left');

  return {
    stacks: stacks.map(({ name }) => name),
    ticks,
    targets,
    csrsApproved: approved,
    csrsIssued: issued,
    journalLines,
    told,
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
