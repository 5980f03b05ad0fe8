import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRolloutLedger } from '../../../lambdas/cluster/rollout-ledger.ts';
import { checksOf } from '../../../lambdas/rollout/checks.ts';
import { NO_HISTORY } from '../../../lambdas/rollout/history.ts';
import type { ObservedMachine, ObservedRollout } from '../../../lambdas/rollout/observed.ts';
import { planRollout } from '../../../lambdas/rollout/plan.ts';
import type { RolloutStep, RolloutWrite } from '../../../lambdas/rollout/step.ts';
import { runs } from '../../runs.ts';
import { memoryObjects } from '../functions/memory-objects.ts';
import {
  controlPlane,
  controlPlaneConditions,
  DAY,
  etcd,
  etcdConditions,
  etcdMachine,
  etcdPorts,
  HOUR,
  healthyRollout,
  MINUTE,
  machine,
  NAMESPACE,
  NOW,
  policy,
  served,
} from './fixtures.ts';

/*
 * A management cluster with some clusters, the controllers that replace their machines, and sweeps that plan and write, in any order: interrupted, late, two at once.
 */

type Plane = {
  -readonly [K in keyof NonNullable<ObservedRollout['controlPlane']>]: NonNullable<ObservedRollout['controlPlane']>[K];
};
type Etcd = { -readonly [K in keyof NonNullable<ObservedRollout['etcd']>]: NonNullable<ObservedRollout['etcd']>[K] };
type Machine = { -readonly [K in keyof ObservedMachine]: ObservedMachine[K] } & {
  /** What it was made of: addresses of etcd, commands of etcdadm. */
  of: string;
};

interface Cluster {
  readonly name: string;
  readonly plane: Plane;
  machines: Machine[];
  readonly etcd?: Etcd;
  etcdMachines: Machine[];
  /** What machines of etcd serve now, and the control plane has to know. */
  addresses: string;
  rolls: boolean;
  etcdRolls: boolean;
  /** That changed something. */
  readonly writes: string[];
}

interface World {
  now: number;
  made: number;
  holder: string | undefined;
  readonly clusters: readonly Cluster[];
}

const SECOND = 1000;

function newWorld(kinds: readonly ('stacked' | 'external')[]): World {
  return {
    now: NOW,
    made: 0,
    holder: undefined,
    clusters: kinds.map((kind, index) => {
      const name = `berlin-${index}`;
      const named = { namespace: NAMESPACE, name, uid: `uid-${index}`, resourceVersion: '1' };
      return {
        name,
        plane: { ...controlPlane({ ...named, etcd: kind }) },
        machines: [1, 2, 3].map((n) => ({ ...machine(n), name: `${name}-${n}`, of: '' })),
        etcd: kind === 'stacked' ? undefined : { ...etcd({ ...named, uid: `etcd-${index}` }) },
        etcdMachines:
          kind === 'stacked' ? [] : [1, 2, 3].map((n) => ({ ...etcdMachine(n), name: `${name}-etcd-${n}`, of: '' })),
        addresses: '',
        rolls: false,
        etcdRolls: false,
        writes: [],
      };
    }),
  };
}

const changed = (object: { resourceVersion: string }) => {
  object.resourceVersion = String(Number(object.resourceVersion) + 1);
};

function isOutdated({ plane, addresses }: Cluster, { createdAt, of, deleting }: Machine, now: number): boolean {
  const { rolloutAfter } = plane;
  return (
    !deleting && (of !== addresses || (rolloutAfter !== undefined && createdAt < rolloutAfter && rolloutAfter < now))
  );
}

/** Somebody replaces machines of it, or may begin to at any moment. */
function isInFlight(cluster: Cluster, now: number): boolean {
  const { machines, etcdMachines, plane } = cluster;
  return (
    plane.paused !== undefined ||
    machines.length !== 3 ||
    machines.some((one) => one.deleting || one.node === undefined || isOutdated(cluster, one, now)) ||
    etcdMachines.some(({ owned, etcdReady }) => !owned || etcdReady !== true)
  );
}

