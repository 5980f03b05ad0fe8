#!/usr/bin/env node
import { Command, CommanderError, Help } from 'commander';
import { KubernetesError } from '../lambdas/kubernetes/errors.ts';
import packageJson from '../package.json' with { type: 'json' };
import { type Context, EXIT_HELP, type Register } from './command.ts';
import { EXIT, UsageError } from './exit-codes.ts';
import { isSupported, pasteable, programName, startedIn } from './program.ts';
import { systemErrorWords } from './system-error.ts';

interface Row {
  readonly takes: string;
  readonly does: string;
  readonly load: () => Promise<{ readonly register: Register }>;
}

/** In the order of the help. */
const COMMANDS: Readonly<Record<string, Row>> = {
  sweep: {
    takes: '[options]',
    does: 'Judges every pending kubelet serving request of one cluster and approves the proven ones.',
    load: () => import('./commands/sweep.ts'),
  },
  decide: {
    takes: '[options]',
    does: 'Judges recorded requests: one JSON object a line on standard input, one verdict a line on standard output.',
    load: () => import('./commands/decide.ts'),
  },
  explain: {
    takes: '[options] [csr-name]',
    does: 'Shows every check of one live request, or every name of the certificate that a node serves, and what to do; writes nothing.',
    load: () => import('./commands/explain.ts'),
  },
  approve: {
    takes: '[options] <csr-name>',
    does: 'Approves one live request that you vouch for, after every check was shown.',
    load: () => import('./commands/person/approve.ts'),
  },
  deny: {
    takes: '[options] <csr-name>',
    does: 'Denies one live request, after every check was shown.',
    load: () => import('./commands/person/deny.ts'),
  },
  audit: {
    takes: '[options]',
    does: 'Shows when every certificate of one cluster expires, what renews it, and what could not be seen.',
    load: () => import('./commands/audit/audit.ts'),
  },
  assess: {
    takes: '[options]',
    does: 'Assesses recorded observations: one JSON object a line on standard input, its findings a line on standard output.',
    load: () => import('./commands/assess.ts'),
  },
  probe: {
    takes: '[options] <host:port...>',
    does: 'Shows the certificates of TLS servers and what is wrong with them; no cluster is needed.',
    load: () => import('./commands/probe/probe.ts'),
  },
  rbac: {
    takes: '[options]',
    does: 'Prints the least-privilege RBAC manifests that certmarshal needs in a cluster.',
    load: () => import('./commands/rbac-command.ts'),
  },
  credentials: {
    takes: '',
    does: 'Makes the credentials that certmarshal sweeps a cluster with.',
    load: () => import('./commands/credentials/create.ts'),
  },
  doctor: {
    takes: '[options]',
    does: 'Tries everything that a sweep needs and says how to fix what is missing; writes nothing.',
    load: () => import('./commands/doctor.ts'),
  },
  validate: {
    takes: '[options] [file]',
    does: 'Finds every problem of a fleet.yaml before it is deployed, with line and column, and warns of what is probably not meant; connects to nothing.',
    load: () => import('./commands/validate.ts'),
  },
  report: {
    takes: '[options]',
    does: 'Makes the report page of the fleet: one HTML file that needs nothing else.',
    load: () => import('./commands/report/report.ts'),
  },
  journal: {
    takes: '',
    does: 'Verifies and searches the record of every decision that certmarshal made.',
    load: () => import('./commands/journal/journal.ts'),
  },
  cost: {
    takes: '[options]',
    does: 'Prints what a month of certmarshal costs in AWS, by line, for a number of clusters.',
    load: () => import('./commands/cost.ts'),
  },
  rollout: {
    takes: '',
    does: 'Replaces control plane machines of EKS Anywhere before their certificates expire: plans, begins, watches.',
    load: () => import('./commands/rollout/rollout.ts'),
  },
  runbook: {
    takes: '[name]',
    does: 'Prints the runbook of an alarm, a finding or a check.',
    load: () => import('./commands/runbook.ts'),
  },
  recovery: {
    takes: '',
    does: 'Brings back a control plane whose certificates expired while it was switched off.',
    load: () => import('./commands/recovery/recovery.ts'),
  },
};

