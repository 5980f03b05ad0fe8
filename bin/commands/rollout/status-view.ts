import type { Problem } from '../../../lambdas/contracts/problem.ts';
import type { ObservedRollout } from '../../../lambdas/rollout/observed.ts';
import type { MachineProgress, RolloutProgress } from '../../../lambdas/rollout/progress.ts';
import type { RolloutStep } from '../../../lambdas/rollout/step.ts';
import type { NamedServer } from '../../target.ts';
import { bar } from '../../terminal/bar.ts';
import { block, hang, type Lines, table } from '../../terminal/draw.ts';
import { bad, faint, good, type Paint, warn } from '../../terminal/paint.ts';
import { nextLine, serverLine } from '../../terminal/phrases.ts';
import { dayOf, joined, shortDuration, span } from '../../terminal/words.ts';
import { headline, noSuchCluster, otherReasons, problemsLines, reasonLines, safe, unwellWords } from './lines.ts';
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
  /** Milliseconds until the next observation; absent for the last one. */
  readonly nextMs?: number | undefined;
}

export const MACHINE_STATES: Readonly<Record<MachineProgress['state'], string>> = {
  old: '○',
  new: '◐',
  replaced: '◕',
  verified: '✔',
  leaving: '↓',
};

/**
 * The status of a rollout for people: a summary, the progress of each machine, why it does not continue, and the next
 * command.
 */
export function rolloutStatusLines(view: RolloutStatusView): Lines {
  const { observed, step, server, now, program, nextMs } = view;
  const { progress, mark } = step;
  const moved = progress === undefined ? '' : `; last change ${span(now - progress.movedAt)} ago`;
  const by = mark?.trigger === 'person' ? 'a person' : 'the schedule';
  return [
    headline(observed.cluster.name, noSuchCluster(observed) ?? step),
    serverLine(server),
    mark && hang('  ', faint(safe(`${mark.id}, started ${mark.start} by ${by}${moved}`))),
    progress && ['', machineLines('control plane', progress, now)],
    progress?.etcd && ['', machineLines('etcd', progress.etcd, now)],
    block(
      (step.kind === 'hold' || step.kind === 'ask') &&
        reasonLines(otherReasons(step.reasons, observed.unread), program),
      problemsLines([...observed.unread, ...view.problems], program),
    ),
    '',
    nextMs === undefined
      ? nextLine(...nextCommand(view))
      : `  Reading again every ${nextMs / 1000} s; times in UTC. Ctrl-C stops this view, never the rollout.`,
  ];
}

function machineLines(title: string, progress: Omit<RolloutProgress, 'etcd'>, now: number): Lines {
  const { wanted, replaced, verified } = progress;
  const share = wanted > 0 ? verified / wanted : 0;
  const machines = progress.machines.toSorted(
    (a, b) => b.unhealthy.length - a.unhealthy.length || a.createdAt - b.createdAt,
  );
  return [
    (width) =>
      hang(
        '  ',
        `${bar(share, Math.max(12, Math.min(32, (width ?? 80) - 48)))}  ${title}: ${verified} of ${wanted} verified, ${replaced} replaced`,
      ),
    table(
      [
        ['', ...['MACHINE', 'NODE', 'STATE', 'AGE', 'CERTIFICATE'].map(faint)],
        ...machines.map((machine) => {
          const { name, node = 'no node yet', state, createdAt } = machine;
          const paint = paintOf(machine);
          return [
            paint(MACHINE_STATES[state]),
            safe(name),
            safe(node),
            paint(state),
            shortDuration((now - createdAt) / 1000),
            joined([served(machine), unwell(machine)], '; '),
          ];
        }),
      ],
      80,
    ),
  ];
}

function paintOf({ state, unhealthy }: MachineProgress): Paint {
  if (unhealthy.length > 0 && state !== 'leaving' && state !== 'new') return bad;
  if (state === 'verified') return good;
  return state === 'old' || state === 'leaving' ? faint : warn;
}

function served({ served: certificate, state }: MachineProgress): string {
  if (certificate.kind === 'certificate') return `${dayOf(certificate.notBefore)} → ${dayOf(certificate.notAfter)}`;
  if (state === 'new') return 'none yet: it is being made';
  return certificate.kind === 'none' ? 'not tried' : `not seen: ${safe(certificate.problem)}`;
}

/** A machine that is being created or deleted need not be healthy. */
function unwell({ state, unhealthy }: MachineProgress): string | undefined {
  const words = state === 'new' || state === 'leaving' ? undefined : unwellWords(unhealthy);
  return words && bad(words);
}

function nextCommand({ step, program, repeat }: RolloutStatusView): readonly [command: string, note?: string] {
  if (step.kind === 'ask') return [safe(step.command)];
  const run = (command: string): string => `${program} rollout ${command}${repeat}`;
  if (goesOn(step)) return [run('status --watch')];
  if (step.state === 'held') return [run('resume'), `, after you have fixed what is above; or ${run('abort')}`];
  return step.state === 'done' ? ['nothing left to do', `; ${program} audit shows every certificate`] : [run('plan')];
}
