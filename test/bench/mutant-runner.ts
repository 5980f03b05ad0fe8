import { type ChildProcess, fork } from 'node:child_process';
import type { Trial, TrialResult } from './mutants-process.ts';

/** One process with one Vitest; a trial that does not end in time takes the process with it, the next one gets another. */
export class MutantRunner implements AsyncDisposable {
  private child: ChildProcess | undefined;

  async run(trial: Trial, limitMs: number): Promise<TrialResult | 'timed out'> {
    this.child ??= await started();
    const { child } = this;
    const answer = await new Promise<TrialResult | undefined>((resolve) => {
      const timer = setTimeout(resolve, limitMs, undefined);
      child.once('message', (message) => {
        clearTimeout(timer);
        resolve(message as TrialResult);
      });
      child.send(trial);
    });
    if (answer === undefined) this.end();
    return answer ?? 'timed out';
  }

  /** Its workers too: one may be in a loop that never ends. */
  end(): void {
    const pid = this.child?.pid;
    this.child = undefined;
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.end();
  }
}

async function started(): Promise<ChildProcess> {
  const child = fork(new URL('./mutants-process.ts', import.meta.url), {
    detached: true,
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  await new Promise((resolve) => void child.once('message', resolve));
  return child;
}
