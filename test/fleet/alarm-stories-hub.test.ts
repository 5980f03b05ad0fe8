import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALARMS, type AlarmId } from '../../lambdas/tables/alarms.ts';
import { type Story, startStory } from './alarms/story.ts';
import { type TwoClusters, twoClusters, twoClustersFile } from './alarms/story-clusters.ts';
import { AwsFault } from './aws/aws-fault.ts';
import { UNPLUGGED } from './faults.ts';
import { approvedIn } from './hub/clusters.ts';
import { findingsOf } from './hub/hub.ts';
import { HUB, SWEEP_ROLE } from './hub/places.ts';
import { type Signer, startSigner } from './signer.ts';

const start = async (audits = true, home: 'bucket' | 'directory' = 'bucket'): Promise<Story<TwoClusters>> =>
  startStory({ clusters: twoClusters, fleetFile: twoClustersFile, audits, home });

/** A node that can be proven asks: the decision has to be written down. */
function askInBerlin({ clusters: { berlin } }: Story<TwoClusters>): void {
  berlin.addNode(1);
  berlin.ask(1);
}

const meaning = (id: AlarmId): string => ALARMS[id].meaning;
const SAYS = {
  plan: `certmarshal: ${meaning('PlanHeartbeat')}`,
  report: `certmarshal: ${meaning('ReportHeartbeat')}`,
  failed: `certmarshal (failed): ${meaning('Executions')}`,
  snapshots: `certmarshal: ${meaning('SnapshotsUnwritten')}`,
  discovery: `certmarshal: ${meaning('DiscoveryProblems')}`,
  journal: `certmarshal: ${meaning('JournalUnwritten')}`,
  oldest: `certmarshal: ${meaning('OldestSweep')}`,
  unswept: `certmarshal: ${meaning('OldestSweep')}`,
} as const;

/** The same thing when it is over. */
const over = (text: string): string => text.replace(': ', ': over. It was: ');

// CloudWatch makes up for missing minutes with older ones, two of them here: three missing ones of five ring after the fifth.
const SILENCE = 5;

describe('when Scheduler starts no execution', () => {
  let story: Story<TwoClusters>;
  beforeAll(async () => {
    story = await start();
    story.broken.add('scheduler');
    await story.minutes(12);
    story.broken.clear();
    await story.until(() => story.isOver(), 40);
  });
  afterAll(async () => story[Symbol.asyncDispose]());

  it('rings for the minute, and for what is no longer known without it', () => {
    expect(story.rang()).toEqual({
      'plan-heartbeat': SILENCE,
      'report-heartbeat': SILENCE,
      'oldest-sweep': SILENCE,
      critical: SILENCE,
    });
    expect(story.fallback()).toEqual(['critical ALARM 5', 'critical OK 15']);
  });

  it('tells which clusters are not swept, and when it is over', () => {
    expect(story.told()).toEqual([
      `5 [critical] ${SAYS.plan}`,
      `5 [critical] ${SAYS.report}`,
      // The index knows nothing of these minutes.
      `5 [critical] ${SAYS.oldest}`,
      `15 [resolved] ${over(SAYS.plan)}`,
      `15 [resolved] ${over(SAYS.report)}`,
      `15 [resolved] ${over(SAYS.oldest)}`,
    ]);
    expect(story.incidents()).toEqual([
      '5 opened PlanHeartbeat',
      '5 opened ReportHeartbeat',
      '5 opened OldestSweep',
      '15 closed PlanHeartbeat',
      '15 closed ReportHeartbeat',
      '15 closed OldestSweep',
    ]);
    expect(story.ringing()).toEqual([]);
  });
});

it('rings for plan, which fails, and for what is not swept', async () => {
  await using story = await start();
  story.broken.add('plan');
  await story.minutes(9);
  // Report runs, and folds the outcomes of the minute before once more.
  expect(story.rang()).toEqual({
    'plan-heartbeat': SILENCE,
    'report-heartbeat': SILENCE + 1,
    'oldest-sweep': 7,
    critical: SILENCE,
  });
  expect(findingsOf(story.hub.index()).map(({ kind }) => kind)).toEqual(['plan']);
  story.broken.clear();
  await story.until(() => story.isOver(), 40);
});

it('rings for the one sweep function that is dead, and for its clusters', async () => {
  await using story = await start();
  story.broken.add('sweep');
  await story.minutes(10);
  story.broken.clear();
  await story.until(() => story.isOver(), 40);
  expect(story.rang()).toEqual({ 'report-heartbeat': SILENCE + 1, 'oldest-sweep': 7, critical: SILENCE + 1 });
  expect(story.told()).toEqual([
    `6 [critical] ${SAYS.report}`,
    `7 [critical] ${SAYS.unswept}`,
    `13 [resolved] ${over(SAYS.report)}`,
    `13 [resolved] ${over(SAYS.oldest)}`,
  ]);
});

