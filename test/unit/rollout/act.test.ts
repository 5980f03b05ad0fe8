import { describe, expect, it } from 'vitest';
import type { RolloutMark } from '../../../lambdas/contracts/rollout-mark.ts';
import type { KubernetesErrorKind } from '../../../lambdas/kubernetes/errors.ts';
import { type ActOptions, actRollout, type RolloutWritten } from '../../../lambdas/rollout/act.ts';
import { observeRollout } from '../../../lambdas/rollout/observe.ts';
import { acquireLease, releaseLease, renewLease } from '../../../lambdas/rollout/rollout-lease.ts';
import type { RolloutWrite } from '../../../lambdas/rollout/step.ts';
import { DAY, NOW } from './fixtures.ts';
import { failure } from './management-cluster.ts';
import { healthyWorld, holdLease, type World, withEtcd } from './world.ts';

const CLUSTER = 'eksa-system/berlin-prod';
const MARK: RolloutMark = { id: '20261128-1a2b3c', start: '2026-11-28T02:29:55Z', reason: 'due', trigger: 'schedule' };
const HOLD = { id: MARK.id, at: '2026-11-28T02:30:00Z', reason: 'stuck', message: 'nothing moves' };
const { signal } = new AbortController();

async function prepared(version: 'v1beta2' | 'v1beta1' = 'v1beta2', prepare: (world: World) => void = () => {}) {
  const world = healthyWorld(version);
  prepare(world);
  const { controlPlane, etcd, lease } = await observeRollout(world.target, signal);
  if (controlPlane === undefined) throw new Error('the world has a control plane');
  const options = { management: world.management.client, cluster: CLUSTER, clock: () => NOW, signal, lease };
  return {
    world,
    etcd,
    options,
    object: controlPlane,
    act: async (write: RolloutWrite, changes: Partial<ActOptions> = {}): Promise<RolloutWritten> =>
      actRollout(write, { ...options, ...changes }),
    stored: () => world.management.get(world.paths.controlPlane),
  };
}

const CONTROL_PLANE = 'kubeadmcontrolplanes/berlin-prod';
const roll = (object: Extract<RolloutWrite, { kind: 'roll-control-plane' }>['object']): RolloutWrite => ({
  kind: 'roll-control-plane',
  object,
  mark: MARK,
});

const END = { kind: 'abort', mark: MARK, clearAfter: true, unpause: false, unhold: false } as const;
const abortOf = (object: Extract<RolloutWrite, { kind: 'abort' }>['object']): RolloutWrite => ({ ...END, object });

