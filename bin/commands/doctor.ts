import { isEksEndpoint } from '../../lambdas/aws/eks-endpoint.ts';
import { type CheckGroup, type GroupResult, runGroup } from '../doctor/check.ts';
import { requireRoleArn } from '../doctor/hub-roles.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { loadFleet } from '../fleet.ts';
import { pasteable } from '../program.ts';
import type { TargetOptions } from '../target.ts';
import { startProgress } from '../terminal/progress.ts';
import { styleFor } from '../terminal/style.ts';
import { terminalWidth } from '../terminal/wrap.ts';
import { renderDoctor } from './doctor-view.ts';

/** Groups tried at once: most of the time is spent waiting for clusters that do not answer. */
const AT_ONCE = 8;

/**
 * Tries everything, writes nothing but reviews, and prints a table.
 *
 * @returns the exit status: `incomplete` when any check failed
 */
export async function doctorCommand(
  groups: readonly CheckGroup[],
  { output, program }: { readonly output: 'table' | 'json'; readonly program: string },
  signal: AbortSignal,
): Promise<number> {
  const results = asTyped(await runGroups(groups, signal), program);
  const ok = results.every(({ checks }) => checks.every(({ status }) => status !== 'failed'));
  process.stdout.write(
    output === 'json'
      ? `${JSON.stringify({ version: 1, ok, groups: results })}\n`
      : `${renderDoctor(results, styleFor(process.stdout, process.env), terminalWidth(process.stdout))}\n`,
  );
  return ok ? EXIT.done : EXIT.incomplete;
}

/** Commands in remedies as the user has to type them. */
function asTyped(groups: readonly GroupResult[], program: string): GroupResult[] {
  return groups.map(({ checks, ...group }) => ({
    ...group,
    checks: checks.map(({ fix, ...check }) =>
      fix === undefined ? check : { ...check, fix: { ...fix, text: pasteable(fix.text, program) } },
    ),
  }));
}

export interface DoctorOptions extends TargetOptions {
  /** fleet.yaml. */
  readonly fleet?: string;
  readonly policy?: string;
  /** ARN. */
  readonly sweepRole?: string;
}

/** What `--fleet` takes from the file. */
const ALONE = [
  ['kubeconfig', '--kubeconfig'],
  ['context', '--context'],
  ['managementKubeconfig', '--management-kubeconfig'],
  ['namespace', '--namespace'],
  ['provider', '--provider'],
  ['policy', '--policy'],
  ['allowExec', '--allow-exec'],
] as const satisfies readonly (readonly [keyof DoctorOptions, string])[];

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
  const refused = options.fleet === undefined ? [] : ALONE.filter(([name]) => options[name] !== undefined);
  if (refused.length > 0)
    throw new UsageError(
      `${refused.map(([, flag]) => flag).join(' and ')} cannot be given with --fleet, which names the clusters and policies itself.`,
    );
  if (options.fleet === undefined && options.sweepRole !== undefined)
    throw new UsageError('--sweep-role goes with --fleet; a kubeconfig is tried as whom it names.');
  const sweepRole = options.sweepRole === undefined ? undefined : requireRoleArn(options.sweepRole);
  const file = options.fleet ?? options.policy;
  const fleet = await loadFleet(file, '--fleet');
  const group = {
    policies: fleet.policies,
    policyFile: file,
    program,
    now: Date.now,
  };
  if (options.fleet === undefined) {
    const { localGroups } = await import('../doctor/local-groups.ts');
    return localGroups(options, group, fleet);
  }
  const { fleetGroups } = await import('../doctor/fleet-groups.ts');
  return fleetGroups(
    fleet,
    {
      ...group,
      addresses: 'cluster',
      isEksEndpoint,
      ...(options.cluster === undefined ? {} : { only: options.cluster }),
      ...(sweepRole === undefined ? {} : { sweepRole }),
    },
    signal,
  );
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
