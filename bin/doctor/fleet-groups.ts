import { AwsError } from '../../lambdas/aws/errors.ts';
import { KubeconfigSecretError } from '../../lambdas/aws/kubeconfig-secret.ts';
import type { Fleet } from '../../lambdas/config/fleet.ts';
import type { EksAccess, KubeconfigAccess } from '../../lambdas/fleet/access.ts';
import { isWanted } from '../../lambdas/fleet/cluster-selection.ts';
import { discoverEks, type FoundCluster } from '../../lambdas/fleet/discover.ts';
import { listedClusters } from '../../lambdas/fleet/listed-clusters.ts';
import { eksSources } from '../../lambdas/fleet/sources.ts';
import type { Target } from '../../lambdas/fleet/target.ts';
import { createKubernetesClient } from '../../lambdas/kubernetes/client.ts';
import { loadSecretKubeconfig } from '../../lambdas/kubernetes/secret-kubeconfig.ts';
import { UsageError } from '../exit-codes.ts';
import { quote } from '../target.ts';
import { type AwsCalls, connectAws } from './aws-calls.ts';
import { accessEntryFix, allowFix } from './aws-fixes.ts';
import { type Check, type CheckGroup, type Fix, failed, passed } from './check.ts';
import { kubeconfigSecretsCheck } from './cluster-checks.ts';
import { clusterGroups, type Door, type GroupOptions } from './cluster-groups.ts';
import { kubeconfigCheck, renewFix } from './kubeconfig-door.ts';
import { grantFix } from './rights.ts';
import { sourceGroup } from './source-checks.ts';

/**
 * What is tried for a fleet: who we are to AWS, each place where clusters are looked for, and each cluster.
 *
 * @param only id of the one cluster to try; the places are tried too
 * @throws UsageError when there is no such cluster
 */
export async function fleetGroups(
  fleet: Fleet,
  only: string | undefined,
  options: GroupOptions,
  signal: AbortSignal,
  connect: (signal: AbortSignal) => Promise<AwsCalls> = connectAws,
): Promise<CheckGroup[]> {
  let aws: AwsCalls;
  try {
    aws = await connect(signal);
  } catch (error) {
    if (error instanceof AwsError) return [credentialsGroup(() => Promise.reject(error))];
    throw error;
  }
  const clusters = [...(listedClusters(fleet).clusters ?? []), ...workloadClusters(fleet)];
  for await (const { clusters: found = [] } of discoverEks(fleet.discovery, aws.caller, fleet.lanes, aws.eks, signal))
    clusters.push(...found.filter(({ unwanted }) => unwanted !== true));
  const tried = clusters.filter(({ id }) => only === undefined || id === only);
  if (only !== undefined && tried.length === 0)
    throw new UsageError(
      `There is no cluster ${only}. ${clusters.length === 0 ? 'None was found.' : `Name one of: ${clusters.map(({ id }) => id).join(', ')}.`}`,
    );
  return [
    credentialsGroup(async () => passed(`we are ${aws.caller.arn}`)),
    ...eksSources(fleet.discovery, aws.caller).map((source) => sourceGroup(source, aws)),
    ...tried.flatMap((cluster) => groupsOf(cluster, fleet, aws, options)),
  ];
}

function credentialsGroup(run: Check['run']): CheckGroup {
  const check = { id: 'aws-credentials', title: 'AWS knows us', object: 'sts:GetCallerIdentity', run };
  return { subject: 'AWS credentials', checks: [check] };
}

/** Those whose kubeconfig fleet.yaml names; a sweep of the management cluster finds the others. */
function workloadClusters({ managementClusters }: Fleet): FoundCluster[] {
  return managementClusters.flatMap((management) =>
    Object.entries(management.workloadClusters.kubeconfigSecrets).map(([name, secret]) => {
      const id = `${management.name}/${name}`;
      const access = { kind: 'kubeconfig' as const, secret: management.kubeconfigSecret };
      const { authenticatorId } = management;
      return {
        id,
        target: {
          id,
          cluster: { name, provider: 'eks-anywhere' as const },
          access: { kind: 'kubeconfig' as const, secret },
          management: { access: authenticatorId === undefined ? access : { ...access, authenticatorId } },
          lane: management.lane,
        },
      };
    }),
  );
}

