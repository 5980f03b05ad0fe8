import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiCall } from '../../lambdas/kubernetes/client.ts';
import { HOLD_ANNOTATION, PAUSED_ANNOTATION, ROLLOUT_ANNOTATION } from '../../lambdas/resources/annotations.ts';
import type { RolloutTarget } from '../../lambdas/rollout/observe.ts';
import type { ObservedRollout } from '../../lambdas/rollout/observed.ts';
import { DEFAULT_ROLLOUT_POLICY, type RolloutPolicy } from '../../lambdas/rollout/policy.ts';
import { type RolloutStepped, stepRollout } from '../../lambdas/rollout/step-rollout.ts';
import { handshakes } from '../../lambdas/tls/handshakes.ts';
import { decodeBundle } from '../../lambdas/x509/certificate-bundle.ts';
import { createAuthority } from '../control-plane/pki.ts';
import { PATIENCE_MS } from '../patience.ts';
import { type ApiserverEndpoints, type Lifetime, openApiserverEndpoints } from './apiserver-endpoints.ts';
import {
  type ControlPlaneCluster,
  createControlPlaneCluster,
  type Machine,
  nowInSeconds,
  type Version,
} from './control-plane-cluster.ts';
import { type PlayedEtcd, playEtcd } from './etcdadm-controller.ts';
import { clusterApiParts } from './parts.ts';
import {
  AUTHORITY_BEGAN,
  agree,
  DAY,
  ENDING,
  endsAt,
  followed,
  grantRollouts,
  holderOf,
  inDays,
  isControlPlane,
  isLease,
  isRehearsal,
  type Spy,
  spyOn,
  yearAfter,
} from './rolling.ts';
import { type ClusterApi, startClusterApi } from './stack.ts';

const MINUTE = 60_000;

const ASSIST: RolloutPolicy = {
  ...DEFAULT_ROLLOUT_POLICY,
  clusters: ['*'],
  accepted: ['spare-capacity', 'etcd-backup', 'single-replica'],
};
const POLICY: RolloutPolicy = { ...ASSIST, etcd: 'auto-experimental' };

const parts = await clusterApiParts('rollouts of external etcd and the real control plane');

