import { parseRolloutMark, type RolloutMark } from '../contracts/rollout-mark.ts';
import { printable } from '../printable.ts';
import { PAUSED_ANNOTATION, ROLLOUT_ANNOTATION } from './annotations.ts';
import { field, list, text } from './fields.ts';
import {
  annotation,
  type Condition,
  conditionsAt,
  countAt,
  isDeleting,
  MISSING,
  type ObjectVersion,
  objectVersion,
} from './values.ts';

const UPGRADING = 'etcdcluster.cluster.x-k8s.io/upgrading';
const UPGRADE_COMPLETE = 'controlplane.cluster.x-k8s.io/upgrade-complete';

const MAX_ENDPOINTS = 32;
const MAX_ENDPOINTS_LENGTH = 8192;
const MAX_COMMANDS = 64;
const MAX_COMMAND_LENGTH = 4096;

export interface EtcdadmCluster extends ObjectVersion {
  readonly generation: number;
  readonly observedGeneration?: number;
  readonly deleting: boolean;
  readonly paused: boolean;
  readonly replicas: number;
  readonly ready: boolean;
  readonly endpoints: readonly string[];
  /** `etcdcluster.cluster.x-k8s.io/upgrading` is present. */
  readonly upgrading: boolean;
  /** `controlplane.cluster.x-k8s.io/upgrade-complete` is present. */
  readonly upgradeComplete: boolean;
  readonly conditions: Readonly<Record<EtcdCondition, Condition>>;
  readonly mark?: RolloutMark | 'unreadable';
  /** `spec.etcdadmConfigSpec.postEtcdadmCommands`. */
  readonly postEtcdadmCommands: readonly string[];
}

export const ETCD_CONDITIONS = [
  'EtcdMachinesSpecUpToDate',
  'EtcdCertificatesAvailable',
  'EtcdClusterHasNoOutdatedMachines',
] as const;
export type EtcdCondition = (typeof ETCD_CONDITIONS)[number];

/**
 * Undefined if a write could not name it, or if its `postEtcdadmCommands` are not a bounded list of texts: a rollout
 * writes that list back as read. Never throws.
 *
 * Source: etcdadm-controller, api/v1beta1; etcdadm-bootstrap-provider, `EtcdadmConfigSpec`.
 */
export function readEtcdadmCluster(object: unknown): EtcdadmCluster | undefined {
  const version = objectVersion(object);
  const postEtcdadmCommands = commandsOf(object);
  if (version === undefined || postEtcdadmCommands === undefined) return undefined;
  const mark = annotation(object, ROLLOUT_ANNOTATION);
  const conditions = conditionsAt(object, 'status', 'conditions');
  const of = (type: EtcdCondition): Condition => conditions.get(type) ?? MISSING;
  return {
    ...version,
    generation: countAt(object, 'metadata', 'generation') ?? 0,
    observedGeneration: countAt(object, 'status', 'observedGeneration'),
    deleting: isDeleting(object),
    paused: annotation(object, PAUSED_ANNOTATION) !== undefined,
    replicas: countAt(object, 'spec', 'replicas') ?? 0,
    ready: field(object, 'status', 'ready') === true,
    endpoints: endpointsOf(object),
    upgrading: annotation(object, UPGRADING) !== undefined,
    upgradeComplete: annotation(object, UPGRADE_COMPLETE) !== undefined,
    conditions: {
      EtcdMachinesSpecUpToDate: of('EtcdMachinesSpecUpToDate'),
      EtcdCertificatesAvailable: of('EtcdCertificatesAvailable'),
      EtcdClusterHasNoOutdatedMachines: of('EtcdClusterHasNoOutdatedMachines'),
    },
    mark: mark === undefined ? undefined : parseRolloutMark(mark),
    postEtcdadmCommands,
  };
}

/** Texts unchanged, because they are written back. */
function commandsOf(object: unknown): readonly string[] | undefined {
  const path = ['spec', 'etcdadmConfigSpec', 'postEtcdadmCommands'] as const;
  const commands = list(object, ...path);
  if (!Array.isArray(field(object, ...path) ?? []) || commands.length > MAX_COMMANDS) return undefined;
  return commands.every(isCommand) ? commands : undefined;
}

function isCommand(command: unknown): command is string {
  return typeof command === 'string' && command.length <= MAX_COMMAND_LENGTH;
}

/** `https://10.0.1.51:2379,https://10.0.1.52:2379` */
function endpointsOf(object: unknown): readonly string[] {
  const endpoints = text(object, 'status', 'endpoints') ?? '';
  if (endpoints.length > MAX_ENDPOINTS_LENGTH) return [];
  return endpoints
    .split(',')
    .filter((endpoint) => endpoint !== '')
    .slice(0, MAX_ENDPOINTS)
    .map((endpoint) => printable(endpoint));
}
