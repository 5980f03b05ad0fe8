import { REASONS, RECOVERY_REASONS } from '../../../lambdas/tables/reasons.ts';
import { FAILURES } from './failures.ts';

const line = (...cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
const code = (text: string): string => `\`${text}\``;

/** The tables of reasons in `docs/verdicts.md`: of what is not approved, with the rules that fail, and of the rest, about which there is little to do. The runbook of a recovery has its own. */
export function reasonsTable(): string {
  const entries = Object.entries(REASONS).filter(([reason]) => !(reason in RECOVERY_REASONS));
  return [
    line('Not approved: rule', 'Meaning', 'What to do'),
    '|---|---|---|',
    ...entries.flatMap(([reason, { verdict, meaning, next }]) =>
      verdict === 'leave' ? line(code(reason) + rulesOf(reason), meaning, link(next)) : [],
    ),
    '',
    line('Ignored, approved', 'Meaning'),
    '|---|---|',
    ...entries.flatMap(([reason, { verdict, meaning, next }]) =>
      verdict === 'leave' ? [] : line(code(reason), next === '' ? meaning : `${meaning} ${next}`),
    ),
  ].join('\n');
}

/** The rules that fail with a reason, and whether no honest kubelet makes them fail. */
function rulesOf(reason: string): string {
  const failures = FAILURES.filter((failure) => failure.reason === reason);
  if (failures.length === 0) return '';
  const rules = [...new Set(failures.map(({ rule }) => code(rule)))].join(', ');
  if (failures.every(({ hostile }) => hostile)) return `: ${rules}, hostile`;
  return failures.some(({ hostile }) => hostile) ? `: ${rules}, can be hostile` : `: ${rules}`;
}

/** A runbook is linked, a sentence stands as it is. */
function link(next: string): string {
  return next.replace(/^certmarshal runbook (\S+)$/, '[runbooks/$1.md](runbooks/$1.md)');
}