describe('a rollout begins', () => {
  it('with the Lease, then a dry run, then exactly that write', async () => {
    const { act, object, world, stored } = await prepared();
    expect(await act(roll(object))).toEqual({ kind: 'written' });
    expect(world.management.calls).toEqual(['POST leases', `PATCH dryRun ${CONTROL_PLANE}`, `PATCH ${CONTROL_PLANE}`]);
    const [dry, real] = world.management.made.filter(({ path }) => path.endsWith(CONTROL_PLANE));
    expect(dry?.query).toEqual({ dryRun: 'All', fieldManager: 'certmarshal-rollout', fieldValidation: 'Strict' });
    expect(real?.query).toEqual({ fieldManager: 'certmarshal-rollout', fieldValidation: 'Strict' });
    expect(real?.body).toEqual(dry?.body);
    expect(real?.body).toEqual({
      metadata: {
        uid: object.uid,
        resourceVersion: object.resourceVersion,
        annotations: { 'certmarshal.dev/rollout': JSON.stringify(MARK) },
      },
      spec: { rollout: { after: MARK.start } },
    });
    expect(stored()['spec']).toMatchObject({ rollout: { after: MARK.start, strategy: { type: 'RollingUpdate' } } });
    expect(world.management.get(world.paths.lease)['spec']).toEqual({
      holderIdentity: `${CLUSTER} ${MARK.id}`,
      leaseDurationSeconds: 86_400,
      acquireTime: '2026-11-28T02:30:00.000000Z',
      renewTime: '2026-11-28T02:30:00.000000Z',
      leaseTransitions: 0,
    });
  });

  it('in v1beta1 with its own field', async () => {
    const { act, object, stored } = await prepared('v1beta1');
    expect(await act(roll(object))).toEqual({ kind: 'written' });
    expect(stored()['spec']).toMatchObject({ rolloutAfter: MARK.start });
  });

  it('with a pause where etcd is first', async () => {
    const { act, object, stored } = await prepared();
    expect(await act({ kind: 'pause-control-plane', object, mark: MARK })).toEqual({ kind: 'written' });
    expect(stored().metadata['annotations']).toEqual({
      'certmarshal.dev/rollout': JSON.stringify(MARK),
      'cluster.x-k8s.io/paused': `certmarshal-rollout/${MARK.id}`,
    });
    expect(stored()['spec']).not.toMatchObject({ rollout: { after: expect.anything() } });
  });

  it('not without the Lease', async () => {
    const { act, object, world } = await prepared('v1beta2', (prepare) =>
      holdLease(prepare, 'eksa-system/milan-prod milan-1', NOW - 60_000),
    );
    const written = await act(roll(object));
    expect(written).toMatchObject({ kind: 'locked', problem: { kind: 'locked' } });
    expect(written.problem?.message).toContain('milan-prod');
    expect(world.management.calls).toEqual([]);
  });

  it('not after the maintenance window, and the Lease is given back', async () => {
    const { act, object, world } = await prepared();
    const beginBy = new AbortController();
    world.management.after = ({ method }) => {
      if (method === 'POST') beginBy.abort();
    };
    expect(await act(roll(object), { beginBy: beginBy.signal })).toMatchObject({ kind: 'failed' });
    expect(world.management.calls).toEqual(['POST leases', 'PATCH leases/certmarshal-rollout']);
    expect(world.management.get(world.paths.lease)['spec']).toMatchObject({ holderIdentity: '' });
  });

  it('not when somebody took the Lease since it was looked at', async () => {
    const { act, object, world } = await prepared();
    holdLease(world, 'eksa-system/milan-prod milan-1', NOW);
    expect(await act(roll(object))).toMatchObject({ kind: 'overtaken' });
    expect(world.management.calls).toEqual(['POST leases']);
  });

  it.each(['timeout', 'forbidden', 'server'] satisfies KubernetesErrorKind[])(
    'not when the Lease meets %s',
    async (kind) => {
      const { act, object, world } = await prepared();
      world.management.before = () => {
        throw failure(kind);
      };
      const { problem, ...written } = await act(roll(object));
      expect({ ...written, of: problem?.kind }).toEqual({ kind: 'failed', of: kind });
      expect(problem?.remedy.includes('--rollout-of eksa-system/berlin-prod --service-account')).toBe(
        kind === 'forbidden',
      );
      expect(world.management.calls).toEqual(['POST leases']);
    },
  );
});

