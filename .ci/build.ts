import { rm, writeFile } from 'node:fs/promises';
import { bundle, bundledPackages, DIST, thirdPartyNotices } from './bundle.ts';

// `npm run build`, which `npm ci` and `npm pack` run.
await rm(DIST, { recursive: true, force: true });
const metafile = await bundle(true);
await writeFile(`${DIST}/THIRD-PARTY.txt`, thirdPartyNotices(bundledPackages(metafile)));
