import { MINUTE_MS } from '../../time.ts';
import type { ClusterDetails, Due } from '../cluster-details.ts';
import { data } from './data.ts';
import { type Child, make } from './dom.ts';
import { bar, type Fact, factList, heading, labelledTable, list, runbookLine, soft } from './parts.ts';
import { rolloutPart } from './rollout.ts';
import { localDate, when } from './times.ts';

const SYMBOLS = { critical: '✖ critical', warning: '! warning', info: '· info' };

/** All that the page has of one cluster. */
export function detailsOf(
  details: ClusterDetails | null | undefined,
  id: string,
  isCritical: boolean,
): readonly Child[] {
  if (details === null || details === undefined)
    return [soft('There was no room in this page for the details of this cluster.')];
  const { signals, rollout, ends, findings, moreFindings, verdicts, moreVerdicts, problems, moreProblems } = details;
  return [
    ...list('What to do', signals, ({ story, since, due, command, runbook }) =>
      make(
        'li',
        { class: isCritical ? 'critical' : 'warning' },
        make('b', {}, story),
        make('div', { class: 'soft' }, ...(since ? ['first seen ', when(since)] : []), ...dueAt(due)),
        command !== undefined && make('code', {}, command),
        runbook !== undefined && runbookLine(runbook, `alarms/${runbook}.md`, command),
      ),
    ),
    ...(rollout === undefined ? [] : rolloutPart(rollout)),
    ...(ends === undefined ? [] : [heading('Certificates, by class'), certificates(ends, details)]),
    ...list('Findings of the audit', findings, finding, moreFindings),
    findings === undefined &&
      moreFindings !== undefined &&
      soft(`${moreFindings} ${moreFindings === 1 ? 'finding is' : 'findings are'} not shown here`),
    ...(verdicts === undefined ? [] : [heading('Requests and verdicts'), verdictTable(verdicts)]),
    verdicts !== undefined && moreVerdicts !== undefined && soft(`… and ${moreVerdicts} more in the journal`),
    ...list(
      'Problems of the sweeps',
      problems,
      ({ object, message, remedy, since }) =>
        make(
          'li',
          { class: 'warning' },
          make('b', {}, object),
          ` ${message} `,
          make('small', {}, 'since ', when(since)),
          make('div', {}, remedy),
        ),
      moreProblems,
    ),
    heading('What certmarshal sees'),
    factList(factsOf(details, id)),
    details.cut && soft('Shortened to keep this page small.'),
  ];
}

function dueAt(due: Due | undefined): readonly Child[] {
  if (due === undefined) return [];
  const [at, isChange] = due;
  const verb = isChange ? 'due' : Date.parse(at) > Date.now() ? 'expires' : 'expired';
  return [` · ${verb} `, when(at, 'both')];
}

type Entry<List> = NonNullable<List> extends readonly (infer Item)[] ? Item : never;

function finding(found: Entry<ClusterDetails['findings']>): HTMLElement {
  const { severity, code, count, object, message, since, due, seen, renewal, command, runbook } = found;
  return make(
    'li',
    { class: severity },
    make('b', {}, `${SYMBOLS[severity]} ${code}${count === undefined ? '' : ` ×${count}`}`),
    ` ${message}`,
    make(
      'div',
      { class: 'soft' },
      object,
      ...(since ? [' · first seen ', when(since)] : []),
      ...dueAt(due),
      ...(seen ? [' · last seen ', when(seen)] : []),
      renewal && ` · renewal: ${renewal}`,
    ),
    command !== undefined && make('code', {}, command),
    runbookLine(runbook, `${runbook}.md`, command),
  );
}

const TONES = ['well', 'warning', 'critical'] as const;

function certificates(ends: NonNullable<ClusterDetails['ends']>, { provider }: ClusterDetails): HTMLElement {
  const rows = ends.map(([what, count, life, left, urgency, where]) => {
    const { title = '', renewal } = data.classes[what] ?? {};
    const at = data.at + left * MINUTE_MS;
    const used = Math.min(1, Math.max(0, 1 - (at - Date.now()) / (life * MINUTE_MS)));
    const tone = TONES[urgency] ?? 'well';
    const isExpired = at <= Date.now();
    const [usual, once] = (provider && renewal?.[provider]) ?? [];
    return make(
      'tr',
      {},
      make('th', { scope: 'row' }, title + (count > 1 ? ` ×${count}` : '')),
      make(
        'td',
        { class: 'life' },
        life > 0 ? bar(used, tone, `${Math.floor(used * 100)} % of its life used`) : 'unknown',
      ),
      make(
        'td',
        { class: tone === 'well' ? undefined : tone },
        { well: '', warning: '! ', critical: '✖ ' }[tone],
        isExpired && 'expired ',
        when(at),
        ` · ${localDate(at)}`,
      ),
      make('td', {}, (isExpired && once) || usual || 'not known'),
      make('td', { class: 'soft' }, where),
    );
  });
  return labelledTable(
    'Certificates by class',
    'classes',
    ['Class', 'Life used', 'Expires first', 'Renewed by', 'Where'],
    rows,
  );
}

function verdictTable(verdicts: NonNullable<ClusterDetails['verdicts']>): HTMLElement {
  const rows = verdicts.map(({ at, csr, node, tone, words, reason, message, hostile }) =>
    make(
      'tr',
      {},
      make('td', { class: tone }, words),
      make('th', { scope: 'row' }, node),
      make('td', {}, hostile ? `${reason} (provably hostile)` : reason),
      make('td', {}, message),
      make('td', { class: 'soft' }, csr),
      make('td', {}, when(at)),
    ),
  );
  return labelledTable(
    'Requests and verdicts',
    undefined,
    ['Verdict', 'Node', 'Reason', 'Why', 'Request', 'When'],
    rows,
  );
}

function factsOf(details: ClusterDetails, id: string): readonly Fact[] {
  const { readableAt, incomplete, auditedAt, unread, read, off, partial } = details;
  const { snapshotProblem, maintenance, gone } = details;
  const unchecked = off?.filter((source) => !read?.includes(source)) ?? [];
  const listed = incomplete ? '! listed, but not everything could be read, judged or written' : '✔ listed';
  return [
    readableAt === undefined
      ? ['Requests', listed]
      : readableAt === 'never'
        ? ['Requests', '✖ could never be listed']
        : ['Requests', '✖ cannot be listed; the last time ', when(readableAt, 'both')],
    [
      'Audited',
      auditedAt === undefined ? '! not audited: nothing is known about its certificates' : when(auditedAt, 'both'),
    ],
    unread && ['Not read', `! ${sourceNames(unread)}`],
    read && ['Read', sourceNames(read, off)],
    unchecked.length > 0 && ['Not checked', sourceNames(unchecked)],
    partial && ['Earlier data', '! The audit lacks what was seen earlier'],
    snapshotProblem !== undefined && ['Snapshot', `! ${snapshotProblem}`],
    maintenance && ['Maintenance', 'until ', when(maintenance[0], 'both'), maintenance[1] && `: ${maintenance[1]}`],
    gone !== undefined && ['Gone', 'its source no longer shows it, since ', when(gone, 'both')],
    ['Found by', details.source],
    ['Id', `${id} `, make('a', { href: `#cluster=${encodeURIComponent(id)}` }, 'link to this cluster')],
  ];
}

/** @param inPart those of which some was not read */
function sourceNames(indexes: readonly number[], inPart: readonly number[] = []): string {
  return indexes.map((index) => `${data.sources[index]}${inPart.includes(index) ? ' (in part)' : ''}`).join(', ');
}
