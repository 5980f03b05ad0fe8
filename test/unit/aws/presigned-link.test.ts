import { S3Client } from '@aws-sdk/client-s3';
import { describe, expect, it } from 'vitest';
import { createLinks } from '../../../lambdas/aws/presigned-link.ts';
import { awsClientConfig } from '../../fleet/aws/aws-environment.ts';
import { startSimulatedAws } from '../../fleet/aws/simulated-aws.ts';
import { steppedClock } from '../../fleet/clock.ts';
import { awsFailure } from './failure.ts';

const FRANKFURT = { account: '111122223333', region: 'eu-central-1' };
const NOW = Date.UTC(2026, 10, 21, 10);
/** Of the examples in the documentation of AWS. */
const EXAMPLE = { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' };

describe('createLinks', () => {
  const client = (identity: object = {}, region = 'eu-central-1') =>
    new S3Client({ region, credentials: async () => ({ ...EXAMPLE, ...identity }) });
  const link = async (s3: S3Client, bucket = 'state') =>
    new URL(await createLinks(bucket, s3, () => NOW)('report.html'));

  it.each([
    ['state', 'eu-central-1', 'https://state.s3.eu-central-1.amazonaws.com/report.html'],
    ['state', 'cn-north-1', 'https://state.s3.cn-north-1.amazonaws.com.cn/report.html'],
    ['with.dots', 'eu-central-1', 'https://s3.eu-central-1.amazonaws.com/with.dots/report.html'],
  ])('finds %s in %s', async (bucket, region, expected) => {
    const url = await link(client({}, region), bucket);
    expect(url.origin + url.pathname).toBe(expected);
  });

  it('is good for 12 hours, but no longer than its credentials', async () => {
    const expires = async (identity?: object) => (await link(client(identity))).searchParams.get('X-Amz-Expires');
    expect(await expires()).toBe('43200');
    expect(await expires({ expiration: new Date(NOW + 3_600_500) })).toBe('3600');
    expect(await awsFailure(link(client({ expiration: new Date(NOW) })))).toMatchObject({ kind: 'expired' });
  });

  it('carries the token of a session', async () => {
    const url = await link(client({ sessionToken: 'a+b/c=' }));
    expect(url.searchParams.get('X-Amz-Security-Token')).toBe('a+b/c=');
  });

  it('opens the object', async () => {
    await using aws = await startSimulatedAws({ clock: steppedClock(NOW) });
    aws.s3.createBucket(FRANKFURT, 'state');
    aws.s3.write('state', 'report.html', '<!doctype html>');
    const s3 = new S3Client({ ...awsClientConfig(aws, FRANKFURT), forcePathStyle: true });
    const answer = await fetch(await createLinks('state', s3)('report.html'));
    expect(await answer.text()).toBe('<!doctype html>');
  });
});
