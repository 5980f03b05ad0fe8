import { printable } from '../../lambdas/printable.ts';
import { counted } from '../../lambdas/words.ts';
import type { CheckResult, Fix, GroupResult } from '../doctor/check.ts';
import { hang, type Lines, table } from '../terminal/draw.ts';
import { bad, faint, good, strong, warn } from '../terminal/paint.ts';
import { joined, sentence } from '../terminal/words.ts';

/** A narrower terminal has no room for the results in a table. Columns. */
const TABLE_FROM = 120;

/**
 * The results of doctor for people: a summary, one table per group, and the remedies below it. A command has its own
 * line and is never wrapped, so that it can be pasted.
 */
export function doctorLines(groups: readonly GroupResult[]): Lines {
  return [
    hang('', strong(story(groups))),
    groups.map(({ subject, note, checks }) => [
      '',
      hang('', strong(printable(subject)) + (note === undefined ? '' : `: ${printable(note, 500)}`)),
      table(rows(checks), TABLE_FROM),
      fixes(checks).map(([ids, fix]) => fixLines(ids, fix)),
    ]),
  ];
}

function story(groups: readonly GroupResult[]): string {
  const all = groups.flatMap(({ checks }) => checks);
  const count = (status: CheckResult['status']) => all.filter((check) => check.status === status).length;
  const [failures, warnings, skipped] = [count('failed'), count('warning'), count('skipped')];
  const first =
    failures > 0
      ? `${failures} of ${counted(all.length, 'check')} failed`
      : skipped === 0
        ? 'everything works'
        : 'nothing failed';
  const told = [sentence(first), warnings > 0 && counted(warnings, 'warning'), skipped > 0 && `${skipped} not tried`];
  return `${joined(told)}.`;
}

const MARKS = { passed: '✔', failed: '✖', warning: '!', skipped: '·' } as const;

type Row = readonly [mark: string, id: string, object: string, found: string];

/** One row per check that ran, followed by one for all checks that it blocks. */
function rows(checks: readonly CheckResult[]): Row[] {
  const skipped = Object.groupBy(checks, ({ status, found }) => (status === 'skipped' ? found : ''));
  return checks
    .filter(({ status }) => status !== 'skipped')
    .flatMap((check): Row[] => {
      const count = skipped[`needs ${check.id}`]?.length ?? 0;
      const needing = faint(`${counted(count, 'check')} ${count === 1 ? 'needs' : 'need'} it`);
      const own = row(check);
      return count === 0 ? [own] : [own, [faint(MARKS.skipped), needing, '', '']];
    });
}

function row({ id, status, object, found }: CheckResult): Row {
  const paint = { passed: good, failed: bad, warning: warn, skipped: faint }[status];
  return [paint(MARKS[status]), id, printable(object), printable(found, 500)];
}

/** Each fix once, with the checks that it is for. */
function fixes(checks: readonly CheckResult[]): readonly (readonly [ids: readonly string[], fix: Fix])[] {
  const fixed = checks.flatMap(({ id, fix }) => (fix === undefined ? [] : [{ id, fix }]));
  return [...Map.groupBy(fixed, ({ fix }) => JSON.stringify(fix)).values()].map((same) => [
    same.map(({ id }) => id),
    same[0]?.fix ?? { text: '' },
  ]);
}

function fixLines(ids: readonly string[], { text, command }: Fix): Lines {
  return [
    '',
    hang('  → ', `${strong(ids.join(', '))}: ${printable(text, 1000)}`),
    command !== undefined && `      ${printable(command, 2000)}`,
  ];
}
