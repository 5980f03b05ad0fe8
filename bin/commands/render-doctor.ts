import { printable } from '../../lambdas/printable.ts';
import type { CheckResult, Fix, GroupResult } from '../doctor/check.ts';
import { counted } from '../terminal/plural.ts';
import type { Style } from '../terminal/style.ts';
import { table } from '../terminal/table.ts';
import { hang } from '../terminal/wrap.ts';

/**
 * What the doctor found as people read it: the whole story, one table a group, and below it what to do. A command stands on a line of its
 * own and is never wrapped, so that it can be pasted.
 *
 * @param width columns of the terminal; undefined wraps nothing
 */
export function renderDoctor(groups: readonly GroupResult[], style: Style, width: number | undefined): string {
  return [
    ...hang('', style.strong(story(groups)), width),
    ...groups.flatMap(({ subject, checks }) => [
      '',
      ...hang('', style.strong(printable(subject)), width),
      ...table(
        checks.map((check) => row(check, style)),
        { width, stackBelow: 80 },
      ),
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
  const first = failures === 0 ? 'everything works' : `${failures} of ${counted(all.length, 'check')} failed`;
  return `${first[0]?.toUpperCase()}${first.slice(1)}${also.join('')}.`;
}

const MARKS = { passed: '✔', failed: '✖', warning: '!', skipped: '·' } as const;

function row({ status, title, object, found }: CheckResult, style: Style): string[] {
  const paint = { passed: style.good, failed: style.bad, warning: style.warn, skipped: style.faint }[status];
  const shown = printable(found, 500);
  return [
    paint(MARKS[status]),
    title,
    printable(object),
    status === 'skipped' ? style.faint(`skipped: ${shown}`) : shown,
  ];
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
