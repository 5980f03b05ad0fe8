import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FleetHealth } from '../../lambdas/health/fleet-health.ts';
import { renderPage } from '../../lambdas/page/page.ts';
import { listening } from '../support/loopback.ts';
import {
  AT,
  criticalCluster,
  fleetOf,
  HELD,
  healthOf,
  impostorCluster,
  otherClusters,
  REFUSED,
  renamed,
  rollingCluster,
  three,
  threeClusters,
  unreadableCluster,
  warningCluster,
  wellCluster,
} from '../unit/page/fleets.ts';
import { HOSTILE, hostileFleet } from '../unit/page/hostile.ts';
import { launchChromium, missingChromium, type PageFiles, pageFiles } from './chromium.ts';

const missing = missingChromium('the report page in a browser');
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

interface Opened {
  readonly page: Page;
  /** Errors of the console and of the page, dialogs, and requests other than that of the document. */
  readonly incidents: string[];
}

describe.skipIf(missing !== undefined)('the report page in Chromium', () => {
  let browser: Browser;
  let files: PageFiles;
  let axe: string;

  beforeAll(async () => {
    [browser, files, axe] = await Promise.all([launchChromium(), pageFiles(), readFile(AXE, 'utf8')]);
  });

  afterAll(async () => {
    await browser.close();
    await files[Symbol.asyncDispose]();
  });

  async function open(health: FleetHealth, hash = '', options: BrowserContextOptions = {}): Promise<Opened> {
    return openAt((await files.write(renderPage(health, { version: '0.1.0' }))) + hash, options);
  }

  async function openAt(url: string, options: BrowserContextOptions = {}): Promise<Opened> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, timezoneId: 'UTC', ...options });
    const page = await context.newPage();
    const incidents: string[] = [];
    page.on('console', (message) => incidents.push(`console ${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => incidents.push(`error: ${error.message}`));
    page.on('dialog', (dialog) => {
      incidents.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('request', (request) => {
      if (request.url() !== url.split('#')[0]) incidents.push(`request: ${request.url().slice(0, 100)}`);
    });
    if (options.javaScriptEnabled !== false) await page.clock.setFixedTime(Date.parse(AT) + 60_000);
    await page.goto(url);
    return { page, incidents };
  }

  const opened = (page: Page) => page.getByRole('button', { expanded: true });
  const visibleRows = (page: Page) => page.locator('#table > tbody > tr:not(.detail):visible');
  const FLEETS: readonly (readonly [string, () => FleetHealth])[] = [
    ['no cluster', () => healthOf([])],
    ['one cluster', () => healthOf([wellCluster(3)])],
    ['three clusters', threeClusters],
    ['one of each state', () => healthOf([...three(), ...otherClusters(), wellCluster(9)])],
    ['a certificate that names another', () => healthOf([impostorCluster(1), wellCluster(4)])],
    [
      'rollouts',
      () =>
        healthOf([
          rollingCluster(criticalCluster(0), HELD),
          rollingCluster(wellCluster(9)),
          rollingCluster(wellCluster(3), REFUSED),
        ]),
    ],
    ['1,000 clusters', () => fleetOf(1_000, 20)],
  ];

  describe.each(FLEETS)('%s', (_name, fleet) => {
    it.each(['light', 'dark'] as const)(
      'has no error, no request and nothing that axe finds, in %s',
      async (colorScheme) => {
        const { page, incidents } = await open(fleet(), '', { colorScheme });
        // The first rows stand for all of them: axe needs minutes for a thousand.
        for (const button of await page
          .locator('tbody th button')
          .all()
          .then((all) => all.slice(0, 3)))
          await button.click();
        await page.evaluate(
          "document.querySelectorAll('#table > tbody > tr:nth-child(n+40)').forEach((row) => row.remove())",
        );
        await page.evaluate(axe);
        const violations = await page.evaluate(async () => {
          const { axe: engine } = globalThis as unknown as {
            axe: {
              run: () => Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }>;
            };
          };
          return (await engine.run()).violations.map(
            ({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`,
          );
        });
        expect(violations).toEqual([]);
        expect(incidents).toEqual([]);
        await page.context().close();
      },
    );
  });

  it('answers its three questions without scrolling, and never scrolls sideways', async () => {
    for (const health of [threeClusters(), fleetOf(1_000, 20)]) {
      const { page } = await open(health);
      for (const heading of ['What expires first', 'What is not known']) {
        const box = await page
          .locator('section')
          .filter({ has: page.getByRole('heading', { name: heading }) })
          .last()
          .boundingBox();
        expect((box?.y ?? 0) + (box?.height ?? Infinity)).toBeLessThanOrEqual(800);
      }
      for (const width of [1280, 700, 360]) {
        await page.setViewportSize({ width, height: 800 });
        expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      }
      await page.context().close();
    }
  });

  it('is used with the keyboard alone: filter, sort, open, skip', async () => {
    const { page, incidents } = await open(fleetOf(60, 4));
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the clusters');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.id')).toBe('q');
    await page.keyboard.type('dublin');
    await expect.poll(() => visibleRows(page).count()).toBeLessThan(60);
    const shown = await visibleRows(page).count();
    expect(shown).toBeGreaterThan(2);
    expect(await page.locator('#shown').textContent()).toBe(`${shown} of 60 shown`);
    const sortByName = page.getByRole('button', { name: 'Cluster', exact: true });
    for (
      let presses = 0;
      presses < 20 && !(await sortByName.evaluate((button) => button.matches(':focus')));
      presses += 1
    )
      await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const names = () => visibleRows(page).locator('th button').allTextContents();
    const sorted = await names();
    expect(sorted).toEqual(sorted.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })));
    expect(await page.locator('th[aria-sort]').getAttribute('aria-sort')).toBe('ascending');
    await page.keyboard.press('Enter');
    expect(await names()).toEqual(sorted.toReversed());
    expect(await page.locator('th[aria-sort]').getAttribute('aria-sort')).toBe('descending');
    await visibleRows(page).locator('th button').first().focus();
    await page.keyboard.press('Enter');
    expect(await opened(page).count()).toBe(1);
    expect(await page.locator('tr.detail:visible h3').allTextContents()).toContain('Certificates, by class');
    await page.keyboard.press('Enter');
    expect(await page.locator('tr.detail:visible').count()).toBe(0);
    expect(incidents).toEqual([]);
    await page.context().close();
  });

  it('sorts every column both ways and back to the order of urgency', async () => {
    const { page } = await open(healthOf([...three(), ...otherClusters(), wellCluster(9), wellCluster(22)]));
    const names = () => visibleRows(page).locator('th button').allTextContents();
    const first = await names();
    for (const column of await page.locator('#table > thead button').all()) {
      await column.click();
      const up = await names();
      await column.click();
      const down = await names();
      expect(up.toSorted()).toEqual(first.toSorted());
      expect(down.toSorted()).toEqual(first.toSorted());
      await column.click();
      expect(await names()).toEqual(first);
    }
    await page.context().close();
  });

  it('opens the cluster of a link, scrolled to and focused, and keeps what is shown in the address', async () => {
    const health = fleetOf(300, 5);
    const { id, name } = health.clusters.findLast((cluster) => cluster.id.includes('/'))!;
    const { page } = await open(health, `#cluster=${encodeURIComponent(id)}`);
    expect(await opened(page).textContent()).toBe(name);
    expect(await page.evaluate('document.activeElement.textContent')).toBe(name);
    await expect.poll(async () => (await opened(page).boundingBox())?.y ?? -1).toBeGreaterThanOrEqual(0);
    expect((await opened(page).boundingBox())?.y).toBeLessThan(800);

    await page.getByRole('button', { name: 'warning' }).click();
    await page.locator('#q').fill('e');
    await expect.poll(() => page.url()).toContain('q=e');
    const url = page.url();
    const rows = await visibleRows(page).count();
    await page.context().close();
    const again = await openAt(url);
    expect(await again.page.locator('#q').inputValue()).toBe('e');
    expect(await again.page.getByRole('button', { name: 'warning' }).getAttribute('aria-pressed')).toBe('true');
    expect(rows).toBeGreaterThan(0);
    await again.page.context().close();
  });

  it('follows a link in the page to a cluster that is filtered out', async () => {
    const { page } = await open(threeClusters());
    await page.locator('#q').fill('dublin');
    await expect.poll(() => visibleRows(page).count()).toBe(1);
    await page.locator('.stories a').first().click();
    expect(await opened(page).textContent()).toBe('berlin-prod');
    expect(await page.locator('tr.detail').textContent()).toContain(
      'certmarshal explain csr-q77zt --kubeconfig KUBECONFIG --cluster berlin-prod',
    );
    await page.context().close();
  });

  it.each(['#cluster=nobody', '#cluster=%E0%A4%A', '#cluster=__proto__', '#sort=99&state=constructor', '#&&&=%'])(
    'survives the address %s',
    async (hash) => {
      const { page, incidents } = await open(threeClusters(), hash);
      expect(await visibleRows(page).count()).toBeGreaterThan(0);
      expect(incidents).toEqual([]);
      await page.context().close();
    },
  );

  it('says what an expired certificate needs, and what renews the others', async () => {
    const { page, incidents } = await open(healthOf([unreadableCluster(0)]));
    await visibleRows(page).locator('th button').first().click();
    const row = (title: string) => page.locator('tr.detail .classes tr').filter({ hasText: title });
    expect(await row('kube-apiserver').first().locator('td').nth(1).textContent()).toContain('expired');
    expect(await row('kube-apiserver').first().locator('td').nth(2).textContent()).toBe(
      'not automatic once it has expired: renew by hand, in place',
    );
    expect(await row('etcd server').locator('td').nth(2).textContent()).toBe('a rollout of the machines that run etcd');
    expect(incidents).toEqual([]);
    await page.context().close();
  });

  it('says when a certificate expired, and of which sources only a part was read', async () => {
    const { registered, indexed } = unreadableCluster(0);
    const sources = { read: ['tls'], unread: ['nodes'], off: ['tls', 'tls-secrets'] } as const;
    const audit = { ...indexed.audit!, sources };
    const health = healthOf([{ registered, indexed: { ...indexed, audit } }]);
    const html = renderPage(health, { version: '0.1.0', program: 'npx certmarshal' });
    const { page, incidents } = await openAt(await files.write(html));
    await visibleRows(page).locator('th button').first().click();
    const text = await page.locator('tr.detail').innerText();
    // Only as commands: what to do, the finding, and the remedy of the sweep.
    expect(text.split('npx certmarshal runbook recovery')).toHaveLength(4);
    expect(text).not.toMatch(/Runbook: npx certmarshal runbook certificate-/);
    expect(text).toMatch(/first seen .* · expired .* ago/);
    expect(text).toMatch(/Read\s+tls \(in part\)/);
    expect(text).toMatch(/Not checked\s+tls-secrets/);
    expect(text).not.toContain('Switched off');
    expect(incidents).toEqual([]);
    await page.context().close();
  });

  it('shows the rollout of a cluster: state, reasons with their pages, machines with their certificates', async () => {
    const { page, incidents } = await open(
      healthOf([rollingCluster(renamed(criticalCluster(0), 'berlin-prod'), HELD)]),
    );
    await page.getByRole('button', { name: 'berlin-prod' }).click();
    const detail = page.locator('tr.detail');
    await expect(detail.getByRole('heading', { name: 'Rollout' }).innerText()).resolves.toBe('Rollout');
    const text = await detail.innerText();
    expect(text).toContain('✖ held');
    expect(text).toContain('Runbook: certmarshal runbook stuck');
    expect(text).toContain('1 of 3 control plane machines show a new certificate, 2 replaced');
    expect(
      await detail.getByRole('table', { name: 'Machines: control plane machines' }).locator('tbody tr').count(),
    ).toBe(3);
    expect(await detail.getByRole('img', { name: '1 of 3 control plane machines' }).count()).toBe(1);
    expect(incidents).toEqual([]);
    await page.context().close();
  });

  it('shows what a cluster says as text, whatever it says', async () => {
    const { page, incidents } = await open(hostileFleet());
    expect(await visibleRows(page).count()).toBe(HOSTILE.length);
    for (const button of await page.locator('tbody th button').all()) await button.click();
    expect(await page.locator('tr.detail').count()).toBe(HOSTILE.length);
    const found = await page.evaluate(`(() => {
      const attributes = [...document.querySelectorAll('*')].flatMap((element) => [...element.attributes]);
      return {
        pwned: '__pwned' in globalThis,
        scripts: document.scripts.length,
        styles: document.querySelectorAll('style').length,
        foreign: document.querySelectorAll('img,iframe,object,embed,form,base,link,textarea').length,
        handlers: attributes.filter(({ name }) => name.startsWith('on') || name === 'style' || name === 'src').length,
        links: [...document.links].filter((link) => !link.getAttribute('href').startsWith('#')).length,
        unprintable: /[\\u0000-\\u0008\\u200B\\u202E\\u2066\\uD800-\\uDFFF]/u.test(document.body.textContent),
        polluted: Object.keys(Object.prototype).length,
      };
    })()`);
    expect(found).toEqual({
      pwned: false,
      scripts: 2,
      styles: 1,
      foreign: 0,
      handlers: 0,
      links: 0,
      unprintable: false,
      polluted: 0,
    });
    expect(incidents).toEqual([]);
    await page.context().close();
  });

  it('would not run a script that got in all the same', async () => {
    const html = renderPage(threeClusters(), { version: '0.1.0' }).replace(
      '</main>',
      '<script>window.__pwned=1</script><img src=x onerror="window.__pwned=2"><p style="color:red">x</p></main>',
    );
    const { page, incidents } = await openAt(await files.write(html));
    expect(await page.evaluate(() => '__pwned' in globalThis)).toBe(false);
    expect(incidents.filter((incident) => incident.includes('Content Security Policy')).length).toBeGreaterThanOrEqual(
      3,
    );
    await page.context().close();
  });

  it('tells times in the zone of its reader, with words for how far away they are', async () => {
    const { page } = await open(threeClusters(), '#cluster=berlin-prod', { timezoneId: 'Asia/Tokyo' });
    expect(await page.locator('#made').textContent()).toMatch(/^Made 1 minute ago, 22 Nov 2026, 11:00 (?:GMT\+9|JST)$/);
    expect(await page.locator('#made time').getAttribute('title')).toContain('2026-11-22 02:00 UTC');
    expect(await page.locator('.expiring').textContent()).toContain('in 12 days');
    expect(await page.locator('.expiring').textContent()).toContain('expired 25 hours ago');
    expect(await page.locator('tr.detail').textContent()).toMatch(
      /expires in 12 days, 4 Dec 2026, 20:36 (?:GMT\+9|JST)/,
    );
    await page.context().close();
  });

  it('says when it is old', async () => {
    const url = await files.write(renderPage(threeClusters(), { version: '0.1.0' }));
    const page = await browser.newPage();
    await page.clock.setFixedTime(Date.parse(AT) + 3 * 86_400_000);
    await page.goto(url);
    expect(await page.locator('#old').textContent()).toContain('This page is old: it was made 3 days ago.');
    // Before the verdict, and larger than it was.
    expect(await page.locator('main > :first-child').getAttribute('id')).toBe('old');
    expect(await page.evaluate('getComputedStyle(document.querySelector("#well")).fontSize')).toBe('18px');
    // No time from now beside a story that was told from then.
    expect(await page.locator('.expiring').textContent()).not.toMatch(/in \d+ days|ago/);
    expect(await page.locator('.expiring').textContent()).toContain('4 Dec 2026');
    expect(await page.locator('tbody').textContent()).not.toMatch(/· 4 Dec|days ago/);
    await page.close();
  });

  it.each([
    ['a portrait phone', 390, 844],
    ['a landscape phone', 844, 390],
  ])('is read and used on %s', async (_name, width, height) => {
    const { page } = await open(fleetOf(30, 5), '', { viewport: { width, height } });
    for (const row of (await visibleRows(page).all()).slice(0, 6)) {
      const box = await row.boundingBox();
      expect(box?.height).toBeLessThanOrEqual(210);
      const story = await row.locator('td').nth(1).boundingBox();
      expect(story?.width).toBeGreaterThan(width * 0.75);
      expect((story?.x ?? 0) + (story?.width ?? Infinity)).toBeLessThanOrEqual(width);
    }
    const links = page.locator('.stories a, .tile a, .names a, .expiring a, tbody th button').filter({ visible: true });
    for (const link of (await links.all()).slice(0, 30))
      expect((await link.boundingBox())?.height).toBeGreaterThanOrEqual(24);
    await visibleRows(page).first().locator('button').click();
    const details = await page.locator('tr.detail > td').boundingBox();
    expect(details?.width).toBeGreaterThan(width * 0.85);
    expect(await page.locator('tr.detail h3').first().isVisible()).toBe(true);
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    await page.context().close();
  });

  it.each(['worker-7', '10.0.1.23', 'csr-q77zt'])('finds %s, which only the details have', async (words) => {
    const { page } = await open(threeClusters());
    await page.locator('#q').fill(words);
    await expect.poll(() => visibleRows(page).count()).toBe(1);
    expect(await visibleRows(page).locator('th button').textContent()).toBe('berlin-prod');
    await page.context().close();
  });

  it('says that nothing is found, and shows all again', async () => {
    const { page } = await open(threeClusters(), '#cluster=nobody');
    expect(await page.locator('#empty').textContent()).toContain('There is no cluster “nobody” in this page.');
    await page.locator('#q').fill('no-such-thing');
    await expect.poll(() => visibleRows(page).count()).toBe(0);
    expect(await page.locator('#empty').textContent()).toContain('No cluster here says “no-such-thing”');
    await page.getByRole('button', { name: 'Show all clusters' }).click();
    expect(await visibleRows(page).count()).toBe(3);
    expect(await page.locator('#empty').isVisible()).toBe(false);
    await page.context().close();
  });

  it('filters by the links of its numbers', async () => {
    const { page } = await open(fleetOf(30, 5));
    await page.locator('.tile a', { hasText: 'with a warning' }).click();
    await expect.poll(() => visibleRows(page).count()).toBe(2);
    await page.locator('.tile', { hasText: 'hostile request' }).locator('a').first().click();
    expect(await opened(page).textContent()).toBe('berlin-prod');
    await page.context().close();
  });

  it('is readable without a script', async () => {
    const { page, incidents } = await open(threeClusters(), '', { javaScriptEnabled: false });
    expect(await page.locator('h2').first().textContent()).toContain('2 of 3 clusters need a person now');
    expect(await page.locator('.expiring').textContent()).toContain('2026-12-04');
    expect(await page.locator('#table tbody tr').count()).toBe(3);
    expect(await page.locator('#table').textContent()).toContain('worker-3 asked for 10.0.1.24');
    expect(await page.locator('noscript').isVisible()).toBe(true);
    expect(await page.locator('#made').textContent()).toBe('Made 2026-11-22 02:00 UTC');
    expect(await page.locator('#table button').count()).toBe(0);
    expect(incidents).toEqual([]);
    await page.context().close();
  });

  it('prints all of the table, and the details of what is unwell', async () => {
    const health = healthOf([...three(), warningCluster(20), wellCluster(9), wellCluster(22)]);
    const { page } = await open(health, '#q=nothing-is-called-so');
    await expect.poll(() => visibleRows(page).count()).toBe(0);
    await page.evaluate("dispatchEvent(new Event('beforeprint'))");
    await page.emulateMedia({ media: 'print' });
    expect(await visibleRows(page).count()).toBe(6);
    expect(await page.locator('tr.detail:visible').count()).toBe(4);
    expect(await page.locator('#tools').isVisible()).toBe(false);
    expect(await page.locator('.expiring, .axis, .tiles').filter({ visible: true }).count()).toBe(3);
    await page.evaluate("dispatchEvent(new Event('afterprint'))");
    await page.emulateMedia({ media: 'screen' });
    expect(await page.locator('tr.detail:visible').count()).toBe(0);
    const pdf = await page.pdf({ format: 'A4' });
    expect(pdf.subarray(0, 5).toString()).toBe('%PDF-');
    await page.context().close();
  });

  it('works the same over HTTP, as a link to S3 would have it', async () => {
    const html = renderPage(threeClusters(), { version: '0.1.0' });
    const server = createServer((request, response) => {
      response
        .writeHead(request.url?.startsWith('/report.html') === true ? 200 : 404, {
          'content-type': 'text/html; charset=utf-8',
        })
        .end(html);
    });
    const { page, incidents } = await openAt(
      `http://127.0.0.1:${await listening(server)}/report.html?X-Amz-Signature=abc#cluster=oslo-edge`,
    );
    expect(await opened(page).textContent()).toBe('oslo-edge');
    await page.locator('#q').fill('oslo');
    await expect.poll(() => page.url()).toContain('?X-Amz-Signature=abc#cluster=oslo-edge&q=oslo');
    expect(incidents).toEqual([]);
    await page.context().close();
    server.close();
  });
});
