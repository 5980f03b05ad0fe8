import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PATIENCE_MS } from '../patience.ts';
import { answersOk, freePorts } from '../support/loopback.ts';
import { type Binaries, resolveBinaries } from './binaries.ts';
import { type Credential, kubeconfigYaml } from './kubeconfig.ts';
import { type CertificateWanted, createAuthority, createServiceAccountKeys } from './pki.ts';
import { type Daemon, type DaemonGroup, openDaemonGroup, waitUntilReady } from './processes.ts';

/** A user who proves itself with a bearer token. Its rights come from RBAC, by name or group. */
export interface TokenUser {
  readonly name: string;
  /** `system:authenticated` is added by the server. @default [] */
  readonly groups?: readonly string[];
}

/** How kube-controller-manager runs. */
export interface ControllerManagerOptions {
  /** Controllers to run. @default ['csrsigning', 'csrcleaner'] (that is: `csrapproving` is off) */
  readonly controllers?: readonly string[];
  /** Requests per second of each controller's client: the limit on certificates signed per second. @default 20 */
  readonly kubeApiQps?: number;
  /** @default 30 */
  readonly kubeApiBurst?: number;
  /** Longest lifetime of a signed certificate, a Go duration such as `45m`. @default upstream's, one year */
  readonly signingDuration?: string;
}

/** Options of {@link startControlPlane}. */
export interface ControlPlaneOptions {
  /** Executables. @default the result of `resolveBinaries()` */
  readonly binaries?: Binaries<'etcd' | 'kubeApiserver'> & Partial<Binaries<'kubeControllerManager'>>;
  /** Users besides `admin` (group `system:masters`) and `certmarshal` (group `certmarshal`, no rights). @default [] */
  readonly users?: readonly TokenUser[];
  /** `false` starts none, so nothing signs until {@link ControlPlane.restartControllerManager}. @default {} */
  readonly controllerManager?: ControllerManagerOptions | false;
  /** Further flags for kube-apiserver, after our own. @default [] */
  readonly apiserverFlags?: readonly string[];
}

/** A running Kubernetes control plane on 127.0.0.1, with nothing in it. */
export interface ControlPlane {
  /** `https://127.0.0.1:<port>` */
  readonly server: string;
  /** The authority of the API server's certificate, PEM: what a client has to trust. */
  readonly caPem: string;
  /** The authority that signs approved requests, PEM. The API server accepts its client certificates as well. */
  readonly signerCaPem: string;
  /** Token of `admin`, who is in `system:masters`: may do everything, and may impersonate anybody. */
  readonly adminToken: string;
  /** Temporary directory with logs (`etcd.log`, `kube-apiserver.log`, `kube-controller-manager.log`); gone after stop. */
  readonly directory: string;
  /** Process ids; `kubeControllerManager` is undefined while it does not run. */
  readonly pids: { readonly etcd: number; readonly kubeApiserver: number; readonly kubeControllerManager?: number };
  /** The bearer token of a user. @throws Error when the user was not defined at the start. */
  tokenFor(user: string): string;
  /** Path of a kubeconfig file for a token user. @throws Error when the user was not defined at the start. */
  kubeconfig(user: string): string;
  /** Path of a kubeconfig file with a fresh client certificate: `name` is the user, `groups` its groups. */
  clientKubeconfig(user: TokenUser): Promise<string>;
  /** Stops kube-controller-manager and starts it, with these options or those it had before. */
  restartControllerManager(options?: ControllerManagerOptions): Promise<void>;
  /** Stops kube-controller-manager: approved requests are not signed any more. */
  stopControllerManager(): Promise<void>;
  /** Stops kube-apiserver and starts it with another serving certificate, of the same authority. Nobody stays connected. */
  restartApiserver(life: Pick<CertificateWanted, 'notBefore' | 'notAfter'>): Promise<void>;
  /** Stops everything and removes the directory. Harmless when called again. */
  stop(): Promise<void>;
}

export const ADMIN: TokenUser = { name: 'admin', groups: ['system:masters'] };
export const CERTMARSHAL: TokenUser = { name: 'certmarshal', groups: ['certmarshal'] };
// RBAC grants upstream's controllers their rights by this name.
const CONTROLLER_MANAGER: TokenUser = { name: 'system:kube-controller-manager' };

