import type { RolloutWritten } from '../../lambdas/rollout-step/act-rollout.ts';
import { EXIT } from '../exit-codes.ts';
import { startProgress } from '../terminal/progress.ts';
import { styleFor } from '../terminal/style.ts';
import { hang, terminalWidth } from '../terminal/wrap.ts';
import { headline, problemLines, reasonLines, safe } from './render-rollout-lines.ts';
import type { RolloutOptions, RolloutPorts, RolloutSubject } from './rollout-ports.ts';
import { WRITTEN_WORDS, writeWords } from './rollout-words.ts';

const MEANS = {
  abort: 'Machines that are replaced stay; those that are not stay too. Cluster API removes what is one too many.',
  resume: 'The hold is taken off: what goes on then is shown by rollout status.',
} as const;

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
  const progress = startProgress(stderr, clock);
  progress.say(`${target.name}: reading its control plane`);
  const observed = await observe(target, signal).finally(() => progress.done());
  const step = (change === 'abort' ? planAbort : planResume)(observed, clock());
  let written: RolloutWritten | undefined;
  if (step.kind === 'act' && yes && !signal.aborted) {
    const cluster = `${observed.capiCluster?.namespace ?? step.write.object.namespace}/${observed.capiCluster?.name ?? observed.cluster.name}`;
    written = await act(step.write, { management: target.management, cluster, clock, signal });
  }
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
  const style = styleFor(stdout, env);
  const width = terminalWidth(stdout);
  // Where it cannot be read, nobody knows that there is nothing to do.
  const isUnread = observed.controlPlane === undefined && observed.unread.length > 0;
  const lines = headline(
    observed.cluster.name,
    isUnread ? { state: 'refused', message: 'its control plane could not be read: nothing was written' } : step,
    style,
    width,
  );
  if (isUnread) lines.push('');
  else if (step.kind === 'hold') lines.push(...reasonLines(step.reasons, program, style, width));
  else {
    const { object, fields } = writeWords(step.write);
    const what = `${safe(object)} ${fields.map(safe).join(', ')}`;
    lines.push(
      ...hang(
        '  ',
        written === undefined
          ? `It would write: ${what}. ${MEANS[change]}`
          : `${what}: ${WRITTEN_WORDS[written.kind]}.`,
        width,
      ),
      ...problemLines(written?.problem === undefined ? [] : [written.problem], program, style, width),
    );
  }
  lines.push(...problemLines(observed.unread, program, style, width));
  const next = written?.kind === 'written' ? 'status' : step.kind === 'act' && !yes ? `${change} --yes` : 'status';
  lines.push('', `  ${style.strong('Next')}  ${program} rollout ${next}${repeat}`);
  stdout.write(`${lines.join('\n')}\n`);
  if (step.kind === 'act' && written === undefined)
    stderr.write(`Nothing was written${yes ? '' : `: --yes does it`}.\n`);
  return status;
}
