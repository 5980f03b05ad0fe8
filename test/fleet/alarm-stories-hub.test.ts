import { describe, expect, it, vi } from 'vitest';
import { startStory } from './alarms/story.ts';
import { twoClusters, twoClustersFile } from './alarms/story-clusters.ts';

// Waits between tries and between paced calls.
vi.mock('node:timers/promises', async (original) => ({
  ...(await original<object>()),
  setTimeout: async () => undefined,
}));

describe('certmarshal itself', () => {
  it('sleeps', async () => {
    await using story = await startStory({ clusters: twoClusters, fleetFile: twoClustersFile });
    const t = performance.now();
    await story.minutes(30);
    const out = { ms: performance.now() - t, rang: story.rang(), told: story.told(), ringing: story.ringing(), index: story.hub.index()?.clusters };
    await story[Symbol.asyncDispose]();
    console.log(JSON.stringify(out, null, 1));
    expect(story.rang()).toEqual({});
  });
});
