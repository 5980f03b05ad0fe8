import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { DEFAULT_POLICY, everywhere } from '../../../lambdas/approval/policy.ts';
import type { SweepOrder } from '../../../lambdas/contracts/order.ts';
import type { Journal, JournalEntry } from '../../../lambdas/journal/journal.ts';
import { policyHash } from '../../../lambdas/journal/sweep-journal.ts';
import { BENCH_CLUSTER, csrOf, machineOf, requestOf } from '../../bench/fixtures.ts';
import { failure } from '../journal/values.ts';
import { answer, type Handler, statusBody } from '../kubernetes/tls-server.ts';
import { minuteOver } from './minute-over-tls.ts';

const never = new AbortController().signal;
const EMPTY = { kind: 'List', metadata: {}, items: [] };

interface World {
  /** Answers a write. @default it is done */
  readonly onWrite?: (response: ServerResponse, url: string) => void;
  /** Told when one request is read again. */
  readonly onRead?: () => void;
  readonly clock?: () => number;
}

const done = (response: ServerResponse) => answer(response, 200, statusBody(200, '', ''));

/** A sweeper of a cluster with two proven requests, and one of a node that nobody knows. */
async function sweeperWith(append: Journal['append'], { onWrite = done, onRead, clock = Date.now }: World = {}) {
  const at = new Date().toISOString();
  const csrs = [1, 2, 3].map((index) => csrOf(index, requestOf(index), at));
  const machines = [1, 3].map(machineOf);
  const handler: Handler = ({ method, url }, response) => {
    if (method !== 'GET') onWrite(response, url);
    else if (url.endsWith('/cluster.x-k8s.io')) answer(response, 200, { versions: [{ version: 'v1beta2' }] });
    else if (url.endsWith('/csr-3')) {
      onRead?.();
      answer(response, 200, csrs[2] ?? {});
    } else if (url.includes('/clusters?')) answer(response, 200, { ...EMPTY, items: [BENCH_CLUSTER] });
    else answer(response, 200, { ...EMPTY, items: url.includes('/machines?') ? machines : csrs });
  };
  const { sweepOne } = await minuteOver(handler, { clock, journal: { program: '1.2.3', journal: { append } } });
  return sweepOne;
}

