/**
 * Runs beside the tests as a process of its own and cleans up after them when they cannot: however the test process
 * ends (exit, signal, crash, SIGKILL), its end of the pipe closes, and this one then kills what is still listed.
 *
 * Lines on stdin: `pid <n>` a process that was started, `gone <n>` it ended, `directory <path>` remove this at the end.
 */
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';

const pids = new Set<number>();
const directories = new Set<string>();

for await (const line of createInterface({ input: process.stdin })) {
  const space = line.indexOf(' ');
  const word = line.slice(0, space);
  const value = line.slice(space + 1);
  if (word === 'pid') pids.add(Number(value));
  if (word === 'gone') pids.delete(Number(value));
  if (word === 'directory') directories.add(value);
}

for (const pid of pids) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself in the meantime.
  }
}
for (const directory of directories) {
  // Processes that were killed just now may still be closing files.
  rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}