function groupsOf(
  found: FoundCluster,
  { lanes, managementClusters }: Fleet,
  aws: AwsCalls,
  options: GroupOptions,
): readonly CheckGroup[] {
  const { id, target, problem } = found;
  if (target === undefined) {
    const { kind = '', message = 'nothing is known of it', remedy = '' } = problem ?? {};
    const check: Check = {
      id: kind === 'lane' ? 'lane' : 'target',
      title: kind === 'lane' ? 'a lane leads to it' : 'can be swept',
      object: id,
      run: async () => failed(message, { text: remedy }),
    };
    return [{ subject: id, checks: [check] }];
  }
  const vpc = lanes.find(({ name }) => name === target.lane)?.vpcId;
  const subject = vpc === undefined ? id : `${id} (swept from ${vpc}, tried from here)`;
  const managesItself = target.cluster.provider === 'eks-anywhere' && target.management === undefined;
  const workloads = found.managesClusters && managementClusters.find(({ name }) => name === id)?.workloadClusters;
  return clusterGroups(
    {
      subject,
      cluster: target.cluster,
      ...(workloads?.kubeconfigsFromManagementCluster
        ? {
            further: (server) => [
              kubeconfigSecretsCheck(
                server,
                (name) => isWanted(workloads, name, {}) && !Object.hasOwn(workloads.kubeconfigSecrets, name),
                (clusters) => grantFix('management', server.identity, options, clusters),
              ),
            ],
          }
        : {}),
      workload:
        target.access.kind === 'eks'
          ? eksDoor(target, target.access, aws)
          : secretDoor(target, target.access, managesItself, aws, options),
      ...(target.management === undefined
        ? {}
        : { management: secretDoor(target, target.management.access, true, aws, options) }),
    },
    options,
  );
}

function eksDoor({ cluster }: Target, { endpoint, certificateAuthority, scope }: EksAccess, aws: AwsCalls): Door {
  return {
    object: new URL(endpoint).host,
    renew: { text: 'Run this again: endpoint and CA are read anew each time. If it stays, open a case with AWS.' },
    admit: accessEntryFix(aws.caller, cluster.name, scope.region),
    opening: (server) => [
      {
        id: 'token',
        title: 'token is signed',
        object: cluster.name,
        async run() {
          await aws.signToken(cluster.name, scope.region);
          server.connection = {
            server: endpoint,
            caPem: Buffer.from(certificateAuthority, 'base64').toString('latin1'),
            credentials: { kind: 'token', token: () => aws.signToken(cluster.name, scope.region) },
          };
          server.client = createKubernetesClient(server.connection);
          return passed('yes');
        },
      },
    ],
  };
}

function secretDoor(
  { cluster }: Target,
  access: Target['access'] & { kind: 'kubeconfig' | 'cluster-api' },
  management: boolean,
  aws: AwsCalls,
  { program, policyFile }: GroupOptions,
): Door {
  if (access.kind === 'cluster-api') throw new Error('fleet.yaml lists no cluster that is reached so');
  // arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME-6RANDOM
  const name = access.secret.split(':').slice(6).join(':').slice(0, -7);
  const renew = renewFix(program, {
    cluster: quote(cluster.name),
    management,
    store: name,
    ...(policyFile === undefined ? {} : { policyFile: quote(policyFile) }),
  });
  let text = '';
  return {
    object: name,
    renew,
    opening: (server) => [
      {
        id: 'secret',
        title: 'secret can be read',
        object: name,
        async run(signal) {
          try {
            text = await aws.readSecret(access.secret, signal);
            return passed('yes');
          } catch (error) {
            if (!(error instanceof KubeconfigSecretError)) throw error;
            return failed(error.message.replace(` ${error.remedy}`, ''), secretFix(error, access, renew, aws));
          }
        },
      },
      kubeconfigCheck(server, { object: name, needs: ['secret'], renew }, () => {
        const { authenticatorId } = access;
        if (authenticatorId === undefined) return loadSecretKubeconfig(text);
        const token = () => aws.signToken(authenticatorId, regionOf(access.secret));
        return loadSecretKubeconfig(text, { credentials: { kind: 'token', token } });
      }),
    ],
  };
}

function regionOf(secret: string): string {
  return secret.split(':')[3] ?? '';
}

function secretFix(error: KubeconfigSecretError, { secret }: KubeconfigAccess, renew: Fix, aws: AwsCalls): Fix {
  if (error.kind === 'denied') return allowFix(aws.caller.arn, 'secretsmanager:GetSecretValue', secret, error.remedy);
  if (error.kind === 'unavailable') return { text: error.remedy };
  return error.kind === 'not-found'
    ? { ...renew, text: `${renew.text.replace(/:$/, '')}, and write the ARN that it prints into fleet.yaml:` }
    : renew;
}
