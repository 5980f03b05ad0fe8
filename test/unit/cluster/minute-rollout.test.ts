import { describe, expect, it } from 'vitest';
import type { MinuteOptions } from '../../../lambdas/cluster/minute.ts';
import type { StageContext } from '../../../lambdas/cluster/stage.ts';
import type { SweepOrder } from '../../../lambdas/contracts/order.ts';
import type { Journal, JournalEntry, RolloutEntry } from '../../../lambdas/journal/journal.ts';
import { auditSummary, NOW, PARIS, rolloutSummary, TROUBLE } from '../fleet/values.ts';
import { answer, type Handler } from '../kubernetes/tls-server.ts';
import { minuteOver } from './minute-over-tls.ts';

const never = new AbortController().signal;
const SUMMARY = rolloutSummary();
const works: Handler = (_request, response) => answer(response, 200, { kind: 'List', metadata: {}, items: [] });
const fails: Handler = (_request, response) => answer(response, 500, {});

const orderOf = (more: Partial<SweepOrder> = {}): SweepOrder => ({
  target: PARIS,
  tick: 0,
  deadlineMs: 20_000,
  rollout: true,
  ...more,
});

/** Sweeps PARIS, and remembers the steps. */
async function sweeper(handler: Handler, options: Partial<MinuteOptions> = {}) {
  const steps: StageContext<true>[] = [];
  const rollout: MinuteOptions['rollout'] = async (context) => {
    steps.push(context);
    return { result: SUMMARY, problems: [] };
  };
  const { server, sweepOne } = await minuteOver(handler, { rollout, ...options });
  return { server, steps, sweepOne };
}

describe('the step of a rollout that follows a sweep', () => {
  it('comes after the audit, with the connections of the sweep', async () => {
    const done: string[] = [];
    const { sweepOne } = await sweeper(works, {
      audit: async () => {
        done.push('audit');
        return { result: auditSummary(), problems: [] };
      },
      rollout: async ({ open, order: { handshakes }, held }) => {
        done.push('roll');
        expect([open?.management === open?.workload, handshakes, held]).toEqual([true, true, undefined]);
        return { result: SUMMARY, problems: [TROUBLE] };
      },
    });
    const order = orderOf({ handshakes: true, audit: { secrets: false, kubeletMetrics: false } });
    const { outcome } = await sweepOne(order, never);
    expect(done).toEqual(['audit', 'roll']);
    expect(outcome).toMatchObject({ rollout: SUMMARY, problems: [TROUBLE], problemCount: 1 });
    expect(outcome).toHaveProperty('audit');
  });

  it.each<[string, Handler, Partial<SweepOrder>, RegExp]>([
    ['the sweep is held', works, { holdWrites: 'same server' }, /^same server$/],
    ['the cluster cannot be read', fails, {}, /could not read/],
  ])('writes nothing where %s', async (_, handler, more, why) => {
    const { steps, sweepOne } = await sweeper(handler);
    await sweepOne(orderOf(more), never);
    expect(steps).toHaveLength(1);
    expect(steps[0]?.held).toMatch(why);
  });

  it.each<[string, Partial<SweepOrder>]>([
    ['no order asks for it', { rollout: undefined }],
    ['too little time is left', { deadlineMs: 4_900 }],
    ['the kubeconfig leads elsewhere now', { server: 'elsewhere:443' }],
  ])('is not made where %s', async (_, more) => {
    const { steps, sweepOne } = await sweeper(works);
    expect((await sweepOne(orderOf(more), never)).outcome).not.toHaveProperty('rollout', expect.anything());
    expect(steps).toEqual([]);
  });

  it('does not touch the sweep when it fails', async () => {
    const bug = new TypeError('a bug');
    const { sweepOne } = await sweeper(works, { rollout: async () => Promise.reject(bug) });
    const swept = await sweepOne(orderOf(), never);
    expect(swept.failures).toEqual([{ stage: 'rollout', error: bug }]);
    expect(swept.outcome).toMatchObject({
      complete: true,
      problems: [{ kind: 'bug', object: 'rollout of cluster paris' }],
    });
  });

  it('keeps connections that tolerate an expired certificate apart from others', async () => {
    const { server, sweepOne } = await sweeper(works);
    await sweepOne(orderOf(), never);
    await sweepOne(orderOf({ expiredServer: { pin: 'authority' } }), never);
    expect(server.connections()).toBe(2);
    // Its certificate has not expired: nothing is told.
    expect((await sweepOne(orderOf({ expiredServer: { pin: 'authority' } }), never)).outcome.problems).toEqual([]);
    expect(server.connections()).toBe(2);
  });
});

const ENTRY: RolloutEntry = {
  version: 1,
  kind: 'rollout',
  at: new Date(NOW).toISOString(),
  cluster: 'paris',
  object: 'KubeadmControlPlane eksa-system/paris',
  uid: 'u',
  write: 'abort',
  reason: 'r',
  outcome: 'written',
  program: '1.2.3',
};

describe('the journal of a step', () => {
  const decisions = [ENTRY];

  it('gets what was written, beside the decisions of the sweep', async () => {
    const kept: JournalEntry[] = [];
    const append: Journal['append'] = async (_, entries) => void kept.push(...entries);
    const { sweepOne } = await sweeper(works, {
      journal: { journal: { append }, program: '1.2.3' },
      rollout: async () => ({ result: SUMMARY, problems: [], decisions }),
    });
    const { journaled, outcome } = await sweepOne(orderOf(), never);
    expect(kept).toEqual([ENTRY]);
    expect(journaled).toEqual([{ entries: [ENTRY] }]);
    expect(outcome).toMatchObject({ rollout: SUMMARY, problems: [] });
  });

  it('says what it could not keep, and that the step was made', async () => {
    const { sweepOne } = await sweeper(works, {
      journal: { program: '1.2.3', journal: { append: async () => Promise.reject(new Error('no')) } },
      rollout: async () => ({ result: SUMMARY, problems: [], decisions }),
    });
    const { journaled, outcome } = await sweepOne(orderOf(), never);
    expect(journaled).toMatchObject([{ entries: [ENTRY], problem: { kind: 'journal' } }]);
    expect(outcome).toMatchObject({ rollout: SUMMARY, problems: [{ kind: 'journal' }] });
  });
});
