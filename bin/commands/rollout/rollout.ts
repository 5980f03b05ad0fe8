import type { Command } from 'commander';
import { type Register, repeatableList, withCluster, withOutput } from '../../command.ts';
import { rolloutChangeCommand } from './change.ts';
import { rolloutPlanCommand } from './plan.ts';
import { ROLLOUT_PORTS, type RolloutCommand, type RolloutOptions } from './ports.ts';
import { rolloutStartCommand } from './start.ts';
import { rolloutDriveCommand, rolloutStatusCommand } from './status.ts';
import { openSubject, type RolloutTargetOptions, repeatRollout } from './target.ts';

const FINISHED = 'a running write is finished, no new one starts';

export const register: Register = (rollout, { program: name, interruption, run }) => {
  const command = (verb: string): Command =>
    withOutput(
      withCluster(rollout.command(verb), 'the API server that it reads and writes')
        .option('--fleet <file>', 'fleet.yaml with rollouts; default: the built-in times, for every cluster')
        .option(
          '--accept <list>',
          'what you vouch for, besides the file, separated by commas: single-replica, no-surge, spare-capacity, etcd-backup; only at rollout start, never for the schedule: one-of-its-management-cluster, management-cluster-last',
          repeatableList,
        )
        .option('--secrets', 'external etcd: read its client certificate, and so the private key in the same Secret'),
      'table for people, json for programs: one document per reading',
    );

  const does = (work: RolloutCommand, means = 'nothing is written') =>
    run(async (options: RolloutTargetOptions & Omit<RolloutOptions, 'program' | 'repeat'>) => {
      const signal = interruption(means);
      const subject = await openSubject(options);
      const asked = { ...options, program: name, repeat: repeatRollout(options) };
      return work(subject, asked, signal, ROLLOUT_PORTS).finally(() => subject.target.close());
    });

  command('plan')
    .description('Shows every check, what would be written, and when; for the schedule and for you. Writes nothing.')
    .option('--verbose', 'show the checks that passed, too')
    .addHelpText(
      'after',
      `
--kubeconfig is that of the cluster. It is enough for a cluster that manages itself; for another, add
--management-kubeconfig and --cluster. --kubeconfig shows when the CA of the cluster expires: without it, no rollout
starts. docs/rollouts.md

Examples:
  ${name} rollout plan --kubeconfig berlin.yaml
  ${name} rollout plan --kubeconfig berlin.yaml --management-kubeconfig management.yaml --cluster berlin-prod --verbose
  ${name} rollout plan --kubeconfig berlin.yaml --output json

Exit status:
  0  done, whatever the plan is
  1  something could not be read, or there is no such cluster; the output says what
  2  wrong usage or configuration; nothing was done`,
    )
    .action(does(rolloutPlanCommand));

  command('start')
    .description('Starts a rollout now, with one write, if every check that you may not waive passes.')
    .option('--yes', 'write; without it the plan is shown and nothing is written')
    .option('--watch', 'continue it until it is over, as rollout drive does')
    .option('--verbose', 'show the checks that passed, too')
    .addHelpText(
      'after',
      `
You answer for what only the schedule waits for: both opt-ins, times, windows and the turn of the fleet; and for spare
capacity and a backup of etcd. After certificates have expired no rollout starts. docs/rollouts.md
A rollout of another cluster of the same management cluster blocks yours, until you have checked it and accept it:
--accept one-of-its-management-cluster also takes the Lease from it.

Examples:
  ${name} rollout start --kubeconfig berlin.yaml
  ${name} rollout start --kubeconfig berlin.yaml --yes --watch
  ${name} rollout start --kubeconfig berlin.yaml --management-kubeconfig management.yaml --cluster berlin-prod --yes

Exit status:
  0  done: the rollout started; with --watch it is done, and every new certificate was seen
  1  no rollout started, or with --watch it is held or aborted; the output says why
  2  wrong usage or configuration; nothing was done`,
    )
    .action(does(rolloutStartCommand, FINISHED));

  command('status')
    .description('Shows how far the rollout is, machine by machine, by TLS handshakes. Writes nothing.')
    .option('--watch', 'read again every 5 s until it is over, and show what changes')
    .addHelpText(
      'after',
      `
certmarshal reads the state of a rollout from the cluster and needs no write for it: with stacked etcd, status --watch
follows it to its end. With external etcd, or to renew the Lease and set holds as a deployed certmarshal does, use rollout
drive. For a cluster that another one manages, --management-kubeconfig and --cluster are enough.

Examples:
  ${name} rollout status --kubeconfig berlin.yaml
  ${name} rollout status --kubeconfig berlin.yaml --watch
  ${name} rollout status --management-kubeconfig management.yaml --cluster berlin-prod --output json

Exit status:
  0  done, or no rollout runs; without --watch also while one runs
  1  it is held, aborted or refused, another client rolls, certificates have expired, or something could not be read
  2  wrong usage or configuration; nothing was done`,
    )
    .action(does(rolloutStatusCommand));

  command('drive')
    .description('Continues a running rollout from your terminal; never starts one.')
    .option('--yes', 'write; without it the state is shown once and nothing is written')
    .addHelpText(
      'after',
      `
With --yes, every 15 s it does what the sweep of a deployed certmarshal does: it makes the next write (external etcd), renews
the Lease kube-system/certmarshal-rollout, and sets a hold when something is wrong. You can stop and restart it at any time.
With external etcd, everything is checked again before etcd is rolled: --kubeconfig shows when the CA expires.

Examples:
  ${name} rollout drive --kubeconfig berlin.yaml --yes
  ${name} rollout drive --kubeconfig berlin.yaml --management-kubeconfig management.yaml --cluster berlin-prod --fleet fleet.yaml --yes

Exit status:
  0  done: every new certificate was seen; or no rollout runs
  1  it is held or aborted, it was stopped, --yes is missing, or something could not be read or written
  2  wrong usage or configuration; nothing was done`,
    )
    .action(does(rolloutDriveCommand, FINISHED));

  for (const [change, description, also] of [
    [
      'abort',
      'Stops the rollout of certmarshal: machines that were not replaced stay as they are.',
      '\nIt removes a hold too. For 7 days neither the schedule nor a person can start another rollout of the cluster.',
    ],
    ['resume', 'Removes the hold of a rollout, after you have fixed its cause.', ''],
  ] as const)
    command(change)
      .description(description)
      .option('--yes', 'write; without it what would be written is shown')
      .addHelpText(
        'after',
        `${also}
For a cluster that another one manages, --management-kubeconfig and --cluster are enough.

Examples:
  ${name} rollout ${change} --kubeconfig berlin.yaml
  ${name} rollout ${change} --management-kubeconfig management.yaml --cluster berlin-prod --yes

Exit status:
  0  done
  1  nothing was written; the output says why
  2  wrong usage or configuration; nothing was done`,
      )
      .action(does(rolloutChangeCommand(change), FINISHED));
};
