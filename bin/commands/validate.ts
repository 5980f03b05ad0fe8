import type { ApprovalPolicy } from '../../lambdas/approval/policy.ts';
import { parseFleet } from '../../lambdas/config/load-fleet.ts';
import { formatProblems } from '../../lambdas/config/problems.ts';
import { printable } from '../../lambdas/printable.ts';
import { counted } from '../../lambdas/words.ts';
import { deployWarnings } from '../../lib/deploy-checks.ts';
import { type Register, withOutput } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { type Io, PROCESS, printJson } from '../io.ts';
import { joined } from '../terminal/words.ts';
import { readTextFile } from '../text-file.ts';

const MEANINGS: Readonly<Record<ApprovalPolicy['mode'], string>> = {
  observe: 'writes nothing',
  enforce: 'approves proven requests',
};

const DEFAULT_FILE = 'fleet.yaml';

export const register: Register = (command, { program: name, run }) => {
  withOutput(
    command.argument('[file]', 'the fleet.yaml to check', DEFAULT_FILE),
    'table: a line for each problem; json for programs',
  )
    .addHelpText(
      'after',
      `
Each problem and warning has its line and column, and what to write instead.

Examples:
  ${name} validate
  ${name} validate examples/organization.yaml
  ${name} validate fleet.yaml --output json

Exit status:
  0  the file can be deployed
  2  the file cannot be deployed, it cannot be read, or wrong usage`,
    )
    .action(
      run((file: string, { output }: { readonly output: 'table' | 'json' }) => validateCommand(file, output, PROCESS)),
    );
};

/**
 * Checks a fleet.yaml as a deployment does, with the same warnings.
 *
 * @returns the exit status: `usage` if a problem prevents the deployment
 * @throws UsageError if the file cannot be read
 */
export async function validateCommand(file: string, output: 'table' | 'json', io: Io): Promise<number> {
  const parsed = parseFleet(await readTextFile(file), printable(file));
  const problems = parsed.ok ? [] : parsed.problems;
  const warnings = parsed.ok ? parsed.located(deployWarnings(parsed.fleet, io.clock())) : [];
  if (output === 'json') printJson(io, { version: 1, file, valid: parsed.ok, problems, warnings });
  else if (!parsed.ok) io.stderr.write(`${formatProblems(problems)}\n`);
  else {
    const { clusters, managementClusters, discovery, policies } = parsed.fleet;
    const listed = joined([
      clusters.length > 0 && counted(clusters.length, 'cluster'),
      managementClusters.length > 0 && counted(managementClusters.length, 'management cluster'),
      discovery.length > 0 && counted(discovery.length, 'discovery entry', 'discovery entries'),
    ]);
    const modes = policies.map(({ name, mode }) => `${name} (${mode}, ${MEANINGS[mode]})`).join(', ');
    io.stdout.write(
      `${printable(file)} is valid${warnings.length === 0 ? '' : `, with ${counted(warnings.length, 'warning')}`}: ${listed === '' ? 'no clusters' : listed}; policies: ${modes}.\n`,
    );
  }
  if (output === 'table' && warnings.length > 0) io.stderr.write(`${formatProblems(warnings, 'warning')}\n`);
  return parsed.ok ? EXIT.done : EXIT.usage;
}
