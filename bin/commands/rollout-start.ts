import type { RolloutStep } from '../../lambdas/rollout/step.ts';
import type { RolloutStepped } from '../../lambdas/rollout-step/step-rollout.ts';
import { EXIT } from '../exit-codes.ts';
import { styleFor } from '../terminal/style.ts';
import { hang, terminalWidth } from '../terminal/wrap.ts';
import { problemLines, reasonLines, safe } from './render-rollout-lines.ts';
import { lookAt, printPlan } from './rollout-plan.ts';
import type { RolloutOptions, RolloutPorts, RolloutSubject } from './rollout-ports.ts';
import { rolloutDriveCommand } from './rollout-status.ts';
import { goesOn, WRITTEN_WORDS, writeWords } from './rollout-words.ts';

export interface RolloutStartOptions extends RolloutOptions {
  readonly yes?: boolean;
  /** Carries it on until it is over. */
  readonly watch?: boolean;
  readonly verbose?: boolean;
}

/**
 * Begins the rollout of one cluster, for the person at the keyboard: the plan, what the person answers for, and with `yes` one write.
 *
 * @returns the exit status: `incomplete` when nothing was begun
 */
export async function rolloutStartCommand(
  subject: RolloutSubject,
  options: RolloutStartOptions,
  signal: AbortSignal,
  ports: RolloutPorts,
): Promise<number> {
  const looked = await lookAt(subject, ports, signal);
  const { person } = looked;
  const { yes = false, output, program, repeat } = options;
  const begins = person.kind === 'act' && !goesOn(person) && !signal.aborted;
  if (output === 'table' || !yes || !begins) printPlan(subject, looked, options, ports);
  if (!begins || !yes) {
    ports.stderr.write(
      begins
        ? `Nothing was written: --yes begins it. ${program} rollout start --yes${repeat}\n`
        : `Nothing was written: ${goesOn(person) ? 'a rollout goes on' : safe(person.message)}.\n`,
    );
    return EXIT.incomplete;
  }
  const { target, policy } = subject;
  const stepped = await ports.step(target, { policy, trigger: 'person', clock: ports.clock, signal });
  printStepped(stepped, options, ports);
  const begun = stepped.written?.kind === 'written';
  if (!begun || options.watch !== true) return begun && stepped.problems.length === 0 ? EXIT.done : EXIT.incomplete;
  return rolloutDriveCommand(subject, options, signal, ports);
}

function printStepped(
  { observed, step, written, problems, at }: RolloutStepped,
  { output, program, repeat, watch }: RolloutStartOptions,
  { stdout, env }: RolloutPorts,
): void {
  if (output === 'json') {
    const document = { version: 1, kind: 'start', at, cluster: observed.cluster, step, written, problems };
    stdout.write(`${JSON.stringify(document)}\n`);
    return;
  }
  const style = styleFor(stdout, env);
  const width = terminalWidth(stdout);
  const begun = written?.kind === 'written';
  const lines = [
    ...hang(begun ? style.good('✔ ') : style.bad('✖ '), outcome(step, written), width),
    ...answers(step).flatMap((text) => hang('  ', text, width)),
    ...(begun || (step.kind !== 'hold' && step.kind !== 'ask') ? [] : reasonLines(step.reasons, program, style, width)),
    ...problemLines(problems, program, style, width),
    ...(begun && watch !== true
      ? [
          '',
          `  ${style.strong('Next')}  ${program} rollout ${observed.etcd === undefined ? 'status --watch' : 'drive'}${repeat}`,
        ]
      : []),
  ];
  stdout.write(`\n${lines.join('\n')}\n`);
}

function outcome(step: RolloutStep, written: RolloutStepped['written']): string {
  const write = step.kind === 'act' ? step.write : undefined;
  if (write === undefined || written === undefined)
    return `Nothing was written: what was looked at again is not as it was. ${safe(step.message)}.`;
  const { object, fields } = writeWords(write);
  return `${safe(object)} ${fields.map(safe).join(', ')}: ${WRITTEN_WORDS[written.kind]}.`;
}

function answers({ checks }: RolloutStep): readonly string[] {
  const waived = checks.filter((check) => !check.passed && check.waived === true);
  if (waived.length === 0) return [];
  return [`You answer for: ${waived.map(({ id, found }) => `${id} (${safe(found)})`).join(', ')}.`];
}
