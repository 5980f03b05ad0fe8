import type { ClusterHealth } from '../health/fleet-health.ts';
import type { ClusterState } from '../tables/cluster-states.ts';
import { type Html, html } from './html.ts';

const STATE_WORDS: Readonly<Record<ClusterState, string>> = {
  critical: '✖ critical',
  warning: '! warning',
  noted: '! warning, no alarm',
  new: '○ new',
  maintenance: '◐ maintenance',
  well: '✔ healthy',
  gone: '– gone',
};

/** Symbol and word of the state of a cluster; the colour comes from the class of the state. */
export function stateWords({
  state,
  readable,
  sweptAt,
}: Pick<ClusterHealth, 'state' | 'readable' | 'sweptAt'>): string {
  return state === 'new' && !readable && sweptAt !== undefined ? '○ not read' : STATE_WORDS[state];
}

/** Cuts a text to the room, between two words if possible. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const head = text.slice(0, most - 1);
  const space = head.lastIndexOf(' ');
  return `${(space > most / 2 ? head.slice(0, space) : head).replace(/[\s,;:(]+$/, '')}…`;
}

/** As long as any text of a page. */
const LONGEST_REMEDY = 600;

/** Cuts a remedy to the room, after a sentence if possible: half of one may say the opposite. */
export function cutRemedy(remedy: string): string {
  if (remedy.length <= LONGEST_REMEDY) return remedy;
  const end = remedy.slice(0, LONGEST_REMEDY).lastIndexOf('. ');
  return end < 0 ? cut(remedy, LONGEST_REMEDY) : remedy.slice(0, end + 1);
}

/** `1 cluster`, `1,204 clusters`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** `1,204`. */
export function number(count: number): string {
  return String(count).replaceAll(/(?<=\d)(?=(?:\d{3})+$)/g, ',');
}

/**
 * A time in UTC for a reader without a script; the script converts it to local time.
 *
 * @param style length: `date` in a table
 */
export function timeTag(at: string, style: 'time' | 'date' = 'time'): Html {
  const time = Date.parse(at);
  if (Number.isNaN(time)) return html`${at}`;
  const iso = new Date(time).toISOString();
  const text = style === 'date' ? iso.slice(0, 10) : `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
  return html`<time datetime="${iso.slice(0, 16)}Z">${text}</time>`;
}

/** Opens a cluster in this page. Lone surrogates cannot be encoded. */
export function linkTo(id: string): string {
  return `#cluster=${encodeURIComponent(id.toWellFormed())}`;
}

/** Clusters that are named; the rest is counted. */
const NAMED = 2;

/** The first ones by name, each with its link. */
export function names(clusters: readonly Pick<ClusterHealth, 'id' | 'name'>[]): Html {
  const more = clusters.length - NAMED;
  return html`${clusters.slice(0, NAMED).map(({ id, name }, index) => html`${index > 0 && ', '}<a href="${linkTo(id)}">${cut(name, 60)}</a>`)}${more > 0 && ` and ${number(more)} more`}`;
}
