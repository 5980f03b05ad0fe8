import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A program that keeps running until it is stopped. Its output goes to a file in the group's directory. */
export interface Daemon {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** False once the process has ended, for whatever reason. */
  readonly running: boolean;
  /** The last `lines` of its output. */
  tail(lines: number): string;
  /** SIGTERM, after `graceMs` SIGKILL. Resolves when the process is gone; harmless when it already is. */
  stop(graceMs?: number): Promise<void>;
}

/** Several daemons that share a temporary directory and a fate. */
export interface DaemonGroup {
  /** Temporary directory, in memory where the machine has /dev/shm. Removed by {@link DaemonGroup.stop}. */
  readonly directory: string;
  /** Starts a program. It may be seen running before it is ready: see {@link waitUntilReady}. */
  start(name: string, executable: string, args: readonly string[]): Daemon;
  /** Stops every daemon, the last started first, and removes the directory. */
  stop(): Promise<void>;
}

/** Thrown when a daemon ends or does not become ready in time. The message ends with the last lines of its log. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/**
 * Opens a group. A small process of its own ({@link file://./reaper.ts}) ends the daemons and removes the directory if
 * this process dies without {@link DaemonGroup.stop}.
 *
 * @param prefix start of the temporary directory's name.
 */
export async function openDaemonGroup(prefix: string): Promise<DaemonGroup> {
  const directory = await temporaryDirectory(prefix);
  const reaper = spawn(process.execPath, [join(import.meta.dirname, 'reaper.ts')], {
    stdio: ['pipe', 'ignore', 'inherit'],
    // A session of its own: Ctrl-C in the terminal must not end it before it has done its work.
    detached: true,
    // Whatever loader or inspector the tests run under is not its business.
    env: { PATH: process.env['PATH'] ?? '' },
  });
  const tell = (line: string): boolean => reaper.stdin.write(`${line}\n`);
  // The reaper only matters when this process dies; if the reaper dies first, the tests go on.
  reaper.on('error', () => {});
  reaper.stdin.on('error', () => {});
  reaper.unref();
  // A pipe is a socket, though its type does not say so: it must not keep this process alive either.
  if (reaper.stdin instanceof Socket) reaper.stdin.unref();
  tell(`directory ${directory}`);

  const daemons: Daemon[] = [];
  return {
    directory,
    start(name, executable, args) {
      const daemon = startDaemon({ name, executable, args, directory, tell });
      daemons.push(daemon);
      return daemon;
    },
    async stop() {
      for (const daemon of daemons.splice(0).toReversed()) await daemon.stop();
      await rm(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
      reaper.stdin.end();
    },
  };
}

/**
 * Waits until `isReady` says so; an exception from it counts as "not yet".
 *
 * @throws StartError when the daemon ends first or `timeoutMs` passes.
 */
export async function waitUntilReady(
  daemon: Daemon,
  isReady: () => Promise<boolean>,
  timeoutMs: number,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    if (!daemon.running) throw new StartError(`${daemon.name} ended while starting:\n${daemon.tail(20)}`);
    if (await isReady().catch(() => false)) return;
    if (Date.now() > deadline) {
      throw new StartError(`${daemon.name} was not ready after ${timeoutMs} ms:\n${daemon.tail(20)}`);
    }
    await sleep(50);
  }
}

interface DaemonStart {
  readonly name: string;
  readonly executable: string;
  readonly args: readonly string[];
  readonly directory: string;
  readonly tell: (line: string) => boolean;
}

function startDaemon({ name, executable, args, directory, tell }: DaemonStart): Daemon {
  const logFile = join(directory, `${name}.log`);
  const log = openSync(logFile, 'a', 0o600);
  const child = spawn(executable, args, {
    stdio: ['ignore', log, log],
    cwd: directory,
    // Not the caller's environment: a proxy, a kubeconfig or a cloud account in it must not change a test.
    env: { PATH: process.env['PATH'] ?? '', HOME: directory, TMPDIR: directory },
  });
  closeSync(log);
  child.unref();
  const pid = child.pid;
  let running = pid !== undefined;
  const ended = new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  }).then(() => {
    running = false;
    if (pid !== undefined) tell(`gone ${pid}`);
  });
  if (pid === undefined) throw new StartError(`${name}: ${executable} cannot be started`);
  tell(`pid ${pid}`);

  return {
    name,
    pid,
    logFile,
    get running() {
      return running;
    },
    tail: (lines) => readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n'),
    async stop(graceMs = 5000) {
      if (!running) return;
      child.kill('SIGTERM');
      // The child itself does not keep the event loop alive; this timer does while somebody waits here.
      const patience = new AbortController();
      const impatient = sleep(graceMs, undefined, { signal: patience.signal }).then(
        () => child.kill('SIGKILL'),
        () => {},
      );
      await ended;
      patience.abort();
      await impatient;
    },
  };
}

async function temporaryDirectory(prefix: string): Promise<string> {
  try {
    return await mkdtemp(join('/dev/shm', prefix));
  } catch {
    return mkdtemp(join(tmpdir(), prefix));
  }
}
