import { clusterCommand, pasteable } from '../command.ts';
import type { ClusterHealth, FleetHealth } from '../health/fleet-health.ts';
import { CERTIFICATE_CLASSES } from '../tables/certificate-classes.ts';
import type { ClusterState } from '../tables/cluster-states.ts';
import { DAY_MS } from '../time.ts';
import { nextOf, nextOfSignal, type Typed, typable } from './cluster-details.ts';
import { requestWords, troublesOf, wouldBe } from './cluster-rows.ts';
import type { CertificateEnd } from './ends.ts';
import { type Html, html } from './html.ts';
import type { Basis, Known } from './known.ts';
import {
  counted,
  cut,
  cutRemedy,
  isWithoutMachines,
  linkTo,
  names,
  number,
  shownState,
  stateWords,
  timeTag,
} from './words.ts';

const SOON_DAYS = 30;
/** Most sentences that a paged engineer reads. */
const STORIES = 3;

/** Whether the fleet is healthy: one sentence, the worst stories, and one number for each question. */
export function answers(health: FleetHealth, known: Known, ends: readonly CertificateEnd[], typed: Typed): Html {
  if (known.unread.length > 0) return unreadState(health, known);
  const { clusters } = health;
  const { basis } = known;
  const tone = toneOf(health, basis);
  const { sentence, rest } = headline(health, basis);
  const missing = {
    hub: undefined,
    audits: 'Requests were not judged; one may be hostile',
    sweep: 'Certificates were not read; one may have expired',
  }[basis];
  const other = missing !== undefined && clusters.length > 0 && html`<p>${missing}: <code>${known.other}</code></p>`;
  const told: readonly ClusterState[] =
    basis === 'hub' ? ['critical', 'warning'] : ['critical', 'warning', 'noted', 'new'];
  const stories = clusters
    .filter(({ state }) => told.includes(state))
    .flatMap((cluster) =>
      [...troublesOf(cluster), ...waiting(cluster, basis)]
        .slice(0, 1)
        .map((trouble) => story(cluster, trouble, known, typed)),
    );
  // A green tile is about every cluster.
  const isAllRead =
    unreadIn(clusters).length === 0 &&
    (basis === 'sweep' || clusters.every(({ state, audit }) => state === 'gone' || audit !== undefined)) &&
    !(basis === 'audits' && clusters.some(isWithoutMachines));
  const tiles = {
    hub: () => [
      wellTile(health, basis),
      soonTile(ends, isAllRead, Date.parse(health.at)),
      hostileTile(health),
      unseenTile(clusters),
    ],
    audits: () => [wellTile(health, basis), soonTile(ends, isAllRead, Date.parse(health.at)), unlistedTile(clusters)],
    sweep: () => [...requestTiles(clusters, isAllRead), pendingHostileTile(health, isAllRead), unreadTile(clusters)],
  }[basis]();
  return html`<section class="answers" aria-labelledby="well"><h2 id="well"><b class="${tone}" aria-hidden="true">${SYMBOLS[tone]}</b> ${sentence}${rest !== undefined && html` <small>${rest}</small>`}</h2>
${stories.length > 0 && html`<ul class="stories">${stories.slice(0, STORIES)}</ul>`}
${other}
<dl class="tiles">${tiles}</dl></section>`;
}

/** An unreadable fleet is not healthy. */
function unreadState({ clusters }: FleetHealth, { unread }: Known): Html {
  const tiles = ['clusters are healthy', 'certificates need a person', 'hostile requests', 'clusters are not seen'];
  return html`<section class="answers" aria-labelledby="well"><h2 id="well"><b class="critical" aria-hidden="true">✖</b> The state could not be read. <small>${unread.join(' and ')}: <a href="#discovery">what to do</a>.</small></h2>
<p>${clusters.length === 0 ? 'Which clusters there are is not known.' : `${counted(clusters.length, 'cluster')} ${clusters.length === 1 ? 'is' : 'are'} registered; whether they are healthy is not known.`}</p>
<dl class="tiles">${tiles.map((label) => unknownTile(label, 'not known: the state could not be read'))}</dl></section>`;
}

function unknownTile(label: string, why: string): Html {
  return html`<div class="tile"><dt><b>–</b> ${label}</dt><dd>${why}</dd></div>`;
}

