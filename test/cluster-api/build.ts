/**
 * Builds the managers of Cluster API into the cache and downloads their definitions.
 * Run it once before the tests to see the progress: `node test/cluster-api/build.ts`.
 */
import { clusterApiParts } from './parts.ts';

const parts = await clusterApiParts('Cluster API');
if (parts.missing === undefined)
  for (const [name, path] of Object.entries(parts.managers)) process.stdout.write(`${name} ${path}\n`);
else process.exitCode = 1;