/**
 * Starts etcd, kube-apiserver and kube-controller-manager on free ports of 127.0.0.1 and waits until they are ready.
 *
 * RBAC and the node authorizer, NodeRestriction, and priority and fairness are on, as in a real cluster. If this
 * process dies, however, everything that was started ends with it.
 *
 * @throws StartError with the last lines of the log when a component does not start.
 * @throws Error when `binaries` is not given and they cannot be had.
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const binaries = options.binaries ?? (await allBinaries());
  return startInGroup((group) => startIn(group, binaries, options));
}

/** Starts daemons in a new group, on other ports when somebody took one of them. Where that fails, nothing keeps running. */
export async function startInGroup<T>(
  start: (group: DaemonGroup) => Promise<T>,
  prefix = 'certmarshal-control-plane-',
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const group = await openDaemonGroup(prefix);
    try {
      return await start(group);
    } catch (error) {
      await group.stop();
      // Ports are chosen before they are used; somebody else may have been faster.
      if (attempt === 3 || !/address already in use/i.test(String(error))) throw error;
    }
  }
}

async function startIn(
  group: DaemonGroup,
  binaries: NonNullable<ControlPlaneOptions['binaries']>,
  options: ControlPlaneOptions,
): Promise<ControlPlane> {
  const file = (name: string, text: string): string => {
    const path = join(group.directory, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const [etcdPort = 0, apiserverPort = 0, controllerManagerPort = 0] = await freePorts(3);
  const server = `https://127.0.0.1:${apiserverPort}`;

  const [authority, signer] = await Promise.all([
    createAuthority('certmarshal test cluster'),
    createAuthority('certmarshal test signer'),
  ]);
  const serving = await authority.serverCertificate('kube-apiserver');
  const servingCertFile = file('serving.crt', serving.certPem);
  const servingKeyFile = file('serving.key', serving.keyPem);
  const serviceAccount = createServiceAccountKeys();

  const users = [ADMIN, CERTMARSHAL, CONTROLLER_MANAGER, ...(options.users ?? [])];
  const tokens = new Map(users.map((user) => [user.name, randomBytes(24).toString('base64url')]));
  const tokenFor = (user: string): string => {
    const token = tokens.get(user);
    if (token === undefined) throw new Error(`no such user: ${user} (define it in options.users)`);
    return token;
  };
  const kubeconfigFile = (user: string, credential: Credential): string =>
    file(`${encodeURIComponent(user)}.kubeconfig`, kubeconfigYaml(server, authority.certPem, user, credential));
  const kubeconfig = (user: string): string => kubeconfigFile(user, { token: tokenFor(user) });

  const etcd = group.start('etcd', binaries.etcd, [
    `--data-dir=${join(group.directory, 'etcd')}`,
    `--listen-client-urls=http://127.0.0.1:${etcdPort}`,
    `--advertise-client-urls=http://127.0.0.1:${etcdPort}`,
    '--listen-peer-urls=http://127.0.0.1:0',
    '--unsafe-no-fsync',
    '--log-level=warn',
  ]);
  await waitUntilReady(etcd, () => answersOk(`http://127.0.0.1:${etcdPort}/health`), PATIENCE_MS);

  const apiserverArguments = [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${apiserverPort}`,
    // There is no other server and no kubelet: no endpoints to keep for the service "kubernetes".
    '--advertise-address=127.0.0.1',
    '--endpoint-reconciler-type=none',
    `--cert-dir=${group.directory}`,
    `--tls-cert-file=${servingCertFile}`,
    `--tls-private-key-file=${servingKeyFile}`,
    `--client-ca-file=${file('client-ca.crt', authority.certPem + signer.certPem)}`,
    `--token-auth-file=${file('tokens.csv', users.map((user) => tokenLine(user, tokenFor(user.name))).join(''))}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${file('service-account.pub', serviceAccount.publicPem)}`,
    `--service-account-signing-key-file=${file('service-account.key', serviceAccount.privatePem)}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    ...(options.apiserverFlags ?? []),
  ];
  const startApiserver = async (ca: string | false): Promise<Daemon> => {
    const started = group.start('kube-apiserver', binaries.kubeApiserver, apiserverArguments);
    const isReady = (): Promise<boolean> => answersOk(`${server}/readyz`, ca, tokenFor(ADMIN.name));
    await waitUntilReady(started, isReady, PATIENCE_MS);
    return started;
  };
  let apiserver = await startApiserver(authority.certPem);

  const signerCertFile = file('signer.crt', signer.certPem);
  const signerKeyFile = file('signer.key', signer.keyPem);
  let controllerManager: Daemon | undefined;
  let controllerManagerOptions: ControllerManagerOptions = options.controllerManager || {};

  const stopControllerManager = async (): Promise<void> => {
    await controllerManager?.stop();
    controllerManager = undefined;
  };
  const startControllerManager = async (): Promise<void> => {
    if (binaries.kubeControllerManager === undefined) throw new Error('options.binaries has no kubeControllerManager');
    const { controllers, kubeApiQps, kubeApiBurst, signingDuration } = controllerManagerOptions;
    controllerManager = group.start('kube-controller-manager', binaries.kubeControllerManager, [
      `--kubeconfig=${kubeconfig(CONTROLLER_MANAGER.name)}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${controllerManagerPort}`,
      `--tls-cert-file=${servingCertFile}`,
      `--tls-private-key-file=${servingKeyFile}`,
      '--leader-elect=false',
      '--use-service-account-credentials',
      `--controllers=${(controllers ?? ['csrsigning', 'csrcleaner']).join(',')}`,
      `--cluster-signing-cert-file=${signerCertFile}`,
      `--cluster-signing-key-file=${signerKeyFile}`,
      ...(signingDuration === undefined ? [] : [`--cluster-signing-duration=${signingDuration}`]),
      ...(kubeApiQps === undefined ? [] : [`--kube-api-qps=${kubeApiQps}`]),
      ...(kubeApiBurst === undefined ? [] : [`--kube-api-burst=${kubeApiBurst}`]),
    ]);
    const url = `https://127.0.0.1:${controllerManagerPort}/healthz`;
    await waitUntilReady(controllerManager, () => answersOk(url, authority.certPem), PATIENCE_MS);
  };
  if (options.controllerManager !== false) await startControllerManager();

  return {
    server,
    caPem: authority.certPem,
    signerCaPem: signer.certPem,
    adminToken: tokenFor(ADMIN.name),
    directory: group.directory,
    get pids() {
      const pids = { etcd: etcd.pid, kubeApiserver: apiserver.pid };
      return controllerManager === undefined ? pids : { ...pids, kubeControllerManager: controllerManager.pid };
    },
    tokenFor,
    kubeconfig,
    async clientKubeconfig({ name, groups = [] }) {
      return kubeconfigFile(`${name} by certificate`, await authority.clientCertificate(name, groups));
    },
    async restartControllerManager(changed) {
      await stopControllerManager();
      controllerManagerOptions = changed ?? controllerManagerOptions;
      await startControllerManager();
    },
    stopControllerManager,
    async restartApiserver(life) {
      await apiserver.stop();
      const { certPem, keyPem } = await authority.certificate({
        commonName: 'kube-apiserver',
        usages: ['server'],
        dnsNames: ['localhost'],
        ipAddresses: ['127.0.0.1'],
        ...life,
      });
      file('serving.crt', certPem);
      file('serving.key', keyPem);
      // Whether it is valid is what the test is about.
      apiserver = await startApiserver(false);
    },
    stop: () => group.stop(),
  };
}

async function allBinaries(): Promise<Binaries<'etcd' | 'kubeApiserver' | 'kubeControllerManager'>> {
  const found = await resolveBinaries('etcd', 'kubeApiserver', 'kubeControllerManager');
  if ('missing' in found) throw new Error(found.missing);
  return found;
}

/** One line of a static token file: token, name, uid and, quoted, the groups. */
export function tokenLine(user: TokenUser, token: string): string {
  const groups = user.groups ?? [];
  return `${token},${user.name},${user.name}${groups.length > 0 ? `,"${groups.join(',')}"` : ''}\n`;
}
