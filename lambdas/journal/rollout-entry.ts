import type { RolloutMark } from '../contracts/rollout-mark.ts';
import { printable } from '../printable.ts';
import type { RolloutStep, RolloutWrite } from '../rollout/step.ts';
import type { RolloutStepped } from '../rollout/step-rollout.ts';
import type { RolloutEntry } from './journal.ts';

/** Fields shared by all entries of one step. */
export interface RolloutContext {
  /** Id in the fleet. */
  readonly cluster: string;
  /** Version of certmarshal. */
  readonly program: string;
}

const MAX_TEXT = 600;

/** The entries of one step of a rollout: one for each attempted write. Pure. */
export function rolloutEntries(
  { step, written, at }: Pick<RolloutStepped, 'step' | 'written' | 'at'>,
  { cluster, program }: RolloutContext,
): readonly RolloutEntry[] {
  const write = writeOf(step);
  // The object changed in between and the write is planned again: nothing was decided.
  if (write === undefined || written === undefined || written.kind === 'overtaken') return [];
  const { object } = write;
  const mark = 'mark' in write ? write.mark : step.mark;
  const problem = written.problem === undefined ? undefined : `${written.problem.object}: ${written.problem.message}`;
  const words = write.kind === 'hold' && problem === undefined ? write.hold.message : problem;
  return [
    {
      version: 1,
      kind: 'rollout',
      at,
      cluster,
      object: `${write.kind === 'roll-etcd' ? 'EtcdadmCluster' : 'KubeadmControlPlane'} ${printable(object.namespace, 253)}/${printable(object.name, 253)}`,
      uid: printable(object.uid, 100),
      write: write.kind,
      ...ofMark(mark),
      reason: printable(write.kind === 'hold' ? write.hold.reason : (mark?.reason ?? 'wanted by a person'), 300),
      message: words === undefined ? undefined : printable(words, MAX_TEXT),
      outcome: written.kind,
      program,
    },
  ];
}

function writeOf(step: RolloutStep): RolloutWrite | undefined {
  return step.kind === 'act' || step.kind === 'hold' ? step.write : undefined;
}

function ofMark(mark: RolloutMark | undefined): Pick<RolloutEntry, 'rollout' | 'start' | 'trigger'> {
  if (mark === undefined) return {};
  return { rollout: printable(mark.id, 26), start: printable(mark.start, 40), trigger: mark.trigger };
}
