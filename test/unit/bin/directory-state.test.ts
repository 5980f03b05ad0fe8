import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { createDirectoryState } from '../../../bin/directory-state.ts';
import { UsageError } from '../../../bin/exit-codes.ts';

const MODULE = fileURLToPath(new URL('../../../bin/directory-state.ts', import.meta.url));
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const SIGNAL = new AbortController().signal;
const now = Date.now();
const ROOT = mkdtempSync(join(tmpdir(), 'certmarshal-state-'));
const scratch = () => mkdtempSync(join(ROOT, 'test-'));

afterAll(() => rmSync(ROOT, { recursive: true }));

const opened = (directory = join(scratch(), 'state')) => ({ directory, state: createDirectoryState(directory, now) });
const lockOf = (directory: string, holder: object | string, ageMs = 0) => {
  mkdirSync(directory, { recursive: true });
  const path = join(directory, 'lock.json');
  writeFileSync(path, typeof holder === 'string' ? holder : JSON.stringify(holder));
  const at = (now - ageMs) / 1_000;
  utimesSync(path, at, at);
};
/** No process has this id. */
const DEAD = (() => spawnSync(process.execPath, ['-e', '']).pid)();

describe('objects in a directory', () => {
  it('are what was put, under a version that changes with them', async () => {
    const { state } = opened();
    expect(await state.get('registry.json.gz', SIGNAL)).toBeUndefined();
    const first = await state.put('registry.json.gz', { a: 1 }, undefined, SIGNAL);
    expect(await state.get('registry.json.gz', SIGNAL)).toEqual({ value: { a: 1 }, etag: first });
    const second = await state.put('registry.json.gz', { a: 2 }, first, SIGNAL);
    expect(second).not.toBe(first);
    expect(await state.get('registry.json.gz', SIGNAL)).toEqual({ value: { a: 2 }, etag: second });
  });

  it.each([
    ['created twice', undefined],
    ['replaced by who read an older one', 'an older version'],
  ])('are not %s', async (_, etag) => {
    const { state } = opened();
    await state.put('index.json.gz', { n: 1 }, undefined, SIGNAL);
    await expect(state.put('index.json.gz', { n: 2 }, etag, SIGNAL)).rejects.toMatchObject({ kind: 'conflict' });
    expect((await state.get('index.json.gz', SIGNAL))?.value).toEqual({ n: 1 });
  });

  it('are not replaced after they are gone', async () => {
    const { state } = opened();
    await expect(state.put('a.json.gz', {}, 'x', SIGNAL)).rejects.toMatchObject({ kind: 'conflict' });
  });

  it('have one winner of two writes at once', async () => {
    const { state } = opened();
    const both = await Promise.allSettled([1, 2].map(async (n) => state.put('a.json.gz', { n }, undefined, SIGNAL)));
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });

  it.each(['', 'not gzip', '{"half":'])('are damaged, and can be replaced: %j', async (text) => {
    const { directory, state } = opened();
    writeFileSync(join(directory, 'registry.json.gz'), text);
    const stored = await state.get('registry.json.gz', SIGNAL);
    expect(stored).toEqual({ value: undefined, etag: expect.any(String) });
    await state.put('registry.json.gz', { whole: true }, stored?.etag, SIGNAL);
    expect((await state.get('registry.json.gz', SIGNAL))?.value).toEqual({ whole: true });
  });

  it('are listed in order, after a key', async () => {
    const { state } = opened();
    const keys = ['0815/1', '0815/0', '0816/0', '0816/webhook-a'].map((key) => `outcomes/default/${key}.json.gz`);
    for (const key of keys) await state.put(key, {}, undefined, SIGNAL);
    await state.put('outcomes/other/0816/0.json.gz', {}, undefined, SIGNAL);
    expect(await state.list('outcomes/default/', '', SIGNAL)).toEqual(keys.toSorted());
    expect(await state.list('outcomes/default/', 'outcomes/default/0816/', SIGNAL)).toEqual(keys.slice(2));
    expect(await state.list('orders/default/', '', SIGNAL)).toEqual([]);
  });

  it('of orders and outcomes expire after a day, and nothing else', async () => {
    const { directory, state } = opened();
    const keys = [
      'orders/default/a/0.json.gz',
      'outcomes/default/a/0.json.gz',
      'snapshots/a.json.gz',
      'registry.json.gz',
    ];
    for (const key of keys) await state.put(key, {}, undefined, SIGNAL);
    state.touch(now + DAY - MINUTE);
    expect(keys.filter((key) => existsSync(join(directory, key)))).toEqual(keys);
    state.touch(now + DAY + MINUTE);
    expect(keys.filter((key) => existsSync(join(directory, key)))).toEqual(keys.slice(2));
  });

  it('are whole, also those of a process that was killed while it wrote', async () => {
    const { directory, state } = opened();
    state.release();
    const script = `
      import { createDirectoryState } from ${JSON.stringify(MODULE)};
      const state = createDirectoryState(${JSON.stringify(directory)}, Date.now());
      const signal = new AbortController().signal;
      let etag;
      for (let n = 0; ; n += 1) {
        etag = await state.put('registry.json.gz', { n, text: String(Math.random()).repeat(20_000) }, etag, signal);
        if (n === 3) process.stdout.write('writing');
      }`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'close');
    const next = createDirectoryState(directory, now);
    expect((await next.get('registry.json.gz', SIGNAL))?.value).toEqual({
      n: expect.any(Number),
      text: expect.any(String),
    });
    expect(readdirSync(directory).toSorted()).toEqual(['lock.json', 'registry.json.gz']);
  });
});

