import {
  DescribeUpdateCommand,
  ListUpdatesCommand,
  type Nodegroup,
  type Update,
  UpdateNodegroupVersionCommand,
} from '@aws-sdk/client-eks';
import type { Problem } from '../contracts/problem.ts';
import type { AwsScope } from '../contracts/target.ts';
import { printable } from '../printable.ts';
import type { ObservedEksCluster, ObservedNodeGroup, ObservedUpdate } from '../resources/eks.ts';
import { classify, invalid } from './classify.ts';
import { type EksReaderOptions, PAGE } from './eks-calls.ts';
import { createEksObjects, type NamedNodegroup, type Wrong } from './eks-objects.ts';
import { isMatch, isText, isTime } from './eks-values.ts';

/** Node groups of one cluster: what their next update depends on, and the update itself. */
export interface EksNodeGroups {
  /** @param tag whose value is `mode`. @throws AwsError */
  cluster(tag: string, signal: AbortSignal): Promise<Pick<ObservedEksCluster, 'status' | 'version' | 'mode'>>;
  /** @throws AwsError */
  nodeGroups(signal: AbortSignal): Promise<readonly Omit<ObservedNodeGroup, 'updates'>[]>;
  /** @param nodegroup undefined for the updates of the cluster itself. @throws AwsError */
  updates(nodegroup: string | undefined, signal: AbortSignal): Promise<readonly ObservedUpdate[]>;
  /**
   * Lets EKS replace all nodes of a group by new ones of the same Kubernetes version with its latest image, never by
   * force. EKS deduplicates calls with the same token.
   *
   * @throws AwsError `denied` by code or by message; after `unavailable` and `aborted` EKS may or may not have the call
   */
  update(nodegroup: string, clientRequestToken: string, signal: AbortSignal): Promise<NodeGroupUpdate>;
}

/**
 * The result of UpdateNodegroupVersion:
 *
 * - `begun`: EKS makes the update with this id.
 * - `refused`: the group or its owner prevents it (InvalidParameterException, InvalidRequestException): no room for
 * another node, for example.
 * - `busy`: another change of the group is in progress (ResourceInUseException).
 */
export type NodeGroupUpdate =
  | { readonly kind: 'begun'; readonly id: string }
  | { readonly kind: 'refused' | 'busy'; readonly problem: Problem };

/** Updates of one group or cluster, in all its life. */
const MAX_UPDATES = 500;
const MAX_ISSUES = 20;
const MAX_TEXT = 200;

/** A UUID, according to the reference. */
const UPDATE_ID = /^[A-Za-z0-9-]{1,64}$/;
const STATUS = /^[A-Z_]{1,40}$/;
const WORD = /^[A-Za-z]{1,60}$/;

const REFUSED: ReadonlyMap<unknown, 'refused' | 'busy'> = new Map([
  ['InvalidParameterException', 'refused'],
  ['InvalidRequestException', 'refused'],
  ['ResourceInUseException', 'busy'],
]);

