import { describe, expect, it, vi } from 'vitest';

import { createEksAuditReader } from '../../../lambdas/aws/eks-audit.ts';
import { createEksNodeGroups } from '../../../lambdas/aws/eks-nodegroups.ts';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import type { PastRollout } from '../../../lambdas/contracts/rollout-ledger.ts';
import { type NodeGroupsStepped, stepNodeGroups } from '../../../lambdas/rollout/step-node-groups.ts';
import type { RolloutLedger, StepOptions } from '../../../lambdas/rollout/step-rollout.ts';
import { type Answers, failure, fakeClient } from '../audit/sources/fake-cluster.ts';
import { type EksRestFake, endUpdates, startEksRestFake } from '../aws/eks-rest-fake.ts';
import { jsonRefusal } from '../aws/http-service.ts';
import { APPENDED, HOUR_MS, NOW, OLD, policy } from './node-group-fixtures.ts';

// Ten calls a second would make these the slowest tests of all; the pace has its own.
vi.mock('../../../lambdas/aws/pace.ts', () => ({ createPace: () => (call: () => Promise<unknown>) => call() }));

const SCOPE = { account: '111122223333', region: 'eu-west-1' } as const;
const MINUTE_MS = 60_000;
const seconds = (at: number) => at / 1000;
const nodeOf = (name: string, nodegroup: string, at: number) => ({
  metadata: {
    name,
    creationTimestamp: new Date(at).toISOString().replace('.000Z', 'Z'),
    labels: { 'eks.amazonaws.com/nodegroup': nodegroup },
  },
});
const authority = (id: string, createdAt: number, signingStatus: string) => ({
  id,
  createdAt: seconds(createdAt),
  signingStatus,
  distributionStatus: 'COMPLETE',
});

/** The ledger of a fleet, in memory. */
function memory(): RolloutLedger & { rollouts: PastRollout[]; claims: number } {
  const ledger = {
    rollouts: [] as PastRollout[],
    claims: 0,
    read: async () => ({ rollouts: ledger.rollouts, limits: { atOnce: 1, pauseMs: 0 } }),
    claim: async ({ at, ...rollout }: Parameters<RolloutLedger['claim']>[0]) => {
      ledger.claims += 1;
      ledger.rollouts = [...ledger.rollouts, { ...rollout, startedAt: at }];
      return true;
    },
    end: async ({ id, at, undone }: Parameters<RolloutLedger['end']>[0]) => {
      ledger.rollouts = ledger.rollouts
        .filter((rollout) => rollout.id !== id || undone === undefined || undone.claimedAt !== rollout.startedAt)
        .map((rollout) => (rollout.id === id ? { ...rollout, endedAt: rollout.endedAt ?? at } : rollout));
    },
  };
  return ledger;
}

type Changed = Partial<Omit<StepOptions, 'ledger'>> & { readonly ledger?: RolloutLedger | undefined };

interface World {
  readonly eks: EksRestFake;
  readonly ledger: ReturnType<typeof memory>;
  readonly nodes: unknown[];
  now: number;
  step(options?: Changed, answers?: Answers): Promise<NodeGroupsStepped>;
}

async function inWorld(use: (world: World) => Promise<void>): Promise<void> {
  const nodes: unknown[] = [nodeOf('a', 'blue', OLD), nodeOf('b', 'blue', OLD), nodeOf('c', 'green', OLD)];
  const ledger = memory();
  const group = () => ({
    createdAt: seconds(OLD),
    status: 'ACTIVE',
    version: '1.34',
    releaseVersion: '1.34.1-20260901',
  });
  await using eks = await startEksRestFake(
    {
      cluster: { name: 'dublin', status: 'ACTIVE', version: '1.34', tags: { 'certmarshal.dev/rollout-mode': 'auto' } },
      authorities: [authority('ca-1', OLD, 'IN_USE'), authority('ca-2', APPENDED, 'NOT_USED')],
      nodegroups: new Map([
        ['blue', group()],
        ['green', group()],
      ]),
      updates: new Map(),
    },
    () => world.now,
  );
  const { credentials, ...config } = eks.config;
  const options = { config, credentials: () => async () => credentials };
  const world: World = {
    eks,
    ledger,
    nodes,
    now: NOW,
    step: (changed = {}, answers = { '/api/v1/nodes': nodes }) => {
      const { ledger: given, ...others } = { ledger, ...changed };
      const target = {
        id: 'eu/dublin',
        name: 'dublin',
        ...SCOPE,
        workload: fakeClient(answers),
        authorities: (signal: AbortSignal) => createEksAuditReader(options)(SCOPE, 'dublin').authorities(signal),
        nodeGroups: createEksNodeGroups(options)(SCOPE, 'dublin'),
      };
      return stepNodeGroups(target, {
        policy: policy(),
        clock: () => world.now,
        signal: new AbortController().signal,
        ledger: given,
        ...others,
      });
    },
  };
  await use(world);
}

