import { describe, expect, it } from 'vitest';
import type { MinuteOptions } from '../../../lambdas/cluster/minute.ts';
import { createClusterRecoverer, type DueRecovery } from '../../../lambdas/cluster/recoverer.ts';
import type { SweepOrder } from '../../../lambdas/contracts/order.ts';
import type { JournalEntry } from '../../../lambdas/journal/journal.ts';
import { recoveryEntries } from '../../../lambdas/journal/recovery-entry.ts';
import type { RecoveryRow, sweepRecovery } from '../../../lambdas/recovery/sweep-recovery.ts';
import { auditSummary, PARIS, rolloutSummary, TROUBLE } from '../fleet/values.ts';
import { answer, type Handler } from '../kubernetes/tls-server.ts';
import { apiError, CSRS, fakeCluster } from '../recovery/fake-cluster.ts';
import { CLUSTER_ID, clientCsr, NOW, windowOf } from '../recovery/fixtures.ts';
import { minuteOver } from './minute-over-tls.ts';

const never = new AbortController().signal;
const WINDOW = windowOf({ cluster: 'paris' });
const works: Handler = (_request, response) => answer(response, 200, { kind: 'List', metadata: {}, items: [] });
const fails: Handler = (_request, response) => answer(response, 500, {});
const ROW: RecoveryRow = {
  csr: 'csr-1',
  uid: 'uid-1',
  node: 'cp-1',
  requester: 'system:node:cp-1',
  verdict: 'approve',
  reason: 'Recovered',
  message: 'm',
  hostile: false,
  outcome: 'written',
};
const RECORDED = recoveryEntries({ rows: [ROW], startedAt: 'now', cluster: 'paris' }, WINDOW, '1.2.3');

const orderOf = (more: Partial<SweepOrder> = {}): SweepOrder => ({
  target: PARIS,
  tick: 0,
  deadlineMs: 20_000,
  recovery: WINDOW,
  ...more,
});

/** Sweeps PARIS, and remembers the sweeps of windows. */
async function sweeper(handler: Handler, options: Partial<MinuteOptions> = {}) {
  const asked: DueRecovery[] = [];
  const kept: JournalEntry[] = [];
  const { sweepOne } = await minuteOver(handler, {
    recover: async (due) => {
      asked.push(due);
      return { problems: [{ ...TROUBLE, kind: 'recovery-denied' }], decisions: RECORDED };
    },
    journal: { program: '1.2.3', journal: { append: async (_, entries) => void kept.push(...entries) } },
    ...options,
  });
  return { asked, kept, sweepOne };
}

