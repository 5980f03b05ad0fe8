import { field, list, text } from '../resources/fields.ts';
import { HOLD_ANNOTATION, OPT_IN_ANNOTATION, PAUSED_ANNOTATION, ROLLOUT_ANNOTATION } from './annotations.ts';

/** More than any mark of ours has. */
const LONGEST_ANNOTATION = 4096;
const LONGEST_TYPE = 100;
const MOST_CONDITIONS = 64;

const METADATA = ['namespace', 'name', 'uid', 'resourceVersion', 'generation', 'deletionTimestamp'];
const LABEL = 'cluster.x-k8s.io/cluster-name';
const ANNOTATIONS = [
  PAUSED_ANNOTATION,
  OPT_IN_ANNOTATION,
  ROLLOUT_ANNOTATION,
  HOLD_ANNOTATION,
  'controlplane.cluster.x-k8s.io/remediation-in-progress',
  'controlplane.clusters.x-k8s.io/in-place-upgrade-needed',
];
const SPEC = ['replicas', 'version', 'rollout', 'rolloutAfter', 'rolloutBefore', 'rolloutStrategy'];
const STATUS = [
  'observedGeneration',
  'replicas',
  'readyReplicas',
  'availableReplicas',
  'upToDateReplicas',
  'unavailableReplicas',
  'updatedReplicas',
];

/**
 * What `readSibling` reads of a KubeadmControlPlane, without words for people. There may be thousands, and in all else of an object its owner may keep as much as a
 * server takes. Pure; never throws.
 */
export function slimControlPlane(object: unknown): unknown {
  const external = field(object, 'spec', 'kubeadmConfigSpec', 'clusterConfiguration', 'etcd', 'external');
  return {
    metadata: {
      ...picked(METADATA, object, 'metadata'),
      labels: picked([LABEL], object, 'metadata', 'labels'),
      annotations: picked(ANNOTATIONS, object, 'metadata', 'annotations'),
    },
    spec: {
      ...picked(SPEC, object, 'spec'),
      kubeadmConfigSpec: { clusterConfiguration: { etcd: external == null ? {} : { external: {} } } },
    },
    status: {
      ...picked(STATUS, object, 'status'),
      conditions: conditions(object, 'status', 'conditions'),
      v1beta2: { conditions: conditions(object, 'status', 'v1beta2', 'conditions') },
    },
  };
}

/** An annotation that is there counts, also where it is none of ours. */
function picked(keys: readonly string[], object: unknown, ...path: readonly string[]): Record<string, unknown> {
  const found = keys.map((key) => [key, field(object, ...path, key)] as const);
  return Object.fromEntries(
    found.flatMap(([key, value]) => {
      if (value === undefined) return [];
      return [[key, typeof value === 'string' ? value.slice(0, LONGEST_ANNOTATION) : value]];
    }),
  );
}

function conditions(object: unknown, ...path: readonly string[]): readonly unknown[] {
  return list(object, ...path)
    .slice(0, MOST_CONDITIONS)
    .map((condition) => ({
      type: text(condition, 'type')?.slice(0, LONGEST_TYPE + 1),
      status: text(condition, 'status')?.slice(0, LONGEST_TYPE),
      reason: text(condition, 'reason')?.slice(0, LONGEST_TYPE),
    }));
}
