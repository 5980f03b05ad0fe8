import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium } from 'playwright-core';

const PATH = process.env['CERTMARSHAL_CHROMIUM'] ?? '/usr/bin/chromium';

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
 * Why the browser suites have to be skipped, or undefined: `describe.skipIf(missing)`. It is said on stderr too.
 *
 * @param suite what is skipped without it, for the message
 * @throws Error under `CERTMARSHAL_REQUIRE_REAL=1` instead
 */
export function missingChromium(suite: string): string | undefined {
  if (existsSync(PATH)) return undefined;
  const reason = `there is no Chromium at ${PATH}; install it, or name another one in CERTMARSHAL_CHROMIUM`;
  if (process.env['CERTMARSHAL_REQUIRE_REAL'] === '1') throw new Error(reason);
  process.stderr.write(`\nSKIPPED: ${suite}\n  ${reason}\n`);
  return reason;
}

export async function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: PATH, args: ARGUMENTS });
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
