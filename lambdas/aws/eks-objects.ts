import { type Cluster, DescribeClusterCommand } from '@aws-sdk/client-eks';
import type { AwsScope } from '../contracts/target.ts';
import { printable } from '../printable.ts';
import { type Call, describeCall } from './call.ts';
import { invalid } from './classify.ts';
import { createEksCalls, type EksPage, type EksReaderOptions, eksPages, type SendEks } from './eks-calls.ts';
import { isMatch } from './eks-values.ts';
import { AwsError } from './errors.ts';

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

/** Asks EKS about the objects of one cluster. `begin` is called when the first call is sent. */
export interface EksObjects {
  /** @throws AwsError */
  cluster<T>(signal: AbortSignal, begin: Call['begin'], read: (cluster: Cluster, wrong: Wrong) => T): Promise<T>;
  /** Objects deleted between list and description are absent. @throws AwsError */
  each<D, T>(list: EksList<D, T>, signal: AbortSignal, begin?: () => void): Promise<readonly T[]>;
}

/** Pages of the list of one cluster's objects. */
const MAX_PAGES = 10;
const CLUSTER_REMEDIES: Call['remedies'] = {
  'not-found': 'It was deleted or renamed; the next discovery forgets it.',
};

/** @returns the objects of the cluster with this name */
export function createEksObjects(options: EksReaderOptions): (scope: AwsScope, clusterName: string) => EksObjects {
  const callsTo = createEksCalls(options);
  return (scope, clusterName) => {
    const call = callsTo(scope);
    const attempt = (action: string): string => describeCall(`${action} ${printable(clusterName)}`, scope);

    const each: EksObjects['each'] = async (list, signal, begin) => {
      const object = attempt(list.list);
      const ids = await idsOf(object, list, (nextToken) =>
        call({ object, remedies: list.remedies, begin }, signal, list.page(nextToken)),
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
      each,
      async cluster(signal, begin, read) {
        const object = attempt('eks:DescribeCluster');
        const wrong = wrongIn(object);
        const { cluster } = await call({ object, remedies: CLUSTER_REMEDIES, begin }, signal, (client, sending) =>
          client.send(new DescribeClusterCommand({ name: clusterName }), sending),
        );
        if (cluster?.name !== clusterName) throw wrong('the answer is not about this cluster');
        return read(cluster, wrong);
      },
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
