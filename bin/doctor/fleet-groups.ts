import type { AddressRule } from '../../lambdas/allowed-addresses.ts';
import type { IsEksEndpoint } from '../../lambdas/aws/eks-endpoint.ts';
import { AwsError } from '../../lambdas/aws/errors.ts';
import { KubeconfigSecretError } from '../../lambdas/aws/kubeconfig-secret.ts';
import { whyNoToken } from '../../lambdas/aws/token-server.ts';
import { type Fleet, SELF } from '../../lambdas/config/fleet.ts';
import type { EksAccess, KubeconfigAccess, Target } from '../../lambdas/contracts/target.ts';
import { isWanted } from '../../lambdas/fleet/cluster-selection.ts';
import { discoverEks, type FoundCluster } from '../../lambdas/fleet/discover.ts';
import { listedClusters } from '../../lambdas/fleet/listed-clusters.ts';
import { expiredServerOf } from '../../lambdas/fleet/recovery.ts';
import { eksSources, type HubIdentity } from '../../lambdas/fleet/sources.ts';
import { DEFAULT_NAMESPACE } from '../../lambdas/identifiers.ts';
import { createKubernetesClient } from '../../lambdas/kubernetes/client.ts';
import type { Connection } from '../../lambdas/kubernetes/connection.ts';
import type { KubernetesError } from '../../lambdas/kubernetes/errors.ts';
import { loadSecretKubeconfig } from '../../lambdas/kubernetes/secret-kubeconfig.ts';
import type { Identity } from '../../lambdas/kubernetes/self-review.ts';
import { printable } from '../../lambdas/printable.ts';
import { counted } from '../../lambdas/words.ts';
import { mayBeFound } from '../clusters-of-fleet.ts';
import { UsageError } from '../exit-codes.ts';
import { quote } from '../target.ts';
import { joined } from '../terminal/words.ts';
import { accessEntryCheck } from './access-entry-check.ts';
import { remedyAtTheKeyboard } from './at-the-keyboard.ts';
import { type AwsCalls, connectAws } from './aws-calls.ts';
import { accessEntryFix, allowFix, GROUP } from './aws-fixes.ts';
import { type Check, type CheckGroup, type Fix, failed, passed, untold } from './check.ts';
import { kubeconfigSecretsCheck } from './cluster-checks.ts';
import { clusterGroups, type Door, type GroupOptions } from './cluster-groups.ts';
import { concurrencyCheck } from './concurrency-check.ts';
import { type HubRoles, hubRoles, whereIsTheRole } from './hub-roles.ts';
import { kubeconfigCheck, renewFix } from './kubeconfig-door.ts';
import { grantFix } from './rights.ts';
import { isElsewhere, notOurs, sourceGroup } from './source-checks.ts';
import { subscriptionsCheck } from './subscriptions-check.ts';
import { webhookGroup } from './webhook-checks.ts';

export interface FleetOptions extends GroupOptions {
  /** Allowed addresses of API servers; `cluster` for the deployed sweep. */
  readonly addresses: AddressRule;
  /** Which servers may receive the token of an EKS cluster. */
  readonly isEksEndpoint: IsEksEndpoint;
  /** Id of the only cluster to check; accounts and Regions are checked too. */
  readonly only?: string;
  /** ARN of the sweep role, if `fleet.yaml` does not imply it. */
  readonly sweepRole?: string;
}

/**
 * All checks of a fleet: our AWS identity, each account and Region where clusters are discovered, and each cluster.
 *
 * @throws UsageError if the cluster does not exist
 */
