import type { ClusterState } from '../tables/cluster-states.ts';
import { type Html, html } from './html.ts';

/** Symbol and word of each state; the colour comes from the class of the same name. */
export const STATE_WORDS: Readonly<Record<ClusterState, { readonly symbol: string; readonly word: string }>> = {
  critical: { symbol: '✖', word: 'critical' },
  warning: { symbol: '!', word: 'warning' },
  new: { symbol: '○', word: 'new' },
  maintenance: { symbol: '◐', word: 'maintenance' },
  well: { symbol: '✔', word: 'healthy' },
  gone: { symbol: '–', word: 'gone' },
};

/** `1 cluster`, `1,204 clusters`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** `1,204`. */
export function number(count: number): string {
  return String(count).replaceAll(/(?<=\d)(?=(?:\d{3})+$)/g, ',');
}

/**
 * A time for a reader without a script, in UTC; the script makes the reader's own of it.
 *
 * @param style how much of it: `date` in a table
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
