import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { addressesOf } from '../lambdas/allowed-addresses.ts';
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
import { isPlainWord, printable } from '../lambdas/printable.ts';
import { needsNodes } from '../lambdas/tables/evidence-sources.ts';
import { date } from '../lambdas/words.ts';
import { createReadExec } from './eks-token.ts';
import { UsageError } from './exit-codes.ts';
import { eksRegionOf, instancesOf } from './instances.ts';
import type { Io } from './io.ts';
import { readTextFile } from './text-file.ts';

export interface TargetOptions {
  /** @default the files in `KUBECONFIG`, else ~/.kube/config, as kubectl does */
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly managementKubeconfig?: string;
  /** Of managementKubeconfig; without that, of the kubeconfig of the cluster. @default the current one of managementKubeconfig */
  readonly managementContext?: string;
  /** Namespace of its Cluster object in Cluster API. @default from fleet.yaml, else DEFAULT_NAMESPACE */
  readonly namespace?: string;
  readonly cluster?: string;
  readonly provider?: string;
  /** Added to those of the cluster in fleet.yaml. */
  readonly serviceCidr?: readonly string[];
  readonly allowExec?: boolean;
  /** `authority` or `sha256:…`: connects although the certificate of the API server has expired. */
  readonly tolerateExpired?: string;
  /** Maximum time since the expiry, with `authority`. @default 90d */
  readonly expiredAtMost?: string;
}

/** The server that answers, regardless of the cluster name on the command line. */
export interface NamedServer {
  readonly context: string;
  /** With port: `10.0.1.10:6443`. */
  readonly address: string;
  /** The kubeconfig's name of the cluster, if it differs from the command line's for no known reason. */
  readonly otherwise?: string;
}

export interface OpenCluster
  extends Pick<SweepTarget, 'cluster' | 'workload' | 'management' | 'machinesNamespace' | 'resolve'> {
  /** Id in the fleet; the name if fleet.yaml does not list it. */
  readonly id: string;
  /** Host of the API server. */
  readonly host: string;
  readonly server: NamedServer;
  /** AWS profile in the kubeconfig. */
  readonly awsProfile?: string | undefined;
  /** Namespace of the EKS Anywhere Cluster object, if the entry in fleet.yaml names it. */
  readonly eksAnywhereNamespace?: string;
  close(): void;
}

/**
 * Opens connections to the cluster that the command line names, for a sweep.
 *
 * @param fleet its policies determine which options are required; the cluster's entry has its service CIDRs
 * @throws UsageError for an unusable option or kubeconfig
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
    ...(target.cluster.provider === 'eks' ? instancesOf(host, target.cluster.name) : {}),
  };
}

/**
 * Opens connections to the cluster that the command line names.
 *
 * @param fleet the cluster's entry has its id, service CIDRs, namespace and EKS Anywhere namespace
 * @param check called before the connections are opened; throws if this cluster cannot be used
 * @throws UsageError for an unusable option or kubeconfig
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
      otherwise: [named, name].includes(ownName) || isNameOfManagement(options) ? undefined : ownName,
    },
    workload,
    management,
    machinesNamespace,
    resolve: addressesOf,
    eksAnywhereNamespace: entry?.eksAnywhereNamespace,
    close() {
      opened.close();
      management?.close();
    },
  };
}

/**
 * Opens the connection of a kubeconfig. Prints what will be tolerated before, and what was tolerated when it is closed.
 */
