import { type CheckGroup, type GroupResult, runGroup } from '../doctor/check.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { loadFleet } from '../fleet.ts';
import type { TargetOptions } from '../target.ts';
import { startProgress } from '../terminal/progress.ts';
import { styleFor } from '../terminal/style.ts';
import { terminalWidth } from '../terminal/wrap.ts';
import { renderDoctor } from './render-doctor.ts';

/** Groups tried at once: most of the time is spent waiting for clusters that do not answer. */
const AT_ONCE = 8;

/**
 * Tries everything, writes nothing but reviews, and prints a table.
 *
 * @returns the exit status: `incomplete` when any check failed
 */
export async function doctorCommand(
  groups: readonly CheckGroup[],
  output: 'table' | 'json',
  signal: AbortSignal,
): Promise<number> {
  const results = await runGroups(groups, signal);
  const ok = results.every(({ checks }) => checks.every(({ status }) => status !== 'failed'));
  process.stdout.write(
    output === 'json'
      ? `${JSON.stringify({ version: 1, ok, groups: results })}\n`
      : `${renderDoctor(results, styleFor(process.stdout, process.env), terminalWidth(process.stdout))}\n`,
  );
  return ok ? EXIT.done : EXIT.incomplete;
}

export interface DoctorOptions extends TargetOptions {
  /** fleet.yaml. */
  readonly fleet?: string;
  readonly policy?: string;
}

/**
 * What the options ask for: one cluster by its kubeconfig, or those of a fleet.
 *
 * @throws UsageError
 */
export async function doctorGroups(
  options: DoctorOptions,
  program: string,
  signal: AbortSignal,
): Promise<readonly CheckGroup[]> {
  const file = options.fleet ?? options.policy;
  const fleet = await loadFleet(file);
  const group = {
    policies: fleet.policies,
    ...(file === undefined ? {} : { policyFile: file }),
    program,
    now: Date.now,
  };
  if (options.fleet === undefined) {
    const { localGroups } = await import('../doctor/local-groups.ts');
    return localGroups(options, group);
  }
  const alone = (['kubeconfig', 'context', 'managementKubeconfig', 'policy', 'provider'] as const).find(
    (name) => options[name] !== undefined,
  );
  if (alone !== undefined)
    throw new UsageError(
      '--fleet names the clusters and policies itself; give it with no other option than --cluster.',
    );
  const { fleetGroups } = await import('../doctor/fleet-groups.ts');
  return fleetGroups(fleet, options.cluster, group, signal);
}

/** In the order of the groups. */
async function runGroups(groups: readonly CheckGroup[], signal: AbortSignal): Promise<GroupResult[]> {
  const progress = startProgress(process.stderr);
  const results = new Map<CheckGroup, GroupResult>();
  const waiting = groups.values();
  const worker = async (): Promise<void> => {
    for (const group of waiting) {
      progress.say(`${results.size} of ${groups.length} tried, now ${group.subject}`);
      results.set(group, await runGroup(group, signal));
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    return groups.flatMap((group) => results.get(group) ?? []);
  } finally {
    progress.done();
  }
}