/** @returns what reads and updates the node groups of the cluster with this name */
export function createEksNodeGroups(
  options: EksReaderOptions,
): (scope: AwsScope, clusterName: string) => EksNodeGroups {
  const objectsOf = createEksObjects(options);
  return (scope, clusterName) => {
    const eks = objectsOf(scope, clusterName);
    return {
      cluster: (tag, signal) =>
        eks.cluster(undefined, signal, ({ status, version, tags = {} }, wrong) => {
          if (!isMatch(status, STATUS)) throw wrong('cluster.status is not a status');
          const mode: unknown = Object.hasOwn(tags, tag) ? tags[tag] : undefined;
          return {
            status,
            version: isText(version) ? printable(version, MAX_TEXT) : undefined,
            mode: isText(mode) ? printable(mode, MAX_TEXT) : undefined,
          };
        }),

      nodeGroups: (signal) => eks.nodegroups(signal, readNodeGroup),

      updates: (nodegroupName, signal) =>
        eks.each(
          {
            list: 'eks:ListUpdates',
            describe: 'eks:DescribeUpdate',
            max: MAX_UPDATES,
            id: UPDATE_ID,
            idWords: 'id of an update',
            page: (nextToken) => async (client, sending) => {
              const command = new ListUpdatesCommand({ name: clusterName, nodegroupName, maxResults: PAGE, nextToken });
              const answer = await client.send(command, sending);
              return { items: answer.updateIds, nextToken: answer.nextToken };
            },
            one: (updateId) => (client, sending) =>
              client.send(new DescribeUpdateCommand({ name: clusterName, nodegroupName, updateId }), sending),
            read: ({ update }, id, wrong) => readUpdate(update, id, wrong),
          },
          signal,
        ),

      async update(nodegroupName, clientRequestToken, signal) {
        const object = eks.attempt(`eks:UpdateNodegroupVersion ${printable(nodegroupName)} of`);
        const command = new UpdateNodegroupVersionCommand({
          clusterName,
          nodegroupName,
          clientRequestToken,
          force: false,
        });
        const answer = await eks.call({ object }, signal, async (client, sending) => {
          try {
            return await client.send(command, sending);
          } catch (error) {
            const refused = classify(error, object).kind === 'denied' ? undefined : refusalOf(error, object);
            if (refused === undefined) throw error;
            return refused;
          }
        });
        if ('kind' in answer) return answer;
        const id: unknown = answer.update?.id;
        if (!isMatch(id, UPDATE_ID)) throw invalid(object, 'the answer holds no id of an update');
        return { kind: 'begun', id };
      },
    };
  };
}

/** EKS's own message about its object is kept, for people. */
function refusalOf(error: unknown, object: string): Exclude<NodeGroupUpdate, { kind: 'begun' }> | undefined {
  if (!(error instanceof Error)) return undefined;
  const kind = REFUSED.get(error.name);
  if (kind === undefined) return undefined;
  const message = `EKS rejects it (${error.name}): ${printable(error.message, MAX_TEXT)}`;
  const remedy =
    kind === 'busy'
      ? 'Wait until that is done; the next sweep tries again.'
      : 'Fix what EKS names on the node group; the next sweep tries again.';
  return { kind, problem: { kind, object, message, remedy } };
}

/** @throws AwsError `invalid` */
function readNodeGroup(
  named: NamedNodegroup,
  { status, health, version, releaseVersion, amiType, launchTemplate, updateConfig }: Nodegroup,
  wrong: Wrong,
): Omit<ObservedNodeGroup, 'updates'> {
  if (!isMatch(status, STATUS)) throw wrong('nodegroup.status is not a status');
  const issues: unknown = health?.issues ?? [];
  if (!Array.isArray(issues)) throw wrong('nodegroup.health.issues is not a list');
  const text = (field: string, value: unknown): string | undefined => {
    if (value === undefined || value === null) return undefined;
    if (!isText(value)) throw wrong(`nodegroup.${field} is not text`);
    return printable(value, MAX_TEXT);
  };
  return {
    ...named,
    status,
    issues: codesOf(issues, 'code'),
    version: text('version', version),
    releaseVersion: text('releaseVersion', releaseVersion),
    amiType: text('amiType', amiType),
    launchTemplate: launchTemplate ? (text('launchTemplate.id', launchTemplate.id) ?? 'without an id') : undefined,
    strategy: text('updateConfig.updateStrategy', updateConfig?.updateStrategy),
  };
}

/** @throws AwsError `invalid` */
function readUpdate(update: Update | undefined, id: string, wrong: Wrong): ObservedUpdate {
  if (update?.id !== id) throw wrong('the answer is not about this update');
  const { status, type, createdAt } = update;
  const errors: unknown = update.errors ?? [];
  if (!isMatch(status, WORD)) throw wrong('update.status is not a status');
  if (!isMatch(type, WORD)) throw wrong('update.type is not a type');
  if (!isTime(createdAt)) throw wrong('update.createdAt is not a time');
  if (!Array.isArray(errors)) throw wrong('update.errors is not a list');
  return { id, status, type, createdAt: createdAt.getTime(), errors: codesOf(errors, 'errorCode') };
}

/** An issue without a code also counts. */
function codesOf(items: readonly unknown[], field: string): readonly string[] {
  return items.slice(0, MAX_ISSUES).map((item) => {
    const code: unknown = typeof item === 'object' && item !== null ? Reflect.get(item, field) : undefined;
    return isMatch(code, WORD) ? code : 'Unknown';
  });
}
