#!/usr/bin/env node

// oxlint-disable-next-line import/no-unassigned-import -- must come first
import './threads.ts';
import { type AddHelpTextPosition, Command, CommanderError, Help } from 'commander';
import { AwsError } from '../lambdas/aws/errors.ts';
import { pasteable } from '../lambdas/command.ts';
import { KubernetesError } from '../lambdas/kubernetes/errors.ts';
import packageJson from '../package.json' with { type: 'json' };
import { type Context, EXIT_HELP, type Register } from './command.ts';
import { EXIT, UsageError } from './exit-codes.ts';
import { isSupported, programName, startedIn } from './program.ts';
import { REMOVED_COMMANDS, REMOVED_OPTIONS } from './removed-commands.ts';
import { systemErrorWords } from './system-error.ts';
import { closing, usage } from './terminal/closing.ts';

interface Row {
  readonly takes: string;
  readonly does: string;
  readonly load: () => Promise<{ readonly register: Register }>;
}

/** Headings and commands, in the order of the help. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  'Requests of kubelets:': {
    run: {
      takes: '[options]',
      does: 'Makes the minute of the hub: judges every pending request of each cluster, with --yes approves the proven ones, and audits.',
      load: () => import('./commands/run.ts'),
    },
    explain: {
      takes: '[options] [csr-name]',
      does: 'Shows every check of one request, or every name of the certificate that a node serves; writes nothing.',
      load: () => import('./commands/explain.ts'),
    },
    approve: {
      takes: '[options] <csr-name>',
      does: 'Approves one request that you vouch for, after showing every check.',
      load: () => import('./commands/person/approve.ts'),
    },
    deny: {
      takes: '[options] <csr-name>',
      does: 'Denies one request, after showing every check.',
      load: () => import('./commands/person/deny.ts'),
    },
  },
  'Certificates:': {
    audit: {
      takes: '[options]',
      does: 'Shows when every certificate of each cluster expires, what renews it, and what could not be read.',
      load: () => import('./commands/audit/audit.ts'),
    },
    probe: {
      takes: '[options] <host:port...>',
      does: 'Shows the certificates of TLS servers and what is wrong with them; needs no cluster.',
      load: () => import('./commands/probe/probe.ts'),
    },
    rollout: {
      takes: '',
      does: 'Replaces control plane machines of EKS Anywhere before their certificates expire: plans, starts, shows progress, aborts.',
      load: () => import('./commands/rollout/rollout.ts'),
    },
  },
  'Set up:': {
    doctor: {
      takes: '[options]',
      does: 'Tries everything that a minute needs and says how to fix what is missing; writes nothing.',
      load: () => import('./commands/doctor.ts'),
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
    validate: {
      takes: '[options] [file]',
      does: 'Finds every problem in a fleet.yaml before deployment, with line and column, and warns of probable mistakes; connects to nothing.',
      load: () => import('./commands/validate.ts'),
    },
  },
  'Try a change on recorded input:': {
    decide: {
      takes: '[options]',
      does: 'Judges recorded requests from standard input, one JSON object per line; prints one verdict per line.',
      load: () => import('./commands/decide.ts'),
    },
  },
  'Look up:': {
    runbook: {
      takes: '[name]',
      does: 'Prints the runbook of an alarm, a finding or a check.',
      load: () => import('./commands/runbook.ts'),
    },
  },
};

const COMMANDS: Readonly<Record<string, Row>> = Object.assign({}, ...Object.values(GROUPS));

let status: number = EXIT.done;
let isInterrupted = false;
const context: Context = {
  program: programName(process.env, process.argv[1]),
  interruption(means = 'running writes are finished, no new one starts') {
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

/** Commander's own heading. */
const OWN_OPTIONS = 'Options:';

/** No line of a help is longer: it is hard to read. */
const MAX_HELP_WIDTH = 100;

function helpWidth(): number {
  return Math.min(process.stdout.columns || MAX_HELP_WIDTH, MAX_HELP_WIDTH);
}

