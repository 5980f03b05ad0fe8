import { renderPage } from '../../lambdas/page/page.ts';
import { launchChromium, missingChromium, pageFiles } from '../browser/chromium.ts';
import { fleetOf, worstFleet } from '../unit/page/fleets.ts';
import { type Figure, figure } from './statistics.ts';

const RUNS = 9;
const CLUSTERS = 1_000;
const LARGEST = { text: '≤ 1,000', met: (size: number) => size <= 1_000 };

/** Size and time of the report page of 1,000 clusters of which 2 % are unwell: to make it, and until a reader can use it. */
export async function benchPage(say: (text: string) => void): Promise<Figure[]> {
  const fleets = [
    { name: '1,000 clusters, 2 % unwell', health: fleetOf(CLUSTERS, CLUSTERS / 50) },
    { name: '1,000 clusters, all unwell with 20 findings', health: worstFleet(CLUSTERS) },
  ];
  const options = { version: '0.0.0' };
  const figures: Figure[] = [];
  for (const { name, health } of fleets) {
    say(`rendering ${name}`);
    const times = Array.from({ length: RUNS + 2 }, () => elapsed(() => renderPage(health, options))).slice(2);
    figures.push(figure(`size, ${name}`, 'kB', [Buffer.byteLength(renderPage(health, options)) / 1000], LARGEST));
    figures.push(figure(`time to make it, ${name}`, 'ms', times, { text: '≤ 500', met: (time) => time <= 500 }));
  }
  if (missingChromium('time until the page can be used') !== undefined) return figures;
  const [first] = fleets;
  if (first === undefined) return figures;
  await using files = await pageFiles();
  const url = await files.write(renderPage(first.health, options));
  const browser = await launchChromium();
  const loads: number[] = [];
  const sorts: number[] = [];
  for (let run = 1; run <= RUNS; run += 1) {
    say(`load ${run} of ${RUNS}`);
    const page = await browser.newPage();
    await page.goto(url);
    // Milliseconds since the navigation began; the script of the page has run by then.
    loads.push(await page.evaluate<number>('performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd'));
    sorts.push(
      await page.evaluate<number>(`(() => {
        const startedAt = performance.now();
        document.querySelector('#table > thead button').click();
        document.body.getBoundingClientRect();
        return performance.now() - startedAt;
      })()`),
    );
    await page.close();
  }
  await browser.close();
  return [
    ...figures,
    figure('until a reader can use it, Chromium, 1,000 clusters', 'ms', loads, {
      text: '≤ 1,000',
      met: (time) => time <= 1_000,
    }),
    figure('sorting 1,000 rows, with layout', 'ms', sorts, { text: '≤ 500', met: (time) => time <= 500 }),
  ];
}

function elapsed(run: () => unknown): number {
  const startedAt = performance.now();
  run();
  return performance.now() - startedAt;
}
