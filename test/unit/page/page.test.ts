import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tallyOf } from '../../../lambdas/audit/summary.ts';
import type { AuditSummary } from '../../../lambdas/contracts/audit-summary.ts';
import type { Facts } from '../../../lambdas/contracts/facts.ts';
import type { IndexedRollout } from '../../../lambdas/contracts/fleet-index.ts';
import type { FleetHealth } from '../../../lambdas/health/fleet-health.ts';
import { clusterDetails } from '../../../lambdas/page/cluster-details.ts';
import { renderPage } from '../../../lambdas/page/page.ts';
import SCRIPT from '../../../lambdas/page/script.json' with { type: 'json' };
import { STYLE } from '../../../lambdas/page/style.ts';
import { cut } from '../../../lambdas/page/words.ts';
import { SAMPLES } from '../words/samples.ts';
import {
  AT,
  ago,
  clustersOf,
  criticalCluster,
  findingOf,
  fleetOf,
  HELD,
  healthOf,
  impostorCluster,
  inDays,
  otherClusters,
  REFUSED,
  renamed,
  rollingCluster,
  three,
  threeClusters,
  unreadableCluster,
  warningCluster,
  wellCluster,
  worstFleet,
} from './fleets.ts';
import { HOSTILE, hostileCluster, hostileFleet, viewOf } from './hostile.ts';

const render = (health: FleetHealth, largest?: number) => renderPage(health, { version: '1.2.3', largest });
const dataOf = (
  html: string,
): {
  readonly clusters: readonly (null | {
    readonly id: string;
    readonly cut?: true;
    readonly day?: readonly number[];
    readonly findings?: readonly unknown[];
    readonly issued?: readonly unknown[];
    readonly rollout?: { readonly state: string; readonly machines?: readonly unknown[] };
  })[];
} => JSON.parse(/<script type="application\/json" id="data">(.*?)<\/script>/s.exec(html)?.[1] ?? '');
/** Of a hub's page. */
const READER = { program: 'certmarshal', typed: (command: string) => command };
const sha256 = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const tags = (html: string) => [...html.matchAll(/<[a-z!/][^>]*>/g)].map(([tag]) => tag);