it('says which topic a subscriber got no message of, for an hour after the last one', async () => {
  await using story = await start(false);
  story.store.add({
    namespace: 'AWS/SNS',
    name: 'NumberOfNotificationsFailed',
    dimensions: { TopicName: 'TopicsIncidents31400822' },
    value: 1,
    at: story.clock.now(),
  });
  await story.until(() => story.isOver() && story.told().length > 1, 70);
  const said = `certmarshal (pager): ${meaning('NotificationsFailed')}`;
  expect(story.told()).toEqual([`1 [critical] ${said}`, `63 [resolved] ${over(said)}`]);
  expect(story.fallback()).toEqual(['critical ALARM 1', 'critical OK 63']);
  expect(story.incidents()).toEqual(['1 opened NotificationsFailed pager', '63 closed NotificationsFailed pager']);
});

it('says at once that a tick failed, and does not take the silence of report for health', async () => {
  await using story = await start();
  story.broken.add('report');
  await story.minutes(10);
  expect(story.rang()).toEqual({
    'executions-failed': 1,
    warning: 1,
    'report-heartbeat': SILENCE,
    'oldest-sweep': SILENCE,
    critical: SILENCE,
  });
  expect(story.told()).toEqual([
    `1 [warning] ${SAYS.failed}`,
    `5 [critical] ${SAYS.report}`,
    `5 [critical] ${SAYS.oldest}`,
  ]);
  story.broken.clear();
  await story.until(() => story.isOver(), 35);
});

it('sweeps nothing while S3 answers 503, rings for that, and the next minute is whole', async () => {
  await using story = await start();
  askInBerlin(story);
  const fault = new AwsFault(503, 'ServiceUnavailable', 'Reduce your request rate.');
  const ends = ['GetObject', 'PutObject', 'ListObjectsV2'].map((action) => story.aws.fail(`s3:${action}`, fault));
  await story.minutes(1);
  expect(story.rang()).toEqual({ 'executions-failed': 1, warning: 1 });
  expect(approvedIn(story.clusters.berlin)).toEqual([]);
  for (const end of ends) end();
  await story.minutes(1);
  expect(approvedIn(story.clusters.berlin)).toHaveLength(1);
  expect(findingsOf(story.hub.index())).toEqual([]);
  await story.until(() => story.isOver(), 30);
  expect(story.rang()).toEqual({ 'executions-failed': 1, warning: 1 });
});

it('rings when S3 can only be read: then nothing is planned, and nothing approved', async () => {
  await using story = await start();
  await using _ = disposable(await startSigner({ api: story.clusters.berlin.server.api }));
  const end = story.aws.deny('s3:PutObject');
  askInBerlin(story);
  await story.minutes(10);
  expect(story.rang()).toMatchObject({
    'executions-failed': 1,
    'plan-heartbeat': SILENCE,
    'report-heartbeat': SILENCE,
  });
  expect(approvedIn(story.clusters.berlin)).toEqual([]);
  end();
  await story.until(() => story.isOver(), 65);
  expect(approvedIn(story.clusters.berlin)).toHaveLength(1);
});

it('says once that the journal cannot be written', async () => {
  // Without audits, and with its state elsewhere, the journal is all that the sweep writes to S3.
  await using story = await start(false, 'directory');
  await using signer = disposable(await startSigner({ api: story.clusters.berlin.server.api }));
  const end = story.aws.deny('s3:PutObject', { account: HUB.account, role: SWEEP_ROLE });
  askInBerlin(story);
  await story.minutes(3);
  end();
  await story.until(() => story.isOver(), 40);
  expect(story.rang()).toEqual({ 'journal-unwritten': 1, warning: 1 });
  expect(story.told()).toEqual([`1 [warning] ${SAYS.journal}`, `4 [resolved] ${over(SAYS.journal)}`]);
  expect(story.incidents()).toEqual(['1 opened JournalUnwritten', '4 closed JournalUnwritten']);
  expect(signer.caPem).toContain('CERTIFICATE');
});

it('is no recovery of a cluster that report died: its series may end, and CloudWatch call that OK', async () => {
  await using story = await startStory({ clusters: twoClusters, fleetFile: twoClustersFile, vanishing: 'OK' });
  const plugIn = story.clusters.berlin.server.inject(UNPLUGGED);
  await story.minutes(13);
  story.broken.add('report');
  await story.minutes(10);
  const key = 'ClusterUnreadable berlin';
  expect(story.ringing()).not.toContain('cluster-unreadable');
  // Said again, not closed.
  expect(story.incidents().filter((line) => line.endsWith(key))).toEqual([`11 opened ${key}`, `17 opened ${key}`]);
  story.broken.clear();
  await story.minutes(3);
  plugIn();
  await story.until(() => story.isOver(), 35);
  expect(story.incidents().at(-1)).toMatch(/ closed /);
});

function disposable(signer: Signer): Signer & AsyncDisposable {
  return { ...signer, [Symbol.asyncDispose]: async () => signer.stop() };
}
