import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addMachine } from '../fleet/demo-cluster.ts';
import { letReachLoopback } from '../unit/functions/reach-loopback.ts';
import { type Account, openAccount } from './account.ts';
import { stacksOf, templateFile, transformAssembly } from './assembly.ts';
import { cdkOk } from './cdk.ts';
import { fleetFile } from './fleet-file.ts';
import { ACCOUNT, installMiniStack, type MiniStack, REGION, SPOKE_ACCOUNT, startMiniStack } from './ministack.ts';
import { type SimulatedCluster, startSimulatedCluster } from './simulated-cluster.ts';
import { outputsOf, resourcesOf, type StackResource } from './stack.ts';
import { tool } from './tool.ts';
import { PREVIOUS, previousApp, withoutPrevious } from './upgrade/previous-version.ts';
import { watchIndex } from './watch.ts';

const SUITE = 'the upgrade of the stacks';
const missing = (await withoutPrevious(SUITE)) ?? (await tool(SUITE, installMiniStack)).missing;
const PROJECT = resolve(import.meta.dirname, '../..');
const HUB = 'CertMarshal';
type Name = 'previous' | 'this';

describe.skipIf(missing)('the stacks of the version before', () => {
  const parts = new AsyncDisposableStack();
  let directory: string;
  let aws: MiniStack;
  let hub: Account;
  let berlin: SimulatedCluster;
  const assemblyOf = (name: Name): string => join(directory, `cdk.out-${name}`);

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'certmarshal-upgrade-'));
    parts.defer(() => rm(directory, { recursive: true, force: true }));
    aws = await startMiniStack();
    parts.defer(() => aws.stop());
    hub = openAccount(aws, ACCOUNT);
    parts.defer(() => hub.close());
    berlin = await startSimulatedCluster('berlin', 1, hub.secrets);
    parts.defer(() => berlin.stop());
    const file = join(directory, 'fleet.yaml');
    const { name, kubeconfigSecret } = berlin;
    const fleet = { accessEntries: { hub: [], spoke: [] }, spokeAccount: SPOKE_ACCOUNT, mode: 'enforce' } as const;
    await writeFile(file, fleetFile({ ...fleet, listed: [{ name, kubeconfigSecret }] }));
    await mkdir(join(directory, 'previous'));
    const previous = await previousApp(PREVIOUS.orders, join(directory, 'previous'));
    for (const [of, app] of [
      ['previous', previous],
      ['this', PROJECT],
    ] as const) {
      const options = ['--quiet', '--context', `fleet=${file}`, '--output', assemblyOf(of)];
      await cdkOk(app, hub.environment, 'synth', ...options);
    }
  });
  afterAll(async () => parts.disposeAsync());

  // By what AWS says of each type; an output that goes would be among them.
  it.each<[string, Name, Name, readonly string[]]>([
    [
      'an upgrade deletes the queue of orders',
      'previous',
      'this',
      [
        'AWS::Lambda::EventSourceMapping Outcomes/Report/SqsEventSource',
        'AWS::SQS::Queue Lane-default/Orders',
        'AWS::SQS::QueuePolicy Lane-default/Orders/Policy',
        'AWS::Lambda::EventSourceMapping Lane-default/Sweep/SqsEventSource',
      ],
    ],
    [
      'a rollback deletes those of shards and of starts',
      'this',
      'previous',
      [
        ...['Incidents', 'Chat'].flatMap((topic) => [
          `AWS::SNS::Topic Topics/${topic}`,
          `AWS::SNS::TopicPolicy Topics/${topic}/Policy`,
        ]),
        'AWS::SQS::Queue Outcomes/Starts',
        'AWS::SQS::QueuePolicy Outcomes/Starts/Policy',
        'AWS::Lambda::EventSourceMapping Outcomes/Report/SqsEventSource',
        'AWS::SQS::Queue Lane-default/Shards',
        'AWS::SQS::QueuePolicy Lane-default/Shards/Policy',
        'AWS::Lambda::EventSourceMapping Lane-default/Sweep/SqsEventSource',
        'AWS::CloudWatch::Alarm IssuedNamesAnother',
        'Output ChatTopicArn',
        'Output FallbackTopicArn',
      ],
    ],
  ])('lose nothing but what the other version does not have: %s', async (_, from, to, lost) => {
    const stacks = await stacksOf(assemblyOf(to));
    let diff = '';
    for (const { name } of stacks) {
      const options = ['--app', assemblyOf(to), '--template', templateFile(assemblyOf(from), name), '--exclusively'];
      diff += await cdkOk(directory, hub.environment, 'diff', name, ...options);
    }
    expect(stacks).toHaveLength(2);
    // As the CDK marks a resource, and a property: alarms speak of machines that are replaced.
    const isReplaced = (line: string) =>
      /^\[.\] .*\b(?:replace|replaced|orphan)$|\((?:requires|may cause) replacement\)/.test(line);
    expect(diff.split('\n').filter(isReplaced)).toEqual([]);
    const gone = [...diff.matchAll(/^\[-\] (?!Metadata)(\S+ [^\s:]+)/gm)].map(([, resource]) => resource);
    expect(gone).toEqual(lost);
  });

  it('are deployed, upgraded, and rolled back, and each time a kubelet gets its certificate', async () => {
    await cdkOk(directory, hub.environment, 'bootstrap', `aws://${ACCOUNT}/${REGION}`);
    const supported = await aws.resourceTypes();
    let nodes = berlin.nodes;
    const deployed = async (name: Name) => {
      const app = `${assemblyOf(name)}-transformed`;
      await transformAssembly(assemblyOf(name), app, supported);
      await letReachLoopback(app);
      const options = ['--app', app, '--exclusively', '--require-approval', 'never'];
      await cdkOk(directory, hub.environment, 'deploy', HUB, ...options);
      const at = new Date().toISOString();
      const resources = await resourcesOf(hub.calls, HUB);
      const outputs = await outputsOf(hub.calls, HUB);
      nodes += 1;
      const node = { name: `berlin-${nodes}`, dnsNames: [`berlin-${nodes}`], ipAddresses: [`10.20.0.${nodes}`] };
      addMachine(berlin.cluster, node);
      berlin.cluster.start(node);
      const state = { s3: hub.s3, bucket: outputs['FleetBucketName'] ?? '' };
      const { index } = await watchIndex(
        state,
        () => undefined,
        async ({ clusters }) => {
          const { sweptAt = '', complete } = clusters['berlin'] ?? {};
          return sweptAt > at && complete === true && berlin.issued() === nodes;
        },
      );
      return { resources, outputs, since: index.clusters['berlin']?.slo?.since, reported: index.reported };
    };
    const before = await deployed('previous');
    const upgraded = await deployed('this');
    const rolledBack = await deployed('previous');
    for (const [from, to] of [
      [before, upgraded],
      [upgraded, rolledBack],
    ] as const) {
      expect(replaced(from.resources, to.resources)).toEqual([]);
      expect(lasting(to.outputs)).toEqual(lasting(from.outputs));
      // The index goes on.
      expect(to.since).toBe(from.since);
    }
    expect([before, upgraded, rolledBack].map(({ reported }) => typeof reported)).toEqual([
      'undefined',
      'number',
      'undefined',
    ]);
  });
});

/** What is there in both, as another one. */
function replaced(before: readonly StackResource[], after: readonly StackResource[]): readonly StackResource[] {
  const ids = new Map(before.map(({ logicalId, physicalId }) => [logicalId, physicalId]));
  return after.filter(({ logicalId, physicalId }) => (ids.get(logicalId) ?? physicalId) !== physicalId);
}

/** Outputs but that of the queue of orders, and those that the emulator needs. The topic that was the pager is the fallback now. */
function lasting({ FallbackTopicArn, ...outputs }: Readonly<Record<string, string>>) {
  const own = Object.entries(outputs).filter(([name]) => !/^OrdersQueueUrl|^ChatTopicArn$|Property\d+$/.test(name));
  return { ...Object.fromEntries(own), ...(FallbackTopicArn === undefined ? {} : { PagerTopicArn: FallbackTopicArn }) };
}
