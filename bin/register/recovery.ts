import { randomBytes } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import { type Command, Option } from 'commander';
import type { RecoveryWindowOptions } from '../commands/recovery-window.ts';
import { UsageError } from '../exit-codes.ts';
import { loadFleet } from '../fleet.ts';
import { openCluster, type TargetOptions } from '../target.ts';
import type { ProgramContext } from './context.ts';

type OpenOptions = TargetOptions &
  Omit<RecoveryWindowOptions, 'by'> & {
    readonly by?: string;
    readonly fleet?: string;
    readonly output: 'table' | 'json';
  };

function repeatable(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

/** `certmarshal recovery`. */
export function registerRecovery(
  program: Command,
  { program: name, setStatus, interruption }: ProgramContext,
  withCluster: (command: Command) => Command,
): void {
  const recovery = program
    .command('recovery')
    .description('Brings back a control plane that slept through the end of its certificates.');

  withCluster(recovery.command('open'))
    .description(
      'Approves client certificates of control plane kubelets that have ended, for named Nodes, for a while.',
    )
    .option('--nodes <list>', 'names of the control plane Nodes, with commas; at most 9')
    .option('--for <duration>', 'how long the window is open, at most 1h', '30m')
    .option('--approvals <number>', 'for each Node, at most 5; default: 2')
    .option('--by <name>', 'who opens it, for the record; default: your user name and host')
    .option(
      '--bootstrap-group <group>',
      'that the bootstrap tokens of the Nodes have; repeatable; default: that of kubeadm',
      repeatable,
    )
    .option('--fleet <file>', 'fleet.yaml, for the id of the cluster')
    .addOption(
      new Option('--output <format>', 'table for people, json for programs: one document a sweep')
        .choices(['table', 'json'])
        .default('table'),
    )
    .addHelpText(
      'after',
      `
It runs until the window closes, and sweeps every 10 s. docs/runbooks/recovery.md says what comes before and after:
kube-apiserver has to answer, with --tolerate-expired also when its certificate has ended. Rights: ${name} rbac --recovery

Examples:
  ${name} recovery open --kubeconfig berlin.yaml --nodes berlin-cp-1,berlin-cp-2,berlin-cp-3 --for 30m
  ${name} recovery open --kubeconfig berlin.yaml --nodes berlin-cp-1 --tolerate-expired authority
  ${name} recovery open --kubeconfig berlin.yaml --management-kubeconfig management.yaml --cluster berlin-prod --nodes berlin-cp-1 --by ada@example.com

Exit status:
  0  done: every Node of the window was approved, or has a valid certificate
  1  a Node was not, or something could not be read or written; the output says what
  2  wrong usage or configuration; nothing was done`,
    )
    .action(async (options: OpenOptions) => {
      const [{ recoveryWindow }, { recoveryOpenCommand, recoveryPorts }] = await Promise.all([
        import('../commands/recovery-window.ts'),
        import('../commands/recovery-open.ts'),
      ]);
      const opening = { id: `${Date.now().toString(36)}-${randomBytes(4).toString('hex')}`, now: Date.now() };
      const given = { ...options, by: options.by ?? `${userInfo().username} on ${hostname()}` };
      // Before anything is connected to: all that is wrong with the options.
      recoveryWindow(given, { ...opening, cluster: options.cluster ?? '' });
      const fleet = await loadFleet(options.fleet);
      const { id, ...target } = await openCluster(options, fleet, ({ provider }) => {
        if (provider === 'eks')
          throw new UsageError('This is an EKS cluster: AWS keeps its control plane, there is nothing to recover.');
      });
      try {
        const window = recoveryWindow(given, { ...opening, cluster: id, now: Date.now() });
        const signal = interruption('the window is closed');
        setStatus(
          await recoveryOpenCommand(
            { ...target, clusterId: id },
            window,
            { output: options.output, program: name },
            signal,
            recoveryPorts(),
          ),
        );
      } finally {
        target.close();
      }
    });
}