describe('other writes', () => {
  it('take no Lease', async () => {
    const { act, object, world } = await prepared();
    expect(await act({ kind: 'hold', object, hold: HOLD })).toEqual({ kind: 'written' });
    expect(world.management.calls).toEqual([`PATCH dryRun ${CONTROL_PLANE}`, `PATCH ${CONTROL_PLANE}`]);
  });

  it('ask for no claim, which only what begins a rollout needs', async () => {
    const { act, object, world } = await prepared();
    const claim = async () => ({ kind: 'locked' }) as const;
    expect(await act(roll(object), { claim })).toEqual({ kind: 'locked' });
    expect(world.management.calls).not.toContain(`PATCH ${CONTROL_PLANE}`);
    expect(await act({ kind: 'hold', object, hold: HOLD }, { claim })).toEqual({ kind: 'written' });
  });

  it.each([
    ['its own Lease back', `${CLUSTER} ${MARK.id}`, ''],
    ['the Lease of another cluster alone', 'eksa-system/milan-prod milan-1', 'eksa-system/milan-prod milan-1'],
  ])('abort: gives %s', async (_, holder, left) => {
    const { act, object, world } = await prepared('v1beta2', (prepare) => holdLease(prepare, holder, NOW - 60_000));
    expect(await act(abortOf(object), { settled: true })).toEqual({ kind: 'written' });
    expect(world.management.get(world.paths.lease)['spec']).toMatchObject({ holderIdentity: left });
  });

  it.each([
    ['conflict', undefined],
    ['forbidden', { kind: 'forbidden' }],
  ] as const)('abort: is written also where the Lease meets %s', async (kind, problem) => {
    const { act, object, world } = await prepared('v1beta2', (prepare) => holdLease(prepare, `${CLUSTER} a`, NOW));
    world.management.before = ({ path }) => {
      if (path.includes('/leases/')) throw failure(kind);
    };
    const written = await act(abortOf(object), { settled: true });
    expect(written).toMatchObject({ kind: 'written', problem });
    expect(written.problem === undefined).toBe(problem === undefined);
  });

  it('abort: keeps the Lease while anything moves', async () => {
    const { act, object, world } = await prepared('v1beta2', (prepare) => holdLease(prepare, `${CLUSTER} a`, NOW));
    const written = await act(abortOf(object));
    expect(written).toEqual({ kind: 'written' });
    expect(world.management.get(world.paths.lease)['spec']).toMatchObject({ holderIdentity: `${CLUSTER} a` });
  });

  it('abort: keeps the Lease where it is not written', async () => {
    const { act, object, world } = await prepared('v1beta2', (prepare) => holdLease(prepare, `${CLUSTER} a`, NOW));
    world.management.change(world.paths.controlPlane, { spec: { replicas: 5 } });
    const written = await act(abortOf(object), { settled: true });
    expect(written.kind).toBe('overtaken');
    expect(world.management.get(world.paths.lease)['spec']).toMatchObject({ holderIdentity: `${CLUSTER} a` });
  });

  it('hold', async () => {
    const { act, object, stored } = await prepared();
    await act({ kind: 'hold', object, hold: HOLD });
    expect(stored().metadata['annotations']).toEqual({ 'certmarshal.dev/rollout-hold': JSON.stringify(HOLD) });
  });

  it.each([
    ['v1beta2', true, true, false],
    ['v1beta2', false, true, true],
    ['v1beta1', true, false, true],
  ] as const)('abort in %s, clearing %j, unpausing %j, with its hold %j', async (...given) => {
    const [version, clearAfter, unpause, unhold] = given;
    const paused = { 'cluster.x-k8s.io/paused': `certmarshal-rollout/${MARK.id}` };
    const held = { 'certmarshal.dev/rollout-hold': '{}' };
    const { act, object, stored } = await prepared(version, ({ management, paths }) =>
      management.change(paths.controlPlane, {
        metadata: { annotations: { ...paused, ...held } },
        spec: version === 'v1beta2' ? { rollout: { after: MARK.start } } : { rolloutAfter: MARK.start },
      }),
    );
    const mark = { ...MARK, abortedAt: '2026-11-28T02:30:00Z' };
    expect(await act({ kind: 'abort', object, mark, clearAfter, unpause, unhold })).toEqual({ kind: 'written' });
    const { spec, metadata } = stored();
    expect(JSON.stringify(spec).includes(MARK.start)).toBe(!clearAfter);
    expect(metadata['annotations']).toEqual({
      'certmarshal.dev/rollout': JSON.stringify(mark),
      ...(unpause ? {} : paused),
      ...(unhold ? {} : held),
    });
  });

  it('remove our pause', async () => {
    const { act, object, stored } = await prepared('v1beta2', ({ management, paths }) =>
      management.change(paths.controlPlane, { metadata: { annotations: { 'cluster.x-k8s.io/paused': 'x' } } }),
    );
    expect(await act({ kind: 'unpause-control-plane', object, mark: MARK })).toEqual({ kind: 'written' });
    expect(stored().metadata['annotations']).toEqual({ 'certmarshal.dev/rollout': JSON.stringify(MARK) });
  });

  it('roll etcd with one write', async () => {
    const { act, etcd, world } = await prepared('v1beta2', withEtcd);
    if (etcd === undefined) throw new Error('the world has external etcd');
    const postEtcdadmCommands = ['true # certmarshal rollout 20261128-1a2b3c'];
    expect(await act({ kind: 'roll-etcd', object: etcd, mark: MARK, postEtcdadmCommands })).toEqual({
      kind: 'written',
    });
    const { metadata, spec } = world.management.get(world.paths.etcd);
    expect(metadata['annotations']).toEqual({
      'certmarshal.dev/rollout': JSON.stringify(MARK),
      'etcdcluster.cluster.x-k8s.io/upgrading': 'true',
    });
    expect(spec).toMatchObject({ etcdadmConfigSpec: { postEtcdadmCommands } });
  });
});

