import { createHash } from 'node:crypto';
import { issuedTotal } from '../audit/rules/issued.ts';
import { pasteable } from '../command.ts';
import type { VerdictCounts } from '../contracts/audit-summary.ts';
import type { ClusterHealth, FleetHealth } from '../health/fleet-health.ts';
import { ISSUED, ISSUED_VERDICTS, type IssuedVerdict } from '../tables/issued-verdicts.ts';
import { answers } from './answers.ts';
import { clusterDetails, type Depth, type Typed, VOCABULARY } from './cluster-details.ts';
import { clusterColumns, clusterRow } from './cluster-rows.ts';
import { certificateEnds } from './ends.ts';
import { constant, embeddedJson, type Html, html, markupOf } from './html.ts';
import { VERDICT_LOOKS, WORST_LAST } from './proven-bar.ts';
import SCRIPT from './script.json' with { type: 'json' };
import { STYLE } from './style.ts';
import { timeline } from './timeline.ts';
import { discovery, unknown } from './unknown.ts';
import { counted, cut, names, number, timeTag } from './words.ts';

export interface PageOptions {
  /** Size of the whole page in bytes; the least urgent details are dropped, and the page says so. @default 1,000,000 */
  readonly largest?: number;
  readonly version: string;
  /** How the reader starts certmarshal. @default certmarshal */
  readonly program?: string;
  /** Rewrites a command about a cluster for the reader. @default with {@link program} */
  readonly typed?: Typed;
  /** The URL at which `docs/runbooks` is published. */
  readonly runbooks?: string | undefined;
}

const MAX_PAGE = 1_000_000;
/** Share of the room for rows, so that those of a very large fleet leave some for urgent details. */
const ROWS_SHARE = 0.6;
/** For the sentences about dropped details. */
const SPARE_BYTES = 1_000;

