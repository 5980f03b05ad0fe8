import { describe, expect, it } from 'vitest';
import type { StageContext } from '../../../lambdas/cluster/stage.ts';
import type { OrderedAudit, SweepOrder } from '../../../lambdas/contracts/order.ts';
import { charged, createProcessorBudget } from '../../../lambdas/processor-time.ts';
import { BENCH_CLUSTER, csrOf, machineOf, requestOf } from '../../bench/fixtures.ts';
import { auditSummary, PARIS, rolloutSummary } from '../fleet/values.ts';
import { answer, type Handler } from '../kubernetes/tls-server.ts';
import { minuteOver } from './minute-over-tls.ts';

const never = new AbortController().signal;
const SPENT = {
  kind: 'timeout',
  message: expect.stringContaining('5 s of processor time'),
  remedy: expect.stringMatching(/^Find out who creates so many/),
};

const ORDER: SweepOrder = {
  target: { ...PARIS, cluster: { name: 'bench', provider: 'eks-anywhere' } },
  tick: 0,
  deadlineMs: 20_000,
  audit: { secrets: false, kubeletMetrics: false },
  rollout: true,
};

/** Two nodes ask, and their Machines prove them. */
const two: Handler = ({ url, method }, response) => {
  if (method !== 'GET') return answer(response, 200, {});
  if (url.endsWith('/cluster.x-k8s.io')) return answer(response, 200, { versions: [{ version: 'v1beta2' }] });
  if (url.includes('/clusters')) return answer(response, 200, { metadata: {}, items: [BENCH_CLUSTER] });
  const created = new Date(Date.now() - 60_000).toISOString();
  const items = url.includes('/machines')
    ? [machineOf(0), machineOf(1)]
    : [csrOf(0, requestOf(0), created), csrOf(1, requestOf(1), created)];
  return answer(response, 200, { metadata: {}, items });
};

/** Sweeps a cluster. @param took milliseconds of the processor: each piece of reading and judging, and the audit as a whole */
async function sweeper({ judging = 0, audit = 0 }: { readonly judging?: number; readonly audit?: number }) {
  let cpuMs = 0;
  let pieceMs = judging;
  const audits: StageContext<OrderedAudit>[] = [];
  let rollouts = 0;
  const { server, sweepOne } = await minuteOver(two, {
    audit: async (due) => {
      audits.push(due);
      charged(() => {
        cpuMs += audit;
      });
      return { result: auditSummary(), problems: [] };
    },
    rollout: async () => {
      rollouts += 1;
      return { result: rolloutSummary(), problems: [] };
    },
    // Looked at before and after each piece.
    budgetOf: () =>
      createProcessorBudget({
        cpuMs: () => {
          cpuMs += pieceMs;
          return cpuMs;
        },
      }),
  });
  return {
    sweepOne,
    audits,
    rollouts: () => rollouts,
    behave: () => {
      pieceMs = 0;
    },
    writes: () => server.received.filter(({ method }) => method === 'PUT').length,
  };
}

describe('the processor time of a sweep', () => {
  it('is enough for an ordinary cluster', async () => {
    const { sweepOne, audits, rollouts, writes } = await sweeper({});
    const { outcome } = await sweepOne(ORDER, never);
    expect(outcome).toMatchObject({ complete: true, counts: { approved: 2 }, problems: [], heavy: undefined });
    expect([writes(), rollouts(), audits.length]).toEqual([2, 1, 1]);
    expect(audits[0]?.open).toBeDefined();
  });

  it('is over: nothing more is approved, what was known is assessed again, and the next sweep begins anew', async () => {
    const { sweepOne, audits, rollouts, writes, behave } = await sweeper({ judging: 6_000 });
    const { outcome, failures } = await sweepOne(ORDER, never);
    expect(failures).toEqual([]);
    expect(outcome).toMatchObject({ complete: false, counts: { approved: 0 }, heavy: true });
    expect(outcome.problems[0]).toMatchObject(SPENT);
    expect([writes(), rollouts(), audits.length]).toEqual([0, 0, 1]);
    expect(audits[0]).toMatchObject({ open: undefined, trouble: SPENT });
    // The snapshot of before can still be read.
    expect(audits[0]?.signal.aborted).toBe(false);

    behave();
    expect((await sweepOne(ORDER, never)).outcome).toMatchObject({ counts: { approved: 2 }, problems: [] });
  });

  it('is over in the audit: its findings are kept, no rollout begins, and that is told', async () => {
    const { sweepOne, rollouts } = await sweeper({ audit: 6_000 });
    const { outcome } = await sweepOne(ORDER, never);
    expect(outcome).toMatchObject({ counts: { approved: 2 }, audit: auditSummary(), problems: [SPENT] });
    expect(rollouts()).toBe(0);
  });

  it('of one cluster is not that of another', async () => {
    const hostile = await sweeper({ judging: 6_000 });
    const honest = await sweeper({});
    const [first, second] = await Promise.all([hostile.sweepOne(ORDER, never), honest.sweepOne(ORDER, never)]);
    expect(first.outcome.problems[0]).toMatchObject(SPENT);
    expect(second.outcome).toMatchObject({ complete: true, counts: { approved: 2 } });
  });
});
