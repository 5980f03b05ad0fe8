import { type AddressRule, addressesOf } from '../../allowed-addresses.ts';
import type { SweepTarget } from '../../approval/observe.ts';
import type { AuditTarget } from '../../audit/audit-target.ts';
import type { ListInstances } from '../../aws/ec2-instances.ts';
import type { IsEksEndpoint } from '../../aws/eks-endpoint.ts';
import type { SignToken } from '../../aws/eks-token.ts';
import { AwsError } from '../../aws/errors.ts';
import { KubeconfigSecretError, type ReadKubeconfigSecret } from '../../aws/kubeconfig-secret.ts';
import { whyNoToken } from '../../aws/token-server.ts';
import type { ExpiredServer } from '../../contracts/order.ts';
import type { Problem } from '../../contracts/problem.ts';
import type { ClusterApiAccess, EksAccess, KubeconfigAccess, Target } from '../../contracts/target.ts';
import { DEFAULT_NAMESPACE } from '../../identifiers.ts';
import { createKubernetesClient, type KubernetesClient } from '../../kubernetes/client.ts';
import { readClusterApiSecret } from '../../kubernetes/cluster-api-secret.ts';
import { type Connection, type Credentials, hostOf } from '../../kubernetes/connection.ts';
import { KubernetesError } from '../../kubernetes/errors.ts';
import { KubeconfigError } from '../../kubernetes/kubeconfig-document.ts';
import { loadSecretKubeconfig } from '../../kubernetes/secret-kubeconfig.ts';

/** What an audit reads besides; for a context only. */
export interface OpenTarget extends SweepTarget, Pick<AuditTarget, 'eks' | 'ports'> {
  close(): void;
}

export interface TargetSources {
  /** Where API servers may be; deployed code uses `cluster`. */
  readonly addresses: AddressRule;
  readonly readSecret: ReadKubeconfigSecret;
  readonly signToken: SignToken;
  /** Servers that may receive the token of an EKS cluster. */
  readonly isEksEndpoint: IsEksEndpoint;
  readonly listInstances: ListInstances;
  /** Opens a context of a kubeconfig. @throws UnusableTargetError @default no target is one */
  readonly openContext?: (context: string, signal: AbortSignal) => Promise<OpenTarget>;
}

/** Thrown when a target cannot be opened, before any call to its API server. */
export class UnusableTargetError extends Error {
  override readonly name = 'UnusableTargetError';
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.message);
    this.problem = problem;
  }
}

/**
 * Makes clients for a target. Connects to no cluster yet, except the management cluster that stores the kubeconfig.
 *
 * @param expiredServer connect to the cluster itself although its certificate has expired; EKS renews its own, and a management cluster that proves names is never
 * entered so
 * @throws UnusableTargetError
 * @throws KubeconfigSecretError of kind `unavailable`: nothing is known about the target
 */