const order = (more: Partial<SweepOrder> = {}): SweepOrder => ({
  target: {
    id: 'fleet/bench',
    cluster: { name: 'bench', provider: 'eks-anywhere' },
    access: { kind: 'kubeconfig', secret: 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:bench-AbCdEf' },
    management: { namespace: 'eksa-system' },
    lane: 'default',
  },
  tick: 0,
  deadlineMs: 10_000,
  ...more,
});

describe('the journal of a sweep', () => {
  it('has what was approved before certmarshal failed in what follows', async () => {
    const lines: string[] = [];
    const sweepOne = await sweeperWith(async (_, entries) => void lines.push(...entries.map(({ kind }) => kind)));
    // No list: it throws where it is read.
    const swept = await sweepOne(order({ lookForClusters: 5 as never }), never);
    expect(swept).toMatchObject({ failures: [{ stage: 'approval' }], report: { counts: { approved: 2 } } });
    expect(lines).toHaveLength(3);
  });

  it('gets what was approved and what was left, with the names and their proof', async () => {
    const kept: { cluster: string; entries: readonly JournalEntry[] }[] = [];
    const sweepOne = await sweeperWith(async (cluster, entries) => void kept.push({ cluster, entries }));
    const before = Date.now();
    const swept = await sweepOne(order(), never);
    expect(swept.journaled).toEqual([{ entries: kept[0]?.entries }]);
    expect(swept.outcome.problems).toEqual([]);
    expect(kept).toHaveLength(1);
    const startedAt = Date.parse(kept[0]?.entries[0]?.at ?? '');
    expect(startedAt).toBeGreaterThanOrEqual(before);
    expect(startedAt).toBeLessThanOrEqual(Date.now());
    expect(kept[0]).toMatchObject({
      cluster: 'fleet/bench',
      entries: [
        {
          cluster: 'fleet/bench',
          verdict: 'approve',
          outcome: 'written',
          evidence: [{ source: 'machine' }],
          policyHash: policyHash([DEFAULT_POLICY]),
          program: '1.2.3',
          requestHash: expect.stringMatching(/^[0-9a-f]{64}$/),
        },
        { verdict: 'approve', outcome: 'written' },
        { verdict: 'leave', outcome: 'none' },
      ],
    });
    expect(kept[0]?.entries[0]).toHaveProperty('names.0');
  });

  it('says that a decision was not written, and by which policies it was made, when writes are held', async () => {
    const kept: JournalEntry[] = [];
    const sweepOne = await sweeperWith(async (_, entries) => void kept.push(...entries));
    await sweepOne(order({ holdWrites: 'new' }), never);
    expect(kept[0]).toMatchObject({
      outcome: 'observed',
      policyHash: policyHash([{ ...DEFAULT_POLICY, mode: everywhere('observe') }]),
    });
  });

  it.each([
    ['AWS', failure('denied', 's3:PutObject'), /^Nothing\. Approvals continue; the log has the lines/],
    ['a bug', new TypeError('oh'), /^Report this as a bug of certmarshal\. Approvals continue; the log has the lines/],
  ])('that fails for %s is a problem of the outcome, and keeps its lines', async (_, error, remedy) => {
    const sweepOne = await sweeperWith(async () => Promise.reject(error));
    const { outcome, report, journaled } = await sweepOne(order(), never);
    expect(report?.counts).toMatchObject({ approved: 2, left: 1 });
    expect(outcome.problems).toMatchObject([
      { kind: 'journal', object: 'journal of cluster fleet/bench', remedy: expect.stringMatching(remedy) },
    ]);
    expect(outcome.problemCount).toBe(1);
    expect(journaled[0]?.entries).toHaveLength(3);
  });

  it('is told to end soon after the function is', async () => {
    const timers = vi.spyOn(globalThis, 'setTimeout');
    onTestFinished(() => timers.mockRestore());
    const end = new AbortController();
    const sweepOne = await sweeperWith(async (_, __, signal) => {
      const before = timers.mock.calls.length;
      end.abort();
      const [soon, ...others] = timers.mock.calls.slice(before);
      expect([soon?.[1], others]).toEqual([3_000, []]);
      expect(signal.aborted).toBe(false);
      soon?.[0]();
      if (signal.aborted) throw failure('aborted', 's3');
    });
    const { journaled } = await sweepOne(order(), end.signal);
    expect(journaled[0]?.problem?.message).toContain('aborted');
  });

  it('gets what was sent without an answer', async () => {
    const kept: JournalEntry[] = [];
    const onWrite = (response: ServerResponse, url: string) =>
      url.includes('csr-3') ? response.destroy() : done(response);
    const sweepOne = await sweeperWith(async (_, entries) => void kept.push(...entries), { onWrite });
    const { outcome, report } = await sweepOne(order(), never);
    expect(kept.map((entry) => entry.outcome).toSorted()).toEqual(['none', 'unknown', 'written']);
    expect(report).toMatchObject({ complete: false, counts: { approved: 1, failed: 1 } });
    expect(outcome).toMatchObject({ complete: false, problems: [{ kind: 'unreachable' }] });
    expect(outcome.verdicts).toContainEqual(expect.objectContaining({ outcome: 'unknown' }));
  });

  it('gets what was done before a bug, of which log and queue are told all the same', async () => {
    const bug = new TypeError('oh');
    const kept: JournalEntry[] = [];
    let isBroken = false;
    const sweepOne = await sweeperWith(async (_, entries) => void kept.push(...entries), {
      onWrite: (response, url) =>
        url.includes('csr-3') ? answer(response, 409, statusBody(409, 'Conflict', '')) : done(response),
      onRead: () => {
        isBroken = true;
      },
      clock: () => {
        if (!isBroken) return Date.now();
        isBroken = false;
        throw bug;
      },
    });
    const swept = await sweepOne(order(), never);
    expect(kept.map((entry) => entry.outcome).toSorted()).toEqual(['none', 'unknown', 'written']);
    expect(swept).toMatchObject({
      failures: [{ stage: 'approval', error: bug }],
      report: { complete: false, counts: { approved: 1 } },
    });
    expect(swept.outcome).toMatchObject({ readable: true, complete: false, counts: { approved: 1 } });
    expect(swept.outcome.problems[0]).toMatchObject({ kind: 'bug', object: 'cluster fleet/bench' });
  });

  it('does not wait long for a bucket that hangs', async () => {
    const timers = vi.spyOn(globalThis, 'setTimeout');
    onTestFinished(() => timers.mockRestore());
    const sweepOne = await sweeperWith(async (_, __, signal) => {
      const longest = timers.mock.calls.findLast(([, ms]) => ms === 10_000);
      longest?.[0]();
      if (signal.aborted) throw failure('aborted', 's3');
    });
    const { journaled } = await sweepOne(order({ deadlineMs: 45_000 }), never);
    expect(journaled[0]?.problem?.message).toContain('aborted');
  });
});