export async function fleetGroups(
  fleet: Fleet,
  options: FleetOptions,
  signal: AbortSignal,
  connect: (signal: AbortSignal) => Promise<AwsCalls> = connectAws,
): Promise<CheckGroup[]> {
  const only = options.only === undefined ? undefined : idOf(options.only, fleet);
  const named = [...(listedClusters(fleet).clusters ?? []), ...workloadClusters(fleet)];
  const listed = named.filter(({ id }) => only === undefined || id === only);
  // An error that the file alone shows must not require a login first.
  if (only !== undefined && listed.length === 0 && !mayBeFound(only, fleet)) throw noSuchCluster(only, named, fleet);
  let aws: AwsCalls;
  try {
    aws = await connect(signal);
  } catch (error) {
    if (error instanceof AwsError)
      return [credentialsGroup(() => Promise.reject(error), untried(fleet, listed, options.only))];
    throw error;
  }
  const { caller } = aws;
  const roles = hubRoles(caller.arn, fleet.hub, options.sweepRole);
  const hub: HubIdentity = {
    partition: caller.partition,
    account: fleet.hub.account ?? caller.account,
    region: fleet.hub.region ?? caller.region,
  };
  const isOfHub = hub.account === caller.account;
  const sources = eksSources(fleet.discovery, hub);
  const readable = sources.filter(({ scope }) => !isElsewhere(scope, caller)).map(({ name }) => name);
  const found: FoundCluster[] = [];
  for await (const { clusters = [] } of discoverEks(fleet.discovery, hub, fleet.lanes, aws.eks, signal, {
    only: readable,
  }))
    found.push(...clusters.filter(({ unwanted, untagged }) => unwanted !== true && untagged !== true));
  const tried = [...listed, ...found.filter(({ id }) => only === undefined || id === only)];
  if (only !== undefined && tried.length === 0) throw noSuchCluster(only, [...named, ...found], fleet);
  return [
    credentialsGroup(
      async () => passed(`authenticated as ${caller.arn}`),
      `tried as ${caller.arn}; the functions use ${roles.sweepRole}${roles.known ? '' : ', the output SweepRoleArn of the stack'}`,
      [...(isOfHub ? [concurrencyCheck(fleet, aws, hub.region)] : []), subscriptionsCheck(aws, hub.region, isOfHub)],
    ),
    ...sources.map((source) => sourceGroup(source, aws, roles)),
    ...tried.flatMap((cluster) => groupsOf(cluster, fleet, { aws, roles }, options)),
    ...(fleet.hub.webhook && isOfHub
      ? [webhookGroup(async (ended) => aws.webhook(hub.region, ended), tried.map(registeredId))]
      : []),
  ];
}

/** The id in the registry, which has the namespace of a workload cluster. */
function registeredId({ id, target }: FoundCluster): string {
  const [management, name, more] = id.split('/');
  return name === undefined || more !== undefined ? id : `${management}/${target?.management?.namespace ?? ''}/${name}`;
}

interface Callers {
  readonly aws: AwsCalls;
  readonly roles: HubRoles;
}

function credentialsGroup(run: Check['run'], note: string, more: readonly Check[] = []): CheckGroup {
  const check = { id: 'aws-credentials', title: 'AWS accepts them', object: 'sts:GetCallerIdentity', run };
  return { subject: 'AWS credentials', note, checks: [check, ...more] };
}

function untried({ discovery, hub }: Fleet, clusters: readonly FoundCluster[], only: string | undefined): string {
  if (only !== undefined) return `without them ${only} cannot be tried, and nothing is known about it`;
  const { account = SELF, region = SELF } = hub;
  const places = eksSources(discovery, { partition: 'aws', account, region }).length;
  const count = clusters.length;
  const parts = joined(
    [
      places > 0 && (places === 1 ? '1 account and Region' : `${places} accounts and Regions`),
      count > 0 && counted(count, 'cluster'),
    ],
    ' and ',
  );
  return parts === '' ? 'there was nothing else to try' : `not tried without them: ${parts}`;
}

/** The id in fleet.yaml. Findings name a workload cluster with its namespace, fleet.yaml without. */
function idOf(asked: string, { managementClusters }: Fleet): string {
  const [management = '', namespace = '', name = ''] = asked.split('/');
  const of = managementClusters.find((cluster) => cluster.name === management)?.workloadClusters;
  const isWorkload = of?.namespaces.includes(namespace) && Object.hasOwn(of.kubeconfigSecrets, name);
  return isWorkload ? `${management}/${name}` : asked;
}

function noSuchCluster(id: string, clusters: readonly FoundCluster[], { discovery }: Fleet): UsageError {
  const ids = [
    ...clusters.map((cluster) => cluster.id),
    ...(discovery.length === 0 ? [] : ['ACCOUNT/REGION/NAME of an EKS cluster that discovery finds']),
  ];
  const remedy = ids.length === 0 ? 'The file names none.' : `Name one by its id: ${ids.join(', ')}.`;
  return new UsageError(`There is no cluster ${printable(id, 200)}. ${remedy}`);
}

