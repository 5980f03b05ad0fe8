import { mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeDirectory, tryDirectory } from '../../../lambdas/audit/make-directory.ts';

describe('a directory for snapshots', () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'certmarshal-directory-'));
  });
  afterEach(() => rm(root, { recursive: true }));

  it('is made with those above it, and left as it is where it exists', async () => {
    const deep = join(root, 'a/b/../c');
    await makeDirectory(deep);
    await writeFile(join(deep, 'file'), '');
    await makeDirectory(relative(process.cwd(), deep));
    await tryDirectory(deep);
    expect(await readdir(deep)).toEqual(['file']);
    expect(await readdir(join(root, 'a'))).toEqual(['c']);
    await makeDirectory('/');
  });

  it('may be one that a link leads to', async () => {
    await mkdir(join(root, 'real'));
    await symlink('real', join(root, 'link'));
    await tryDirectory(join(root, 'link/below'));
    expect((await stat(join(root, 'real/below'))).isDirectory()).toBe(true);
  });

  it.each(['file', 'file/below', 'file/far/below'])('is none where a file is in the way: %s', async (path) => {
    await writeFile(join(root, 'file'), '');
    await expect(tryDirectory(join(root, path))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });

  it('is none where a link leads nowhere', async () => {
    await symlink('nowhere', join(root, 'link'));
    await expect(tryDirectory(join(root, 'link'))).rejects.toMatchObject({ code: 'EEXIST' });
  });

  it('made by two at once is there for both', async () => {
    await Promise.all(Array.from({ length: 8 }, () => tryDirectory(join(root, 'x/y/z'))));
    expect(await readdir(join(root, 'x/y/z'))).toEqual([]);
  });

  // The parent exists, and answers ENOENT nevertheless.
  it.runIf(process.platform === 'linux')('is given up at once where none can be made', async () => {
    await expect(tryDirectory('/proc/certmarshal/below')).rejects.toMatchObject({ code: 'ENOENT' });
  });

  // Of /proc the superuser is told that it may write.
  it.runIf(process.platform === 'linux')(
    'is none where no file can be written, whatever its permissions say',
    async () => {
      await expect(tryDirectory('/proc/self')).rejects.toMatchObject({ syscall: 'open' });
    },
  );
});
