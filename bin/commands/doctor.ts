import { isEksEndpoint } from '../../lambdas/aws/eks-endpoint.ts';
import { pasteable } from '../../lambdas/command.ts';
import {
  ALLOW_EXEC_OPTION,
  NAMESPACE_OPTION,
  OF_KUBECONFIG,
  providerOption,
  type Register,
  withManagement,
  withOutput,
  withTolerance,
} from '../command.ts';
import { type CheckGroup, type GroupResult, runGroup } from '../doctor/check.ts';
import { requireRoleArn } from '../doctor/hub-roles.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { loadFleet } from '../fleet.ts';
import { type Io, PROCESS, print, printJson } from '../io.ts';
import type { TargetOptions } from '../target.ts';
import { startProgress } from '../terminal/progress.ts';
import { doctorLines } from './doctor-view.ts';

export const register: Register = (command, { program: name, interruption, run }) => {
  const own = command
    .option('--fleet <file>', 'fleet.yaml: try its clusters and places, as the identity of your AWS credentials')
    .option(
      '--sweep-role <arn>',
      'with --fleet: ARN of the role of the sweep functions; default: from hub.account and hub.region of the file',
    )
    .option('--cluster <name>', 'name of the cluster; with --fleet: id of the only cluster to try')
    .option(
      '--kubeconfig <file>',
      'without --fleet: kubeconfig to try; default: the files of $KUBECONFIG, else ~/.kube/config',
    )
    .option('--context <name>', 'context of the kubeconfig; default: its current one');
  const named = withTolerance(
    withManagement(own)
      .option(...NAMESPACE_OPTION)
      .addOption(providerOption('default: eks for an EKS endpoint, else eks-anywhere'))
      .option('--policy <file>', 'fleet.yaml with policies; default: the built-in policy')
      .option(...ALLOW_EXEC_OPTION),
    OF_KUBECONFIG,
  );
  withOutput(named, 'table or json')
    .addHelpText(
      'after',
      `
docs/doctor.md describes every check.

Examples:
  ${name} doctor --kubeconfig berlin.yaml
  ${name} doctor --kubeconfig berlin.yaml --management-kubeconfig management.yaml --cluster berlin-prod
  ${name} doctor --fleet fleet.yaml
  ${name} doctor --fleet fleet.yaml --cluster 111122223333/eu-central-1/dublin --output json

Exit status:
  0  no check failed; warnings do not count
  1  a check failed, or the kubeconfig cannot be used
  2  wrong usage or configuration; nothing was tried`,
    )
    .action(
      run(async (options: DoctorOptions & { output: 'table' | 'json' }) => {
        const signal = interruption();
        const groups = await doctorGroups(options, name, signal);
        return doctorCommand(groups, { output: options.output, program: name }, signal, PROCESS);
      }),
    );
};

/** Groups checked concurrently: most of the time is spent waiting for unreachable clusters. */
const AT_ONCE = 8;

/**
 * Runs all checks, and prints a table. Creates nothing but reviews.
 *
 * @returns the exit status: `incomplete` if a check failed
 */
async function doctorCommand(
  groups: readonly CheckGroup[],
  { output, program }: { readonly output: 'table' | 'json'; readonly program: string },
  signal: AbortSignal,
  io: Io,
): Promise<number> {
  const results = asTyped(await runGroups(groups, signal, io), program);
  const ok = results.every(({ checks }) => checks.every(({ status }) => status !== 'failed'));
  if (output === 'json') printJson(io, { version: 1, ok, groups: results });
  else print(io, doctorLines(results));
  return ok ? EXIT.done : EXIT.incomplete;
}

/** Commands in remedies as the user must type them. */
function asTyped(groups: readonly GroupResult[], program: string): GroupResult[] {
  return groups.map(({ checks, ...group }) => ({
    ...group,
    checks: checks.map(({ fix, ...check }) =>
      fix === undefined ? check : { ...check, fix: { ...fix, text: pasteable(fix.text, program) } },
    ),
  }));
}

interface DoctorOptions extends TargetOptions {
  /** fleet.yaml. */
  readonly fleet?: string;
  readonly policy?: string;
  /** ARN. */
  readonly sweepRole?: string;
}

/** Options that `--fleet` reads from the file. */
const ALONE = [
  ['kubeconfig', '--kubeconfig'],
  ['context', '--context'],
  ['managementKubeconfig', '--management-kubeconfig'],
  ['managementContext', '--management-context'],
  ['namespace', '--namespace'],
  ['provider', '--provider'],
  ['policy', '--policy'],
  ['allowExec', '--allow-exec'],
  ['tolerateExpired', '--tolerate-expired'],
  ['expiredAtMost', '--expired-at-most'],
] as const satisfies readonly (readonly [keyof DoctorOptions, string])[];

/**
 * The checks for the options: one cluster by its kubeconfig, or those of a fleet.
 *
 * @throws UsageError
 */
async function doctorGroups(
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
    throw new UsageError('--sweep-role needs --fleet; a kubeconfig is tried as the user that it names.');
  const sweepRole = options.sweepRole === undefined ? undefined : requireRoleArn(options.sweepRole);
  const file = options.fleet ?? options.policy;
  const fleet = await loadFleet(file, '--fleet');
  const { policies, audit } = fleet;
  const group = { policies, thresholds: audit.thresholds, policyFile: file, program, now: Date.now };
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
      only: options.cluster,
      sweepRole,
    },
    signal,
  );
}

async function runGroups(groups: readonly CheckGroup[], signal: AbortSignal, { stderr }: Io): Promise<GroupResult[]> {
  const progress = startProgress(stderr);
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
