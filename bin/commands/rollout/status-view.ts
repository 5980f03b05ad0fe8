import type { Problem } from '../../../lambdas/contracts/problem.ts';
import type { ObservedRollout } from '../../../lambdas/rollout/observed.ts';
import type { MachineProgress, RolloutProgress } from '../../../lambdas/rollout/progress.ts';
import type { RolloutStep } from '../../../lambdas/rollout/step.ts';
import { type NamedServer, serverWords } from '../../target.ts';
import { bar } from '../../terminal/bar.ts';
import type { Style } from '../../terminal/style.ts';
import { table } from '../../terminal/table.ts';
import { shortDuration, span } from '../../terminal/time.ts';
import { hang } from '../../terminal/wrap.ts';
import { dayOf, headline, noSuchCluster, otherReasons, problemLines, reasonLines, safe, unwellWords } from './lines.ts';
import { goesOn } from './words.ts';

export interface RolloutStatusView {
  readonly observed: Pick<ObservedRollout, 'cluster' | 'capiCluster' | 'unread' | 'lease'>;
  readonly step: RolloutStep;
  readonly problems: readonly Problem[];
  readonly server?: NamedServer;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly program: string;
  readonly repeat: string;
  /** Milliseconds until the next look; absent where this is the last one. */
  readonly nextMs?: number;
}

/** What a machine is doing, in a symbol; the word is that of the state. */
export const MACHINE_STATES: Readonly<Record<MachineProgress['state'], string>> = {
  old: '○',
  new: '◐',
  replaced: '◕',
  verified: '✔',
  leaving: '↓',
};

/**
 * Where a rollout is, as people read it: the whole story, how far each machine is, why it does not go on, and the next command.
 *
 * @param width columns of the terminal; undefined wraps nothing
 */
export function renderRolloutStatus(view: RolloutStatusView, style: Style, width: number | undefined): string {
  const { observed, step, server, now, program } = view;
  const { progress, mark } = step;
  return [
    ...headline(observed.cluster.name, noSuchCluster(observed) ?? step, style, width),
    ...(server === undefined ? [] : hang('  ', style.faint(serverWords(server)), width)),
    ...(mark === undefined
      ? []
      : hang(
          '  ',
          style.faint(
            safe(
              `${mark.id}, begun ${mark.start} by ${mark.trigger === 'person' ? 'a person' : 'the schedule'}${progress === undefined ? '' : `; last sign of life ${span(now - progress.movedAt)} ago`}`,
            ),
          ),
          width,
        )),
    ...(progress === undefined ? [] : ['', ...machines('control plane', progress, now, style, width)]),
    ...(progress?.etcd === undefined ? [] : ['', ...machines('etcd', progress.etcd, now, style, width)]),
    ...reasons(view, style, width),
    '',
    view.nextMs === undefined
      ? `  ${style.strong('Next')}  ${nextCommand(view, program)}`
      : `  Looking every ${view.nextMs / 1000} s, times in UTC. Ctrl-C stops the looking, never the rollout.`,
  ].join('\n');
}

function machines(
  title: string,
  progress: Omit<RolloutProgress, 'etcd'>,
  now: number,
  style: Style,
  width: number | undefined,
): string[] {
  const { wanted, replaced, verified } = progress;
  const columns = Math.max(12, Math.min(32, (width ?? 80) - 48));
  const share = (count: number) => (wanted > 0 ? count / wanted : 0);
  return [
    ...hang(
      '  ',
      `${bar(share(verified), columns)}  ${title}: ${verified} of ${wanted} verified, ${replaced} replaced`,
      width,
    ),
    ...table(
      [
        ['', ...['MACHINE', 'NODE', 'STATE', 'AGE', 'CERTIFICATE'].map(style.faint)],
        ...progress.machines
          .toSorted((a, b) => b.unhealthy.length - a.unhealthy.length || a.createdAt - b.createdAt)
          .map((machine) => [
            paintOf(machine, style)(MACHINE_STATES[machine.state]),
            safe(machine.name),
            safe(machine.node ?? 'no node yet'),
            paintOf(machine, style)(machine.state),
            shortDuration((now - machine.createdAt) / 1000),
            [served(machine), unwell(machine, style)].filter((part) => part !== undefined).join('; '),
          ]),
      ],
      { width, stackBelow: 80 },
    ),
  ];
}

function paintOf({ state, unhealthy }: MachineProgress, style: Style): (text: string) => string {
  if (unhealthy.length > 0 && state !== 'leaving' && state !== 'new') return style.bad;
  if (state === 'verified') return style.good;
  return state === 'old' || state === 'leaving' ? style.faint : style.warn;
}

function served({ served: certificate, state }: MachineProgress): string {
  if (certificate.kind === 'certificate') return `${dayOf(certificate.notBefore)} → ${dayOf(certificate.notAfter)}`;
  if (state === 'new') return 'none yet: it is being made';
  return certificate.kind === 'none' ? 'nobody tried' : `not seen: ${safe(certificate.problem)}`;
}

/** A machine that is being made or goes is not well, and need not be. */
function unwell({ state, unhealthy }: MachineProgress, style: Style): string | undefined {
  const words = state === 'new' || state === 'leaving' ? undefined : unwellWords(unhealthy);
  return words === undefined ? undefined : style.bad(words);
}

function reasons(
  { observed, step, problems, program }: RolloutStatusView,
  style: Style,
  width: number | undefined,
): string[] {
  const lines = [
    ...(step.kind === 'hold' || step.kind === 'ask'
      ? reasonLines(otherReasons(step.reasons, observed.unread), program, style, width)
      : []),
    ...problemLines([...observed.unread, ...problems], program, style, width),
  ];
  return lines.length === 0 ? [] : ['', ...lines];
}

function nextCommand({ step, repeat }: RolloutStatusView, program: string): string {
  if (step.kind === 'ask') return safe(step.command);
  if (goesOn(step)) return `${program} rollout status --watch${repeat}`;
  if (step.state === 'held')
    return `${program} rollout resume${repeat}, when what is above is mended; or ${program} rollout abort${repeat}`;
  return step.state === 'done'
    ? `nothing is left to do; ${program} audit shows every certificate`
    : `${program} rollout plan${repeat}`;
}