describe('the sweep of a recovery window', () => {
  it('comes before the audit and the rollout, and is told and kept', async () => {
    const done: string[] = [];
    const { asked, kept, sweepOne } = await sweeper(works, {
      audit: async () => {
        done.push('audit');
        return { result: auditSummary(), problems: [] };
      },
      rollout: async () => {
        done.push('roll');
        return { result: rolloutSummary(), problems: [] };
      },
      recover: async (due) => {
        done.push('recover');
        asked.push(due);
        return { problems: [{ ...TROUBLE, kind: 'recovery-denied' }], decisions: RECORDED };
      },
    });
    const swept = await sweepOne(orderOf({ audit: { secrets: false, kubeletMetrics: false }, rollout: true }), never);
    expect(done).toEqual(['recover', 'audit', 'roll']);
    expect(asked).toMatchObject([{ target: PARIS, window: WINDOW }]);
    expect(swept.outcome).toMatchObject({
      readable: true,
      complete: true,
      problems: [{ kind: 'recovery-window', object: 'recovery of cluster paris' }, { kind: 'recovery-denied' }],
      problemCount: 2,
    });
    expect(swept.outcome.problems[0]?.message).toBe(
      `window w-1 is open until ${WINDOW.until}, by ${WINDOW.by}: client certificates of the kubelets of 2 nodes of its control plane are approved`,
    );
    expect(kept).toEqual(RECORDED);
    expect(swept.journaled).toEqual([{ entries: RECORDED }]);
  });

  it('is told of one node as well', async () => {
    const { sweepOne } = await sweeper(works);
    const { outcome } = await sweepOne(orderOf({ recovery: { ...WINDOW, nodes: WINDOW.nodes.slice(0, 1) } }), never);
    expect(outcome.problems[0]?.message).toMatch(/the kubelets of a node of its control plane are approved$/);
  });

  it.each<[string, Handler, Partial<SweepOrder>, RegExp]>([
    ['writes are held', works, { holdWrites: 'same server' }, /nothing was approved: same server$/],
    ['the kubeconfig leads elsewhere now', works, { server: 'elsewhere:443' }, /nothing was approved: its kubeconfig/],
    ['the cluster cannot be read', fails, {}, /nothing was approved: the sweep could not read the cluster$/],
    ['too little time is left', works, { deadlineMs: 2_900 }, /nothing was approved: the sweep had no time left$/],
  ])('is not made where %s, and a problem says so', async (_, handler, more, why) => {
    const { asked, kept, sweepOne } = await sweeper(handler);
    const { outcome } = await sweepOne(orderOf(more), never);
    expect(asked).toEqual([]);
    expect(kept).toEqual([]);
    expect(outcome.problems[0]).toMatchObject({ kind: 'recovery-window', message: expect.stringMatching(why) });
    expect(outcome.problemCount).toBe(outcome.problems.length);
  });

  it('is not made where no order has a window', async () => {
    const { asked, sweepOne } = await sweeper(works);
    const { outcome } = await sweepOne(orderOf({ recovery: undefined }), never);
    expect([asked, outcome.problems]).toEqual([[], []]);
  });

  it.each([
    [
      'in it, after an approval',
      async () => ({ problems: [], decisions: RECORDED, bug: { error: new Error('x') } }),
      1,
    ],
    ['before it', async () => Promise.reject(new Error('x')), 0],
  ] as const)('does not touch the sweep when certmarshal fails %s', async (_, recover, lines) => {
    const { kept, sweepOne } = await sweeper(works, { recover });
    const swept = await sweepOne(orderOf(), never);
    expect(swept.failures).toEqual([{ stage: 'recovery', error: new Error('x') }]);
    expect(swept.outcome).toMatchObject({ problems: [{ kind: 'recovery-window' }, { kind: 'recovery-bug' }] });
    expect(kept).toHaveLength(lines);
  });
});

describe('createClusterRecoverer', () => {
  const target = { ...PARIS, id: CLUSTER_ID };
  const due = (cluster = fakeCluster()): DueRecovery => {
    const { clusterId: _, ...open } = cluster.target();
    return { target, open: { ...open, close: () => undefined }, window: windowOf(), signal: never };
  };

  it('approves with the connections of the sweep, and records it', async () => {
    const cluster = fakeCluster();
    cluster.addCsr(clientCsr({ name: 'csr-1' }));
    cluster.addCsr(clientCsr({ name: 'csr-2', node: 'cp-3' }));
    const recover = createClusterRecoverer({ program: '1.2.3', clock: () => NOW });
    const { problems, decisions } = await recover(due(cluster));
    expect(problems).toEqual([]);
    expect(cluster.approved()).toEqual(['csr-1']);
    expect(decisions).toMatchObject([
      { kind: 'recovery', cluster: CLUSTER_ID, csr: 'csr-1', outcome: 'written', window: 'w-1', program: '1.2.3' },
      { kind: 'recovery', csr: 'csr-2', verdict: 'leave', reason: 'NodeNotNamed' },
    ]);
  });

  it('says of a problem that it is one of the recovery', async () => {
    const cluster = fakeCluster();
    cluster.before = ({ path }) => {
      if (path === CSRS) throw apiError('forbidden', 403);
    };
    const { problems } = await createClusterRecoverer({ program: '1', clock: () => NOW })(due(cluster));
    expect(problems).toMatchObject([{ kind: 'recovery-forbidden' }]);
  });

  it('records what was approved before a bug', async () => {
    const bug = new TypeError('oh');
    const sweep: typeof sweepRecovery = async (_, __, { onRow }) => {
      onRow?.(ROW);
      throw bug;
    };
    const recovered = await createClusterRecoverer({ program: '1', clock: () => NOW, sweep })(due());
    expect(recovered).toMatchObject({ problems: [], bug: { error: bug }, decisions: [{ csr: 'csr-1' }] });
  });
});
