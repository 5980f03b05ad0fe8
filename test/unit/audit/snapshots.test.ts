import { gzipSync } from 'node:zlib';
import { S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Snapshots } from '../../../lambdas/audit/snapshots.ts';
import { createSnapshots, snapshotKey } from '../../../lambdas/audit/snapshots.ts';
import { createS3State } from '../../../lambdas/aws/s3-state.ts';
import type { Snapshot } from '../../../lambdas/contracts/snapshot.ts';
import { awsClientConfig } from '../../fleet/aws/aws-environment.ts';
import { type SimulatedAws, startSimulatedAws } from '../../fleet/aws/simulated-aws.ts';
import { steppedClock } from '../../fleet/clock.ts';
import { HUB } from '../../fleet/hub/places.ts';
import { awsFailure } from '../aws/failure.ts';
import { at, expiryFinding } from '../fleet/values.ts';

const never = new AbortController().signal;
const ID = '111122223333/eu-central-1/dublin';

function snapshot(changed: Partial<Snapshot> = {}): Snapshot {
  const findings = [expiryFinding({ cluster: ID })];
  return { version: 1, cluster: ID, provider: 'eks', auditedAt: at(), observations: [], findings, ...changed };
}

describe('snapshots in S3', () => {
  let aws: SimulatedAws;
  let snapshots: Snapshots;
  let client: S3Client;
  beforeAll(async () => {
    aws = await startSimulatedAws({ clock: steppedClock(Date.now()) });
    aws.s3.createBucket(HUB, 'history');
    client = new S3Client({ ...awsClientConfig(aws, HUB), maxAttempts: 1 });
    snapshots = createSnapshots(createS3State({ client, bucket: 'history' }));
  });
  afterAll(async () => {
    client.destroy();
    await aws[Symbol.asyncDispose]();
  });

  it('are written once and replaced by whoever read the newest', async () => {
    expect(await snapshots.read(ID, never)).toBeUndefined();
    await snapshots.write(snapshot(), undefined, never);
    const first = await snapshots.read(ID, never);
    expect(first?.snapshot).toEqual(snapshot());
    expect(await awsFailure(snapshots.write(snapshot(), undefined, never))).toMatchObject({ kind: 'conflict' });

    const later = snapshot({ auditedAt: at(60_000) });
    await snapshots.write(later, first?.etag, never);
    expect(await awsFailure(snapshots.write(snapshot(), first?.etag, never))).toMatchObject({ kind: 'conflict' });
    expect((await snapshots.read(ID, never))?.snapshot).toEqual(later);
  });

  it('are gzip of JSON, under the id of the cluster', async () => {
    expect(snapshotKey(ID)).toBe('snapshots/111122223333/eu-central-1/dublin.json.gz');
    expect(aws.s3.read('history', snapshotKey(ID))?.subarray(0, 2)).toEqual(Buffer.from([0x1f, 0x8b]));
  });

  it.each([
    ['no snapshot', 'damaged', Buffer.from('what is this?')],
    ['that of another cluster', 'rome', gzipSync(JSON.stringify(snapshot()))],
  ])('are only good to be replaced where there is %s', async (_, id, body) => {
    const etag = aws.s3.write('history', snapshotKey(id), body);
    expect(await snapshots.read(id, never)).toEqual({ snapshot: undefined, etag });
  });

  it('say why they cannot be read', async () => {
    const elsewhere = createSnapshots(createS3State({ client, bucket: 'no-such-bucket' }));
    expect(await awsFailure(elsewhere.read(ID, never))).toMatchObject({ kind: 'not-found' });
  });
});
