import type { SQSEvent } from 'aws-lambda';
import { describe, expect, it, vi } from 'vitest';
import { decodeOrders, encodeOrders } from '../../lambdas/contracts/order.ts';
import { STATE_KEYS } from '../../lambdas/fleet/state-keys.ts';
import type { ApiCall } from '../../lambdas/kubernetes/client.ts';
import { stepRollout } from '../../lambdas/rollout/step-rollout.ts';
import { captureStdout } from '../unit/telemetry/capture-stdout.ts';
import { type SimulatedAws, startSimulatedAws } from './aws/simulated-aws.ts';
import { steppedClock } from './clock.ts';
import { addWorkloadCluster, startKubeconfigCluster } from './hub/clusters.ts';
import { createHubFunctions } from './hub/functions.ts';
import { startHub } from './hub/hub.ts';
import { BUCKET, HUB, SWEEP_ROLE } from './hub/places.ts';
import { type RollingManagement, rollingManagement } from './hub/rolling.ts';
import { fleetOf, MINUTE, START } from './hub/world.ts';

/** What START is a multiple of, so that every run has the same turns. */
const TURN_MINUTES = 10;
/** From one machine to the next: a rollout takes longer than the pause between two starts. */
const MACHINE_MINUTES = 8;
const WORKLOADS = { rome: ['venice', 'turin'], athens: ['sparta'] } as const;
const NAMES = ['venice', 'turin', 'sparta'] as const;
type Name = (typeof NAMES)[number];
const idOf = (name: Name): string => `${name === 'sparta' ? 'athens' : 'rome'}/eksa-system/${name}`;

/** Two workload clusters of rome and one of athens, all with certificates that end soon, and a hub that may roll them. */
async function startRolling({ atOnce = 1 } = {}) {
  const output = captureStdout();
  const parts = new AsyncDisposableStack();
  parts.defer(() => output.restore());
  const clock = steppedClock(START);
  const aws = parts.use(await startSimulatedAws({ clock }));
  const started = await Promise.all([
    ...(['rome', 'athens'] as const).map(async (name) => startKubeconfigCluster({ aws, clock }, name)),
    ...NAMES.map(async (name) => startKubeconfigCluster({ aws, clock }, name)),
  ]);
  for (const { server } of started) parts.defer(async () => server.stop());
  const clusters = new Map(started.map((cluster) => [cluster.name, cluster]));
  const secret = (name: string) => clusters.get(name)?.secret ?? '';
  const managements = new Map<string, RollingManagement>();
  for (const [name, workloads] of Object.entries(WORKLOADS)) {
    const management = rollingManagement(workloads, START);
    for (const workload of workloads) {
      managements.set(workload, management);
      const cluster = clusters.get(name);
      if (cluster !== undefined) addWorkloadCluster(cluster, workload);
    }
  }
  const managementOf = (name: Name): RollingManagement => {
    const found = managements.get(name);
    if (found === undefined) throw new Error(`${name} has no management cluster`);
    return found;
  };
  const fleet = fleetOf(`
version: 1
audit: { every: ${TURN_MINUTES}m }
lanes:
  - { name: onprem, vpcId: vpc-0a1b2c3d4e5f60718, subnetIds: [subnet-0a1b2c3d4e5f60718, subnet-1b2c3d4e5f607182a], securityGroupIds: [sg-0a1b2c3d4e5f60718] }
managementClusters:
${Object.entries(WORKLOADS)
  .map(
    ([name, workloads]) => `  - name: ${name}
    kubeconfigSecret: ${secret(name)}
    lane: onprem
    workloadClusters: { kubeconfigSecrets: { ${workloads.map((each) => `${each}: '${secret(each)}'`).join(', ')} } }`,
  )
  .join('\n')}
rollouts:
  atOnce: ${atOnce}
  pause: 10m
  clusters: [{ clusters: [${NAMES.map(idOf).join(', ')}], accepted: [spare-capacity, etcd-backup] }]
`);
  const changes: { holdWrites?: string } = {};
  // The API servers of the harness know no control planes: what a step asks goes to those that roll.
  const step: typeof stepRollout = async ({ authorities: _authorities, ...target }, options) => {
    const { cluster, handshakes } = managementOf(target.name as Name);
    const reached = target.handshakes === undefined ? {} : { handshakes };
    return stepRollout({ ...target, management: cluster.client, ...reached }, { ...options, ...changes });
  };
  const hub = parts.use(startHub({ aws, clock, fleet, audits: false, stepRollout: step }));
  const stateOf = (name: Name) => hub.index()?.clusters[idOf(name)]?.rollout?.state;
  return {
    aws,
    clock,
    fleet,
    hub,
    step,
    changes,
    managementOf,
    stateOf,
    patches: () => NAMES.map((name) => managementOf(name).patches(name)),
    rolling: () => NAMES.filter((name) => managementOf(name).isRolling(name)),
    ledger: (): readonly { cluster: string; endedAt?: string }[] =>
      JSON.parse(aws.s3.read(BUCKET, STATE_KEYS.rollouts)?.toString('utf8') ?? '{"rollouts":[]}').rollouts,
    /** Orders with a rollout that were delivered, by minute of their tick. */
    ordered: (name: Name) =>
      hub.bodies.flatMap((body) => {
        const decoded = decodeOrders(body);
        return (decoded.ok ? decoded.value : []).flatMap((read) =>
          read.ok && read.id === idOf(name) && read.value.rollout === true ? [(read.value.tick - START) / MINUTE] : [],
        );
      }),
    async minute() {
      await hub.dispatch();
      await clock.advance(MINUTE);
      if (((clock.now() - START) / MINUTE) % MACHINE_MINUTES === 0)
        for (const management of new Set(managements.values())) management.replaceOne(clock.now());
    },
    [Symbol.asyncDispose]: async () => parts.disposeAsync(),
  };
}

