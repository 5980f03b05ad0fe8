import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { audit } from '../../../lambdas/audit/audit.ts';
import type { AuditTarget } from '../../../lambdas/audit/audit-target.ts';
import { DEFAULT_THRESHOLDS } from '../../../lambdas/audit/rules/thresholds.ts';
import { eksAuthorities, eksCluster } from '../../../lambdas/audit/sources/eks.ts';
import type { EksAuditReader } from '../../../lambdas/aws/eks-audit.ts';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import type { Snapshot } from '../../../lambdas/contracts/snapshot.ts';
import { planTick } from '../../../lambdas/fleet/plan-tick.ts';
import { createTokenBucket } from '../../fleet/aws/token-bucket.ts';
import { pacedCalls } from '../aws/paced-calls.ts';
import { DUBLIN, registered, registry } from '../fleet/values.ts';
import { fakeClient } from './sources/fake-cluster.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const EVERY = 15;
const ROUNDS = 6;
const NOW = Date.UTC(2026, 10, 21);

// `delay` of node:timers/promises is not faked by vitest.
vi.mock('node:timers/promises', () => ({
  setTimeout: (ms: number) => new Promise((resolve) => setTimeout(resolve, ms)),
}));

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'], now: NOW }));
afterEach(() => void vi.useRealTimers());

/** One cluster in an EKS that answers each call after 80 ms. */
function eksOf(index: number, { turn, call }: ReturnType<typeof pacedCalls>): EksAuditReader {
  const calls = async (follow: number, signal: AbortSignal): Promise<void> => {
    if (signal.aborted) throw new AwsError({ kind: 'aborted', object: 'eks', problem: 'late', remedy: 'None.' });
    await call();
    await Promise.all(Array.from({ length: follow }, call));
    if (signal.aborted) throw new AwsError({ kind: 'aborted', object: 'eks', problem: 'late', remedy: 'None.' });
  };
  const authority = (id: string, signingStatus: 'IN_USE' | 'NOT_USED') =>
    ({ id, createdAt: NOW - 9 * DAY, signingStatus, distributionStatus: 'COMPLETE' }) as const;
  const authorities = [authority('one', 'IN_USE'), ...(index % 10 === 0 ? [authority('two', 'NOT_USED')] : [])];
  return {
    turn,
    async certificateAuthority(signal) {
      await calls(0, signal);
      return 'no PEM: a finding that lasts';
    },
    async authorities(signal) {
      await calls(authorities.length, signal);
      return authorities;
    },
  };
}

it('1,000 clusters of one account, six rounds: no time-out of ours, and no audit that looks slow', async () => {
  const bucket = createTokenBucket({ rate: 10, burst: 10 }, () => performance.now());
  const counts = { calls: 0, throttled: 0 };
  const paced = pacedCalls(10, async () => {
    counts.calls += 1;
    counts.throttled += bucket.take() ? 0 : 1;
    await new Promise((resolve) => setTimeout(resolve, 80));
  });
  const targets = Array.from({ length: 1_000 }, (_, index): AuditTarget => {
    const id = `111122223333/eu-central-1/c${index}`;
    return {
      id,
      cluster: { name: `c${index}`, provider: 'eks' },
      workload: fakeClient({}),
      machinesNamespace: 'eksa-system',
      eks: eksOf(index, paced),
      reach: { handshakes: false, secrets: false, kubeletMetrics: false },
    };
  });
  const byId = new Map(targets.map((target) => [target.id, target]));
  const state = registry(...targets.map(({ id }) => registered(id, { target: { ...DUBLIN, id } })));
  const snapshots = new Map<string, Snapshot>();
  const unread: string[] = [];
  let slowest = 0;
  let busiest = 0;
  for (let minute = 0; minute < ROUNDS * EVERY; minute += 1) {
    vi.setSystemTime(NOW + minute * MINUTE);
    const due = planTick(state, undefined, Date.now(), { auditEveryMinutes: EVERY })
      .flatMap(({ orders }) => orders)
      .filter((order) => order.audit?.stored === undefined);
    const audits = due.flatMap((order) => {
      const target = byId.get(order.id);
      return order.audit === undefined || target === undefined ? [] : [{ target, withoutEks: order.audit.withoutEks }];
    });
    busiest = Math.max(busiest, audits.length);
    expect(audits.filter(({ withoutEks }) => withoutEks === undefined).length).toBeLessThanOrEqual(100);
    const end = new AbortController();
    const timer = setTimeout(() => end.abort(), 44_000);
    const done = Promise.all(
      audits.map(async ({ target, withoutEks }) => {
        const { snapshot, durationMs } = await audit(target, {
          previous: snapshots.get(target.id),
          thresholds: DEFAULT_THRESHOLDS,
          clock: Date.now,
          signal: end.signal,
          sources: [eksCluster, eksAuthorities],
          withoutEks,
        });
        snapshots.set(target.id, snapshot);
        slowest = Math.max(slowest, durationMs);
        for (const one of snapshot.observations)
          if (one.kind === 'unread' && one.where === undefined) unread.push(`${target.id} ${one.source}`);
      }),
    );
    await vi.advanceTimersByTimeAsync(MINUTE);
    clearTimeout(timer);
    await done;
  }
  expect(busiest).toBeGreaterThan(100);
  expect(unread).toEqual([]);
  expect(slowest).toBeLessThan(10_000);
  expect(snapshots.size).toBe(1_000);
  const lasting = [...snapshots.values()].filter(({ findings }) => findings[0]?.severity === 'critical');
  expect(lasting.length).toBe(1_000);
  expect(counts.calls).toBeGreaterThan(ROUNDS * 1_700);
  expect(counts.throttled).toBeLessThan(counts.calls / 100);
}, 120_000);
