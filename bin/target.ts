import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { handshakeFrom } from '../lambdas/approval/node-handshake.ts';
import type { SweepTarget } from '../lambdas/approval/observe.ts';
import type { ApprovalPolicy } from '../lambdas/approval/policy.ts';
import type { ClusterContext } from '../lambdas/approval/request.ts';
import { isFor } from '../lambdas/approval/selection.ts';
import { cidrProblem } from '../lambdas/config/cidr.ts';
import { formatDuration, parseDuration } from '../lambdas/config/duration.ts';
import type { Fleet, FleetCluster } from '../lambdas/config/fleet.ts';
import type { ExpiredServer } from '../lambdas/contracts/order.ts';
import {
  DEFAULT_NAMESPACE,
  MAX_EXPIRED_AT_MOST_MS,
  NAMESPACE,
  PROVIDERS,
  type Provider,
} from '../lambdas/identifiers.ts';
import { createKubernetesClient, type KubernetesClient } from '../lambdas/kubernetes/client.ts';
import { DEFAULT_EXPIRED_AT_MOST_MS, hostOf } from '../lambdas/kubernetes/connection.ts';
import {
  KubeconfigError,
  type KubeconfigFile,
  type LoadedKubeconfig,
} from '../lambdas/kubernetes/kubeconfig-document.ts';
import { loadLocalKubeconfig } from '../lambdas/kubernetes/local-kubeconfig.ts';
import { printable } from '../lambdas/printable.ts';
import { needsNodes } from '../lambdas/tables/evidence-sources.ts';
import { createReadExec } from './eks-token.ts';
import { UsageError } from './exit-codes.ts';
import { eksRegionOf, instancesOf } from './instances.ts';
import type { Io } from './io.ts';
import { readTextFile } from './text-file.ts';

export interface TargetOptions {
  /** @default the files that `KUBECONFIG` names, else ~/.kube/config, as kubectl does */
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly managementKubeconfig?: string;
  /** Of its Cluster object in Cluster API. @default as fleet.yaml says, else DEFAULT_NAMESPACE */
  readonly namespace?: string;
  readonly cluster?: string;
  readonly provider?: string;
  /** Besides those that fleet.yaml has for the cluster. */
  readonly serviceCidr?: readonly string[];
  readonly allowExec?: boolean;
  /** `authority` or `sha256:…`: connects to the cluster although the certificate of its API server has expired. */
  readonly tolerateExpired?: string;
  /** How long ago it may have expired, with `authority`. @default 90d */
  readonly expiredAtMost?: string;
}

/** Which server answers, whatever the command line calls the cluster. */
export interface NamedServer {
  /** Of the kubeconfig. */
  readonly context: string;
  /** With the port: `10.0.1.10:6443`. */
  readonly address: string;
  /** What the kubeconfig calls the cluster, where that is not what the command line says and nothing explains it. */
  readonly otherwise?: string;
}

/** The one cluster that the command line names, and open connections to it. */
export interface OpenCluster extends Pick<SweepTarget, 'cluster' | 'workload' | 'management' | 'machinesNamespace'> {
  /** In the fleet; the name where it is not listed there. */
  readonly id: string;
  /** Of the API server. */
  readonly host: string;
  readonly server: NamedServer;
  /** That the kubeconfig names for AWS. */
  readonly awsProfile?: string | undefined;
  /** Of the owner's Cluster of EKS Anywhere, where the entry in the file says. */
  readonly eksAnywhereNamespace?: string;
  close(): void;
}

/**
 * Opens connections to the one cluster that the command line names, for a sweep.
 *
 * @param fleet its policies say what has to be known; the entry of this cluster's name tells its service CIDRs
 * @throws UsageError when an option or a kubeconfig cannot be used
 */
export async function openTarget(
  options: TargetOptions,
  fleet: Fleet,
): Promise<SweepTarget & Pick<OpenCluster, 'id' | 'server' | 'close'>> {
  const {
    host,
    awsProfile: _awsProfile,
    ...target
  } = await openCluster(options, fleet, (cluster) => requireServiceCidrs(cluster, fleet.policies));
  return {
    ...target,
    handshake: handshakeFrom(target.workload),
    ...(target.cluster.provider === 'eks' ? instancesOf(host, target.cluster.name) : {}),
  };
}

