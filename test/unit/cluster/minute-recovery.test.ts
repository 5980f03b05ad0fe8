import { describe, expect, it } from 'vitest';
import type { Acted } from '../../../lambdas/approval/act.ts';
import type { MinuteOptions } from '../../../lambdas/cluster/minute.ts';
import type { RecoveryOptions } from '../../../lambdas/cluster/stages/approval.ts';
import type { RecoveryEntry } from '../../../lambdas/config/fleet.ts';
import type { SweepOrder } from '../../../lambdas/contracts/order.ts';
import type { JournalEntry } from '../../../lambdas/journal/journal.ts';
import type { Recovery } from '../../../lambdas/recovery/recovery.ts';
import { auditSummary, PARIS, TROUBLE } from '../fleet/values.ts';
import { answer, type Handler } from '../kubernetes/tls-server.ts';
import { asked, judge } from '../recovery/fixtures.ts';
import { minuteOver } from './minute-over-tls.ts';

const never = new AbortController().signal;
const HOUR = 60 * 60_000;
const NOW = Date.now();
const at = (ms: number) => new Date(NOW + ms).toISOString();
const ENTRY: RecoveryEntry = { cluster: 'paris', until: at(HOUR), nodes: ['cp-1', 'cp-2'], bootstrapGroups: ['g'] };
const works: Handler = (_request, response) => answer(response, 200, { kind: 'List', metadata: {}, items: [] });
const fails: Handler = (_request, response) => answer(response, 500, {});
const csr = asked();
const ACTED: Acted = { csr, verdict: judge(csr), outcome: { kind: 'written' } };
const LEFT: Acted = {
  csr: asked({ name: 'csr-2', node: 'cp-9' }),
  verdict: judge(asked({ node: 'cp-9' })),
  outcome: { kind: 'none' },
};

const orderOf = (own: Partial<SweepOrder> = {}): SweepOrder => ({ target: PARIS, tick: 0, deadlineMs: 20_000, ...own });

interface Scene {
  readonly entries?: readonly RecoveryEntry[];
  readonly recoverNodes?: RecoveryOptions['recoverNodes'];
  readonly options?: Partial<MinuteOptions>;
}

/** Sweeps PARIS, and remembers what was to be recovered. */
async function sweeper(handler: Handler, { entries = [ENTRY], recoverNodes, options }: Scene = {}) {
  const recovered: Recovery[] = [];
  const kept: JournalEntry[] = [];
  const { sweepOne } = await minuteOver(handler, {
    clock: () => NOW,
    recovery: {
      entries,
      recoverNodes: async (target, recovery, given) => {
        recovered.push(recovery);
        return (
          recoverNodes?.(target, recovery, given) ?? {
            ignored: new Map(),
            problems: [{ ...TROUBLE, kind: 'recovery-denied' }],
          }
        );
      },
    },
    journal: { program: '1.2.3', journal: { append: async (_, lines) => void kept.push(...lines) } },
    ...options,
  });
  return { recovered, kept, sweepOne };
}

