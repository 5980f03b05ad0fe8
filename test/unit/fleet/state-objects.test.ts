import { S3Client } from '@aws-sdk/client-s3';
import { expect, it } from 'vitest';
import { STATE_KEYS } from '../../../lambdas/fleet/state-keys.ts';
import { createStateObjects } from '../../../lambdas/fleet/state-objects.ts';
import { s3Refusal, startHttpService } from '../aws/http-service.ts';

const never = new AbortController().signal;
const NEW = `/state/${STATE_KEYS.registry}`;
const OLD = '/state/registry.json';

it('reads the format before until there is one of this format, and leaves it', async () => {
  const objects = new Map<string, { readonly body: string | Uint8Array; readonly etag: string }>([
    [OLD, { body: '{"old":true}', etag: '"old"' }],
  ]);
  await using s3 = await startHttpService(({ method, path, headers, bytes }) => {
    const found = objects.get(path);
    if (method === 'GET')
      return found === undefined ? s3Refusal('NoSuchKey', 404) : { headers: { etag: found.etag }, body: found.body };
    if (headers['if-none-match'] !== '*' || found !== undefined) return s3Refusal('PreconditionFailed', 412);
    objects.set(path, { body: bytes, etag: '"new"' });
    return { headers: { etag: '"new"' } };
  });
  const client = new S3Client({ ...s3.config, forcePathStyle: true, maxAttempts: 1 });
  const state = createStateObjects({ client, bucket: 'state' });
  const found = await state.read(STATE_KEYS.registry, never);
  expect(found).toEqual({ value: { old: true }, etag: undefined });
  const etag = await state.write(STATE_KEYS.registry, { old: false }, found?.etag, never);
  expect(await state.read(STATE_KEYS.registry, never)).toEqual({ value: { old: false }, etag });
  expect(await state.read(STATE_KEYS.rollouts, never)).toBeUndefined();
  client.destroy();

  expect(s3.calls.filter(({ method }) => method === 'PUT').map(({ path }) => path)).toEqual([NEW]);
  // One that is there is not looked for twice.
  expect(s3.calls.filter(({ path }) => path === OLD)).toHaveLength(1);
});
