import { join } from 'node:path';
import { build } from 'esbuild';

/** A program of this folder as it is deployed: a bundle, which Node.js need not strip of types. */
export async function bundled(program: string, directory: string): Promise<string> {
  const outfile = join(directory, `${program}.mjs`);
  await build({
    entryPoints: [new URL(`./${program}.ts`, import.meta.url).pathname],
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
  });
  return outfile;
}