let status: number = EXIT.done;
let isInterrupted = false;
const context: Context = {
  program: programName(process.env, process.argv[1]),
  interruption(means = 'writes under way are finished, no new one begins') {
    const controller = new AbortController();
    process.once('SIGINT', () => {
      isInterrupted = true;
      process.stderr.write(`\nStopping: ${means}. Ctrl-C again ends at once.\n`);
      controller.abort();
      process.once('SIGINT', () => process.exit(130));
    });
    process.once('SIGTERM', () => controller.abort());
    return controller.signal;
  },
  run:
    (work) =>
    async (...given) => {
      status = await work(...given);
    },
};

async function build(asked: readonly string[]): Promise<Command> {
  const program: Command = new Command(context.program)
    .description(
      'Approves kubelet serving certificates whose every name is proven, and shows when every certificate of a cluster expires.',
    )
    .version(packageJson.version)
    .showHelpAfterError('Add --help for options and examples.')
    .configureHelp({
      sortSubcommands: false,
      // Columns of a description, also beside the longest option on a narrow terminal.
      minWidthToWrap: 20,
      subcommandTerm(command) {
        const row = command.parent === program ? COMMANDS[command.name()] : undefined;
        return row === undefined
          ? Help.prototype.subcommandTerm.call(this, command)
          : `${command.name()} ${row.takes}`.trimEnd();
      },
    })
    .addHelpText('after', EXIT_HELP)
    .exitOverride();
  // The help of all commands loads none. `help sweep` names its command second, so every argument counts.
  for (const [name, { does, load }] of Object.entries(COMMANDS)) {
    const command = program.command(name).description(does);
    if (asked.includes(name)) (await load()).register(command, context);
  }
  return program;
}

let outputError: NodeJS.ErrnoException | undefined;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  outputError = error;
  // Whoever read the output may have seen enough (`| head`): that ends the program, and is no failure.
  const enough = error.code === 'EPIPE';
  if (!enough) process.stderr.write(`Standard output cannot be written: ${systemErrorWords(error)}.\n`);
  // A command whose last write this was ends first, with its own status.
  setImmediate(() => process.exit(enough ? status : EXIT.incomplete));
});
// Nobody is left to tell.
process.stderr.on('error', () => {});

// A clone brings its own Node.js, an installed program runs on whatever there is.
if (!isSupported(packageJson.engines.node, process.versions.node)) {
  process.stderr.write(
    `certmarshal needs Node.js ${packageJson.engines.node.replace('>=', '')} or later; this is ${process.version}.\n`,
  );
  process.exit(EXIT.usage);
}
const directory = startedIn(process.env);
if (directory !== undefined) process.chdir(directory);
try {
  await (await build(process.argv.slice(2))).parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    status = error.exitCode === 0 ? EXIT.done : EXIT.usage;
    if (error.code === 'commander.unknownOption' && process.argv[2]?.startsWith('-') === true)
      process.stderr.write(`Options follow the command: ${context.program} audit --kubeconfig FILE\n`);
  } else if (error instanceof UsageError) {
    process.stderr.write(`${pasteable(error.message, context.program)}\n`);
    status = EXIT.usage;
  } else if (error instanceof KubernetesError) {
    process.stderr.write(
      isInterrupted && error.kind === 'aborted'
        ? `Interrupted before it was answered: ${error.object}.\n`
        : `${error.object}: ${error.problem}. ${pasteable(error.remedy, context.program)}\n`,
    );
    status = EXIT.incomplete;
  }
  // The output that a command waits for is gone; that is dealt with.
  else if (error !== outputError) throw error;
}
process.exitCode = status;
