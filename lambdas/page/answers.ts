import type { ClusterHealth, FleetHealth } from '../health/fleet-health.ts';
import { CERTIFICATE_CLASSES } from '../tables/certificate-classes.ts';
import type { ClusterState } from '../tables/cluster-states.ts';
import { DAY_MS } from '../time.ts';
import { problemsOf } from './cluster-rows.ts';
import type { CertificateEnd } from './ends.ts';
import { type Html, html } from './html.ts';
import { counted, cut, linkTo, names, number, stateWords, timeTag } from './words.ts';

const SOON_DAYS = 30;
/** Most sentences that a paged engineer reads. */
const STORIES = 3;

/** Whether the fleet is healthy: one sentence, the worst stories, and one number for each question. */
export function answers(health: FleetHealth, ends: readonly CertificateEnd[]): Html {
  const { clusters } = health;
  const tone = toneOf(health);
  const { sentence, rest } = headline(health);
  const stories = clusters
    .filter(({ state, readable }) => TOLD.includes(state) || (state === 'new' && !readable))
    .flatMap((cluster) =>
      problemsOf(cluster, Date.parse(health.at))
        .slice(0, 1)
        .map((trouble) => story(cluster, trouble)),
    );
  // A green tile is about every cluster.
  const isAllRead = clusters.every(
    ({ state, audit, readable }) => readable && (state === 'gone' || audit !== undefined),
  );
  return html`<section class="answers" aria-labelledby="well"><h2 id="well"><b class="${tone}" aria-hidden="true">${SYMBOLS[tone]}</b> ${sentence}${rest !== undefined && html` <small>${rest}</small>`}</h2>
${stories.length > 0 && html`<ul class="stories">${stories.slice(0, STORIES)}</ul>`}
<dl class="tiles">${[
    wellTile(health),
    soonTile(ends, isAllRead, Date.parse(health.at)),
    hostileTile(health),
    unseenTile(clusters),
  ]}</dl></section>`;
}

const TOLD: readonly ClusterState[] = ['critical', 'warning'];

interface Headline {
  /** The whole story. */
  readonly sentence: string;
  /** Further sentences. */
  readonly rest?: string;
}

/** Its sentence is about the worst state of any cluster. */
function headline({ counts, clusters }: FleetHealth): Headline {
  const present = clusters.length - counts.gone;
  if (present === 0) return { sentence: 'No cluster is known yet.' };
  const states: readonly Said[] = [
    ...(counts.critical > 0
      ? [[counts.critical, counts.critical === 1 ? 'needs a person now' : 'need a person now'] as const]
      : []),
    ...having(counts.warning + counts.noted, 'a warning'),
    ...(counts.new > 0 ? [[counts.new, `${counts.new === 1 ? 'is' : 'are'} new`] as const] : []),
  ];
  const maintenance = counts.maintenance > 0 ? [`${number(counts.maintenance)} in maintenance`] : [];
  const [worst, ...others] = states;
  const rest = [...others.map(saidWords), ...maintenance];
  const calm = present === 1 ? 'The cluster is healthy.' : `All ${number(present)} clusters are healthy.`;
  const sentence =
    worst !== undefined
      ? `${number(worst[0])} of ${counted(present, 'cluster')} ${worst[1]}.`
      : maintenance.length > 0
        ? `${number(counts.well)} of ${counted(present, 'cluster')} ${counts.well === 1 ? 'is' : 'are'} healthy.`
        : calm;
  return { sentence, ...(rest.length > 0 && { rest: `${rest.join(', ')}.` }) };
}

type Said = readonly [count: number, words: string];

function saidWords([count, words]: Said): string {
  return `${number(count)} ${words}`;
}

function having(count: number, what: string): readonly Said[] {
  return count > 0 ? [[count, `${count === 1 ? 'has' : 'have'} ${what}`]] : [];
}

type Tone = 'critical' | 'warning' | 'well' | 'new';
const SYMBOLS: Readonly<Record<Tone, string>> = { critical: '✖', warning: '!', well: '✔', new: '○' };

function toneOf({ counts, clusters }: FleetHealth): Tone {
  if (counts.critical > 0) return 'critical';
  if (counts.warning + counts.noted > 0) return 'warning';
  return counts.new > 0 || clusters.length === counts.gone ? 'new' : 'well';
}

function story(cluster: ClusterHealth, trouble: string): Html {
  const { id, name, state } = cluster;
  return html`<li><b class="${state}">${stateWords(cluster)}</b> <a href="${linkTo(id)}">${cut(name, 100)}</a> ${cut(trouble, 200)}</li>`;
}

/** @param label the rest of the sentence that begins with the value */
function tile(tone: Tone, value: Html, label: string, detail: Html | string): Html {
  return html`<div class="tile"><dt><b>${value}</b> ${label}</dt><dd class="${tone}"><b class="${tone}" aria-hidden="true">${SYMBOLS[tone]}</b> ${detail}</dd></div>`;
}

function part(count: number, states: string, words: string): Html | false {
  return count > 0 && html`<a href="#state=${states}">${number(count)} ${words}</a>`;
}

function wellTile(health: FleetHealth): Html {
  const { counts, clusters } = health;
  const present = clusters.length - counts.gone;
  const detail =
    present === 0
      ? 'No cluster is known yet.'
      : present === counts.well
        ? 'No alarm fires for any of them.'
        : html`${[
            part(counts.critical, 'critical', 'critical'),
            part(counts.warning + counts.noted, 'warning,noted', 'with a warning'),
            part(counts.new, 'new', 'new'),
            part(counts.maintenance, 'maintenance', 'in maintenance'),
          ]
            .filter((piece) => piece !== false)
            .map((piece, index) => html`${index > 0 && ', '}${piece}`)}`;
  return tile(
    toneOf(health),
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
