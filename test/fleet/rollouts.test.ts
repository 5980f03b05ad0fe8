import { describe, expect, it, vi } from 'vitest';
import { STATE_KEYS } from '../../lambdas/fleet/state-keys.ts';
import type { ApiCall } from '../../lambdas/kubernetes/client.ts';
import { stepRollout } from '../../lambdas/rollout/step-rollout.ts';
import { awsError } from '../unit/functions/memory-objects.ts';
import { captureStdout } from '../unit/telemetry/capture-stdout.ts';
import { type SimulatedAws, startSimulatedAws } from './aws/simulated-aws.ts';
import { steppedClock } from './clock.ts';
import { addWorkloadCluster, startKubeconfigCluster } from './hub/clusters.ts';
import { findingsOf, type HubOptions, startHub } from './hub/hub.ts';
import { BUCKET } from './hub/places.ts';
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

interface Options extends Pick<HubOptions, 'aroundCall'> {
  readonly atOnce?: number;
}

/** Two workload clusters of rome and one of athens, all with certificates that end soon, and a hub that may roll them. */
async function startRolling({ atOnce = 1, aroundCall }: Options = {}) {
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
  // The API servers of the harness know no control planes: what a step asks goes to those that roll.
  const step: typeof stepRollout = async ({ authorities: _authorities, ...target }, options) => {
    const { cluster, handshakes } = managementOf(target.name as Name);
    const reached = target.handshakes === undefined ? {} : { handshakes };
    return stepRollout({ ...target, management: cluster.client, ...reached }, options);
  };
  const refused = new Set<string>();
  const aroundState: HubOptions['aroundState'] = (state) => ({
    ...state,
    async get(key, signal) {
      if (refused.has(key)) throw awsError('denied', key);
      return state.get(key, signal);
    },
  });
  const hub = parts.use(
    startHub({
      ...(aroundCall && { aroundCall }),
      aroundState,
      aws,
      clock,
      fleet,
      home: 'bucket',
      audits: false,
      stepRollout: step,
    }),
  );
  const stateOf = (name: Name) => hub.index()?.clusters[idOf(name)]?.rollout?.state;
  return {
    aws,
    hub,
    refused,
    managementOf,
    stateOf,
    patches: () => NAMES.map((name) => managementOf(name).patches(name)),
    rolling: () => NAMES.filter((name) => managementOf(name).isRolling(name)),
    ledger: (): readonly { cluster: string; endedAt?: string }[] =>
      JSON.parse(aws.s3.read(BUCKET, STATE_KEYS.rollouts)?.toString('utf8') ?? '{"rollouts":[]}').rollouts,
    /** Orders with a rollout that were delivered, by minute of their tick. */
    ordered: (name: Name) =>
      hub
        .orders()
        .flatMap(({ id, tick, rollout }) => (id === idOf(name) && rollout === true ? [(tick - START) / MINUTE] : [])),
    async minute() {
      await hub.minute();
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

  it.each<[string, (aws: SimulatedAws, refused: Set<string>) => unknown, readonly string[]]>([
    [
      'their ledger is damaged',
      ({ s3 }) => s3.write(BUCKET, STATE_KEYS.rollouts, '{"version":1,"rollouts":[{"id":"'),
      [],
    ],
    ['S3 refuses their ledger', (_, refused) => refused.add(STATE_KEYS.rollouts), ['denied']],
  ])('do not begin while %s, and say so', async (_, broken, kinds) => {
    await using world = await startRolling();
    broken(world.aws, world.refused);
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

  it('that two sweeps at once would begin, begin once', async () => {
    const aroundCall: HubOptions['aroundCall'] = async (name, call) =>
      name === 'sweep' ? Promise.all([call(), call()]).then(([one]) => one) : call();
    await using world = await startRolling({ atOnce: 1, aroundCall });
    for (let minute = 0; minute < TURN_MINUTES + 4 && world.ledger().length === 0; minute += 1)
      // oxlint-disable-next-line no-await-in-loop -- time goes on
      await world.minute();
    expect(world.patches().toSorted((a, b) => a - b)).toEqual([0, 0, 1]);
    expect(world.ledger()).toHaveLength(1);
    expect(findingsOf(world.hub.index())).toEqual([]);
  });
});
