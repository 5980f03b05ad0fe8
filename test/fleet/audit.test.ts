import { once } from 'node:events';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { audit, auditUnopened } from '../../lambdas/audit/audit.ts';
import type { AuditSource } from '../../lambdas/audit/audit-source.ts';
import type { Snapshots } from '../../lambdas/audit/snapshots.ts';
import { snapshotKey } from '../../lambdas/audit/snapshots.ts';
import { AwsError } from '../../lambdas/aws/errors.ts';
import type { AuditEngine } from '../../lambdas/cluster/stages/audit.ts';
import { decodeSnapshot } from '../unit/audit/stored-snapshot.ts';
import { captureStdout } from '../unit/telemetry/capture-stdout.ts';
import { emfRecords } from '../unit/telemetry/emf.ts';
import { type SimulatedAws, startSimulatedAws } from './aws/simulated-aws.ts';
import { type SteppedClock, steppedClock } from './clock.ts';
import { approvedIn, type HubKubeconfigCluster, startKubeconfigCluster } from './hub/clusters.ts';
import { type Hub, startHub } from './hub/hub.ts';
import { HUB, SNAPSHOT_BUCKET } from './hub/places.ts';
import { fleetOf, MINUTE, START } from './hub/world.ts';

const NAMES = Array.from({ length: 20 }, (_, index) => `cluster-${index}`);
/** S3 fails for this one. */
const UNLUCKY = 'cluster-3';
/** The certificate of its endpoint is not valid any more. */
const EXPIRED = 'cluster-7';
/** The secret with its kubeconfig is of no use. */
const CLOSED = 'cluster-11';
const EVERY_MINUTES = 5;

/** The certificate that the endpoint of the cluster shows, whatever it is worth. */
const handshake: AuditSource = {
  id: 'tls',
  stage: 'second',
  deadlineMs: 5_000,
  off: () => undefined,
  async observe({ target, now }) {
    const { hostname, port, host } = new URL(target.workload.server);
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const { valid_from: notBefore, valid_to: notAfter, fingerprint256 } = socket.getPeerCertificate();
    socket.destroy();
    return {
      count: 1,
      observations: [
        {
          kind: 'certificate',
          source: 'tls',
          observedAt: new Date(now()).toISOString(),
          what: 'kube-apiserver',
          where: host,
          basis: 'certificate',
          notBefore: new Date(notBefore).toISOString(),
          notAfter: new Date(notAfter).toISOString(),
          fingerprint: fingerprint256.replaceAll(':', '').toLowerCase(),
        },
      ],
    };
  },
};

const sources = [handshake];
const engine: AuditEngine = {
  audit: async (target, options) => audit(target, { ...options, sources }),
  auditUnopened: (target, problem, options) => auditUnopened(target, problem, { ...options, sources }),
};

