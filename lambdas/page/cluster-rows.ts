import { type ClusterHealth, warningsOf } from '../health/fleet-health.ts';
import { CERTIFICATE_CLASSES } from '../tables/certificate-classes.ts';
import { type Html, html } from './html.ts';
import type { Basis, Known } from './known.ts';
import { provenOf } from './proven-bar.ts';
import { counted, cut, number, shownState, stateWords, timeTag } from './words.ts';

const COLUMNS = ['Cluster', 'State', 'What is wrong', 'Expires first', 'Proven', 'Swept'] as const;
type Column = (typeof COLUMNS)[number];

/** Columns that are empty in every row of a page. */
const HIDDEN: Readonly<Record<Basis, readonly Column[]>> = {
  hub: [],
  audits: [],
  sweep: ['Expires first', 'Proven'],
};

export function clusterColumns({ basis }: Known): readonly Html[] {
  return COLUMNS.map(
    (title) =>
      html`<th scope="col"${hidden(title, basis)}>${title === 'Swept' && basis === 'audits' ? 'Audited' : title}</th>`,
  );
}

/** One line of the table. Short: a page has a thousand of them. */
export function clusterRow(cluster: ClusterHealth, known: Known): Html {
  const { id, name, state, audit } = cluster;
  const { basis } = known;
  const first = audit?.ends.reduce<(typeof audit.ends)[number] | undefined>(
    (best, next) => (best === undefined || Date.parse(next.notAfter) < Date.parse(best.notAfter) ? next : best),
    undefined,
  );
  return html`<tr class="${shownState(state, basis)}"><th scope="row">${cut(name, 100)}${id !== name && html`<small>${cut(id, 310)}</small>`}</th><td>${stateWords(cluster, basis)}</td><td>${about(cluster, known)}</td><td${hidden('Expires first', basis)}>${
    first === undefined
      ? 'unknown'
      : html`${timeTag(first.notAfter, 'date')} <small>${CERTIFICATE_CLASSES[first.what].title}</small>`
  }</td><td${hidden('Proven', basis)}>${audit?.issued === undefined ? '–' : provenOf(audit.issued.counts)}</td><td>${lookedAt(cluster, known)}</td></tr>
`;
}

function hidden(column: Column, basis: Basis): Html | false {
  return HIDDEN[basis].includes(column) && html` hidden`;
}

/** When it was swept, or audited if it never is swept. */
function lookedAt({ sweptAt, audit }: ClusterHealth, { basis, unread }: Known): Html | string {
  if (basis === 'audits')
    return audit === undefined || audit.sources.read.length === 0 ? 'not read' : timeTag(audit.auditedAt);
  if (sweptAt !== undefined) return timeTag(sweptAt);
  return unread.length > 0 ? 'unknown' : basis === 'hub' ? 'never' : 'not read';
}

function about(cluster: ClusterHealth, known: Known): Html | string {
  const { state, audit, maintenance, goneSince } = cluster;
  const { basis } = known;
  if (state === 'new' && basis === 'audits' && (audit?.sources.unread.length ?? 0) > 0 && cluster.readable)
    return notKnown(cluster, known);
  const [worst, ...others] = troublesOf(cluster);
  const more = Math.max(others.length, state === 'noted' && audit !== undefined ? warningsOf(audit) - 1 : 0);
  if (worst !== undefined) return html`${cut(worst, 240)}${more > 0 && html` <small>+${number(more)} more</small>`}`;
  if (maintenance !== undefined) return html`planned, ends ${timeTag(maintenance.until)}`;
  if (state === 'gone')
    return html`no longer there${goneSince !== undefined && html` since ${timeTag(goneSince, 'date')}`}`;
  if (basis === 'sweep' || state === 'noted') return requestWords(cluster);
  return state === 'new' ? notKnown(cluster, known) : 'nothing';
}

/** Problems of a cluster, the worst first: signals of alarms, else why it is unreadable, else warnings of its audit. */
export function troublesOf({ id, signals, findings, audit, state }: ClusterHealth): readonly string[] {
  if (signals.length > 0) return signals.map(({ story }) => story);
  if (state !== 'noted' && state !== 'new') return [];
  const problems = findings.map(({ object, message }) =>
    object === id || message.includes(object) ? message : `${object}: ${message}`,
  );
  const warnings = audit?.findings.filter(({ severity }) => severity !== 'info').map(({ message }) => message) ?? [];
  return state === 'new' ? problems : [...problems, ...warnings];
}

/** The result of a dry run of sweep, in the words of the terminal. */
export function requestWords(cluster: ClusterHealth): string {
  const { approved, denied, left } = wouldBe(cluster);
  if (approved + denied + left === 0) return 'nothing to approve';
  return [
    `${number(approved)} would be approved`,
    ...(denied > 0 ? [`${number(denied)} would be denied`] : []),
    `${number(left)} not approved`,
  ].join(', ');
}

/** How many pending requests a sweep would decide, and how many not. */
export function wouldBe({ requests, verdicts }: Pick<ClusterHealth, 'requests' | 'verdicts'>) {
  const { wouldWrite = 0, left = 0 } = requests ?? {};
  const denied = verdicts.filter(({ verdict, outcome }) => verdict === 'deny' && outcome === 'observed').length;
  return { approved: Math.max(0, wouldWrite - denied), denied, left };
}

/** Why a cluster without problems is not healthy. */
function notKnown({ sweptAt, audit }: ClusterHealth, { basis, unread }: Known): string {
  if (unread.length > 0) return 'unknown';
  if (basis === 'hub')
    return sweptAt === undefined
      ? 'not swept yet'
      : audit === undefined
        ? 'not audited yet'
        : 'not read completely yet';
  if (audit === undefined) return 'its snapshot cannot be read';
  const sources = audit.sources.unread.length;
  return sources > 0
    ? `its audit could not read ${counted(sources, 'source')}`
    : 'its audit could not list its requests';
}