const writes = ({ eks }: World) =>
  eks.calls.filter(({ method }) => method !== 'GET').map(({ path }) => path.split('/')[4]);

describe('node groups of a cluster', () => {
  it('are updated one after the other, each once, until no node is old', () =>
    inWorld(async (world) => {
      const { eks, ledger, nodes } = world;
      expect(await world.step()).toMatchObject({
        step: { kind: 'act', nodegroup: 'blue' },
        written: { kind: 'written' },
        problems: [],
      });
      world.now += MINUTE_MS;
      expect(await world.step()).toMatchObject({ step: { kind: 'nothing', state: 'rolling' } });
      expect(writes(world)).toEqual(['blue']);

      world.now += 30 * MINUTE_MS;
      endUpdates(eks, 'Successful');
      // Its last Node has not gone yet.
      expect(await world.step()).toMatchObject({ step: { kind: 'nothing', state: 'verifying' } });
      expect(ledger.rollouts).toMatchObject([{ endedAt: world.now }]);

      nodes.splice(0, 2, nodeOf('d', 'blue', world.now), nodeOf('e', 'blue', world.now));
      world.now += MINUTE_MS;
      expect(await world.step()).toMatchObject({
        step: { kind: 'act', nodegroup: 'green' },
        written: { kind: 'written' },
      });

      endUpdates(eks, 'Successful');
      nodes.splice(2, 1, nodeOf('f', 'green', world.now));
      world.now += MINUTE_MS;
      expect(await world.step()).toMatchObject({ step: { kind: 'nothing', state: 'idle' } });
      expect(writes(world)).toEqual(['blue', 'green']);
      expect(ledger.rollouts.map(({ endedAt }) => endedAt === undefined)).toEqual([false, false]);
    }));

  it('are not read where fleet.yaml does not opt in', () =>
    inWorld(async (world) => {
      for (const none of [undefined, policy({ nodeGroups: false })])
        expect(await world.step({ policy: none })).toMatchObject({ step: { kind: 'nothing', state: 'off' } });
      expect(world.eks.calls).toEqual([]);
    }));

  it('are not listed while the authority has no successor', () =>
    inWorld(async (world) => {
      (world.eks.state.authorities as unknown[]).pop();
      expect(await world.step()).toMatchObject({ step: { kind: 'nothing', state: 'idle' } });
      expect(world.eks.calls.some(({ path }) => path.includes('node-groups') || path.includes('updates'))).toBe(false);
    }));

  it('that EKS refuses to update are asked for again with each look, and never forced', () =>
    inWorld(async (world) => {
      for (const refused of ['InvalidRequestException', 'InvalidParameterException']) {
        world.eks.refuseUpdate = jsonRefusal(refused);
        expect(await world.step()).toMatchObject({ written: { kind: 'refused' }, problems: [{ kind: 'refused' }] });
        expect(world.ledger.rollouts).toEqual([]);
        world.now += HOUR_MS;
      }
      world.eks.refuseUpdate = undefined;
      expect(await world.step()).toMatchObject({ written: { kind: 'written' } });
      expect(world.eks.calls.some(({ body }) => body.includes('"force":true'))).toBe(false);
    }));

  it('whose update fails are held', () =>
    inWorld(async (world) => {
      await world.step();
      world.now += HOUR_MS;
      endUpdates(world.eks, 'Failed', [{ errorCode: 'PodEvictionFailure' }]);
      expect(await world.step()).toMatchObject({
        step: { kind: 'hold', reasons: [{ id: 'node-group-update-failed', object: 'node group blue' }] },
      });
      expect(writes(world)).toEqual(['blue']);
    }));
});

