import { mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UsageError } from '../../../bin/exit-codes.ts';
import { readTextFile, replaceTextFile } from '../../../bin/text-file.ts';

let directory: string;
const at = (name: string) => join(directory, name);

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'certmarshal-text-'));
});
afterEach(() => rm(directory, { recursive: true }));

describe('readTextFile', () => {
  it.each(['', 'a: 1\r\nb: ä\r\n', '\ufeffa: 1\n'])('reads %j as it is', async (text) => {
    await writeFile(at('f'), text);
    expect(await readTextFile(at('f'))).toBe(text);
  });

  // PowerShell's > writes UTF-16.
  it.each([
    ['UTF-16', Buffer.from('\ufeffa: 1', 'utf16le')],
    ['a program', Buffer.from('\x7fELF\x02\x01\x01\x00\x00', 'latin1')],
    ['Latin-1', Buffer.from([0x61, 0xe4])],
  ])('refuses %s', async (_name, bytes) => {
    await writeFile(at('f'), bytes);
    const read = readTextFile(at('f'), '--kubeconfig');
    await expect(read).rejects.toThrow(UsageError);
    await expect(read).rejects.toThrow(`${at('f')} is not UTF-8 text; name another file, or save it as UTF-8.`);
  });

  it.each([
    ['fleet.yml', '--policy', `There is no file fleet.yml in ${process.cwd()}, which --policy names.`],
    ['/nowhere/f', undefined, 'There is no file /nowhere/f.'],
    ['', '--policy', '--policy names no file: it is empty.'],
    [
      '~/f',
      '--ca',
      'There is no file ~/f, which --ca names. In quotes, the shell does not expand ~: write $HOME, or remove the quotes.',
    ],
    [tmpdir(), '--policy', `${tmpdir()} is a directory; name a file in it.`],
  ])('says of %j what is wrong with it', async (file, option, reason) => {
    await expect(readTextFile(file, option)).rejects.toThrow(new UsageError(reason));
  });
});

describe('replaceTextFile', () => {
  it('makes a file, and replaces it', async () => {
    for (const text of ['one', 'two']) {
      replaceTextFile(at('f'), text);
      expect(await readFile(at('f'), 'utf8')).toBe(text);
    }
    expect(await readdir(directory)).toEqual(['f']);
  });

  it('replaces what a link leads to', async () => {
    await mkdir(at('real'));
    await writeFile(at('real/f'), 'one');
    await symlink('real/f', at('link'));
    replaceTextFile(at('link'), 'two');
    expect([await readlink(at('link')), await readFile(at('real/f'), 'utf8')]).toEqual(['real/f', 'two']);
  });

  it('leaves nothing half-written', async () => {
    await mkdir(at('f'));
    expect(() => replaceTextFile(at('f'), 'text')).toThrow(expect.objectContaining({ syscall: 'rename' }));
    expect(() => replaceTextFile(at('none/f'), 'text')).toThrow(expect.objectContaining({ code: 'ENOENT' }));
    expect(await readdir(directory)).toEqual(['f']);
  });
});
