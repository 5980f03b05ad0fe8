import { type HoldMark, parseHoldMark, parseRolloutMark, type RolloutMark } from '../contracts/rollout-mark.ts';
import { printable } from '../printable.ts';
import { HOLD_ANNOTATION, OPT_IN_ANNOTATION, PAUSED_ANNOTATION, ROLLOUT_ANNOTATION } from './annotations.ts';
import { field, list, text } from './fields.ts';
import {
  annotation,
  type Condition,
  conditionsAt,
  countAt,
  isDeleting,
  MISSING,
  nameAt,
  type ObjectVersion,
  objectVersion,
  smallCountOf,
  timeOf,
} from './values.ts';

const REMEDIATING = 'controlplane.cluster.x-k8s.io/remediation-in-progress';
/** Of the Cluster API of EKS Anywhere; the group is spelled like this. Source: EKS Anywhere, `inPlaceUpgradeNeededAnnotation`. */
const IN_PLACE_UPGRADE = 'controlplane.clusters.x-k8s.io/in-place-upgrade-needed';

/** Of kubeadm and etcdadm. */
export const DEFAULT_VALIDITY_DAYS = 365;

export interface KubeadmControlPlane extends ObjectVersion {
  /** API version it was read in. */
  readonly apiVersion: 'v1beta2' | 'v1beta1';
  readonly generation: number;
  readonly observedGeneration?: number;
  readonly deleting: boolean;
  /** Value of `PAUSED_ANNOTATION`; empty without a value. Absent if not paused. */
  readonly paused?: string;
  readonly replicas: number;
  readonly status: {
    readonly replicas?: number;
    readonly ready?: number;
    /** v1beta1: replicas without unavailable ones. */
    readonly available?: number;
    readonly upToDate?: number;
  };
  /** v1beta1 lacks some: its own conditions are mapped to these names, others are `Missing`. */
  readonly conditions: Readonly<Record<ControlPlaneCondition, Condition>>;
  /** `RollingUpdate`, `InPlace`, …; absent when not set. */
  readonly strategy?: string;
  readonly maxSurge?: number;
  /** `rollout.after`, by any writer. */
  readonly rolloutAfter?: number;
  readonly rolloutBeforeDays?: number;
  readonly kubernetesVersion?: string;
  /** `kubeadmConfigSpec.clusterConfiguration.certificateValidityPeriodDays`; absent for kubeadm's default, 365. */
  readonly certificateValidityDays?: number;
  /** Value of `OPT_IN_ANNOTATION`. */
  readonly mode?: string;
  /** Absent if missing; `unreadable` if not written by certmarshal. */
  readonly mark?: RolloutMark | 'unreadable';
  readonly hold?: HoldMark | 'unreadable';
  /** `controlplane.cluster.x-k8s.io/remediation-in-progress` is present. */
  readonly remediating: boolean;
  /** `controlplane.clusters.x-k8s.io/in-place-upgrade-needed` is present. */
  readonly inPlaceUpgrade: boolean;
  readonly etcd: 'stacked' | 'external';
  /** The template that a new machine needs; absent if not named. */
  readonly template?: TemplateReference;
}

type Version = KubeadmControlPlane['apiVersion'];

export const CONTROL_PLANE_CONDITIONS = [
  'CertificatesAvailable',
  'ControlPlaneComponentsHealthy',
  'EtcdClusterHealthy',
  'RollingOut',
  'ScalingUp',
  'ScalingDown',
  'Remediating',
  'Deleting',
] as const;
export type ControlPlaneCondition = (typeof CONTROL_PLANE_CONDITIONS)[number];

export interface TemplateReference {
  /** `infrastructure.cluster.x-k8s.io`; v1beta2 has no version. */
  readonly group: string;
  readonly kind: string;
  /** v1beta2 has none: it is that of the control plane. */
  readonly namespace: string;
  readonly name: string;
}

/**
 * Undefined if a write could not name it. Missing numbers are read so that no check passes: generation 0, replicas 0.
 * Never throws.
 *
 * v1beta1 of Cluster API 1.9 and later has the conditions of v1beta2 in `status.v1beta2`. Older ones are mapped:
 * `Resized` False to ScalingUp or ScalingDown, and `MachinesSpecUpToDate` False to RollingOut. That one is missing
 * until a first rollout, and Remediating has none.
 *
 * Source: Cluster API, api/controlplane/kubeadm/v1beta1 and v1beta2.
 *
 * @param apiVersion it was read in
 */
