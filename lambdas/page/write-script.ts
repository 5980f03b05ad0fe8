import { writeFileSync } from 'node:fs';
import { buildSync } from 'esbuild';

/** One classic script of everything in `browser`: built ahead, because pages are also written where no compiler is. */
export function buildScript(): string {
  const { outputFiles } = buildSync({
    entryPoints: [`${import.meta.dirname}/browser/script.ts`],
    bundle: true,
    format: 'iife',
    target: 'es2023',
    minify: true,
    charset: 'utf8',
    write: false,
  });
  return outputFiles[0]?.text.trimEnd() ?? '';
}

// Run after a change in browser: npm run -s generate
if (import.meta.main) writeFileSync(`${import.meta.dirname}/script.json`, `${JSON.stringify(buildScript())}\n`);
