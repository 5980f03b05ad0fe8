import { renderPage } from '../../lambdas/page/page.ts';
import { launchChromium, pageFiles } from '../browser/chromium.ts';
import { AT, clustersOf, healthOf, otherClusters } from '../unit/page/fleets.ts';

const SHOTS = [
  { name: 'report-light.png', colorScheme: 'light', hash: '' },
  { name: 'report-dark.png', colorScheme: 'dark', hash: '' },
  { name: 'report-cluster.png', colorScheme: 'light', hash: '#cluster=berlin-prod' },
] as const;

/** Pictures of the report page in Chromium, by the names of their files. */
export async function reportPictures(): Promise<readonly (readonly [name: string, png: Uint8Array])[]> {
  const health = healthOf([...clustersOf(211, 5), ...otherClusters()]);
  await using files = await pageFiles();
  const url = await files.write(renderPage(health, { version: '0.1.0' }));
  await using browser = await launchChromium();
  const pictures: [string, Uint8Array][] = [];
  for (const { name, colorScheme, hash } of SHOTS) {
    const page = await browser.newPage({
      viewport: { width: 1280, height: 800 },
      colorScheme,
      timezoneId: 'Europe/Berlin',
    });
    await page.clock.setFixedTime(Date.parse(AT) + 90_000);
    await page.goto(url + hash);
    pictures.push([name, await page.screenshot()]);
  }
  return pictures;
}