/**
 * Opens connections to the one cluster that the command line names.
 *
 * @param fleet the entry of this cluster's name tells its id, its service CIDRs, its namespace and that of its Cluster of EKS Anywhere
 * @param check throws for a cluster that cannot be opened so, before it is
 * @throws UsageError when an option or a kubeconfig cannot be used
 */
export async function openCluster(
  options: TargetOptions,
  fleet: Listed,
  check: (cluster: ClusterContext) => void = () => {},
): Promise<OpenCluster> {
  const given = validCidrs(options.serviceCidr ?? []);
  const expiredServer = expiredServerOf(options);
  const connection = await load(kubeconfigFiles(options, process.env), options);
  const provider = providerOf(options.provider, connection.server);
  const ownName = nameOf(connection);
  const named = options.cluster ?? ownName;
  const entry = entryOf(fleet, named);
  const name = entry?.name ?? named;
  const configured = entry?.serviceCidrs ?? [];
  const serviceCidrs = [...new Set([...configured, ...given])];
  const machinesNamespace = namespaceOf(options, entry);
  const host = hostOf(new URL(connection.server));
  const cluster: ClusterContext = {
    name,
    provider,
    endpoints: [host],
    serviceCidrs: serviceCidrs.length === 0 ? undefined : serviceCidrs,
  };
  check(cluster);
  const opened = openServer(connection, expiredServer);
  const workload = opened.client;
  const management = await openManagement(options, provider, workload);
  return {
    id: entry?.id ?? name,
    cluster,
    host,
    awsProfile: connection.awsProfile,
    server: {
      ...opened.server,
      otherwise: [named, name].includes(ownName) || options.managementKubeconfig !== undefined ? undefined : ownName,
    },
    workload,
    management,
    machinesNamespace,
    eksAnywhereNamespace: entry?.eksAnywhereNamespace,
    close() {
      opened.close();
      management?.close();
    },
  };
}

/** A connection as a kubeconfig describes it. What is tolerated is said before, and what was tolerated after. */
export function openServer(
  connection: LoadedKubeconfig,
  expiredServer: ExpiredServer | undefined,
  stderr: Io['stderr'] = process.stderr,
) {
  const { context } = connection;
  const address = addressOf(connection.server);
  if (expiredServer !== undefined) stderr.write(toleranceNotice(address, context, expiredServer));
  // Of a write that Ctrl-C cuts off it is not known whether it was done.
  const client = createKubernetesClient({ ...connection, addresses: 'local', expiredServer }, { finishesWrites: true });
  return {
    client,
    server: { context, address },
    close: () => {
      stderr.write(toleratedNotice(client));
      client.close();
    },
  };
}

