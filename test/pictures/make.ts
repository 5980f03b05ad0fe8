import { writeFile } from 'node:fs/promises';
import { auditPicture } from './audit.ts';
import { demoPicture } from './demo.ts';
import { reportPictures } from './report.ts';

// `npm run pictures`: makes docs/images/ anew, of what is printed today. Needs Chromium and script(1).
const IMAGES = new URL('../../docs/images/', import.meta.url);
const pictures: readonly (readonly [string, string | Uint8Array])[] = [
  ['audit.svg', auditPicture()],
  ['demo.svg', await demoPicture()],
  ...(await reportPictures()),
];
for (const [name, picture] of pictures) {
  await writeFile(new URL(name, IMAGES), picture);
  process.stdout.write(`${name} ${Math.round(picture.length / 1000)} kB\n`);
}
