import { DEFAULT_FLEET, type Fleet } from '../lambdas/config/fleet.ts';
import { UsageError } from './exit-codes.ts';
import { readTextFile } from './text-file.ts';

/**
 * Loads a fleet.yaml; without a file, the built-in policy and no clusters.
 *
 * @param option the flag that names the file
 * @throws UsageError with all problems of the file
 */
export async function loadFleet(file: string | undefined, option = '--policy'): Promise<Fleet> {
  if (file === undefined) return DEFAULT_FLEET;
  const text = await readTextFile(file, option);
  // Load the schema library only if there is a file.
  const [{ parseFleet }, { FleetConfigError }] = await Promise.all([
    import('../lambdas/config/load-fleet.ts'),
    import('../lambdas/config/problems.ts'),
  ]);
  const parsed = parseFleet(text, file);
  if (!parsed.ok) throw new UsageError(new FleetConfigError(parsed.problems).message);
  return parsed.fleet;
}