/** One reconcile of the KubeadmControlPlane. */
function reconcile(world: World, cluster: Cluster): void {
  const { plane, etcd: external } = cluster;
  if (plane.paused !== undefined || (external && (!external.ready || external.upgrading))) return;
  changed(plane);
  plane.observedGeneration = plane.generation;
  const outdated = cluster.machines.filter((one) => isOutdated(cluster, one, world.now));
  const leaving = cluster.machines.find(({ deleting }) => deleting);
  const young = cluster.machines.find(({ node }) => node === undefined);
  if (leaving !== undefined) cluster.machines = cluster.machines.filter((one) => one !== leaving);
  else if (young !== undefined) young.node = young.name;
  else if (outdated.length > 0 && cluster.machines.length < 4) {
    cluster.rolls = true;
    cluster.machines.push(newMachine(world, cluster, cluster.addresses));
  } else if (outdated[0] !== undefined) outdated[0].deleting = true;
  else if (cluster.rolls) {
    cluster.rolls = false;
    if (external) {
      external.upgradeComplete = true;
      changed(external);
    }
  }
}

/** One reconcile of the EtcdadmCluster. */
function reconcileEtcd(world: World, cluster: Cluster): void {
  const { etcd: external } = cluster;
  if (external === undefined) return;
  changed(external);
  external.observedGeneration = external.generation;
  const wanted = external.postEtcdadmCommands.join('\n');
  const joining = cluster.etcdMachines.find(({ owned, etcdReady }) => owned && etcdReady !== true);
  const outdated = cluster.etcdMachines.find(({ owned, of }) => owned && of !== wanted);
  if (joining !== undefined) joining.etcdReady = true;
  else if (outdated !== undefined) {
    cluster.etcdRolls = true;
    external.ready = false;
    external.conditions = etcdConditions({
      EtcdMachinesSpecUpToDate: { status: 'False', reason: 'EtcdRollingUpdateInProgress' },
      EtcdClusterHasNoOutdatedMachines: { status: 'False' },
    });
    outdated.owned = false;
    const { node: _, ...member } = newMachine(world, cluster, wanted);
    cluster.etcdMachines.push({ ...member, etcdReady: false });
  } else if (cluster.etcdRolls) {
    cluster.etcdRolls = false;
    external.ready = true;
    external.upgrading = false;
    external.conditions = etcdConditions({ EtcdClusterHasNoOutdatedMachines: { status: 'False' } });
    external.clientCertificate = { notBefore: 0, notAfter: world.now + 365 * DAY };
    cluster.addresses = wanted;
  } else if (external.upgradeComplete) {
    external.upgradeComplete = false;
    cluster.etcdMachines = cluster.etcdMachines.filter(({ owned }) => owned);
    external.conditions = etcdConditions();
  }
}

function newMachine(world: World, { name }: Cluster, of: string): Machine {
  world.made += 1;
  const { node: _, ...one } = machine(world.made);
  const certificate = served({ notBefore: 0, notAfter: world.now + 365 * DAY, fingerprint: `${world.made}` });
  return {
    ...one,
    name: `${name}-n${world.made}`,
    uid: `m${world.made}`,
    createdAt: Math.floor(world.now / SECOND) * SECOND,
    served: certificate,
    etcdPorts: etcdPorts(world.made, [2379, 2380], certificate),
    of,
  };
}

function observe({ clusters, holder, now }: World, cluster: Cluster): ObservedRollout {
  const { name, plane, machines, etcd: external, etcdMachines } = cluster;
  const upToDate = machines.filter((one) => !isOutdated(cluster, one, now) && !one.deleting).length;
  const idle = plane.observedGeneration !== plane.generation;
  return structuredClone(
    healthyRollout({
      cluster: { id: `mgmt/${NAMESPACE}/${name}`, name, managesItself: false },
      capiCluster: { namespace: NAMESPACE, name, deleting: false, paused: false, topology: false },
      controlPlane: {
        ...plane,
        status: { replicas: machines.length, ready: 3, available: 3, upToDate: idle ? 3 : Math.min(3, upToDate) },
        conditions: controlPlaneConditions({ RollingOut: { status: cluster.rolls ? 'True' : 'False' } }),
      },
      machines,
      etcd: external === undefined ? undefined : { ...external, machines: etcdMachines },
      healthChecks: [],
      siblings: clusters
        .filter((other) => other !== cluster)
        .map((other) => ({
          namespace: NAMESPACE,
          cluster: other.name,
          mark: other.plane.mark,
          rolling: other.machines.length !== 3 || other.machines.some((one) => isOutdated(other, one, now)),
          optedIn: true,
        })),
      lease: { uid: 'lease', resourceVersion: '1', holder },
    }),
  );
}

