import {
  DescribeClusterCommand,
  DescribeNodegroupCommand,
  DescribeUpdateCommand,
  EKSClient,
  ListNodegroupsCommand,
  ListUpdatesCommand,
  type Nodegroup,
  type Update,
  UpdateNodegroupVersionCommand,
} from '@aws-sdk/client-eks';
import type { Problem } from '../contracts/problem.ts';
import type { AwsScope } from '../contracts/target.ts';
import { printable } from '../printable.ts';
import type { ObservedEksCluster, ObservedNodeGroup, ObservedUpdate } from '../resources/eks.ts';
import { LAST_INSTANT } from '../time.ts';
import { type Call, callAws, describeCall } from './call.ts';
import { invalid } from './classify.ts';
import type { EksReaderOptions } from './eks-clusters.ts';
import { described, listAll } from './eks-lists.ts';
import { createScopedClients } from './scoped-clients.ts';

/** Node groups of one cluster: what their next update depends on, and that update. */
export interface EksNodeGroups {
  /** @param tag whose value is `mode`. @throws AwsError */
  cluster(tag: string, signal: AbortSignal): Promise<Pick<ObservedEksCluster, 'status' | 'version' | 'mode'>>;
  /** @throws AwsError */
  nodeGroups(signal: AbortSignal): Promise<readonly Omit<ObservedNodeGroup, 'updates'>[]>;
  /** @param nodegroup whose they are; undefined for those of the cluster itself. @throws AwsError */
  updates(nodegroup: string | undefined, signal: AbortSignal): Promise<readonly ObservedUpdate[]>;
  /**
   * Has EKS replace all nodes of a group by new ones of the same Kubernetes version, with its latest image, and never by force. EKS takes calls with the same token as one.
   *
   * @throws AwsError `unavailable` and `aborted` leave open whether EKS has it
   */
  update(nodegroup: string, clientRequestToken: string, signal: AbortSignal): Promise<NodeGroupUpdate>;
}

/**
 * What became of a call of UpdateNodegroupVersion:
 *
 * - `begun`: EKS makes the update with this id.
 * - `nothing-to-roll`: it refused (InvalidParameterException, InvalidRequestException). What it does when there is no newer image is not documented.
 * - `busy`: another change of the group is under way (ResourceInUseException).
 */
export type NodeGroupUpdate =
  | { readonly kind: 'begun'; readonly id: string }
  | { readonly kind: 'nothing-to-roll' | 'busy'; readonly problem: Problem };

/** All calls to one account and Region, of all its clusters together. */
const CALLS_PER_SECOND = 10;
/** The quota is 30, and can be raised. */
const MAX_NODEGROUPS = 500;
/** Of one group or cluster, in all its life. */
const MAX_UPDATES = 500;
/** The largest page of both lists. */
const PAGE = 100;
const MAX_ISSUES = 20;
const MAX_TEXT = 200;

/** EKS API reference, CreateNodegroup. */
const NODEGROUP_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;
/** A UUID, says the reference. */
const UPDATE_ID = /^[A-Za-z0-9-]{1,64}$/;
const STATUS = /^[A-Z_]{1,40}$/;
const WORD = /^[A-Za-z]{1,60}$/;

const REFUSED: ReadonlyMap<unknown, 'nothing-to-roll' | 'busy'> = new Map([
  ['InvalidParameterException', 'nothing-to-roll'],
  ['InvalidRequestException', 'nothing-to-roll'],
  ['ResourceInUseException', 'busy'],
]);

/**
 * One client and one pace for each scope.
 *
 * @returns what reads and updates the node groups of the cluster with this name
 */
