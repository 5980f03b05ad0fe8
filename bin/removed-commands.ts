/** Commands that version 0.1 ended, and what to do in place of each. */
export const REMOVED_COMMANDS: Readonly<Record<string, string>> = {
  cost: 'docs/cost.md has what certmarshal costs a month.',
  assess: 'certmarshal audit --output json prints the findings of a cluster.',
  journal: 'read the journal with jq or Athena: docs/journal.md.',
  report:
    'the page of a hub is report.html in its state bucket: aws s3 presign s3://BUCKET/report.html; certmarshal audit and run write the one of your own clusters.',
  sweep: 'certmarshal run takes its options, and makes the whole minute of the hub.',
  recovery:
    'use certmarshal run --yes --recover NODE --until TIME, or name the nodes in fleet.yaml: certmarshal runbook recovery',
};

/** Options and their values that version 0.1 ended, as they stand on a command line. */
export const REMOVED_OPTIONS: readonly (readonly [given: RegExp, message: string])[] = [
  [
    /^audit (?:.* )?--snapshots\b/,
    '--snapshots is gone: certmarshal audit --state DIRECTORY remembers what audits saw.',
  ],
  [/^rollout (?:start|status) (?:.* )?--watch\b/, '--watch is gone: certmarshal rollout status shows progress.'],
  [
    /^rollout drive\b/,
    'certmarshal rollout drive is gone: a hub continues a rollout, or certmarshal run --every 1m --yes; with external etcd certmarshal rollout start --yes makes the next write.',
  ],
  [
    /^rollout resume\b/,
    'certmarshal rollout resume is gone: kubectl removes a hold: kubectl -n NAMESPACE annotate kubeadmcontrolplanes.controlplane.cluster.x-k8s.io NAME certmarshal.dev/rollout-hold-',
  ],
  [/^credentials create (?:.* )?--hints\b/, '--hints is gone: use --webhook, whose manifest replaces that of hints.'],
  [
    /^audit (?:.* )?(?:--output|-o)[ =]?csv\b/,
    "--output csv is gone: certmarshal audit --output json | jq -r '.certificates[] | [.what, .where, .notAfter] | @csv'",
  ],
  [
    /^audit (?:.* )?(?:--output|-o)[ =]?openmetrics\b/,
    '--output openmetrics is gone: the hub publishes metrics to CloudWatch (docs/metrics.md), and certmarshal audit --output json has the findings for jq.',
  ],
];
