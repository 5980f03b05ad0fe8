import type { ListInstances } from '../aws/ec2-instances.ts';
import type { SignToken } from '../aws/eks-token.ts';
import { AwsError } from '../aws/errors.ts';
import { KubeconfigSecretError, type ReadKubeconfigSecret } from '../aws/kubeconfig-secret.ts';
import { createKubernetesClient, type KubernetesClient } from '../kubernetes/client.ts';
import { readClusterApiKubeconfig } from '../kubernetes/cluster-api-kubeconfig.ts';
import { type Connection, type Credentials, type ExpiredServer, hostOf } from '../kubernetes/connection.ts';
import { KubernetesError } from '../kubernetes/errors.ts';
import { KubeconfigError, type KubeconfigProblem } from '../kubernetes/kubeconfig-document.ts';
import { loadSecretKubeconfig } from '../kubernetes/secret-kubeconfig.ts';
import type { Problem } from '../problem.ts';
import type { SweepTarget } from '../sweep/observe.ts';
import type { ClusterApiAccess, EksAccess, KubeconfigAccess } from './access.ts';
import { isLocalServer } from './local-server.ts';
import type { Target } from './target.ts';

/** A target with its clients. */
export interface OpenTarget extends SweepTarget {
  close(): void;
}

/** What opening a target may ask for. */
export interface TargetSources {
  readonly readSecret: ReadKubeconfigSecret;
  readonly signToken: SignToken;
  readonly listInstances: ListInstances;
}

/** Thrown when a target cannot be opened, and nothing was asked of its API server yet. */
export class UnusableTargetError extends Error {
  override readonly name = 'UnusableTargetError';
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.message);
    this.problem = problem;
  }
}

/**
 * Makes clients for a target. Connects to no cluster yet, but to the management cluster when that keeps the kubeconfig.
 *
 * @param expiredServer connect to the cluster itself although its certificate has expired; EKS renews its own
 * @throws UnusableTargetError
 * @throws KubeconfigSecretError of kind `unavailable`: nothing is known about the target
 */
export async function openTarget(
  target: Target,
  sources: TargetSources,
  signal: AbortSignal,
  expiredServer?: ExpiredServer,
): Promise<OpenTarget> {
  const { cluster, instances } = target;
  const management = target.management && (await openKubeconfig(target.management.access, sources, signal));
  try {
    const workload = await openWorkload(target, management, sources, signal, expiredServer);
    return {
      cluster: { ...cluster, endpoint: hostOf(new URL(workload.server)) },
      workload,
      ...machinesFrom(target, workload, management),
      ...(instances === undefined
        ? {}
        : {
            vpcId: instances.vpcId,
            listInstances: (query, until) => sources.listInstances(instances, query, until),
          }),
      close() {
        workload.close();
        management?.close();
      },
    };
  } catch (error) {
    management?.close();
    throw error;
  }
}

async function openWorkload(
  { cluster, access }: Target,
  management: KubernetesClient | undefined,
  sources: TargetSources,
  signal: AbortSignal,
  expiredServer: ExpiredServer | undefined,
): Promise<KubernetesClient> {
  switch (access.kind) {
    case 'eks':
      return openEks(cluster.name, access, sources.signToken);
    case 'kubeconfig':
      return openKubeconfig(access, sources, signal, expiredServer);
    case 'cluster-api':
      return openClusterApi(cluster.name, access, management, signal, expiredServer);
  }
}

function openEks(name: string, { endpoint, certificateAuthority, scope }: EksAccess, signToken: SignToken) {
  const connection: Connection = {
    server: endpoint,
    caPem: Buffer.from(certificateAuthority, 'base64').toString('latin1'),
    credentials: tokensOf(signToken, name, scope.region),
  };
  return usable(`EKS cluster ${name} in ${scope.account}/${scope.region}`, 'The next discovery reads it again.', () =>
    createKubernetesClient(connection),
  );
}

