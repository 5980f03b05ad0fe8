import { setTimeout as delay } from 'node:timers/promises';

// The other side of invoke-bundle.ts: a process that stands for one execution environment of Lambda.

interface Invocation {
  readonly event: unknown;
  readonly timeoutMs: number;
}

const [, , bundle = ''] = process.argv;
const { handler } = (await import(bundle)) as { handler: (event: unknown, context: object) => Promise<unknown> };

process.on('message', ({ event, timeoutMs }: Invocation) => {
  const endsAt = Date.now() + timeoutMs;
  const context = {
    functionName: 'test',
    functionVersion: '$LATEST',
    invokedFunctionArn: 'arn:aws:lambda:eu-west-1:123456789012:function:test',
    memoryLimitInMB: '1024',
    awsRequestId: crypto.randomUUID(),
    getRemainingTimeInMillis: () => endsAt - Date.now(),
  };
  void handler(event, context).then(
    (result) => process.send?.({ result }),
    async (error: unknown) => {
      await delay(0);
      process.send?.({ error: String(error) });
    },
  );
});
process.send?.({ ready: true });