export function createEksNodeGroups({
  credentials,
  config = {},
}: EksReaderOptions): (scope: AwsScope, clusterName: string) => EksNodeGroups {
  const scoped = createScopedClients(CALLS_PER_SECOND, (scope) => {
    // The pace tries again, not the SDK: only so are all calls to one scope counted together.
    return new EKSClient({ ...config, maxAttempts: 1, region: scope.region, credentials: credentials(scope) });
  });
  return (scope, clusterName) => {
    const { client, pace } = scoped(scope);
    const paced = <T>(call: Call, signal: AbortSignal, send: (signal: AbortSignal) => Promise<T>): Promise<T> =>
      pace(() => callAws(call, signal, send), signal);
    const attempt = (action: string): string => describeCall(`${action} ${printable(clusterName)}`, scope);

    return {
      async cluster(tag, signal) {
        const object = attempt('eks:DescribeCluster');
        const command = new DescribeClusterCommand({ name: clusterName });
        const { cluster } = await paced({ object }, signal, (abortSignal) => client.send(command, { abortSignal }));
        if (cluster?.name !== clusterName) throw invalid(object, 'the answer is not about this cluster');
        const { status, version, tags = {} } = cluster;
        if (!isText(status) || !STATUS.test(status)) throw invalid(object, 'cluster.status is not a status');
        const mode: unknown = Object.hasOwn(tags, tag) ? tags[tag] : undefined;
        return {
          status,
          version: isText(version) ? printable(version, MAX_TEXT) : undefined,
          mode: isText(mode) ? printable(mode, MAX_TEXT) : undefined,
        };
      },

      async nodeGroups(signal) {
        const object = attempt('eks:ListNodegroups');
        const names = await listAll(object, MAX_NODEGROUPS, async (nextToken) => {
          const command = new ListNodegroupsCommand({ clusterName, maxResults: PAGE, nextToken });
          const answer = await paced({ object }, signal, (abortSignal) => client.send(command, { abortSignal }));
          return { items: answer.nodegroups, nextToken: answer.nextToken };
        });
        return described(names, async (nodegroupName) => {
          if (!isText(nodegroupName) || !NODEGROUP_NAME.test(nodegroupName))
            throw invalid(object, 'the list holds what is no name of a node group');
          const one = attempt('eks:DescribeNodegroup');
          const command = new DescribeNodegroupCommand({ clusterName, nodegroupName });
          const answer = await paced({ object: one }, signal, (abortSignal) => client.send(command, { abortSignal }));
          return readNodeGroup(answer.nodegroup, nodegroupName, one);
        });
      },

      async updates(nodegroupName, signal) {
        const object = attempt('eks:ListUpdates');
        const ids = await listAll(object, MAX_UPDATES, async (nextToken) => {
          const command = new ListUpdatesCommand({ name: clusterName, nodegroupName, maxResults: PAGE, nextToken });
          const answer = await paced({ object }, signal, (abortSignal) => client.send(command, { abortSignal }));
          return { items: answer.updateIds, nextToken: answer.nextToken };
        });
        return described(ids, async (updateId) => {
          if (!isText(updateId) || !UPDATE_ID.test(updateId))
            throw invalid(object, 'the list holds what is no id of an update');
          const one = attempt('eks:DescribeUpdate');
          const command = new DescribeUpdateCommand({ name: clusterName, nodegroupName, updateId });
          const answer = await paced({ object: one }, signal, (abortSignal) => client.send(command, { abortSignal }));
          return readUpdate(answer.update, updateId, one);
        });
      },

      async update(nodegroupName, clientRequestToken, signal) {
        const object = attempt(`eks:UpdateNodegroupVersion ${printable(nodegroupName)} of`);
        const command = new UpdateNodegroupVersionCommand({
          clusterName,
          nodegroupName,
          clientRequestToken,
          force: false,
        });
        const answer = await paced({ object }, signal, async (abortSignal) => {
          try {
            return await client.send(command, { abortSignal });
          } catch (error) {
            const refused = refusalOf(error, object);
            if (refused === undefined) throw error;
            return refused;
          }
        });
        if ('kind' in answer) return answer;
        const id: unknown = answer.update?.id;
        if (!isText(id) || !UPDATE_ID.test(id)) throw invalid(object, 'the answer holds no id of an update');
        return { kind: 'begun', id };
      },
    };
  };
}

