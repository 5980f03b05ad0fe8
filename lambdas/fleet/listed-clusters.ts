import type { Fleet, FleetCluster, ManagementCluster } from '../config/fleet.ts';
import type { Target } from '../contracts/target.ts';
import type { FoundCluster, SourceResult } from './discover.ts';
import { LISTED } from './sources.ts';
import { targetAudit } from './target-audit.ts';

/** The clusters that `fleet.yaml` lists, management clusters included: a source that never fails. */
export function listedClusters(fleet: Pick<Fleet, 'clusters' | 'managementClusters'>): SourceResult {
  const clusters = [...fleet.managementClusters.map(managementTarget), ...fleet.clusters.map(listedTarget)];
  return { source: LISTED, ok: true, clusters };
}

/** An EKS Anywhere management cluster manages itself: its Machines are in it. */
function managementTarget(cluster: ManagementCluster): FoundCluster {
  const { name, kubeconfigSecret: secret, authenticatorId, serviceCidrs, lane, workloadClusters } = cluster;
  const { namespace, eksAnywhereNamespace } = cluster;
  return {
    id: name,
    target: {
      id: name,
      cluster: { name, provider: 'eks-anywhere' as const, serviceCidrs },
      access: { kind: 'kubeconfig' as const, secret, authenticatorId },
      management: { namespace },
      eksAnywhereNamespace,
      lane,
      ...targetAudit(cluster),
    },
    managesClusters: workloadClusters.namespaces,
  };
}

function listedTarget(cluster: FleetCluster): FoundCluster {
  const {
    id,
    name,
    provider,
    kubeconfigSecret: secret,
    authenticatorId,
    serviceCidrs,
    lane,
    eksAnywhereNamespace,
  } = cluster;
  return {
    id,
    target: {
      id,
      cluster: { name, provider, serviceCidrs },
      access: { kind: 'kubeconfig' as const, secret, authenticatorId },
      management: managementOf(cluster),
      eksAnywhereNamespace,
      lane,
      ...targetAudit(cluster),
    },
  };
}

/** An EKS Anywhere cluster that names no management cluster manages itself; an EKS cluster has no Machines then. */
function managementOf({ provider, managementKubeconfigSecret: secret, namespace }: FleetCluster): Target['management'] {
  if (secret !== undefined) return { access: { kind: 'kubeconfig', secret }, namespace };
  return provider === 'eks-anywhere' ? { namespace } : undefined;
}
