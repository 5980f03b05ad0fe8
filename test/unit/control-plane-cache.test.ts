import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cacheBase, sourceKey } from '../control-plane/cache.ts';

describe('cacheBase', () => {
  it('prefers its own variable, then the XDG one, then the home directory', () => {
    expect(cacheBase({ CERTMARSHAL_CACHE: '/own', XDG_CACHE_HOME: '/xdg' })).toBe('/own');
    expect(cacheBase({ XDG_CACHE_HOME: '/xdg' })).toBe('/xdg/certmarshal');
    expect(cacheBase({})).toBe(join(homedir(), '.cache', 'certmarshal'));
  });

  it('ignores a relative XDG directory, as the specification demands', () => {
    expect(cacheBase({ XDG_CACHE_HOME: 'cache' })).toBe(join(homedir(), '.cache', 'certmarshal'));
  });
});

describe('sourceKey', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'certmarshal-cache-'));
    await mkdir(join(directory, 'oracle'));
    await writeFile(join(directory, 'go.mod'), 'module a');
    await writeFile(join(directory, 'go.sum'), 'sum');
    await writeFile(join(directory, 'oracle', 'main.go'), 'package main');
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('changes with every Go file, go.mod, go.sum and the toolchain, and with nothing else', async () => {
    const before = await sourceKey(directory, ['go1.26']);
    expect(before).toMatch(/^[0-9a-f]{16}$/);

    await writeFile(join(directory, 'start.ts'), 'not Go');
    expect(await sourceKey(directory, ['go1.26'])).toBe(before);

    const seen = new Set([before, await sourceKey(directory, ['go1.27'])]);
    for (const file of ['go.mod', 'go.sum', 'oracle/main.go']) {
      await writeFile(join(directory, file), `changed ${file}`);
      seen.add(await sourceKey(directory, ['go1.26']));
    }
    expect(seen.size).toBe(5);
  });

  it('leaves out a directory that is a module of its own', async () => {
    const before = await sourceKey(directory, []);
    await mkdir(join(directory, 'other', 'inner'), { recursive: true });
    await writeFile(join(directory, 'other', 'go.mod'), 'module b');
    await writeFile(join(directory, 'other', 'inner', 'main.go'), 'package inner');
    expect(await sourceKey(directory, [])).toBe(before);
    expect(await sourceKey(join(directory, 'other'), [])).not.toBe(before);
  });
});
