import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Metafile } from 'esbuild';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** What `npm pack` packs. */
export const DIST = `${ROOT}dist`;

/** A package of which code is in the command line that `npm pack` makes. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression, as its package.json has it. */
  readonly license: string;
  /** Its license and notice files. */
  readonly text: string;
}

const TEXTS = /^(?:(?:un)?licen[cs]e|notice|copying)(?:[-.].*)?$/i;

/** Bundles the command line, so that it needs no node_modules beside it; without `write` only to learn what it contains. */
export async function bundle(write: boolean): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: ['bin/certmarshal.ts'],
    outdir: DIST,
    write,
    bundle: true,
    splitting: true,
    minify: true,
    platform: 'node',
    target: 'node22',
    format: 'esm',
    outExtension: { '.js': '.mjs' },
    // CommonJS packages call require.
    banner: {
      js: 'import { createRequire as bannerCreateRequire } from "node:module"; const require = bannerCreateRequire(import.meta.url);',
    },
    metafile: true,
    logLevel: 'warning',
  });
  return metafile;
}

/**
 * The packages that a bundle contains, by name. Everything else below node_modules is not shipped.
 *
 * @throws Error when a package has no license text: its code must not be shipped without it
 */
export function bundledPackages({ outputs }: Metafile): readonly BundledPackage[] {
  const shipped = Object.values(outputs).flatMap(({ inputs }) =>
    Object.keys(inputs).filter((path) => (inputs[path]?.bytesInOutput ?? 0) > 0),
  );
  const directories = new Set(shipped.flatMap((path) => /^.*\bnode_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []));
  const packages = Array.from(directories, (directory) => packageAt(join(ROOT, directory)));
  return packages.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** The file that goes with a bundle: its packages, and each license text once. */
export function thirdPartyNotices(packages: readonly BundledPackage[]): string {
  const byText = Map.groupBy(packages, ({ text }) => text);
  const sections = Array.from(byText, ([text, those]) => `${list(those)}\n\n${text}`);
  return [`certmarshal contains code of these packages:\n\n${list(packages)}`, ...sections, ''].join(
    `\n\n${'='.repeat(80)}\n\n`,
  );
}

function list(packages: readonly BundledPackage[]): string {
  return packages.map(({ name, version, license }) => `${name} ${version} (${license})`).join('\n');
}

function packageAt(directory: string): BundledPackage {
  const { name, version, license }: Omit<BundledPackage, 'text'> = JSON.parse(
    readFileSync(join(directory, 'package.json'), 'utf8'),
  );
  const files = readdirSync(directory).filter((file) => TEXTS.test(file));
  // Some packages of the AWS SDK have none: certmarshal has the same license, and its text.
  const texts =
    files.length === 0 && license === 'Apache-2.0'
      ? [join(ROOT, 'LICENSE')]
      : files.map((file) => join(directory, file));
  // Powertools have none, and MIT-0 asks for no notice. Source: SPDX license list, MIT-0.
  if (texts.length === 0 && license !== 'MIT-0')
    throw new Error(`${directory}: there is no license text, so its code cannot be shipped. Replace the package.`);
  return { name, version, license, text: texts.map((file) => readFileSync(file, 'utf8').trim()).join('\n\n') };
}
