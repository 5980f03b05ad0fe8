import type { Command } from 'commander';
import { type Register, repeatable, withCluster, withOutput } from '../../command.ts';
import {
  ROLLOUT_PORTS,
  type RolloutCommand,
  type RolloutOptions,
  rolloutAbortCommand,
  rolloutPlanCommand,
  rolloutStartCommand,
  rolloutStatusCommand,
} from './commands.ts';
import { openSubject, type RolloutTargetOptions, repeatRollout } from './target.ts';

const FINISHED = 'a running write is finished, no new one starts';
const VERBOSE = ['--verbose', 'show every check, and what to do about those that fail'] as const;

export const register: Register = (rollout, { program: name, interruption, run }) => {
  const command = (verb: string): Command =>
    withOutput(
      withCluster(rollout.command(verb), 'the API server that it reads and writes')
        .option('--fleet <file>', 'fleet.yaml with rollouts; default: the built-in times, for every cluster')
        .option(
          '--accept <list>',
          'what you vouch for, besides the file, separated by commas: single-replica, no-surge, spare-capacity, etcd-backup; only at rollout start, never for the schedule: one-of-its-management-cluster, management-cluster-last',
          repeatable,
        )
        .option('--secrets', 'external etcd: read its client certificate, and so the private key in the same Secret'),
    );

  const does = (work: RolloutCommand, means = 'nothing is written') =>
    run(async (options: RolloutTargetOptions & Omit<RolloutOptions, 'program' | 'repeat'>) => {
      const signal = interruption(means);
      const subject = await openSubject(options);
      const asked = { ...options, program: name, repeat: repeatRollout(options) };
      return work(subject, asked, signal, ROLLOUT_PORTS).finally(() => subject.target.close());
    });

  command('plan')
    .description('Shows the checks that fail, what would be written, when, and the machines. Writes nothing.')
    .option(...VERBOSE)
    .addHelpText(
      'after',
      `
--kubeconfig is that of the cluster. It is enough for a cluster that manages itself; for another, add
--management-kubeconfig and --cluster. --kubeconfig shows when the CA of the cluster expires: without it, no rollout
starts. A check fails, waits (it passes without you), or is yours to accept at rollout start. docs/rollouts.md

Examples:
  ${name} rollout plan --kubeconfig berlin.yaml
  ${name} rollout plan --kubeconfig berlin.yaml --management-kubeconfig management.yaml --cluster berlin-prod --verbose

Exit status:
  0  done, whatever the plan is
  1  something could not be read, or there is no such cluster; the output says what
  2  wrong usage or configuration; nothing was done`,
    )
    .action(does(rolloutPlanCommand));

  command('start')
    .description('Starts a rollout now, with one write, if every check that you may not accept passes.')
    .option('--yes', 'write; without it the plan is shown and nothing is written')
    .option(...VERBOSE)
    .addHelpText(
      'after',
      `
You answer for what only the schedule waits for: both opt-ins, times, windows and the turn of the fleet; and for spare
capacity and a backup of etcd. After certificates have expired no rollout starts. docs/rollouts.md
A rollout of another cluster of the same management cluster blocks yours, until you have checked it and accept it:
--accept one-of-its-management-cluster also takes the Lease from it.
With external etcd it takes three writes: the same command again makes the next one.

Examples:
  ${name} rollout start --kubeconfig berlin.yaml
  ${name} rollout start --kubeconfig berlin.yaml --yes
  ${name} rollout start --kubeconfig berlin.yaml --management-kubeconfig management.yaml --cluster berlin-prod --yes

Exit status:
  0  done: the rollout started; rollout status shows its progress
  1  nothing was written; the output says why
  2  wrong usage or configuration; nothing was done`,
    )
    .action(does(rolloutStartCommand, FINISHED));

  command('status')
    .description('Shows how far the rollout is, machine by machine, by TLS handshakes. Writes nothing.')
    .addHelpText(
      'after',
      `
For a cluster that another one manages, --management-kubeconfig and --cluster are enough.

Examples:
  ${name} rollout status --kubeconfig berlin.yaml
  ${name} rollout status --management-kubeconfig management.yaml --cluster berlin-prod --output json

Exit status:
  0  done, or no rollout runs, or one runs
  1  it is held, aborted or refused, another client rolls, certificates have expired, or something could not be read
  2  wrong usage or configuration; nothing was done`,
    )
    .action(does(rolloutStatusCommand));

  command('abort')
    .description('Stops the rollout of certmarshal: machines that were not replaced stay as they are.')
    .option('--yes', 'write; without it what would be written is shown')
    .addHelpText(
      'after',
      `
It removes a hold too. For 7 days neither the schedule nor a person can start another rollout of the cluster.
For a cluster that another one manages, --management-kubeconfig and --cluster are enough.

Examples:
  ${name} rollout abort --kubeconfig berlin.yaml
  ${name} rollout abort --management-kubeconfig management.yaml --cluster berlin-prod --yes

Exit status:
  0  done
  1  nothing was written; the output says why
  2  wrong usage or configuration; nothing was done`,
    )
    .action(does(rolloutAbortCommand, FINISHED));
};