const isBegin = ({ method, path, query }: ApiCall) =>
  method === 'PATCH' && path.includes('kubeadmcontrolplanes') && query?.['dryRun'] === undefined;

describe('rollouts of a fleet', () => {
  it.each([1, 2])(
    'go on %i at a time, one of a management cluster, each with one write, until all are done',
    async (atOnce) => {
      await using world = await startRolling({ atOnce });
      const { hub, rolling, stateOf } = world;
      const going = new Map<Name, number[]>(NAMES.map((name) => [name, []]));
      let most = 0;
      for (let minute = 0; minute < 240 && !NAMES.every((name) => stateOf(name) === 'done'); minute += 1) {
        for (const name of NAMES) if (stateOf(name) === 'rolling') going.get(name)?.push(minute);
        // oxlint-disable-next-line no-await-in-loop -- time goes on
        await world.minute();
        most = Math.max(most, rolling().length);
        expect(rolling().length).toBeLessThanOrEqual(atOnce);
        expect(rolling()).not.toEqual(expect.arrayContaining(['venice', 'turin']));
      }
      expect(NAMES.map((name) => stateOf(name))).toEqual(['done', 'done', 'done']);
      expect(most).toBe(atOnce);
      expect(world.patches()).toEqual([1, 1, 1]);
      const ended = world.ledger().filter(({ endedAt }) => endedAt !== undefined);
      expect(ended.map(({ cluster }) => cluster).toSorted()).toEqual(NAMES.map(idOf).toSorted());
      expect(world.ledger()).toHaveLength(NAMES.length);
      for (const name of NAMES) {
        const [ordered, rolled = []] = [new Set(world.ordered(name)), going.get(name)];
        expect(rolled.length).toBeGreaterThan(MACHINE_MINUTES);
        // The index says so each minute.
        expect(rolled).toEqual(rolled.map((_, index) => (rolled[0] ?? 0) + index));
        // Each minute while it goes on, and before that with its turn.
        expect(rolled.filter((minute) => !ordered.has(minute))).toEqual([]);
        const before = [...ordered].filter((minute) => minute < (rolled[0] ?? 0) - 2);
        expect(new Set(before.map((minute) => minute % TURN_MINUTES)).size).toBeLessThanOrEqual(1);
        expect(hub.index()?.clusters[idOf(name)]?.rollout?.progress).toMatchObject({ wanted: 3, verified: 3 });
        expect(hub.index()?.clusters[idOf(name)]?.findings).toEqual([]);
      }
    },
  );

  it.each<[string, 'before' | 'after', number]>([
    ['before its write: it is begun anew, once that is known', 'before', 0],
    ['after its write: it goes on', 'after', 1],
  ])('that the process dies of %s', async (_, when, patches) => {
    await using world = await startRolling();
    const { cluster } = world.managementOf('sparta');
    // The others wait: only sparta is opted in by its owner.
    for (const name of ['venice', 'turin'] as const)
      world
        .managementOf(name)
        .cluster.change(`/apis/anywhere.eks.amazonaws.com/v1alpha1/namespaces/default/clusters/${name}`, {
          metadata: { annotations: { 'certmarshal.dev/rollout-mode': null } },
        });
    const died = vi.fn<() => void>();
    cluster[when] = (call) => {
      if (died.mock.calls.length > 0 || !isBegin(call)) return;
      died();
      throw new Error('the process died');
    };
    for (let minute = 0; minute < 20 && died.mock.calls.length === 0; minute += 1)
      // oxlint-disable-next-line no-await-in-loop -- time goes on
      await world.minute();
    expect(died).toHaveBeenCalledOnce();
    expect(world.patches()).toEqual([0, 0, 1]);
    expect(world.rolling()).toHaveLength(patches);
    expect(world.ledger()).toMatchObject([{ cluster: idOf('sparta') }]);
    world.hub.restart();
    for (let minute = 0; minute < 120 && world.stateOf('sparta') !== 'done'; minute += 1)
      // oxlint-disable-next-line no-await-in-loop -- time goes on
      await world.minute();
    expect(world.stateOf('sparta')).toBe('done');
    expect(world.patches()).toEqual([0, 0, 2 - patches]);
    expect(world.ledger()).toMatchObject([{ cluster: idOf('sparta'), endedAt: expect.anything() }]);
  });

  it.each<[string, (aws: SimulatedAws) => unknown, readonly string[]]>([
    [
      'their ledger is damaged',
      ({ s3 }) => s3.write(BUCKET, STATE_KEYS.rollouts, '{"version":1,"rollouts":[{"id":"'),
      [],
    ],
    [
      'S3 refuses their ledger',
      (aws) => aws.deny('s3:GetObject', { account: HUB.account, role: SWEEP_ROLE }),
      ['denied'],
    ],
  ])('do not begin while %s, and say so', async (_, broken, kinds) => {
    await using world = await startRolling();
    broken(world.aws);
    const found = new Set<string>();
    for (let minute = 0; minute < TURN_MINUTES + 4; minute += 1) {
      // oxlint-disable-next-line no-await-in-loop -- time goes on
      await world.minute();
      // A finding is of the sweep that looked; the reasons stay.
      for (const name of NAMES)
        for (const { kind } of world.hub.index()?.clusters[idOf(name)]?.findings ?? []) if (minute > 2) found.add(kind);
    }
    expect([...found]).toEqual(kinds);
    expect(world.patches()).toEqual([0, 0, 0]);
    for (const name of NAMES) {
      expect(world.hub.index()?.clusters[idOf(name)]).toMatchObject({
        readable: true,
        rollout: {
          state: 'refused',
          reasons: [{ id: 'fleet-budget', message: expect.stringContaining('rollouts.json') }],
        },
      });
    }
  });

  it('that two sweeps at once would begin, because an order came twice, begin once', async () => {
    await using world = await startRolling({ atOnce: 2 });
    const { hub, changes } = world;
    changes.holdWrites = 'not yet';
    await world.minute();
    await world.minute();
    await world.minute();
    const orders = hub.bodies.flatMap((body) => {
      const decoded = decodeOrders(body);
      return (decoded.ok ? decoded.value : []).flatMap((read) =>
        read.ok && read.id === idOf('venice') ? [read.value] : [],
      );
    });
    const [order] = orders.toReversed();
    if (order === undefined) throw new Error('venice was not ordered');
    expect(order).not.toHaveProperty('holdWrites', expect.anything());
    delete changes.holdWrites;
    const body = encodeOrders([{ ...order, rollout: true }]);
    const record = { messageId: 'twice', body, attributes: { MessageGroupId: idOf('venice') }, eventSource: 'aws:sqs' };
    const event = { Records: [record] } as unknown as SQSEvent;
    const processes = [1, 2].map(() =>
      createHubFunctions({ ...world, queues: hub.queues, audits: false, stepRollout: world.step }),
    );
    const answers = await Promise.all(processes.map(async (functions) => world.clock.during(functions.sweep(event))));
    expect(answers).toEqual([undefined, undefined]);
    expect(world.patches()).toEqual([1, 0, 0]);
    expect(world.ledger()).toMatchObject([{ cluster: idOf('venice') }]);
  });
});
