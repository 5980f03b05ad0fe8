import { type Fleet, SELF } from '../lambdas/config/fleet.ts';
import { nameMayBeWanted } from '../lambdas/fleet/cluster-selection.ts';
import { listedClusters } from '../lambdas/fleet/listed-clusters.ts';

/** Whether discovery may find a cluster with this id: `111122223333/eu-central-1/dublin`. */
export function mayBeFound(id: string, { discovery }: Pick<Fleet, 'discovery'>): boolean {
  const [account = '', region = '', name = ''] = id.split('/');
  return (
    /^\d{12}$/.test(account) &&
    name !== '' &&
    discovery.some(
      (entry) =>
        [account, SELF].some((known) => entry.accounts.includes(known)) &&
        [region, SELF].some((known) => entry.regions.includes(known)) &&
        nameMayBeWanted(entry, name),
    )
  );
}

/** Whether a cluster of the fleet may have this id: a name, `MANAGEMENT/NAMESPACE/NAME` or `ACCOUNT/REGION/NAME`. */
export function isOfFleet(id: string, fleet: Fleet): boolean {
  const [management = '', namespace = '', name] = id.split('/');
  return (
    listedClusters(fleet).clusters?.some((cluster) => cluster.id === id) === true ||
    fleet.managementClusters.some(
      (cluster) =>
        cluster.name === management && cluster.workloadClusters.namespaces.includes(namespace) && name !== undefined,
    ) ||
    mayBeFound(id, fleet)
  );
}
