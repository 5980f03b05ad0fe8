import { HOLD_ANNOTATION, PAUSED_ANNOTATION, ROLLOUT_ANNOTATION } from '../../../lambdas/resources/annotations.ts';
import type { RolloutWritten } from '../../../lambdas/rollout/act.ts';
import type { ObservedControlPlane } from '../../../lambdas/rollout/observed.ts';
import type { RolloutStep, RolloutWrite } from '../../../lambdas/rollout/step.ts';
import type { RolloutState } from '../../../lambdas/tables/rollout-states.ts';
import { bad, faint, good, type Paint, warn } from '../../terminal/paint.ts';

/** The field of Cluster API that begins a rollout. */
export function afterField({ apiVersion }: Pick<ObservedControlPlane, 'apiVersion'>): string {
  return apiVersion === 'v1beta1' ? 'spec.rolloutAfter' : 'spec.rollout.after';
}

/** A patch in words: the object, and each field with its value. */
export function writeWords(write: RolloutWrite): { readonly object: string; readonly fields: readonly string[] } {
  const { namespace, name } = write.object;
  const note = `annotation ${ROLLOUT_ANNOTATION}`;
  if (write.kind === 'roll-etcd')
    return {
      object: `EtcdadmCluster ${namespace}/${name}`,
      fields: [
        'annotation etcdcluster.cluster.x-k8s.io/upgrading = true',
        `spec.etcdadmConfigSpec.postEtcdadmCommands + ${write.postEtcdadmCommands.at(-1) ?? ''}`,
        `${note} = ${write.mark.id}`,
      ],
    };
  return { object: `KubeadmControlPlane ${namespace}/${name}`, fields: controlPlaneFields(write, note) };
}

function controlPlaneFields(write: Exclude<RolloutWrite, { kind: 'roll-etcd' }>, note: string): readonly string[] {
  switch (write.kind) {
    case 'roll-control-plane':
      return [`${afterField(write.object)} = ${write.mark.start}`, `${note} = ${write.mark.id}`];
    case 'pause-control-plane':
      return [`annotation ${PAUSED_ANNOTATION}, while etcd is rolled`, `${note} = ${write.mark.id}`];
    case 'unpause-control-plane':
      return [`annotation ${PAUSED_ANNOTATION} removed`];
    case 'hold':
      return [`annotation ${HOLD_ANNOTATION} = ${write.hold.reason}`];
    case 'resume':
      return [`annotation ${HOLD_ANNOTATION} removed`];
    case 'abort':
      return [
        ...(write.clearAfter ? [`${afterField(write.object)} removed`] : []),
        ...(write.unpause ? [`annotation ${PAUSED_ANNOTATION} removed`] : []),
        ...(write.unhold ? [`annotation ${HOLD_ANNOTATION} removed`] : []),
        `${note} = ${write.mark.id}, aborted`,
      ];
  }
}

/** The result of a write, without a full stop. */
export const WRITTEN_WORDS: Readonly<Record<RolloutWritten['kind'], string>> = {
  written: 'written',
  overtaken: 'not written: another client changed the object meanwhile',
  refused: 'not written: the API server refused it, in its dry run or after',
  locked: 'not written: another rollout of this management cluster is running',
  failed: 'nothing was written: it was not sent',
  unknown: 'sent, but no answer says whether it was done: the next look shows it',
};

export const STATES: Readonly<Record<RolloutState, readonly [symbol: string, paint: Paint]>> = {
  off: ['·', faint],
  idle: ['✔', good],
  waiting: ['◌', warn],
  refused: ['✖', bad],
  assist: ['!', warn],
  ready: ['◇', good],
  rolling: ['↻', warn],
  verifying: ['↻', warn],
  held: ['✖', bad],
  done: ['✔', good],
  aborted: ['✖', warn],
  foreign: ['!', warn],
  expired: ['✖', bad],
};

/** Whether a rollout of certmarshal is in progress. */
export function goesOn({ state }: Pick<RolloutStep, 'state'>): boolean {
  return state === 'rolling' || state === 'verifying';
}

export function isBad({ state }: Pick<RolloutStep, 'state'>): boolean {
  return ['refused', 'held', 'aborted', 'foreign', 'expired'].includes(state);
}
