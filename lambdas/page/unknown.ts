import type { ClusterHealth, FleetHealth } from '../health/fleet-health.ts';
import { type Html, html } from './html.ts';
import { counted, cut, cutRemedy, linkTo, number, timeTag } from './words.ts';

const NAMED = 3;

/** What is unknown: the number of every question, zeros included. */
export function unknown({ clusters, problems }: FleetHealth): Html {
  const present = clusters.filter(({ state }) => state !== 'gone');
  const gone = clusters.filter(({ state }) => state === 'gone');
  const unread = present.filter(({ readable, readableAt }) => !readable && readableAt !== undefined);
  const never = present.filter(({ readableAt, readable }) => !readable && readableAt === undefined);
  const unaudited = present.filter(({ audit }) => audit === undefined);
  const lost = present.filter(({ signals }) => signals.some(({ id }) => id === 'CoverageLost'));
  const sources = present.filter(({ audit }) => (audit?.sources.unread.length ?? 0) > 0);
  const forgetful = present.filter(({ audit }) => audit?.snapshotProblem !== undefined);
  const off = present.filter(({ audit }) => (audit?.sources.off.length ?? 0) > 0);
  return html`<section class="unknown" aria-labelledby="unknown"><h2 id="unknown">What is not known</h2>
<ul>${[
    clusterLine('bad', unread, 'cannot be read now', 'cannot be read now'),
    clusterLine('bad', never, 'was never read', 'were never read'),
    clusterLine('odd', unaudited, 'is not audited yet', 'are not audited yet'),
    clusterLine('bad', lost, 'lost sight of what was seen before', 'lost sight of what was seen before'),
    clusterLine('odd', sources, 'has sources that could not be read', 'have sources that could not be read'),
    clusterLine('odd', forgetful, 'lacks earlier data', 'lack earlier data'),
    problemLine(problems.length),
    clusterLine('quiet', off, 'has sources that are not checked', 'have sources that are not checked'),
    clusterLine('quiet', gone, 'is no longer found', 'are no longer found'),
  ]}</ul>
${ages(present)}</section>`;
}

type Weight = 'bad' | 'odd' | 'quiet';

function clusterLine(weight: Weight, clusters: readonly ClusterHealth[], one: string, many: string): Html {
  const count = clusters.length;
  const names = weight === 'quiet' ? [] : clusters.slice(0, NAMED);
  const more = count - names.length;
  return html`<li class="${count === 0 ? 'none' : weight}">${mark(weight, count)} <b>${number(count)}</b> ${count === 1 ? one : many}${
    names.length > 0 &&
    html`<span class="names">${names.map(({ id, name }) => html` <a href="${linkTo(id)}">${cut(name, 60)}</a>`)}${more > 0 && html` and ${number(more)} more`}</span>`
  }</li>`;
}

function problemLine(count: number): Html {
  const what = 'of the discovery';
  return html`<li class="${count === 0 ? 'none' : 'odd'}">${mark('odd', count)} ${count > 0 ? html`<a href="#discovery"><b>${number(count)}</b> ${count === 1 ? 'problem' : 'problems'} ${what}</a>` : html`<b>0</b> problems ${what}`}</li>`;
}

function mark(weight: Weight, count: number): Html {
  const symbol = count === 0 ? '✔' : weight === 'bad' ? '✖' : weight === 'odd' ? '!' : '·';
  return html`<i aria-hidden="true">${symbol}</i>`;
}

/** The age of the oldest data of each part. */
function ages(present: readonly ClusterHealth[]): Html {
  const swept = oldest(present.map(({ sweptAt }) => sweptAt));
  const audited = oldest(present.map(({ audit }) => audit?.auditedAt));
  return html`<p class="ages">Oldest sweep: ${swept === undefined ? 'none yet' : timeTag(swept)}. Oldest audit: ${audited === undefined ? 'none yet' : timeTag(audited)}.</p>`;
}

function oldest(times: readonly (string | undefined)[]): string | undefined {
  return times
    .filter((time) => time !== undefined)
    .reduce<string | undefined>(
      (first, time) => (first === undefined || Date.parse(time) < Date.parse(first) ? time : first),
      undefined,
    );
}

const SHOWN_PROBLEMS = 10;

export function discovery(problems: FleetHealth['problems']): Html | undefined {
  if (problems.length === 0) return undefined;
  const more = problems.length - SHOWN_PROBLEMS;
  return html`<section id="discovery" aria-labelledby="discovery-title" tabindex="-1"><h2 id="discovery-title">Problems of the discovery</h2>
<p>A cluster that cannot be found is not watched. ${counted(problems.length, 'problem')}:</p>
<ul class="problems">${problems
    .slice(0, SHOWN_PROBLEMS)
    .map(
      ({ object, message, remedy, since }) =>
        html`<li><b>${cut(object, 200)}</b> ${cut(message, 300)} <small>since ${timeTag(since)}</small><br>${cutRemedy(remedy)}</li>`,
    )}</ul>${more > 0 && html`<p>… and ${number(more)} more</p>`}</section>`;
}
