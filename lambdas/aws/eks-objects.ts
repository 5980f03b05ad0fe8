import {
  type Cluster,
  DescribeClusterCommand,
  DescribeNodegroupCommand,
  ListNodegroupsCommand,
  type Nodegroup,
} from '@aws-sdk/client-eks';
import type { AwsScope } from '../contracts/target.ts';
import { printable } from '../printable.ts';
import { type Call, describeCall } from './call.ts';
import { invalid } from './classify.ts';
import {
  type CallEks,
  createEksCalls,
  type EksPage,
  type EksReaderOptions,
  eksPages,
  PAGE,
  type SendEks,
} from './eks-calls.ts';
import { isMatch, isTime } from './eks-values.ts';
import { AwsError } from './errors.ts';

/** A problem of an answer. */
export type Wrong = (problem: string, remedy?: string) => AwsError;

/** Objects of a cluster that EKS lists by id and describes singly. */
export interface EksList<D, T> {
  /** `eks:ListNodegroups` */
  readonly list: string;
  /** `eks:DescribeNodegroup` */
  readonly describe: string;
  /** Field of the list. */
  readonly remedies?: Call['remedies'];
  readonly max: number;
  readonly id: RegExp;
  /** `name of a node group` */
  readonly idWords: string;
  page(nextToken: string | undefined): SendEks<EksPage>;
  one(id: string): SendEks<D>;
  /** @throws AwsError `invalid`; an invalid answer is not used in part */
  read(described: D, id: string, wrong: Wrong): T;
}

export interface NamedNodegroup {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** Asks EKS about the objects of one cluster. */
export interface EksObjects {
  readonly call: CallEks;
  /** `eks:DescribeCluster dublin in 111122223333/eu-central-1`. */
  attempt(action: string): string;
  /** @throws AwsError */
  cluster<T>(remedies: Call['remedies'], signal: AbortSignal, read: (cluster: Cluster, wrong: Wrong) => T): Promise<T>;
  /** @throws AwsError */
  nodegroups<T>(
    signal: AbortSignal,
    read: (named: NamedNodegroup, nodegroup: Nodegroup, wrong: Wrong) => T,
  ): Promise<readonly T[]>;
  /** Objects deleted between list and description are absent. @throws AwsError */
  each<D, T>(list: EksList<D, T>, signal: AbortSignal): Promise<readonly T[]>;
}

/** Pages of the list of one cluster's objects. */
const MAX_PAGES = 10;
/** The quota is 30, and can be raised. */
const MAX_NODEGROUPS = 500;
/** EKS API reference, CreateNodegroup. */
const NODEGROUP_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;

/** @returns the objects of the cluster with this name */
export function createEksObjects(options: EksReaderOptions): (scope: AwsScope, clusterName: string) => EksObjects {
  const callsTo = createEksCalls(options);
  return (scope, clusterName) => {
    const call = callsTo(scope);
    const attempt = (action: string): string => describeCall(`${action} ${printable(clusterName)}`, scope);

    const each: EksObjects['each'] = async (list, signal) => {
      const object = attempt(list.list);
      const ids = await idsOf(object, list, (nextToken) =>
        call({ object, remedies: list.remedies }, signal, list.page(nextToken)),
      );
      const one = attempt(list.describe);
      const found = await Promise.all(
        ids.map(async (id) => {
          try {
            return [list.read(await call({ object: one }, signal, list.one(id)), id, wrongIn(one))];
          } catch (error) {
            if (error instanceof AwsError && error.kind === 'not-found') return [];
            throw error;
          }
        }),
      );
      return found.flat();
    };

    return {
      call,
      attempt,
      each,
      async cluster(remedies, signal, read) {
        const object = attempt('eks:DescribeCluster');
        const wrong = wrongIn(object);
        const { cluster } = await call({ object, remedies }, signal, (client, sending) =>
          client.send(new DescribeClusterCommand({ name: clusterName }), sending),
        );
        if (cluster?.name !== clusterName) throw wrong('the answer is not about this cluster');
        return read(cluster, wrong);
      },
      nodegroups: (signal, read) =>
        each(
          {
            list: 'eks:ListNodegroups',
            describe: 'eks:DescribeNodegroup',
            max: MAX_NODEGROUPS,
            id: NODEGROUP_NAME,
            idWords: 'name of a node group',
            page: (nextToken) => async (client, sending) => {
              const command = new ListNodegroupsCommand({ clusterName, maxResults: PAGE, nextToken });
              const answer = await client.send(command, sending);
              return { items: answer.nodegroups, nextToken: answer.nextToken };
            },
            one: (nodegroupName) => (client, sending) =>
              client.send(new DescribeNodegroupCommand({ clusterName, nodegroupName }), sending),
            read({ nodegroup }, name, wrong) {
              if (nodegroup?.nodegroupName !== name) throw wrong('the answer is not about this node group');
              const { createdAt } = nodegroup;
              if (!isTime(createdAt)) throw wrong('nodegroup.createdAt is not a time');
              return read({ name, createdAt: createdAt.getTime() }, nodegroup, wrong);
            },
          },
          signal,
        ),
    };
  };
}

async function idsOf(
  object: string,
  { max, id: pattern, idWords }: Pick<EksList<unknown, unknown>, 'max' | 'id' | 'idWords'>,
  page: (nextToken: string | undefined) => Promise<EksPage>,
): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const items of eksPages(object, MAX_PAGES, page)) {
    if (!Array.isArray(items)) throw invalid(object, 'the answer holds no list');
    if (ids.length + items.length > max) throw invalid(object, `the list has more than ${max} items`);
    for (const id of items) {
      if (!isMatch(id, pattern)) throw invalid(object, `the list has an entry that is not a valid ${idWords}`);
      ids.push(id);
    }
  }
  return ids;
}

function wrongIn(object: string): Wrong {
  return (problem, remedy) => invalid(object, problem, remedy);
}
