import { KubeconfigSecretError, type ReadKubeconfigSecret } from '../aws/kubeconfig-secret.ts';
import { createKubernetesClient, type KubernetesClient } from '../kubernetes/client.ts';
import { hostOf } from '../kubernetes/connection.ts';
import { KubernetesError } from '../kubernetes/errors.ts';
import { KubeconfigError } from '../kubernetes/kubeconfig-document.ts';
import { loadSecretKubeconfig } from '../kubernetes/secret-kubeconfig.ts';
import type { SweepTarget } from '../sweep/observe.ts';
import type { Problem } from '../problem.ts';
import type { Target } from './target.ts';

/** A target with its clients. */
export interface OpenTarget extends SweepTarget {
  close(): void;
}

/** Thrown when a target cannot be opened until somebody mends its secret or its entry in fleet.yaml. */
export class UnusableTargetError extends Error {
  override readonly name = 'UnusableTargetError';
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.message);
    this.problem = problem;
  }
}

/**
 * Reads the kubeconfigs of a target and makes clients out of them. Connects to no cluster yet.
 *
 * @throws UnusableTargetError
 * @throws KubeconfigSecretError of kind `unavailable`: nothing is known about the target
 */
export async function openTarget(
  target: Target,
  readSecret: ReadKubeconfigSecret,
  signal: AbortSignal,
): Promise<OpenTarget> {
  const { cluster, kubeconfigSecret, managementKubeconfigSecret } = target;
  const open = async (arn: string): Promise<KubernetesClient> => openClient(arn, await textOf(arn));
  const [workload, management] = await Promise.all([
    open(kubeconfigSecret),
    managementKubeconfigSecret === undefined ? undefined : open(managementKubeconfigSecret),
  ]);
  return {
    cluster: { ...cluster, endpoint: hostOf(new URL(workload.server)) },
    workload,
    ...machinesFrom(target, workload, management),
    close() {
      workload.close();
      management?.close();
    },
  };

  async function textOf(arn: string): Promise<string> {
    try {
      return await readSecret(arn, signal);
    } catch (error) {
      if (!(error instanceof KubeconfigSecretError) || error.kind === 'unavailable') throw error;
      const { object, message, remedy } = error;
      throw new UnusableTargetError({ kind: 'secret', object, message, remedy });
    }
  }
}

function openClient(arn: string, text: string): KubernetesClient {
  const object = `kubeconfig in secret ${arn}`;
  try {
    return createKubernetesClient(loadSecretKubeconfig(text));
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    if (error instanceof KubeconfigError)
      throw new UnusableTargetError({
        kind: 'kubeconfig',
        object,
        message,
        remedy: 'Mend the secret: the next sweep reads it again.',
      });
    if (error instanceof KubernetesError)
      throw new UnusableTargetError({ kind: error.kind, object, message, remedy: error.remedy });
    throw error;
  }
}

/** An EKS Anywhere cluster that names no management cluster manages itself; an EKS cluster has no Machines then. */
function machinesFrom(
  { cluster }: Target,
  workload: KubernetesClient,
  management: KubernetesClient | undefined,
): { readonly management?: KubernetesClient } {
  if (management !== undefined) return { management };
  return cluster.provider === 'eks-anywhere' ? { management: workload } : {};
}
