import type { Command } from 'commander';
import { type Register, withCluster, withOutput } from '../../command.ts';
import { rolloutChangeCommand } from './change.ts';
import { rolloutPlanCommand } from './plan.ts';
import { ROLLOUT_PORTS, type RolloutCommand, type RolloutOptions } from './ports.ts';
import { rolloutStartCommand } from './start.ts';
import { rolloutDriveCommand, rolloutStatusCommand } from './status.ts';
import { openSubject, type RolloutTargetOptions, repeatRollout } from './target.ts';

const FINISHED = 'a write under way is finished, no new one begins';

export const register: Register = (rollout, { program: name, interruption, run }) => {
  const command = (verb: string): Command =>
    withOutput(
      withCluster(rollout.command(verb), 'the API server that it reads and writes')
        .option('--fleet <file>', 'fleet.yaml, whose rollouts count; default: the built-in times, for every cluster')
        .option(
          '--accept <list>',
          'what you vouch for, beside the file: single-replica, no-surge, spare-capacity, etcd-backup; and at rollout start for you alone, never for the schedule: one-of-its-management-cluster, management-cluster-last',
        )
        .option('--secrets', 'external etcd: read its client certificate, and the private key beside it in the Secret'),
      'table for people, json for programs: one document a look',
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
    .option('--verbose', 'the checks that passed, too')
    .addHelpText(
      'after',
      `
--kubeconfig is that of the cluster; alone, of one that manages itself. Else add --management-kubeconfig and --cluster: from
--kubeconfig it is known when the CA of the cluster expires, without which nothing begins. docs/rollouts.md

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
    .description('Begins a rollout now, with one write, after every check that no one can answer for.')
    .option('--yes', 'write; without it the plan is shown and nothing is written')
    .option('--watch', 'and carry it on until it is over, as rollout drive does')
    .option('--verbose', 'the checks that passed, too')
    .addHelpText(
      'after',
      `
You answer for what only the schedule waits for: both opt-ins, the times, windows, the turn of the fleet; and for spare
capacity and a backup of etcd. After certificates have expired nothing is begun: docs/rollouts.md
What other clusters of the management cluster do holds you too, until you have looked and name it:
--accept one-of-its-management-cluster also takes the Lease from a rollout that has it.

Examples:
  ${name} rollout start --kubeconfig berlin.yaml
  ${name} rollout start --kubeconfig berlin.yaml --yes --watch
  ${name} rollout start --kubeconfig berlin.yaml --management-kubeconfig management.yaml --cluster berlin-prod --yes

Exit status:
  0  done: begun; with --watch it is done, every new certificate seen
  1  nothing was begun, or with --watch it is held or aborted; the output says why
  2  wrong usage or configuration; nothing was done`,
    )
    .action(does(rolloutStartCommand, FINISHED));

  command('status')
    .description('Shows how far the rollout is, machine by machine, by handshakes with each. Writes nothing.')
    .option('--watch', 'look again every 5 s until it is over, and tell what changes')
    .addHelpText(
      'after',
      `
That a rollout is done is concluded from what is there, and needs no write: with stacked etcd, status --watch sees it
through. Where etcd is external, or to renew the Lease and set holds as a deployed certmarshal does: rollout drive.
Of a cluster that another one manages, its own --kubeconfig is not needed here: all of it is in the management cluster.

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
    .option('--yes', 'write; without it one look is shown and nothing is written')
    .addHelpText(
      'after',
      `
With --yes it does, every 15 s, what the sweep of a deployed certmarshal does: the next write of the order with external etcd, the
Lease kube-system/certmarshal-rollout, a hold when something is wrong. It can be stopped and begun again at any time.
With external etcd everything is checked once more before etcd begins: --kubeconfig shows when the CA expires.

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
      '\nA hold is taken away with it. Neither the schedule nor a person begins another rollout for 7 days.',
    ],
    ['resume', 'Takes a hold off a rollout, after you have fixed why it was held.', ''],
  ] as const)
    command(change)
      .description(description)
      .option('--yes', 'write; without it what would be written is shown')
      .addHelpText(
        'after',
        `${also}
Of a cluster that another one manages, its own --kubeconfig is not needed here: all of it is in the management cluster.

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