export function readControlPlane(object: unknown, apiVersion: Version): KubeadmControlPlane | undefined {
  const version = objectVersion(object);
  if (version === undefined) return undefined;
  const deleting = isDeleting(object);
  const paused = annotation(object, PAUSED_ANNOTATION);
  const mode = annotation(object, OPT_IN_ANNOTATION);
  const mark = annotation(object, ROLLOUT_ANNOTATION);
  const hold = annotation(object, HOLD_ANNOTATION);
  const external = field(object, 'spec', 'kubeadmConfigSpec', 'clusterConfiguration', 'etcd', 'external');
  return {
    ...version,
    apiVersion,
    generation: countAt(object, 'metadata', 'generation') ?? 0,
    observedGeneration: countAt(object, 'status', 'observedGeneration'),
    deleting,
    paused: paused === undefined ? undefined : printable(paused),
    replicas: countAt(object, 'spec', 'replicas') ?? 0,
    status: apiVersion === 'v1beta2' ? replicas(object) : oldReplicas(object),
    conditions: conditionsOf(object, apiVersion, deleting),
    ...strategyOf(object, apiVersion),
    rolloutAfter: rolloutAfter(object, apiVersion),
    rolloutBeforeDays: rolloutBeforeDays(object),
    kubernetesVersion: nameAt(object, 'spec', 'version'),
    certificateValidityDays: certificateValidityDays(object),
    mode: mode === undefined ? undefined : printable(mode),
    mark: mark === undefined ? undefined : parseRolloutMark(mark),
    hold: hold === undefined ? undefined : parseHoldMark(hold),
    remediating: annotation(object, REMEDIATING) !== undefined,
    inPlaceUpgrade: annotation(object, IN_PLACE_UPGRADE) !== undefined,
    etcd: external == null ? 'stacked' : 'external',
    template: templateOf(object, apiVersion),
  };
}

/**
 * Lifetime of its machines' certificates in days; undefined for kubeadm's default, which 0 also means. In both
 * versions, since Cluster API 1.11.
 */
export function certificateValidityDays(object: unknown): number | undefined {
  const path = ['spec', 'kubeadmConfigSpec', 'clusterConfiguration', 'certificateValidityPeriodDays'] as const;
  return countAt(object, ...path) || undefined;
}

/**
 * Days before expiry at which it replaces its machines automatically, in either version; undefined for never, which 0
 * and null also mean.
 */
export function rolloutBeforeDays(object: unknown): number | undefined {
  const days =
    field(object, 'spec', 'rollout', 'before', 'certificatesExpiryDays') ??
    field(object, 'spec', 'rolloutBefore', 'certificatesExpiryDays');
  return smallCountOf(days) || undefined;
}

/**
 * Whether Cluster API reports it as paused. The condition (v1beta2, and in v1beta1 under status.v1beta2) also covers a
 * paused Cluster.
 */
export function isPaused(object: unknown): boolean {
  if (annotation(object, PAUSED_ANNOTATION) !== undefined) return true;
  const conditions = [...list(object, 'status', 'conditions'), ...list(object, 'status', 'v1beta2', 'conditions')];
  return conditions.some((condition) => text(condition, 'type') === 'Paused' && text(condition, 'status') === 'True');
}

function templateOf(object: unknown, apiVersion: Version): TemplateReference | undefined {
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

function replicas(object: unknown): KubeadmControlPlane['status'] {
  return {
    replicas: countAt(object, 'status', 'replicas'),
    ready: countAt(object, 'status', 'readyReplicas'),
    available: countAt(object, 'status', 'availableReplicas'),
    upToDate: countAt(object, 'status', 'upToDateReplicas'),
  };
}

/** v1beta1 omits zeros. */
function oldReplicas(object: unknown): KubeadmControlPlane['status'] {
  const all = countAt(object, 'status', 'replicas');
  const unavailable = field(object, 'status', 'unavailableReplicas') ?? 0;
  const away = typeof unavailable === 'number' && Number.isSafeInteger(unavailable) ? unavailable : undefined;
  return {
    replicas: all,
    ready: countAt(object, 'status', 'readyReplicas'),
    available: all === undefined || away === undefined ? undefined : Math.max(0, all - Math.max(0, away)),
    upToDate: countAt(object, 'status', 'updatedReplicas'),
  };
}

function strategyOf(object: unknown, apiVersion: Version): Pick<KubeadmControlPlane, 'strategy' | 'maxSurge'> {
  const strategy =
    apiVersion === 'v1beta2' ? field(object, 'spec', 'rollout', 'strategy') : field(object, 'spec', 'rolloutStrategy');
  const type = nameAt(strategy, 'type');
  const surge = field(strategy, 'rollingUpdate', 'maxSurge');
  // An IntOrString; its webhook allows only 0 and 1.
  const maxSurge = surge === '0' ? 0 : surge === '1' ? 1 : countAt(strategy, 'rollingUpdate', 'maxSurge');
  return { strategy: type, maxSurge };
}

function rolloutAfter(object: unknown, apiVersion: Version): number | undefined {
  const after =
    apiVersion === 'v1beta2' ? field(object, 'spec', 'rollout', 'after') : field(object, 'spec', 'rolloutAfter');
  // An unreadable time may be in the future.
  return after == null ? undefined : (timeOf(after) ?? Number.MAX_SAFE_INTEGER);
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

/** Conditions of v1beta1 under their v1beta2 names. */
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
    // Without saying which of the two, it may be either.
    read.set('ScalingUp', resized.reason === 'ScalingDown' ? not : scales);
    read.set('ScalingDown', resized.reason === 'ScalingUp' ? not : scales);
  }
  // It has no condition for what the object itself shows.
  read.set('Deleting', { status: deleting ? 'True' : 'False' });
  return read;
}

function opposite(condition: Condition): Condition {
  if (condition.status === 'True') return { ...condition, status: 'False' };
  if (condition.status === 'False') return { ...condition, status: 'True' };
  return condition;
}
