import { describe, expect, it } from 'vitest';
import { SIGNALS, type SignalId } from '../../lambdas/tables/signals.ts';
import { type Story, startStory } from './alarms/story.ts';
import { lastsLong, type TwoClusters, twoClusters, twoClustersFile } from './alarms/story-clusters.ts';
import { AwsFault } from './aws/aws-fault.ts';
import { type Fault, WRONG_LISTS } from './faults.ts';
import { startEksCluster, startKubeconfigCluster } from './hub/clusters.ts';
import { HUB, JOURNAL_BUCKET, SWEEP_ROLE } from './hub/places.ts';
import { MINUTE, START } from './hub/world.ts';
import { askFor } from './kubelet.ts';
import { seededRandom } from './random.ts';
import { startSigner } from './signer.ts';

/** What berlin's series show in the last minute, those of its classes of certificates together; absent is 0. */
function numbersOf({ store, clock }: Story<TwoClusters>): Readonly<Record<string, number>> {
  const until = clock.now();
  return Object.fromEntries(
    Object.keys(SIGNALS).map((name) => {
      const series = store.seriesOf('certmarshal', name).filter(({ dimensions }) => dimensions['Cluster'] === 'berlin');
      const values = series.map((one) => Math.max(0, ...one.between(until - MINUTE, until)));
      return [name, values.reduce((sum, value) => sum + value, 0)];
    }),
  );
}

/** These are of the trying, not of what was read: a cluster that does not answer is tried, and audited from what is known. */
const OF_TRYING: ReadonlySet<string> = new Set<SignalId>(['SweepAge', 'AuditAge']);

/** While requests cannot be listed, that is what is told of the cluster, and not that its sweeps lack something. */
function isUnreadable(name: string, numbers: Readonly<Record<string, number>>): boolean {
  return name === 'IncompleteFor' && (numbers['UnreadableFor'] ?? 0) > 0;
}

const status = (code: 401 | 403 | 404 | 500 | 503): Fault => ({ kind: 'status', code });
const FAULTS: readonly (readonly [what: string, start: (story: Story<TwoClusters>) => () => void])[] = [
  ...[status(401), status(403), status(404), status(500), status(503)].map(
    (fault) => [`status ${'code' in fault ? fault.code : ''}`, inBerlin(fault)] as const,
  ),
  ['an answer that breaks off', inBerlin({ kind: 'disconnect' })],
  ['half an answer', inBerlin({ kind: 'half-json' })],
  ['a page for people', inBerlin({ kind: 'html' })],
  ['a redirect', inBerlin({ kind: 'redirect', location: 'https://127.0.0.1:1/' })],
  ['a list of no objects', inBerlin({ kind: 'wrong-list', spoil: WRONG_LISTS.itemsThatAreNoObjects })],
  ['objects without metadata', inBerlin({ kind: 'wrong-list', spoil: WRONG_LISTS.itemsWithoutMetadata })],
  ['snapshots that cannot be read', ({ aws }) => aws.deny('s3:GetObject', { account: HUB.account, role: SWEEP_ROLE })],
  ['unwritable snapshots', ({ aws }) => aws.deny('s3:PutObject', { account: HUB.account, role: SWEEP_ROLE })],
  [
    'a kubeconfig that cannot be read',
    ({ aws, hub }) => {
      hub.restart();
      return aws.fail('secretsmanager:GetSecretValue', new AwsFault(400, 'AccessDeniedException', 'no'));
    },
  ],
];

function inBerlin(fault: Fault): (story: Story<TwoClusters>) => () => void {
  // What is spoilt has to be a list.
  const path = fault.kind === 'wrong-list' ? /\/(?:certificatesigningrequests|nodes|machines)\?/ : /./;
  return ({ clusters: { berlin } }) => berlin.server.inject({ fault, path });
}

describe('a failed read', () => {
  it('never improves a number, whatever fails', async () => {
    await using story = await startStory<TwoClusters>({
      clusters: async (ground) => ({
        berlin: await startKubeconfigCluster(ground, 'berlin', undefined, lastsLong()),
        zurich: await startEksCluster(ground, HUB, 'zurich'),
      }),
      fleetFile: twoClustersFile,
      // A bucket that refuses costs snapshots alone.
      home: 'directory',
    });
    const { berlin } = story.clusters;
    const { server } = berlin;
    berlin.addNode(1);
    // A certificate that is nearly over, and requests that nobody decides: facts that stay as they are.
    await server.serveUntil(new Date(START + 300 * MINUTE));
    for (let index = 0; index < 30; index += 1) {
      const name = `gone-${index % 3}`;
      askFor(server.api, name, { dnsNames: [name], ipAddresses: ['10.9.0.1'] });
    }
    await story.minutes(26);
    const before = numbersOf(story);
    expect(before).toMatchObject({ CertificatesCritical: 1, RequestsWaiting: 3 });

    const random = seededRandom(11);
    const order = FAULTS.toSorted(() => random() - 0.5);
    for (const [what, start] of order) {
      const end = start(story);
      for (let minute = 0; minute < 6; minute += 1) {
        await story.minutes(1);
        const numbers = numbersOf(story);
        const improved = Object.keys(before).filter(
          (name) => !OF_TRYING.has(name) && !isUnreadable(name, numbers) && (numbers[name] ?? 0) < (before[name] ?? 0),
        );
        expect([what, minute, improved]).toEqual([what, minute, []]);
      }
      end();
      // What the fault itself made ring may end; what was there before does not.
      await story.minutes(1);
    }
    // They can be lower: the certificate is renewed, and the requests are gone.
    await server.serveUntil(lastsLong().certificateNotAfter);
    for (const { metadata } of server.api.csrs.all()) server.api.csrs.remove(metadata.name);
    await story.minutes(8);
    expect(numbersOf(story)).toMatchObject({ CertificatesCritical: 0, RequestsWaiting: 0 });
  });
});

describe('a repeated sweep', () => {
  it('writes nothing twice to the journal', async () => {
    const sweeps: (() => Promise<unknown>)[] = [];
    await using story = await startStory({
      clusters: twoClusters,
      fleetFile: twoClustersFile,
      async aroundCall(name, call) {
        if (name === 'sweep') sweeps.push(call);
        return call();
      },
    });
    const { hub, aws, clusters } = story;
    const { berlin } = clusters;
    const signer = await startSigner({ api: berlin.server.api });
    berlin.addNode(1);
    berlin.ask(1);
    berlin.ask(9);
    await story.minutes(20);
    const journal = () =>
      Object.fromEntries(aws.s3.keys(JOURNAL_BUCKET).map((key) => [key, aws.s3.read(JOURNAL_BUCKET, key)?.toString()]));
    const before = journal();
    expect(Object.keys(before).length).toBeGreaterThan(1);

    const lists = () => berlin.server.requests.filter(({ url }) => /certificatesigningrequests\?/.test(url)).length;
    const listed = lists();
    // Of orders that are not too old.
    for (const sweep of sweeps.slice(-2)) await sweep();
    expect(lists()).toBe(listed + 2);
    // And the same minute twice.
    await hub.minute();
    await hub.minute();
    expect(journal()).toEqual(before);

    await signer.stop();
  });
});