const POLICY = policy({ windows: [], etcd: 'auto-experimental' });

function plan(world: World, cluster: Cluster, observed: ObservedRollout): RolloutStep {
  const step = planRollout(observed, POLICY, NO_HISTORY, world.now);
  if (step.kind === 'hold') throw new Error(`${cluster.name}: ${step.message}: ${JSON.stringify(step.reasons)}`);
  return step;
}

/** Conditional, as the API server does it. Where a rollout begins, the Lease first. */
function write(world: World, cluster: Cluster, { state, ...step }: RolloutStep, interrupted: boolean): void {
  const mine = `${NAMESPACE}/${cluster.name} `;
  if (step.kind !== 'act') {
    if (state === 'done' && world.holder?.startsWith(mine)) world.holder = undefined;
    return;
  }
  const { write: one } = step;
  if (one.kind === 'roll-control-plane' || one.kind === 'pause-control-plane') {
    if (world.holder !== undefined && !world.holder.startsWith(mine)) return;
    world.holder = `${mine}${one.mark.id}`;
  }
  if (!interrupted) apply(cluster, one);
}

function apply(cluster: Cluster, one: RolloutWrite): void {
  const { plane, etcd: external } = cluster;
  const object = one.kind === 'roll-etcd' ? external : plane;
  if (object === undefined || object.uid !== one.object.uid || object.resourceVersion !== one.object.resourceVersion)
    return;
  changed(object);
  cluster.writes.push(one.kind);
  if (one.kind === 'roll-control-plane') {
    plane.mark = one.mark;
    plane.rolloutAfter = Date.parse(one.mark.start);
    plane.generation += 1;
  } else if (one.kind === 'pause-control-plane') {
    plane.mark = one.mark;
    plane.paused = `certmarshal-rollout/${one.mark.id}`;
  } else if (one.kind === 'unpause-control-plane') {
    delete plane.paused;
  } else if (one.kind === 'roll-etcd' && external !== undefined) {
    external.mark = one.mark;
    external.upgrading = true;
    external.postEtcdadmCommands = one.postEtcdadmCommands;
    external.generation += 1;
  }
}

interface Turn {
  readonly cluster: number;
  readonly what: 'reconcile' | 'etcd' | 'sweep' | 'interrupted' | 'two' | 'late';
  readonly seconds: number;
}

function take(world: World, { cluster: index, what, seconds }: Turn): void {
  world.now += seconds * SECOND;
  const cluster = world.clusters[index % world.clusters.length];
  if (cluster === undefined) return;
  if (what === 'reconcile') return reconcile(world, cluster);
  if (what === 'etcd') return reconcileEtcd(world, cluster);
  const observed = observe(world, cluster);
  const step = plan(world, cluster, observed);
  if (what === 'late') {
    for (const other of world.clusters) {
      reconcile(world, other);
      reconcileEtcd(world, other);
      if (other !== cluster) write(world, other, plan(world, other, observe(world, other)), false);
    }
  }
  write(world, cluster, step, what === 'interrupted');
  if (what === 'two') write(world, cluster, plan(world, cluster, observed), false);
}

const turn: fc.Arbitrary<Turn> = fc.record({
  cluster: fc.nat(2),
  what: fc.constantFrom('reconcile', 'reconcile', 'etcd', 'sweep', 'interrupted', 'two', 'late'),
  seconds: fc.integer({ min: 1, max: 9 }),
});

describe('clusters of one management cluster', () => {
  it('are rolled one after the other, each with one begin, whatever happens between', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('stacked' as const, 'external' as const), { minLength: 1, maxLength: 3 }),
        fc.array(turn, { maxLength: 150, size: 'max' }),
        (kinds, turns) => {
          const world = newWorld(kinds);
          const calm = Array.from({ length: 150 }, (): readonly Turn[] =>
            kinds.flatMap((_, cluster) =>
              (['sweep', 'reconcile', 'etcd'] as const).map((what) => ({ cluster, what, seconds: 4 })),
            ),
          );
          for (const one of [...turns, ...calm.flat()]) {
            take(world, one);
            expect(world.clusters.filter((cluster) => isInFlight(cluster, world.now)).length).toBeLessThan(2);
          }
          for (const cluster of world.clusters) {
            expect(plan(world, cluster, observe(world, cluster)).state).toBe('done');
            expect(cluster.writes).toEqual(
              cluster.etcd === undefined
                ? ['roll-control-plane']
                : ['pause-control-plane', 'roll-etcd', 'unpause-control-plane'],
            );
          }
        },
      ),
      { seed: 20_261_122, numRuns: runs(12) },
    );
  });
});

