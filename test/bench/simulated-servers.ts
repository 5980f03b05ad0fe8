import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** A simulated cluster that listens in another process. */
export interface ServedCluster {
  readonly name: string;
  readonly kubeconfig: string;
}

export interface ServedClusters extends AsyncDisposable {
  readonly clusters: readonly ServedCluster[];
}

/** Starts API servers in two processes of their own. `faulty`: every fifth hangs, drips, lies or fails. */
export async function serveClusters(count: number, faulty: boolean): Promise<ServedClusters> {
  const half = Math.ceil(count / 2);
  const started = await Promise.all([serve(0, half, faulty), serve(half, count - half, faulty)]);
  return {
    clusters: started.flatMap(({ clusters }) => clusters),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(started.map(({ child }) => stop(child)));
    },
  };
}

async function serve(from: number, count: number, faulty: boolean) {
  const program = new URL('./fleet-servers.ts', import.meta.url).pathname;
  // The sweeping process has the first core for itself.
  const child = spawn(
    'taskset',
    ['-c', '1', process.execPath, program, `${from}`, `${count}`, faulty ? 'faulty' : 'none'],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  const clusters: ServedCluster[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === 'ready') return { child, clusters };
    clusters.push(JSON.parse(line));
  }
  throw new Error('the simulated API servers ended before they were ready');
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.stdin?.end();
  await ended;
}
