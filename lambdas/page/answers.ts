import type { ClusterHealth, FleetHealth } from '../health/fleet-health.ts';
import { dayWords } from '../slo/day-words.ts';
import { CERTIFICATE_CLASSES } from '../tables/certificate-classes.ts';
import { DAY_MS } from '../time.ts';
import { percent } from '../words.ts';
import type { CertificateEnd } from './ends.ts';
import { type Html, html } from './html.ts';
import { type Known, knowsSweeps } from './unknown.ts';

import { counted, linkTo, number, STATE_WORDS, timeTag } from './words.ts';

const SOON_DAYS = 30;
/** A tile names so many clusters. */
const NAMED = 2;
/** Whoever is woken up reads so many sentences. */
const STORIES = 3;

/** Whether the fleet is well: one sentence, the worst stories, and one number for each question. */
export function answers(health: FleetHealth, known: Known, ends: readonly CertificateEnd[]): Html {
  if (known.unread.length > 0) return unreadState(health, known);
  const { clusters } = health;
  const tone = toneOf(health);
  const { sentence, rest } = headline(health);
  const stories = clusters.filter(
    ({ state, signals }) => signals.length > 0 && (state === 'critical' || state === 'warning'),
  );
  return html`<section class="answers" aria-labelledby="well"><h2 id="well"><b class="${tone}" aria-hidden="true">${SYMBOLS[tone]}</b> ${sentence}${rest !== undefined && html` <small>${rest}</small>`}</h2>
${stories.length > 0 && html`<ul class="stories">${stories.slice(0, STORIES).map(story)}</ul>`}
<dl class="tiles">${[
    wellTile(health),
    soonTile(ends, Date.parse(health.at)),
    ...(knowsSweeps(known)
      ? [refusedTile(health), unseenTile(clusters), sloTile(health), dayTile(health)]
      : [
          unknownTile('hostile requests', 'not known from snapshots'),
          unlistedTile(clusters),
          unknownTile('of provable requests approved in time', 'not known from snapshots'),
          unknownTile('of all requests of a day accepted', 'not known from snapshots'),
        ]),
  ]}</dl></section>`;
}

/** Nothing is well of which nothing could be read. */
function unreadState({ clusters }: FleetHealth, { unread }: Known): Html {
  const tiles = ['clusters are healthy', 'certificates need a person', 'hostile requests', 'clusters are not seen'];
  return html`<section class="answers" aria-labelledby="well"><h2 id="well"><b class="critical" aria-hidden="true">✖</b> The state could not be read. <small>${unread.join(' and ')}: <a href="#discovery">what to do</a>.</small></h2>
<p>${clusters.length === 0 ? 'Which clusters there are is not known.' : `${counted(clusters.length, 'cluster')} ${clusters.length === 1 ? 'is' : 'are'} registered; whether they are healthy is not known.`}</p>
<dl class="tiles">${tiles.map((label) => unknownTile(label, 'not known: the state could not be read'))}</dl></section>`;
}

function unknownTile(label: string, why: string): Html {
  return html`<div class="tile"><dt>${label}</dt><dd>–</dd><dd class="detail">${why}</dd></div>`;
}

interface Headline {
  /** The whole story. */
  readonly sentence: string;
  /** What else there is. */
  readonly rest?: string;
}

function headline({ counts, clusters }: FleetHealth): Headline {
  const present = clusters.length - counts.gone;
  if (present === 0) return { sentence: 'No cluster is known yet.' };
  const others = [
    ...(counts.warning > 0 ? [`${number(counts.warning)} ${counts.warning === 1 ? 'has' : 'have'} a warning`] : []),
    ...(counts.new > 0 ? [`${number(counts.new)} ${counts.new === 1 ? 'is' : 'are'} new`] : []),
    ...(counts.maintenance > 0 ? [`${number(counts.maintenance)} in maintenance`] : []),
  ];
  const rest = others.length === 0 ? undefined : `${others.join(', ')}.`;
  if (counts.critical > 0) {
    const need = counts.critical === 1 ? 'needs' : 'need';
    return { sentence: `${number(counts.critical)} of ${counted(present, 'cluster')} ${need} a person now.`, rest };
  }
  if (others.length > 0) return { sentence: `None of ${counted(present, 'cluster')} needs a person now.`, rest };
  return { sentence: present === 1 ? 'The cluster is healthy.' : `All ${number(present)} clusters are healthy.` };
}

type Tone = 'critical' | 'warning' | 'well' | 'new';
const SYMBOLS: Readonly<Record<Tone, string>> = { critical: '✖', warning: '!', well: '✔', new: '○' };

function toneOf({ counts, clusters }: FleetHealth): Tone {
  if (counts.critical > 0) return 'critical';
  if (counts.warning > 0) return 'warning';
  return counts.new > 0 || clusters.length === counts.gone ? 'new' : 'well';
}

function story({ id, name, state, signals }: ClusterHealth): Html {
  const { symbol, word } = STATE_WORDS[state];
  return html`<li><b class="${state}">${symbol} ${word}</b> <a href="${linkTo(id)}">${name.slice(0, 100)}</a> ${signals[0]?.story.slice(0, 200)}</li>`;
}

