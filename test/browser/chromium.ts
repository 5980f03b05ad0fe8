import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { skip } from '../control-plane/real.ts';

const executable = (): string =>
  process.env['CERTMARSHAL_CHROMIUM'] ||
  spawnSync('/bin/sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).stdout.trim();

/** Nothing but the page under test talks to a network. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/**
 * Why the browser suites have to be skipped, or undefined: `describe.skipIf(missing)`.
 *
 * @param suite what is skipped without it, for the message: see {@link skip}
 */
export function missingChromium(suite: string): string | undefined {
  const path = executable();
  if (existsSync(path)) return undefined;
  const place = path === '' ? 'on the PATH' : `at ${path}`;
  const reason = `there is no Chromium ${place}; install it, or name another one in CERTMARSHAL_CHROMIUM`;
  skip(suite, reason);
  return reason;
}

export async function launchChromium(): Promise<Browser> {
  const { chromium } = await import('playwright-core');
  return chromium.launch({ executablePath: executable(), args: ARGUMENTS });
}

/** Pages as files, where a browser opens them as a reader would who got one by mail. */
export interface PageFiles extends AsyncDisposable {
  /** @returns its URL */
  write(html: string): Promise<string>;
}

export async function pageFiles(): Promise<PageFiles> {
  const directory = await mkdtemp(join(tmpdir(), 'certmarshal-page-'));
  let written = 0;
  return {
    async write(html) {
      written += 1;
      const file = join(directory, `report-${written}.html`);
      await writeFile(file, html);
      return pathToFileURL(file).href;
    },
    [Symbol.asyncDispose]: async () => rm(directory, { recursive: true, force: true }),
  };
}
