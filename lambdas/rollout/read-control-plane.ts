import { parseHoldMark, parseRolloutMark } from '../contracts/rollout-mark.ts';
import { printable } from '../printable.ts';
import { field } from '../resources/fields.ts';
import {
  annotation,
  type Condition,
  conditionsAt,
  countAt,
  isDeleting,
  MISSING,
  nameAt,
  objectVersion,
  timeAt,
} from '../resources/values.ts';
import { HOLD_ANNOTATION, OPT_IN_ANNOTATION, PAUSED_ANNOTATION, ROLLOUT_ANNOTATION } from './annotations.ts';
import type { ControlPlaneCondition, ObservedControlPlane } from './observed.ts';

type Version = ObservedControlPlane['apiVersion'];

const REMEDIATING = 'controlplane.cluster.x-k8s.io/remediation-in-progress';
/** Of the Cluster API of EKS Anywhere; the group is spelled like this. Source: EKS Anywhere, `inPlaceUpgradeNeededAnnotation`. */
const IN_PLACE_UPGRADE = 'controlplane.clusters.x-k8s.io/in-place-upgrade-needed';

/** The infrastructure template that a control plane makes its machines of. */
export interface TemplateReference {
  /** `infrastructure.cluster.x-k8s.io`; v1beta2 has no version. */
  readonly group: string;
  readonly kind: string;
  /** v1beta2 has none: it is the one of the control plane. */
  readonly namespace: string;
  readonly name: string;
}

/**
 * A KubeadmControlPlane; undefined when a write could not name it. Numbers that it does not say read so that no check passes: generation 0, replicas 0. Pure; never
 * throws.
 *
 * v1beta1 of Cluster API 1.9 and later has the conditions of v1beta2 in `status.v1beta2`. Before that its own are told in their names: `Resized` False for
 * ScalingUp or ScalingDown, and `MachinesSpecUpToDate` False for RollingOut. That one is missing until a first rollout, and Remediating has none.
 *
 * Source: Cluster API, api/controlplane/kubeadm/v1beta1 and v1beta2.
 *
 * @param apiVersion that it was read in
 * @param templateFound whether the object that `readTemplate` names exists
 */
export function readControlPlane(
  object: unknown,
  apiVersion: Version,
  templateFound = false,
): ObservedControlPlane | undefined {
  const version = objectVersion(object);
  if (version === undefined) return undefined;
  const deleting = isDeleting(object);
  const paused = annotation(object, PAUSED_ANNOTATION);
  const mode = annotation(object, OPT_IN_ANNOTATION);
  const mark = annotation(object, ROLLOUT_ANNOTATION);
  const hold = annotation(object, HOLD_ANNOTATION);
  const template = readTemplate(object, apiVersion);
  const external = field(object, 'spec', 'kubeadmConfigSpec', 'clusterConfiguration', 'etcd', 'external');
  const observedGeneration = countAt(object, 'status', 'observedGeneration');
  const kubernetesVersion = nameAt(object, 'spec', 'version');
  const validity = countAt(
    object,
    'spec',
    'kubeadmConfigSpec',
    'clusterConfiguration',
    'certificateValidityPeriodDays',
  );
  return {
    ...version,
    apiVersion,
    generation: countAt(object, 'metadata', 'generation') ?? 0,
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    deleting,
    ...(paused === undefined ? {} : { paused: printable(paused) }),
    replicas: countAt(object, 'spec', 'replicas') ?? 0,
    status: apiVersion === 'v1beta2' ? replicas(object) : oldReplicas(object),
    conditions: conditionsOf(object, apiVersion, deleting),
    ...strategyOf(object, apiVersion),
    ...rolloutOf(object, apiVersion),
    ...(kubernetesVersion === undefined ? {} : { kubernetesVersion }),
    // 0 is that of kubeadm, as nothing is.
    ...(validity === undefined || validity === 0 ? {} : { certificateValidityDays: validity }),
    ...(mode === undefined ? {} : { mode: printable(mode) }),
    ...(mark === undefined ? {} : { mark: parseRolloutMark(mark) }),
    ...(hold === undefined ? {} : { hold: parseHoldMark(hold) }),
    remediating: annotation(object, REMEDIATING) !== undefined,
    inPlaceUpgrade: annotation(object, IN_PLACE_UPGRADE) !== undefined,
    etcd: external == null ? 'stacked' : 'external',
    ...(template === undefined ? {} : { template: { kind: template.kind, name: template.name, found: templateFound } }),
  };
}

/** What has to exist for a machine to be made; undefined when the control plane does not say. Pure; never throws. */
export function readTemplate(object: unknown, apiVersion: Version): TemplateReference | undefined {
  const reference =
    apiVersion === 'v1beta2'
      ? field(object, 'spec', 'machineTemplate', 'spec', 'infrastructureRef')
      : field(object, 'spec', 'machineTemplate', 'infrastructureRef');
  const group = nameAt(reference, 'apiGroup') ?? nameAt(reference, 'apiVersion')?.split('/')[0];
  const kind = nameAt(reference, 'kind');
  const name = nameAt(reference, 'name');
  const namespace = nameAt(reference, 'namespace') ?? nameAt(object, 'metadata', 'namespace');
  if (group === undefined || kind === undefined || name === undefined || namespace === undefined) return undefined;
  return { group, kind, namespace, name };
}