describe('what the server says', () => {
  const on = (dryRun: boolean) => (call: { readonly method: string; readonly path: string; readonly query?: object }) =>
    call.method === 'PATCH' && call.path.endsWith(CONTROL_PLANE) && 'dryRun' in (call.query ?? {}) === dryRun;

  it.each<[KubernetesErrorKind, RolloutWritten['kind'], RolloutWritten['kind']]>([
    ['conflict', 'overtaken', 'overtaken'],
    ['not-found', 'overtaken', 'overtaken'],
    ['invalid', 'refused', 'refused'],
    ['forbidden', 'refused', 'refused'],
    ['unauthorized', 'failed', 'failed'],
    ['throttled', 'failed', 'failed'],
    ['server', 'failed', 'unknown'],
    ['timeout', 'failed', 'unknown'],
    ['unreachable', 'failed', 'unknown'],
    ['aborted', 'failed', 'unknown'],
    ['not-kubernetes', 'failed', 'unknown'],
  ])('%s is %s with a dry run and %s with the write', async (kind, dry, real) => {
    for (const [dryRun, expected] of [
      [true, dry],
      [false, real],
    ] as const) {
      const { act, object, world } = await prepared();
      world.management.before = (call) => {
        if (on(dryRun)(call)) throw failure(kind);
      };
      expect(await act(roll(object))).toMatchObject({ kind: expected, problem: { kind, remedy: 'Nothing.' } });
      const patches = world.management.calls.filter((call) => call === `PATCH ${CONTROL_PLANE}`);
      expect(patches).toHaveLength(dryRun ? 0 : 1);
      // Others need not wait for what did not begin.
      const spec = world.management.get(world.paths.lease)['spec'];
      expect(spec).toMatchObject({ holderIdentity: expected === 'unknown' ? `${CLUSTER} ${MARK.id}` : '' });
    }
  });

  it('is nothing where the connection was refused: what did not arrive did not begin', async () => {
    const { act, object, world } = await prepared();
    world.management.before = (call) => {
      if (on(false)(call)) throw failure('unreachable', { code: 'ECONNREFUSED' });
    };
    expect(await act(roll(object))).toMatchObject({ kind: 'failed', problem: { kind: 'unreachable' } });
    expect(world.management.get(world.paths.lease)['spec']).toMatchObject({ holderIdentity: '' });
  });

  it('leaves the Lease to a rollout that this cluster has already', async () => {
    const { act, object, world } = await prepared('v1beta2', (prepare) =>
      holdLease(prepare, `${CLUSTER} earlier`, NOW),
    );
    world.management.before = (call) => {
      if (on(true)(call)) throw failure('conflict');
    };
    expect(await act(roll(object))).toMatchObject({ kind: 'overtaken' });
    expect(world.management.get(world.paths.lease)['spec']).toMatchObject({ holderIdentity: `${CLUSTER} ${MARK.id}` });
  });

  it('has the words of a webhook, and nothing is written', async () => {
    const { act, object, world, stored } = await prepared();
    const before = stored().metadata['resourceVersion'];
    world.management.before = (call) => {
      if (on(true)(call))
        throw failure('forbidden', {
          problem: 'answered 403 Forbidden (admission webhook "guard.test" denied the request: frozen until Monday)',
          remedy: 'Grant it.',
        });
    };
    const { kind, problem } = await act(roll(object));
    expect(kind).toBe('refused');
    expect(problem?.message).toContain('frozen until Monday');
    expect(problem?.remedy).not.toContain('Grant');
    expect(stored().metadata['resourceVersion']).toBe(before);
  });

  it.each([
    ['drops the field', { spec: { rollout: { after: null } } }, 'spec.rollout.after'],
    ['moves the time', { spec: { rollout: { after: '2027-01-01T00:00:00Z' } } }, 'spec.rollout.after'],
    ['takes the mark away', { metadata: { annotations: null } }, 'certmarshal.dev/rollout'],
  ])('is not what was asked for where a webhook %s', async (_, changed, field) => {
    const { object, options, world } = await prepared();
    const { client } = world.management;
    const written = await actRollout(roll(object), {
      ...options,
      management: {
        ...client,
        async request(call) {
          const answer = await client.request(call);
          if (!on(true)(call)) return answer;
          world.management.put('/changed', answer);
          world.management.change('/changed', changed);
          return world.management.get('/changed');
        },
      },
    });
    expect(written).toMatchObject({ kind: 'refused' });
    expect(written.problem?.message).toContain(field);
    expect(world.management.calls).not.toContain(`PATCH ${CONTROL_PLANE}`);
  });

  it('is not what was asked for where a webhook keeps a hold that an abort takes away', async () => {
    const hold = { metadata: { annotations: { 'certmarshal.dev/rollout-hold': '{}' } } };
    const { object, options, world } = await prepared('v1beta2', ({ management, paths }) =>
      management.change(paths.controlPlane, hold),
    );
    const { client } = world.management;
    const abort = { kind: 'abort', object, mark: MARK, clearAfter: false, unpause: false, unhold: true } as const;
    const written = await actRollout(abort, {
      ...options,
      management: {
        ...client,
        async request(call) {
          world.management.put('/changed', await client.request(call));
          world.management.change('/changed', hold);
          return world.management.get('/changed');
        },
      },
    });
    expect(written).toMatchObject({ kind: 'refused' });
    expect(written.problem?.message).toContain('metadata.annotations.certmarshal.dev/rollout-hold is not');
    expect(world.management.calls).not.toContain(`PATCH ${CONTROL_PLANE}`);
  });

  it('is not asked when there is no time left', async () => {
    const { object, options, world } = await prepared();
    const over = AbortSignal.abort();
    expect(await actRollout(roll(object), { ...options, lease: undefined, signal: over })).toMatchObject({
      kind: 'failed',
    });
    expect(world.management.calls).not.toContain(`PATCH dryRun ${CONTROL_PLANE}`);
  });
});