describe('a write that does not come through', () => {
  it('is made again with the same token, and one update comes of it', () =>
    inWorld(async (world) => {
      world.eks.refuseUpdate = { status: 403, headers: { 'x-amzn-errortype': 'AccessDeniedException' }, body: '{}' };
      expect(await world.step()).toMatchObject({ written: { kind: 'refused' }, problems: [{ kind: 'denied' }] });
      expect(world.ledger.rollouts).toEqual([]);

      // What begins and is not written down: a crash between claim and call.
      const crashed = await world.step({
        ledger: {
          ...world.ledger,
          claim: () =>
            Promise.reject(
              new AwsError({ kind: 'unavailable', object: 's3:PutObject', problem: 'no answer', remedy: 'Wait.' }),
            ),
        },
      });
      expect(crashed).toMatchObject({ written: { kind: 'failed' }, problems: [{ kind: 'unavailable' }] });
      expect(writes(world)).toEqual(['blue']);

      world.eks.refuseUpdate = { status: 400, headers: { 'x-amzn-errortype': 'ClientException' }, body: '{}' };
      expect(await world.step()).toMatchObject({ written: { kind: 'unknown' } });
      expect(world.ledger.rollouts).toMatchObject([{ startedAt: world.now }]);
      world.now += MINUTE_MS;
      expect(await world.step()).toMatchObject({ written: { kind: 'written' } });
      expect(world.ledger.claims).toBe(2);
      expect(world.eks.state.updates.get('blue')).toHaveLength(1);
      const tokens = world.eks.calls
        .filter(({ method }) => method === 'POST')
        .map(({ body }) => (JSON.parse(body) as { clientRequestToken: string }).clientRequestToken);
      expect(new Set(tokens).size).toBe(1);
    }));

  it('two looks at once begin one update', () =>
    inWorld(async (world) => {
      await Promise.all([world.step(), world.step()]);
      expect(world.eks.state.updates.get('blue')).toHaveLength(1);
      expect(world.eks.state.updates.get('green')).toBeUndefined();
    }));

  it('another look was faster with the ledger: nothing is begun', () =>
    inWorld(async (world) => {
      expect(await world.step({ ledger: { ...world.ledger, claim: async () => false } })).toMatchObject({
        written: { kind: 'overtaken' },
      });
      expect(writes(world)).toEqual([]);
    }));

  it.each<[string, Changed, string]>([
    ['writes are held', { holdWrites: 'this is a rehearsal' }, 'not updated: this is a rehearsal'],
    [
      'there is no ledger',
      { ledger: undefined },
      'not updated: the fleet has no memory here: only a deployed certmarshal updates',
    ],
  ])('%s: planned, and not written', (_, options, message) =>
    inWorld(async (world) => {
      const stepped = await world.step(options);
      expect(stepped).toMatchObject({ step: { kind: 'act' }, problems: [{ kind: 'held', message }] });
      expect(stepped.written).toBeUndefined();
      expect(writes(world)).toEqual([]);
    }),
  );
});

it('the end of an update is not written down while writes are held', () =>
  inWorld(async (world) => {
    await world.step();
    world.now += HOUR_MS;
    endUpdates(world.eks, 'Successful');
    const { step } = await world.step({ holdWrites: 'this is a rehearsal' });
    expect(step.ended).toHaveLength(1);
    expect(world.ledger.rollouts).not.toMatchObject([{ endedAt: expect.anything() }]);
    await world.step();
    expect(world.ledger.rollouts).toMatchObject([{ endedAt: world.now }]);
  }));

describe('what cannot be read', () => {
  const denied = failure('forbidden', 'list nodes');

  it.each<[string, Answers]>([
    ['Nodes', { '/api/v1/nodes': denied }],
    ['one Node', { '/api/v1/nodes': [{ metadata: { name: 'a' } }] }],
    ['a Node that is none', { '/api/v1/nodes': [nodeOf('a', 'blue', OLD), 7] }],
  ])('%s', (_, answers) =>
    inWorld(async (world) => {
      expect(await world.step({}, answers)).toMatchObject({
        step: { kind: 'hold', state: 'refused', reasons: [{ id: 'everything-read' }] },
      });
      expect(writes(world)).toEqual([]);
    }),
  );

  it.each([
    [20_000, 'act'],
    [20_001, 'hold'],
  ])('more than 20,000 Nodes: of %i it comes to %s', (count, kind) =>
    inWorld(async (world) => {
      const nodes = Array.from({ length: count }, (_, number) => nodeOf(`n-${number}`, 'blue', OLD));
      expect(await world.step({}, { '/api/v1/nodes': nodes })).toMatchObject({ step: { kind } });
    }),
  );

  it('the ledger', () =>
    inWorld(async (world) => {
      const read = () =>
        Promise.reject(
          new AwsError({ kind: 'denied', object: 's3:GetObject', problem: 'access is denied', remedy: 'Allow it.' }),
        );
      const stepped = await world.step({ ledger: { ...world.ledger, read } });
      expect(stepped).toMatchObject({
        step: { kind: 'hold', reasons: [{ id: 'fleet-budget' }] },
        problems: [{ kind: 'denied' }],
      });
      expect(writes(world)).toEqual([]);
    }));

  it('what is a bug is not hidden', () =>
    inWorld(async (world) => {
      const answers: Answers = { '/api/v1/nodes': () => Promise.reject(new TypeError('a bug')) };
      await expect(world.step({}, answers)).rejects.toThrow('a bug');
    }));
});