const POLICY = [
  "default-src 'none'",
  `style-src '${hashOf(STYLE)}'`,
  `script-src '${hashOf(SCRIPT)}'`,
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/**
 * The report page: one self-contained HTML document. Pure. Everything from a cluster is data in it, whatever it says.
 */
export function renderPage(
  health: FleetHealth,
  {
    largest = MAX_PAGE,
    version,
    program = 'certmarshal',
    typed = (command) => pasteable(command, program),
    runbooks,
  }: PageOptions,
): string {
  const now = Date.parse(health.at);
  const { clusters } = health;
  const frame = { health, version, program, runbooks, ends: certificateEnds(clusters, now) };
  const room = largest - SPARE_BYTES - Buffer.byteLength(documentOf(frame, { rows: [], fitted: NOTHING }));
  const rows = rowsWithin(health, room * ROWS_SHARE);
  const left = rows.reduce((bytes, row) => bytes - Buffer.byteLength(row), room);
  const fitted = fit(rows.length, left, (index, depth) => {
    const cluster = clusters[index];
    return cluster === undefined
      ? 'null'
      : markupOf(embeddedJson(clusterDetails(cluster, depth, now, { program, typed })));
  });
  return documentOf(frame, { rows, fitted });
}

const NOTHING: Fitted = { pieces: [], full: 0, short: 0 };

interface Frame extends Pick<PageOptions, 'version' | 'runbooks'> {
  readonly health: FleetHealth;
  readonly program: string;
  readonly ends: ReturnType<typeof certificateEnds>;
}

interface Body {
  readonly rows: readonly string[];
  readonly fitted: Fitted;
}

function rowsWithin({ clusters, at }: Pick<FleetHealth, 'at' | 'clusters'>, room: number): readonly string[] {
  const rows: string[] = [];
  let left = room;
  for (const cluster of clusters) {
    const row = markupOf(clusterRow(cluster, Date.parse(at)));
    left -= Buffer.byteLength(row);
    if (left < 0) break;
    rows.push(row);
  }
  return rows;
}

function documentOf(frame: Frame, { rows, fitted }: Body): string {
  const { health, version, ends } = frame;
  return markupOf(html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${constant(POLICY)}"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer"><meta name="robots" content="noindex"><meta name="color-scheme" content="light dark"><title>Fleet report · certmarshal</title><style>${constant(STYLE)}</style></head>
<body><a class="skip" href="#clusters">Skip to the clusters</a>
<header><h1>Fleet report <small>certmarshal ${version}</small></h1><p id="made">Made ${timeTag(health.at)}</p></header>
<main>${answers(health, ends)}
${provenLine(health.clusters)}
<div class="two">${expiring(frame)}
${unknown(health)}</div>
${table(health, rows, fitted)}
${discovery(health.problems)}</main>
<footer><p>This page loads nothing. Without a script, times are in UTC.</p></footer>
<script type="application/json" id="data">${constant(dataOf(frame, fitted))}</script>
<script>${constant(SCRIPT)}</script></body></html>
`);
}

function expiring({ health, ends }: Frame): Html {
  return html`<section class="first" aria-labelledby="first"><h2 id="first">What expires first</h2>
${timeline(ends, Date.parse(health.at))}</section>`;
}

function table({ clusters, counts }: FleetHealth, rows: readonly string[], fitted: Fitted): Html {
  return html`<section aria-labelledby="clusters"><h2 id="clusters" tabindex="-1">Clusters <small>${number(clusters.length - counts.gone)}${counts.gone > 0 && ` and ${number(counts.gone)} gone`}</small></h2>
<div id="tools"></div><noscript><p class="calm">Filter, sorting and the details of each cluster need JavaScript; the rest of the page does not.</p></noscript>
${leftOut(clusters, rows, fitted)}
${
  clusters.length === 0
    ? html`<p class="calm">No cluster is registered yet. What is in fleet.yaml is found within a minute.</p>`
    : html`<div class="scroll" tabindex="0" role="region" aria-label="Table of clusters"><table id="table"><thead><tr>${clusterColumns()}</tr></thead><tbody>
${constant(rows.join(''))}</tbody></table></div>`
}</section>`;
}

/** Which details of which clusters were dropped. */
function leftOut(
  clusters: FleetHealth['clusters'],
  rows: readonly string[],
  { full, short }: Fitted,
): Html | undefined {
  if (rows.length === 0 && clusters.length === 0) return undefined;
  const rowless = clusters.length - rows.length;
  const none = rows.length - full - short;
  const nameAt = (index: number) => cut(clusters[index]?.name ?? '', 100);
  const sentences = [
    ...(rowless > 0
      ? [`… ${counted(rowless, 'more cluster')} without a row, all counted above: from ${nameAt(rows.length)} on.`]
      : []),
    ...(short > 0 ? [`Details of ${counted(short, 'cluster')} are shortened: from ${nameAt(full)} on.`] : []),
    ...(none > 0 ? [`Details of ${counted(none, 'cluster')} are left out: from ${nameAt(full + short)} on.`] : []),
  ];
  if (sentences.length === 0) return undefined;
  return html`<p class="cut">To keep this page small, the least urgent is left out. ${sentences.join(' ')}</p>`;
}

function dataOf({ health, program, runbooks }: Frame, { pieces }: Fitted): string {
  const at = Date.parse(health.at);
  const vocabulary = markupOf(embeddedJson({ at, program, runbooks, ...VOCABULARY }));
  return `${vocabulary.slice(0, -1)},"clusters":[${pieces.map((piece) => piece ?? 'null').join(',')}]}`;
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

/**
 * Proven kubelet serving certificates of the whole fleet: the number of every verdict, zeros included.
 */
function provenLine(clusters: readonly ClusterHealth[]): Html {
  const present = clusters.filter(({ state }) => state !== 'gone');
  const known = present.flatMap(({ audit }) => audit?.issued ?? []);
  const unaudited = present.filter(({ audit }) => audit?.issued === undefined);
  const counts = sumOf(known);
  const total = issuedTotal(counts);
  return html`<section class="proofs" aria-labelledby="proofs"><h2 id="proofs">Whose certificates are proven</h2>${
    total === 0
      ? html`<p class="calm">No certificate that was issued to a kubelet is known yet.</p>`
      : html`<p><b>${number(counts.proven)}</b> of ${number(total)} kubelet certificates</p>
<ul>${WORST_LAST.map((verdict) => line(verdict, counts[verdict], present))}${
          unaudited.length > 0 &&
          html`<li class="none"><i aria-hidden="true">–</i> ${counted(unaudited.length, 'cluster')} not known: ${names(unaudited)}</li>`
        }</ul>`
  }</section>`;
}

function sumOf(all: readonly VerdictCounts[]): VerdictCounts {
  const sum = { 'names-another': 0, 'not-proven': 0, unknown: 0, proven: 0 };
  for (const counts of all) for (const verdict of ISSUED_VERDICTS) sum[verdict] += counts[verdict];
  return sum;
}

function line(verdict: IssuedVerdict, count: number, clusters: readonly ClusterHealth[]): Html {
  const { symbol, tone } = VERDICT_LOOKS[verdict];
  const named = tone === 'critical' ? clusters.filter(({ audit }) => (audit?.issued?.[verdict] ?? 0) > 0) : [];
  return html`<li class="${count === 0 ? 'none' : tone}"><i aria-hidden="true">${symbol}</i> ${number(count)} ${ISSUED[verdict].title}${named.length > 0 && html`: ${names(named)}`}</li>`;
}

interface Fitted {
  /** One for each cluster, in order; `null` without room. */
  readonly pieces: readonly (string | null)[];
  /** Number of clusters in full, then in short. */
  readonly full: number;
  readonly short: number;
}

/** If there is no room for all clusters in short, the most urgent ones get the room in full. */
const SHORT_SHARE = 0.6;

/**
 * Chooses how much of each cluster to show so that all fit: each in short, then in full while there is room. The least
 * urgent ones are dropped first. Pure.
 *
 * @param count of clusters, the most urgent ones first
 * @param room bytes, with a comma after each
 */
export function fit(count: number, room: number, piece: (index: number, depth: Depth) => string): Fitted {
  const shorts = Array.from({ length: count }, (_, index) => piece(index, 'short'));
  // `null,` for a dropped one.
  const free = room - 5 * count;
  const growth = shorts.map((text) => Buffer.byteLength(text) - 4);
  const all = growth.reduce((sum, bytes) => sum + bytes, 0);
  let left = all <= free ? free : free * SHORT_SHARE;
  let inShort = 0;
  while (inShort < count && left >= (growth[inShort] ?? 0)) {
    left -= growth[inShort] ?? 0;
    inShort += 1;
  }
  if (all > free) left += free * (1 - SHORT_SHARE);
  const pieces: (string | null)[] = shorts.map((text, index) => (index < inShort ? text : null));
  let full = 0;
  for (; full < count; full += 1) {
    const text = piece(full, 'full');
    const grows = Buffer.byteLength(text) - 4 - (full < inShort ? (growth[full] ?? 0) : 0);
    if (grows > left) break;
    left -= grows;
    pieces[full] = text;
  }
  return { pieces, full, short: Math.max(0, inShort - full) };
}
