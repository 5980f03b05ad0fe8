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
    file: 'lambdas/recovery/decide.ts',
    before: 'return difference === 0 ? a.name > b.name : difference > 0;',
    after: 'return difference === 0 ? a.name > b.name : difference > 1;',
    reason: 'The API server writes creation times in whole seconds: two differ by 1,000 ms or not at all.',
  },
];
