import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** How an invocation ended. */
export type Answer = { readonly result: unknown; readonly error?: undefined } | { readonly error: string };

/** A process that has loaded a bundle, as an execution environment of Lambda has. */
export interface LoadedBundle extends AsyncDisposable {
  /** @param timeoutMs what the function's timeout would be. @default 60 000 */
  invoke(event: unknown, timeoutMs?: number): Promise<Answer>;
  /** Everything written to stdout and stderr so far. */
  output(): string;
}

/**
 * Loads a bundle in a process of its own.
 *
 * @param environment all it sees besides made-up credentials
 */
export async function loadBundle(bundle: string, environment: Readonly<Record<string, string>>): Promise<LoadedBundle> {
  let output = '';
  const child = fork(new URL('./run-bundle.ts', import.meta.url), [bundle], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: {
      AWS_REGION: 'eu-west-1',
      AWS_ACCESS_KEY_ID: '123456789012',
      AWS_SECRET_ACCESS_KEY: 'test',
      ...environment,
    },
  });
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (piece: Buffer) => {
      output += piece.toString();
    });
  const next = async (): Promise<Answer> => {
    const died = once(child, 'exit').then(() => {
      throw new Error(`the bundle ended its process\n${output}`);
    });
    const [message] = await Promise.race([once(child, 'message'), died]);
    return message;
  };
  await next();
  return {
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