describe.skipIf(parts.missing)('a rollout with external etcd', () => {
  let stack: ClusterApi;
  let apiServers: ApiserverEndpoints;
  let members: ApiserverEndpoints;
  let berlin: Rolled;
  let paris: Rolled;

  /** A cluster and its etcd. */
  interface Rolled extends ControlPlaneCluster {
    readonly etcd: PlayedEtcd;
  }

  beforeAll(async () => {
    stack = await startClusterApi(parts);
    const authority = await createAuthority('etcd-ca', inDays(3650), 'RSA');
    apiServers = await openApiserverEndpoints();
    members = await openApiserverEndpoints({ authority, commonName: 'etcd', dnsNames: ['localhost'] });
    let old = true;
    // Kubeadm and etcdadm let a leaf begin with its authority.
    const lifetimeOf = (machine: Machine): Lifetime =>
      old ? ENDING : { notBefore: AUTHORITY_BEGAN, notAfter: yearAfter(machine) };
    const made = async (name: string, replicas: number): Promise<Rolled> => {
      const played: PlayedEtcd[] = [];
      const prepare = async (namespace: string) => {
        const { admin } = stack;
        const ends = { client: ENDING, lifetimeOf };
        const etcd = await playEtcd({ admin, namespace, cluster: name, endpoints: members, authority, ...ends });
        played.push(etcd);
        return etcd.controlPlaneSpec;
      };
      const cluster = await createControlPlaneCluster(stack, { name, replicas, prepare });
      const [etcd] = played;
      if (etcd === undefined) throw new Error('no etcd was made');
      await apiServers.follow(cluster, lifetimeOf);
      return { ...cluster, etcd };
    };
    const [three, one] = await Promise.all([made('berlin', 3), made('paris', 1), startController(stack)]);
    berlin = three;
    paris = one;
    old = false;
    for (const { namespace, name } of [berlin, paris]) {
      // A grant of its own, off by default: the key is in the same Secret.
      const secrets = { apiGroups: [''], resources: ['secrets'], resourceNames: [`${name}-apiserver-etcd-client`] };
      await stack.grant('certmarshal', [{ ...secrets, verbs: ['get'] }], namespace);
    }
    await grantRollouts(stack, [berlin, paris], true);
    for (const cluster of [berlin, paris]) await agree(cluster);
  });

  afterAll(async () => {
    await Promise.all([berlin, paris].map(async (cluster) => cluster?.etcd.stop()));
    await Promise.all([apiServers, members].map(async (endpoints) => endpoints?.stop()));
    await stack?.stop();
  });

  const spy = (serving?: readonly Version[]): Spy => spyOn(stack, serving);

  const target = ({ client }: Spy, { name, namespace }: Rolled): RolloutTarget => ({
    id: `mgmt/${namespace}/${name}`,
    name,
    namespace,
    management: client,
    managesItself: false,
    apiServerPort: apiServers.port,
    // Etcd has the same ports everywhere, which a test on a machine of others can not have.
    handshakes: async (asked, options) =>
      handshakes(
        asked.map(({ host, port }) => ({ host, port: port === 2379 || port === 2380 ? members.port : port })),
        options,
      ),
    authorities: async () => apiServers.authority.certPem,
    readEtcdClientSecret: true,
  });

  /** @param later how much later than now it is, in milliseconds */
  const step = async (spied: Spy, cluster: Rolled, policy = POLICY, later = 0): Promise<RolloutStepped> =>
    stepRollout(target(spied, cluster), {
      policy,
      trigger: 'schedule',
      clock: () => Date.now() + later,
      signal: AbortSignal.timeout(PATIENCE_MS),
    });

  /** Every look on its own. */
  async function followToDone(cluster: Rolled) {
    const writes: ApiCall[] = [];
    let etcdRolled = 0;
    const look = async () => {
      const spied = spy();
      const stepped = await step(spied, cluster);
      writes.push(...spied.writes);
      if (isEtcdRolling(stepped.observed)) {
        etcdRolled += 1;
        expectOnlyEtcdRolls(stepped.observed);
      }
      return stepped;
    };
    const { seen, last } = await followed('done', look, ({ state, progress }) =>
      [state, progress?.etcd?.replaced, progress?.replaced].join(' '),
    );
    return { seen, writes, etcdRolled, last };
  }

  const clientEnds = async ({ etcd }: Rolled): Promise<number> => {
    const [first] = decodeBundle(await etcd.clientCertificate()).certificates;
    return first?.ok === true ? first.certificate.notAfter : Number.NaN;
  };

  it.each<Version>(['v1beta2', 'v1beta1'])('tells a person the command, and writes nothing (%s)', async (version) => {
    const spied = spy([version]);
    spied.hook = (_when, { method }) => expect(method).toBe('GET');
    const { step: planned, observed, problems } = await step(spied, berlin, ASSIST);
    expect(problems).toEqual([]);
    expect(observed.controlPlane?.apiVersion).toBe(version);
    expect(observed.etcd?.machines.map(({ owned, unhealthy }) => ({ owned, unhealthy }))).toEqual(
      Array.from({ length: 3 }, () => ({ owned: true, unhealthy: [] })),
    );
    expect(planned.checks.filter(({ passed }) => !passed)).toEqual([]);
    expect(planned).toMatchObject({
      kind: 'ask',
      state: 'assist',
      command: 'KUBECONFIG=MANAGEMENT eksctl anywhere renew certificates -f berlin-certificates.yaml',
      reasons: [{ id: 'etcd-by-hand' }],
    });
    expect((await berlin.controlPlane()).metadata.annotations).not.toHaveProperty(ROLLOUT_ANNOTATION);
    expect((await berlin.etcd.object()).metadata.annotations ?? {}).not.toHaveProperty(ROLLOUT_ANNOTATION);
  });

  it('rolls etcd, then the control plane, with three writes', async () => {
    const before = {
      etcd: await namesOf(berlin.etcd),
      machines: await namesOf(berlin),
      ends: await clientEnds(berlin),
    };
    const { endpoints } = (await berlin.etcd.object()).status ?? {};
    berlin.etcd.memberReadyMs = 1_500;
    const { seen, writes, etcdRolled, last } = await followToDone(berlin);
    expect(writes.map(whatOf)).toEqual(['pause-control-plane', 'roll-etcd', 'unpause-control-plane']);
    const { mark } = last;
    expect(writes.map(({ body }) => body)).toMatchObject([
      { metadata: { annotations: { [PAUSED_ANNOTATION]: `certmarshal-rollout/${mark?.id}` } } },
      { spec: { etcdadmConfigSpec: { postEtcdadmCommands: [`true # certmarshal rollout ${mark?.id}`] } } },
      { metadata: { annotations: { [PAUSED_ANNOTATION]: null } } },
    ]);
    expect(writes.filter(({ body }) => JSON.stringify(body).includes('"rollout":'))).toEqual([]);
    expect(etcdRolled).toBeGreaterThan(0);
    // All of etcd before anything of the control plane.
    const counts = seen.map((line) => line.split(' ').slice(1).map(Number));
    expect(counts.filter(([etcd = 0, machines = 0]) => machines > 0 && etcd < 3)).toEqual([]);

    expect(last.progress).toMatchObject({ wanted: 3, verified: 3, etcd: { wanted: 3, verified: 3 } });
    expect(shared(before.etcd, await namesOf(berlin.etcd))).toEqual([]);
    expect(shared(before.machines, await namesOf(berlin))).toEqual([]);
    expect((await berlin.etcd.machines()).length).toBe(3);
    expect((await clientEnds(berlin)) - before.ends).toBeGreaterThan(340 * DAY);
    const { metadata, status } = await berlin.etcd.object();
    expect(status?.endpoints).not.toBe(endpoints);
    expect(Object.keys(metadata.annotations ?? {})).toEqual([ROLLOUT_ANNOTATION]);
    expect((await berlin.controlPlane()).metadata.annotations).not.toHaveProperty(PAUSED_ANNOTATION);

    const again = spy();
    expect((await step(again, berlin)).step).toMatchObject({ kind: 'nothing', state: 'done' });
    expect(again.writes).toEqual([]);
    expect((await holderOf(stack.admin)) ?? '').toBe('');
  });

  /** Ends the process before and after each call of a write. @returns what was written, by all of them */
  async function endEverywhere(cluster: Rolled, isPart: (call: ApiCall) => boolean): Promise<readonly string[]> {
    const isLeaseWrite = (call: ApiCall) => isLease(call) && call.method !== 'GET';
    const isWrite = (call: ApiCall) => isPart(call) && call.method === 'PATCH' && !isRehearsal(call);
    const isTried = (call: ApiCall) => isPart(call) && isRehearsal(call);
    const leased = (await cluster.controlPlane()).metadata.annotations?.[ROLLOUT_ANNOTATION] === undefined;
    const sent: string[] = [];
    for (const [what, isIt] of Object.entries({ ...(leased && { isLeaseWrite }), isTried, isWrite })) {
      for (const when of ['before', 'after'] as const) {
        let end = 'overtaken';
        // Controllers write to the objects too: what they overtake is planned again.
        while (end === 'overtaken') {
          const spied = spy();
          spied.hook = endsAt(when, isIt);
          end = await step(spied, cluster).then(({ written }) => written?.kind ?? 'nothing written', String);
          sent.push(...spied.writes.map(whatOf));
        }
        expect(`${when} ${what}: ${end}`).toBe(`${when} ${what}: Error: the process ended`);
      }
    }
    return sent;
  }

  it('pauses, and tells etcd to roll, once, wherever a sweep ends', async () => {
    // The first new member does not come up, and nothing comes after it.
    paris.etcd.trouble.newMembersFail = true;
    paris.etcd.memberReadyMs = Number.POSITIVE_INFINITY;
    expect(await endEverywhere(paris, isControlPlane)).toEqual(['pause-control-plane']);
    expect(await endEverywhere(paris, isEtcd)).toEqual(['roll-etcd']);
    await paris.waitFor('a new machine', async () => (await paris.etcd.machines()).length === 4);
    const spied = spy();
    expect((await step(spied, paris)).step).toMatchObject({ kind: 'nothing', state: 'rolling' });
    expect(spied.writes).toEqual([]);
  });

  /** It is held now, for this, and nothing more is written than that. */
  async function expectHeld(reason: string, later = 0): Promise<void> {
    for (let written: string | undefined = 'overtaken'; written === 'overtaken'; ) {
      const spied = spy();
      const stepped = await step(spied, paris, POLICY, later);
      expect(stepped.step).toMatchObject({ kind: 'hold', state: 'held', reasons: [{ id: reason }] });
      written = stepped.written?.kind;
      expect(spied.writes.map(whatOf)).toEqual(written === 'overtaken' ? [] : ['hold']);
    }
    const { metadata } = await paris.controlPlane();
    expect(JSON.parse(metadata.annotations?.[HOLD_ANNOTATION] ?? '{}')).toMatchObject({ reason });
    for (const much of [0, later]) {
      const quiet = spy();
      expect((await step(quiet, paris, POLICY, much)).step).toMatchObject({ kind: 'hold', state: 'held' });
      expect(quiet.writes).toEqual([]);
    }
  }

  /** As a person with kubectl annotate. */
  const removeHold = async () => paris.patchControlPlane({ metadata: { annotations: { [HOLD_ANNOTATION]: null } } });

  const pausedBy = async (value: string | null) =>
    paris.patchControlPlane({ metadata: { annotations: { [PAUSED_ANNOTATION]: value } } });

  it('is held when a new member stays unhealthy, and when its controller is dead', async () => {
    await expectHeld('etcd-unhealthy', 31 * MINUTE);
    paris.etcd.trouble.newMembersFail = false;
    await paris.waitFor('the new member', async () =>
      (await paris.etcd.machines()).every(({ status }) => status?.phase === 'Running'),
    );
    await removeHold();
    await paris.etcd.kill();
    await expectHeld('stuck', 46 * MINUTE);
    paris.etcd.restart();
    await removeHold();
    expect((await step(spy(), paris)).step).toMatchObject({ kind: 'nothing', state: 'rolling' });
  });

  it('is held when somebody takes the pause away, and when somebody else pauses', async () => {
    const machines = await namesOf(paris);
    const ours = (await paris.controlPlane()).metadata.annotations?.[PAUSED_ANNOTATION] ?? '';
    expect(ours).toMatch(/^certmarshal-rollout\//);
    await pausedBy(null);
    await expectHeld('etcd-pause-lost');
    await pausedBy('until Anna is back');
    await removeHold();
    await expectHeld('paused');
    // The pause of somebody else is not ours to take.
    expect((await paris.controlPlane()).metadata.annotations?.[PAUSED_ANNOTATION]).toBe('until Anna is back');
    await pausedBy(ours);
    await removeHold();
    expect((await step(spy(), paris)).step).toMatchObject({ kind: 'nothing', state: 'rolling' });
    expect(await namesOf(paris)).toEqual(machines);
  });

  it('is held when there are too many machines, and when the client certificate stays old', async () => {
    const { trouble } = paris.etcd;
    trouble.capReached = true;
    await paris.waitFor('the cap', async () => JSON.stringify(await paris.etcd.object()).includes('MaxNumberOf'));
    await expectHeld('etcd-cap-reached');
    trouble.clientStaysOld = true;
    trouble.capReached = false;
    paris.etcd.memberReadyMs = 0;
    await paris.waitFor('etcd', async () => {
      const { metadata, status } = await paris.etcd.object();
      // It is ready at the cap too, with old machines among its own.
      const isRolled = status?.conditions?.some(
        (condition) => condition.type === 'EtcdMachinesSpecUpToDate' && condition.status === 'True',
      );
      const isUpgrading = 'etcdcluster.cluster.x-k8s.io/upgrading' in (metadata.annotations ?? {});
      return isRolled === true && status?.ready === true && !isUpgrading;
    });
    await removeHold();
    const waiting = spy();
    expect((await step(waiting, paris)).step).toMatchObject({
      kind: 'nothing',
      state: 'rolling',
      message: expect.stringContaining('client'),
    });
    expect(waiting.writes).toEqual([]);
    await expectHeld('etcd-client-old', 46 * MINUTE);
    const ends = await clientEnds(paris);
    trouble.clientStaysOld = false;
    await paris.waitFor('its client', async () => (await clientEnds(paris)) > ends);
    await removeHold();
  });

  it('takes its pause away once, and is done', async () => {
    const before = await namesOf(paris);
    expect(await endEverywhere(paris, isControlPlane)).toEqual(['unpause-control-plane']);
    const { writes, last } = await followToDone(paris);
    expect(writes).toEqual([]);
    expect(last.progress).toMatchObject({ wanted: 1, verified: 1, etcd: { wanted: 3, verified: 3 } });
    expect(shared(before, await namesOf(paris))).toEqual([]);
    expect((await paris.etcd.machines()).length).toBe(3);
    const { postEtcdadmCommands } = (await paris.etcd.object()).spec.etcdadmConfigSpec;
    expect(postEtcdadmCommands).toEqual([`true # certmarshal rollout ${last.mark?.id}`]);
  });
});

/** The process of etcdadm-controller, as its Pod tells of it. */
async function startController({ admin }: ClusterApi): Promise<void> {
  const namespace = 'etcdadm-controller-system';
  await admin.post('/api/v1/namespaces', { metadata: { name: namespace } });
  const container = { name: 'manager', image: 'etcdadm-controller' };
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  await admin.post(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'default' } });
  await admin.post(pods, { metadata: { name: 'controller' }, spec: { containers: [container] } });
  const startedAt = nowInSeconds();
  const running = { ready: true, restartCount: 0, imageID: 'etcdadm-controller', state: { running: { startedAt } } };
  await admin.patch(`${pods}/controller/status`, {
    status: { phase: 'Running', startTime: startedAt, containerStatuses: [{ ...container, ...running }] },
  });
}

