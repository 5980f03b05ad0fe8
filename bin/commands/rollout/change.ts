import type { RolloutWritten } from '../../../lambdas/rollout/act.ts';
import type { ObservedRollout } from '../../../lambdas/rollout/observed.ts';
import { endsSettled } from '../../../lambdas/rollout/settled.ts';
import type { RolloutAct, RolloutHold, RolloutStep } from '../../../lambdas/rollout/step.ts';
import { EXIT } from '../../exit-codes.ts';
import { pasteable } from '../../program.ts';
import { serverWords } from '../../target.ts';
import { startProgress } from '../../terminal/progress.ts';
import { styleFor } from '../../terminal/style.ts';
import { hang, terminalWidth } from '../../terminal/wrap.ts';
import { headline, noSuchCluster, problemLines, runbook, safe, writeLines } from './lines.ts';
import type { RolloutOptions, RolloutPorts, RolloutSubject } from './ports.ts';
import { MOST_TRIES, WRITTEN_WORDS } from './words.ts';

const MEANS = {
  abort:
    'Machines that are replaced stay; those that are not stay too. Cluster API removes what is one too many; when nothing moves any more, rollout drive gives the Lease back.',
  resume: 'What goes on then is shown by rollout status.',
} as const;

/** What sees it through. */
const AFTER = { abort: 'drive', resume: 'status' } as const;

interface Changed {
  readonly observed: ObservedRollout;
  readonly step: RolloutAct | RolloutHold;
  readonly written?: RolloutWritten;
}

/**
 * Stops a rollout (`abort`) or takes a hold off it (`resume`): one write, and only with `yes`.
 *
 * @returns the exit status: `incomplete` when nothing was written
 */
export async function rolloutChangeCommand(
  change: 'abort' | 'resume',
  { target }: RolloutSubject,
  { yes = false, output, program, repeat }: RolloutOptions & { readonly yes?: boolean },
  signal: AbortSignal,
  { stdout, stderr, env, clock, observe, planAbort, planResume, act }: RolloutPorts,
): Promise<number> {
  const once = async (): Promise<Changed> => {
    const progress = startProgress(stderr, clock);
    progress.say(`${target.name}: reading its control plane`);
    const observed = await observe(target, signal).finally(() => progress.done());
    const step = (change === 'abort' ? planAbort : planResume)(observed, clock());
    if (step.kind !== 'act' || !yes || signal.aborted) return { observed, step };
    const { namespace } = observed.capiCluster ?? step.write.object;
    const cluster = `${namespace}/${observed.capiCluster?.name ?? observed.cluster.name}`;
    const settled = endsSettled(step.write, observed);
    const options = { management: target.management, cluster, clock, signal, lease: observed.lease, settled };
    return { observed, step, written: await act(step.write, options) };
  };
  let changed = await once();
  // Controllers write to the object too: what they overtook is looked at and planned anew.
  for (let tries = 1; tries < MOST_TRIES && changed.written?.kind === 'overtaken'; tries += 1) changed = await once();
  const { observed, step, written } = changed;
  const status = written?.kind === 'written' ? EXIT.done : EXIT.incomplete;
  if (output === 'json') {
    const at = new Date(clock()).toISOString();
    const document = {
      version: 1,
      kind: change,
      at,
      cluster: observed.cluster,
      step,
      written,
      unread: observed.unread,
    };
    stdout.write(`${JSON.stringify(document)}\n`);
    return status;
  }
  const { server } = target;
  const style = styleFor(stdout, env);
  const width = terminalWidth(stdout);
  // Where it cannot be read, nobody knows that there is nothing to do.
  const isUnread = observed.controlPlane === undefined && observed.unread.length > 0;
  const missing = noSuchCluster(observed);
  const lines = headline(
    observed.cluster.name,
    isUnread
      ? { state: 'refused', message: 'its control plane could not be read: nothing was written' }
      : (missing ?? storyOf(step, written)),
    style,
    width,
  );
  if (server !== undefined) lines.push(...hang('  ', style.faint(serverWords(server)), width));
  if (isUnread) lines.push('');
  else if (step.kind === 'act') {
    const verb =
      written === undefined
        ? 'It would write, in one patch of'
        : `${sentence(WRITTEN_WORDS[written.kind])}, in one patch of`;
    lines.push(
      '',
      ...writeLines(verb, step.write, width),
      ...(written === undefined || written.kind === 'written' ? hang('  ', style.faint(MEANS[change]), width) : []),
      ...problemLines(written?.problem === undefined ? [] : [written.problem], program, style, width),
    );
  } else if (missing === undefined)
    // The headline says why already.
    for (const { id, remedy } of step.reasons)
      lines.push(
        ...hang('  → ', pasteable(safe(remedy), program), width),
        ...hang('    ', style.faint(runbook(id)), width),
      );
  lines.push(...problemLines(observed.unread, program, style, width));
  const asked = step.kind === 'act' && !yes ? `${change} --yes` : 'status';
  const next = written?.kind === 'written' ? AFTER[change] : asked;
  lines.push('', `  ${style.strong('Next')}  ${program} rollout ${next}${repeat}`);
  stdout.write(`${lines.join('\n')}\n`);
  if (step.kind === 'act' && written === undefined)
    stderr.write(`Nothing was written${yes ? '' : `: --yes does it`}.\n`);
  return status;
}

function storyOf(
  step: RolloutAct | RolloutHold,
  written: RolloutWritten | undefined,
): Pick<RolloutStep, 'state' | 'message'> {
  if (step.kind === 'hold')
    return { state: 'refused', message: `nothing was written: ${step.message.replace(/^There/, 'there')}` };
  if (written === undefined) return step;
  if (written.kind !== 'written') return { state: 'refused', message: WRITTEN_WORDS[written.kind] };
  const message = step.message
    .replace(/^would abort (?<what>the rollout that began [^,:]*)(?<and>, and) take /, 'aborted $<what>$<and> took ')
    .replace(/^would abort/, 'aborted')
    .replace(/^would take/, 'took');
  return { state: 'done', message };
}

function sentence(words: string): string {
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
}
