import { describe, expect, it } from 'vitest';
import { type Story, startStory } from './alarms/story.ts';
import { type TwoClusters, twoClusters, twoClustersFile } from './alarms/story-clusters.ts';
import { UNPLUGGED } from './faults.ts';

const start = async (): Promise<Story<TwoClusters>> =>
  startStory({ clusters: twoClusters, fleetFile: (clusters) => twoClustersFile(clusters, {}) });

const KEY = 'ClusterUnreadable berlin';
const UNREADABLE = 'certmarshal cannot read its certificate requests: unreachable: the connection broke (ECONNRESET)';

describe('one incident, opened and closed', () => {
  it('has the same key and the same words on the pager, while CloudWatch tells the fallback topic', async () => {
    await using story = await start();
    const plugIn = story.clusters.berlin.server.inject(UNPLUGGED);
    await story.minutes(15);
    plugIn();
    await story.until(() => story.isOver(), 40);
    expect(story.paged()).toEqual([
      `11 ALARM ${KEY}: [critical] berlin: ${UNREADABLE}`,
      `31 OK ${KEY}: [resolved] berlin. It was: ${UNREADABLE}`,
    ]);
    expect(story.fallback()).toEqual(['critical ALARM 11', 'critical OK 19']);
    expect(story.events()).toHaveLength(2);
  });

  it.each(['critical', 'pager', 'chat'] as const)('is told on every topic, though notify dies at %s', async (topic) => {
    await using story = await start();
    story.deadly.add(topic);
    const plugIn = story.clusters.berlin.server.inject(UNPLUGGED);
    await story.minutes(20);
    expect(story.deadly.size).toBe(0);
    expect(new Set(story.told().map((line) => line.replace(/^\d+ /, '')))).toEqual(
      new Set([`[critical] berlin: ${UNREADABLE}`]),
    );
    expect(new Set(story.paged().map((line) => line.replace(/^\d+ /, '')))).toEqual(
      new Set([`ALARM ${KEY}: [critical] berlin: ${UNREADABLE}`]),
    );
    expect(story.threads()).toContain(KEY);
    story.deadly.add(topic);
    plugIn();
    await story.until(() => story.isOver() && story.paged().at(-1)?.includes(`OK ${KEY}`) === true, 60);
    expect(story.told().at(-1)).toContain('[resolved] berlin');
    await story.minutes(10);
    expect(story.paged().at(-1)).toContain(`OK ${KEY}`);
    expect(story.threads().length).toBeGreaterThanOrEqual(2);
  });

  it.each(['pager', 'chat'] as const)('reaches %s once, also when it refuses for a while', async (topic) => {
    await using story = await start();
    story.refusing.add(topic);
    const plugIn = story.clusters.berlin.server.inject(UNPLUGGED);
    await story.minutes(20);
    expect(story.told()).toEqual([`11 [critical] berlin: ${UNREADABLE}`]);
    expect(story.output()).toContain('events not taken');
    story.refusing.clear();
    await story.minutes(5);
    expect(story.events()).toEqual(['opened ClusterUnreadable: berlin']);
    plugIn();
    await story.until(() => story.isOver(), 40);
    expect(story.events()).toEqual(['opened ClusterUnreadable: berlin', 'closed ClusterUnreadable: berlin']);
  });
});
