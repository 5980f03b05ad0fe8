import { type ClusterHealth, type FleetHealth } from '../health/fleet-health.ts';
import type { CertificateEnd } from './ends.ts';
import { type Html, html } from './html.ts';
import { DAY_MS } from './scale.ts';
import { counted, linkTo, number, percent, STATE_WORDS } from './words.ts';

const SOON_DAYS = 30;
/** Whoever is woken up reads so many sentences. */
const STORIES = 3;

/** Whether the fleet is well: one sentence, the worst stories, and one number for each question. */
export function answers(health: FleetHealth, ends: readonly CertificateEnd[]): Html {
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
    refusedTile(health),
    unseenTile(clusters),
    sloTile(health),
  ]}</dl></section>`;
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
  const rest = others.length === 0 ? {} : { rest: `${others.join(', ')}.` };
  if (counts.critical > 0) {
    const need = counts.critical === 1 ? 'needs' : 'need';
    return { sentence: `${number(counts.critical)} of ${counted(present, 'cluster')} ${need} somebody now.`, ...rest };
  }
  if (others.length > 0) return { sentence: `None of ${counted(present, 'cluster')} needs somebody now.`, ...rest };
  return { sentence: present === 1 ? 'The cluster is well.' : `All ${number(present)} clusters are well.` };
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

function tile(tone: Tone, value: Html, label: string, detail: string): Html {
  return html`<div class="tile"><dt>${label}</dt><dd>${value}</dd><dd class="detail ${tone}"><b class="${tone}" aria-hidden="true">${SYMBOLS[tone]}</b> ${detail}</dd></div>`;
}

function wellTile(health: FleetHealth): Html {
  const { counts, clusters } = health;
  const present = clusters.length - counts.gone;
  const detail =
    present === counts.well
      ? 'Nothing rings at any of them.'
      : `${number(counts.critical)} critical, ${number(counts.warning)} with a warning, ${number(counts.new + counts.maintenance)} new or in maintenance.`;
  return tile(
    toneOf(health),
    html`${number(counts.well)}<small> of ${number(present)}</small>`,
    counts.well === 1 ? 'cluster is well' : 'clusters are well',
    detail,
  );
}

function soonTile(ends: readonly CertificateEnd[], now: number): Html {
  const soon = ends.filter(({ at }) => at <= now + SOON_DAYS * DAY_MS);
  const urgent = soon.filter(({ urgency }) => urgency !== 'well');
  const tone = urgent.some(({ urgency }) => urgency === 'critical')
    ? 'critical'
    : urgent.length > 0
      ? 'warning'
      : 'well';
  const renewing = soon.length - urgent.length;
  const detail =
    soon.length === 0
      ? 'The next one is further away.'
      : `${number(urgent.length)} of these groups ${urgent.length === 1 ? 'needs' : 'need'} somebody, ${number(renewing)} ${renewing === 1 ? 'is' : 'are'} still in time.`;
  return tile(
    tone,
    html`${number(soon.length)}`,
    `${soon.length === 1 ? 'certificate group ends' : 'certificate groups end'} within ${SOON_DAYS} days`,
    detail,
  );
}

function refusedTile({ slo, totals }: FleetHealth): Html {
  const hostile = totals.RequestsHostile;
  return tile(
    hostile > 0 ? 'critical' : 'well',
    html`${number(slo.counts.refused)}`,
    `${slo.counts.refused === 1 ? 'request' : 'requests'} refused in 30 days`,
    hostile > 0
      ? `${counted(hostile, 'claim')} in the last ten minutes on what another node owns.`
      : 'None in the last ten minutes claimed what another node owns.',
  );
}

function unseenTile(clusters: readonly ClusterHealth[]): Html {
  const present = clusters.filter(({ state }) => state !== 'gone');
  const unseen = present.filter(({ readable }) => !readable);
  const never = unseen.filter(({ readableAt }) => readableAt === undefined).length;
  const known = unseen.every(({ state }) => state === 'new' || state === 'maintenance');
  return tile(
    unseen.length === 0 ? 'well' : known ? 'new' : 'critical',
    html`${number(unseen.length)}`,
    unseen.length === 1 ? 'cluster is not seen' : 'clusters are not seen',
    unseen.length === 0
      ? 'Every cluster let its requests be listed.'
      : `Nothing is approved there, and nothing is known to be fine; ${never === 0 ? 'each was readable before' : `${number(never)} never ${never === 1 ? 'was' : 'were'}`}.`,
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