describe('of two that begin at once', () => {
  it('one writes', async () => {
    const { object, options, world } = await prepared();
    const written = await Promise.all([actRollout(roll(object), options), actRollout(roll(object), options)]);
    expect(written.map(({ kind }) => kind).toSorted()).toEqual(['overtaken', 'written']);
    expect(world.management.calls.filter((call) => call === `PATCH ${CONTROL_PLANE}`)).toHaveLength(1);
  });
});

describe('the Lease', () => {
  const leaseOf = async (holder: string, renewedAt: number) => {
    const { world, options } = await prepared('v1beta2', (prepare) => holdLease(prepare, holder, renewedAt));
    const { lease } = options;
    if (lease === undefined) throw new Error('the world has a Lease');
    return { lease, options, spec: () => world.management.get(world.paths.lease)['spec'] };
  };

  it.each([
    ['of nobody', '', NOW - 60_000, 'held'],
    ['of this cluster', `${CLUSTER} earlier`, NOW - 60_000, 'held'],
    ['of another', 'eksa-system/milan-prod a', NOW - DAY + 60_000, 'locked'],
    ['of one whose name begins with this one', `${CLUSTER}-2 a`, NOW - 60_000, 'locked'],
    ['of another that is gone', 'eksa-system/milan-prod a', NOW - DAY - 60_000, 'held'],
  ])('%s', async (_, holder, renewedAt, expected) => {
    const { lease, options, spec } = await leaseOf(holder, renewedAt);
    expect(await acquireLease(lease, 'b', options)).toMatchObject({ kind: expected });
    expect(spec()).toMatchObject(
      expected === 'held' ? { holderIdentity: `${CLUSTER} b`, leaseTransitions: 5 } : { holderIdentity: holder },
    );
  });

  it('is renewed and given back, once', async () => {
    const { lease, options, spec } = await leaseOf(`${CLUSTER} a`, NOW - 60_000);
    const renewed = await renewLease(lease, options);
    expect(spec()).toMatchObject({ holderIdentity: `${CLUSTER} a`, renewTime: '2026-11-28T02:30:00.000000Z' });
    if (renewed.lease === undefined) throw new Error('it was renewed');
    expect(await releaseLease(renewed.lease, options)).toMatchObject({ kind: 'held' });
    expect(spec()).toMatchObject({ holderIdentity: '', leaseTransitions: 4 });
    expect(await releaseLease(renewed.lease, options)).toMatchObject({ kind: 'overtaken' });
  });
});
