/** Commands that version 0.1 ended, and what to do in place of each. */
export const REMOVED_COMMANDS: Readonly<Record<string, string>> = {
  cost: 'docs/cost.md has what certmarshal costs a month.',
  assess: 'certmarshal audit --output json prints the findings of a cluster.',
  journal: 'read the journal with jq or Athena: docs/journal.md.',
  recovery:
    'use certmarshal sweep --yes --recover NODE --until TIME, or name the nodes in fleet.yaml: certmarshal runbook recovery',
};

/** Options and their values that version 0.1 ended, as they stand on a command line. */
export const REMOVED_OPTIONS: readonly (readonly [given: RegExp, message: string])[] = [
  [
    /^(?:audit|report) (?:.* )?--snapshots\b/,
    '--snapshots is gone: the hub remembers what its audits saw, and certmarshal report --bucket NAME shows it.',
  ],
  [/^sweep (?:.* )?--observe\b/, '--observe is gone: certmarshal sweep writes nothing without --yes.'],
  [
    /^audit (?:.* )?(?:--output|-o)[ =]?csv\b/,
    "--output csv is gone: certmarshal audit --output json | jq -r '.certificates[] | [.what, .where, .notAfter] | @csv'",
  ],
  [
    /^audit (?:.* )?(?:--output|-o)[ =]?openmetrics\b/,
    '--output openmetrics is gone: the hub publishes metrics to CloudWatch (docs/metrics.md), and certmarshal audit --output json has the findings for jq.',
  ],
];
