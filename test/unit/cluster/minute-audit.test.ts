import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { KubeconfigSecretError } from '../../../lambdas/aws/kubeconfig-secret.ts';
import type { MinuteOptions } from '../../../lambdas/cluster/minute.ts';
import type { StageContext } from '../../../lambdas/cluster/stage.ts';
import type { OrderedAudit, SweepOrder } from '../../../lambdas/contracts/order.ts';
import { auditSummary, PARIS } from '../fleet/values.ts';
import { answer, type Handler } from '../kubernetes/tls-server.ts';
import { minuteOver } from './minute-over-tls.ts';

const never = new AbortController().signal;
const REACH = { secrets: true, kubeletMetrics: false };
const EMPTY = { kind: 'List', metadata: {}, items: [] };
const SUMMARY = auditSummary();

const orderOf = (more: Partial<SweepOrder> = {}): SweepOrder => ({
  target: PARIS,
  tick: 0,
  deadlineMs: 10_000,
  audit: REACH,
  ...more,
});

/** Sweeps PARIS, and remembers the audits. */
async function sweeper(handler: Handler, options: Partial<MinuteOptions> = {}) {
  const audits: StageContext<OrderedAudit>[] = [];
  const audit: MinuteOptions['audit'] = async (context) => {
    audits.push(context);
    return { result: SUMMARY, problems: [] };
  };
  const { server, sweepOne } = await minuteOver(handler, { audit, ...options });
  return { server, audits, sweepOne };
}

const works: Handler = (_request, response) => answer(response, 200, EMPTY);
const hangs: Handler = () => undefined;

describe('the audit that follows a sweep', () => {
  it('has its connections, and ends before its order does', async () => {
    const { server, audits, sweepOne } = await sweeper(works);
    const { outcome } = await sweepOne(orderOf(), never);
    expect(outcome).toMatchObject({ complete: true, audit: SUMMARY });
    expect(audits).toMatchObject([{ order: orderOf(), due: REACH, trouble: undefined }]);
    expect(audits[0]?.open?.workload.server).toBe(server.connection.server);
    await sweepOne(orderOf(), never);
    expect(server.connections()).toBe(1);
  });

  it('is not made where no order asks for it', async () => {
    const { audits, sweepOne } = await sweeper(works);
    const { audit: _, ...order } = orderOf();
    expect((await sweepOne(order, never)).outcome).not.toHaveProperty('audit', expect.anything());
    expect(audits).toEqual([]);
  });

  it('takes no time from the sweep: neither what it takes nor its failure is that of the sweep', async () => {
    const bug = new TypeError('a bug');
    const { sweepOne } = await sweeper(works, { audit: async () => Promise.reject(bug) });
    const swept = await sweepOne(orderOf(), never);
    expect(swept.failures).toEqual([{ stage: 'audit', error: bug }]);
    expect(swept.outcome).toMatchObject({
      complete: true,
      problems: [{ kind: 'bug', object: 'audit of cluster paris' }],
      problemCount: 1,
    });

    let now = 0;
    const slow = await sweeper(works, {
      clock: () => now,
      audit: async () => {
        now += 30_000;
        return { result: SUMMARY, problems: [] };
      },
    });
    expect((await slow.sweepOne(orderOf(), never)).outcome.durationMs).toBe(0);
  });

  it('is told to end while there is time for its snapshot', async () => {
    const timers = vi.spyOn(globalThis, 'setTimeout');
    onTestFinished(() => timers.mockRestore());
    const told: object[] = [];
    const { sweepOne } = await sweeper(works, {
      audit: async ({ signal, last }) => {
        const [end, afterMs = NaN] = timers.mock.calls.at(-1) ?? [];
        const before = signal.aborted;
        end?.();
        told.push({ leavesASecond: afterMs <= 44_000, before, after: signal.aborted, last: last.aborted });
        return { result: SUMMARY, problems: [] };
      },
    });
    await sweepOne(orderOf({ deadlineMs: 45_000 }), never);
    expect(told).toEqual([{ leavesASecond: true, before: false, after: true, last: false }]);
  });

  it('does not begin when too little time is left: it is due again then', async () => {
    const { audits, sweepOne } = await sweeper(works);
    const { outcome } = await sweepOne(orderOf({ deadlineMs: 1_900 }), never);
    expect(outcome).toMatchObject({ complete: true });
    expect(outcome).not.toHaveProperty('audit', expect.anything());
    expect(audits).toEqual([]);
  });

  it('looks at what is known of a cluster that took all the time and did not answer', async () => {
    const { audits, sweepOne } = await sweeper(hangs);
    const { outcome } = await sweepOne(orderOf({ deadlineMs: 300 }), never);
    expect(outcome).toMatchObject({ readable: false, audit: SUMMARY });
    expect(audits).toMatchObject([{ open: undefined, trouble: { kind: 'timeout' } }]);
  });

  it('is made of a cluster that cannot be read: a handshake may tell why', async () => {
    const { audits, sweepOne } = await sweeper((_request, response) => answer(response, 500, {}), {});
    const { outcome } = await sweepOne(orderOf(), never);
    expect(outcome).toMatchObject({ readable: false, audit: SUMMARY });
    expect(audits[0]?.open).toBeDefined();
  });

  it.each([
    ['its secret does not exist', new KubeconfigSecretError('not-found', 'arn', 'it does not exist'), 0],
    ['Secrets Manager fails', new KubeconfigSecretError('unavailable', 'arn', 'it failed'), 1],
    ['certmarshal fails', new TypeError('a bug'), 1],
  ])('is made of what is known when %s', async (_, error, failures) => {
    const { audits, sweepOne } = await sweeper(works, { readSecret: async () => Promise.reject(error) });
    const swept = await sweepOne(orderOf(), never);
    expect(swept.failures).toHaveLength(failures);
    expect(swept.outcome.audit).toEqual(SUMMARY);
    expect(audits).toMatchObject([{ open: undefined, trouble: swept.outcome.problems[0] }]);
  });

  it('waits when the kubeconfig leads to another API server than before', async () => {
    const { audits, sweepOne } = await sweeper(works);
    const { outcome } = await sweepOne(orderOf({ server: '127.0.0.1:1' }), never);
    expect(outcome.problems).toMatchObject([{ kind: 'held' }]);
    expect(audits).toEqual([]);
  });

  it('is not made when the function has to end', async () => {
    const { audits, sweepOne } = await sweeper(works);
    await sweepOne(orderOf(), AbortSignal.abort());
    expect(audits).toEqual([]);
  });
});
