import { DEFAULT_FLEET, type Fleet } from '../lambdas/config/fleet.ts';
import { UsageError } from './exit-codes.ts';
import { readTextFile } from './text-file.ts';

/** The fleet of a fleet.yaml, which an option names; without a file the built-in policy and no cluster. All problems of the file are reported at once. */
export async function loadFleet(file: string | undefined, option = '--policy'): Promise<Fleet> {
  if (file === undefined) return DEFAULT_FLEET;
  const text = await readTextFile(file, option);
  // The schema library is only loaded by those who have a file.
  const [{ parseFleet }, { FleetConfigError }] = await Promise.all([
    import('../lambdas/config/load-fleet.ts'),
    import('../lambdas/config/problems.ts'),
  ]);
  const parsed = parseFleet(text, file);
  if (!parsed.ok) throw new UsageError(new FleetConfigError(parsed.problems).message);
  return parsed.fleet;
}