/** What EKS says of the state of its own object is kept, for people. */
function refusalOf(error: unknown, object: string): Exclude<NodeGroupUpdate, { kind: 'begun' }> | undefined {
  if (!(error instanceof Error)) return undefined;
  const kind = REFUSED.get(error.name);
  if (kind === undefined) return undefined;
  const message = `EKS refuses it (${error.name}): ${printable(error.message, MAX_TEXT)}`;
  const remedy =
    kind === 'busy'
      ? 'Wait until that is done; the next look tries again.'
      : 'Look at the node group: where there is no newer image, its nodes have to be replaced another way.';
  return { kind, problem: { kind, object, message, remedy } };
}

/** @throws AwsError `invalid`: what cannot be used as it is, is not used in part either. */
function readNodeGroup(
  nodegroup: Nodegroup | undefined,
  name: string,
  object: string,
): Omit<ObservedNodeGroup, 'updates'> {
  if (nodegroup?.nodegroupName !== name) throw invalid(object, 'the answer is not about this node group');
  const { createdAt, status, health, version, releaseVersion, amiType, launchTemplate, updateConfig } = nodegroup;
  if (!isTime(createdAt)) throw invalid(object, 'nodegroup.createdAt is not a time');
  if (!isText(status) || !STATUS.test(status)) throw invalid(object, 'nodegroup.status is not a status');
  const issues: unknown = health?.issues ?? [];
  if (!Array.isArray(issues)) throw invalid(object, 'nodegroup.health.issues is no list');
  const text = (field: string, value: unknown): string | undefined => {
    if (value === undefined || value === null) return undefined;
    if (!isText(value)) throw invalid(object, `nodegroup.${field} is not a text`);
    return printable(value, MAX_TEXT);
  };
  const [kubernetes, release] = [text('version', version), text('releaseVersion', releaseVersion)];
  const [image, template] = [text('amiType', amiType), text('launchTemplate.id', launchTemplate?.id)];
  const strategy = text('updateConfig.updateStrategy', updateConfig?.updateStrategy);
  return {
    name,
    createdAt: createdAt.getTime(),
    status,
    issues: codesOf(issues, 'code'),
    version: kubernetes,
    releaseVersion: release,
    amiType: image,
    launchTemplate: template,
    strategy,
  };
}

/** @throws AwsError `invalid` */
function readUpdate(update: Update | undefined, id: string, object: string): ObservedUpdate {
  if (update?.id !== id) throw invalid(object, 'the answer is not about this update');
  const { status, type, createdAt } = update;
  const errors: unknown = update.errors ?? [];
  if (!isText(status) || !WORD.test(status)) throw invalid(object, 'update.status is not a status');
  if (!isText(type) || !WORD.test(type)) throw invalid(object, 'update.type is not a type');
  if (!isTime(createdAt)) throw invalid(object, 'update.createdAt is not a time');
  if (!Array.isArray(errors)) throw invalid(object, 'update.errors is no list');
  return { id, status, type, createdAt: createdAt.getTime(), errors: codesOf(errors, 'errorCode') };
}

/** One without a code is one all the same. */
function codesOf(items: readonly unknown[], field: string): readonly string[] {
  return items.slice(0, MAX_ISSUES).map((item) => {
    const code: unknown = typeof item === 'object' && item !== null ? Reflect.get(item, field) : undefined;
    return isText(code) && WORD.test(code) ? code : 'Unknown';
  });
}

// The types of the SDK tell what AWS promises; nothing checks it before us.
function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isTime(value: unknown): value is Date {
  return value instanceof Date && value.getTime() >= 0 && value.getTime() <= LAST_INSTANT;
}