describe('the document', () => {
  const html = render(threeClusters());

  it('allows its own style and script, and nothing else', () => {
    const policy = /Content-Security-Policy" content="([^"]*)"/.exec(html)?.[1];
    expect(policy).toBe(
      `default-src 'none'; style-src ${sha256(STYLE)}; script-src ${sha256(SCRIPT)}; base-uri 'none'; form-action 'none'`,
    );
    expect(html).toContain(`<style>${STYLE}</style>`);
    expect(html).toContain(`<script>${SCRIPT}</script>`);
    expect(html.indexOf('Content-Security-Policy')).toBeLessThan(html.indexOf('<style>'));
  });

  it('needs nothing from anywhere', () => {
    const markup = html.replace(STYLE, '').replace(SCRIPT, '');
    expect(markup).not.toMatch(/\s(?:src|srcset|style|on[a-z]+)=/);
    expect([...markup.matchAll(/href="([^"]*)"/g)].filter(([, link]) => !link?.startsWith('#'))).toEqual([]);
    expect(STYLE).not.toMatch(/url\(|@import/);
    // The namespace of SVG is a name, not an address.
    expect(SCRIPT.replace('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:|fetch\(|XMLHttpRequest|import\(/);
  });

  it('never makes markup of text in its script', () => {
    expect(SCRIPT).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|eval\(|Function\(|setHTML|createContextualFragment/,
    );
    expect(`${STYLE}${SCRIPT}`).not.toMatch(/<\/(?:script|style)|<!--/i);
  });

  it('says what it is, when it was made and in which language', () => {
    expect(html).toMatch(/^<!doctype html>\n<html lang="en">/);
    expect(html).toContain('<h1>Fleet report <small>certmarshal 1.2.3</small></h1>');
    expect(html).toContain('<p id="made">Made <time datetime="2026-11-22T02:00Z">2026-11-22 02:00 UTC</time></p>');
    const levels = [...html.matchAll(/<h(\d)/g)].map(([, level]) => Number(level));
    levels.forEach((level, index) => expect(level - (levels[index - 1] ?? 0)).toBeLessThanOrEqual(1));
  });

  it('is the same for the same fleet', () => {
    expect(render(threeClusters())).toBe(html);
  });
});

describe('what it tells', () => {
  it.each([
    ['no cluster', healthOf([]), 'No cluster is known yet.'],
    ['one that is well', healthOf([wellCluster(3)]), 'The cluster is healthy.'],
    ['many that are well', fleetOf(1_204), 'All 1,204 clusters are healthy.'],
    [
      'one of three that is critical',
      healthOf([criticalCluster(1), wellCluster(4), wellCluster(5)]),
      '1 of 3 clusters needs a person now.',
    ],
    ['three that are unwell', threeClusters(), '2 of 3 clusters need a person now. <small>1 has a warning.</small>'],
    [
      'one that is new, in maintenance, gone',
      healthOf(otherClusters()),
      '1 of 2 clusters is new. <small>1 in maintenance.</small>',
    ],
  ])('of %s', (_name, health, sentence) => {
    const heading = /<h2 id="well">(.*?)<\/h2>/s.exec(render(health))?.[1] ?? '';
    expect(heading.replace(/^<b.*?<\/b> /, '').replace(/ +/g, ' ')).toContain(sentence);
  });

  it('links the worst to its row', () => {
    expect(render(threeClusters())).toContain(
      '<a href="#cluster=berlin-prod">berlin-prod</a> worker-3 asked for 10.0.1.24',
    );
  });

  it('tells symbol and word of each state in its row', () => {
    const html = render(healthOf([...three(), ...otherClusters(), wellCluster(9)]));
    for (const state of ['✖ critical', '! warning', '○ new', '◐ maintenance', '✔ healthy', '– gone'])
      expect(html).toContain(`<td>${state}</td>`);
  });

  it('says what is not known, also where that is nothing', () => {
    const html = render(healthOf([...three(), ...otherClusters()]));
    const section = /What is not known(.*?)<\/section>/s.exec(html)?.[1]?.replaceAll(/<[^>]*>/g, '') ?? '';
    expect(section).toContain('1 cannot be read now oslo-edge');
    expect(section).toContain('1 was never read rome-new');
    expect(section).toContain('1 is not audited yet rome-new');
    expect(section).toContain('0 lack earlier data');
    expect(section).toContain('0 problems of the discovery');
    expect(section).toContain('1 is no longer found');
    expect(section).toContain('Oldest sweep: 2026-11-22 01:59 UTC');
  });

  it('tells problems of the discovery with what to do', () => {
    const problem = { kind: 'denied', object: 'eks:ListClusters', message: 'refused', remedy: 'Allow it.', since: AT };
    const html = render(healthOf([], { problems: [problem] }));
    expect(html).toContain('<b>eks:ListClusters</b> refused');
    expect(html).toContain('Allow it.');
    expect(render(healthOf([]))).not.toContain('id="discovery"');
  });

  it('tells what is due first first, whatever its severity', () => {
    const html = render(threeClusters());
    const expiring = /<ol class="expiring">(.*?)<\/ol>/s.exec(html)?.[1] ?? '';
    const dates = [...expiring.matchAll(/datetime="([^"]*)"/g)].map(([, date]) => Date.parse(date ?? ''));
    expect(dates.length).toBeGreaterThan(3);
    expect(dates).toEqual(dates.toSorted((a, b) => a - b));
    expect(expiring).toContain('kubelet serving, first of 28');
  });

  it('names whoever claims what is not its own', () => {
    const tile = /hostile requests?<\/dt>(.*?)<\/div>/s.exec(render(threeClusters()))?.[1];
    expect(tile).toContain('<a href="#cluster=berlin-prod">berlin-prod</a>');
  });

  it.each([
    ['no certificate', healthOf([]), 'No certificate is known yet.'],
    ['three', threeClusters(), 'clusters have a certificate to renew'],
  ])('counts clusters, not kinds of certificate: %s', (_name, health, words) => {
    expect(render(health)).toContain(words);
    expect(render(health)).not.toContain('certificate group');
  });

  const tileOf = (health: FleetHealth, words: string) => {
    const tiles = [...render(health).matchAll(/<div class="tile">(.*?)<\/div>/gs)].map(([, tile = '']) => tile);
    return tiles
      .find((tile) => tile.includes(words))
      ?.replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim();
  };

  it('says how many of all clusters are healthy, as a sentence that is true for none and for one', () => {
    const well = (...clusters: Parameters<typeof healthOf>[0]) => tileOf(healthOf(clusters), 'healthy');
    expect(well(criticalCluster(0), criticalCluster(1))).toMatch(/^0 of 2 clusters are healthy ✖ 2 critical/);
    expect(well(criticalCluster(0), wellCluster(3))).toMatch(/^1 of 2 clusters is healthy ✖/);
    expect(well(wellCluster(3))).toMatch(/^1 of 1 cluster is healthy ✔/);
  });

  it('shows what could not be read once, however many sources it is', () => {
    const { registered, indexed } = unreadableCluster(0);
    const unread = (source: string) =>
      findingOf(indexed.name ?? '', {
        code: 'SourceUnread',
        severity: 'warning',
        object: `source ${source}`,
        what: undefined,
        facts: { ...SAMPLES.SourceUnread, isServerExpired: true } as Facts<'SourceUnread'>,
      });
    const audit = {
      ...indexed.audit!,
      counts: { critical: 1, warning: 5, info: 0 },
      findings: [...indexed.audit!.findings, unread('nodes'), unread('webhooks'), unread('machines')],
      findingCount: 6,
      tally: [
        { code: 'CertificateExpired', severity: 'critical', what: 'kube-apiserver', count: 1 },
        { code: 'SourceUnread', severity: 'warning', count: 5 },
      ] as const,
    };
    const detailsWith = (summary: AuditSummary) =>
      clusterDetails(
        healthOf([{ registered, indexed: { ...indexed, audit: summary } }]).clusters[0]!,
        'full',
        Date.parse(AT),
        READER,
      );
    const { findings, moreFindings } = detailsWith(audit);
    expect(findings).toMatchObject([
      { code: 'CertificateExpired', count: undefined },
      {
        code: 'SourceUnread',
        count: 5,
        object: 'source nodes, source webhooks, source machines and 2 more',
        message: expect.stringContaining('the source nodes could not be read') as unknown,
        command: 'certmarshal runbook recovery',
      },
    ]);
    expect(moreFindings).toBeUndefined();
    // Findings with a cause of their own stay apart.
    const two = audit.findings.map(({ object }) => findingOf('x', { code: 'WeakKey', object }));
    expect(detailsWith({ ...audit, findings: two, tally: tallyOf(two) }).findings).toHaveLength(4);
  });

  it('says whether a time is an expiry or a change that EKS makes', () => {
    const { registered, indexed } = warningCluster(0);
    const at = inDays(9);
    const dueWith = (code: 'SuccessorNotTrusted' | 'CertificateExpiring') => {
      const audit = {
        ...indexed.audit!,
        findings: [findingOf('x', { code, severity: 'critical', due: at })],
        findingCount: 1,
      };
      const [cluster] = healthOf([{ registered, indexed: { ...indexed, audit } }]).clusters;
      return clusterDetails(cluster!, 'full', Date.parse(AT), READER).findings?.[0]?.due;
    };
    expect(dueWith('SuccessorNotTrusted')).toEqual([at, true]);
    expect(dueWith('CertificateExpiring')).toEqual([at]);
  });

  it('has no green tile about certificates where a cluster was never audited', () => {
    const { registered, indexed } = wellCluster(6);
    const unaudited = { registered, indexed: { ...indexed, audit: undefined } };
    const tiles = (...clusters: Parameters<typeof healthOf>[0]) =>
      /<dl class="tiles">(.*?)<\/dl>/s.exec(renderPage(healthOf(clusters), { version: '1' }))?.[1];
    expect(tiles(wellCluster(3))).toContain('None expires within 30 days');
    expect(tiles(wellCluster(3), unaudited)).toContain('None that was read expires within 30 days');
  });

  it.each([
    ['verdicts of a look', 'approve', 'observed', undefined, 'well', '◇ would approve'],
    ['of a sweep', 'approve', 'written', undefined, 'well', '✔ approved'],
    ['without proof', 'leave', 'none', undefined, 'warning', '◌ not approved'],
    ['hostile', 'leave', 'none', true, 'critical', '✖ not approved'],
    ['denied', 'deny', 'written', true, 'critical', '✖ denied'],
  ] as const)('says verdicts in the words of the terminal: %s', (_name, verdict, outcome, hostile, tone, words) => {
    const { registered, indexed } = criticalCluster(0);
    const [line] = indexed.verdicts ?? [];
    const verdicts = [{ ...line!, verdict, outcome, hostile }];
    const [cluster] = healthOf([{ registered, indexed: { ...indexed, verdicts } }]).clusters;
    expect(clusterDetails(cluster!, 'full', Date.parse(AT), READER).verdicts).toMatchObject([{ tone, words }]);
  });

  it.each([
    ['these sources are off: cluster-secrets', 34, 'these sources are off…'],
    ['short', 5, 'short'],
    ['unbreakable', 6, 'unbre…'],
  ])('cuts %s between words, and says so', (text, most, shown) => {
    expect(cut(text, most)).toBe(shown);
  });

  it('names no command for what does not exist yet', () => {
    expect(render(threeClusters()).toLowerCase()).not.toContain('<h3>rollouts');
  });
});

describe('a rollout', () => {
  const pageOf = (changed?: Partial<IndexedRollout>) => render(healthOf([rollingCluster(wellCluster(3), changed)]));
  const rolloutOf = (html: string) => dataOf(html).clusters[0]?.rollout;

  it('is in the details of its cluster: when, how far, and each machine', () => {
    expect(rolloutOf(pageOf())).toEqual({
      state: 'rolling',
      message: '1 of 3 control plane machines replaced and seen, for 40 minutes',
      since: ago(40),
      end: inDays(35),
      span: [inDays(-10), inDays(25)],
      window: inDays(6),
      began: [ago(40), 'schedule'],
      machines: [
        3,
        2,
        1,
        [
          ['cp-1-x7k2p', 'cp-1', 'old', inDays(-330), inDays(35)],
          ['cp-2-x7k2p', 'cp-2', 'replaced', inDays(0), inDays(365)],
          ['cp-3-x7k2p', 'cp-3', 'verified', inDays(0), inDays(365)],
        ],
      ],
    });
  });

  it('that is held needs a person now, in the first sentence and the first row', () => {
    const html = pageOf(HELD);
    expect(html).toContain('1 of 1 cluster needs a person now.');
    expect(html).toContain('its rollout is held: Machine eksa-system/cp-2-x7k2p: no machine was made or removed');
    expect(rolloutOf(html)).toMatchObject({ state: 'held', reasons: [{ id: 'stuck' }] });
  });

  it('that a check keeps from beginning has the checks with their remedies', () => {
    expect(rolloutOf(pageOf(REFUSED))).toMatchObject({
      reasons: [
        { id: 'etcd-backup', text: 'no backup is vouched for', remedy: 'Make one, and name it under accepted' },
        { id: 'maintenance-window', text: 'it opens in 6 days', passing: true },
      ],
    });
  });

  it('is one line where it is off, and nothing where nobody looked', () => {
    const off = rolloutOf(pageOf({ state: 'off', message: 'would not roll, not opted in' }));
    expect(off).toEqual({ state: 'off', message: 'would not roll, not opted in' });
    expect(rolloutOf(render(healthOf([wellCluster(3)])))).toBeUndefined();
  });
});

describe('whose certificates are proven', () => {
  const sectionOf = (html: string) =>
    /<section class="proofs".*?<\/section>/s
      .exec(html)?.[0]
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll('&#39;', "'")
      .replaceAll(/\s+/g, ' ')
      .trim();
  const impostor = () => renamed(impostorCluster(1), 'berlin-prod');

  it('is one line of the fleet: each verdict with its number, also where that is 0', () => {
    expect(sectionOf(render(healthOf([impostor(), wellCluster(4), { registered: wellCluster(5).registered }])))).toBe(
      "Whose certificates are proven 64 of 70 kubelet certificates ✔ 64 proven ? 3 unknown ! 2 not proven ✖ 1 another node's name: berlin-prod – 1 cluster not known: madrid-prod",
    );
    expect(sectionOf(render(healthOf([wellCluster(4)])))).toBe(
      "Whose certificates are proven 28 of 28 kubelet certificates ✔ 28 proven ? 0 unknown ! 0 not proven ✖ 0 another node's name",
    );
    expect(sectionOf(render(healthOf([])))).toBe(
      'Whose certificates are proven No certificate that was issued to a kubelet is known yet.',
    );
  });

  it('does not count clusters that are gone', () => {
    const { registered, indexed } = wellCluster(4);
    const gone = { registered: { ...registered, missingSince: ago(2_880) }, indexed };
    expect(sectionOf(render(healthOf([gone])))).toContain('is known yet');
  });

  it('is a number in the row of each cluster, and unknown where nothing is known', () => {
    const html = render(healthOf([impostor(), wellCluster(4), { registered: wellCluster(5).registered }]));
    expect([...html.matchAll(/<td>(\S (?:\d+ of \d+)|–)<\/td><td>(?:<time|never)/g)].map(([, cell]) => cell)).toEqual([
      '–',
      '✖ 36 of 42',
      '✔ 28 of 28',
    ]);
  });
});

describe('how large it is', () => {
  it('has all details of 1,000 clusters in under a megabyte', () => {
    const html = render(fleetOf(1_000, 20));
    expect(Buffer.byteLength(html)).toBeLessThan(1_000_000);
    expect(html).not.toContain('class="cut"');
    expect(dataOf(html).clusters.every((cluster) => cluster !== null && cluster.cut === undefined)).toBe(true);
  });

  it('has the rollouts of 1,000 clusters, too', () => {
    const idle: IndexedRollout = {
      state: 'idle',
      message: 'nothing is due: certificates end in 300 days, a rollout may begin in 255 days',
      at: ago(1),
      since: ago(9_000),
      soonestEnd: inDays(300),
      span: { from: inDays(255), until: inDays(290) },
      reasons: [],
      reasonCount: 0,
    };
    const clusters = clustersOf(1_000, 20).map((cluster, index) => {
      if (index < 10) return rollingCluster(cluster, index < 5 ? HELD : {});
      const { indexed } = cluster;
      return indexed === undefined ? cluster : { ...cluster, indexed: { ...indexed, rollout: idle } };
    });
    const html = render(healthOf(clusters));
    expect(Buffer.byteLength(html)).toBeLessThan(1_000_000);
    const details = dataOf(html).clusters;
    expect(details.filter((cluster) => cluster?.rollout?.state === 'held')).toHaveLength(5);
    expect(details.filter((cluster) => cluster === null)).toEqual([]);
  });

  it.each([1_000_000, 300_000, 120_000])(
    'is never above %i bytes, and says of whom something is missing',
    (largest) => {
      const html = render(worstFleet(1_000), largest);
      expect(Buffer.byteLength(html)).toBeLessThanOrEqual(largest);
      expect(html).toMatch(/class="cut">.*Details of \d+ clusters are left out: from [a-z0-9-]+ on\./);
      const { clusters } = dataOf(html);
      const depths = clusters.map((cluster) => (cluster === null ? 0 : cluster.cut === true ? 1 : 2));
      // Whoever is more urgent never has less.
      expect(depths).toEqual(depths.toSorted((a, b) => b - a));
      expect(depths[0]).toBeGreaterThan(0);
    },
  );

  it('has rows for so many clusters as fit, and counts the others', () => {
    const health = fleetOf(20_000, 400);
    const html = render(health);
    expect(Buffer.byteLength(html)).toBeLessThanOrEqual(1_000_000);
    const rows = html.match(/<tr class=/g)?.length ?? 0;
    expect(rows).toBeGreaterThan(1_000);
    expect(html).toContain(`… ${(20_000 - rows).toLocaleString('en')} more clusters without a row`);
    expect(html).toContain('<small> of 20,000</small>');
  });
});

describe('what a cluster says', () => {
  const plain = tags(render(viewOf([hostileCluster('harmless')])));

  it.each(HOSTILE.map((text) => [text.slice(0, 40), text]))('is text: %j', (_name, text) => {
    const html = render(viewOf([hostileCluster(text)]));
    expect(html).not.toMatch(/\p{Cf}|\p{Cs}|(?!\n)\p{Cc}/u);
    // The same elements as for a harmless text, whatever they say.
    const nameless = (all: readonly string[]) => all.map((tag) => /^<\/?[a-z!]+/.exec(tag)?.[0]);
    expect(nameless(tags(html))).toEqual(nameless(plain));
    expect(dataOf(html).clusters).toHaveLength(1);
    expect(Buffer.byteLength(html)).toBeLessThan(150_000);
  });

  it('is text in every combination', () => {
    const elements = render(viewOf([hostileCluster('harmless')])).match(/<[a-z]/g)?.length;
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...HOSTILE, '<', '>', '&', '"', "'", '\\', '\u2028'), { maxLength: 5 }),
        (pieces) => {
          const html = render(viewOf([hostileCluster(`x${pieces.join('')}`)]));
          expect(html.match(/<[a-z]/g)?.length).toBe(elements);
          expect(dataOf(html).clusters[0]).not.toBeNull();
        },
      ),
      { seed: 6, numRuns: 60 },
    );
  });

  it('leaves the fleet readable', () => {
    expect(dataOf(render(hostileFleet())).clusters).toHaveLength(HOSTILE.length);
  });
});
