import { pasteable } from '../../../lambdas/command.ts';
import type { RolloutWritten } from '../../../lambdas/rollout/act.ts';
import type { ObservedRollout } from '../../../lambdas/rollout/observed.ts';
import { endsSettled } from '../../../lambdas/rollout/settled.ts';
import type { RolloutAct, RolloutHold, RolloutStep } from '../../../lambdas/rollout/step.ts';
import { EXIT } from '../../exit-codes.ts';
import { print, printJson } from '../../io.ts';
import type { NamedServer } from '../../target.ts';
import { hang, type Lines } from '../../terminal/draw.ts';
import { faint } from '../../terminal/paint.ts';
import { nextLine, serverLine } from '../../terminal/phrases.ts';
import { during } from '../../terminal/progress.ts';
import { sentence } from '../../terminal/words.ts';
import { documentOf, headline, noSuchCluster, problemsLines, runbook, safe, writeLines } from './lines.ts';
import { type RolloutCommand, type RolloutOptions, untilNotOvertaken } from './ports.ts';
import { WRITTEN_WORDS } from './words.ts';

type Change = 'abort' | 'resume';

const MEANS: Readonly<Record<Change, string>> = {
  abort:
    'New machines stay, and so do those that were not replaced. Cluster API removes what is one too many; when nothing changes any more, rollout drive releases the Lease.',
  resume: 'Rollout status shows what continues.',
};

/** The command that completes it. */
const AFTER: Readonly<Record<Change, string>> = { abort: 'drive --yes', resume: 'status' };

interface Changed {
  readonly observed: ObservedRollout;
  readonly step: RolloutAct | RolloutHold;
  readonly written?: RolloutWritten;
}

/**
 * Stops a rollout (`abort`) or removes a hold (`resume`): one write, and only with `yes`. Returns `incomplete` if
 * nothing was written.
 */
export const rolloutChangeCommand =
  (change: Change): RolloutCommand =>
  async ({ target }, options, signal, ports) => {
    const { clock, planAbort, planResume } = ports;
    const { yes = false } = options;
    const changed = await untilNotOvertaken(async (): Promise<Changed> => {
      const observed = await during(ports, `${target.name}: reading its control plane`, () =>
        ports.observe(target, signal),
      );
      const step = (change === 'abort' ? planAbort : planResume)(observed, clock());
      if (step.kind !== 'act' || !yes || signal.aborted) return { observed, step };
      const { namespace } = observed.capiCluster ?? step.write.object;
      const cluster = `${namespace}/${observed.capiCluster?.name ?? observed.cluster.name}`;
      const { management } = target;
      const settled = endsSettled(step.write, observed);
      const given = { management, cluster, clock, signal, lease: observed.lease, settled };
      return { observed, step, written: await ports.act(step.write, given) };
    });
    const { observed, step, written } = changed;
    if (options.output === 'json')
      printJson(ports, { ...documentOf(change, clock(), observed), step, written, unread: observed.unread });
    else {
      print(ports, changeLines(change, changed, options, target.server));
      if (step.kind === 'act' && written === undefined)
        ports.stderr.write(`Nothing was written${yes ? '' : ': --yes does it'}.\n`);
    }
    return written?.kind === 'written' ? EXIT.done : EXIT.incomplete;
  };

function changeLines(
  change: Change,
  { observed, step, written }: Changed,
  { program, repeat, yes = false }: RolloutOptions,
  server: NamedServer,
): Lines {
  // An unreadable control plane does not mean that there is nothing to do.
  const isUnread = observed.controlPlane === undefined && observed.unread.length > 0;
  const missing = noSuchCluster(observed);
  const asked = step.kind === 'act' && !yes ? `${change} --yes` : 'status';
  const verb = `${written === undefined ? 'It would write' : sentence(WRITTEN_WORDS[written.kind])}, in one patch of`;
  return [
    headline(
      observed.cluster.name,
      isUnread
        ? { state: 'refused', message: 'its control plane could not be read: nothing was written' }
        : (missing ?? storyOf(step, written)),
    ),
    serverLine(server),
    isUnread
      ? ''
      : step.kind === 'act'
        ? [
            '',
            writeLines(verb, step.write),
            (written === undefined || written.kind === 'written') && hang('  ', faint(MEANS[change])),
            written?.problem && problemsLines([written.problem], program),
          ]
        : // The headline already says why.
          missing === undefined &&
          step.reasons.map(({ id, remedy }) => [
            hang('  → ', pasteable(safe(remedy), program)),
            hang('    ', faint(runbook(id, program))),
          ]),
    problemsLines(observed.unread, program),
    '',
    nextLine(`${program} rollout ${written?.kind === 'written' ? AFTER[change] : asked}${repeat}`),
  ];
}

function storyOf(
  step: RolloutAct | RolloutHold,
  written: RolloutWritten | undefined,
): Pick<RolloutStep, 'state' | 'message'> {
  if (step.kind === 'hold') return { state: 'refused', message: `${step.message}; nothing was written` };
  if (written === undefined) return step;
  if (written.kind !== 'written') return { state: 'refused', message: WRITTEN_WORDS[written.kind] };
  return { state: 'done', message: step.message };
}
