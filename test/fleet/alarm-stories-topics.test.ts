import { describe, expect, it } from 'vitest';
import { type Story, startStory } from './alarms/story.ts';
import { type TwoClusters, twoClusters, twoClustersFile } from './alarms/story-clusters.ts';
import { UNPLUGGED } from './faults.ts';

const start = async (): Promise<Story<TwoClusters>> =>
  startStory({ clusters: twoClusters, fleetFile: (clusters) => twoClustersFile(clusters, {}) });

const KEY = 'ClusterUnreadable berlin';
const TOPICS = ['critical', 'pager', 'chat'] as const;

/** States under the key, by topic. */
const statesOn = ({ people }: Story<TwoClusters>, topic: string) =>
  people.messages.filter((sent) => sent.topic === topic && sent.key === KEY).map(({ state }) => state);

describe('one incident, opened and closed', () => {
  it('has one key on every topic, while CloudWatch writes to the fallback topic', async () => {
    await using story = await start();
    const plugIn = story.clusters.berlin.server.inject(UNPLUGGED);
    await story.minutes(15);
    plugIn();
    await story.until(() => story.isOver(), 40);
    expect(story.incidents()).toEqual([`11 opened ${KEY}`, `17 closed ${KEY}`]);
    expect(story.fallback()).toEqual(['critical ALARM 11', 'critical OK 17']);
  });

  it.each(TOPICS)('comes at least once, though notify dies at %s', async (topic) => {
    await using story = await start();
    story.people.deadly.add(topic);
    const plugIn = story.clusters.berlin.server.inject(UNPLUGGED);
    await story.minutes(13);
    story.people.deadly.add(topic);
    plugIn();
    await story.until(() => story.isOver(), 40);
    expect(story.people.deadly.size).toBe(0);
    for (const one of TOPICS) expect(new Set(statesOn(story, one))).toEqual(new Set(['opened', 'closed']));
    for (const one of TOPICS) expect(statesOn(story, one).at(-1)).toBe('closed');
    // Lambda waits a minute.
    expect(statesOn(story, topic)).toEqual(['opened', 'closed']);
  });

  it.each(TOPICS)('comes to the others while %s refuses, and to people as it is after three tries', async (topic) => {
    await using story = await start();
    story.people.refusing.add(topic);
    const plugIn = story.clusters.berlin.server.inject(UNPLUGGED);
    await story.minutes(15);
    for (const one of TOPICS) expect(statesOn(story, one)).toEqual(one === topic ? [] : Array(3).fill('opened'));
    const raw = story.people.messages.filter(({ state }) => state === 'raw');
    expect(raw.some(({ line }) => line.includes('"Cluster":"berlin"') && line.includes('"value":"ALARM"'))).toBe(true);
    // CloudWatch itself tells people that notify fails.
    expect(story.ringing()).toContain('function-errors-notify');
    expect(raw.some(({ line }) => line === 'certmarshal-function-errors-notify ALARM')).toBe(true);
    story.people.refusing.clear();
    plugIn();
    await story.until(() => story.isOver(), 40);
    for (const one of TOPICS) expect(statesOn(story, one).at(-1)).toBe('closed');
  });

  it('has the same key though events come twice and in any order', async () => {
    await using story = await start();
    story.people.isDisordered = true;
    const plugIn = story.clusters.berlin.server.inject(UNPLUGGED);
    await story.minutes(15);
    plugIn();
    await story.until(() => story.isOver(), 40);
    expect(statesOn(story, 'pager')).toEqual(['opened', 'opened', 'closed', 'closed']);
  });
});

it('has a message a day, of what is open or that no alarm fires', async () => {
  await using story = await start();
  const daily = async (): Promise<readonly string[]> => {
    story.begin();
    await story.people.daily();
    return story.people.messages.map(({ topic, line }) => `${topic} ${line}`);
  };
  expect(await daily()).toEqual(
    ['warning', 'chat'].map((topic) => expect.stringMatching(`^${topic} .daily. No alarm fires: 2 clusters, 2 new`)),
  );
  story.clusters.berlin.server.inject(UNPLUGGED);
  await story.minutes(15);
  expect(await daily()).toEqual(
    ['warning', 'chat'].map((topic) =>
      expect.stringMatching(`^${topic} .daily. Needs a person: 2 clusters, 1 critical`),
    ),
  );
});
