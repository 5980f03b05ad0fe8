import { parseAllDocuments, stringify } from 'yaml';
import type { ApprovalPolicy } from '../../../lambdas/approval/policy.ts';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import { CLUSTER_NAME } from '../../../lambdas/identifiers.ts';
import { createKubernetesClient, type KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import type { Connection } from '../../../lambdas/kubernetes/connection.ts';
import { ensureObject, type Manifest, objectPath } from '../../../lambdas/kubernetes/ensure-object.ts';
import { KubernetesError } from '../../../lambdas/kubernetes/errors.ts';
import type { LoadedKubeconfig } from '../../../lambdas/kubernetes/kubeconfig-document.ts';
import { mayI, type Right, reviewSelf } from '../../../lambdas/kubernetes/self-review.ts';
import { printable } from '../../../lambdas/printable.ts';
import { field, text } from '../../../lambdas/resources/fields.ts';
import { ALLOW_EXEC_OPTION, EXIT_HELP, type Register, withOutput, withTolerance } from '../../command.ts';
import { type Role, rightsOf } from '../../doctor/rights.ts';
import { EXIT, UsageError } from '../../exit-codes.ts';
import { loadFleet } from '../../fleet.ts';
import { type Io, PROCESS, printJson } from '../../io.ts';
import {
  expiredServerOf,
  kubeconfigFiles,
  load,
  nameOf,
  openServer,
  providerOf,
  type TargetOptions,
} from '../../target.ts';
import { type RbacOptions, rbacManifests } from '../rbac.ts';
import { fleetLines } from './fleet-lines.ts';
import { parseStore, type StoreSecret, storeInSecretsManager } from './store.ts';

/** `kubeconfig` is an administrator's. */
export interface CredentialsOptions
  extends Pick<
    TargetOptions,
    'kubeconfig' | 'context' | 'allowExec' | 'cluster' | 'tolerateExpired' | 'expiredAtMost'
  > {
  /** Also grants rights to read Machines and Clusters. */
  readonly management?: boolean;
  /** Name of the management cluster, for a workload cluster. */
  readonly workloadOf?: string;
  readonly namespace: string;
  readonly name: string;
  readonly store: string;
  /** Writes; without it, only prints what would be written. */
  readonly yes?: boolean;
  readonly output: 'table' | 'json';
  /** Audit rights to grant, as in `certmarshal rbac`. */
  readonly audit?: boolean;
  readonly auditSecrets?: boolean;
  readonly kubeletMetrics?: boolean;
}

/** Dependencies of the command; tests pass their own store. */
export interface CredentialsIo extends Io {
  readonly storeSecret: StoreSecret;
}

export const register: Register = (command, { program: name, interruption, run }) => {
  const create = withTolerance(
    command
      .addHelpText('after', EXIT_HELP)
      .command('create')
      .description('Makes ServiceAccount, RBAC and a kubeconfig in a cluster, tries the kubeconfig and stores it.')
      .option(
        '--kubeconfig <file>',
        'kubeconfig of an administrator; default: the files of $KUBECONFIG, else ~/.kube/config',
      )
      .option('--context <name>', 'context of the kubeconfig; default: its current one')
      .option(...ALLOW_EXEC_OPTION)
      .option('--cluster <name>', 'name of the cluster in Cluster API, EKS and policies; default: as in the kubeconfig')
      .option(
        '--management',
        'a management cluster, or one that manages itself: grant reading Machines and Clusters too',
      )
      .option(
        '--workload-of <cluster>',
        'for a workload cluster: its management cluster, whose entry in fleet.yaml gets the lines',
      )
      .option('--policy <file>', 'fleet.yaml: grant what its policies use')
      .option('--no-audit', 'only what approvals need, nothing of what an audit reads')
      .option('--audit-secrets', 'for an audit with --secrets: read Secrets, and the private keys in them')
      .option('--kubelet-metrics', 'for an audit with --kubelet-metrics: reach every kubelet through the API server')
      .option('-n, --namespace <namespace>', 'namespace of the ServiceAccount', 'kube-system')
      .option('--name <name>', 'name of the ServiceAccount', 'certmarshal')
      .option('--yes', 'write; without it only what would be written is shown')
      .option(
        '--store <store>',
        'where the kubeconfig goes: secretsmanager:NAME, or stdout for the kubeconfig and nothing else',
      )
      .option(
        '--webhook',
        'print an admission webhook instead of a kubeconfig: with it, the hub sweeps the cluster with the id --cluster when a kubelet asks',
      ),
    'the API server',
  );
  withOutput(create, 'table or json')
    .addHelpText(
      'after',
      `
Running it again repairs what was changed, and deletes nothing. AWS credentials and Region come from the environment, as for the AWS CLI.

Examples:
  ${name} credentials create --kubeconfig berlin.yaml --management --store stdout --yes > certmarshal.yaml
  ${name} credentials create --kubeconfig mgmt.yaml --management --policy fleet.yaml --store secretsmanager:certmarshal/mgmt --yes
  ${name} credentials create --kubeconfig berlin.yaml --workload-of mgmt --policy fleet.yaml --store secretsmanager:certmarshal/berlin --yes
  ${name} credentials create --webhook --cluster mgmt/eksa-system/berlin --policy fleet.yaml | kubectl apply -f -
${EXIT_HELP}`,
    )
    .action(
      run(async ({ webhook, store, ...options }: Given) => {
        const fleet = await loadFleet(options.policy);
        if (webhook === true) {
          requireAlone({ store, ...options });
          const { webhookCommand } = await import('./webhook.ts');
          const { readHubWebhook } = await import('../../doctor/aws-calls.ts');
          const named = options.policy === undefined ? undefined : fleet;
          return webhookCommand(options, named, async () => readHubWebhook(interruption()), PROCESS);
        }
        if (store === undefined) throw new UsageError('Say with --store where the kubeconfig goes.');
        const io = { ...PROCESS, storeSecret: storeInSecretsManager };
        return createCredentialsCommand({ ...options, store }, fleet.policies, interruption(), io);
      }),
    );
};

/** As given on the command line. */
type Given = Omit<CredentialsOptions, 'store'> & {
  readonly store?: string;
  readonly policy?: string;
  readonly webhook?: boolean;
};

/** Options for a kubeconfig. */
const NOT_WITH_WEBHOOK = [
  ['kubeconfig', '--kubeconfig'],
  ['context', '--context'],
  ['management', '--management'],
  ['workloadOf', '--workload-of'],
  ['store', '--store'],
  ['yes', '--yes'],
  ['tolerateExpired', '--tolerate-expired'],
  ['expiredAtMost', '--expired-at-most'],
] as const satisfies readonly (readonly [keyof Given, string])[];

/** @throws UsageError */
function requireAlone(given: Given): void {
  const refused = NOT_WITH_WEBHOOK.filter(([name]) => given[name] !== undefined);
  if (refused.length > 0)
    throw new UsageError(
      `${refused.map(([, flag]) => flag).join(' and ')} cannot be given with --webhook, which asks only AWS.`,
    );
}

/** The controller normally fills the Secret within a second, and RBAC takes effect as fast. Milliseconds. */
const PATIENCE_MS = 30_000;
const PAUSE_MS = 200;

/**
 * Creates a ServiceAccount with the rights of `certmarshal rbac` and a token without expiry, tests the token, and
 * stores a kubeconfig with it. A second run changes nothing in the cluster that is already correct. Nothing is deleted.
 * The token is written only to the store. Without `yes`, only prints what would be written.
 *
 * @returns the exit status
 * @throws UsageError
 * @throws KubernetesError
 */
export async function createCredentialsCommand(
  options: CredentialsOptions,
  policies: readonly ApprovalPolicy[],
  signal: AbortSignal,
  io: CredentialsIo,
): Promise<number> {
  const { stdout, stderr, env } = io;
  const say = (line: string): void => void stderr.write(`${line}\n`);
  const store = parseStore(options.store);
  const { namespace, name, management = false, workloadOf, yes = false } = options;
  requireOnePlace(options);
  // Checks both names before anything is written.
  const roles: readonly Role[] = management ? ['workload', 'management'] : ['workload'];
  const manifests = [...rolesOf(options, policies, roles), tokenSecret(namespace, name)];
  const expiredServer = expiredServerOf(options);
  const admin = await load(kubeconfigFiles(options, env), options);
  const cluster = options.cluster ?? nameOf(admin);
  if (!CLUSTER_NAME.test(cluster))
    throw new UsageError('The kubeconfig gives its cluster a name that is not valid; name it with --cluster.');
  const { client, close } = openServer(admin, expiredServer, stderr);
  let token: string;
  try {
    await asAdministrator(async () => {
      for (const manifest of manifests) {
        const ensured = await ensureObject(client, manifest, signal, !yes);
        say(`${describe(manifest)} ${yes || ensured === 'unchanged' ? ensured : `would be ${ensured}`}`);
      }
    });
    if (!yes) {
      const to = store.kind === 'stdout' ? '' : `, and stores the kubeconfig in secret ${store.name}`;
      say(`Nothing was written: --yes does it${to}.`);
      return EXIT.incomplete;
    }
    token = await readToken(client, tokenSecret(namespace, name), signal, io);
  } finally {
    close();
  }
  const credentials = { kind: 'token', token } as const;
  const connection: Connection = { ...admin, addresses: 'local', expiredServer, credentials };
  const rights = roles.flatMap((role) => rightsOf(role, policies, granted(options, role)));
  await tryToken(connection, `system:serviceaccount:${namespace}:${name}`, rights, signal, io);
  say(`tried: ${rights.length} rights are granted`);

  const kubeconfig = kubeconfigOf(admin, cluster, token);
  const isJson = options.output === 'json';
  if (store.kind === 'stdout') {
    if (stdout.isTTY) say('the token in this kubeconfig is now on your screen; > FILE keeps it off');
    // JSON is YAML, so both are kubeconfigs.
    if (isJson) printJson(io, kubeconfig);
    else stdout.write(stringify(kubeconfig));
    return EXIT.done;
  }
  try {
    const { arn, created } = await io.storeSecret(store.name, stringify(kubeconfig), signal);
    say(`secret ${store.name} ${created ? 'created' : 'given a new version'}`);
    const provider = providerOf(undefined, admin.server);
    const { fleet, yaml, when } = fleetLines({
      name: cluster,
      kubeconfigSecret: arn,
      provider,
      management,
      workloadOf,
    });
    if (isJson) printJson(io, { version: 1, secret: arn, created, fleet });
    else stdout.write(`${arn}\n\nFor fleet.yaml:\n\n${yaml}\n${when}\n`);
    return EXIT.done;
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    say(`${error.message}\nThe credentials exist in the cluster; running this again stores them.`);
    return EXIT.incomplete;
  }
}

/** @throws UsageError */
function requireOnePlace({ management, workloadOf }: CredentialsOptions): void {
  if (workloadOf === undefined) return;
  if (management)
    throw new UsageError('--management and --workload-of exclude each other: a cluster has one place in fleet.yaml.');
  if (!CLUSTER_NAME.test(workloadOf))
    throw new UsageError('--workload-of takes the name that the management cluster has in fleet.yaml.');
}

function describe({ kind, metadata: { namespace, name } }: Manifest): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

/** Rights beyond listing are for the cluster with the Nodes only. */
function granted(
  { audit = true, auditSecrets = false, kubeletMetrics = false }: CredentialsOptions,
  role: Role,
): Pick<RbacOptions, 'audit' | 'auditSecrets' | 'kubeletMetrics'> {
  return role === 'management' ? { audit } : { audit, auditSecrets, kubeletMetrics };
}

/** The objects of `certmarshal rbac`, each once. @throws UsageError */
function rolesOf(options: CredentialsOptions, policies: readonly ApprovalPolicy[], roles: readonly Role[]): Manifest[] {
  const serviceAccount = `${options.namespace}/${options.name}`;
  const texts = roles.map((role) =>
    rbacManifests({ serviceAccount, management: role === 'management', ...granted(options, role) }, policies),
  );
  const manifests = texts.flatMap((yaml) => parseAllDocuments(yaml).map((document): Manifest => document.toJS()));
  return [...new Map(manifests.map((manifest) => [describe(manifest), manifest])).values()];
}

/** Source: kubernetes.io "Managing Service Accounts", long-lived API tokens. */
function tokenSecret(namespace: string, account: string): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/service-account-token',
    metadata: {
      name: `${account}-token`,
      namespace,
      annotations: { 'kubernetes.io/service-account.name': account },
    },
  };
}