/** What a kubeconfig calls its cluster; EKS writes the ARN of the cluster there. */
export function nameOf({ cluster }: Pick<LoadedKubeconfig, 'cluster'>): string {
  return cluster.replace(/^arn:[^:]+:eks:.*:cluster\//, '');
}

/** The clusters that fleet.yaml lists one by one. */
export type Listed = Pick<Fleet, 'clusters' | 'managementClusters'>;

/** What fleet.yaml lists under an id, else under a name; the id of a management cluster is its name. */
export function entryOf(
  { clusters, managementClusters }: Listed,
  named: string,
):
  | (Pick<FleetCluster, 'name' | 'namespace' | 'eksAnywhereNamespace' | 'serviceCidrs'> & { readonly id?: string })
  | undefined {
  return (
    clusters.find(({ id }) => id === named) ??
    clusters.find(({ name }) => name === named) ??
    managementClusters.find(({ name }) => name === named)
  );
}

/**
 * Of the Cluster object in Cluster API.
 *
 * @throws UsageError when no namespace can have the name that was given
 */
export function namespaceOf(
  { namespace }: Pick<TargetOptions, 'namespace'>,
  entry: Pick<FleetCluster, 'namespace'> | undefined,
): string {
  if (namespace === undefined) return entry?.namespace ?? DEFAULT_NAMESPACE;
  if (NAMESPACE.test(namespace)) return namespace;
  throw new UsageError(
    `--namespace takes the namespace of the Cluster, for example ${DEFAULT_NAMESPACE}; got ${printable(namespace)}`,
  );
}

/**
 * What a server whose certificate has expired has to prove; undefined where none is tolerated.
 *
 * @param given `authority`, or `sha256:` and the digits as openssl or `certmarshal probe` show them
 * @throws UsageError
 */
export function expiredServerOf({
  tolerateExpired: given,
  expiredAtMost,
}: Pick<TargetOptions, 'tolerateExpired' | 'expiredAtMost'>): ExpiredServer | undefined {
  if (expiredAtMost !== undefined && given !== 'authority')
    throw new UsageError(
      '--expired-at-most goes with --tolerate-expired authority; a fingerprint is accepted at any age',
    );
  if (given === undefined) return undefined;
  if (given === 'authority')
    return { pin: 'authority', expiredAtMostMs: expiredAtMost === undefined ? undefined : ageOf(expiredAtMost) };
  const sha256 = /^sha256:(?<digits>[\da-f:]+)$/i.exec(given)?.groups?.['digits']?.replaceAll(':', '').toLowerCase();
  if (sha256?.length === 64) return { pin: 'fingerprint', sha256 };
  throw new UsageError(
    `--tolerate-expired takes authority, or sha256: and the 64 hexadecimal digits of the fingerprint; got ${printable(given)}`,
  );
}

/** @throws UsageError */
function ageOf(given: string): number {
  const seconds = parseDuration(given);
  if (seconds !== undefined && seconds > 0 && seconds * 1_000 <= MAX_EXPIRED_AT_MOST_MS) return seconds * 1_000;
  const longest = formatDuration(MAX_EXPIRED_AT_MOST_MS / 1_000);
  throw new UsageError(
    `--expired-at-most takes a time such as 180d, at most ${longest}; got ${printable(given)}. An older certificate is pinned by its fingerprint.`,
  );
}

/** What is tolerated, in front of everything else: no one does it without knowing. */
export function toleranceNotice(address: string, context: string, expired: ExpiredServer): string {
  const proof =
    expired.pin === 'authority'
      ? `a CA of the kubeconfig issued it, and it expired not more than ${formatDuration((expired.expiredAtMostMs ?? DEFAULT_EXPIRED_AT_MOST_MS) / 1_000)} ago`
      : `it is the one with the SHA-256 ${expired.sha256}`;
  return `! ${serverWords({ address, context })}: its certificate may have expired, if ${proof}. Its name and key are proven as ever, before credentials are sent.\n`;
}

/** What was tolerated indeed; empty where nothing was. */
export function toleratedNotice({ server, recovering }: Pick<KubernetesClient, 'server' | 'recovering'>): string {
  return recovering === undefined
    ? ''
    : `! The certificate of ${printable(server, 260)} expired ${new Date(recovering.notAfter).toISOString()}, and was tolerated: sha256:${recovering.sha256}\n`;
}

export function addressOf(server: string): string {
  const { hostname, port } = new URL(server);
  return `${hostname}:${port === '' ? '443' : port}`;
}

/** One line: which server it is that what follows was read from. */
export function serverWords({ context, address }: NamedServer): string {
  return `${printable(address, 260)}, context ${printable(context, 120)}`;
}

/** What is to be said where the name on the command line may be that of another cluster. */
export function otherwiseNotice(name: string, server: NamedServer | undefined): string | undefined {
  return server?.otherwise === undefined
    ? undefined
    : `The kubeconfig calls the cluster at ${printable(server.address, 260)} ${printable(server.otherwise, 120)}; --cluster ${printable(name, 120)} chooses no server. Make sure that it is the cluster you mean.\n`;
}

/**
 * The files of the kubeconfig that kubectl would take. Source: client-go, tools/clientcmd/loader.go: of those that KUBECONFIG names, the ones that are missing are passed over.
 *
 * @throws UsageError when there is none
 */
export function kubeconfigFiles(
  { kubeconfig }: Pick<TargetOptions, 'kubeconfig'>,
  env: NodeJS.ProcessEnv,
): readonly string[] {
  if (kubeconfig !== undefined) return [kubeconfig];
  const variable = env['KUBECONFIG'] ?? '';
  const named = variable === '' ? [join(homedir(), '.kube', 'config')] : [...new Set(variable.split(delimiter))];
  const files = named.filter((file) => file !== '' && existsSync(file));
  if (files.length > 0) return files;
  const which = variable === '' ? named.join() : `${variable}, which KUBECONFIG names`;
  throw new UsageError(`There is no file ${which}; name a kubeconfig with --kubeconfig.`);
}

/** The options again as they were given, for the exact next command. */
export function repeatOptions(options: TargetOptions & { readonly policy?: string }): string {
  return repeatedFlags([
    ['--kubeconfig', options.kubeconfig],
    ['--context', options.context],
    ['--management-kubeconfig', options.managementKubeconfig],
    ['--namespace', options.namespace],
    ['--cluster', options.cluster],
    ['--provider', options.provider],
    ['--policy', options.policy],
    ['--tolerate-expired', options.tolerateExpired],
    ['--expired-at-most', options.expiredAtMost],
    ...(options.serviceCidr ?? []).map((cidr) => ['--service-cidr', cidr] as const),
    ['--allow-exec', options.allowExec === true],
  ]);
}

/** Flags to be pasted behind a command, each with its value; those that were not given are left out. */
export function repeatedFlags(
  flags: readonly (readonly [flag: string, value: string | boolean | undefined])[],
): string {
  return flags
    .map(([flag, value]) => {
      if (typeof value === 'string') return ` ${flag} ${quote(value)}`;
      return value === true ? ` ${flag}` : '';
    })
    .join('');
}

/** A word as a POSIX shell takes it back. */
export function quote(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function validCidrs(cidrs: readonly string[]): readonly string[] {
  const problems = cidrs.flatMap((cidr) => {
    const problem = cidrProblem(cidr);
    return problem === undefined ? [] : [`--service-cidr "${cidr}" ${problem}`];
  });
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  return cidrs;
}

/**
 * A policy that believes what a node says of itself needs to know which addresses are those of Services, as in fleet.yaml.
 *
 * @throws UsageError when it does not
 */
function requireServiceCidrs(cluster: ClusterContext, policies: readonly ApprovalPolicy[]): void {
  if (cluster.serviceCidrs !== undefined) return;
  const trusting = policies.find((policy) => isFor(policy, cluster) && policy.evidence.some(needsNodes));
  if (trusting !== undefined)
    throw new UsageError(
      `policy ${trusting.name} believes what a node says of itself, which may be the address of a Service; name the service CIDRs of ${printable(cluster.name)} with --service-cidr`,
    );
}

/** An EKS Anywhere cluster that names no management cluster manages itself. The certificate of one that is named has to be valid. */
async function openManagement(
  options: TargetOptions,
  provider: Provider,
  workload: SweepTarget['workload'],
): Promise<SweepTarget['management']> {
  if (options.managementKubeconfig !== undefined) {
    const { kubeconfig: _kubeconfig, context: _context, ...rest } = options;
    return createKubernetesClient({
      ...(await load([options.managementKubeconfig], { ...rest, option: '--management-kubeconfig' })),
      addresses: 'local',
      expiredServer: 'never',
    });
  }
  return provider === 'eks-anywhere' ? workload : undefined;
}

/** @throws UsageError; its cause is the KubeconfigError of files that can be read but not used */
export async function load(
  files: readonly string[],
  {
    context,
    allowExec,
    option = '--kubeconfig',
  }: Pick<TargetOptions, 'context' | 'allowExec'> & { readonly option?: string },
): Promise<LoadedKubeconfig> {
  const read = await readKubeconfigFiles(files, option);
  try {
    return await loadLocalKubeconfig(read, { context, allowExec, readExec: createReadExec(allowExec === true) });
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    throw new UsageError(files.length === 1 ? `${files[0]}: ${error.message}` : error.message, { cause: error });
  }
}

/** @throws UsageError */
export async function readKubeconfigFiles(
  files: readonly string[],
  option = '--kubeconfig',
): Promise<readonly KubeconfigFile[]> {
  return Promise.all(
    files.map(async (file) => ({
      text: await readTextFile(file, option),
      directory: dirname(file),
      name: files.length === 1 ? undefined : file,
    })),
  );
}

/** What was given, else what the name of the server tells. */
export function providerOf(given: string | undefined, server: string): Provider {
  if (given === undefined) return eksRegionOf(new URL(server).hostname) === undefined ? 'eks-anywhere' : 'eks';
  const provider = PROVIDERS.find((known) => known === given);
  if (provider === undefined) throw new UsageError(`--provider is one of ${PROVIDERS.join(', ')}; got ${given}`);
  return provider;
}