interface HostileTurn {
  readonly minutes: number;
  /** What its owner makes of it: any annotation and any Machine comes to this. */
  readonly sibling: Omit<ObservedRollout['siblings'][number], 'namespace' | 'cluster'>;
  readonly claims: boolean;
}

const hostileTurn: fc.Arbitrary<HostileTurn> = fc.record({
  minutes: fc.integer({ min: 1, max: 59 }),
  sibling: fc
    .record({ rolling: fc.boolean(), optedIn: fc.boolean(), ends: fc.constantFrom(undefined, 8, 30) })
    .map(({ ends, ...said }) => (ends === undefined ? said : { ...said, soonestEnd: NOW + ends * DAY })),
  claims: fc.boolean(),
});

describe('a cluster with a hostile owner', () => {
  const HOSTILE = { id: `berlin-mgmt/${NAMESPACE}/hostile`, name: 'hostile', managesItself: false };
  const IN_TURN = new Set(['cool-down', 'loop-guard', 'fleet-budget']);
  const { signal } = new AbortController();
  /** Due from now on. */
  const machines = [1, 2, 3].map((n) =>
    machine(n, { served: served({ notAfter: NOW + 45 * DAY, fingerprint: `${n}` }) }),
  );

  it.each([
    ['keeps another waiting for six hours by what it shows', false, 6],
    ['keeps another waiting for three turns more by what it claims, also where nothing comes of it', true, 24],
  ])(
    '%s',
    async (_, inFleet, hours) => {
      const longest = { waited: 0 };
      await fc.assert(
        fc.asyncProperty(
          fc.boolean(),
          fc.integer({ min: 16, max: 360 }),
          fc.array(hostileTurn, { minLength: 1, maxLength: 20 }),
          async (managesItself, keeps, turns) => {
            let now = NOW;
            const limits = { atOnce: 1, pauseMs: HOUR };
            const ledger = createRolloutLedger({ objects: memoryObjects(), limits, clock: () => now });
            let claimed: { id: string; at: number } | undefined;
            for (let looks = 0; ; looks += 1) {
              const { minutes, sibling, claims } = turns[looks % turns.length] as HostileTurn;
              now += minutes * MINUTE;
              // Its mark is gone, and so it never began: its next look finds that out, and claims again.
              if (claimed !== undefined && now - claimed.at >= keeps * MINUTE && now - claimed.at <= 6 * HOUR) {
                const undone = { claimedAt: claimed.at };
                // oxlint-disable-next-line no-await-in-loop -- one after the other
                await ledger.end({ id: claimed.id, cluster: HOSTILE.id, at: now, undone }, signal);
                claimed = undefined;
              }
              // oxlint-disable-next-line no-await-in-loop -- one after the other
              const before = await ledger.read(signal);
              const own = checksOf({
                observed: healthyRollout({ cluster: HOSTILE }),
                policy: POLICY,
                history: before,
                trigger: 'schedule',
                now,
              });
              if (
                inFleet &&
                claims &&
                claimed === undefined &&
                own.every(({ id, passed }) => passed || !IN_TURN.has(id))
              ) {
                const id = `h${looks}`;
                // oxlint-disable-next-line no-await-in-loop -- one after the other
                if (await ledger.take({ id, cluster: HOSTILE.id, trigger: 'schedule', at: now }, signal))
                  claimed = { id, at: now };
              }
              const observed = healthyRollout({
                cluster: { ...healthyRollout().cluster, managesItself },
                machines,
                siblings: [{ ...sibling, namespace: NAMESPACE, cluster: HOSTILE.name }],
              });
              // oxlint-disable-next-line no-await-in-loop -- one after the other
              const step = planRollout(observed, POLICY, await ledger.read(signal), now);
              if (step.kind === 'act') break;
              expect(step.state).toBe('waiting');
              expect(now - NOW).toBeLessThan(hours * HOUR);
            }
            longest.waited = Math.max(longest.waited, now - NOW);
          },
        ),
        { seed: 20_261_122, numRuns: runs(100) },
      );
      // It is a bound that is reached, almost.
      expect(longest.waited).toBeGreaterThan(0.75 * hours * HOUR);
    },
    60_000,
  );
});
