import { DEFAULT_POLICY, modeWords } from '../../lambdas/approval/policy.ts';
import type { Fleet } from '../../lambdas/config/fleet.ts';
import { parseFleet } from '../../lambdas/config/load-fleet.ts';
import { formatProblems } from '../../lambdas/config/problems.ts';
import { printable } from '../../lambdas/printable.ts';
import { counted } from '../../lambdas/words.ts';
import { deployProblems, deployWarnings, namedClusters } from '../../lib/deploy-checks.ts';
import { type Register, withOutput } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { type Io, PROCESS, print, printJson } from '../io.ts';
import { repeatedFlags } from '../target.ts';
import { nextLine } from '../terminal/phrases.ts';
import { joined } from '../terminal/words.ts';
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
      run((file: string, { output }: { readonly output: 'table' | 'json' }) =>
        validateCommand(file, output, name, PROCESS),
      ),
    );
};

/**
 * Checks a fleet.yaml as a deployment does, with the same warnings.
 *
 * @returns the exit status: `usage` if a problem prevents the deployment
 * @throws UsageError if the file cannot be read
 */
export async function validateCommand(
  file: string,
  output: 'table' | 'json',
  program: string,
  io: Io,
): Promise<number> {
  const name = printable(file);
  const parsed = parseFleet(await readTextFile(file), name);
  const now = io.clock();
  const problems = parsed.ok ? parsed.located(deployProblems(parsed.fleet, now)) : parsed.problems;
  const valid = parsed.ok && problems.length === 0;
  const warnings = valid ? parsed.located(deployWarnings(parsed.fleet, now)) : [];
  const status = valid ? EXIT.done : EXIT.usage;
  if (output === 'json') {
    printJson(io, { version: 1, file, valid, problems, warnings });
    return status;
  }
  if (!parsed.ok || !valid) {
    io.stderr.write(
      `${formatProblems(problems)}\n${counted(problems.length, 'problem')} in ${name}. Warnings follow when ${problems.length === 1 ? 'it is' : 'they are'} fixed.\n`,
    );
    return status;
  }
  const doubts = warnings.length === 0 ? '' : `, with ${counted(warnings.length, 'warning')}`;
  io.stdout.write(`${name} is valid${doubts}: ${told(parsed.fleet)}.\n`);
  const next = `${program} doctor${repeatedFlags([['--fleet', file]])}`;
  if (namedClusters(parsed.fleet).length + parsed.fleet.discovery.length > 0) print(io, ['', nextLine(next)]);
  if (warnings.length > 0) io.stderr.write(`${formatProblems(warnings, 'warning')}\n`);
  return status;
}

/** `2 clusters; policies: default (enforce); enforce approves proven requests, observe writes nothing` */
function told({ clusters, managementClusters, discovery, policies }: Fleet): string {
  const listed = joined([
    clusters.length > 0 && counted(clusters.length, 'cluster'),
    managementClusters.length > 0 && counted(managementClusters.length, 'management cluster'),
    discovery.length > 0 && counted(discovery.length, 'discovery entry', 'discovery entries'),
  ]);
  const modes = policies.map((policy) => `${policy.name} (${modeWords(policy)})`).join(', ');
  return joined(
    [
      listed === '' ? 'no clusters' : listed,
      `policies: ${modes}`,
      'enforce approves proven requests, observe writes nothing',
      policies.includes(DEFAULT_POLICY) && 'mode: observe under policies only shows',
    ],
    '; ',
  );
}
