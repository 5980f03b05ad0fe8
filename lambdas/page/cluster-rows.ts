import type { ClusterHealth } from '../health/fleet-health.ts';
import { CERTIFICATE_CLASSES } from '../tables/certificate-classes.ts';
import { percent } from '../words.ts';
import { type Html, html } from './html.ts';
import { provenOf } from './proven-bar.ts';
import type { Known } from './unknown.ts';
import { counted, number, STATE_WORDS, timeTag } from './words.ts';

/** One line of the table. Short: a page has a thousand of them. */
export function clusterRow(cluster: ClusterHealth, known: Known): Html {
  const { id, name, state, audit, slo, sweptAt } = cluster;
  const { symbol, word } = STATE_WORDS[state];
  const first = audit?.ends.reduce<(typeof audit.ends)[number] | undefined>(
    (best, next) => (best === undefined || Date.parse(next.notAfter) < Date.parse(best.notAfter) ? next : best),
    undefined,
  );
  return html`<tr class="${state}"><th scope="row">${name.slice(0, 100)}${id !== name && html`<small>${id.slice(0, 310)}</small>`}</th><td>${symbol} ${word}</td><td>${about(cluster, known)}</td><td>${
    first === undefined
      ? 'unknown'
      : html`${timeTag(first.notAfter, 'date')} <small>${CERTIFICATE_CLASSES[first.what].title}</small>`
  }</td><td>${audit?.issued === undefined ? '–' : provenOf(audit.issued.counts)}</td><td>${slo.attainment === undefined ? '–' : percent(slo.attainment)}</td><td>${sweptAt === undefined ? (known.unread.length > 0 ? 'unknown' : 'never') : timeTag(sweptAt)}</td></tr>
`;
}

function about(
  { state, signals, maintenance, goneSince, audit }: ClusterHealth,
  { basis, unread }: Known,
): Html | string {
  const unknown = audit?.sources.unread.length ?? 0;
  if (state === 'new' && basis === 'snapshots' && unknown > 0)
    return `its audit could not read ${counted(unknown, 'source')}`;
  const [worst] = signals;
  if (worst !== undefined) {
    const more = signals.length - 1;
    return html`${worst.story.slice(0, 240)}${more > 0 && html` <small>+${number(more)} more</small>`}`;
  }
  if (maintenance !== undefined) return html`planned, ends ${timeTag(maintenance.until)}`;
  if (state === 'gone')
    return html`no longer there${goneSince !== undefined && html` since ${timeTag(goneSince, 'date')}`}`;
  if (state !== 'new') return 'nothing';
  if (unread.length > 0) return 'unknown';
  if (basis === 'sweeps') return 'not swept yet';
  return audit === undefined ? 'its snapshot cannot be read' : 'its audit could not list its requests';
}