async function openKubeconfig(
  { secret, authenticatorId }: KubeconfigAccess,
  { readSecret, signToken }: TargetSources,
  signal: AbortSignal,
  expiredServer?: ExpiredServer,
): Promise<KubernetesClient> {
  const text = await textOf(secret, readSecret, signal);
  // The STS that answers an EKS Anywhere cluster is nobody's in particular; that of the secret is where we are at home.
  const own = authenticatorId && tokensOf(signToken, authenticatorId, secret.split(':')[3] ?? '');
  return usable(`kubeconfig in secret ${secret}`, 'Mend the secret: the next sweep reads it again.', () =>
    createKubernetesClient(tolerating(loadSecretKubeconfig(text, own ? { credentials: own } : {}), expiredServer)),
  );
}

async function openClusterApi(
  name: string,
  { namespace }: ClusterApiAccess,
  management: KubernetesClient | undefined,
  signal: AbortSignal,
  expiredServer: ExpiredServer | undefined,
): Promise<KubernetesClient> {
  const object = `kubeconfig of ${namespace}/${name}`;
  if (management === undefined)
    throw new UnusableTargetError({
      kind: 'invalid',
      object,
      message: 'it is in a management cluster, and the target names none',
      remedy: 'Deploy dispatch and sweep together.',
    });
  let text: string;
  try {
    text = await readClusterApiKubeconfig(management, { namespace, name, signal });
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    const { kind, problem, remedy } = error;
    throw new UnusableTargetError({ kind, object: error.object, message: problem, remedy });
  }
  const remedy = 'Cluster API writes the Secret anew when it is deleted; or name a kubeconfig secret in fleet.yaml.';
  return usable(`${object} on ${management.server}`, remedy, () => {
    const loaded = loadSecretKubeconfig(text);
    // Whoever may write that Secret is not the owner of the fleet, and must not choose what is asked from inside its network.
    if (isLocalServer(hostOf(new URL(loaded.server)))) throw new KubeconfigError([LOCAL_SERVER]);
    return createKubernetesClient(tolerating(loaded, expiredServer));
  });
}

function tolerating(connection: Connection, expiredServer: ExpiredServer | undefined): Connection {
  return expiredServer === undefined ? connection : { ...connection, expiredServer };
}

const LOCAL_SERVER: KubeconfigProblem = {
  where: 'server',
  problem: 'it is a link-local address or a metadata service, which no cluster has for its API',
  remedy: 'Find out who wrote it; certmarshal does not connect to it.',
};

/** Tokens that our own role signs. */
function tokensOf(signToken: SignToken, authenticatorId: string, region: string): Credentials {
  return {
    kind: 'token',
    token: async () => {
      try {
        return await signToken(authenticatorId, region);
      } catch (error) {
        if (!(error instanceof AwsError)) throw error;
        const { object, problem, remedy } = error;
        throw new KubernetesError({ kind: 'credentials', object, problem, remedy });
      }
    },
  };
}

async function textOf(arn: string, readSecret: ReadKubeconfigSecret, signal: AbortSignal): Promise<string> {
  try {
    return await readSecret(arn, signal);
  } catch (error) {
    if (!(error instanceof KubeconfigSecretError) || error.kind === 'unavailable') throw error;
    const { object, problem, remedy } = error;
    throw new UnusableTargetError({ kind: 'secret', object, message: problem, remedy });
  }
}

/** @param remedy of a kubeconfig that cannot be used */
function usable(object: string, remedy: string, open: () => KubernetesClient): KubernetesClient {
  try {
    return open();
  } catch (error) {
    if (error instanceof KubeconfigError)
      throw new UnusableTargetError({ kind: 'kubeconfig', object, message: error.message, remedy });
    if (error instanceof KubernetesError)
      throw new UnusableTargetError({
        kind: error.kind,
        object,
        message: `${error.object}: ${error.problem}`,
        remedy: error.remedy,
      });
    throw error;
  }
}

/** An EKS Anywhere cluster that names no management cluster manages itself; an EKS cluster has no Machines then. */
function machinesFrom(
  { cluster, management: named }: Target,
  workload: KubernetesClient,
  management: KubernetesClient | undefined,
): Pick<SweepTarget, 'management' | 'machinesNamespace'> {
  if (management === undefined) return cluster.provider === 'eks-anywhere' ? { management: workload } : {};
  return { management, ...(named?.namespace === undefined ? {} : { machinesNamespace: named.namespace }) };
}
