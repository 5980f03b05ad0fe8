import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { GetObjectCommand, NoSuchKey, type S3Client } from '@aws-sdk/client-s3';
import type { FleetIndex } from '../../lambdas/fleet/fleet-index.ts';
import type { Registry } from '../../lambdas/fleet/registry.ts';
import { STATE_KEYS, type StateObject } from '../../lambdas/fleet/state-keys.ts';
import { resolveBinaries } from '../control-plane/binaries.ts';
import { type SimulatedApiServer, startSimulatedApiServer } from '../fleet/api-server.ts';
import { fastClock } from '../fleet/clock.ts';
import { stacksOf, templateOf, transformAssembly } from './assembly.ts';
import { type AwsCalls, awsCalls } from './aws-call.ts';
import { cdkOk } from './cdk.ts';
import { clientsOf } from './clients.ts';
import { startEksEndpoints } from './eks-endpoints.ts';
import { fleetFile } from './fleet-file.ts';
import { logsOf } from './function-logs.ts';
import { takeInventory } from './inventory.ts';
import { createThroughApi, resolveOutputs } from './left-out.ts';
import { ACCOUNT, type MiniStack, REGION, startMiniStack } from './ministack.ts';
import { createEksCluster, type RealCluster, startRealCluster } from './real-cluster.ts';
import { type SimulatedCluster, startSimulatedCluster } from './simulated-cluster.ts';
import { outputsOf, resourcesOf } from './stack.ts';
import type { Summary } from './summary.ts';

const PROJECT = resolve(import.meta.dirname, '../..');
/** Two ticks and the window of report are under three minutes; a busy machine takes longer. */
const SWEPT_WITHIN_MS = 5 * 60_000;

/** An EKS cluster on the real API server, and one that certmarshal may not enter. */
const REAL = 'dublin';
const CLOSED = 'galway';
/** EKS Anywhere, on simulated API servers. */
const SIMULATED = ['berlin', 'munich'] as const;
const SIMULATED_NODES = 2;
const ADDRESSES = ['10.0.1.11', '10.0.1.12', '10.0.1.13'] as const;
/** Of no instance of its own: the address of another node. */
const STOLEN = ADDRESSES[0];
const IMPOSTOR = '10.0.1.66';

