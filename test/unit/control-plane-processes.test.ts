import { execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { openDaemonGroup, waitUntilReady } from '../control-plane/processes.ts';

const PROCESSES = join(import.meta.dirname, '..', 'control-plane', 'processes.ts');

/** Never ends by itself, and ignores SIGTERM when `stubborn`. */
function sleeper(stubborn: boolean): string[] {
  return ['-e', `${stubborn ? "process.on('SIGTERM', () => {});" : ''} console.log('up'); setInterval(() => {}, 1000)`];
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // Where nobody collects orphans (a container without an init process), an ended one stays as a zombie.
  const status = `/proc/${pid}/stat`;
  return !existsSync(status) || !readFileSync(status, 'utf8').includes(') Z ');
}

describe('a group of daemons', () => {
  it('stops them, the stubborn ones by force, and removes its directory', async () => {
    const group = await openDaemonGroup('certmarshal-test-');
    const meek = group.start('meek', process.execPath, sleeper(false));
    const stubborn = group.start('stubborn', process.execPath, sleeper(true));
    for (const daemon of [meek, stubborn]) {
      await waitUntilReady(daemon, () => Promise.resolve(daemon.tail(1) === 'up'), 10_000);
    }
    await stubborn.stop(50);
    expect([meek.running, stubborn.running]).toEqual([true, false]);
    await group.stop();
    expect([isAlive(meek.pid), isAlive(stubborn.pid), existsSync(group.directory)]).toEqual([false, false, false]);
    // Once more is harmless.
    await group.stop();
  });

  it('shows the end of the log when one does not start', async () => {
    const group = await openDaemonGroup('certmarshal-test-');
    try {
      const broken = group.start('broken', process.execPath, ['-e', "console.error('bad flag'); process.exit(2)"]);
      const waiting = waitUntilReady(broken, () => Promise.resolve(false), 10_000);
      await expect(waiting).rejects.toThrow(/broken ended while starting:\nbad flag/);
      const idle = group.start('idle', process.execPath, sleeper(false));
      await expect(waitUntilReady(idle, () => Promise.resolve(false), 100)).rejects.toThrow('not ready after 100 ms');
    } finally {
      await group.stop();
    }
  });

  it('does not outlive a test process that is killed', async () => {
    const script = `
      import { openDaemonGroup } from ${JSON.stringify(PROCESSES)};
      const group = await openDaemonGroup('certmarshal-test-');
      const daemon = group.start('orphan', process.execPath, ${JSON.stringify(sleeper(true))});
      console.log(JSON.stringify({ pid: daemon.pid, directory: group.directory }));
      setInterval(() => {}, 1000);
    `;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await parent.stdout.setEncoding('utf8').take(1).toArray();
    const { pid, directory }: { pid: number; directory: string } = JSON.parse(String(line));
    expect(isAlive(pid)).toBe(true);

    parent.kill('SIGKILL');

    await expect.poll(() => isAlive(pid) || existsSync(directory)).toBe(false);
  });

  it('does not keep a process running that forgot to stop it', async () => {
    const script = `
      import { openDaemonGroup } from ${JSON.stringify(PROCESSES)};
      const group = await openDaemonGroup('certmarshal-test-');
      const daemon = group.start('forgotten', process.execPath, ${JSON.stringify(sleeper(false))});
      console.log(daemon.pid);
    `;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
    await expect.poll(() => isAlive(Number(stdout))).toBe(false);
  });
});