describe('a directory', () => {
  it('that cannot be made is refused at once', () => {
    expect(() => createDirectoryState('/proc/nope/state', now)).toThrow(/^\/proc\/nope/);
  });

  it('is in use by one process, until that gives it up', () => {
    const { directory, state } = opened();
    const second = spawnSync(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { createDirectoryState } from ${JSON.stringify(MODULE)};
        try { createDirectoryState(${JSON.stringify(directory)}, Date.now()); console.log('open'); }
        catch (error) { console.log(error.name, error.message); }`,
      ],
      { encoding: 'utf8' },
    );
    expect(second.stdout).toBe(
      `UsageError ${directory} is in use by process ${process.pid} on ${hostname()}: stop it, or name another directory with --state.\n`,
    );
    state.release();
    expect(readdirSync(directory)).toEqual([]);
    createDirectoryState(directory, now).release();
  });

  const start = Math.round(performance.timeOrigin);
  it.each([
    ['a process that ended', { host: hostname(), pid: DEAD, start: 1 }, 0, true],
    ['a process that lives', { host: hostname(), pid: process.ppid, start: 1 }, 0, false],
    [
      'one that lives, and slept for more than three minutes',
      { host: hostname(), pid: process.ppid, start: 1 },
      4 * MINUTE,
      true,
    ],
    ['another host', { host: 'elsewhere', pid: 1, start: 1 }, 2 * MINUTE, false],
    ['another host, untouched for more than three minutes', { host: 'elsewhere', pid: 1, start: 1 }, 4 * MINUTE, true],
    ['an earlier process of this id, as in a container', { host: hostname(), pid: process.pid, start: 1 }, 0, true],
    ['this process', { host: hostname(), pid: process.pid, start }, 0, false],
    ['no one who can be read', '{"host":', 0, true],
  ])('with the lock of %s', (_, holder, ageMs, isFree) => {
    const directory = join(scratch(), 'state');
    lockOf(directory, holder, ageMs);
    const opens = (): boolean => {
      try {
        createDirectoryState(directory, now).release();
        return true;
      } catch (error) {
        if (error instanceof UsageError) return false;
        throw error;
      }
    };
    expect(opens()).toBe(isFree);
  });

  it('that another process took over is not touched', () => {
    const { directory, state } = opened();
    state.touch(now);
    lockOf(directory, { host: 'elsewhere', pid: 7, start: 1 });
    expect(() => state.touch(now + 4 * MINUTE)).toThrow(`${directory} is in use by process 7 on elsewhere`);
    state.release();
    expect(readdirSync(directory)).toContain('lock.json');
  });

  it('that cannot be made says so', () => {
    const file = join(scratch(), 'file');
    writeFileSync(file, '');
    expect(() => createDirectoryState(join(file, 'state'), now)).toThrow(
      expect.objectContaining({ name: 'AwsError', kind: 'unavailable', remedy: expect.stringContaining('--state') }),
    );
  });

  it.each([
    ['where an object belongs', 'registry.json.gz'],
    ['where a file is written first', 'unwritten'],
  ])('with something else %s fails that write, and the next one is whole', async (_, name) => {
    const { directory, state } = opened();
    const path = join(directory, name);
    if (name === 'unwritten') writeFileSync(path, '');
    else mkdirSync(path);
    await expect(state.put('registry.json.gz', { n: 1 }, undefined, SIGNAL)).rejects.toMatchObject({
      kind: 'unavailable',
      object: join(directory, 'registry.json.gz'),
    });
  });
});
