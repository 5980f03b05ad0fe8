import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware';
import { logMetrics } from '@aws-lambda-powertools/metrics/middleware';
// oxlint-disable-next-line import/no-named-as-default -- its types have no other
import middy from '@middy/core';
import type { Context } from 'aws-lambda';
import type { Telemetry } from '../telemetry/telemetry.ts';

/**
 * The handler of a Lambda function: its log names the request and what the handler throws, its metrics are published at
 * the end, and its signal aborts one second before Lambda's timeout.
 *
 * @param options overrides of middy's options
 */
export function createHandler<Event, Result = void>(
  { logger, metrics }: Telemetry,
  handle: (event: Event, signal: AbortSignal, context: Context) => Promise<Result>,
  options: Parameters<typeof middy>[1] = { timeoutEarlyInMillis: 1_000 },
) {
  return middy<Event, Result>(options)
    .use(injectLambdaContext(logger, { flushBufferOnUncaughtError: true }))
    .use(logMetrics(metrics))
    .handler(async (event, context, { signal }) => handle(event, signal, context));
}
