import { describe, expect, it } from 'vitest';
import { DEFAULT_POLICY } from '../../../../lambdas/approval/policy.ts';
import { createRolloutStage } from '../../../../lambdas/cluster/stages/rollout.ts';
import type { KubernetesClient } from '../../../../lambdas/kubernetes/client.ts';
import { DEFAULT_ROLLOUT_POLICY } from '../../../../lambdas/rollout/policy.ts';
import type { stepRollout } from '../../../../lambdas/rollout/step-rollout.ts';
import { DUBLIN, NOW, PARIS, TROUBLE } from '../../fleet/values.ts';
import { contextOf } from '../stage-context.ts';

describe('createRolloutStage', () => {
  type Step = typeof stepRollout;
  const stepped = {
    step: { kind: 'nothing', state: 'idle', message: 'm', checks: [] },
    problems: [TROUBLE],
    at: 'now',
  };
  const written = {
    ...stepped,
    at: new Date(NOW).toISOString(),
    written: { kind: 'written' },
    step: {
      kind: 'act',
      state: 'ready',
      message: 'x',
      checks: [],
      write: {
        kind: 'unpause-control-plane',
        mark: { id: 'r', start: 's', reason: 'due', trigger: 'schedule' },
        object: { apiVersion: 'v1beta2', namespace: 'eksa-system', name: 'paris', uid: 'u', resourceVersion: '1' },
      },
    },
  };
  /** A stage whose step comes to this, and what it was asked. */
  const stageWith = (stepsTo: object) => {
    const asked: Parameters<Step>[] = [];
    const rollout = createRolloutStage({
      policies: [{ ...DEFAULT_ROLLOUT_POLICY, clusters: ['par*'] }],
      approvals: [{ ...DEFAULT_POLICY, clusters: ['paris'] }],
      program: '1.2.3',
      clock: () => NOW,
      step: (async (...args: Parameters<Step>) => {
        asked.push(args);
        return stepsTo;
      }) as unknown as Step,
    });
    return { asked, rollout };
  };
  const client = { server: 'https://a' } as KubernetesClient;
  const due = { cluster: {} as never, workload: client, machinesNamespace: 'eksa-system', close: () => undefined };

  it('steps a cluster by the schedule, with its policy', async () => {
    const open = { ...due, management: client, machinesNamespace: 'eksa-system' };
    const target = { ...PARIS, eksAnywhereNamespace: 'team-a', audit: { secrets: true as const } };
    const { asked, rollout } = stageWith(stepped);
    const rolled = await rollout(contextOf(target, { due: true, open, held: 'why' }));
    expect(rolled).toMatchObject({ result: { state: 'idle' }, problems: [TROUBLE] });
    expect(asked).toMatchObject([
      [
        {
          id: 'paris',
          name: 'paris',
          managesItself: true,
          approves: true,
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

  it.each([undefined, 'pem'])(
    'takes for the authorities of the control plane what its client trusts: %s',
    async (caPem) => {
      const { asked, rollout } = stageWith(stepped);
      const open = { ...due, workload: { ...client, caPem } as never, management: client };
      await rollout(contextOf(PARIS, { due: true, open }));
      expect(await asked[0]?.[0].authorities?.()).toBe(caPem);
      expect(asked[0]?.[0].authorities === undefined).toBe(caPem === undefined);
    },
  );

  it('records what was written', async () => {
    const context = contextOf(PARIS, { due: true as const, open: { ...due, management: client } });
    expect((await stageWith(written).rollout(context)).decisions).toMatchObject([
      { kind: 'rollout', cluster: 'paris', write: 'unpause-control-plane', program: '1.2.3' },
    ]);
    expect((await stageWith(stepped).rollout(context)).decisions).toEqual([]);
  });

  it('has nothing to roll in a cluster without machines of its own', async () => {
    const { asked, rollout } = stageWith(stepped);
    const rolled = await rollout(contextOf(DUBLIN, { due: true, open: due }));
    expect(rolled).toMatchObject({ result: { state: 'off', reasons: [], reasonCount: 0 }, problems: [] });
    expect(asked).toEqual([]);
  });
});
