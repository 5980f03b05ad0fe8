import { parseRolloutMark } from '../contracts/rollout-mark.ts';
import { printable } from '../printable.ts';
import { field, list, text } from '../resources/fields.ts';
import { annotation, conditionsAt, countAt, isDeleting, MISSING, objectVersion } from '../resources/values.ts';
import { PAUSED_ANNOTATION, ROLLOUT_ANNOTATION } from './annotations.ts';
import type { ObservedEtcd, ObservedMachine } from './observed.ts';

const UPGRADING = 'etcdcluster.cluster.x-k8s.io/upgrading';
const UPGRADE_COMPLETE = 'controlplane.cluster.x-k8s.io/upgrade-complete';

const MOST_ENDPOINTS = 32;
const LONGEST_ENDPOINTS = 8192;
const MOST_COMMANDS = 64;
const LONGEST_COMMAND = 4096;

/**
 * An EtcdadmCluster; undefined when a write could not name it, or when its `postEtcdadmCommands` are not a list of texts that fits: a rollout writes that list back
 * as it was read. Pure; never throws.
 *
 * Source: etcdadm-controller, api/v1beta1; etcdadm-bootstrap-provider, `EtcdadmConfigSpec`.
 *
 * @param machines with the label of it, as `observedMachine` read them
 */
export function readEtcd(object: unknown, machines: readonly ObservedMachine[]): ObservedEtcd | undefined {
  const version = objectVersion(object);
  const postEtcdadmCommands = commandsOf(object);
  if (version === undefined || postEtcdadmCommands === undefined) return undefined;
  const observedGeneration = countAt(object, 'status', 'observedGeneration');
  const mark = annotation(object, ROLLOUT_ANNOTATION);
  const conditions = conditionsAt(object, 'status', 'conditions');
  return {
    ...version,
    generation: countAt(object, 'metadata', 'generation') ?? 0,
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    deleting: isDeleting(object),
    paused: annotation(object, PAUSED_ANNOTATION) !== undefined,
    replicas: countAt(object, 'spec', 'replicas') ?? 0,
    ready: field(object, 'status', 'ready') === true,
    endpoints: endpointsOf(object),
    upgrading: annotation(object, UPGRADING) !== undefined,
    upgradeComplete: annotation(object, UPGRADE_COMPLETE) !== undefined,
    conditions: {
      EtcdMachinesSpecUpToDate: conditions.get('EtcdMachinesSpecUpToDate') ?? MISSING,
      EtcdCertificatesAvailable: conditions.get('EtcdCertificatesAvailable') ?? MISSING,
      EtcdClusterHasNoOutdatedMachines: conditions.get('EtcdClusterHasNoOutdatedMachines') ?? MISSING,
    },
    ...(mark === undefined ? {} : { mark: parseRolloutMark(mark) }),
    postEtcdadmCommands,
    machines,
  };
}

/** Texts exactly as they are: they are written back. */
function commandsOf(object: unknown): readonly string[] | undefined {
  const written = field(object, 'spec', 'etcdadmConfigSpec', 'postEtcdadmCommands');
  if (written == null) return [];
  const commands = list(object, 'spec', 'etcdadmConfigSpec', 'postEtcdadmCommands');
  if (!Array.isArray(written) || commands.length > MOST_COMMANDS) return undefined;
  const texts = commands.flatMap((command) =>
    typeof command === 'string' && command.length <= LONGEST_COMMAND ? [command] : [],
  );
  return texts.length === commands.length ? texts : undefined;
}

/** `https://10.0.1.51:2379,https://10.0.1.52:2379` */
function endpointsOf(object: unknown): readonly string[] {
  const endpoints = text(object, 'status', 'endpoints') ?? '';
  if (endpoints.length > LONGEST_ENDPOINTS) return [];
  return endpoints
    .split(',')
    .filter((endpoint) => endpoint !== '')
    .slice(0, MOST_ENDPOINTS)
    .map((endpoint) => printable(endpoint));
}