/** A 403 here is about the administrator's rights: `certmarshal rbac` would not help. */
async function asAdministrator(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof KubernetesError) || (error.kind !== 'forbidden' && error.kind !== 'invalid')) throw error;
    const { kind, object, problem } = error;
    const remedy =
      kind === 'forbidden'
        ? 'Use the kubeconfig of an administrator of this cluster.'
        : 'An object of this name exists and is something else: choose another --name, or remove the object yourself.';
    throw new KubernetesError({ kind, object, problem, remedy });
  }
}

/** @throws KubernetesError of kind `timeout` if the controller writes no token */
async function readToken(client: KubernetesClient, secret: Manifest, signal: AbortSignal, io: Io): Promise<string> {
  const path = objectPath(secret);
  const account = secret.metadata['annotations'];
  for (const deadline = io.clock() + PATIENCE_MS; ; ) {
    const found = await client.request({ method: 'GET', path, signal });
    const token = Buffer.from(text(found, 'data', 'token') ?? '', 'base64').toString('latin1');
    // The controller writes both at once. A Secret of another type, made by another writer, does not count.
    if (token !== '' && text(found, 'data', 'ca.crt') !== undefined && text(found, 'type') === secret['type'])
      return token;
    if (io.clock() > deadline)
      throw new KubernetesError({
        kind: 'timeout',
        object: `${describe(secret)} on ${client.server}`,
        problem: `it has no token after ${PATIENCE_MS / 1000} s`,
        remedy: `kube-controller-manager fills it for ${String(field(account, 'kubernetes.io/service-account.name'))}: check its serviceaccount-token controller, then run this again.`,
      });
    await pause(signal, io);
  }
}

