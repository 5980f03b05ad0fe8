import { readFile } from 'node:fs/promises';
import { type ApprovalPolicy, DEFAULT_POLICY } from '../lambdas/approval/policy.ts';
import { UsageError } from './exit-codes.ts';

/** The policies of a fleet.yaml; the built-in one without a file. All problems of the file are reported at once. */
export async function loadPolicies(file: string | undefined): Promise<readonly ApprovalPolicy[]> {
  if (file === undefined) return [DEFAULT_POLICY];
  const text = await readTextFile(file);
  // The schema library is only loaded by those who have a file.
  const [{ parseFleet }, { FleetConfigError }] = await Promise.all([
    import('../lambdas/config/load-fleet.ts'),
    import('../lambdas/config/problems.ts'),
  ]);
  const parsed = parseFleet(text, file);
  if (!parsed.ok) throw new UsageError(new FleetConfigError(parsed.problems).message);
  return parsed.fleet.policies;
}

/** Reads a file the user named. */
export async function readTextFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    throw new UsageError(code === 'ENOENT' ? `There is no file ${file}.` : `${file} cannot be read (${code}).`, {
      cause: error,
    });
  }
}