interface Headline {
  /** The whole story. */
  readonly sentence: string;
  /** Further sentences. */
  readonly rest?: string;
}

/** Its sentence is about the worst state of any cluster. */
function headline({ counts, clusters }: FleetHealth, basis: Basis): Headline {
  const present = clusters.length - counts.gone;
  if (present === 0) return { sentence: 'No cluster is known yet.' };
  const known = [
    ...(counts.critical > 0
      ? [[counts.critical, counts.critical === 1 ? 'needs a person now' : 'need a person now'] as const]
      : []),
    ...having(counts.warning + counts.noted, 'a warning'),
  ];
  const unknown = unknownClusters({ counts, clusters }, basis);
  const states = [...known, ...unknown];
  const maintenance = counts.maintenance > 0 ? [`${number(counts.maintenance)} in maintenance`] : [];
  const [worst, ...others] = states;
  // What was not read may be as bad as the worst.
  const beside = basis === 'hub' || known.length === 0 ? [] : unknown;
  const rest = [...others.filter((one) => !beside.includes(one)).map(saidWords), ...maintenance];
  const calm =
    basis === 'sweep'
      ? 'No request that was judged needs a person.'
      : basis === 'audits'
        ? healthyCertificates(clusters)
        : present === 1
          ? 'The cluster is healthy.'
          : `All ${number(present)} clusters are healthy.`;
  const sentence =
    worst !== undefined
      ? `${basis === 'audits' && counts.critical > 0 && counts.critical < present ? 'At least ' : ''}${number(worst[0])} of ${counted(present, 'cluster')} ${[worst[1], ...beside.map(saidWords)].join(', and ')}.`
      : maintenance.length > 0
        ? `${number(counts.well)} of ${counted(present, 'cluster')} ${counts.well === 1 ? 'is' : 'are'} healthy.`
        : calm;
  return { sentence, ...(rest.length > 0 && { rest: `${rest.join(', ')}.` }) };
}

function healthyCertificates(clusters: readonly ClusterHealth[]): string {
  const those = clusters.length === 1 ? 'the cluster' : `all ${number(clusters.length)} clusters`;
  const without = clusters.filter(isWithoutMachines).length;
  if (without === 0) return `The certificates of ${those} are healthy.`;
  const machines = clusters.length === 1 ? 'its machines' : `the machines of ${number(without)}`;
  return `The certificates that were read of ${those} are healthy; ${machines} were not looked at.`;
}

type Said = readonly [count: number, words: string];

function saidWords([count, words]: Said): string {
  return `${number(count)} ${words}`;
}

function having(count: number, what: string): readonly Said[] {
  return count > 0 ? [[count, `${count === 1 ? 'has' : 'have'} ${what}`]] : [];
}

/** Clusters that must be read first. A sweep never reports certificates, so missing ones are not news. */
function unknownClusters(
  { counts, clusters }: Pick<FleetHealth, 'counts' | 'clusters'>,
  basis: Basis,
): readonly Said[] {
  const count = basis === 'sweep' ? unreadIn(clusters).length : counts.new;
  if (count === 0) return [];
  return [[count, basis === 'hub' ? `${count === 1 ? 'is' : 'are'} new` : 'could not be read']];
}

function unreadIn(clusters: readonly ClusterHealth[]): readonly ClusterHealth[] {
  return clusters.filter(({ readable }) => !readable);
}

type Tone = 'critical' | 'warning' | 'well' | 'new';
const SYMBOLS: Readonly<Record<Tone, string>> = { critical: '✖', warning: '!', well: '✔', new: '○' };

function toneOf({ counts, clusters }: FleetHealth, basis: Basis): Tone {
  if (counts.critical > 0) return 'critical';
  if (counts.warning + counts.noted > 0) return 'warning';
  if (basis === 'sweep') return unreadIn(clusters).length > 0 ? 'new' : 'well';
  const isPartial = basis === 'audits' && clusters.some(isWithoutMachines);
  return counts.new > 0 || clusters.length === counts.gone || isPartial ? 'new' : 'well';
}

