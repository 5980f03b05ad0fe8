import { isDeepStrictEqual } from 'node:util';
import { formatHoldMark, formatRolloutMark, type RolloutMark } from '../contracts/rollout-mark.ts';
import { HOLD_ANNOTATION, PAUSED_ANNOTATION, ROLLOUT_ANNOTATION } from '../resources/annotations.ts';
import { isJsonObject, type JsonObject } from '../resources/fields.ts';
import { pauseOf } from './etcd-order.ts';
import type { RolloutWrite } from './step.ts';

/**
 * etcdadm-controller and the control plane provider of EKS Anywhere only check its presence. Source:
 * etcdadm-controller, api/v1beta1, `UpgradeInProgressAnnotation`.
 */
const ETCD_UPGRADING_ANNOTATION = 'etcdcluster.cluster.x-k8s.io/upgrading';

/** The JSON merge patch of a write: null removes a field. Pure. */
export function patchOf(write: RolloutWrite): JsonObject {
  const { uid, resourceVersion } = write.object;
  const { annotations, spec } = changesOf(write);
  return { metadata: { uid, resourceVersion, annotations }, ...(spec === undefined ? {} : { spec }) };
}

interface Changes {
  readonly annotations: JsonObject;
  readonly spec?: JsonObject;
}

function changesOf(write: RolloutWrite): Changes {
  switch (write.kind) {
    case 'roll-control-plane':
      return { annotations: marked(write.mark), spec: rolloutAfter(write.object.apiVersion, write.mark.start) };
    case 'pause-control-plane':
      return { annotations: { ...marked(write.mark), [PAUSED_ANNOTATION]: pauseOf(write.mark) } };
    case 'roll-etcd':
      return {
        annotations: { ...marked(write.mark), [ETCD_UPGRADING_ANNOTATION]: 'true' },
        spec: { etcdadmConfigSpec: { postEtcdadmCommands: write.postEtcdadmCommands } },
      };
    case 'unpause-control-plane':
      return { annotations: { ...marked(write.mark), [PAUSED_ANNOTATION]: null } };
    case 'hold':
      return { annotations: { [HOLD_ANNOTATION]: formatHoldMark(write.hold) } };
    case 'abort':
      return {
        annotations: {
          ...marked(write.mark),
          ...(write.unpause ? { [PAUSED_ANNOTATION]: null } : {}),
          ...(write.unhold ? { [HOLD_ANNOTATION]: null } : {}),
        },
        ...(write.clearAfter ? { spec: rolloutAfter(write.object.apiVersion, null) } : {}),
      };
  }
}

function marked(mark: RolloutMark): JsonObject {
  return { [ROLLOUT_ANNOTATION]: formatRolloutMark(mark) };
}

/** Source: Cluster API, api/controlplane/kubeadm, of either version. */
function rolloutAfter(apiVersion: 'v1beta2' | 'v1beta1', after: string | null): JsonObject {
  return apiVersion === 'v1beta2' ? { rollout: { after } } : { rolloutAfter: after };
}

/**
 * Whether an object has the values of a patch: a webhook may change them, and a definition without a field may drop it.
 * Pure.
 *
 * @returns the first different field: `spec.rollout.after`
 */
export function differsFrom(patch: JsonObject, object: unknown): string | undefined {
  return differing(patch, object, []);
}

function differing(wanted: unknown, found: unknown, path: readonly string[]): string | undefined {
  if (!isJsonObject(wanted)) return isSame(wanted, found) ? undefined : path.join('.');
  for (const [key, value] of Object.entries(wanted)) {
    if (path.length === 1 && key === 'resourceVersion') continue;
    const at = [...path, key];
    const next = isJsonObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
    const different = differing(value, next, at);
    if (different !== undefined) return different;
  }
  return undefined;
}

function isSame(wanted: unknown, found: unknown): boolean {
  if (wanted === null) return found === undefined || found === null;
  return isDeepStrictEqual(wanted, found);
}
