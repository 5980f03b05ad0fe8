import { S3Client } from '@aws-sdk/client-s3';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { rbacManifests } from '../../bin/commands/rbac.ts';
import { recoveryBucket } from '../../bin/commands/recovery/aws.ts';
import { recoveryCloseInBucket, recoveryOpenInBucket } from '../../bin/commands/recovery/bucket.ts';
import { recoveryWindow } from '../../bin/commands/recovery/window.ts';
import { DEFAULT_POLICY, KUBELET_CLIENT_SIGNER } from '../../lambdas/approval/policy.ts';
import { DEFAULT_BOOTSTRAP_GROUPS, type RecoveryWindow } from '../../lambdas/contracts/recovery-window.ts';
import { STATE_KEYS } from '../../lambdas/fleet/state-keys.ts';
import { s3JournalStore } from '../../lambdas/journal/journal-store.ts';
import { verifyJournal } from '../../lambdas/journal/verify.ts';
import { microTime } from '../../lambdas/kubernetes/leases.ts';
import { controlPlaneMachine, workerMachine } from '../providers/objects.ts';
import { PROVIDERS } from '../providers/table.ts';
import { recordedIo } from '../unit/bin/io.ts';
import { captureStdout } from '../unit/telemetry/capture-stdout.ts';
import { makeRequest } from '../unit/x509/request-factory.ts';
import { startSimulatedApiServer } from './api-server.ts';
import { authenticated, type PolicyRule } from './authorization.ts';
import { awsClientConfig } from './aws/aws-environment.ts';
import { startSimulatedAws } from './aws/simulated-aws.ts';
import { steppedClock } from './clock.ts';
import { grantedRules } from './demo-cluster.ts';
import { approvedIn } from './hub/clusters.ts';
import { findingsOf, startHub } from './hub/hub.ts';
import { BUCKET, HUB, JOURNAL_BUCKET } from './hub/places.ts';
import { fleetOf, MINUTE, START } from './hub/world.ts';
import { kubernetesTime } from './kube-object.ts';
import { kubeconfigOf } from './kubeconfig.ts';

const CLUSTER = 'berlin';
const BOOTSTRAPPER = 'system:bootstrap:abcdef';
const signal = new AbortController().signal;

interface Options {
  /** `recovery` of fleet.yaml. */
  readonly recovery?: string;
  readonly certificateNotAfter?: Date;
}