export async function openTarget(
  target: Target,
  sources: TargetSources,
  signal: AbortSignal,
  expiredServer?: ExpiredServer,
): Promise<OpenTarget> {
  const { access, cluster, instances } = target;
  if (access.kind === 'context') {
    if (sources.openContext !== undefined) return sources.openContext(access.context, signal);
    throw new UnusableTargetError({
      kind: 'invalid',
      object: `context ${access.context}`,
      message: 'only certmarshal at a keyboard has a kubeconfig with contexts',
      remedy: 'Find out who else writes to the state.',
    });
  }
  const management =
    target.management?.access && (await openKubeconfig(target.management.access, sources, signal, 'never'));
  try {
    const workload = await openWorkload({ ...target, access }, management, sources, signal, expiredServer);
    return {
      cluster: { ...cluster, endpoints: [hostOf(new URL(workload.server))] },
      workload,
      resolve: addressesOf,
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
  { cluster, access }: Pick<Target, 'cluster'> & { readonly access: EksAccess | KubeconfigAccess | ClusterApiAccess },
  management: KubernetesClient | undefined,
  sources: TargetSources,
  signal: AbortSignal,
  expiredServer: ExpiredServer | undefined,
): Promise<KubernetesClient> {
  switch (access.kind) {
    case 'eks':
      return openEks(cluster.name, access, sources);
    case 'kubeconfig':
      return openKubeconfig(access, sources, signal, expiredServer, cluster.provider === 'eks');
    case 'cluster-api':
      return openClusterApi(cluster.name, access, management, sources, signal, expiredServer);
  }
}

/** The last check before a token is sent: every endpoint passes here, whether from registry, order or EKS. */
async function openEks(
  name: string,
  { endpoint, certificateAuthority, scope }: EksAccess,
  { signToken, isEksEndpoint, addresses }: TargetSources,
): Promise<KubernetesClient> {
  const object = `EKS cluster ${name} in ${scope.account}/${scope.region}`;
  const foreign = whyNoToken(endpoint, { authenticatorId: name, isEks: true, region: scope.region }, isEksEndpoint);
  if (foreign !== undefined) throw new UnusableTargetError({ kind: 'endpoint', object, ...foreign });
  const connection: Connection = {
    server: endpoint,
    caPem: Buffer.from(certificateAuthority, 'base64').toString('latin1'),
    credentials: tokensOf(signToken, name, scope.region),
    addresses,
  };
  return usable(object, 'The next discovery reads it again.', async () => createKubernetesClient(connection));
}

async function openKubeconfig(
  { secret, authenticatorId }: KubeconfigAccess,
  { readSecret, signToken, isEksEndpoint, addresses }: TargetSources,
  signal: AbortSignal,
  expiredServer: Connection['expiredServer'],
  isEks = false,
): Promise<KubernetesClient> {
  // An EKS Anywhere cluster has no STS of its own; the Region of its secret is used.
  const own = authenticatorId && tokensOf(signToken, authenticatorId, secret.split(':')[3] ?? '');
  const object = `kubeconfig in secret ${secret}`;
  return usable(object, 'Fix the secret: the next sweep reads it again.', async () => {
    const kubeconfig = await readSecret(secret, signal);
    const connection = { ...loadSecretKubeconfig(kubeconfig, own || undefined), addresses };
    const foreign = authenticatorId && whyNoToken(connection.server, { authenticatorId, isEks }, isEksEndpoint);
    if (foreign) throw new UnusableTargetError({ kind: 'endpoint', object, ...foreign });
    return createKubernetesClient({ ...connection, expiredServer });
  });
}

async function openClusterApi(
  name: string,
  { namespace }: ClusterApiAccess,
  management: KubernetesClient | undefined,
  { addresses }: TargetSources,
  signal: AbortSignal,
  expiredServer: ExpiredServer | undefined,
): Promise<KubernetesClient> {
  const object = `kubeconfig of ${namespace}/${name}`;
  if (management === undefined)
    throw new UnusableTargetError({
      kind: 'invalid',
      object,
      message: 'it is in a management cluster, but the target names no management cluster',
      remedy: 'Deploy plan and sweep together.',
    });
  const remedy = 'Cluster API writes the Secret again when it is deleted; or name a kubeconfig secret in fleet.yaml.';
  return usable(`${object} on ${management.server}`, remedy, async () => {
    const secret = { namespace, clusterName: name, secret: 'kubeconfig', signal } as const;
    const kubeconfig = await readClusterApiSecret(management, secret);
    return createKubernetesClient({ ...loadSecretKubeconfig(kubeconfig), addresses, expiredServer });
  });
}

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

/** @param remedy for an unusable kubeconfig */
async function usable(
  object: string,
  remedy: string,
  open: () => Promise<KubernetesClient>,
): Promise<KubernetesClient> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof KubeconfigSecretError && error.kind !== 'unavailable') {
      const { object: secret, problem: message } = error;
      throw new UnusableTargetError({ kind: 'secret', object: secret, message, remedy: error.remedy });
    }
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

/** A cluster without another management cluster manages itself. */
function machinesFrom(
  { management: named }: Target,
  workload: KubernetesClient,
  management: KubernetesClient | undefined,
): Pick<SweepTarget, 'management' | 'machinesNamespace'> {
  if (named === undefined) return { machinesNamespace: DEFAULT_NAMESPACE };
  return { management: management ?? workload, machinesNamespace: named.namespace };
}