export function openServer(
  connection: LoadedKubeconfig,
  expiredServer: ExpiredServer | undefined,
  stderr: Io['stderr'] = process.stderr,
) {
  const { context } = connection;
  const address = addressOf(connection.server);
  if (expiredServer !== undefined) stderr.write(toleranceNotice(address, context, expiredServer));
  // A write interrupted by Ctrl-C would have an unknown result, so it is finished.
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

/** The cluster name in a kubeconfig; EKS writes the ARN there. */
export function nameOf({ cluster }: Pick<LoadedKubeconfig, 'cluster'>): string {
  return cluster.replace(/^arn:[^:]+:eks:.*:cluster\//, '');
}

/** Clusters listed individually in fleet.yaml. */
export type Listed = Pick<Fleet, 'clusters' | 'managementClusters'>;

/** The entry in fleet.yaml with this id, else with this name; the id of a management cluster is its name. */
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
 * The namespace of the Cluster object in Cluster API.
 *
 * @throws UsageError if the given name is not a valid namespace
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
 * What a server with an expired certificate must prove; undefined if none is tolerated.
 *
 * @param given `authority`, or `sha256:` and the digits as shown by openssl or `certmarshal probe`
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

export function toleranceNotice(address: string, context: string, expired: ExpiredServer): string {
  const proof =
    expired.pin === 'authority'
      ? `a CA of the kubeconfig issued it, and it expired at most ${formatDuration((expired.expiredAtMostMs ?? DEFAULT_EXPIRED_AT_MOST_MS) / 1_000)} ago`
      : `it is the one with the SHA-256 ${expired.sha256}`;
  return `! ${serverWords({ address, context })}: an expired certificate is tolerated if ${proof}. Its name and key are still verified before credentials are sent.\n`;
}

/** Reports what was tolerated; empty if nothing was. */
export function toleratedNotice({ server, recovering }: Pick<KubernetesClient, 'server' | 'recovering'>): string {
  return recovering === undefined
    ? ''
    : `! The certificate of ${printable(server, 260)} expired ${date(recovering.notAfter)} and was tolerated: sha256:${recovering.sha256}\n`;
}

export function addressOf(server: string): string {
  const { hostname, port } = new URL(server);
  return `${hostname}:${port === '' ? '443' : port}`;
}

/** The server in one line, for the output that was read from it. */
export function serverWords({ context, address }: NamedServer): string {
  return `${printable(address, 260)}, context ${printable(context, 120)}`;
}

/** A warning if the name on the command line may be that of another cluster. */
export function otherwiseNotice(name: string, server: NamedServer | undefined): string | undefined {
  return server?.otherwise === undefined
    ? undefined
    : `The kubeconfig calls the cluster at ${printable(server.address, 260)} ${printable(server.otherwise, 120)}; --cluster ${printable(name, 120)} does not choose the server. Make sure that it is the cluster you mean.\n`;
}

/**
 * The kubeconfig files that kubectl would read. Missing files in KUBECONFIG are skipped. Source: client-go,
 * tools/clientcmd/loader.go.
 *
 * @throws UsageError if no file exists
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
  throw new UsageError(
    `There is no file ${which}; name a kubeconfig with --kubeconfig${variable === '' ? '' : ', or unset KUBECONFIG'}.`,
  );
}

/** Whether the command line names a management cluster. */
export function namesManagement({ managementKubeconfig, managementContext }: TargetOptions): boolean {
  return managementKubeconfig !== undefined || managementContext !== undefined;
}

/** Whether --cluster is the name of a chosen cluster in its management cluster, which a kubeconfig may not have. */
function isNameOfManagement(options: TargetOptions): boolean {
  const { kubeconfig, context, managementKubeconfig } = options;
  // The current context of one kubeconfig for both may be any cluster.
  const chosen = managementKubeconfig === undefined ? context : (kubeconfig ?? context);
  return namesManagement(options) && chosen !== undefined;
}

/**
 * The kubeconfig files and the context of the named management cluster.
 *
 * @throws UsageError if no file exists
 */
export function managementSource(
  { managementKubeconfig, managementContext: context, allowExec, ...options }: TargetOptions,
  env: NodeJS.ProcessEnv,
) {
  return managementKubeconfig === undefined
    ? { files: kubeconfigFiles(options, env), context, allowExec }
    : { files: [managementKubeconfig], context, allowExec, option: '--management-kubeconfig' };
}

/** The given options as text, for the next command. */
export function repeatOptions(options: TargetOptions & { readonly policy?: string }): string {
  return repeatedFlags([
    ['--kubeconfig', options.kubeconfig],
    ['--context', options.context],
    ['--management-kubeconfig', options.managementKubeconfig],
    ['--management-context', options.managementContext],
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

export type ClusterNames = Pick<
  TargetOptions,
  'kubeconfig' | 'context' | 'managementKubeconfig' | 'managementContext' | 'cluster' | 'namespace'
>;

/** Means itself in a shell, also in quotes and behind another word, and is no command of ours. */
const PLAIN = /^(?!.*\bcertmarshal$)[A-Za-z0-9_./][A-Za-z0-9_./:@+-]*$/;

/**
 * Whether a runbook can have these names in its commands: each is a plain word, and its commands need no other
 * namespace than the default.
 */
export function arePlain({ namespace, ...names }: ClusterNames): boolean {
  return namespace === undefined && Object.values(names).every((name) => name === undefined || PLAIN.test(name));
}

/** The names among the given options as text, for a runbook; nothing unless {@link arePlain}. */
export function repeatNames(options: ClusterNames): string {
  const { kubeconfig, context, managementKubeconfig, managementContext, cluster, namespace } = options;
  const names = { kubeconfig, context, managementKubeconfig, managementContext, cluster };
  if (!arePlain({ ...names, namespace })) return '';
  return repeatedFlags([
    ['--kubeconfig', names.kubeconfig],
    ['--context', names.context],
    ['--management-kubeconfig', names.managementKubeconfig],
    ['--management-context', names.managementContext],
    ['--cluster', names.cluster],
  ]);
}

/** Flags with values as text for a command; absent ones are dropped. */
export function repeatedFlags(
  flags: readonly (readonly [flag: string, value: string | boolean | undefined])[],
): string {
  return flags
    .map(([flag, value]) => {
      if (typeof value === 'string') return ` ${flag} ${quote(value, flag.slice(2).toUpperCase())}`;
      return value === true ? ` ${flag}` : '';
    })
    .join('');
}

/** Quotes a word for a POSIX shell. @param otherwise replaces a word that draws on a terminal, or is an option */
export function quote(word: string, otherwise = 'NAME'): string {
  if (!isPlainWord(word)) return otherwise;
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

export function validCidrs(cidrs: readonly string[]): readonly string[] {
  const problems = cidrs.flatMap((cidr) => {
    const problem = cidrProblem(cidr);
    return problem === undefined ? [] : [`--service-cidr "${cidr}" ${problem}`];
  });
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  return cidrs;
}

/**
 * A policy that trusts what a node reports needs the service CIDRs, as in fleet.yaml.
 *
 * @throws UsageError if they are missing
 */
export function requireServiceCidrs(cluster: ClusterContext, policies: readonly ApprovalPolicy[]): void {
  if (cluster.serviceCidrs !== undefined) return;
  const trusting = policies.find((policy) => isFor(policy, cluster) && policy.evidence.some(needsNodes));
  if (trusting !== undefined)
    throw new UsageError(
      `policy ${trusting.name} trusts what a node says about itself, which may be the address of a Service; name the service CIDRs of ${printable(cluster.name)} with --service-cidr`,
    );
}

/**
 * An EKS Anywhere cluster without a management cluster manages itself. The certificate of a named management cluster
 * must not have expired.
 */
async function openManagement(
  options: TargetOptions,
  provider: Provider,
  workload: SweepTarget['workload'],
): Promise<SweepTarget['management']> {
  if (namesManagement(options)) {
    const { files, ...source } = managementSource(options, process.env);
    return createKubernetesClient({ ...(await load(files, source)), addresses: 'local', expiredServer: 'never' });
  }
  return provider === 'eks-anywhere' ? workload : undefined;
}

/** @throws UsageError */
export async function load(
  files: readonly string[],
  { context, allowExec, option }: Pick<TargetOptions, 'context' | 'allowExec'> & { readonly option?: string },
): Promise<LoadedKubeconfig> {
  return readKubeconfigs(
    files,
    async (read) => loadLocalKubeconfig(read, { context, allowExec, readExec: createReadExec(allowExec === true) }),
    option,
  );
}

/** @throws UsageError; its cause is a KubeconfigError if the files are readable but unusable */
export async function readKubeconfigs<T>(
  files: readonly string[],
  read: (files: readonly KubeconfigFile[]) => T | Promise<T>,
  option = '--kubeconfig',
): Promise<T> {
  const texts = files.map(async (name) => ({ text: await readTextFile(name, option), directory: dirname(name), name }));
  try {
    return await read(await Promise.all(texts));
  } catch (error) {
    throw error instanceof KubeconfigError ? new UsageError(error.message, { cause: error }) : error;
  }
}

/**
 * The given provider, else the one that the server name implies.
 *
 * @throws UsageError
 */
export function providerOf(given: string | undefined, server: string): Provider {
  if (given === undefined) return eksRegionOf(new URL(server).hostname) === undefined ? 'eks-anywhere' : 'eks';
  const provider = PROVIDERS.find((known) => known === given);
  if (provider === undefined) throw new UsageError(`--provider is one of ${PROVIDERS.join(', ')}; got ${given}`);
  return provider;
}