/** A cluster that manages itself and slept: three control plane Nodes, of which cp-3 is awake, and a worker. */
async function startAsleep({ recovery = '', certificateNotAfter }: Options = {}) {
  const output = captureStdout();
  const parts = new AsyncDisposableStack();
  parts.defer(() => output.restore());
  const clock = steppedClock(START);
  const aws = parts.use(await startSimulatedAws({ clock }));
  const rules = [{}, { recovery: true }].flatMap((options) =>
    parseAllDocuments(rbacManifests(options, [DEFAULT_POLICY])).flatMap(
      (document): readonly PolicyRule[] => document.toJS().rules ?? [],
    ),
  );
  const server = await startSimulatedApiServer({
    clock,
    name: CLUSTER,
    users: [
      { name: 'certmarshal', groups: ['certmarshal'], rules: [...grantedRules(), ...rules] },
      {
        name: BOOTSTRAPPER,
        rules: [{ apiGroups: ['certificates.k8s.io'], resources: ['certificatesigningrequests'], verbs: ['create'] }],
      },
    ],
    ...(certificateNotAfter === undefined
      ? {}
      : { certificateNotAfter, certificateNotBefore: new Date(certificateNotAfter.getTime() - 86_400_000) }),
  });
  parts.defer(async () => server.stop());
  const { api } = server;
  const made = (name: string, namespace?: string) => ({
    name,
    uid: `uid-${name}`,
    creationTimestamp: kubernetesTime(clock.now()),
    ...(namespace === undefined ? {} : { namespace }),
  });
  for (const node of ['cp-1', 'cp-2', 'cp-3', 'worker']) {
    api.nodes.put({ metadata: made(node), status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } });
    const of = { provider: PROVIDERS['bare metal, 0.26'], name: CLUSTER };
    const maker = node === 'worker' ? workerMachine : controlPlaneMachine;
    const machine = maker(of, { name: `${CLUSTER}-${node}`, address: '10.0.1.31' });
    api.machines?.put({
      ...machine,
      metadata: { ...machine.metadata, ...made(`${CLUSTER}-${node}`, 'eksa-system') },
      // Whoever listed the hardware chose its name.
      status: { ...machine.status, nodeRef: { name: node } },
    });
  }
  const awake = () =>
    api.leases.put({ metadata: made('cp-3', 'kube-node-lease'), spec: { renewTime: microTime(clock.now()) } });

  const secret = aws.secretsManager.putSecret(HUB, `certmarshal/${CLUSTER}`, kubeconfigOf(server, 'certmarshal'));
  const fleet = fleetOf(`
version: 1
clusters:
  - { name: ${CLUSTER}, provider: eks-anywhere, kubeconfigSecret: '${secret}' }
${recovery}`);
  const hub = parts.use(startHub({ aws, clock, fleet, audits: false }));
  const config = awsClientConfig(aws, HUB);
  const bucket = await recoveryBucket(BUCKET, config);
  let windows = 0;
  const run = async (command: typeof recoveryCloseInBucket | 'open', nodes = 'cp-1,cp-3,worker') => {
    const io = { ...recordedIo(), clock: () => clock.now() };
    const options = { output: 'table', program: 'certmarshal' } as const;
    windows += 1;
    const id = `w-${windows}`;
    const windowBy = (by: string, now: number) =>
      recoveryWindow({ nodes, for: '30m', by }, { id, cluster: CLUSTER, now });
    const status =
      command === 'open'
        ? await recoveryOpenInBucket(bucket, windowBy, options, signal, io)
        : await command(bucket, CLUSTER, options, signal, io);
    expect([status, io.stderr.text()]).toEqual([0, '']);
    return io.stdout.text();
  };
  return {
    aws,
    clock,
    server,
    hub,
    awake,
    parts,
    open: async (nodes?: string) => run('open', nodes),
    close: async () => run(recoveryCloseInBucket),
    /** Ticks, and all that comes of them. */
    async minutes(count: number) {
      for (let minute = 0; minute < count; minute += 1) {
        awake();
        await hub.dispatch();
        await clock.advance(MINUTE);
      }
    },
    /** The kubelet of a node asks with a bootstrap token. */
    ask(node: string, name: string) {
      const { status } = api.handle({
        method: 'POST',
        url: '/apis/certificates.k8s.io/v1/certificatesigningrequests',
        user: authenticated(BOOTSTRAPPER, ['system:bootstrappers', ...DEFAULT_BOOTSTRAP_GROUPS]),
        body: JSON.stringify({
          apiVersion: 'certificates.k8s.io/v1',
          kind: 'CertificateSigningRequest',
          metadata: { name },
          spec: {
            request: makeRequest({ commonName: `system:node:${node}`, sans: [] }).pem.toString('base64'),
            signerName: KUBELET_CLIENT_SIGNER,
            usages: ['digital signature', 'client auth'],
          },
        }),
      });
      expect(status).toBe(201);
    },
    approved: () => approvedIn({ server }),
    kinds: () => [...new Set(findingsOf(hub.index()).map(({ of, kind }) => `${of} ${kind}`))].toSorted(),
    /** Lines of the journal about recovery, of an unbroken one. */
    async journal(): Promise<readonly string[]> {
      const store = s3JournalStore({ client: new S3Client(config), bucket: JOURNAL_BUCKET });
      const { chains } = await verifyJournal(store, {}, signal);
      expect(chains.flatMap(({ problems }) => problems)).toEqual([]);
      const lines: string[] = [];
      for await (const { key } of store.objects('journal/', signal)) {
        const object = await store.read(key, signal);
        for (const line of String(object?.bytes).trimEnd().split('\n')) {
          const { kind, window, csr, reason, outcome, by } = JSON.parse(line);
          if (kind === 'recovery') lines.push(`${window} ${csr} ${reason} ${outcome} ${by}`);
        }
      }
      return lines.toSorted();
    },
    /** What somebody else writes there. */
    async spoil(...stored: readonly RecoveryWindow[]) {
      const before = await bucket.objects.read(STATE_KEYS.recovery, signal);
      await bucket.objects.write(STATE_KEYS.recovery, { version: 1, windows: stored }, before?.etag, signal);
    },
    [Symbol.asyncDispose]: async () => parts.disposeAsync(),
  };
}

