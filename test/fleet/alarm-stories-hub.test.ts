import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALARMS, type AlarmId } from '../../lambdas/tables/alarms.ts';
import { type Story, startStory } from './alarms/story.ts';
import { type TwoClusters, twoClusters, twoClustersFile, ZURICH } from './alarms/story-clusters.ts';
import { UNPLUGGED } from './faults.ts';
import { HUB, SWEEP_ROLE } from './hub/places.ts';
import { type Signer, startSigner } from './signer.ts';

const start = async (audits = true): Promise<Story<TwoClusters>> =>
  startStory({ clusters: twoClusters, fleetFile: twoClustersFile, audits });

/** A node that can be proven asks: the decision has to be written down. */
function askInBerlin({ clusters: { berlin } }: Story<TwoClusters>): void {
  berlin.addNode(1);
  berlin.ask(1);
}

const meaning = (id: AlarmId): string => ALARMS[id].meaning.replace(/\.$/, '');
const SAYS = {
  dispatch: `certmarshal: ${meaning('DispatchHeartbeat')}`,
  report: `certmarshal: ${meaning('ReportHeartbeat')}`,
  errors: (part: string) => `certmarshal (${part}): ${meaning('FunctionErrors')}`,
  queue: (part: string) => `certmarshal (${part}): ${meaning('QueueAge')}`,
  snapshots: `certmarshal: ${meaning('SnapshotsUnwritten')}`,
  discovery: `certmarshal: ${meaning('DiscoveryProblems')}`,
  journal: `certmarshal: ${meaning('JournalUnwritten')}`,
  sweptAgain: `2 clusters (zurich, berlin). It was: ${ALARMS.OldestSweep.meaning}`,
  unswept: `2 clusters: zurich, berlin. ${ALARMS.OldestSweep.meaning}`,
} as const;

/** The same thing when it is over. */
const over = (text: string): string => text.replace(': ', '. It was: ');

// CloudWatch makes up for missing minutes with older ones, two of them here: three missing ones of five ring after the fifth.
const SILENCE = 5;

describe('when Scheduler starts dispatch no more', () => {
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
      'dispatch-heartbeat': SILENCE,
      'report-heartbeat': SILENCE,
      'oldest-sweep': SILENCE,
      critical: SILENCE,
    });
    expect(story.fallback()).toEqual(['critical ALARM 5', 'critical OK 15']);
  });

  it('tells which clusters are not swept, and when it is over', () => {
    expect(story.told()).toEqual([
      `5 [critical] ${SAYS.dispatch}`,
      `5 [critical] ${SAYS.report}`,
      `5 [critical] ${SAYS.unswept}`,
      `15 [resolved] ${over(SAYS.dispatch)}`,
      `15 [resolved] ${over(SAYS.report)}`,
      `31 [resolved] ${SAYS.sweptAgain}`,
    ]);
    expect(story.events()).toEqual([
      'opened DispatchHeartbeat',
      'opened ReportHeartbeat',
      `opened OldestSweep: ${ZURICH}`,
      'opened OldestSweep: berlin',
      'closed DispatchHeartbeat',
      'closed ReportHeartbeat',
      `closed OldestSweep: ${ZURICH}`,
      'closed OldestSweep: berlin',
    ]);
    expect(story.ringing()).toEqual([]);
  });
});

it('says that dispatch fails before its silence rings', async () => {
  await using story = await start();
  story.broken.add('dispatch');
  await story.minutes(6);
  expect(story.rang()).toEqual({
    'function-errors-dispatch': 3,
    warning: 3,
    'dispatch-heartbeat': SILENCE,
    'report-heartbeat': SILENCE,
    'oldest-sweep': SILENCE,
    critical: SILENCE,
  });
  expect(story.told()[0]).toBe(`3 [warning] ${SAYS.errors('dispatch')}`);
  expect(story.events()[0]).toBe('opened FunctionErrors (dispatch)');
  story.broken.clear();
  await story.until(() => story.isOver(), 34);
});

