import { stringify } from 'yaml';
import type { Provider } from '../../../lambdas/identifiers.ts';

export interface FleetLines {
  readonly fleet: object;
  /** YAML, with further options in comments. */
  readonly yaml: string;
  /** One sentence: for which clusters these lines are right. */
  readonly when: string;
}

export interface NewCredentials {
  readonly name: string;
  /** ARN. */
  readonly kubeconfigSecret: string;
  readonly provider: Provider;
  /** They can also read Machines and Clusters. */
  readonly management: boolean;
  /** Name of its management cluster. */
  readonly workloadOf?: string;
}

const LANE = '# lane: NAME  # one of lanes, where only a VPC reaches it';
const SERVICE_CIDRS = '# serviceCidrs: [10.96.0.0/12]  # its own; a policy that trusts Nodes needs them';
const MACHINES = '# managementKubeconfigSecret: ARN  # of the cluster that has its Machines';

/** The lines of fleet.yaml for new credentials. */
export function fleetLines({ name, kubeconfigSecret, provider, management, workloadOf }: NewCredentials): FleetLines {
  if (workloadOf !== undefined) {
    const workloadClusters = { kubeconfigSecrets: { [name]: kubeconfigSecret } };
    const fleet = { managementClusters: [{ name: workloadOf, workloadClusters }] };
    return {
      fleet,
      yaml: yamlOf(fleet),
      when: `For a workload cluster that is found through ${workloadOf}, whose entry has the other lines.`,
    };
  }
  if (management) {
    const fleet = { managementClusters: [{ name, kubeconfigSecret }] };
    return {
      fleet,
      yaml: yamlOf(fleet, [LANE, SERVICE_CIDRS]),
      when: 'For a cluster with Cluster API in it: its workload clusters are found through it.',
    };
  }
  const fleet = { clusters: [{ name, provider, kubeconfigSecret }] };
  return {
    fleet,
    yaml: yamlOf(fleet, [...(provider === 'eks' ? [] : [MACHINES]), LANE, SERVICE_CIDRS]),
    when: 'For a cluster that nothing finds; for one of a management cluster, give --workload-of; for one with Cluster API in it, --management.',
  };
}

/** `comments` belong to the first entry of the only list. */
function yamlOf(fleet: object, comments: readonly string[] = []): string {
  return stringify(fleet, { lineWidth: 0 }) + comments.map((comment) => `    ${comment}\n`).join('');
}
