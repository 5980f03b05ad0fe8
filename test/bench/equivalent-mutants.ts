/** A mutant that no test can kill, because what it does is the same. */
export interface EquivalentMutant {
  readonly file: string;
  readonly before: string;
  readonly after: string;
  readonly reason: string;
}

/** Subtracted from the mutants of `npm run bench -- mutants`, as it shows them. */
export const EQUIVALENT_MUTANTS: readonly EquivalentMutant[] = [
  {
    file: 'lambdas/approval/ownership.ts',
    before: 'if (ranges === undefined)',
    after: 'if (true)',
    reason: 'What was worked out before is worked out again, and is the same.',
  },
  {
    file: 'lambdas/approval/selection.ts',
    before: 'first.length + last.length',
    after: 'first.length - last.length',
    reason: 'A name too short for both ends is refused by the last comparison too: `at` begins at `first.length`.',
  },
  {
    file: 'lambdas/x509/der.ts',
    before: '#contentStart = 0;',
    after: '#contentStart = 1;',
    reason: 'Nothing reads it before a header has been read, which sets it.',
  },
  {
    file: 'lambdas/recovery/rules.ts',
    before: "node ?? ''",
    after: 'node',
    reason: 'Approvals are counted by name: there is no count for no name, nor for an empty one.',
  },
  {
    file: 'lambdas/sweep/fates.ts',
    before: 'asked.undecided.size > 0',
    after: 'asked.undecided.size >= 0',
    reason: 'Adding none adds nothing.',
  },
  {
    file: 'lambdas/recovery/decide.ts',
    before: 'return difference === 0 ? a.name > b.name : difference > 0;',
    after: 'return difference === 0 ? a.name > b.name : difference > 1;',
    reason: 'The API server writes creation times in whole seconds: two differ by 1,000 ms or not at all.',
  },
  {
    file: 'lambdas/expiry/first-in-range.ts',
    before: 'this.#counts[node] = (this.#counts[node] ?? 0) + 1;',
    after: 'this.#counts[node] = (this.#counts[node] ?? 1) + 1;',
    reason: 'A typed array has a number at every index below its length.',
  },
];