const isEtcd = ({ path }: ApiCall) => path.includes('/etcdadmclusters/');

/** A write, as the step calls it. */
function whatOf(call: ApiCall): string {
  if (isEtcd(call)) return 'roll-etcd';
  const { metadata } = call.body as { readonly metadata: { readonly annotations: Readonly<Record<string, unknown>> } };
  const { [PAUSED_ANNOTATION]: paused, [HOLD_ANNOTATION]: held } = metadata.annotations;
  if (paused !== undefined) return paused === null ? 'unpause-control-plane' : 'pause-control-plane';
  return held === undefined ? 'other' : 'hold';
}

/** It was told to roll, and is not at its end. */
function isEtcdRolling({ etcd, controlPlane }: ObservedRollout): boolean {
  const mark = controlPlane?.mark;
  if (etcd?.mark === undefined || typeof mark !== 'object') return false;
  const { ready, upgrading, generation, observedGeneration, machines } = etcd;
  const old = machines.some(({ owned, createdAt: made }) => owned && made < Date.parse(mark.start));
  return !ready || upgrading || observedGeneration !== generation || old;
}

function expectOnlyEtcdRolls({ controlPlane, machines }: ObservedRollout): void {
  const mark = controlPlane?.mark;
  if (typeof mark !== 'object') throw new Error('etcd rolls without a mark on the control plane');
  expect(controlPlane?.paused).toBe(`certmarshal-rollout/${mark.id}`);
  expect(machines.filter(({ createdAt: made, deleting }) => deleting || made >= Date.parse(mark.start))).toEqual([]);
}

async function namesOf(machines: Pick<ControlPlaneCluster, 'machines'>): Promise<readonly string[]> {
  return (await machines.machines()).map(({ metadata }) => metadata.name);
}

function shared(some: readonly string[], others: readonly string[]): readonly string[] {
  return some.filter((one) => others.includes(one));
}
