import {
  FINDING_CODES,
  type FindingCode,
  runbookOf,
  SEVERITIES,
  type Severity,
} from '../../../lambdas/tables/finding-codes.ts';

/** The table of `docs/findings.md`: the codes of each severity. */
export function findingsTable(): string {
  const entries = Object.entries<{ severities: readonly Severity[] }>(FINDING_CODES);
  const bySeverity = Map.groupBy(entries, ([, { severities }]) => severities.join(' or '));
  const worstFirst = SEVERITIES.flatMap((worst, at) => [
    worst,
    ...SEVERITIES.slice(at + 1).map((mild) => `${worst} or ${mild}`),
    SEVERITIES.slice(at).join(' or '),
  ]);
  const rows = [...bySeverity]
    .toSorted(([a], [b]) => worstFirst.indexOf(a) - worstFirst.indexOf(b))
    .map(([severity, codes]) => {
      const links = codes.map(([code]) => `[${code}](${runbookOf(code as FindingCode).replace('docs/', '')})`);
      return `| ${severity} | ${links.join(', ')} |`;
    });
  return ['| Severity | Findings |', '|---|---|', ...rows].join('\n');
}
