import { describe, expect, it } from 'vitest';
import { rolloutEntries } from '../../../lambdas/cluster/stages/rollout.ts';
import type { HoldMark, RolloutMark } from '../../../lambdas/contracts/rollout-mark.ts';
import type { RolloutWritten } from '../../../lambdas/rollout/act.ts';
import type { RolloutStep, RolloutWrite } from '../../../lambdas/rollout/step.ts';
import { CLUSTER } from './values.ts';

const AT = '2026-11-21T10:00:00.000Z';
const CONTEXT = { cluster: CLUSTER, program: '1.2.3' };
const OBJECT = {
  apiVersion: 'v1beta2',
  namespace: 'eksa-system',
  name: 'berlin',
  uid: 'uid-kcp',
  resourceVersion: '42',
} as const;
const MARK: RolloutMark = {
  id: 'berlin-20261121',
  start: '2026-11-21T09:59:55Z',
  reason: 'certificates expire 2026-12-30',
  trigger: 'schedule',
};
const HOLD: HoldMark = { id: 'berlin-20261121', at: AT, reason: 'stuck', message: 'no machine was made for an hour' };
const REFUSED: RolloutWritten = {
  kind: 'refused',
  problem: { kind: 'forbidden', object: 'patch eksa-system/berlin', message: 'a hook said no\u001b[2J', remedy: 'x' },
};

const act = (write: RolloutWrite): RolloutStep => ({ kind: 'act', state: 'ready', message: 'x', checks: [], write });
const entriesOf = (step: RolloutStep, written?: RolloutWritten) => rolloutEntries({ step, at: AT, written }, CONTEXT);

describe('rolloutEntries', () => {
  it('has the write, the object, the rollout and what became of it', () => {
    expect(entriesOf(act({ kind: 'roll-control-plane', object: OBJECT, mark: MARK }), { kind: 'written' })).toEqual([
      {
        version: 1,
        kind: 'rollout',
        at: AT,
        cluster: CLUSTER,
        object: 'KubeadmControlPlane eksa-system/berlin',
        uid: 'uid-kcp',
        write: 'roll-control-plane',
        rollout: 'berlin-20261121',
        start: '2026-11-21T09:59:55Z',
        trigger: 'schedule',
        reason: 'certificates expire 2026-12-30',
        outcome: 'written',
        program: '1.2.3',
      },
    ]);
  });

  it.each<[RolloutWrite, object]>([
    [
      { kind: 'roll-etcd', object: OBJECT, mark: MARK, postEtcdadmCommands: ['true'] },
      { object: 'EtcdadmCluster eksa-system/berlin', write: 'roll-etcd' },
    ],
    [{ kind: 'pause-control-plane', object: OBJECT, mark: MARK }, { write: 'pause-control-plane' }],
    [{ kind: 'unpause-control-plane', object: OBJECT, mark: MARK }, { write: 'unpause-control-plane' }],
    [
      { kind: 'hold', object: OBJECT, hold: HOLD },
      { write: 'hold', reason: 'stuck', message: HOLD.message },
    ],
    [
      { kind: 'abort', object: OBJECT, mark: MARK, clearAfter: true, unpause: false, unhold: false },
      { write: 'abort' },
    ],
  ])('has each kind: %j', (write, expected) => {
    expect(entriesOf(act(write), { kind: 'written' })).toMatchObject([expected]);
  });

  it('has the words of who refused, and nothing that moves a terminal', () => {
    const [entry] = entriesOf(act({ kind: 'hold', object: OBJECT, hold: HOLD }), REFUSED);
    expect(entry).toMatchObject({ outcome: 'refused', reason: 'stuck' });
    expect(entry?.message).toMatch(/^patch eksa-system\/berlin: a hook said no/);
    expect(entry?.message).not.toContain('\u001b');
  });

  it('names the rollout that a hold is of', () => {
    const step: RolloutStep = {
      kind: 'hold',
      state: 'rolling',
      message: 'x',
      checks: [],
      reasons: [{ id: 'stuck', message: 'x', remedy: 'y' }],
      mark: MARK,
      write: { kind: 'hold', object: OBJECT, hold: HOLD },
    };
    expect(entriesOf(step, { kind: 'unknown' })).toMatchObject([
      { rollout: MARK.id, start: MARK.start, trigger: 'schedule', outcome: 'unknown' },
    ]);
  });

  it('is empty where nothing was to be written, or somebody else wrote', () => {
    const write: RolloutWrite = { kind: 'roll-control-plane', object: OBJECT, mark: MARK };
    expect(entriesOf({ kind: 'nothing', state: 'idle', message: 'x', checks: [] }, { kind: 'written' })).toEqual([]);
    expect(entriesOf(act(write))).toEqual([]);
    expect(entriesOf(act(write), { kind: 'overtaken' })).toEqual([]);
  });
});
