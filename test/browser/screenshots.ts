import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { renderPage } from '../../lambdas/page/page.ts';
import { AT, clustersOf, healthOf, otherClusters } from '../unit/page/fleets.ts';
import { launchChromium, pageFiles } from './chromium.ts';

/** Makes the pictures of the report page: `node test/browser/screenshots.ts`. */
const IMAGES = fileURLToPath(new URL('../../docs/images/', import.meta.url));
const SHOTS = [
  { name: 'report-light', colorScheme: 'light', hash: '' },
  { name: 'report-dark', colorScheme: 'dark', hash: '' },
  { name: 'report-cluster', colorScheme: 'light', hash: '#cluster=berlin-prod' },
] as const;

const health = healthOf([...clustersOf(211, 5), ...otherClusters()]);

await using files = await pageFiles();
const url = await files.write(renderPage(health, { program: '0.1.0' }));
const browser = await launchChromium();
for (const { name, colorScheme, hash } of SHOTS) {
  const page = await browser.newPage({
    viewport: { width: 1280, height: 800 },
    colorScheme,
    timezoneId: 'Europe/Berlin',
  });
  await page.clock.setFixedTime(Date.parse(AT) + 90_000);
  await page.goto(url + hash);
  const path = `${IMAGES}${name}.png`;
  await page.screenshot({ path });
  process.stdout.write(`${name}.png ${Math.round((await stat(path)).size / 1000)} kB\n`);
}
await browser.close();
