/** One problem of a configuration file. Lines and columns count from 1. */
export interface ConfigProblem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The problem and what to write instead. */
  readonly message: string;
}

/** One line a problem, in the form that editors and CI turn into links: `fleet.yaml:12:5: message`. */
export function formatProblems(problems: readonly ConfigProblem[], severity?: 'warning'): string {
  const word = severity === undefined ? '' : `${severity}: `;
  return problems.map(({ file, line, column, message }) => `${file}:${line}:${column}: ${word}${message}`).join('\n');
}

/** Thrown by callers of `parseFleet` that need a fleet. Its message lists every problem. */
export class FleetConfigError extends Error {
  override readonly name = 'FleetConfigError';
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
    super(`${count} in the fleet configuration\n${formatProblems(problems)}`);
    this.problems = problems;
  }
}
