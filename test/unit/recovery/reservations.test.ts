import { describe, expect, it } from 'vitest';
import { endWindow, readApprovals, reserve } from '../../../lambdas/recovery/reservations.ts';
import { type FakeCluster, fakeCluster, LEASE, LEASES } from './fake-cluster.ts';
import { NOW, windowOf } from './fixtures.ts';

const signal = new AbortController().signal;
const MINUTE = 60_000;
const take = (cluster: FakeCluster, window = windowOf(), at = NOW) =>
  reserve(cluster.client(), window, 'cp-1', 0, () => at, signal).then((outcome) => outcome?.kind ?? 'counted');
const end = (cluster: FakeCluster, window = windowOf(), at = NOW) => endWindow(cluster.client(), window, at, signal);
/** Opened `minutes` from now, by the clock of the tests. */
const later = (id: string, minutes: number, replaces?: readonly string[]) =>
  windowOf({
    id,
    openedAt: new Date(NOW + minutes * MINUTE).toISOString(),
    until: new Date(NOW + (minutes + 30) * MINUTE).toISOString(),
    replaces,
  });

it('counts what the node is known to have, whatever its Lease was set back to', async () => {
  const cluster = fakeCluster();
  await take(cluster);
  const again = (atLeast: number) =>
    reserve(cluster.client(), windowOf({ approvals: 3 }), 'cp-1', atLeast, () => NOW, signal);
  expect(await again(3)).toEqual({ kind: 'overtaken' });
  expect(await again(2)).toBeUndefined();
  expect(await again(0)).toEqual({ kind: 'overtaken' });
});

describe('ending a window early', () => {
  it('ends it in the Lease, in whole seconds, and keeps its counts', async () => {
    const cluster = fakeCluster();
    await take(cluster);
    expect(await end(cluster, windowOf(), NOW + 5_999)).toBe('ended');
    expect(cluster.recorded()).toEqual({
      window: 'w-1',
      until: new Date(NOW + 5_000).toISOString().replace('.000Z', 'Z'),
      approvals: { 'cp-1': 1 },
    });
    expect(cluster.writes).toEqual([`POST ${LEASES}`, `PUT ${LEASE}`]);
  });

  it('lets another one begin at once, that counts anew', async () => {
    const cluster = fakeCluster();
    await take(cluster);
    expect(await take(cluster, later('w-2', 1), NOW + MINUTE)).toBe('failed');
    await end(cluster, windowOf(), NOW + MINUTE + 900);
    // In the same second.
    const next = later('w-2', 1);
    expect(await take(cluster, next, NOW + MINUTE + 950)).toBe('counted');
    expect(cluster.recorded()).toMatchObject({ window: 'w-2', approvals: { 'cp-1': 1 } });
  });

  it('gives nothing more to a sweep that still has the window, nor to the same window opened again', async () => {
    const cluster = fakeCluster();
    await take(cluster);
    await end(cluster);
    expect(await take(cluster)).toBe('failed');
    expect(await take(cluster, later('w-2', 0), NOW)).toBe('counted');
    expect(await take(cluster)).toBe('failed');
  });

  it('has nothing to do where nothing was counted, or another window counts', async () => {
    const cluster = fakeCluster();
    expect(await end(cluster)).toBe('none');
    await take(cluster, later('w-2', -1));
    expect(await end(cluster)).toBe('other');
    expect(cluster.recorded()).toMatchObject({ window: 'w-2', until: later('w-2', -1).until });
    expect(await end(cluster, later('w-2', -1), NOW + 60 * MINUTE)).toBe('other');
  });

  it('gives up where others write all the time, and never writes over them', async () => {
    const cluster = fakeCluster();
    await take(cluster);
    let version = 1_000;
    cluster.before = ({ method }) => {
      if (method !== 'PUT' || cluster.lease === undefined) return;
      version += 1;
      cluster.lease = { ...cluster.lease, metadata: { ...cluster.lease.metadata, resourceVersion: String(version) } };
    };
    expect(await end(cluster)).toBe('busy');
    expect(cluster.recorded()).toMatchObject({ until: windowOf().until });
  });
});

describe('a window that replaces one that was closed', () => {
  it('is not stopped by what its Lease still says, and the old one gets nothing any more', async () => {
    const cluster = fakeCluster();
    await take(cluster);
    const replacing = later('w-2', 1, ['w-0', 'w-1']);
    expect(await take(cluster, later('w-2', 1, ['w-0']), NOW + MINUTE)).toBe('failed');
    const read = await readApprovals(cluster.client(), replacing, NOW + MINUTE, signal);
    expect(read.approvals).toEqual(new Map());
    expect(await take(cluster, replacing, NOW + MINUTE)).toBe('counted');
    expect(await take(cluster, windowOf(), NOW + MINUTE)).toBe('failed');
    expect(await take(cluster, replacing, NOW + MINUTE)).toBe('counted');
    expect(await take(cluster, replacing, NOW + MINUTE)).toBe('overtaken');
  });
});