/** Says what goes on, a line at a time. */
export type Progress = (line: string) => void;

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
  const ministack = await startMiniStack({ environment: () => ({ AWS_ENDPOINT_URL_EKS: eksEndpoints.endpoint }) });
  emulator = ministack;
  parts.defer(() => ministack.stop());
  const calls = awsCalls(ministack);
  const clients = clientsOf(ministack);
  parts.defer(() => clients.close());

  progress('starting the clusters: the real control plane, and simulated API servers');
  const real = await startRealCluster({
    name: REAL,
    addresses: [...ADDRESSES, IMPOSTOR],
    directory,
    binaries,
    ministack,
    eksEndpoints,
    calls,
    clients,
  });
  parts.defer(() => real.stop());
  const closed = await startSimulatedApiServer({ clock: fastClock(Date.now(), 1), name: CLOSED });
  parts.defer(() => closed.stop());
  await createEksCluster(calls, clients.eks, CLOSED);
  eksEndpoints.set(CLOSED, closed);
  const simulated: SimulatedCluster[] = [];
  for (const name of SIMULATED) {
    const cluster = await startSimulatedCluster(name, SIMULATED_NODES, clients.secrets);
    parts.defer(() => cluster.stop());
    simulated.push(cluster);
  }
  const honest = await Promise.all(
    real.nodes.filter(({ address }) => address !== IMPOSTOR).map((node) => real.ask(node)),
  );
  const impostor = real.nodes.find(({ address }) => address === IMPOSTOR) ?? assert.fail('no instance of the impostor');
  const hostile = await real.ask(impostor, { address: STOLEN });

  progress('cdk bootstrap');
  const { environment } = ministack;
  await cdkOk(directory, environment, 'bootstrap', `aws://${ACCOUNT}/${REGION}`);
  const before = await takeInventory(calls);

  progress('cdk synth, as it ships');
  const synth = async (output: string, mode: 'enforce' | 'observe'): Promise<string> => {
    const fleet = join(directory, `${output}.yaml`);
    const listed = simulated.map(({ name, kubeconfigSecret }) => ({ name, kubeconfigSecret }));
    await writeFile(fleet, fleetFile({ accessEntries: [REAL], listed, mode }));
    const assembly = join(directory, output);
    await cdkOk(PROJECT, environment, 'synth', '--quiet', '--context', `fleet=${fleet}`, '--output', assembly);
    return assembly;
  };
  const resourceTypes = await ministack.resourceTypes();
  const full = await synth('cdk.out', 'enforce');
  const deployed = join(directory, 'cdk.out-transformed');
  const leftOutOf = await transformAssembly(full, deployed, resourceTypes);
  const stacks = await stacksOf(deployed);

  progress(`cdk deploy ${stacks.join(' ')}`);
  await cdkOk(directory, environment, 'deploy', '--app', deployed, '--all', '--require-approval', 'never');
  const leftOut: string[] = [];
  for (const [stack, resources] of leftOutOf) {
    const outputs = await outputsOf(calls, stack);
    for (const resource of resources) {
      const created = await createThroughApi(resolveOutputs(resource, outputs), { calls, eks: clients.eks });
      const { type, logicalId, reason } = resource;
      leftOut.push(`${type} ${logicalId}: ${reason}; ${created ? 'created through the API' : 'not created'}`);
    }
  }
  for (const line of leftOut) progress(`left out of the template: ${line}`);
  const made = (await Promise.all(stacks.map((stack) => resourcesOf(calls, stack)))).flat();
  const bucket = made.find(({ type }) => type === 'AWS::S3::Bucket')?.physicalId ?? assert.fail('no state bucket');

  progress('waiting for the scheduler, dispatch, the sweeps and report');
  const ticks = new Set<string>();
  const index = await waitForIndex({ progress, ticks, s3: clients.s3, bucket }, async (current) => {
    const issued = await Promise.all(honest.map(async (name) => (await real.request(name)).status.certificate));
    const { clusters } = current;
    return (
      issued.every((certificate) => certificate !== undefined) &&
      simulated.every((cluster) => cluster.issued() === SIMULATED_NODES) &&
      nameCount(clusters) === 2 + SIMULATED.length &&
      Object.values(clusters).some(({ name, counts }) => name === REAL && counts !== undefined)
    );
  });
  const registry = await readState<Registry>(clients.s3, bucket, 'registry');
  const targets = Object.values(registry?.clusters ?? {}).filter(({ target }) => target !== undefined);

  progress('checking what the clusters and the index say');
  assert.equal(targets.length, 2 + SIMULATED.length, 'targets in the registry');
  const requests = await Promise.all(honest.map((name) => real.request(name)));
  for (const { metadata, status } of requests)
    assert.deepEqual(
      status.conditions?.map(({ type }) => type),
      ['Approved'],
      metadata.name,
    );
  assert.deepEqual((await real.request(hostile)).status, {}, 'the request for the address of another node');
  const { SweepRoleArn = '' } = await outputsOf(calls, stacks[0] ?? '');
  assertAuthenticated(real, SweepRoleArn);
  assertIndex(index);
  await assertNoSecrets(calls, ministack, real, closed, simulated);

  progress('cdk diff of a changed policy');
  const changed = await synth('cdk.out-changed', 'observe');
  const changedApp = join(directory, 'cdk.out-changed-transformed');
  await transformAssembly(changed, changedApp, resourceTypes);
  const diff = await cdkOk(directory, environment, 'diff', '--app', changedApp, '--all');
  assert.match(diff, /Policy rehearsal, mode/, 'cdk diff names the policy and its field');

  progress('cdk destroy');
  await cdkOk(directory, environment, 'destroy', '--app', deployed, '--all', '--force');
  const after = await takeInventory(calls);
  const kept = await retainedOf(deployed, stacks, made);
  const remaining = [...after].filter((entry) => !before.has(entry)).toSorted();
  assert.deepEqual(remaining, kept, 'what cdk destroy leaves is what is retained on purpose');
  for (const entry of remaining) progress(`retained on purpose: ${entry}`);

  const simulatedIssued = simulated.reduce((sum, cluster) => sum + cluster.issued(), 0);
  return {
    stacks,
    ticks: ticks.size,
    targets: targets.length,
    csrsApproved: requests.length + simulatedIssued,
    csrsIssued: requests.filter(({ status }) => status.certificate !== undefined).length + simulatedIssued,
    leftOut,
  };
}

interface Watched {
  readonly progress: Progress;
  /** Gets the time of every tick that is seen. */
  readonly ticks: Set<string>;
  readonly s3: S3Client;
  readonly bucket: string;
}