function replicas(object: unknown): ObservedControlPlane['status'] {
  return counts({
    replicas: countAt(object, 'status', 'replicas'),
    ready: countAt(object, 'status', 'readyReplicas'),
    available: countAt(object, 'status', 'availableReplicas'),
    upToDate: countAt(object, 'status', 'upToDateReplicas'),
  });
}

/** v1beta1 leaves out zeros. */
function oldReplicas(object: unknown): ObservedControlPlane['status'] {
  const all = countAt(object, 'status', 'replicas');
  const unavailable = field(object, 'status', 'unavailableReplicas') ?? 0;
  const away = typeof unavailable === 'number' && Number.isSafeInteger(unavailable) ? unavailable : undefined;
  return counts({
    replicas: all,
    ready: countAt(object, 'status', 'readyReplicas'),
    available: all === undefined || away === undefined ? undefined : Math.max(0, all - Math.max(0, away)),
    upToDate: countAt(object, 'status', 'updatedReplicas'),
  });
}

function counts(
  found: Readonly<Record<keyof ObservedControlPlane['status'], number | undefined>>,
): ObservedControlPlane['status'] {
  return Object.fromEntries(Object.entries(found).filter(([, count]) => count !== undefined));
}

function strategyOf(object: unknown, apiVersion: Version): Pick<ObservedControlPlane, 'strategy' | 'maxSurge'> {
  const strategy =
    apiVersion === 'v1beta2' ? field(object, 'spec', 'rollout', 'strategy') : field(object, 'spec', 'rolloutStrategy');
  const type = nameAt(strategy, 'type');
  const surge = field(strategy, 'rollingUpdate', 'maxSurge');
  // An IntOrString; its webhook allows only 0 and 1.
  const maxSurge = surge === '0' ? 0 : surge === '1' ? 1 : countAt(strategy, 'rollingUpdate', 'maxSurge');
  return { strategy: type, maxSurge };
}

function rolloutOf(
  object: unknown,
  apiVersion: Version,
): Pick<ObservedControlPlane, 'rolloutAfter' | 'rolloutBeforeDays'> {
  const path = apiVersion === 'v1beta2' ? (['spec', 'rollout', 'after'] as const) : (['spec', 'rolloutAfter'] as const);
  const written = field(object, ...path);
  // A time that cannot be read may be in the future.
  const after = written == null ? undefined : (timeAt(object, ...path) ?? Number.MAX_SAFE_INTEGER);
  const beforeDays =
    apiVersion === 'v1beta2'
      ? countAt(object, 'spec', 'rollout', 'before', 'certificatesExpiryDays')
      : countAt(object, 'spec', 'rolloutBefore', 'certificatesExpiryDays');
  return {
    rolloutAfter: after,
    rolloutBeforeDays: beforeDays,
  };
}

function conditionsOf(
  object: unknown,
  apiVersion: Version,
  deleting: boolean,
): Record<ControlPlaneCondition, Condition> {
  const old = apiVersion === 'v1beta1';
  const found = conditionsAt(object, 'status', ...(old ? ['v1beta2', 'conditions'] : ['conditions']));
  const read = old && found.size === 0 ? translated(conditionsAt(object, 'status', 'conditions'), deleting) : found;
  const of = (type: ControlPlaneCondition): Condition => read.get(type) ?? MISSING;
  return {
    CertificatesAvailable: of('CertificatesAvailable'),
    ControlPlaneComponentsHealthy: of('ControlPlaneComponentsHealthy'),
    EtcdClusterHealthy: of('EtcdClusterHealthy'),
    RollingOut: of('RollingOut'),
    ScalingUp: of('ScalingUp'),
    ScalingDown: of('ScalingDown'),
    Remediating: of('Remediating'),
    Deleting: of('Deleting'),
  };
}

/** Conditions of v1beta1 by the names of v1beta2. */
function translated(old: ReadonlyMap<string, Condition>, deleting: boolean): ReadonlyMap<string, Condition> {
  const read = new Map<string, Condition>();
  for (const same of ['CertificatesAvailable', 'ControlPlaneComponentsHealthy', 'EtcdClusterHealthy'] as const) {
    const condition = old.get(same);
    if (condition !== undefined) read.set(same, condition);
  }
  const upToDate = old.get('MachinesSpecUpToDate');
  if (upToDate !== undefined) read.set('RollingOut', opposite(upToDate));
  const resized = old.get('Resized');
  if (resized !== undefined) {
    const scales = opposite(resized);
    const not: Condition = { status: 'False', since: resized.since };
    // Where it does not say which of the two, it may be either.
    read.set('ScalingUp', resized.reason === 'ScalingDown' ? not : scales);
    read.set('ScalingDown', resized.reason === 'ScalingUp' ? not : scales);
  }
  // It has no condition for what the object itself tells.
  read.set('Deleting', { status: deleting ? 'True' : 'False' });
  return read;
}

function opposite(condition: Condition): Condition {
  if (condition.status === 'True') return { ...condition, status: 'False' };
  if (condition.status === 'False') return { ...condition, status: 'True' };
  return condition;
}