/** With what to do first, where the reader can paste it: a hub does not know the kubeconfig. */
function story(cluster: ClusterHealth, trouble: string, { basis, program }: Known, typed: Typed): Html {
  const { id, name, state } = cluster;
  const next = basis === 'hub' ? undefined : nextStep(cluster, basis);
  const command = next?.command && typable(typed, id, next.command);
  return html`<li><b class="${shownState(state, basis)}">${stateWords(cluster, basis)}</b> <a href="${linkTo(id)}">${cut(name, 100)}</a> ${cut(trouble, 200)}${command !== undefined && html`<br><code>${command}</code>`}${next?.remedy !== undefined && html`<small>${cutRemedy(pasteable(next.remedy, program))}</small>`}</li>`;
}

/** For the trouble that {@link troublesOf} has first. */
function nextStep(
  cluster: ClusterHealth,
  basis: Basis,
): { readonly command?: string; readonly remedy?: string } | undefined {
  const { signals, findings, audit } = cluster;
  const [signal] = signals;
  if (signal !== undefined) return { command: nextOfSignal(signal, cluster, basis) };
  const [problem] = findings;
  if (problem !== undefined) return { remedy: problem.remedy };
  const warning = audit?.findings.find(({ severity }) => severity !== 'info');
  if (warning !== undefined) return { command: nextOf(warning, cluster, basis) };
  return basis === 'sweep' ? { command: clusterCommand('sweep', cluster) } : undefined;
}

/** What a look at the requests of a cluster without troubles found. */
function waiting(cluster: ClusterHealth, basis: Basis): readonly string[] {
  const { approved, denied, left } = wouldBe(cluster);
  return basis === 'sweep' && cluster.readable && approved + denied + left > 0 ? [requestWords(cluster)] : [];
}

/** @param label the rest of the sentence that begins with the value */
function tile(tone: Tone, value: Html, label: string, detail: Html | string): Html {
  return html`<div class="tile"><dt><b>${value}</b> ${label}</dt><dd class="${tone}"><b class="${tone}" aria-hidden="true">${SYMBOLS[tone]}</b> ${detail}</dd></div>`;
}

function part(count: number, states: string, words: string): Html | false {
  return count > 0 && html`<a href="#state=${states}">${number(count)} ${words}</a>`;
}

function wellTile(health: FleetHealth, basis: Basis): Html {
  const { counts, clusters } = health;
  const present = clusters.length - counts.gone;
  const detail =
    present === 0
      ? 'No cluster is known yet.'
      : present === counts.well
        ? basis === 'hub'
          ? 'No alarm fires for any of them.'
          : 'No audit found a warning.'
        : html`${[
            part(counts.critical, 'critical', 'critical'),
            part(counts.warning + counts.noted, 'warning,noted', 'with a warning'),
            part(counts.new, 'new', basis === 'hub' ? 'new' : 'not read'),
            part(counts.maintenance, 'maintenance', 'in maintenance'),
          ]
            .filter((piece) => piece !== false)
            .map((piece, index) => html`${index > 0 && ', '}${piece}`)}`;
  return tile(
    toneOf(health, basis),
    html`${number(counts.well)}<small> of ${number(present)}</small>`,
    `${present === 1 ? 'cluster is' : counts.well === 1 ? 'clusters is' : 'clusters are'} healthy`,
    detail,
  );
}

/** Counts clusters: people do not think in kinds of certificates. */
function soonTile(ends: readonly CertificateEnd[], isAllRead: boolean, now: number): Html {
  const urgent = ends.filter(({ urgency }) => urgency !== 'well').toSorted((a, b) => a.at - b.at);
  const soon = ends.filter(({ at, urgency }) => urgency === 'well' && at <= now + SOON_DAYS * DAY_MS);
  const count = new Set(urgent.map(({ cluster }) => cluster.id)).size;
  const renewing = new Set(soon.map(({ cluster }) => cluster.id)).size;
  const isCritical = urgent.some(({ urgency }) => urgency === 'critical');
  const tone = isCritical ? 'critical' : count > 0 ? 'warning' : isAllRead ? 'well' : 'new';
  const [first] = urgent;
  const others = `Certificates of ${counted(renewing, 'cluster')} expire within ${SOON_DAYS} days and still have time to renew.`;
  return tile(
    ends.length === 0 ? 'new' : tone,
    ends.length === 0 ? html`–` : html`${number(count)}`,
    `${count === 1 ? 'cluster has' : 'clusters have'} a certificate to renew`,
    ends.length === 0
      ? 'No certificate is known yet.'
      : first !== undefined
        ? html`First <a href="${linkTo(first.cluster.id)}">${cut(first.cluster.name, 60)}</a>, ${CERTIFICATE_CLASSES[first.what].title}: ${first.at <= now && 'expired '}${timeTag(new Date(first.at).toISOString(), 'date')}.`
        : soon.length > 0
          ? others
          : `None ${isAllRead ? '' : 'that was read '}expires within ${SOON_DAYS} days.`,
  );
}

