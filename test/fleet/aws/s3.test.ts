import { Agent } from 'node:http';
import {
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
} from '@aws-sdk/client-s3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { steppedClock } from '../clock.ts';
import { awsClientConfig } from './aws-environment.ts';
import { AwsFault } from './aws-fault.ts';
import { type SimulatedAws, startSimulatedAws } from './simulated-aws.ts';

const FRANKFURT = { account: '111122223333', region: 'eu-central-1' };

describe('the simulated S3', () => {
  let aws: SimulatedAws;
  let s3: S3Client;

  beforeEach(async () => {
    aws = await startSimulatedAws({ clock: steppedClock(Date.UTC(2026, 0, 1)) });
    aws.s3.createBucket(FRANKFURT, 'fleet');
    s3 = new S3Client({ ...awsClientConfig(aws, FRANKFURT), maxAttempts: 1 });
  });
  afterEach(() => aws[Symbol.asyncDispose]());

  const put = (Body: string, condition: { IfMatch?: string; IfNoneMatch?: string } = {}) =>
    s3.send(new PutObjectCommand({ Bucket: 'fleet', Key: 'a/registry.json.gz', Body, ...condition }));
  const get = (change: { Bucket?: string; Key?: string; IfMatch?: string; IfNoneMatch?: string } = {}, client = s3) =>
    client.send(new GetObjectCommand({ Bucket: 'fleet', Key: 'a/registry.json.gz', ...change }));

  it('gives back what was written, with its ETag', async () => {
    const { ETag } = await put('{"ü":1}');
    const object = await get();
    expect(object.ETag).toBe(ETag);
    expect(ETag).toMatch(/^"[0-9a-f]{32}"$/);
    expect(await object.Body?.transformToString()).toBe('{"ü":1}');
    expect(aws.s3.read('fleet', 'a/registry.json.gz')?.toString()).toBe('{"ü":1}');
  });

  it('creates only what is not there', async () => {
    await put('one', { IfNoneMatch: '*' });
    await expect(put('two', { IfNoneMatch: '*' })).rejects.toMatchObject({
      name: 'PreconditionFailed',
      $metadata: { httpStatusCode: 412 },
    });
    expect(aws.s3.read('fleet', 'a/registry.json.gz')?.toString()).toBe('one');
  });

  it('replaces only what was read', async () => {
    const { ETag: first = '' } = await put('one');
    await put('two', { IfMatch: first });
    aws.s3.write('fleet', 'a/registry.json.gz', 'somebody else');
    await expect(put('three', { IfMatch: first })).rejects.toMatchObject({ name: 'PreconditionFailed' });
    expect(aws.s3.read('fleet', 'a/registry.json.gz')?.toString()).toBe('somebody else');
  });

  it('replaces nothing that is not there', async () => {
    await expect(put('one', { IfMatch: '"0"' })).rejects.toMatchObject({ name: 'NoSuchKey' });
  });

  it('can tell that two wrote at once', async () => {
    aws.fail('s3:PutObject', new AwsFault(409, 'ConditionalRequestConflict', 'Two at once'), 1);
    await expect(put('one', { IfNoneMatch: '*' })).rejects.toMatchObject({
      name: 'ConditionalRequestConflict',
      $metadata: { httpStatusCode: 409 },
    });
    await expect(put('one', { IfNoneMatch: '*' })).resolves.toBeDefined();
  });

  it('reads under a condition', async () => {
    const { ETag = '' } = await put('one');
    await expect(get({ IfNoneMatch: ETag })).rejects.toMatchObject({ $metadata: { httpStatusCode: 304 } });
    await expect(get({ IfMatch: '"0"' })).rejects.toMatchObject({ name: 'PreconditionFailed' });
  });

  it.each([
    ['key', { Key: 'other' }, 'NoSuchKey'],
    ['bucket', { Bucket: 'other' }, 'NoSuchBucket'],
  ])('says that there is no such %s', async (_, change, name) => {
    await expect(get(change)).rejects.toMatchObject({ name, $metadata: { httpStatusCode: 404 } });
  });

  it('does not tell who may not list that a key is missing', async () => {
    aws.deny('s3:ListBucket');
    await expect(get()).rejects.toMatchObject({ name: 'AccessDenied', $metadata: { httpStatusCode: 403 } });
  });

  it('lists the keys with a prefix after another one, page by page, in the order of their bytes', async () => {
    for (const key of ['b/2', 'b/10', 'b/1', 'b/\u{1F980}', 'b/\uFB01', 'a/9', 'c/0']) aws.s3.write('fleet', key, key);
    const input = { Bucket: 'fleet', Prefix: 'b/', StartAfter: 'b/1' };
    const pages: (string | undefined)[][] = [];
    for await (const { Contents = [] } of paginateListObjectsV2({ client: s3, pageSize: 2 }, input))
      pages.push(Contents.map(({ Key }) => Key));
    expect(pages).toEqual([
      ['b/10', 'b/2'],
      ['b/\uFB01', 'b/\u{1F980}'],
    ]);
  });

  it('lists at most a thousand keys in an answer', async () => {
    for (let n = 0; n < 1_001; n += 1) aws.s3.write('fleet', `${n}`, '');
    const { KeyCount, IsTruncated, Contents } = await s3.send(new ListObjectsV2Command({ Bucket: 'fleet' }));
    expect({ KeyCount, IsTruncated, keys: Contents?.length }).toEqual({
      KeyCount: 1_000,
      IsTruncated: true,
      keys: 1_000,
    });
  });

  it('lists nothing for who may not', async () => {
    aws.deny('s3:ListBucket');
    const listed = s3.send(new ListObjectsV2Command({ Bucket: 'fleet', Prefix: 'none/' }));
    await expect(listed).rejects.toMatchObject({ name: 'AccessDenied', $metadata: { httpStatusCode: 403 } });
  });

  it('keeps a bucket for its account', async () => {
    const foreign = new S3Client(awsClientConfig(aws, { ...FRANKFURT, account: '444455556666' }));
    await expect(get({}, foreign)).rejects.toMatchObject({ name: 'AccessDenied' });
  });

  it('is also called by the name of the bucket', async () => {
    await put('one');
    const url = new URL(aws.url);
    url.hostname = 'localhost';
    // What a name server does with the names of buckets.
    const httpAgent = new Agent({
      lookup: (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
    });
    const hosts: string[] = [];
    const byName = new S3Client({
      ...awsClientConfig(aws, FRANKFURT),
      endpoint: url.href,
      requestHandler: { httpAgent },
    });
    byName.middlewareStack.add(
      (next) => (args) => {
        hosts.push((args.request as { hostname: string }).hostname);
        return next(args);
      },
      { step: 'finalizeRequest' },
    );
    expect(await (await get({}, byName)).Body?.transformToString()).toBe('one');
    expect(hosts).toEqual(['fleet.localhost']);
    httpAgent.destroy();
  });
});
