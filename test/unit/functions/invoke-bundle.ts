import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** Of a sweep function. */
export const SWEEP_ENVIRONMENT = {
  SWEEP_ROLE_ARN: 'arn:aws:iam::123456789012:role/sweep',
  LANE: 'default',
  HUB_ACCOUNT: '123456789012',
  HUB_PARTITION: 'aws',
  SNAPSHOT_BUCKET: 'snapshots',
  JOURNAL_BUCKET: 'journal',
  STATE_BUCKET: 'state',
};

/** How an invocation ended. */
export type Answer = { readonly result: unknown; readonly error?: undefined } | { readonly error: string };

/** A process that has loaded a bundle, as an execution environment of Lambda has. */
export interface LoadedBundle extends AsyncDisposable {
  readonly pid: number;
  /** @param timeoutMs what the function's timeout would be. @default 60 000 */
  invoke(event: unknown, timeoutMs?: number): Promise<Answer>;
  /** Everything written to stdout and stderr so far. */
  output(): string;
}

/**
 * Loads a bundle in a process of its own.
 *
 * @param environment all it sees besides made-up credentials
 * @param execArgv options of Node.js
 */
export async function loadBundle(
  bundle: string,
  environment: Readonly<Record<string, string>>,
  execArgv: readonly string[] = [],
): Promise<LoadedBundle> {
  let output = '';
  const child = fork(new URL('./run-bundle.ts', import.meta.url), [bundle], {
    execArgv: [...execArgv],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: '123456789012', AWS_SECRET_ACCESS_KEY: 'test', ...environment },
  });
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (piece: Buffer) => {
      output += piece.toString();
    });
  const next = async (): Promise<Answer> => {
    const answered = new AbortController();
    const died = once(child, 'exit', answered).then(() => {
      throw new Error(`the bundle ended its process\n${output}`);
    });
    const [message] = await Promise.race([once(child, 'message', answered), died]);
    died.catch(() => undefined);
    answered.abort();
    return message;
  };
  await next();
  return {
    pid: child.pid ?? 0,
    async invoke(event, timeoutMs = 60_000) {
      const answered = next();
      child.send({ event, timeoutMs });
      const answer = await answered;
      // Its output comes through another pipe, a moment later.
      await delay(50);
      return answer;
    },
    output: () => output,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null) return;
      const exited = once(child, 'exit');
      child.kill();
      await exited;
    },
  };
}
