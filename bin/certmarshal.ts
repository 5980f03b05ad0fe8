#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { KubernetesError } from '../lambdas/kubernetes/errors.ts';
import packageJson from '../package.json' with { type: 'json' };
import { type Context, EXIT_HELP, type Register } from './command.ts';
import { EXIT, UsageError } from './exit-codes.ts';
import { pasteable, programName } from './program.ts';
import { systemErrorWords } from './system-error.ts';

/** In the order of the help. */
const COMMANDS: Readonly<Record<string, () => Promise<{ readonly register: Register }>>> = {
  sweep: () => import('./commands/sweep.ts'),
  decide: () => import('./commands/decide.ts'),
  explain: () => import('./commands/explain.ts'),
  audit: () => import('./commands/audit/audit.ts'),
  assess: () => import('./commands/assess.ts'),
  probe: () => import('./commands/probe/probe.ts'),
  rbac: () => import('./commands/rbac-command.ts'),
  credentials: () => import('./commands/credentials/create.ts'),
  doctor: () => import('./commands/doctor.ts'),
  report: () => import('./commands/report/report.ts'),
  journal: () => import('./commands/journal/journal.ts'),
  cost: () => import('./commands/cost.ts'),
  rollout: () => import('./commands/rollout/rollout.ts'),
  recovery: () => import('./commands/recovery/recovery.ts'),
};

let status: number = EXIT.done;
const context: Context = {
  program: programName(process.env, process.argv[1]),
  interruption(means = 'writes under way are finished, no new one begins') {
    const controller = new AbortController();
    process.once('SIGINT', () => {
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

async function build(asked: string | undefined): Promise<Command> {
  const program = new Command(context.program)
    .description(
      'Approves kubelet serving certificates whose every name is proven, and shows when every certificate of a cluster ends.',
    )
    .version(packageJson.version)
    .showHelpAfterError('Add --help for options and examples.')
    .configureHelp({ sortSubcommands: false })
    .addHelpText('after', EXIT_HELP)
    .exitOverride();
  // A command loads what it needs; the help shows all commands, so it loads all.
  const names = asked !== undefined && Object.hasOwn(COMMANDS, asked) ? [asked] : Object.keys(COMMANDS);
  for (const name of names) (await COMMANDS[name]?.())?.register(program, context);
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

// `npm` only warns about engines; a clone brings its own Node.js, an installed program runs on whatever there is.
if (Number(process.versions.node.split('.')[0]) < 22) {
  process.stderr.write(`certmarshal needs Node.js 22 or later; this is ${process.version}.\n`);
  process.exit(EXIT.usage);
}
try {
  await (await build(process.argv[2])).parseAsync();
} catch (error) {
  if (error instanceof CommanderError) status = error.exitCode === 0 ? EXIT.done : EXIT.usage;
  else if (error instanceof UsageError) {
    process.stderr.write(`${error.message}\n`);
    status = EXIT.usage;
  } else if (error instanceof KubernetesError) {
    process.stderr.write(`${error.object}: ${error.problem}. ${pasteable(error.remedy, context.program)}\n`);
    status = EXIT.incomplete;
  }
  // The output that a command waits for is gone; that is dealt with.
  else if (error !== outputError) throw error;
}
process.exitCode = status;
