import { printable } from '../../lambdas/printable.ts';
import type { CheckResult, Fix, GroupResult } from '../doctor/check.ts';
import { counted } from '../terminal/plural.ts';
import type { Style } from '../terminal/style.ts';
import { table } from '../terminal/table.ts';
import { hang } from '../terminal/wrap.ts';

/** On a narrower terminal a table has no room for what was found. */
const TABLE_FROM = 120;

/**
 * What the doctor found as people read it: the whole story, one table a group, and below it what to do. A command stands on a line of its
 * own and is never wrapped, so that it can be pasted.
 *
 * @param width columns of the terminal; undefined wraps nothing
 */
export function renderDoctor(groups: readonly GroupResult[], style: Style, width: number | undefined): string {
  return [
    ...hang('', style.strong(story(groups)), width),
    ...groups.flatMap(({ subject, note, checks }) => [
      '',
      ...hang('', style.strong(printable(subject)) + (note === undefined ? '' : `: ${printable(note, 500)}`), width),
      ...renderRows(rows(checks, style), width),
      ...fixes(checks).flatMap(([ids, fix]) => renderFix(ids, fix, style, width)),
    ]),
  ].join('\n');
}

function story(groups: readonly GroupResult[]): string {
  const all = groups.flatMap(({ checks }) => checks);
  const count = (status: CheckResult['status']) => all.filter((check) => check.status === status).length;
  const [failures, warnings, skipped] = [count('failed'), count('warning'), count('skipped')];
  const also = [
    ...(warnings > 0 ? [counted(warnings, 'warning')] : []),
    ...(skipped > 0 ? [`${skipped} not tried`] : []),
  ].map((part) => `, ${part}`);
  const first =
    failures > 0
      ? `${failures} of ${counted(all.length, 'check')} failed`
      : skipped === 0
        ? 'everything works'
        : 'nothing failed';
  return `${first[0]?.toUpperCase()}${first.slice(1)}${also.join('')}.`;
}

const MARKS = { passed: '✔', failed: '✖', warning: '!', skipped: '·' } as const;

type Row = readonly [mark: string, id: string, object: string, found: string];

function renderRows(lines: readonly Row[], width: number | undefined): string[] {
  if (width === undefined || width >= TABLE_FROM) return table(lines, { width });
  return lines.flatMap(([mark, id, object, found]) => {
    const rest = [object, found].filter((text) => text !== '').join(': ');
    return hang(`  ${mark}  `, rest === '' ? id : `${id}  ${rest}`, width);
  });
}

/** One for each check that was tried, and below it one for all that it keeps from being tried. */
function rows(checks: readonly CheckResult[], style: Style): Row[] {
  const skipped = Object.groupBy(checks, ({ status, found }) => (status === 'skipped' ? found : ''));
  return checks
    .filter(({ status }) => status !== 'skipped')
    .flatMap((check): Row[] => {
      const count = skipped[`needs ${check.id}`]?.length ?? 0;
      const needing = style.faint(`${counted(count, 'check')} ${count === 1 ? 'needs' : 'need'} it`);
      return count === 0 ? [row(check, style)] : [row(check, style), [style.faint(MARKS.skipped), needing, '', '']];
    });
}

function row({ id, status, object, found }: CheckResult, style: Style): Row {
  const paint = { passed: style.good, failed: style.bad, warning: style.warn, skipped: style.faint }[status];
  return [paint(MARKS[status]), id, beside(id, printable(object)), printable(found, 500)];
}

/** What the object says more than the id: of a right, its name. */
function beside(id: string, object: string): string {
  return object.replaceAll(/[ /]/g, '-').startsWith(id) ? object.slice(id.length).trim() : object;
}

/** Each repair once, with the checks that it is for. */
function fixes(checks: readonly CheckResult[]): readonly (readonly [ids: readonly string[], fix: Fix])[] {
  const groups = new Map<string, { ids: string[]; fix: Fix }>();
  for (const { id, fix } of checks) {
    if (fix === undefined) continue;
    const key = JSON.stringify(fix);
    const group = groups.get(key) ?? { ids: [], fix };
    group.ids.push(id);
    groups.set(key, group);
  }
  return [...groups.values()].map(({ ids, fix }) => [ids, fix]);
}

function renderFix(ids: readonly string[], { text, command }: Fix, style: Style, width: number | undefined): string[] {
  return [
    '',
    ...hang('  → ', `${style.strong(ids.join(', '))}: ${printable(text, 1000)}`, width),
    ...(command === undefined ? [] : [`      ${printable(command, 2000)}`]),
  ];
}
