import type { Context } from 'aws-lambda';
import { expect, it } from 'vitest';
import { createHandler } from '../../../lambdas/functions/handler.ts';
import { createTelemetry } from '../../../lambdas/telemetry/telemetry.ts';
import { writtenByEachTest } from '../telemetry/capture-stdout.ts';

const output = writtenByEachTest();

it('what a handler throws is one line of its log, which runbooks look for', async () => {
  const handler = createHandler(createTelemetry('plan'), () => Promise.reject(new Error('S3 answers 503')));
  await expect(handler({}, {} as Context)).rejects.toThrow('S3 answers 503');
  expect(output.lines()).toMatchObject([{ level: 'ERROR', error: { message: 'S3 answers 503' } }]);
});
