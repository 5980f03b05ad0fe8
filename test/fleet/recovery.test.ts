import { expect, it } from 'vitest';
import { recoveryBucket } from '../../bin/commands/recovery/aws.ts';
import { recoveryCloseInBucket, recoveryOpenInBucket } from '../../bin/commands/recovery/bucket.ts';
import { recoveryWindow } from '../../bin/commands/recovery/window.ts';
import type { RecoveryWindow } from '../../lambdas/contracts/recovery-window.ts';
import { STATE_KEYS } from '../../lambdas/fleet/state-keys.ts';
import { DAY_MS } from '../../lambdas/time.ts';
import { journalLines } from '../support/journal-lines.ts';
import { recordedIo } from '../unit/bin/io.ts';
import { captureStdout } from '../unit/telemetry/capture-stdout.ts';
import { awsClientConfig } from './aws/aws-environment.ts';
import { startSimulatedAws } from './aws/simulated-aws.ts';
import { steppedClock } from './clock.ts';
import { startAsleepCluster } from './hub/asleep.ts';
import { approvedIn } from './hub/clusters.ts';
import { findingsOf, startHub } from './hub/hub.ts';
import { BUCKET, HUB, JOURNAL_BUCKET } from './hub/places.ts';
import { fleetOf, MINUTE, START } from './hub/world.ts';

const CLUSTER = 'berlin';
const signal = new AbortController().signal;

interface Options {
  /** `recovery` of fleet.yaml. */
  readonly recovery?: string;
  readonly certificateNotAfter?: Date;
}

/** A hub with one cluster that slept. */
async function startAsleep({ recovery = '', certificateNotAfter }: Options = {}) {
  const output = captureStdout();
  const parts = new AsyncDisposableStack();
  parts.defer(() => output.restore());
  const clock = steppedClock(START);
  const aws = parts.use(await startSimulatedAws({ clock }));
  const certificate = certificateNotAfter && {
    certificateNotAfter,
    certificateNotBefore: new Date(certificateNotAfter.getTime() - DAY_MS),
  };
  const cluster = await startAsleepCluster({ aws, clock }, CLUSTER, certificate);
  const { server, secret, awake } = cluster;
  parts.defer(async () => server.stop());
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
    const options = { output: 'table', program: 'certmarshal', yes: true } as const;
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
    ask: (node: string, name: string) => cluster.ask(node, name),
    approved: () => approvedIn({ server }),
    kinds: () => [...new Set(findingsOf(hub.index()).map(({ of, kind }) => `${of} ${kind}`))].toSorted(),
    /** Lines of the journal about recovery, each once. */
    journal(): readonly string[] {
      const lines = journalLines(aws, JOURNAL_BUCKET).flatMap((line) =>
        line.kind === 'recovery' ? [`${line.window} ${line.csr} ${line.reason} ${line.outcome} ${line.by}`] : [],
      );
      return [...new Set(lines)].toSorted();
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
  expect(world.journal()).toEqual([
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
