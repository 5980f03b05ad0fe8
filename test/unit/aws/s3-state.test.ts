import { gunzipSync, gzipSync } from 'node:zlib';
import { S3Client } from '@aws-sdk/client-s3';
import { describe, expect, it } from 'vitest';
import { createS3State } from '../../../lambdas/aws/s3-state.ts';
import type { State } from '../../../lambdas/state.ts';
import { awsFailure } from './failure.ts';
import { type HttpAnswer, type HttpCall, s3Refusal, startHttpService } from './http-service.ts';

const never = new AbortController().signal;

/** S3 with one bucket, as far as conditions go. */
function bucket() {
  const objects = new Map<string, { body: string | Uint8Array; etag: string }>();
  let writes = 0;
  return ({ method, path, headers, bytes: body }: HttpCall): HttpAnswer => {
    const found = objects.get(path);
    if (method === 'GET')
      return found === undefined ? s3Refusal('NoSuchKey', 404) : { headers: { etag: found.etag }, body: found.body };
    const { 'if-match': match, 'if-none-match': none } = headers;
    if (match !== undefined && found === undefined) return s3Refusal('NoSuchKey', 404);
    if ((match !== undefined && match !== found?.etag) || (none === '*' && found !== undefined))
      return s3Refusal('PreconditionFailed', 412);
    writes += 1;
    objects.set(path, { body, etag: `"${writes}"` });
    return { headers: { etag: `"${writes}"` } };
  };
}

async function use<T>(
  answer: (call: HttpCall) => HttpAnswer | undefined,
  work: (objects: State) => Promise<T>,
): Promise<{ result: T; calls: readonly HttpCall[] }> {
  await using s3 = await startHttpService(answer);
  const client = new S3Client({ ...s3.config, forcePathStyle: true, maxAttempts: 1 });
  try {
    return { result: await work(createS3State({ client, bucket: 'state' })), calls: s3.calls };
  } finally {
    client.destroy();
  }
}

const read =
  (signal = never) =>
  (objects: State) =>
    objects.get('registry.json', signal);
const readFailure = (objects: State) => awsFailure(objects.get('registry.json', never));
const writeFailure = (etag?: string) => (objects: State) =>
  awsFailure(objects.put('registry.json', { a: 1 }, etag, never));

