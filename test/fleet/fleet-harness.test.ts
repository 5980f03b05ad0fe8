import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { captureStdout } from '../unit/telemetry/capture-stdout.ts';
import { approvedIn } from './hub/clusters.ts';
import { findingsOf } from './hub/hub.ts';
import { IDS, startWorld } from './hub/world.ts';

// Waits between tries and between paced calls.
vi.mock('node:timers/promises', async (original) => ({
  ...(await original<object>()),
  setTimeout: async () => undefined,
}));

describe('the hub in one process', () => {
  let output: ReturnType<typeof captureStdout>;
  beforeEach(() => {
    output = captureStdout();
  });
  afterEach(() => output.restore());

  it('finds every cluster, sweeps each one once a minute, approves what is proven and nothing else', async () => {
    await using world = await startWorld();
    for (let minute = 0; minute < 4; minute += 1) await world.minute();
    const index = world.hub.index();
    expect(findingsOf(index)).toEqual([]);
    expect(Object.keys(world.hub.registry()?.clusters ?? {}).toSorted()).toEqual(Object.values(IDS).toSorted());
    expect(Object.keys(index?.clusters ?? {}).toSorted()).toEqual(Object.values(IDS).toSorted());
    for (const cluster of Object.values(world.clusters)) {
      expect(approvedIn(cluster)).toHaveLength(1);
      expect(cluster.server.api.csrs.all()).toHaveLength(2);
    }
  });
});
