/**
 * Builds every component of the test control plane into the cache and prints where each one is.
 * Run it once before the tests to see the progress: `node test/control-plane/build.ts`.
 */
import { resolveBinaries } from './binaries.ts';
import { publishedCrds } from './published-crds.ts';

const found = await resolveBinaries();
if ('missing' in found) process.stderr.write(`control-plane: ${found.missing}\n`);
const definitions = await publishedCrds();
if ('missing' in found || 'missing' in definitions) process.exitCode = 1;
if (!('missing' in found))
  for (const [component, path] of Object.entries(found)) process.stdout.write(`${component} ${path}\n`);