describe('createS3State', () => {
  it('writes a new object, reads it, and replaces just that version', async () => {
    const { calls } = await use(bucket(), async (objects) => {
      expect(await objects.get('registry.json', never)).toBeUndefined();
      const first = await objects.put('registry.json', { name: 'München' }, undefined, never);
      expect(await objects.get('registry.json', never)).toEqual({ value: { name: 'München' }, etag: first });
      const second = await objects.put('registry.json', [], first, never);
      expect(await objects.get('registry.json', never)).toEqual({ value: [], etag: second });
      expect(await awsFailure(objects.put('registry.json', {}, first, never))).toMatchObject({ kind: 'conflict' });
      expect(await awsFailure(objects.put('registry.json', {}, undefined, never))).toMatchObject({
        kind: 'conflict',
      });
      expect(await awsFailure(objects.put('gone.json', {}, first, never))).toMatchObject({
        kind: 'conflict',
        problem: 'it was deleted since it was read',
        object: 's3:PutObject s3://state/gone.json',
      });
    });
    expect(calls[1]).toMatchObject({
      method: 'PUT',
      path: '/state/registry.json',
      headers: { 'if-none-match': '*', 'content-type': 'application/json' },
    });
  });

  it.each([
    ['ConditionalRequestConflict', 409, 'conflict'],
    ['AccessDenied', 403, 'denied'],
    ['NoSuchBucket', 404, 'not-found'],
    ['SlowDown', 503, 'throttled'],
    ['InternalError', 500, 'unavailable'],
    ['SignatureDoesNotMatch', 403, 'clock'],
  ])('says what %s means for a write', async (code, status, kind) => {
    expect((await use(() => s3Refusal(code, status), writeFailure('"1"'))).result).toMatchObject({ kind });
  });

  it.each([
    ['AccessDenied', 403, 'denied', 's3:ListBucket'],
    ['NoSuchBucket', 404, 'not-found', 'Deploy'],
  ])('says what %s means for a read', async (code, status, kind, remedy) => {
    const { result } = await use(() => s3Refusal(code, status), readFailure);
    expect(result).toMatchObject({ kind, object: 's3:GetObject s3://state/registry.json' });
    expect(result.remedy).toContain(remedy);
  });

  it.each([
    ['no JSON', '{"a": '],
    ['empty', ''],
  ])('gives the version of an object that is %s, so that it can be written anew', async (_, body) => {
    let damaged = true;
    const healthy = bucket();
    const { result } = await use(
      (call) => {
        if (!damaged || call.method !== 'GET') return healthy(call);
        return { headers: { etag: '"1"' }, body };
      },
      async (objects) => {
        await objects.put('registry.json', {}, undefined, never);
        const found = await objects.get('registry.json', never);
        expect(found).toEqual({ value: undefined, etag: '"1"' });
        damaged = false;
        await objects.put('registry.json', { whole: true }, found?.etag, never);
        return objects.get('registry.json', never);
      },
    );
    expect(result).toMatchObject({ value: { whole: true } });
  });

  it('wants an ETag, without which nothing can be replaced safely', async () => {
    expect((await use(() => ({ body: '{}' }), readFailure)).result).toMatchObject({ kind: 'invalid' });
  });

  it('reads no object of more than 128 MiB, said or not', async () => {
    const body = 'x'.repeat(128 * 1024 * 1024 + 1);
    const said = { headers: { etag: '"1"', 'content-length': String(body.length) }, body };
    const unsaid = { headers: { etag: '"1"' }, body };
    for (const answer of [said, unsaid]) {
      const { result } = await use(() => answer, read());
      expect(result).toEqual({ value: undefined, etag: '"1"' });
    }
  });

  it('writes no object of more than 128 MiB', async () => {
    const { result, calls } = await use(bucket(), (objects) =>
      awsFailure(objects.put('registry.json', 'x'.repeat(128 * 1024 * 1024), undefined, never)),
    );
    expect(result).toMatchObject({ kind: 'invalid' });
    expect(calls).toEqual([]);
  });

  it('ends with the signal when no answer comes', async () => {
    const { result } = await use(
      () => undefined,
      (objects) => awsFailure(read(AbortSignal.timeout(30))(objects)),
    );
    expect(result).toMatchObject({ kind: 'aborted' });
  });

  it('ends with the signal when the body does not end', async () => {
    const short = { headers: { etag: '"1"', 'content-length': '1000' }, body: '{' };
    const { result } = await use(
      () => short,
      (objects) => awsFailure(read(AbortSignal.timeout(30))(objects)),
    );
    expect(result).toMatchObject({ kind: 'aborted' });
  });

  it('compresses what its key says is compressed', async () => {
    const value = { clusters: Array.from({ length: 1_000 }, (_, n) => ({ name: `c-${n}`, city: 'München' })) };
    const { result, calls } = await use(bucket(), async (objects) => {
      await objects.put('registry.json.gz', value, undefined, never);
      return objects.get('registry.json.gz', never);
    });
    expect(result).toEqual({ value, etag: '"1"' });
    expect(JSON.parse(gunzipSync(calls[0]?.bytes ?? '').toString())).toEqual(value);
    expect(calls[0]?.bytes.length).toBeLessThan(JSON.stringify(value).length / 5);
  });

  it.each([
    ['cut off', gzipSync(JSON.stringify({ a: 1 })).subarray(0, 15)],
    ['no JSON', gzipSync('{"a":')],
    ['a small file that becomes a large one', gzipSync(' '.repeat(136 * 1024 * 1024))],
  ])('takes a compressed object that is %s for damaged', async (_, body) => {
    const { result } = await use(
      () => ({ headers: { etag: '"1"' }, body }),
      async (objects) => objects.get('registry.json.gz', never),
    );
    expect(result).toEqual({ value: undefined, etag: '"1"' });
  });

  it('lists the keys of a prefix after another key, over all pages', async () => {
    const contents = (keys: readonly string[]) => keys.map((key) => `<Contents><Key>${key}</Key></Contents>`).join('');
    const page = (keys: readonly string[], next = '') =>
      `<ListBucketResult>${contents(keys)}<IsTruncated>${next !== ''}</IsTruncated>${next}</ListBucketResult>`;
    const { result, calls } = await use(
      ({ query }) => ({
        body: query.has('continuation-token')
          ? page(['outcomes/a/2'])
          : page(['outcomes/a/1'], '<NextContinuationToken>more</NextContinuationToken>'),
      }),
      async (objects) => objects.list('outcomes/a/', 'outcomes/a/0', never),
    );
    expect(result).toEqual(['outcomes/a/1', 'outcomes/a/2']);
    expect(Object.fromEntries(calls[0]?.query ?? [])).toMatchObject({
      prefix: 'outcomes/a/',
      'start-after': 'outcomes/a/0',
    });
  });
});
