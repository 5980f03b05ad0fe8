import { KUBELET_SERVING_SIGNER } from '../../lambdas/approval/policy.ts';
import { listSigningRequests } from '../../lambdas/kubernetes/certificate-signing-requests.ts';
import type { KubernetesClient } from '../../lambdas/kubernetes/client.ts';
import { KubernetesError } from '../../lambdas/kubernetes/errors.ts';
import { listMachines, type MachineSelection } from '../../lambdas/kubernetes/machines.ts';
import { mayI } from '../../lambdas/kubernetes/self-review.ts';
import { listWorkloadClusters } from '../../lambdas/kubernetes/workload-clusters.ts';
import { printable } from '../../lambdas/printable.ts';
import { readSigningRequest, type SigningRequest } from '../../lambdas/resources/signing-request.ts';
import { instant } from '../../lambdas/time.ts';
import { counted } from '../../lambdas/words.ts';
import { type Check, type Fix, failed, passed, warning } from './check.ts';
import { known, type Server } from './server-checks.ts';

/** Checks that the management cluster has Machines of this cluster. */
export function machinesCheck(
  server: Server,
  { clusterName, namespaces }: { readonly clusterName: string; readonly namespaces: readonly string[] },
): Check {
  return {
    id: 'machines',
    title: 'has its Machines',
    object: `cluster ${printable(clusterName)}`,
    needs: ['list-machines'],
    async run(signal) {
      try {
        for (const namespace of namespaces) {
          const found = await firstMachines(known(server.client), { clusterName, namespace, signal });
          if (found > 0) return passed(`${counted(found, 'Machine')} in ${namespace} on the first page`);
        }
      } catch (error) {
        if (!(error instanceof KubernetesError) || error.kind !== 'not-found') throw error;
        return failed('this API server does not serve Cluster API', {
          text: 'Name the management cluster: --management-kubeconfig on the command line, managementKubeconfigSecret in fleet.yaml. A policy with other evidence does not need it.',
        });
      }
      return failed(`no Machine of cluster ${printable(clusterName)} is in namespace ${namespaces.join(', ')}`, {
        text: 'Give the name of the cluster in Cluster API (--cluster, or name in fleet.yaml) and its namespace (--namespace, or namespace in fleet.yaml). As an administrator of the management cluster, list both:',
        command: 'kubectl get clusters.cluster.x-k8s.io -A',
      });
    },
  };
}

async function firstMachines(client: KubernetesClient, selection: MachineSelection): Promise<number> {
  try {
    for await (const machines of listMachines(client, selection)) return machines.length;
  } catch (error) {
    // `invalid`: the namespace has no Machine of the cluster.
    if (!(error instanceof KubernetesError) || error.kind !== 'invalid') throw error;
  }
  return 0;
}

/** Signing takes seconds. */
const SIGNER_PATIENCE_MS = 5 * 60_000;
/** Ten thousand requests are a sufficient sample. */
const MAX_PAGES = 20;

export function signerCheck(server: Server, now: () => number): Check {
  return {
    id: 'signer',
    title: 'signer signs',
    object: KUBELET_SERVING_SIGNER,
    needs: ['list-certificatesigningrequests'],
    async run(signal) {
      let signed = 0;
      let waiting = 0;
      let pages = 0;
      for await (const page of listSigningRequests(known(server.client), {
        signerName: KUBELET_SERVING_SIGNER,
        signal,
      })) {
        for (const request of page) {
          const read = readSigningRequest(request);
          if (!read.ok) continue;
          if (read.csr.issued) signed += 1;
          else if (waitsSince(read.csr) < now() - SIGNER_PATIENCE_MS) waiting += 1;
        }
        pages += 1;
        if (pages === MAX_PAGES) break;
      }
      if (waiting === 0)
        return passed(signed === 0 ? 'nothing to see yet' : `${counted(signed, 'certificate')} issued`);
      return warning(`${counted(waiting, 'request')} approved over 5 min ago and not signed`, {
        text: 'kube-controller-manager signs: check its controller csrsigning and its --cluster-signing flags. On EKS open a case with AWS.',
        command: 'kubectl -n kube-system logs -l component=kube-controller-manager --tail=200',
      });
    },
  };
}

/** When it was approved, milliseconds since the epoch; infinite if the signer has nothing to sign. */
function waitsSince({ conditions }: SigningRequest): number {
  if (conditions.some(({ type }) => type === 'Failed')) return Infinity;
  return instant(conditions.find(({ type }) => type === 'Approved')?.updated) ?? Infinity;
}

/**
 * Checks that each kubeconfig Secret of Cluster API can be read by name.
 *
 * @param namespaces of the Cluster objects
 * @param wants whether certmarshal reads the kubeconfig of the workload cluster with this name
 * @param grant the command, which must name all clusters
 */
export function kubeconfigSecretsCheck(
  server: Server,
  namespaces: readonly string[],
  wants: (name: string) => boolean,
  grant: (clusters: readonly string[]) => Fix,
): Check {
  return {
    id: 'kubeconfig-secrets',
    title: 'kubeconfigs can be read',
    object: 'get secrets <cluster>-kubeconfig',
    needs: ['list-clusters'],
    async run(signal) {
      const client = known(server.client);
      const { clusters } = await listWorkloadClusters(client, namespaces, signal);
      const wanted = clusters.filter(({ name }) => wants(name));
      const refused: string[] = [];
      for (const { namespace, name: cluster } of wanted) {
        const right = { verb: 'get', group: '', resource: 'secrets', name: `${cluster}-kubeconfig`, namespace };
        if (!(await mayI(client, right, signal))) refused.push(`${namespace}/${cluster}`);
      }
      if (refused.length === 0) return passed(counted(wanted.length, 'workload cluster'));
      const all = wanted.map(({ namespace, name }) => `${namespace}/${name}`);
      return failed(`not granted for ${refused.join(', ')}`, grant(all));
    },
  };
}