it('approves in a window that is opened in the bucket exactly the named control plane node that slept, until it is closed', async () => {
  await using world = await startAsleep();
  world.ask('cp-1', 'before');
  // Nothing is written to a cluster before a sweep has shown its server.
  await world.minutes(3);
  expect(world.approved()).toEqual([]);

  expect(await world.open()).toContain('Recovery window w-1 of berlin is open for 30 min');
  world.ask('cp-2', 'not-named');
  world.ask('cp-3', 'awake');
  world.ask('worker', 'worker');
  world.ask('nobody', 'unknown');
  await world.minutes(2);
  expect(world.approved()).toEqual(['before']);
  expect(world.kinds()).toContain('berlin recovery-window');

  // No more than two for a node, however many sweeps there are.
  for (const name of ['second', 'third']) {
    world.ask('cp-1', name);
    await world.minutes(2);
  }
  expect(world.approved()).toEqual(['before', 'second']);
  const by = `arn:aws:iam::${HUB.account}:user/administrator`;
  expect(await world.journal()).toEqual([
    `w-1 awake StillValid none ${by}`,
    `w-1 before Recovered written ${by}`,
    `w-1 not-named NodeNotNamed none ${by}`,
    `w-1 second Recovered written ${by}`,
    `w-1 third ApprovalsSpent none ${by}`,
    `w-1 unknown NodeNotNamed none ${by}`,
    `w-1 worker NotControlPlane none ${by}`,
  ]);

  expect(await world.close()).toContain('Recovery window w-1 of berlin is closed');
  await world.minutes(2);
  expect(world.approved()).toEqual(['before', 'second']);
  expect(world.kinds()).not.toContain('berlin recovery-window');

  // Another one counts anew at once, although the Lease counted for one that would still be open.
  await world.open('cp-1');
  await world.minutes(2);
  expect(world.approved()).toEqual(['before', 'second', 'third']);
  expect(world.server.api.leases.get('kube-system/certmarshal-recovery')?.metadata.annotations).toMatchObject({
    'certmarshal.dev/recovery': expect.stringContaining('"approvals":{"cp-1":1}'),
  });

  await world.clock.advance(30 * MINUTE);
  world.ask('cp-1', 'late');
  await world.minutes(3);
  expect(world.approved()).toEqual(['before', 'second', 'third']);
  expect(world.kinds()).not.toContain('berlin recovery-window');
});

it.each([
  ['longer than an hour', { until: new Date(START + 120 * MINUTE).toISOString() }],
  ['for whoever asks', { nodes: ['*'] }],
  ['with six approvals', { approvals: 6 }],
])('does nothing in a window that somebody wrote there, %s, and says so', async (_, changed) => {
  await using world = await startAsleep();
  await world.minutes(3);
  world.ask('cp-1', 'csr-1');
  const window = recoveryWindow(
    { nodes: 'cp-1', for: '30m', by: 'mallory' },
    { id: 'w-1', cluster: CLUSTER, now: world.clock.now() },
  );
  await world.spoil({ ...window, ...changed });
  await world.minutes(3);
  expect(world.approved()).toEqual([]);
  expect(findingsOf(world.hub.index())).toContainEqual(
    expect.objectContaining({ of: 'dispatch', kind: 'invalid', object: STATE_KEYS.recovery }),
  );
  // The same without what is wrong with it.
  await world.spoil(window);
  await world.minutes(2);
  expect(world.approved()).toEqual(['csr-1']);
});

it('enters a cluster whose API server has a certificate that ended only where fleet.yaml says so, and loudly', async () => {
  const certificateNotAfter = new Date(Date.now() - 60 * MINUTE);
  const until = new Date(START + 20 * MINUTE).toISOString();
  const recovery = `recovery: [{ cluster: ${CLUSTER}, until: '${until}', pin: authority }]`;
  await using shut = await startAsleep({ certificateNotAfter });
  await shut.minutes(3);
  expect(shut.kinds()).toEqual(['berlin certificate', 'berlin held']);

  await using world = await startAsleep({ certificateNotAfter, recovery });
  world.ask('cp-1', 'csr-1');
  await world.minutes(3);
  expect(world.kinds()).toEqual(['berlin recovery-connection']);
  await world.open('cp-1');
  await world.minutes(2);
  expect(world.approved()).toEqual(['csr-1']);
  expect(world.kinds()).toEqual(['berlin recovery-connection', 'berlin recovery-window']);

  await world.clock.advance(20 * MINUTE);
  world.ask('cp-1', 'late');
  await world.minutes(3);
  expect(world.approved()).toEqual(['csr-1']);
  expect(world.kinds()).toContain('berlin certificate');
  expect(world.kinds()).not.toContain('berlin recovery-connection');
});
