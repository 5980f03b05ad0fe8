import { assessExpiry } from '../../lambdas/audit/assess.ts';
import { readAssessment } from '../../lambdas/audit/read-assessment.ts';
import type { Thresholds } from '../../lambdas/audit/rules/thresholds.ts';
import { printable } from '../../lambdas/printable.ts';
import { field } from '../../lambdas/resources/fields.ts';
import { answerStandardInput, type Streams } from '../answers.ts';

/** The largest snapshot as `previous`, and as many observations again. */
const MAX_LINE_BYTES = 96 * 1024 * 1024;

export interface AssessOptions {
  /** Answer with what is seen and kept, too: an answer is then the `previous` of the next line. */
  readonly observations?: boolean;
}

/**
 * Assesses the recorded observations on standard input, one cluster at one time a line.
 *
 * @returns the exit status
 * @throws UsageError when standard input cannot be read at all
 */
export function assessCommand(
  streams: Streams,
  thresholds: Thresholds,
  options: AssessOptions,
  now: () => number = Date.now,
): Promise<number> {
  return answerStandardInput(streams, 'assess', {
    maxLineBytes: MAX_LINE_BYTES,
    answer: (line, number) => assessLine(line, number, thresholds, options, now),
    refuse: (number, error) => refusal(null, number, error),
  });
}

function refusal(cluster: string | null, line: number, error: string): object {
  return { cluster, line, error };
}

function assessLine(
  line: string,
  number: number,
  thresholds: Thresholds,
  options: AssessOptions,
  clock: () => number,
): object {
  let record: unknown;
  try {
    record = JSON.parse(line);
  } catch (error) {
    const cause = error instanceof Error ? printable(error.message) : '';
    return refusal(null, number, `line ${number} is not JSON: ${cause}`);
  }
  const read = readAssessment(record, clock);
  if (!read.ok) return refusal(nameIn(record), number, `line ${number}: ${read.problems.join('; ')}`);
  const { cluster, observations, previous, now } = read.input;
  const assessed = assessExpiry(cluster, observations, previous, thresholds, now);
  return {
    cluster: cluster.id,
    findings: assessed.findings,
    observations: options.observations === true ? assessed.observations : undefined,
  };
}

/** What the line calls its cluster, for whoever looks for it in the output. */
function nameIn(record: unknown): string | null {
  const cluster = field(record, 'cluster');
  const name = [cluster, field(cluster, 'id'), field(cluster, 'name')].find((known) => typeof known === 'string');
  return typeof name === 'string' ? printable(name) : null;
}
