import { S3Client } from '@aws-sdk/client-s3';
import { SignatureV4 } from '@smithy/signature-v4';
import type { AwsCredentialIdentity, HttpRequest } from '@smithy/types';
import { callAws } from './call.ts';
import { AwsError } from './errors.ts';
import { Sha256 } from './sha256.ts';

const CONTENT_HASH = 'x-amz-content-sha256';
const MAX_LIFE_S = 12 * 3600;

export interface SignOptions {
  readonly credentials: AwsCredentialIdentity;
  readonly region: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly expiresInSeconds: number;
}

/**
 * A URL that lets anyone with it read one object. Makes no call: whether the signer may read the object shows when it
 * is opened.
 *
 * Source: Amazon S3 API Reference, "Authenticating Requests: Using Query Parameters": the path is escaped once, the
 * payload is not signed.
 *
 * @param url of the object
 */
export async function presignedUrl(
  url: URL,
  { credentials, region, now, expiresInSeconds }: SignOptions,
): Promise<string> {
  const signer = new SignatureV4({ service: 's3', region, credentials, sha256: Sha256, uriEscapePath: false });
  const request: HttpRequest = {
    method: 'GET',
    protocol: url.protocol,
    hostname: url.hostname,
    port: url.port === '' ? undefined : Number(url.port),
    path: url.pathname,
    query: {},
    headers: { host: url.host, [CONTENT_HASH]: 'UNSIGNED-PAYLOAD' },
  };
  const { query = {} } = await signer.presign(request, {
    expiresIn: expiresInSeconds,
    signingDate: new Date(now),
    // It describes the signature and is not sent.
    unhoistableHeaders: new Set([CONTENT_HASH]),
    unsignableHeaders: new Set([CONTENT_HASH]),
  });
  const parameters = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return `${url.origin}${url.pathname}?${parameters.join('&')}`;
}

/**
 * A link to an object, valid for up to 12 hours but no longer than the credentials of this process, whose end a
 * function does not know: S3 rejects the link from then on.
 *
 * @param key plain characters only
 * @throws AwsError `expired` without usable credentials
 */
export type Link = (key: string) => Promise<string>;

export function createLinks(bucket: string, client = new S3Client(), now: () => number = Date.now): Link {
  return async (key) => {
    const object = `link to s3://${bucket}/${key}`;
    const never = new AbortController().signal;
    const { config } = client;
    const credentials = await callAws({ object }, never, async () => config.credentials());
    const region = await config.region();
    const signedAt = now();
    const left =
      credentials.expiration === undefined ? MAX_LIFE_S : (credentials.expiration.getTime() - signedAt) / 1000;
    if (!(left >= 1))
      throw new AwsError({ kind: 'expired', object, problem: 'the credentials have expired', remedy: RENEW });
    return presignedUrl(await urlOf(client, bucket, region, key), {
      credentials,
      region,
      now: signedAt,
      expiresInSeconds: Math.min(MAX_LIFE_S, Math.floor(left)),
    });
  };
}

const RENEW = 'Renew the credentials of this process; in a function the next run has new ones.';

/** The URL of the object, by the SDK's rules for partitions and bucket names. */
async function urlOf({ config }: S3Client, bucket: string, region: string, key: string): Promise<URL> {
  const custom = await config.endpoint?.();
  const { url } = config.endpointProvider({
    Bucket: bucket,
    Region: region,
    UseFIPS: false,
    UseDualStack: false,
    ForcePathStyle: config.forcePathStyle === true,
    UseArnRegion: false,
    DisableMultiRegionAccessPoints: true,
    Endpoint:
      custom === undefined
        ? undefined
        : `${custom.protocol}//${custom.hostname}${custom.port === undefined ? '' : `:${custom.port}`}`,
  });
  return new URL(`${url.pathname.replace(/\/$/, '')}/${key}`, url.origin);
}