describe('audits of a fleet', () => {
  const output = captureStdout();
  const clock: SteppedClock = steppedClock(START);
  let aws: SimulatedAws;
  let clusters: readonly HubKubeconfigCluster[];
  let hub: Hub;
  let isS3Down = false;
  let mostAuditsAtOnce = 0;

  const aroundSnapshots = (snapshots: Snapshots): Snapshots => {
    const refuse = (id: string): void => {
      if (id === UNLUCKY || isS3Down)
        throw new AwsError({ kind: 'unavailable', object: 's3', problem: 'it failed', remedy: 'Wait.' });
    };
    return {
      read: async (id, signal) => {
        refuse(id);
        return snapshots.read(id, signal);
      },
      write: async (snapshot, etag, signal) => {
        refuse(snapshot.cluster);
        return snapshots.write(snapshot, etag, signal);
      },
    };
  };

  beforeAll(async () => {
    aws = await startSimulatedAws({ clock });
    clusters = await Promise.all(
      NAMES.map(async (name) => {
        const yesterday = new Date(Date.now() - 24 * 60 * MINUTE);
        const cluster = await startKubeconfigCluster(
          { aws, clock },
          name,
          undefined,
          name === EXPIRED ? { certificateNotAfter: yesterday } : {},
        );
        cluster.addNode(1);
        cluster.ask(1);
        return cluster;
      }),
    );
    aws.secretsManager.putSecret(HUB, `certmarshal/${CLOSED}`, 'no kubeconfig');
    hub = startHub({
      aws,
      clock,
      auditEngine: engine,
      aroundSnapshots,
      fleet: fleetOf(
        [
          'version: 1',
          `audit: { every: ${EVERY_MINUTES}m }`,
          'clusters:',
          ...clusters.map(
            ({ name, secret }) =>
              `  - { name: ${name}, provider: eks-anywhere, kubeconfigSecret: '${secret}', auditSecrets: true }`,
          ),
        ].join('\n'),
      ),
    });
    await minutes(EVERY_MINUTES + 1);
  });
  afterAll(async () => {
    output.restore();
    await hub[Symbol.asyncDispose]();
    await Promise.all(clusters.map(async ({ server }) => server.stop()));
    await aws[Symbol.asyncDispose]();
  });

  async function minutes(count: number): Promise<void> {
    for (let minute = 0; minute < count; minute += 1) {
      await hub.minute();
      await clock.advance(MINUTE);
    }
  }

  const auditOf = (name: string) => hub.index()?.clusters[name]?.audit;
  const storedOf = async (name: string) => {
    const bytes = aws.s3.read(SNAPSHOT_BUCKET, snapshotKey(name));
    return bytes && decodeSnapshot(bytes);
  };
  const ordered = () => hub.orders().filter(({ audit: due }) => due !== undefined && !due.stored);

  it('takes turns by shard, each cluster once in the cadence from the beginning on', () => {
    const orders = ordered();
    // Those that cannot be read moved to a shard of their own, with another turn.
    expect(orders.map(({ id }) => id).toSorted()).toEqual(NAMES.toSorted());
    const byTick = Map.groupBy(orders, ({ tick }) => tick);
    mostAuditsAtOnce = Math.max(...[...byTick.values()].map(({ length }) => length));
    expect(mostAuditsAtOnce).toBeGreaterThanOrEqual(NAMES.length - 2);
  });

  it('keeps a snapshot of each, and the summary in the index', async () => {
    for (const name of NAMES.filter((each) => each !== UNLUCKY && each !== CLOSED)) {
      const snapshot = await storedOf(name);
      expect(snapshot).toMatchObject({ version: 1, cluster: name, provider: 'eks-anywhere' });
      expect(auditOf(name)).toMatchObject({ findingCount: snapshot?.findings.length });
      // What a later audit saw again was not written again.
      const since = Date.parse(auditOf(name)?.auditedAt ?? '') - Date.parse(snapshot?.auditedAt ?? '');
      expect([0, EVERY_MINUTES * MINUTE]).toContain(since);
    }
    expect(auditOf('cluster-0')?.ends).toMatchObject([{ what: 'kube-apiserver', count: 1 }]);
    expect(auditOf('cluster-0')?.sources.read).toContain('tls');
  });

  it('says why a cluster cannot be reached whose endpoint shows an expired certificate', () => {
    expect(hub.index()?.clusters[EXPIRED]).toMatchObject({ readable: false });
    expect(auditOf(EXPIRED)?.findings).toContainEqual(
      expect.objectContaining({ code: 'CertificateExpired', severity: 'critical', what: 'kube-apiserver' }),
    );
    expect(auditOf('cluster-0')?.findings.map(({ code }) => code)).not.toContain('CertificateExpired');
  });

  it('audits what it cannot open from what it knows', () => {
    expect(auditOf(CLOSED)).toMatchObject({ ends: [], partial: true });
    expect(hub.index()?.clusters[CLOSED]?.readable).toBe(false);
  });

  it('says that a snapshot could not be read, and does not write over it', async () => {
    expect(auditOf(UNLUCKY)).toMatchObject({ partial: true, snapshotProblem: 's3: it failed. Wait.' });
    expect(auditOf(UNLUCKY)?.ends).toHaveLength(1);
    expect(await storedOf(UNLUCKY)).toBeUndefined();
    expect(emfRecords(output.text()).some(({ metrics }) => metrics['SnapshotsUnwritten']?.includes(1))).toBe(true);
  });

  it('approves all the same', () => {
    const open = clusters.filter(({ name }) => name !== EXPIRED && name !== CLOSED);
    expect(open.map((cluster) => approvedIn(cluster).length)).toEqual(open.map(() => 1));
  });

  it('removes nothing while S3 is down, and goes on with the snapshot after', async () => {
    const before = await storedOf(EXPIRED);
    isS3Down = true;
    await minutes(EVERY_MINUTES);
    const during = auditOf(EXPIRED);
    expect(during).toMatchObject({ snapshotProblem: expect.anything() });
    expect(during?.findings.map(({ code, since }) => [code, since])).toEqual(
      before?.findings.map(({ code, since }) => [code, since]),
    );
    expect(await storedOf(EXPIRED)).toEqual(before);

    isS3Down = false;
    await minutes(EVERY_MINUTES + 1);
    expect(auditOf(EXPIRED)).not.toHaveProperty('partial', expect.anything());
    // It saw what is stored.
    expect(await storedOf(EXPIRED)).toEqual(before);
    expect(Date.parse(auditOf(EXPIRED)?.auditedAt ?? '')).toBeGreaterThan(START + 10 * MINUTE);
    expect(auditOf(EXPIRED)?.findings.map(({ code }) => code)).toEqual(before?.findings.map(({ code }) => code));
  });
});