function tile(tone: Tone, value: Html, label: string, detail: Html | string): Html {
  return html`<div class="tile"><dt>${label}</dt><dd>${value}</dd><dd class="detail ${tone}"><b class="${tone}" aria-hidden="true">${SYMBOLS[tone]}</b> ${detail}</dd></div>`;
}

type Named = Pick<ClusterHealth, 'id' | 'name'>;

/** The first of them by name, each with its link. */
function names(clusters: readonly Named[]): Html {
  const more = clusters.length - NAMED;
  return html`${clusters.slice(0, NAMED).map(({ id, name }, index) => html`${index > 0 && ', '}<a href="${linkTo(id)}">${name.slice(0, 60)}</a>`)}${more > 0 && ` and ${number(more)} more`}`;
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
            part(counts.warning, 'warning', 'with a warning'),
            part(counts.new + counts.maintenance, 'new,maintenance', 'new or in maintenance'),
          ]
            .filter((piece) => piece !== false)
            .map((piece, index) => html`${index > 0 && ', '}${piece}`)}`;
  return tile(
    toneOf(health),
    html`${number(counts.well)}<small> of ${number(present)}</small>`,
    counts.well === 1 ? 'cluster is healthy' : 'clusters are healthy',
    detail,
  );
}

/** Counted are clusters: nobody thinks in kinds of certificate. */
function soonTile(ends: readonly CertificateEnd[], now: number): Html {
  const urgent = ends.filter(({ urgency }) => urgency !== 'well').toSorted((a, b) => a.at - b.at);
  const soon = ends.filter(({ at, urgency }) => urgency === 'well' && at <= now + SOON_DAYS * DAY_MS);
  const count = new Set(urgent.map(({ cluster }) => cluster.id)).size;
  const renewing = new Set(soon.map(({ cluster }) => cluster.id)).size;
  const tone = urgent.some(({ urgency }) => urgency === 'critical') ? 'critical' : count > 0 ? 'warning' : 'well';
  const [first] = urgent;
  const others = `Certificates of ${counted(renewing, 'cluster')} expire within ${SOON_DAYS} days and still have time to renew.`;
  return tile(
    ends.length === 0 ? 'new' : tone,
    ends.length === 0 ? html`–` : html`${number(count)}`,
    `${count === 1 ? 'cluster needs' : 'clusters need'} a certificate renewed`,
    ends.length === 0
      ? 'No certificate is known yet.'
      : first !== undefined
        ? html`First <a href="${linkTo(first.cluster.id)}">${first.cluster.name.slice(0, 60)}</a>, ${CERTIFICATE_CLASSES[first.what].title}: ${first.at <= now && 'expired '}${timeTag(new Date(first.at).toISOString(), 'date')}.`
        : soon.length > 0
          ? others
          : `None expires within ${SOON_DAYS} days.`,
  );
}

function refusedTile({ slo, clusters }: FleetHealth): Html {
  const hostile = clusters.filter(({ signals }) => signals.some(({ id }) => id === 'RequestsHostile'));
  return tile(
    hostile.length > 0 ? 'critical' : 'well',
    html`${number(slo.counts.refused)}`,
    `hostile ${slo.counts.refused === 1 ? 'request' : 'requests'} in 30 days`,
    hostile.length > 0
      ? html`In the last 25 minutes a node claimed what is not its own: ${names(hostile)}.`
      : 'None in the last 25 minutes claimed what another node owns.',
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
      ? 'Every cluster let its requests be listed.'
      : html`${names(unseen)}: nothing is approved there, and nothing is known to be fine.`,
  );
}

/** The same of audits, which approve nothing anywhere. */
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

function sloTile({ slo }: FleetHealth): Html {
  const { attainment, objective, budgetLeft, missedLately } = slo;
  const tone = slo.fastBurn >= 14.4 || budgetLeft <= 0 ? 'critical' : slo.slowBurn >= 1 ? 'warning' : 'well';
  return tile(
    attainment === undefined ? 'new' : tone,
    attainment === undefined ? html`–` : html`${percent(attainment)}`,
    'of provable requests approved in time',
    attainment === undefined
      ? `No request in 30 days that could count; the objective is ${percent(objective)}.`
      : `Objective ${percent(objective)}, ${percent(Math.max(0, budgetLeft))} of the budget left, ${number(missedLately)} missed lately.`,
  );
}

/** Beside the objective: a request that nothing proves is no promise, and its node waits all the same. */
function dayTile({ slo: { day } }: FleetHealth): Html {
  const { requests, accepted, details } = dayWords(day);
  return tile(
    accepted === undefined ? 'new' : day.counts.unprovable + day.counts.missed > 0 ? 'warning' : 'well',
    accepted === undefined ? html`–` : html`${accepted}`,
    accepted === undefined
      ? 'of all requests of a day accepted'
      : `of all ${number(requests)} requests of a day accepted`,
    accepted === undefined ? 'No node asked in 24 hours.' : `${details}.`,
  );
}