async function waitForIndex(
  { progress, ticks, s3, bucket }: Watched,
  isEnough: (index: FleetIndex) => Promise<boolean>,
): Promise<FleetIndex> {
  const deadline = Date.now() + SWEPT_WITHIN_MS;
  let seen = '';
  for (;;) {
    const index = await readState<FleetIndex>(s3, bucket, 'index');
    if (index?.dispatch !== undefined) ticks.add(index.dispatch.at);
    const state = Object.values(index?.clusters ?? {}).map(
      ({ name, complete, findings }) => `${name} ${complete ? 'complete' : (findings[0]?.kind ?? 'incomplete')}`,
    );
    const line = `tick ${ticks.size}: ${state.join(', ') || 'no outcome yet'}`;
    if (line !== seen) progress(line);
    seen = line;
    if (index !== undefined && (await isEnough(index))) return index;
    if (Date.now() > deadline)
      throw new Error(`not swept within ${SWEPT_WITHIN_MS} ms: ${JSON.stringify(index, undefined, 1)}`);
    await sleep(1000);
  }
}

async function readState<T>(s3: S3Client, bucket: string, object: StateObject): Promise<T | undefined> {
  try {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: STATE_KEYS[object] }));
    return JSON.parse((await Body?.transformToString()) ?? '');
  } catch (error) {
    if (error instanceof NoSuchKey) return undefined;
    throw error;
  }
}

function nameCount(clusters: FleetIndex['clusters']): number {
  return new Set(Object.values(clusters).map(({ name }) => name)).size;
}

/** Only the sweep role got in, and as nothing but a member of the one group. */
function assertAuthenticated({ webhook }: RealCluster, sweepRoleArn: string): void {
  const role = sweepRoleArn.split('/').at(-1);
  const accepted = webhook.decisions.filter((decision) => !decision.startsWith('refused'));
  assert.ok(accepted.length > 0, `nobody got in: ${webhook.decisions.join('; ')}`);
  for (const decision of accepted)
    assert.match(decision, new RegExp(`^arn:aws:sts::${ACCOUNT}:assumed-role/${role}/\\S+ \\[certmarshal\\]$`));
}

/** Three clusters are well, and what is wrong with the fourth is one finding with its remedy. */
function assertIndex({ clusters }: FleetIndex): void {
  const byName = new Map(Object.values(clusters).map((cluster) => [cluster.name, cluster]));
  for (const name of [REAL, ...SIMULATED]) assert.equal(byName.get(name)?.complete, true, name);
  const closed = byName.get(CLOSED);
  assert.equal(closed?.readable, false, CLOSED);
  assert.equal(closed?.findings.length, 1, CLOSED);
  assert.equal(closed?.findings[0]?.kind, 'unauthorized', CLOSED);
  assert.notEqual(closed?.findings[0]?.remedy, '', CLOSED);
}

/** Nothing that was written anywhere holds a token. */
async function assertNoSecrets(
  calls: AwsCalls,
  ministack: MiniStack,
  real: RealCluster,
  closed: SimulatedApiServer,
  simulated: readonly SimulatedCluster[],
): Promise<void> {
  const written = [await readFile(ministack.logFile, 'utf8'), ...(await logsOf(calls)).values()].join('\n');
  const tokens = [
    real.controlPlane.adminToken,
    closed.adminToken,
    ...simulated.map(({ cluster }) => cluster.server.tokenFor('certmarshal')),
  ];
  for (const secret of ['k8s-aws-v1.', 'X-Amz-Signature', ...tokens])
    assert.ok(!written.includes(secret), 'a log holds a token');
}

/** What a template says is to stay, as the inventory names it. */
async function retainedOf(
  assembly: string,
  stacks: readonly string[],
  made: readonly { readonly logicalId: string; readonly physicalId: string; readonly type: string }[],
): Promise<readonly string[]> {
  const templates = await Promise.all(stacks.map((stack) => templateOf(assembly, stack)));
  const retained = new Set(
    templates.flatMap(({ Resources }) =>
      Object.entries(Resources)
        .filter(([, { DeletionPolicy }]) => DeletionPolicy === 'Retain')
        .map(([logicalId]) => logicalId),
    ),
  );
  return made
    .filter(({ logicalId }) => retained.has(logicalId))
    .map(({ type, physicalId }) => `${type} ${physicalId}`)
    .toSorted();
}

if (import.meta.main) {
  const started = Date.now();
  const say: Progress = (line) =>
    process.stderr.write(`${((Date.now() - started) / 1000).toFixed(0).padStart(4)} s  ${line}\n`);
  try {
    process.stdout.write(`${JSON.stringify(await rehearse(say))}\n`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exitCode = 1;
  }
}
