import { type ClusterHealth, warningsOf } from '../health/fleet-health.ts';
import { CERTIFICATE_CLASSES } from '../tables/certificate-classes.ts';
import { messageOf } from '../words/findings.ts';
import { type Html, html } from './html.ts';
import { provenOf } from './proven-bar.ts';
import { cut, number, stateWords, timeTag } from './words.ts';

const COLUMNS = ['Cluster', 'State', 'What is wrong', 'Expires first', 'Proven', 'Swept'] as const;

export function clusterColumns(): readonly Html[] {
  return COLUMNS.map((title) => html`<th scope="col">${title}</th>`);
}

/** One line of the table. Short: a page has a thousand of them. @param now milliseconds since the epoch */
export function clusterRow(cluster: ClusterHealth, now: number): Html {
  const { id, name, state, audit, sweptAt } = cluster;
  const first = audit?.ends.reduce<(typeof audit.ends)[number] | undefined>(
    (best, next) => (best === undefined || Date.parse(next.notAfter) < Date.parse(best.notAfter) ? next : best),
    undefined,
  );
  return html`<tr class="${state}"><th scope="row">${cut(name, 100)}${id !== name && html`<small>${cut(id, 310)}</small>`}</th><td>${stateWords(cluster)}</td><td>${about(cluster, now)}</td><td>${
    first === undefined
      ? 'unknown'
      : html`${timeTag(first.notAfter, 'date')} <small>${CERTIFICATE_CLASSES[first.what].title}</small>`
  }</td><td>${audit?.issued === undefined ? '–' : provenOf(audit.issued)}</td><td>${sweptAt === undefined ? 'never' : timeTag(sweptAt)}</td></tr>
`;
}

function about(cluster: ClusterHealth, now: number): Html | string {
  const { state, audit, maintenance, goneSince } = cluster;
  const [worst, ...others] = problemsOf(cluster, now);
  const more = Math.max(others.length, state === 'noted' && audit !== undefined ? warningsOf(audit) - 1 : 0);
  if (worst !== undefined) return html`${cut(worst, 240)}${more > 0 && html` <small>+${number(more)} more</small>`}`;
  if (maintenance !== undefined) return html`planned, ends ${timeTag(maintenance.until)}`;
  if (state === 'gone')
    return html`no longer there${goneSince !== undefined && html` since ${timeTag(goneSince, 'date')}`}`;
  if (state === 'noted') return requestWords(cluster);
  return state === 'new' ? notKnown(cluster) : 'nothing';
}

/** Problems of a cluster, the worst first: signals of alarms, else why it is unreadable, else warnings of its audit. */
export function problemsOf({ id, signals, findings, audit, state }: ClusterHealth, now: number): readonly string[] {
  if (signals.length > 0) return signals.map(({ story }) => story);
  if (state !== 'noted' && state !== 'new') return [];
  const problems = findings.map(({ object, message }) => (object === id ? message : `${object}: ${message}`));
  const warnings = (audit?.findings ?? []).filter(({ severity }) => severity !== 'info');
  return state === 'new' ? problems : [...problems, ...warnings.map((finding) => messageOf(finding, now))];
}

/** What a sweep that observes would do. */
function requestWords(cluster: ClusterHealth): string {
  const { approved, denied, left } = wouldBe(cluster);
  if (approved + denied + left === 0) return 'nothing to approve';
  return [
    `${number(approved)} would be approved`,
    ...(denied > 0 ? [`${number(denied)} would be denied`] : []),
    `${number(left)} not approved`,
  ].join(', ');
}

/** How many pending requests a sweep would decide, and how many not. */
function wouldBe({ requests, verdicts }: Pick<ClusterHealth, 'requests' | 'verdicts'>) {
  const { wouldWrite = 0, left = 0 } = requests ?? {};
  const denied = verdicts.filter(({ verdict, outcome }) => verdict === 'deny' && outcome === 'observed').length;
  return { approved: Math.max(0, wouldWrite - denied), denied, left };
}

/** Why a cluster without problems is not healthy. */
function notKnown({ sweptAt, audit }: ClusterHealth): string {
  if (sweptAt === undefined) return 'not swept yet';
  return audit === undefined ? 'not audited yet' : 'not read completely yet';
}
