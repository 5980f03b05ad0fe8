import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { createClusterRoller, type DueRollout, type RollCluster } from '../../../lambdas/cluster/roller.ts';
import { createTargetSweeper, type TargetSweeperOptions } from '../../../lambdas/cluster/sweep-target.ts';
import type { SweepOrder } from '../../../lambdas/contracts/order.ts';
import type { Journal, JournalEntry } from '../../../lambdas/journal/journal.ts';
import { DEFAULT_ROLLOUT_POLICY } from '../../../lambdas/rollout/policy.ts';
import type { stepRollout } from '../../../lambdas/rollout/step-rollout.ts';
import { isOnLoopback } from '../../fleet/loopback.ts';
import { auditSummary, DUBLIN, NOW, PARIS, rolloutSummary, TROUBLE } from '../fleet/values.ts';
import { answer, defaultCertificates, type Handler, startTlsServer, TOKEN } from '../kubernetes/tls-server.ts';

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
async function sweeper(handler: Handler, options: Partial<TargetSweeperOptions> = {}) {
  const server = await startTlsServer(handler);
  const { authority } = await defaultCertificates();
  const ca = Buffer.from(authority.certificatePem).toString('base64');
  const text = stringify({
    clusters: [{ name: 'c', cluster: { server: server.connection.server, 'certificate-authority-data': ca } }],
    users: [{ name: 'u', user: { token: TOKEN } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
  const steps: DueRollout[] = [];
  const notAsked = async (): Promise<never> => Promise.reject(new Error('not asked for'));
  const roll: RollCluster = async (due) => {
    steps.push(due);
    return { summary: SUMMARY, problems: [] };
  };
  const sweepOne = createTargetSweeper({
    addresses: 'local',
    readSecret: async () => text,
    signToken: notAsked,
    isEksEndpoint: isOnLoopback,
    describeCluster: notAsked,
    async *listInstances() {},
    policies: [DEFAULT_POLICY],
    clock: Date.now,
    roll,
    ...options,
  });
  return { server, steps, sweepOne };
}

describe('the step of a rollout that follows a sweep', () => {
  it('comes after the audit, with the connections of the sweep', async () => {
    const done: string[] = [];
    const { sweepOne } = await sweeper(works, {
      audit: async () => {
        done.push('audit');
        return auditSummary();
      },
      roll: async ({ open, handshakes, holdWrites }) => {
        done.push('roll');
        expect([open.management === open.workload, handshakes, holdWrites]).toEqual([true, true, undefined]);
        return { summary: SUMMARY, problems: [TROUBLE] };
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
    expect(steps[0]?.holdWrites).toMatch(why);
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
    const { sweepOne } = await sweeper(works, { roll: async () => Promise.reject(bug) });
    const swept = await sweepOne(orderOf(), never);
    expect([swept.rolloutError, swept.retry]).toEqual([bug, undefined]);
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

describe('the journal of a step', () => {
  const stepped = {
    at: new Date(NOW).toISOString(),
    written: { kind: 'written' },
    step: {
      kind: 'act',
      state: 'ready',
      message: 'x',
      checks: [],
      write: {
        kind: 'resume',
        object: { apiVersion: 'v1beta2', namespace: 'eksa-system', name: 'paris', uid: 'u', resourceVersion: '1' },
      },
    },
  } as const;

  it('gets what was written, beside the decisions of the sweep', async () => {
    const kept: JournalEntry[] = [];
    const append: Journal['append'] = async (_, entries) => kept.push(...entries) && entries.length;
    const { sweepOne } = await sweeper(works, {
      journal: { journal: { append }, program: '1.2.3' },
      roll: async () => ({ summary: SUMMARY, problems: [], stepped }),
    });
    const { journaled, outcome } = await sweepOne(orderOf(), never);
    expect(kept).toMatchObject([{ kind: 'rollout', cluster: 'paris', write: 'resume', program: '1.2.3' }]);
    expect(journaled).toEqual({ lines: 1, unwritten: [], leftOut: 0 });
    expect(outcome).toMatchObject({ rollout: SUMMARY, problems: [] });
  });

  it('gets the update of a node group', async () => {
    const kept: JournalEntry[] = [];
    const append: Journal['append'] = async (_, entries) => kept.push(...entries) && entries.length;
    const step = {
      kind: 'act',
      state: 'ready',
      message: 'x',
      checks: [],
      asks: [],
      ended: [],
      cluster: 'paris',
      nodegroup: 'blue',
      clientRequestToken: 'ng-1',
    } as const;
    const { sweepOne } = await sweeper(works, {
      journal: { journal: { append }, program: '1.2.3' },
      roll: async () => ({
        summary: SUMMARY,
        problems: [],
        steppedGroups: { step, written: { kind: 'written' }, at: new Date(NOW).toISOString() },
      }),
    });
    await sweepOne(orderOf(), never);
    expect(kept).toMatchObject([{ kind: 'rollout', cluster: 'paris', write: 'update-node-group', rollout: 'ng-1' }]);
  });

  it('says what it could not keep, and that the step was made', async () => {
    const { sweepOne } = await sweeper(works, {
      journal: {
        program: '1.2.3',
        journal: { append: async (_, entries) => (entries.length > 0 ? Promise.reject(new Error('no')) : 0) },
      },
      roll: async () => ({ summary: SUMMARY, problems: [], stepped }),
    });
    const { journaled, outcome } = await sweepOne(orderOf(), never);
    expect(journaled?.unwritten).toHaveLength(1);
    expect(outcome).toMatchObject({ rollout: SUMMARY, problems: [{ kind: 'journal' }] });
  });
});

describe('createClusterRoller', () => {
  type Step = typeof stepRollout;
  const stepped = {
    step: { kind: 'nothing', state: 'idle', message: 'm', checks: [] },
    problems: [TROUBLE],
    at: 'now',
  };
  const asked: Parameters<Step>[] = [];
  const roll = createClusterRoller({
    policies: [{ ...DEFAULT_ROLLOUT_POLICY, clusters: ['par*'] }],
    clock: () => NOW,
    step: (async (...args: Parameters<Step>) => {
      asked.push(args);
      return stepped;
    }) as unknown as Step,
  });
  const client = { server: 'https://a' } as never;
  const due = { cluster: {} as never, workload: client, machinesNamespace: 'eksa-system', close: () => undefined };

  it('steps a cluster by the schedule, with its policy', async () => {
    const open = { ...due, management: client, machinesNamespace: 'eksa-system' };
    const target = { ...PARIS, eksAnywhereNamespace: 'team-a', audit: { secrets: true as const } };
    const rolled = await roll({ target, open, handshakes: false, holdWrites: 'why', signal: never });
    expect(rolled).toMatchObject({ summary: { state: 'idle' }, problems: [TROUBLE] });
    expect(asked).toMatchObject([
      [
        {
          id: 'paris',
          name: 'paris',
          managesItself: true,
          namespace: 'eksa-system',
          eksAnywhereNamespace: 'team-a',
          readEtcdClientSecret: true,
        },
        { trigger: 'schedule', holdWrites: 'why', policy: { clusters: ['par*'] } },
      ],
    ]);
    expect(asked[0]?.[0]).not.toHaveProperty('handshakes', expect.anything());
    expect(asked[0]?.[1]).not.toHaveProperty('ledger', expect.anything());
  });

  it('has nothing to roll in a cluster without machines of its own', async () => {
    const rolled = await roll({ target: DUBLIN, open: due, handshakes: false, signal: never });
    expect(rolled).toMatchObject({ summary: { state: 'off' }, problems: [] });
    expect(asked).toHaveLength(1);
  });
});