it('rings for the one sweep function that is dead, its queue and its clusters, and for nothing else', async () => {
  await using story = await start();
  story.broken.add('sweep');
  await story.minutes(10);
  story.broken.clear();
  await story.until(() => story.isOver(), 40);
  // A message comes back after 90 seconds, so the function fails in two of three minutes, and the queue is as old. No cluster was swept for 300 seconds in the
  // minutes from the fifth on.
  expect(story.rang()).toEqual({
    'function-errors-sweep-default': 3,
    'queue-age-orders-default': 4,
    warning: 3,
    'oldest-sweep': 7,
    critical: 7,
  });
  expect(story.fallback()).toEqual(['warning ALARM 3', 'critical ALARM 7', 'critical OK 13', 'warning OK 13']);
  expect(story.told()).toEqual([
    `3 [warning] ${SAYS.errors('sweep-default')}`,
    `4 [warning] ${SAYS.queue('orders-default')}`,
    `7 [critical] ${SAYS.unswept}`,
    `13 [resolved] ${over(SAYS.errors('sweep-default'))}`,
    `13 [resolved] ${over(SAYS.queue('orders-default'))}`,
    `26 [resolved] ${SAYS.sweptAgain}`,
  ]);
  expect(story.events()).toEqual([
    'opened FunctionErrors (sweep-default)',
    'opened QueueAge (orders-default)',
    `opened OldestSweep: ${ZURICH}`,
    'opened OldestSweep: berlin',
    'closed FunctionErrors (sweep-default)',
    'closed QueueAge (orders-default)',
    `closed OldestSweep: ${ZURICH}`,
    'closed OldestSweep: berlin',
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
  expect(story.events()).toEqual(['opened NotificationsFailed (pager)', 'closed NotificationsFailed (pager)']);
});

it('does not take the silence of report for health', async () => {
  await using story = await start();
  story.broken.add('report');
  await story.minutes(15);
  // The queue keeps an outcome for 900 seconds: three quarters of that in the twelfth minute, and two more.
  expect(story.rang()).toEqual({
    'function-errors-report': 3,
    warning: 3,
    'report-heartbeat': SILENCE,
    'oldest-sweep': SILENCE,
    critical: SILENCE,
    'queue-age-outcomes': 14,
  });
  expect(story.told()).toEqual([
    `3 [warning] ${SAYS.errors('report')}`,
    `5 [critical] ${SAYS.report}`,
    `5 [critical] ${SAYS.unswept}`,
    `14 [warning] ${SAYS.queue('outcomes')}`,
  ]);
  story.broken.clear();
  await story.until(() => story.isOver(), 35);
});

describe('when S3 can only be read', () => {
  let story: Story<TwoClusters>;
  let signer: Signer;
  beforeAll(async () => {
    story = await start();
    signer = await startSigner({ api: story.clusters.berlin.server.api });
    const end = story.aws.deny('s3:PutObject');
    askInBerlin(story);
    await story.minutes(15);
    end();
    // An audit that could not keep what it saw rings for half an hour.
    await story.until(() => story.isOver(), 65);
  });
  afterAll(async () => {
    await signer.stop();
    await story[Symbol.asyncDispose]();
  });

  it('rings for everything that is not kept', () => {
    expect(story.rang()).toEqual({
      'journal-unwritten': 1,
      'snapshots-unwritten': 3,
      warning: 1,
      'function-errors-report': 3,
      'function-errors-notify': 8,
      'report-heartbeat': SILENCE,
      'oldest-sweep': SILENCE,
      critical: SILENCE,
      'discovery-problems': 10,
      'queue-age-outcomes': 14,
    });
  });

  // What is not in the journal is in the log, and not tried again: its alarm ends, which notify cannot remember.
  it('tells each once, although it cannot be remembered that it was told', () => {
    expect(story.told()).toEqual([
      `1 [warning] ${SAYS.journal}`,
      `3 [warning] ${SAYS.errors('report')}`,
      `3 [warning] ${SAYS.snapshots}`,
      `5 [critical] ${SAYS.report}`,
      `5 [critical] ${SAYS.unswept}`,
      '7 as it came: journal-unwritten OK',
      `10 [warning] ${SAYS.discovery}`,
      `14 [warning] ${SAYS.queue('outcomes')}`,
    ]);
  });

  it('closes the incidents of the pager', () => {
    expect(story.fallback()).toEqual([
      'warning ALARM 1',
      'critical ALARM 5',
      'critical OK 17',
      expect.stringMatching(/^warning OK 4\d$/),
    ]);
  });

  it('approves all the same', () => {
    expect(story.output()).toContain('"outcome":"written"');
  });
});

it('says once that the journal cannot be written', async () => {
  // Without audits the journal is all that the sweep writes to S3.
  await using story = await start(false);
  await using signer = disposable(await startSigner({ api: story.clusters.berlin.server.api }));
  const end = story.aws.deny('s3:PutObject', { account: HUB.account, role: SWEEP_ROLE });
  askInBerlin(story);
  await story.minutes(3);
  end();
  await story.until(() => story.isOver(), 40);
  expect(story.rang()).toEqual({ 'journal-unwritten': 1, warning: 1 });
  expect(story.told()).toEqual([`1 [warning] ${SAYS.journal}`, `4 [resolved] ${over(SAYS.journal)}`]);
  expect(story.events()).toEqual(['opened JournalUnwritten', 'closed JournalUnwritten']);
  expect(signer.caPem).toContain('CERTIFICATE');
});

it('tells every five minutes, and not more often, what it cannot remember while the same alarm is open', async () => {
  await using story = await start();
  const { berlin, zurich } = story.clusters;
  const plugInBerlin = berlin.server.inject(UNPLUGGED);
  await story.minutes(12);
  const plugInZurich = zurich.server.inject(UNPLUGGED);
  await story.minutes(5);
  const end = story.aws.deny('s3:PutObject');
  await story.minutes(12);
  end();
  plugInBerlin();
  plugInZurich();
  await story.until(() => story.isOver(), 60);
  const told = story.told().filter((line) => line.includes('cannot read its certificate requests'));
  // Each look finds that nobody was told of zurich.
  expect(told.map((line) => line.split(/(?:: |\. It was: )certmarshal/, 1)[0])).toEqual([
    '11 [critical] berlin',
    '21 [critical] zurich',
    '26 [critical] zurich',
    '46 [resolved] berlin',
  ]);
});

function disposable(signer: Signer): Signer & AsyncDisposable {
  return { ...signer, [Symbol.asyncDispose]: async () => signer.stop() };
}