function hostileTile({ clusters, totals: { RequestsHostile: count } }: FleetHealth): Html {
  const hostile = hostileIn(clusters);
  return tile(
    hostile.length > 0 ? 'critical' : 'well',
    html`${number(count)}`,
    `hostile ${count === 1 ? 'request' : 'requests'}`,
    hostile.length > 0
      ? html`In the last 25 minutes a node claimed what is not its own: ${names(hostile)}.`
      : 'None in the last 25 minutes claimed what another node owns.',
  );
}

function hostileIn(clusters: readonly ClusterHealth[]): readonly ClusterHealth[] {
  return clusters.filter(({ signals }) => signals.some(({ id }) => id === 'RequestsHostile'));
}

/** The same for a single sweep, which has no history. */
function pendingHostileTile({ clusters, totals: { RequestsHostile: count } }: FleetHealth, isAllRead: boolean): Html {
  return tile(
    count > 0 ? 'critical' : isAllRead ? 'well' : 'new',
    html`${number(count)}`,
    `hostile ${count === 1 ? 'request' : 'requests'}`,
    count > 0
      ? html`A node claims what is not its own: ${names(hostileIn(clusters))}.`
      : 'No request that was judged claims what another node owns.',
  );
}

/** What the sweep would approve, and what not. */
function requestTiles(clusters: readonly ClusterHealth[], isAllRead: boolean): readonly Html[] {
  const those = (key: 'approved' | 'left') => clusters.filter((cluster) => wouldBe(cluster)[key] > 0);
  const sum = (key: 'approved' | 'left') => clusters.reduce((all, cluster) => all + wouldBe(cluster)[key], 0);
  const [approved, left] = [sum('approved'), sum('left')];
  const none = isAllRead ? 'well' : 'new';
  return [
    tile(
      approved > 0 ? 'new' : none,
      html`${number(approved)}`,
      `${approved === 1 ? 'request' : 'requests'} would be approved`,
      approved > 0 ? html`Nothing was written: ${names(those('approved'))}.` : 'No request that was judged is proven.',
    ),
    tile(
      left > 0 ? 'warning' : none,
      html`${number(left)}`,
      `${left === 1 ? 'request is' : 'requests are'} not approved`,
      left > 0 ? html`${names(those('left'))}` : 'No request that was judged lacks proof.',
    ),
  ];
}

function unreadTile(clusters: readonly ClusterHealth[]): Html {
  const unread = unreadIn(clusters);
  return tile(
    unread.length > 0 ? 'new' : 'well',
    html`${number(unread.length)}<small> of ${number(clusters.length)}</small>`,
    `${clusters.length === 1 ? 'cluster' : 'clusters'} could not be read`,
    unread.length > 0 ? html`${names(unread)}` : 'Every cluster listed its requests.',
  );
}

function unseenTile(clusters: readonly ClusterHealth[]): Html {
  const unseen = clusters.filter(({ state, readable }) => state !== 'gone' && !readable);
  const known = unseen.every(({ state }) => state === 'new' || state === 'maintenance');
  return tile(
    unseen.length === 0 ? 'well' : known ? 'new' : 'critical',
    html`${number(unseen.length)}`,
    unseen.length === 1 ? 'cluster is not seen' : 'clusters are not seen',
    unseen.length === 0
      ? 'Every cluster listed its requests.'
      : html`${names(unseen)}: nothing is approved there, and nothing is known to be fine.`,
  );
}

/** The same for audits, which approve nothing. */
function unlistedTile(clusters: readonly ClusterHealth[]): Html {
  const unseen = clusters.filter(({ readable }) => !readable);
  return tile(
    unseen.length === 0 ? 'well' : 'new',
    html`${number(unseen.length)}`,
    unseen.length === 1 ? 'cluster did not list its requests' : 'clusters did not list their requests',
    unseen.length === 0
      ? 'Every audit could list the requests.'
      : html`Their requests are not known: ${names(unseen)}.`,
  );
}
