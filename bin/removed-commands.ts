/** Commands that version 0.1 ended, and what to do in place of each. */
export const REMOVED_COMMANDS: Readonly<Record<string, string>> = {
  cost: 'docs/cost.md has what certmarshal costs a month.',
  assess: 'audit --output json prints the findings of a cluster.',
  journal: 'read the journal with jq or Athena: docs/journal.md.',
  recovery:
    'use sweep --yes --recover NODE --until TIME, or name the nodes in fleet.yaml: certmarshal runbook recovery',
};