/** @throws KubernetesError if the token is of another identity, or a right is still missing at the deadline */
async function tryToken(
  connection: Connection,
  username: string,
  rights: readonly Right[],
  signal: AbortSignal,
  io: Io,
): Promise<void> {
  const client = createKubernetesClient(connection);
  try {
    await requireIdentity(client, connection, username, signal);
    const deadline = io.clock() + PATIENCE_MS;
    for (const right of rights)
      while (!(await mayI(client, right, signal))) {
        if (io.clock() > deadline)
          throw new KubernetesError({
            kind: 'forbidden',
            object: `${right.verb} ${right.resource} on ${client.server}`,
            problem: 'the new credentials may not do it, so they are not stored',
            remedy: 'Find out what decides in this cluster besides RBAC: kubectl auth can-i --list',
          });
        await pause(signal, io);
      }
  } finally {
    client.close();
  }
}

/** An existing token Secret may hold the token of an account with more rights. */
async function requireIdentity(
  client: KubernetesClient,
  { credentials }: Connection,
  username: string,
  signal: AbortSignal,
): Promise<void> {
  const found = await whoami(client, credentials, signal);
  if (found === username) return;
  throw new KubernetesError({
    kind: 'invalid',
    object: `token of ${username} on ${client.server}`,
    problem: `the API server takes it for ${found}, so it is not stored`,
    remedy: 'Find out who wrote the token Secret and remove it, or choose another --name.',
  });
}

