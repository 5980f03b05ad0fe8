import { assessExpiry } from '../../lambdas/audit/assess.ts';
import { readAssessment } from '../../lambdas/audit/read-assessment.ts';
import type { Thresholds } from '../../lambdas/audit/rules/thresholds.ts';
import { printable } from '../../lambdas/printable.ts';
import { field } from '../../lambdas/resources/fields.ts';
import { answerStandardInput, type InputIo } from '../answers.ts';
import { EXIT_HELP, type Register } from '../command.ts';
import { loadFleet } from '../fleet.ts';
import { PROCESS } from '../io.ts';

/** Fits the largest snapshot as `previous`, and as many observations again. */
const MAX_LINE_BYTES = 96 * 1024 * 1024;

interface AssessOptions {
  /** Answer with the kept observations, too: an answer is then the `previous` of the next line. */
  readonly observations?: boolean;
}

export const register: Register = (command, { program: name, run }) => {
  command
    .option('--policy <file>', 'fleet.yaml with audit.thresholds; default: the built-in thresholds')
    .option('--observations', 'add the observations to keep, as previous of the next line')
    .addHelpText(
      'after',
      `
A line is {"cluster":{"id","provider"},"observations":[…],"previous":snapshot,"now":RFC3339}. An answer is
{"cluster","findings":[…]}, in the order of the lines. docs/output.md describes both.

Examples:
  ${name} assess < observations.ndjson
  ${name} assess --policy fleet.yaml --observations < observations.ndjson > findings.ndjson
${EXIT_HELP}`,
    )
    .action(
      run(async ({ policy, ...options }: AssessOptions & { policy?: string }) => {
        const { audit } = await loadFleet(policy);
        return assessCommand(audit.thresholds, options, { ...PROCESS, stdin: process.stdin });
      }),
    );
};

/**
 * Assesses the recorded observations on standard input: each line is one cluster at one time.
 *
 * @returns the exit status
 * @throws UsageError if standard input cannot be read at all
 */
function assessCommand(thresholds: Thresholds, options: AssessOptions, io: InputIo): Promise<number> {
  return answerStandardInput(io, 'assess', {
    maxLineBytes: MAX_LINE_BYTES,
    named: (record) => ({ cluster: nameIn(record) }),
    answer(record) {
      const read = readAssessment(record, io.clock);
      if (!read.ok) return read.problems.join('; ');
      const { cluster, observations, previous, now } = read.input;
      const assessed = assessExpiry(cluster, observations, previous, thresholds, now);
      return {
        cluster: cluster.id,
        findings: assessed.findings,
        observations: options.observations === true ? assessed.observations : undefined,
      };
    },
  });
}

/** The cluster name in a record, to find it in the output. */
function nameIn(record: unknown): string | null {
  const cluster = field(record, 'cluster');
  const name = [cluster, field(cluster, 'id'), field(cluster, 'name')].find((known) => typeof known === 'string');
  return typeof name === 'string' ? printable(name) : null;
}
