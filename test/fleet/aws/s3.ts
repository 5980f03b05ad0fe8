import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { AwsFault } from './aws-fault.ts';
import { xmlAnswer } from './query-protocol.ts';
import type { AwsAnswer, AwsRequest, Caller, Place, Service } from './service.ts';
import { commonFault } from './service-faults.ts';

export interface SimulatedS3 {
  /** Creates an empty bucket. Only its account may use it: bucket policies are not simulated. */
  createBucket(place: Place, name: string): void;
  /** What is in an object, undefined when it does not exist. */
  read(bucket: string, key: string): Buffer | undefined;
  /** Writes an object whatever is there, as somebody else would. @returns its ETag */
  write(bucket: string, key: string, body: string | Buffer): string;
  /** Deletes an object, as somebody else would. */
  remove(bucket: string, key: string): void;
  /** Keys of all objects, in order. */
  keys(bucket: string): readonly string[];
}

interface S3Input {
  readonly bucket: string;
  readonly key: string;
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly contentType: string;
  readonly body: Buffer;
  /** Of a list. */
  readonly query: URLSearchParams;
}

interface StoredObject {
  readonly body: Buffer;
  readonly etag: string;
  readonly contentType: string;
}

interface Bucket extends Place {
  readonly objects: Map<string, StoredObject>;
}

/** Source: Amazon S3 API Reference, ListObjectsV2. */
const KEYS_OF_A_PAGE = 1_000;

/**
 * GetObject, PutObject with its conditions, and ListObjectsV2 without delimiters. Versions, encryption and checksums are not simulated.
 *
 * Source: Amazon S3 user guide, "How to prevent object overwrites with conditional writes".
 */
export function createS3(): SimulatedS3 & Service<S3Input> {
  const buckets = new Map<string, Bucket>();
  const bucketOf = (name: string): Bucket => {
    const bucket = buckets.get(name);
    if (bucket === undefined) throw new AwsFault(404, 'NoSuchBucket', 'The specified bucket does not exist');
    return bucket;
  };
  const store = ({ objects }: Bucket, key: string, body: Buffer, contentType: string): string => {
    const etag = `"${createHash('md5').update(body).digest('hex')}"`;
    objects.set(key, { body, etag, contentType });
    return etag;
  };

  const getObject = ({ objects }: Bucket, { key, ifMatch, ifNoneMatch }: S3Input, caller: Caller): AwsAnswer => {
    const object = objects.get(key);
    if (object === undefined) {
      // Who may not list the bucket does not learn that an object is missing.
      if (!caller.may('s3:ListBucket')) throw commonFault('s3', 'denied');
      throw noSuchKey();
    }
    const { etag, contentType, body } = object;
    if (ifMatch !== undefined && ifMatch !== etag) throw preconditionFailed();
    if (ifNoneMatch === etag) return { status: 304, headers: { etag }, body: '' };
    return { status: 200, headers: { etag, 'content-type': contentType }, body };
  };

  const putObject = (bucket: Bucket, { key, ifMatch, ifNoneMatch, contentType, body }: S3Input): AwsAnswer => {
    const present = bucket.objects.get(key);
    if (ifNoneMatch === '*' && present !== undefined) throw preconditionFailed();
    if (ifMatch !== undefined && present === undefined) throw noSuchKey();
    if (ifMatch !== undefined && present?.etag !== ifMatch) throw preconditionFailed();
    return { status: 200, headers: { etag: store(bucket, key, body, contentType) }, body: '' };
  };

  const listObjects = ({ objects }: Bucket, { bucket, query }: S3Input): AwsAnswer => {
    const prefix = query.get('prefix') ?? '';
    const after = Buffer.from(query.get('continuation-token') ?? query.get('start-after') ?? '');
    const isAfter = (key: string): boolean => Buffer.compare(Buffer.from(key), after) > 0;
    const keys = keysOf(objects).filter((key) => key.startsWith(prefix) && isAfter(key));
    const page = keys.slice(0, Number(query.get('max-keys') ?? KEYS_OF_A_PAGE));
    const isTruncated = page.length < keys.length;
    return xmlAnswer('ListBucketResult', {
      Name: bucket,
      Prefix: prefix,
      KeyCount: page.length,
      IsTruncated: isTruncated,
      NextContinuationToken: isTruncated ? page.at(-1) : undefined,
      Contents: page.map((key) => ({ Key: key, ETag: objects.get(key)?.etag, Size: objects.get(key)?.body.length })),
    });
  };

  return {
    createBucket: (place, name) => void buckets.set(name, { ...place, objects: new Map() }),
    read: (bucket, key) => bucketOf(bucket).objects.get(key)?.body,
    write: (bucket, key, body) => store(bucketOf(bucket), key, Buffer.from(body), 'application/octet-stream'),
    remove: (bucket, key) => void bucketOf(bucket).objects.delete(key),
    keys: (bucket) => keysOf(bucketOf(bucket).objects),
    protocol: {
      read: readRequest,
      refuse: ({ status, code, message }) => xmlAnswer('Error', { Code: code, Message: message }, status),
    },
    permissions: (action) => [action === 'ListObjectsV2' ? 'ListBucket' : action],
    handle(action, input, caller) {
      const bucket = bucketOf(input.bucket);
      if (bucket.account !== caller.account) throw commonFault('s3', 'denied');
      if (bucket.region !== caller.region)
        throw new AwsFault(301, 'PermanentRedirect', `The bucket is in this region: ${bucket.region}`);
      if (action === 'ListObjectsV2') return listObjects(bucket, input);
      return action === 'GetObject' ? getObject(bucket, input, caller) : putObject(bucket, input);
    },
  };
}

const ACTIONS: Readonly<Record<string, string>> = { GET: 'GetObject', PUT: 'PutObject' };

function readRequest({ method, url, headers, body }: AwsRequest): { readonly action: string; readonly input: S3Input } {
  const path = decodeURIComponent(url.pathname.slice(1));
  const virtualBucket = bucketOfHost(url.hostname);
  const [bucket = '', ...rest] = virtualBucket === undefined ? path.split('/') : [virtualBucket, path];
  const key = rest.join('/');
  const isList = method === 'GET' && url.searchParams.get('list-type') === '2';
  const action = isList ? 'ListObjectsV2' : ACTIONS[method];
  if (action === undefined || (key === '') !== isList || headers['content-encoding']?.includes('aws-chunked'))
    throw new AwsFault(501, 'NotImplemented', `Not simulated: ${method} of this kind`);
  const input = {
    bucket,
    key,
    ifMatch: headers['if-match'],
    ifNoneMatch: headers['if-none-match'],
    contentType: headers['content-type'] ?? 'binary/octet-stream',
    body,
    query: url.searchParams,
  };
  return { action, input };
}

/** In the order of their bytes. */
function keysOf(objects: ReadonlyMap<string, unknown>): string[] {
  return [...objects.keys()].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** `reports.localhost` is the bucket `reports`; an address or a plain host has the bucket in the path. */
function bucketOfHost(hostname: string): string | undefined {
  const dot = hostname.lastIndexOf('.');
  return isIP(hostname) !== 0 || dot < 1 ? undefined : hostname.slice(0, dot);
}

function noSuchKey(): AwsFault {
  return new AwsFault(404, 'NoSuchKey', 'The specified key does not exist.');
}

function preconditionFailed(): AwsFault {
  const message = 'At least one of the pre-conditions you specified did not hold';
  return new AwsFault(412, 'PreconditionFailed', message);
}
