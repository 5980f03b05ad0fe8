import { describe, expect, it } from 'vitest';
import type { ByteObjects } from '../../../lambdas/aws/byte-objects.ts';
import { writePage } from '../../../lambdas/functions/write-page.ts';
import { awsError } from './memory-objects.ts';

const NEVER = new AbortController().signal;

function objectsWith(etag: string | undefined, write: ByteObjects['write']): ByteObjects {
  return { read: async () => (etag === undefined ? undefined : { bytes: undefined, etag }), write };
}

describe('writePage', () => {
  it.each([undefined, '"1"'])('replaces the page with the etag %s', async (last) => {
    const written: unknown[] = [];
    const objects = objectsWith(last, async (key, bytes, etag) => {
      written.push([key, Buffer.from(bytes).toString(), etag]);
      return '"2"';
    });
    await writePage('<!doctype html>ü', objects, NEVER);
    expect(written).toEqual([['report.html', '<!doctype html>ü', last]]);
  });

  it('leaves what somebody else wrote at the same moment', async () => {
    const objects = objectsWith('"1"', async () => Promise.reject(awsError('conflict')));
    await expect(writePage('x', objects, NEVER)).resolves.toBeUndefined();
  });

  it('throws what S3 answers', async () => {
    const objects = objectsWith('"1"', async () => Promise.reject(awsError('denied')));
    await expect(writePage('x', objects, NEVER)).rejects.toThrow('denied in this test');
  });
});
