import type { RolloutStep } from '../../../lambdas/rollout/step.ts';
import type { RolloutStepped } from '../../../lambdas/rollout/step-rollout.ts';
import { EXIT } from '../../exit-codes.ts';
import { styleFor } from '../../terminal/style.ts';
import { hang, terminalWidth } from '../../terminal/wrap.ts';
import { noSuchCluster, problemLines, reasonLines, safe, writeLines } from './lines.ts';
import { lookAt, printPlan } from './plan.ts';
import type { RolloutOptions, RolloutPorts, RolloutSubject } from './ports.ts';
import { rolloutDriveCommand } from './status.ts';
import { goesOn, MOST_TRIES, WRITTEN_WORDS } from './words.ts';

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
  if (output === 'table' || !yes || !begins)
    printPlan(subject, looked, { ...options, following: begins && yes }, ports);
  if (!begins || !yes) {
    ports.stderr.write(
      begins
        ? `Nothing was written: --yes begins it. ${program} rollout start --yes${repeat}\n`
        : `Nothing was written: ${(noSuchCluster(looked.observed) ?? (goesOn(person) ? { message: 'a rollout goes on' } : person)).message}.\n`,
    );
    return EXIT.incomplete;
  }
  const { target, policy, waivers } = subject;
  const asked = { policy, waivers, trigger: 'person', clock: ports.clock, signal } as const;
  let stepped = await ports.step(target, asked);
  // Controllers write to the object too: what they overtook is looked at and planned anew.
  for (let tries = 1; tries < MOST_TRIES && stepped.written?.kind === 'overtaken'; tries += 1)
    stepped = await ports.step(target, asked);
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
  const { name } = observed.cluster;
  const lines = [
    ...hang(
      begun ? style.good('✔ ') : style.bad('✖ '),
      `${style.strong(safe(name))}: ${outcome(step, written)}.`,
      width,
    ),
    ...(begun && step.kind === 'act' ? writeLines('Written, in one patch of', step.write, width) : []),
    ...(begun ? answers(step) : []).flatMap((text) => hang('  ', text, width)),
    ...(begun || (step.kind !== 'hold' && step.kind !== 'ask') ? [] : reasonLines(step.reasons, program, style, width)),
    ...problemLines(problems, program, style, width),
    ...(begun && watch !== true
      ? [
          '',
          `  ${style.strong('Next')}  ${program} rollout ${observed.etcd === undefined ? 'status --watch' : 'drive'}${repeat}`,
        ]
      : []),
    ...(begun && watch === true ? [''] : []),
  ];
  stdout.write(`\n${lines.join('\n')}\n`);
}

function outcome(step: RolloutStep, written: RolloutStepped['written']): string {
  if (step.kind !== 'act' || written === undefined)
    return `nothing was written, for it is not as it was a moment ago: ${safe(step.message)}`;
  return written.kind === 'written' ? `rollout ${safe(step.mark?.id ?? '')} begun` : WRITTEN_WORDS[written.kind];
}

function answers({ checks }: RolloutStep): readonly string[] {
  const waived = checks.filter((check) => !check.passed && check.waived === true);
  if (waived.length === 0) return [];
  return [`You answer for: ${waived.map(({ id, found }) => `${id} (${safe(found)})`).join(', ')}.`];
}
