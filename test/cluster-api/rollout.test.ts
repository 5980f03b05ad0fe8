import { readFileSync, readlinkSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiCall } from '../../lambdas/kubernetes/client.ts';
import { HOLD_ANNOTATION, ROLLOUT_ANNOTATION } from '../../lambdas/resources/annotations.ts';
import { actRollout, type RolloutWritten } from '../../lambdas/rollout/act.ts';
import { observeRollout, type RolloutTarget } from '../../lambdas/rollout/observe.ts';
import { planAbort } from '../../lambdas/rollout/plan.ts';
import { DEFAULT_ROLLOUT_POLICY, type RolloutPolicy } from '../../lambdas/rollout/policy.ts';
import { type RolloutStepped, stepRollout } from '../../lambdas/rollout/step-rollout.ts';
import { handshakes } from '../../lambdas/tls/handshakes.ts';
import { connectAdmin } from '../control-plane/admin.ts';
import { PATIENCE_MS } from '../patience.ts';
import { type ApiserverEndpoints, type Lifetime, openApiserverEndpoints } from './apiserver-endpoints.ts';
import {
  type ControlPlaneCluster,
  conditionOf,
  createControlPlaneCluster,
  createdAt,
  type KubeadmControlPlane,
  type Machine,
  nowInSeconds,
  type Version,
} from './control-plane-cluster.ts';
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

const POLICY: RolloutPolicy = {
  ...DEFAULT_ROLLOUT_POLICY,
  clusters: ['*'],
  accepted: ['spare-capacity', 'etcd-backup'],
};

const parts = await clusterApiParts('rollouts of certmarshal by the real Cluster API');