/** Wraps what follows the options of a help, as commander wraps what is before. */
class HelpfulCommand extends Command {
  override createCommand(name?: string): Command {
    return new HelpfulCommand(name);
  }

  override addHelpText(position: AddHelpTextPosition, text: unknown): this {
    return super.addHelpText(position, () => closing(String(text), helpWidth()));
  }
}

async function build(asked: readonly string[]): Promise<Command> {
  const program: Command = new HelpfulCommand(context.program)
    .description(
      'Approves kubelet serving certificates only if every name is proven, and shows when every certificate of a cluster expires.',
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
      commandUsage: (command) => usage(new Help().commandUsage(command), helpWidth()),
      // What only this command has comes before what many have.
      groupItems(all, shown, groupOf) {
        const groups = new Help().groupItems(all, shown, groupOf);
        const own = groups.get(OWN_OPTIONS);
        return own === undefined ? groups : new Map([[OWN_OPTIONS, own], ...groups]);
      },
    })
    .configureOutput({ getOutHelpWidth: helpWidth })
    .addHelpText('after', EXIT_HELP)
    .exitOverride();
  // The help of all commands loads none. `help run` names its command second, so every argument counts.
  for (const [group, rows] of Object.entries(GROUPS)) {
    program.commandsGroup(group);
    for (const [name, { does, load }] of Object.entries(rows)) {
      const command = program.command(name).description(does);
      if (asked.includes(name)) (await load()).register(command, context);
    }
  }
  return program.helpCommand('help [command]', 'Prints the help of a command.');
}

let outputError: NodeJS.ErrnoException | undefined;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  outputError = error;
  // The reader of the output may have seen enough (`| head`): that ends the program, and is no failure.
  const enough = error.code === 'EPIPE';
  if (!enough) process.stderr.write(`Standard output cannot be written: ${systemErrorWords(error)}.\n`);
  // A command whose last write this was ends first, with its own status.
  setImmediate(() => process.exit(enough ? status : EXIT.incomplete));
});
// No one is left to notify.
process.stderr.on('error', () => {});

// A clone brings its own Node.js, an installed program runs on whatever there is.
if (!isSupported(packageJson.engines.node, process.versions.node)) {
  const least = packageJson.engines.node.replace('>=', '');
  process.stderr.write(
    `certmarshal needs Node.js ${least} or later; this is ${process.version}. Install a newer one from https://nodejs.org, or use a clone of certmarshal: npm ci installs Node.js there, and npx certmarshal uses it.\n`,
  );
  process.exit(EXIT.usage);
}
const directory = startedIn(process.env);
if (directory !== undefined) process.chdir(directory);
try {
  const [first, second, ...others] = process.argv.slice(2);
  // The help of no command: as that command, it is refused by its name.
  const isUnknown = first === 'help' && second !== undefined && !Object.hasOwn(COMMANDS, second);
  const asked = isUnknown ? [second, ...others] : process.argv.slice(2);
  const [name = ''] = asked;
  if (!Object.hasOwn(COMMANDS, name) && Object.hasOwn(REMOVED_COMMANDS, name))
    throw new UsageError(`certmarshal ${name} is gone: ${REMOVED_COMMANDS[name]}`);
  const line = asked.join(' ');
  const [removed] = REMOVED_OPTIONS.filter(([pattern]) => pattern.test(line));
  if (removed !== undefined) throw new UsageError(removed[1]);
  await (await build(asked)).parseAsync(asked, { from: 'user' });
} catch (error) {
  if (error instanceof CommanderError) {
    status = error.exitCode === 0 ? EXIT.done : EXIT.usage;
    if (error.code === 'commander.unknownOption' && process.argv[2]?.startsWith('-') === true)
      process.stderr.write(`Options follow the command: ${context.program} audit --kubeconfig FILE\n`);
  } else if (error instanceof UsageError || error instanceof AwsError) {
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
