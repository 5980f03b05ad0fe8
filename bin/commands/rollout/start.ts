import type { RolloutStep } from '../../../lambdas/rollout/step.ts';
import type { RolloutStepped } from '../../../lambdas/rollout/step-rollout.ts';
import { EXIT } from '../../exit-codes.ts';
import { print, printJson } from '../../io.ts';
import { hang, type Lines } from '../../terminal/draw.ts';
import { bad, good, strong } from '../../terminal/paint.ts';
import { nextLine } from '../../terminal/phrases.ts';
import { noSuchCluster, problemsLines, reasonLines, safe, writeLines } from './lines.ts';
import { lookAt, showPlan } from './plan.ts';
import { type RolloutCommand, type RolloutOptions, untilNotOvertaken } from './ports.ts';
import { rolloutDriveCommand } from './status.ts';
import { goesOn, WRITTEN_WORDS } from './words.ts';

/**
 * Begins the rollout of one cluster for the user: shows the plan and the waivers and, with `yes`, does one write.
 * Returns `incomplete` if nothing was begun.
 */
export const rolloutStartCommand: RolloutCommand = async (subject, options, signal, ports) => {
  const looked = await lookAt(subject, ports, signal);
  const { person } = looked;
  const { yes = false, output, program, repeat } = options;
  const begins = person.kind === 'act' && !goesOn(person) && !signal.aborted;
  if (output === 'table' || !yes || !begins) showPlan(subject, looked, { ...options, following: begins && yes }, ports);
  if (!begins || !yes) {
    const { message } =
      noSuchCluster(looked.observed) ?? (goesOn(person) ? { message: 'a rollout is running' } : person);
    ports.stderr.write(
      `Nothing was written: ${begins ? `--yes starts it. ${program} rollout start --yes${repeat}` : `${message}.`}\n`,
    );
    return EXIT.incomplete;
  }
  const { target, policy, waivers } = subject;
  const asked = { policy, waivers, trigger: 'person', clock: ports.clock, signal } as const;
  const stepped = await untilNotOvertaken(() => ports.step(target, asked));
  const { observed, step, written, problems, at } = stepped;
  if (output === 'json')
    printJson(ports, { version: 1, kind: 'start', at, cluster: observed.cluster, step, written, problems });
  else print(ports, ['', startLines(stepped, options)]);
  const begun = written?.kind === 'written';
  if (!begun || options.watch !== true) return begun && problems.length === 0 ? EXIT.done : EXIT.incomplete;
  return rolloutDriveCommand(subject, options, signal, ports);
};

function startLines(
  { observed, step, written, problems }: RolloutStepped,
  { program, repeat, watch }: RolloutOptions,
): Lines {
  const begun = written?.kind === 'written';
  const drive = observed.etcd === undefined ? 'status --watch' : 'drive --yes';
  return [
    hang(begun ? good('✔ ') : bad('✖ '), `${strong(safe(observed.cluster.name))}: ${outcome(step, written)}.`),
    begun && step.kind === 'act' && writeLines('Written, in one patch of', step.write),
    begun && answers(step),
    !begun && (step.kind === 'hold' || step.kind === 'ask') && reasonLines(step.reasons, program),
    problemsLines(problems, program),
    begun && ['', watch !== true && nextLine(`${program} rollout ${drive}${repeat}`)],
  ];
}

function outcome(step: RolloutStep, written: RolloutStepped['written']): string {
  if (step.kind !== 'act' || written === undefined)
    return `nothing was written: the state has just changed: ${safe(step.message)}`;
  return written.kind === 'written' ? `rollout ${safe(step.mark?.id ?? '')} started` : WRITTEN_WORDS[written.kind];
}

function answers({ checks }: RolloutStep): Lines {
  const waived = checks.filter((check) => !check.passed && check.waived === true);
  const told = waived.map(({ id, found }) => `${id} (${safe(found)})`).join(', ');
  return waived.length > 0 && hang('  ', `You answer for: ${told}.`);
}