describe.skipIf(parts.missing)('a rollout by the real Cluster API', () => {
  let stack: ClusterApi;
  let endpoints: ApiserverEndpoints;
  let berlin: ControlPlaneCluster;
  let paris: ControlPlaneCluster;
  let rome: ControlPlaneCluster;

  beforeAll(async () => {
    stack = await startClusterApi(parts, { users: [{ name: 'reader' }] });
    [berlin, paris, rome] = await Promise.all([
      createControlPlaneCluster(stack, { name: 'berlin' }),
      createControlPlaneCluster(stack, { name: 'paris' }),
      createControlPlaneCluster(stack, { name: 'rome' }),
    ]);
    const clusters = [berlin, paris, rome];
    await grantRollouts(stack, clusters);
    endpoints = await openApiserverEndpoints();
    const old = new Set((await Promise.all(clusters.map(async (one) => one.machines()))).flat().map(uidOf));
    // Kubeadm lets a leaf begin with its authority; of berlin another issuer makes them.
    const kubeadm = (machine: Machine): Lifetime => ({ notBefore: AUTHORITY_BEGAN, notAfter: yearAfter(machine) });
    const other = (machine: Machine): Lifetime => ({
      notBefore: new Date(createdAt(machine)),
      notAfter: yearAfter(machine),
    });
    // Of paris somebody renewed the API servers alone.
    for (const [cluster, lifetimeOf, ending] of [
      [berlin, other, ENDING],
      [paris, kubeadm, { ...ENDING, notAfter: inDays(300) }],
      [rome, kubeadm, ENDING],
    ] as const)
      await endpoints.follow(
        cluster,
        (machine) => (old.has(uidOf(machine)) ? ending : lifetimeOf(machine)),
        (machine) => (old.has(uidOf(machine)) ? ENDING : lifetimeOf(machine)),
      );
  });
  afterAll(async () => {
    await endpoints?.stop();
    await stack?.stop();
  });

  const spy = (serving?: readonly Version[]): Spy => spyOn(stack, serving);

  const target = ({ client }: Spy, { name, namespace }: ControlPlaneCluster): RolloutTarget => ({
    id: `mgmt/${namespace}/${name}`,
    name,
    namespace,
    management: client,
    managesItself: false,
    apiServerPort: endpoints.port,
    handshakes,
    authorities: async () => endpoints.authority.certPem,
  });

  const step = async (spied: Spy, cluster: ControlPlaneCluster, policy = POLICY): Promise<RolloutStepped> =>
    stepRollout(target(spied, cluster), {
      policy,
      trigger: 'schedule',
      clock: Date.now,
      signal: AbortSignal.timeout(PATIENCE_MS),
    });

  const uids = async (cluster: ControlPlaneCluster) => new Set((await cluster.machines()).map(uidOf));

  /** Every look on its own. */
  async function follow(cluster: ControlPlaneCluster, until: 'done', serving?: readonly Version[]) {
    const sent: ApiCall[] = [];
    const machines = new Set<number>();
    const look = async () => {
      const spied = spy(serving);
      const stepped = await step(spied, cluster);
      sent.push(...spied.sent);
      machines.add((await cluster.machines()).length);
      return stepped;
    };
    const { seen, last } = await followed(until, look, ({ state, progress }) =>
      [state, progress?.replaced, progress?.verified].join(' '),
    );
    return { seen, sent, machines, last };
  }

  describe('and that Cluster API', () => {
    it('runs where nobody else can reach it', () => {
      const pid = stack.pids['capi-core'];
      expect(readlinkSync(`/proc/${pid}/ns/net`)).not.toBe(readlinkSync('/proc/self/ns/net'));
      // Two lines are headings.
      const interfaces = readFileSync(`/proc/${pid}/net/dev`, 'utf8').trim().split('\n').slice(2);
      expect(interfaces.map((line) => line.split(':')[0]?.trim())).toEqual(['lo']);
    });

    it('has three machines, each with a node, an address and the end of its certificates', async () => {
      const machines = await rome.machines();
      expect(machines).toHaveLength(3);
      for (const { metadata, status } of machines) {
        expect(status?.nodeRef?.name).toMatch(/^rome-/);
        expect(status?.addresses).toEqual([{ type: 'InternalIP', address: endpoints.addressOf(metadata.name) }]);
        expect(Date.parse(status?.certificatesExpiryDate ?? '')).toBeGreaterThan(Date.now() + 364 * DAY);
      }
    });

    it('serves both versions, by its own conversion', async () => {
      const after = '2020-01-01T00:00:00Z';
      await rome.patchControlPlane({ spec: { rollout: { after } } });
      const old = await stack.admin.get<KubeadmControlPlane>(rome.controlPlanePath('v1beta1'));
      expect(old).toMatchObject({ spec: { rolloutAfter: after, replicas: 3 }, status: { updatedReplicas: 3 } });
      expect((await rome.controlPlane()).spec.rollout?.after).toBe(after);
      expect((await rome.machines('v1beta1')).map(({ metadata }) => metadata.uid)).toEqual(
        (await rome.machines()).map(({ metadata }) => metadata.uid),
      );
      await rome.patchControlPlane({ spec: { rollout: { after: null } } });
    });

    it('refuses an even number of members, a field that it does not know and an old resourceVersion', async () => {
      await expect(rome.patchControlPlane({ spec: { replicas: 4 } })).rejects.toMatchObject({
        status: 422,
        message: expect.stringContaining('cannot be an even number when etcd is stacked'),
      });
      await expect(
        rome.patchControlPlane({ spec: { rollout: { afterwards: 1 } } }, 'fieldValidation=Strict'),
      ).rejects.toMatchObject({ message: expect.stringContaining('unknown field "spec.rollout.afterwards"') });
      await expect(
        rome.patchControlPlane({ metadata: { resourceVersion: '1' }, spec: { rollout: { after: nowInSeconds() } } }),
      ).rejects.toMatchObject({ status: 409 });
    });

    it('answers a dry run and stores nothing', async () => {
      const before = await rome.controlPlane();
      const after = nowInSeconds();
      const answer = await rome.patchControlPlane({ spec: { rollout: { after } } }, 'dryRun=All');
      expect(answer.spec.rollout?.after).toBe(after);
      expect(answer.metadata['generation']).toBe(Number(before.metadata['generation']) + 1);
      const stored = await rome.controlPlane();
      expect(stored.spec).toEqual(before.spec);
      expect(stored.metadata['generation']).toBe(before.metadata['generation']);
    });

    it('has the definitions of etcdadm and EKS Anywhere', async () => {
      for (const path of [
        'etcdcluster.cluster.x-k8s.io/v1beta1/etcdadmclusters',
        'bootstrap.cluster.x-k8s.io/v1beta1/etcdadmconfigs',
        'anywhere.eks.amazonaws.com/v1alpha1/clusters',
      ])
        expect(await stack.admin.get(`/apis/${path}`)).toMatchObject({ items: [] });
    });

    it('gives a user the rights it is granted and no other', async () => {
      const reader = connectAdmin(stack, stack.tokenFor('reader'));
      try {
        await expect(reader.get(rome.controlPlanePath())).rejects.toMatchObject({ status: 403 });
        const rule = {
          apiGroups: ['controlplane.cluster.x-k8s.io'],
          resources: ['kubeadmcontrolplanes'],
          verbs: ['get'],
        };
        await stack.grant('reader', [rule], rome.namespace);
        expect(await reader.get(rome.controlPlanePath())).toMatchObject({ metadata: { name: rome.name } });
        await expect(reader.patch(rome.controlPlanePath(), {})).rejects.toMatchObject({ status: 403 });
      } finally {
        reader.close();
      }
    });
  });

  it('waits for its owner, and then for nothing', async () => {
    const spied = spy();
    const before = await step(spied, berlin);
    expect(before.problems).toEqual([]);
    expect(before.step).toMatchObject({ kind: 'nothing', state: 'off' });
    await agree(berlin);
    const observed = await observeRollout(target(spied, berlin), AbortSignal.timeout(PATIENCE_MS));
    expect(observed.unread).toEqual([]);
    expect(observed.controlPlane).toMatchObject({ apiVersion: 'v1beta2', mode: 'auto', etcd: 'stacked' });
    const older = await observeRollout(target(spy(['v1beta1']), berlin), AbortSignal.timeout(PATIENCE_MS));
    expect(older.controlPlane).toMatchObject({ apiVersion: 'v1beta1', mode: 'auto', etcd: 'stacked' });
    expect({ ...older.controlPlane, apiVersion: 'v1beta2' }).toEqual(observed.controlPlane);
    expect(spied.sent).toEqual([]);
  });

  it('is one patch, wherever a sweep ends before and after it', async () => {
    const original = await uids(berlin);
    const ends: readonly (readonly [what: string, hook: Spy['hook']])[] = [
      ['before the Lease', endsAt('before', (call) => isLease(call) && call.method !== 'GET')],
      ['after the Lease', endsAt('after', (call) => isLease(call) && call.method !== 'GET')],
      ['before the dry run', endsAt('before', isRehearsal)],
      ['after the dry run', endsAt('after', isRehearsal)],
      ['before the patch', endsAt('before', (call) => isPatch(call) && !isRehearsal(call))],
      ['after the patch', endsAt('after', (call) => isPatch(call) && !isRehearsal(call))],
    ];
    const sent: ApiCall[] = [];
    for (const [what, hook] of ends) {
      const spied = spy();
      spied.hook = hook;
      const end = await step(spied, berlin).then(
        () => 'lived on',
        (error: unknown) => String(error),
      );
      expect({ what, end }).toEqual({ what, end: 'Error: the process ended' });
      sent.push(...spied.sent);
    }
    expect(sent).toHaveLength(1);

    // Another one waits: its turn comes when this one is over. It has been due for 25 days, so a person is told.
    await agree(paris);
    const waiting = await step(spy(), paris);
    expect(waiting.step).toMatchObject({ kind: 'hold', state: 'refused' });
    expect(waiting.step.checks.filter(({ passed }) => !passed).map(({ id }) => id)).toEqual([
      'one-of-its-management-cluster',
    ]);

    const { seen, sent: later, last, machines } = await follow(berlin, 'done');
    expect(later).toEqual([]);
    // One by one, and never fewer than before.
    expect(machines).toEqual(new Set([3, 4]));
    expect(conditionOf(await berlin.controlPlane(), 'Available')?.status).toBe('True');
    const counts = seen.map((line) => Number(line.split(' ')[1]));
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(new Set(counts)).toEqual(new Set([0, 1, 2, 3]));
    expect(last.progress).toMatchObject({ wanted: 3, replaced: 3, verified: 3 });
    expect(shared(original, await uids(berlin))).toBe(0);

    const again = await step(spy(), berlin);
    expect(again.step).toMatchObject({
      kind: 'nothing',
      state: 'done',
      message: expect.stringContaining('nothing is due'),
    });
    expect((await holderOf(stack.admin)) ?? '').toBe('');
  });

  it('is one patch of two sweeps at once, in the older version of the API, due by what etcd shows', async () => {
    const original = await uids(paris);
    const { machines } = await observeRollout(target(spy(), paris), AbortSignal.timeout(PATIENCE_MS));
    for (const { served, etcdPorts } of machines) {
      expect(served.kind === 'certificate' && served.notAfter).toBeGreaterThan(Date.now() + 290 * DAY);
      for (const { served: shown } of etcdPorts)
        expect(shown.kind === 'certificate' && shown.notAfter).toBeLessThan(Date.now() + 21 * DAY);
    }
    const both = [spy(['v1beta1']), spy(['v1beta1'])];
    const outcomes = await Promise.all(both.map(async (spied) => step(spied, paris)));
    const written = outcomes.map((outcome) => outcome.written?.kind);
    expect(written.filter((kind) => kind === 'written')).toHaveLength(1);
    const [only, ...more] = both.flatMap(({ sent }) => sent);
    expect(more).toEqual([]);
    expect(only?.path).toContain('/v1beta1/');
    expect(only?.body).toMatchObject({ spec: { rolloutAfter: expect.any(String) } });

    const { sent, last } = await follow(paris, 'done', ['v1beta1']);
    expect(sent).toEqual([]);
    expect(last.progress).toMatchObject({ wanted: 3, verified: 3 });
    expect(shared(original, await uids(paris))).toBe(0);
  });

  it('does not begin when a certificate of etcd has ended', async () => {
    await agree(rome);
    const [first] = await rome.machines();
    await endpoints.serve(first?.metadata.name ?? '', { ...ENDING, notAfter: inDays(-1) }, 'etcd');
    const spied = spy();
    const { step: ended } = await step(spied, rome);
    expect(ended).toMatchObject({ kind: 'hold', state: 'expired', reasons: [{ id: 'not-expired' }] });
    expect(ended.kind === 'hold' && ended.reasons[0]?.message).toContain('on port 2379');
    expect(spied.sent).toEqual([]);
    await endpoints.serve(first?.metadata.name ?? '', ENDING, 'etcd');
  });

  it('leaves alone what a person does', async () => {
    const failing = async () => {
      const spied = spy();
      const { step: planned } = await step(spied, rome);
      expect(spied.sent).toEqual([]);
      return { state: planned.state, failed: planned.checks.filter(({ passed }) => !passed).map(({ id }) => id) };
    };
    const soon = new Date(Date.now() + DAY / 24).toISOString().replace(/\.\d+/, '');
    await rome.patchControlPlane({ spec: { rollout: { after: soon } } });
    await rome.untilRolledOut();
    expect(await failing()).toEqual({ state: 'foreign', failed: ['no-rollout-planned'] });
    await rome.patchControlPlane({ spec: { rollout: { after: null } } });
    await rome.untilRolledOut();
    await rome.pause(true);
    expect(await failing()).toEqual({ state: 'refused', failed: ['cluster-not-paused'] });
    await rome.pause(false);
    await rome.untilRolledOut();
  });

  it('tells the words of whoever refuses it', async () => {
    // A freeze, as platform teams have it.
    const name = 'no-rollouts-in-december';
    const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
    const bindings = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';
    const rule = {
      apiGroups: ['controlplane.cluster.x-k8s.io'],
      apiVersions: ['*'],
      operations: ['UPDATE'],
      resources: ['kubeadmcontrolplanes'],
    };
    const expression =
      '!has(object.spec.rollout.after) || (has(oldObject.spec.rollout.after) && object.spec.rollout.after == oldObject.spec.rollout.after)';
    await stack.admin.post(policies, {
      metadata: { name },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: { resourceRules: [rule], matchPolicy: 'Equivalent' },
        validations: [{ expression, message: 'frozen until 7 January, ask the platform team' }],
      },
    });
    await stack.admin.post(bindings, { metadata: { name }, spec: { policyName: name, validationActions: ['Deny'] } });
    // A policy takes a moment to be in force.
    await rome.waitFor('the freeze', async () =>
      rome.patchControlPlane({ spec: { rollout: { after: '2020-01-01T00:00:00Z' } } }, 'dryRun=All').then(
        () => false,
        () => true,
      ),
    );
    const spied = spy();
    const { step: planned, written, problems } = await step(spied, rome);
    expect(planned.kind).toBe('act');
    expect(written?.kind).toBe('refused');
    expect(problems.map(({ message }) => message)).toEqual([expect.stringContaining('frozen until 7 January')]);
    expect(spied.sent).toEqual([]);
    await stack.admin.delete(`${bindings}/${name}`);
    await stack.admin.delete(`${policies}/${name}`);

    // The webhook of Cluster API itself: two members of etcd, which somebody got past it.
    const webhooks = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
    const { items } = await stack.admin.get<{ items: { metadata: { name: string }; webhooks?: { name: string }[] }[] }>(
      webhooks,
    );
    const configuration = items.find((one) => one.webhooks?.some((hook) => hook.name.includes('kubeadmcontrolplane.')));
    if (configuration === undefined) throw new Error('no webhook of the control plane');
    await stack.admin.delete(`${webhooks}/${configuration.metadata.name}`);
    await rome.waitFor('two replicas', async () =>
      rome.patchControlPlane({ spec: { replicas: 2 } }).then(
        () => true,
        () => false,
      ),
    );
    const { metadata, ...rest } = configuration;
    await stack.admin.post(webhooks, { ...rest, metadata: { name: metadata.name } });
    await rome.waitFor('the webhook again', async () =>
      rome.patchControlPlane({ spec: { replicas: 4 } }, 'dryRun=All').then(
        () => false,
        () => true,
      ),
    );
    await rome.untilRolledOut();
    await rome.waitFor('two machines', async () => (await rome.machines()).length === 2);
    await expect
      .poll(async () => (await step(spy(), rome)).problems.map(({ message }) => message).join())
      .toContain('even number');
    expect((await rome.controlPlane()).metadata['annotations']).not.toHaveProperty(ROLLOUT_ANNOTATION);
    await rome.patchControlPlane({ spec: { replicas: 3 } });
    await rome.waitFor('three machines', async () => (await rome.machines()).length === 3);
    await rome.untilRolledOut();
  });

  it('is held when somebody pauses it, goes on when the hold is removed, and ends with abort', async () => {
    // The machine that came back has a new certificate; the others end as before.
    await expect.poll(async () => (await step(spy(), rome)).written?.kind).toBe('written');
    await rome.waitFor('the first new machine', async () => (await rome.machines()).length === 4);
    await rome.pause(true);
    const held = await step(spy(), rome);
    expect(held.step).toMatchObject({ kind: 'hold', state: 'held', reasons: [{ id: 'paused' }] });
    expect(held.written?.kind).toBe('written');
    await rome.pause(false);

    const quiet = spy();
    expect((await step(quiet, rome)).step).toMatchObject({ kind: 'hold', state: 'held' });
    expect(quiet.sent).toEqual([]);
    // A person fixed the cause, and removes the hold with kubectl annotate.
    await rome.patchControlPlane({ metadata: { annotations: { [HOLD_ANNOTATION]: null } } });

    const left = await uids(rome);
    expect((await abort()).kind).toBe('written');
    expect((await rome.controlPlane()).spec.rollout?.after).toBeUndefined();
    await rome.waitFor('three machines', async () => (await rome.machines()).length === 3);
    await rome.untilRolledOut();
    const after = await step(spy(), rome);
    expect(after.step).toMatchObject({ kind: 'nothing', state: 'aborted' });
    expect(shared(left, await uids(rome))).toBeGreaterThanOrEqual(2);
  });

  async function abort(): Promise<RolloutWritten> {
    // Controllers write to the object too: what they overtake is planned again.
    for (let tries = 0; tries < 20; tries += 1) {
      const { client } = spy();
      const signal = AbortSignal.timeout(PATIENCE_MS);
      const observed = await observeRollout(target({ ...spy(), client }, rome), signal);
      const planned = planAbort(observed, Date.now());
      if (planned.kind !== 'act') throw new Error(planned.message);
      const options = { management: client, cluster: `${rome.namespace}/rome`, clock: Date.now, signal };
      const written = await actRollout(planned.write, options);
      if (written.kind !== 'overtaken') return written;
    }
    throw new Error('overtaken 20 times');
  }
});

const isPatch = (call: ApiCall) => call.method === 'PATCH' && isControlPlane(call);

function uidOf({ metadata }: Machine): string {
  return String(metadata['uid']);
}

function shared(some: ReadonlySet<string>, others: ReadonlySet<string>): number {
  return [...some].filter((one) => others.has(one)).length;
}