describe('client certificates in the minute of a cluster', () => {
  it('are judged for the nodes of the entry, and are rows, counts and lines of the journal as others are', async () => {
    const { recovered, kept, sweepOne } = await sweeper(works, {
      recoverNodes: async (_, __, { onActed }) => {
        [ACTED, LEFT].forEach(onActed);
        return { ignored: new Map([['AlreadyIssued', 2]]), problems: [{ ...TROUBLE, kind: 'recovery-denied' }] };
      },
    });
    const { outcome, report } = await sweepOne(orderOf(), never);
    const { until } = ENTRY;
    expect(recovered).toEqual([{ nodes: ['cp-1', 'cp-2'], until, bootstrapGroups: ['g'], by: 'fleet.yaml' }]);
    expect(outcome.problems).toMatchObject([
      {
        kind: 'recovery-nodes',
        object: 'recovery of cluster paris',
        message: `until ${until} client certificates of 2 nodes of its control plane are approved, because fleet.yaml says so`,
      },
      { kind: 'recovery-denied' },
    ]);
    expect(outcome).toMatchObject({ readable: true, counts: { approved: 1, left: 1, ignored: 2 }, problemCount: 2 });
    expect(report?.rows).toMatchObject([
      { csr: 'csr-1', node: 'cp-1', reason: 'Recovered', policy: 'recovery', outcome: 'written' },
      { csr: 'csr-2', node: 'cp-9', reason: 'NodeNotNamed', outcome: 'none' },
    ]);
    expect(kept).toMatchObject([
      { kind: 'decision', cluster: 'paris', csr: 'csr-1', reason: 'Recovered', outcome: 'written', program: '1.2.3' },
      { kind: 'decision', csr: 'csr-2', verdict: 'leave' },
    ]);
  });

  it.each<[string, Handler, Partial<SweepOrder>, RegExp]>([
    ['writes are held', works, { holdWrites: 'same server' }, /nothing was approved now: same server$/],
    ['the kubeconfig leads elsewhere', works, { server: 'elsewhere:443' }, /nothing was approved now: its kubeconfig/],
    ['the cluster cannot be read', fails, {}, /nothing was approved now: the sweep could not read the cluster$/],
  ])('are not judged where %s, and a problem says so', async (_, handler, more, why) => {
    const { recovered, sweepOne } = await sweeper(handler);
    const { outcome } = await sweepOne(orderOf(more), never);
    expect(recovered).toEqual([]);
    expect(outcome.problems[0]).toMatchObject({ kind: 'recovery-nodes', message: expect.stringMatching(why) });
    expect(outcome.problemCount).toBe(outcome.problems.length);
  });

  it.each<[string, readonly RecoveryEntry[]]>([
    ['no entry', []],
    ['an entry of another cluster', [{ ...ENTRY, cluster: 'rome' }]],
    ['an entry that is over', [{ ...ENTRY, until: at(0) }]],
    ['an entry that ends later than in a day', [{ ...ENTRY, until: at(24 * HOUR + 1) }]],
    ['an entry without nodes', [{ cluster: 'paris', until: at(HOUR), server: { pin: 'authority' } }]],
    ['an entry with an end that is none', [{ ...ENTRY, until: 'soon' }]],
  ])('are not judged by %s', async (_, entries) => {
    const { recovered, sweepOne } = await sweeper(works, { entries });
    const { outcome } = await sweepOne(orderOf(), never);
    expect([recovered, outcome.problems]).toEqual([[], []]);
  });

  it('are judged by the clock of the sweep, whatever the tick of the order says', async () => {
    const { recovered, sweepOne } = await sweeper(works, { entries: [{ ...ENTRY, until: at(0) }] });
    await sweepOne(orderOf({ tick: NOW - HOUR }), never);
    expect(recovered).toEqual([]);
  });

  it.each([
    ['after an approval', [ACTED], 1],
    ['before one', [], 0],
  ])('do not touch the rest of the minute when certmarshal fails in it %s', async (_, acted, lines) => {
    const { kept, sweepOne } = await sweeper(works, {
      recoverNodes: async (__, ___, { onActed }) => {
        acted.forEach(onActed);
        throw new Error('x');
      },
      options: { audit: async () => ({ result: auditSummary(), problems: [] }) },
    });
    const swept = await sweepOne(orderOf({ audit: { secrets: false, kubeletMetrics: false } }), never);
    expect(swept.failures).toEqual([{ stage: 'approval', error: new Error('x') }]);
    expect(swept.outcome).toMatchObject({
      readable: true,
      problems: [{ kind: 'recovery-nodes' }, { kind: 'bug' }],
      counts: { approved: lines },
      audit: {},
    });
    expect(kept).toHaveLength(lines);
  });

  it('leave the reason why a cluster cannot be read to the audit', async () => {
    const troubles: unknown[] = [];
    const { sweepOne } = await sweeper(fails, {
      options: {
        audit: async ({ trouble }) => {
          troubles.push(trouble?.kind);
          return { problems: [] };
        },
      },
    });
    await sweepOne(orderOf({ audit: { secrets: false, kubeletMetrics: false } }), never);
    expect(troubles).toEqual([expect.not.stringContaining('recovery')]);
  });
});
