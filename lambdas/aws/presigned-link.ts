import { GetObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { callAws } from './call.ts';
import { AwsError } from './errors.ts';

const MAX_LIFE_S = 12 * 3600;

/**
 * A link to an object: anyone with it may read that object, for up to 12 hours but no longer than the credentials of
 * this process, whose end a function does not know: S3 rejects the link from then on. Makes no call to S3.
 *
 * @throws AwsError `expired` without usable credentials
 */
export type Link = (key: string) => Promise<string>;

export function createLinks(bucket: string, client: S3Client, now: () => number = Date.now): Link {
  return async (key) => {
    const object = `link to s3://${bucket}/${key}`;
    const never = new AbortController().signal;
    const { expiration } = await callAws({ object }, never, async () => client.config.credentials());
    const signedAt = now();
    const left = expiration === undefined ? MAX_LIFE_S : (expiration.getTime() - signedAt) / 1000;
    if (!(left >= 1))
      throw new AwsError({ kind: 'expired', object, problem: 'the credentials have expired', remedy: RENEW });
    return getSignedUrl(client, new GetObjectCommand({ Bucket: bucket, Key: key }), {
      expiresIn: Math.min(MAX_LIFE_S, Math.floor(left)),
      signingDate: new Date(signedAt),
    });
  };
}

const RENEW = 'Renew the credentials of this process; in a function the next run has new ones.';