/** Workload clusters whose kubeconfig fleet.yaml names; a sweep of the management cluster finds the others. */
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
          management: {
            access: authenticatorId === undefined ? access : { ...access, authenticatorId },
            namespace: management.workloadClusters.namespaces[0] ?? DEFAULT_NAMESPACE,
          },
          lane: management.lane,
        },
      };
    }),
  );
}

function groupsOf(
  found: FoundCluster,
  { lanes, managementClusters, recovery }: Fleet,
  callers: Callers,
  options: FleetOptions,
): readonly CheckGroup[] {
  const { id, target, problem } = found;
  if (target === undefined) {
    const { kind = '', message = 'nothing is known about it', remedy = '' } = problem ?? {};
    const check: Check = {
      id: kind === 'lane' ? 'lane' : 'target',
      title: kind === 'lane' ? 'a lane leads to it' : 'can be swept',
      object: id,
      run: async () => failed(message, { text: remedy }),
    };
    return [{ subject: id, checks: [check] }];
  }
  const { lane } = target;
  const vpcId = lanes.find(({ name }) => name === lane)?.vpcId;
  const note = `swept from lane ${lane}, ${vpcId === undefined ? 'outside of every VPC' : `in ${vpcId}`}; tried from here`;
  const managesItself = target.management !== undefined && target.management.access === undefined;
  // A sweep of its management cluster finds the namespace of its Cluster.
  const of = managementClusters.find(({ name }) => id === `${name}/${target.cluster.name}`);
  const workloads = found.managesClusters && managementClusters.find(({ name }) => name === id)?.workloadClusters;
  return clusterGroups(
    {
      subject: id,
      note,
      // A public EKS endpoint may resolve to a private address here.
      sweptFrom: vpcId === undefined && target.access.kind === 'eks' ? undefined : { lane, vpcId },
      cluster: target.cluster,
      namespaces: of?.workloadClusters.namespaces ?? [target.management?.namespace ?? DEFAULT_NAMESPACE],
      further: workloads?.kubeconfigsFromManagementCluster
        ? (server) => [
            kubeconfigSecretsCheck(
              server,
              workloads.namespaces,
              (name) => isWanted(workloads, name, {}) && !Object.hasOwn(workloads.kubeconfigSecrets, name),
              (clusters) => grantFix('management', server.identity, options, clusters),
            ),
          ]
        : undefined,
      workload:
        target.access.kind === 'eks'
          ? eksDoor(target, target.access, callers, options)
          : secretDoor(target, target.access, managesItself, callers, {
              ...options,
              expiredServer: expiredServerOf(recovery, registeredId(found), undefined, options.now()),
            }),
      management:
        target.management?.access === undefined
          ? undefined
          : secretDoor(target, target.management.access, true, callers, { ...options, expiredServer: 'never' }),
    },
    options,
  );
}

function eksDoor(
  { cluster }: Target,
  { endpoint, certificateAuthority, scope }: EksAccess,
  { aws, roles }: Callers,
  { addresses, isEksEndpoint }: FleetOptions,
): Door {
  const admit = accessEntryFix(roles, cluster.name, scope.region);
  return {
    object: new URL(endpoint).host,
    renew: {
      text: 'Run this again: endpoint and CA are read again each time. If it still fails, open a case with AWS.',
    },
    ...(roles.weSweep
      ? { refused: ({ problem }: KubernetesError) => failed(problem, admit) }
      : {
          grantee: sweeper(roles),
          refused: ({ problem }: KubernetesError) =>
            untold(`cannot be tried as ${aws.caller.arn}: ${problem}`, {
              text: 'Only the role of the sweep needs access; access-entry says whether it has it.',
            }),
        }),
    opening: (server) => [
      ...(roles.weSweep ? [] : [accessEntryCheck(scope, cluster.name, aws, roles)]),
      {
        id: 'token',
        title: 'token is signed',
        object: cluster.name,
        async run() {
          const subject = { authenticatorId: cluster.name, isEks: true, region: scope.region };
          const foreign = whyNoToken(endpoint, subject, isEksEndpoint);
          if (foreign !== undefined) return failed(foreign.message, { text: foreign.remedy });
          await aws.signToken(cluster.name, scope.region);
          server.connection = {
            server: endpoint,
            caPem: Buffer.from(certificateAuthority, 'base64').toString('latin1'),
            credentials: { kind: 'token', token: () => aws.signToken(cluster.name, scope.region) },
            addresses,
          };
          server.client = createKubernetesClient(server.connection);
          return passed('yes');
        },
      },
    ],
  };
}

