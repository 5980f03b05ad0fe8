/** A mutant that no test can kill, because what it does is the same. */
export interface EquivalentMutant {
  readonly file: string;
  readonly before: string;
  readonly after: string;
  readonly reason: string;
}

/** Subtracted from the mutants of `npm run bench -- mutants`, as it shows them. */
export const EQUIVALENT_MUTANTS: readonly EquivalentMutant[] = [];
