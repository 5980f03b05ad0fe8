import { COMMANDS } from '../../../lambdas/audit/commands.ts';
import { FINDING_CODES, type FindingCode, runbookOf, type Severity } from '../../../lambdas/tables/finding-codes.ts';

const EXAMPLES = {
  cluster: 'CLUSTER',
  provider: 'eks-anywhere',
  where: 'HOST:6443',
  node: 'NODE',
  signer: 'kubernetes.io/kubelet-serving',
  request: 'CSR',
  nodegroup: 'NODEGROUP',
  authority: 'ID',
} as const;

/** The table of `docs/findings.md`. */
export function findingsTable(): string {
  const rows = Object.entries<{ severities: readonly Severity[]; meaning: string }>(FINDING_CODES).map(
    ([code, { severities, meaning }]) => {
      const known = code as FindingCode;
      const runbook = runbookOf(known).replace('docs/', '');
      const command = COMMANDS[known](EXAMPLES).replaceAll('|', String.raw`\|`);
      return `| [${code}](${runbook}) | ${severities.join(', ')} | ${meaning} | \`${command}\` |`;
    },
  );
  return ['| Finding | Severity | Meaning | Begin with |', '| --- | --- | --- | --- |', ...rows].join('\n');
}