function secretDoor(
  { id, cluster, access: own }: Target,
  access: Exclude<Target['access'], EksAccess>,
  management: boolean,
  { aws, roles }: Callers,
  {
    program,
    policyFile,
    addresses,
    isEksEndpoint,
    expiredServer,
  }: FleetOptions & { readonly expiredServer: Connection['expiredServer'] },
): Door {
  if (access.kind !== 'kubeconfig') throw new Error('fleet.yaml lists no cluster that is reached this way');
  // arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME-6RANDOM
  const name = access.secret.split(':').slice(6).join(':').slice(0, -7);
  const renew = renewFix(program, {
    cluster: quote(cluster.name),
    management,
    // Only workload clusters have a slash in their id here.
    workloadOf: management || !id.includes('/') ? undefined : quote(id.split('/')[0] ?? ''),
    store: name,
    policyFile: policyFile === undefined ? undefined : quote(policyFile),
  });
  const isEks = access === own && cluster.provider === 'eks';
  let text = '';
  return {
    object: name,
    renew,
    ...(access.authenticatorId === undefined ? {} : mappedAnswers(aws.caller.arn, roles)),
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
            if (error.kind === 'denied' && !roles.weSweep) return notOurs(`${error.object}: ${error.problem}`);
            return failed(`${error.object}: ${error.problem}`, secretFix(error, access, renew, aws));
          }
        },
      },
      kubeconfigCheck(server, { object: name, needs: ['secret'], renew }, () => {
        const { authenticatorId } = access;
        if (authenticatorId === undefined) return { ...loadSecretKubeconfig(text), addresses, expiredServer };
        const token = () => aws.signToken(authenticatorId, regionOf(access.secret));
        const connection = { ...loadSecretKubeconfig(text, { kind: 'token', token }), addresses, expiredServer };
        const foreign = whyNoToken(connection.server, { authenticatorId, isEks }, isEksEndpoint);
        if (foreign === undefined) return connection;
        return failed(foreign.message, { text: foreign.remedy });
      }),
    ],
  };
}

/** With signed tokens aws-iam-authenticator decides who is mapped, and it maps the sweep role. */
function mappedAnswers(caller: string, roles: HubRoles): Pick<Door, 'refused' | 'grantee'> {
  const fix = {
    text: `The aws-iam-authenticator of the cluster has to map ${roles.sweepRole} to the group ${GROUP}.${whereIsTheRole(roles)}`,
  };
  if (roles.weSweep) return { refused: ({ problem }) => failed(problem, fix) };
  return { grantee: sweeper(roles), refused: ({ problem }) => untold(`cannot be tried as ${caller}: ${problem}`, fix) };
}

function sweeper({ sweepRole }: HubRoles): Identity {
  return { username: sweepRole, groups: [GROUP] };
}

function regionOf(secret: string): string {
  return secret.split(':')[3] ?? '';
}

function secretFix(error: KubeconfigSecretError, { secret }: KubeconfigAccess, renew: Fix, aws: AwsCalls): Fix {
  if (error.kind === 'denied') return allowFix(aws.caller.arn, 'secretsmanager:GetSecretValue', secret, error.remedy);
  if (error.kind === 'unavailable') return { text: remedyAtTheKeyboard({ kind: error.kind, remedy: error.remedy }) };
  return error.kind === 'not-found'
    ? {
        ...renew,
        text: 'Make new credentials with a kubeconfig of an administrator, ADMIN.yaml, and write the ARN that it prints into fleet.yaml:',
      }
    : renew;
}