/**
 * Kubernetes before 1.28 has no SelfSubjectReview. Then the subject in the token is used, which the server must accept
 * afterwards.
 */
async function whoami(
  client: KubernetesClient,
  credentials: Connection['credentials'],
  signal: AbortSignal,
): Promise<string> {
  try {
    return (await reviewSelf(client, signal)).username;
  } catch (error) {
    if (!(error instanceof KubernetesError) || error.kind !== 'not-found') throw error;
    const token = credentials.kind === 'token' && typeof credentials.token === 'string' ? credentials.token : '';
    return subjectOf(token);
  }
}

/** `sub` of a JSON Web Token (RFC 7519, 4.1.2). */
export function subjectOf(token: string): string {
  try {
    const { sub }: { sub?: unknown } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    return typeof sub === 'string' ? printable(sub, 300) : 'a token without a subject';
  } catch {
    return 'a token without a subject';
  }
}

async function pause(signal: AbortSignal, { sleep }: Io): Promise<void> {
  // The next call reports the interruption.
  await sleep(PAUSE_MS, signal).catch(() => {});
}

/** Everything inline, and only what a connection to this server needs. */
function kubeconfigOf({ server, caPem, tlsServerName }: LoadedKubeconfig, cluster: string, token: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'certmarshal',
    contexts: [{ name: 'certmarshal', context: { cluster, user: 'certmarshal' } }],
    clusters: [
      {
        name: cluster,
        cluster: {
          server,
          'certificate-authority-data': caPem === undefined ? undefined : Buffer.from(caPem).toString('base64'),
          'tls-server-name': tlsServerName,
        },
      },
    ],
    users: [{ name: 'certmarshal', user: { token } }],
  };
}
