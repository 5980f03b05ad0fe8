import { parseDeployableFleet } from '../../lambdas/config/load-fleet.ts';
import { formatProblems } from '../../lambdas/config/problems.ts';
import { printable } from '../../lambdas/printable.ts';
import { counted } from '../../lambdas/words.ts';
import { EXIT_HELP, type Register, withOutput } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { type Io, PROCESS, printJson } from '../io.ts';
import { readTextFile } from '../text-file.ts';

const DEFAULT_FILE = 'fleet.yaml';

export const register: Register = (command, { program: name, run }) => {
  withOutput(
    command.argument('[file]', 'the fleet.yaml to check', DEFAULT_FILE),
    'table: a line for each problem; json for programs',
  )
    .addHelpText(
      'after',
      `
Connects to nothing. Each problem has its line and column, and what to write instead.

Examples:
  ${name} validate
  ${name} validate examples/organization.yaml
  ${name} validate fleet.yaml --output json
${EXIT_HELP}`,
    )
    .action(
      run((file: string, { output }: { readonly output: 'table' | 'json' }) => validateCommand(file, output, PROCESS)),
    );
};

/**
 * Checks a fleet.yaml as a deployment does.
 *
 * @returns the exit status: `usage` where a problem keeps it from being deployed
 * @throws UsageError when the file cannot be read
 */
export async function validateCommand(file: string, output: 'table' | 'json', io: Io): Promise<number> {
  const parsed = parseDeployableFleet(await readTextFile(file), printable(file));
  const problems = parsed.ok ? [] : parsed.problems;
  if (output === 'json') printJson(io, { version: 1, file, valid: parsed.ok, problems });
  else if (!parsed.ok) io.stderr.write(`${formatProblems(problems)}\n`);
  else {
    const { clusters, managementClusters, discovery, policies } = parsed.fleet;
    const named = managementClusters.flatMap(({ workloadClusters }) => [
      1,
      ...Object.keys(workloadClusters.kubeconfigSecrets),
    ]);
    io.stdout.write(
      `${printable(file)} is valid: ${counted(clusters.length + named.length, 'cluster')} named, ${counted(discovery.length, 'entry', 'entries')} of discovery, policies: ${policies.map((policy) => `${policy.name} (${policy.mode})`).join(', ')}.\n`,
    );
  }
  return parsed.ok ? EXIT.done : EXIT.usage;
}
