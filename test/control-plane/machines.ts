import { randomBytes } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { ServerPorts } from '../../lambdas/audit/audit-target.ts';
import { PATIENCE_MS } from '../patience.ts';
import { answersOk, freePorts, listening } from '../support/loopback.ts';
import type { Binaries } from './binaries.ts';
import { kubeconfigYaml } from './kubeconfig.ts';
import {
  type CertificateWanted,
  createAuthority,
  createServiceAccountKeys,
  type KeyedCertificate,
  type TestAuthority,
} from './pki.ts';
import { type Daemon, type DaemonGroup, waitUntilReady } from './processes.ts';
import { ADMIN, CERTMARSHAL, type ControlPlane, startInGroup, tokenLine } from './start.ts';

/** Machines are addresses of the loopback network, all of which Linux has. */
export const CONTROL_PLANE_MACHINES = ['127.0.0.11', '127.0.0.12'] as const;
/** Three, so that one may be gone. */
export const ETCD_MACHINES = ['127.0.0.21', '127.0.0.22', '127.0.0.23'] as const;

type ControlPlaneMachine = (typeof CONTROL_PLANE_MACHINES)[number];
type EtcdMachine = (typeof ETCD_MACHINES)[number];

/** One process on one machine. */
export type Process =
  | `${'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler'} ${ControlPlaneMachine}`
  | `etcd ${EtcdMachine}`;

/** A serving certificate that its process reads from a file, and reads again when the file changes. */
export type ServingCertificate =
  | `kube-apiserver ${ControlPlaneMachine}`
  | `${'kube-controller-manager' | 'kube-scheduler'} 127.0.0.11`
  | `${'etcd server' | 'etcd peer'} ${EtcdMachine}`;

/**
 * A control plane as a cluster has it whose etcd has machines of its own: two machines with kube-apiserver, kube-controller-manager and
 * kube-scheduler each, three with etcd, TLS on every port. On the second machine controller manager and scheduler make their own
 * certificates, as they do when nobody gives them one.
 */
export interface ControlPlaneOnMachines
  extends Pick<ControlPlane, 'server' | 'caPem' | 'adminToken' | 'directory' | 'kubeconfig' | 'stop'> {
  /** The same on every machine; on the kubelets' one nobody listens yet. */
  readonly ports: ServerPorts;
  readonly authorities: {
    readonly cluster: TestAuthority;
    readonly etcd: TestAuthority;
    readonly frontProxy: TestAuthority;
  };
  /** The certificate that a process was given last, PEM. */
  servingCertificate(name: ServingCertificate): string;
  /**
   * Writes another certificate into the file of a process.
   *
   * @param changed @default a new one like the old one
   * @returns the new one, PEM
   */
  renew(name: ServingCertificate, changed?: Partial<CertificateWanted>): Promise<string>;
  /** The client certificate with which kube-apiserver speaks to etcd. */
  readonly etcdClient: KeyedCertificate;
  stopProcess(name: Process): Promise<void>;
  startProcess(name: Process): Promise<void>;
}

const DAY_MS = 86_400_000;
const SERVICE_NETWORK = '10.96.0.0/16';
const FIRST_SERVICE = '10.96.0.1';
const CONTROLLER_MANAGER = { name: 'system:kube-controller-manager' };
const SCHEDULER = { name: 'system:kube-scheduler' };

/**
 * Starts it. A load balancer on 127.0.0.1 is the API endpoint; it sends everything to the first machine whose kube-apiserver listens.
 *
 * @throws StartError with the last lines of the log when a component does not start
 */
export async function startOnMachines(
  binaries: Binaries<'etcd' | 'kubeApiserver' | 'kubeControllerManager' | 'kubeScheduler'>,
): Promise<ControlPlaneOnMachines> {
  return startInGroup((group) => startIn(group, binaries));
}

async function startIn(
  group: DaemonGroup,
  binaries: Binaries<'etcd' | 'kubeApiserver' | 'kubeControllerManager' | 'kubeScheduler'>,
): Promise<ControlPlaneOnMachines> {
  const [kubeApiserver = 0, kubelet = 0, etcdClient = 0, etcdPeer = 0, etcdMetrics = 0, ...managers] =
    await freePorts(7);
  const [kubeControllerManager = 0, kubeScheduler = 0] = managers;
  const ports: ServerPorts = { kubeApiserver, kubelet, etcdClient, etcdPeer, kubeControllerManager, kubeScheduler };

  const path = (name: string): string => join(group.directory, name.replaceAll(' ', '-'));
  const file = (name: string, text: string): string => {
    // By a rename: whoever watches the file never reads half of it.
    writeFileSync(path(`${name}.new`), text, { mode: 0o600 });
    renameSync(path(`${name}.new`), path(name));
    return path(name);
  };

  const tenYears = new Date(Date.now() + 3650 * DAY_MS);
  const [cluster, etcd, frontProxy] = await Promise.all([
    createAuthority('kubernetes', tenYears),
    createAuthority('etcd-ca', tenYears),
    createAuthority('front-proxy-ca', tenYears),
  ]);
  const etcdClientPair = await etcd.certificate({
    commonName: 'berlin-prod-kube-apiserver-etcd-client',
    organizations: ['system:masters'],
    usages: ['client'],
    notAfter: inDays(365),
  });

  const wanted = new Map<ServingCertificate, CertificateWanted & { readonly authority: TestAuthority }>();
  const served = new Map<ServingCertificate, string>();
  const renew = async (name: ServingCertificate, changed: Partial<CertificateWanted> = {}): Promise<string> => {
    const old = wanted.get(name);
    if (old === undefined) throw new Error(`nobody has a certificate ${name}`);
    const now = { ...old, ...changed };
    const { certPem, keyPem } = await old.authority.certificate(now);
    file(`${name}.key`, keyPem);
    file(`${name}.crt`, certPem);
    served.set(name, certPem);
    return certPem;
  };
  const give = async (name: ServingCertificate, authority: TestAuthority, certificate: CertificateWanted) => {
    wanted.set(name, { ...certificate, authority });
    await renew(name);
  };
  // No two end on the same day, so that none can be taken for another.
  await Promise.all([
    ...CONTROL_PLANE_MACHINES.map((address, index) =>
      give(`kube-apiserver ${address}`, cluster, {
        commonName: 'kube-apiserver',
        usages: ['server'],
        dnsNames: ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'localhost'],
        ipAddresses: [address, '127.0.0.1', FIRST_SERVICE],
        notAfter: inDays(365 - index),
      }),
    ),
    ...ETCD_MACHINES.flatMap((address, index) => {
      const certificate = {
        commonName: `etcd-${index + 1}`,
        usages: ['server', 'client'] as const,
        // Peers of the loopback network come from its first address.
        ipAddresses: [address, '127.0.0.1'],
      };
      return [
        give(`etcd server ${address}`, etcd, { ...certificate, notAfter: inDays(355 - index) }),
        give(`etcd peer ${address}`, etcd, { ...certificate, notAfter: inDays(350 - index) }),
      ];
    }),
    give('kube-controller-manager 127.0.0.11', cluster, {
      commonName: 'kube-controller-manager',
      usages: ['server'],
      ipAddresses: ['127.0.0.11'],
      notAfter: inDays(345),
    }),
    give('kube-scheduler 127.0.0.11', cluster, {
      commonName: 'kube-scheduler',
      usages: ['server'],
      ipAddresses: ['127.0.0.11'],
      notAfter: inDays(344),
    }),
  ]);
  const filesOf = (name: ServingCertificate) => ({ cert: path(`${name}.crt`), key: path(`${name}.key`) });

  const users = [ADMIN, CERTMARSHAL, CONTROLLER_MANAGER, SCHEDULER];
  const tokens = new Map(users.map(({ name }) => [name, randomBytes(24).toString('base64url')]));
  const tokenOf = (user: string): string => {
    const token = tokens.get(user);
    if (token === undefined) throw new Error(`no such user: ${user}`);
    return token;
  };
  const clusterCaFile = file('ca.crt', cluster.certPem);
  const clusterKeyFile = file('ca.key', cluster.keyPem);
  const etcdCaFile = file('etcd-ca.crt', etcd.certPem);
  const serviceAccount = createServiceAccountKeys();
  const etcdClientCert = file('apiserver-etcd-client.crt', etcdClientPair.certPem);
  const etcdClientKey = file('apiserver-etcd-client.key', etcdClientPair.keyPem);
  const serviceAccountPublic = file('sa.pub', serviceAccount.publicPem);
  const serviceAccountPrivate = file('sa.key', serviceAccount.privatePem);
  const frontProxyCa = file('front-proxy-ca.crt', frontProxy.certPem);
  const tokenFile = file('tokens.csv', users.map((user) => tokenLine(user, tokenOf(user.name))).join(''));

  const balancer = await balanceLoad(CONTROL_PLANE_MACHINES, kubeApiserver);
  const server = `https://127.0.0.1:${balancer.port}`;
  const kubeconfig = (user: string): string =>
    file(`${user}.kubeconfig`, kubeconfigYaml(server, cluster.certPem, user, { token: tokenOf(user) }));

  const startEtcd = (address: EtcdMachine) => {
    const own = filesOf(`etcd server ${address}`);
    const peer = filesOf(`etcd peer ${address}`);
    return {
      executable: binaries.etcd,
      args: [
        `--name=${address}`,
        `--data-dir=${path(`etcd-${address}`)}`,
        `--listen-client-urls=https://${address}:${etcdClient}`,
        `--advertise-client-urls=https://${address}:${etcdClient}`,
        `--listen-peer-urls=https://${address}:${etcdPeer}`,
        `--initial-advertise-peer-urls=https://${address}:${etcdPeer}`,
        `--initial-cluster=${ETCD_MACHINES.map((member) => `${member}=https://${member}:${etcdPeer}`).join(',')}`,
        `--listen-metrics-urls=http://${address}:${etcdMetrics}`,
        `--cert-file=${own.cert}`,
        `--key-file=${own.key}`,
        '--client-cert-auth',
        `--trusted-ca-file=${etcdCaFile}`,
        `--peer-cert-file=${peer.cert}`,
        `--peer-key-file=${peer.key}`,
        '--peer-client-cert-auth',
        `--peer-trusted-ca-file=${etcdCaFile}`,
        '--unsafe-no-fsync',
        '--log-level=warn',
      ],
      ready: () => answersOk(`http://${address}:${etcdMetrics}/health`),
    };
  };
  const startApiserver = (address: ControlPlaneMachine) => {
    const own = filesOf(`kube-apiserver ${address}`);
    return {
      executable: binaries.kubeApiserver,
      args: [
        `--etcd-servers=${ETCD_MACHINES.map((member) => `https://${member}:${etcdClient}`).join(',')}`,
        `--etcd-cafile=${etcdCaFile}`,
        `--etcd-certfile=${etcdClientCert}`,
        `--etcd-keyfile=${etcdClientKey}`,
        `--bind-address=${address}`,
        `--secure-port=${kubeApiserver}`,
        `--advertise-address=${address}`,
        '--endpoint-reconciler-type=none',
        `--cert-dir=${group.directory}`,
        `--tls-cert-file=${own.cert}`,
        `--tls-private-key-file=${own.key}`,
        `--client-ca-file=${clusterCaFile}`,
        `--requestheader-client-ca-file=${frontProxyCa}`,
        '--requestheader-allowed-names=front-proxy-client',
        '--requestheader-username-headers=X-Remote-User',
        '--requestheader-group-headers=X-Remote-Group',
        '--requestheader-extra-headers-prefix=X-Remote-Extra-',
        `--token-auth-file=${tokenFile}`,
        '--authorization-mode=Node,RBAC',
        '--enable-admission-plugins=NodeRestriction',
        '--service-account-issuer=https://kubernetes.default.svc',
        `--service-account-key-file=${serviceAccountPublic}`,
        `--service-account-signing-key-file=${serviceAccountPrivate}`,
        `--service-cluster-ip-range=${SERVICE_NETWORK}`,
      ],
      ready: () => answersOk(`https://${address}:${kubeApiserver}/readyz`, cluster.certPem, tokenOf(ADMIN.name)),
    };
  };
  const startManager = (
    name: 'kube-controller-manager' | 'kube-scheduler',
    address: ControlPlaneMachine,
    executable: string,
    port: number,
    args: readonly string[],
  ) => {
    const given = address === '127.0.0.11' ? filesOf(`${name} ${address}`) : undefined;
    return {
      executable,
      args: [
        `--kubeconfig=${kubeconfig(`system:${name}`)}`,
        `--bind-address=${address}`,
        `--secure-port=${port}`,
        '--leader-elect=false',
        ...(given === undefined ? [] : [`--tls-cert-file=${given.cert}`, `--tls-private-key-file=${given.key}`]),
        ...args,
      ],
      ready: () => answersOk(`https://${address}:${port}/healthz`, false),
    };
  };
  const startControllerManager = (address: ControlPlaneMachine) =>
    startManager('kube-controller-manager', address, binaries.kubeControllerManager, kubeControllerManager, [
      '--use-service-account-credentials',
      // Two that sign would only be in each other's way.
      `--controllers=${address === '127.0.0.11' ? 'csrsigning,root-ca-certificate-publisher-controller' : 'csrcleaner'}`,
      `--root-ca-file=${clusterCaFile}`,
      `--cluster-signing-cert-file=${clusterCaFile}`,
      `--cluster-signing-key-file=${clusterKeyFile}`,
    ]);
  const startScheduler = (address: ControlPlaneMachine) =>
    startManager('kube-scheduler', address, binaries.kubeScheduler, kubeScheduler, []);

  interface Program {
    readonly executable: string;
    readonly args: readonly string[];
    readonly ready: () => Promise<boolean>;
  }
  const programs = new Map<Process, Program>([
    ...ETCD_MACHINES.map((address): [Process, Program] => [`etcd ${address}`, startEtcd(address)]),
    ...CONTROL_PLANE_MACHINES.flatMap((address): [Process, Program][] => [
      [`kube-apiserver ${address}`, startApiserver(address)],
      [`kube-controller-manager ${address}`, startControllerManager(address)],
      [`kube-scheduler ${address}`, startScheduler(address)],
    ]),
  ]);
  const running = new Map<Process, Daemon>();
  const startProcess = async (name: Process): Promise<void> => {
    const program = programs.get(name);
    if (program === undefined) throw new Error(`no such process: ${name}`);
    const daemon = group.start(name.replace(' ', '-'), program.executable, program.args);
    running.set(name, daemon);
    await waitUntilReady(daemon, program.ready, PATIENCE_MS);
  };
  const startAll = async (...kinds: readonly string[]): Promise<void> => {
    const names = [...programs.keys()].filter((name) => kinds.some((kind) => name.startsWith(kind)));
    await Promise.all(names.map(startProcess));
  };

  try {
    await startAll('etcd');
    await startAll('kube-apiserver');
    await startAll('kube-controller-manager', 'kube-scheduler');
  } catch (error) {
    await balancer.close();
    throw error;
  }

  return {
    server,
    caPem: cluster.certPem,
    adminToken: tokenOf(ADMIN.name),
    directory: group.directory,
    kubeconfig,
    ports,
    authorities: { cluster, etcd, frontProxy },
    etcdClient: etcdClientPair,
    servingCertificate: (name) => served.get(name) ?? '',
    renew,
    startProcess,
    async stopProcess(name) {
      // etcd would first wait for its peers; a machine that fails does not either.
      await running.get(name)?.stop(200);
      running.delete(name);
    },
    async stop() {
      await balancer.close();
      await Promise.all([...running.values()].map((daemon) => daemon.stop(200)));
      await group.stop();
    },
  };
}

function inDays(days: number): Date {
  return new Date(Date.now() + days * DAY_MS);
}

/** A TCP port of 127.0.0.1 that leads to the first of some addresses on which somebody listens. */
export interface LoadBalancer {
  readonly port: number;
  /** Also ends the connections that are open. */
  close(): Promise<void>;
}

export async function balanceLoad(addresses: readonly string[], port: number): Promise<LoadBalancer> {
  const open = new Set<Socket>();
  const forward = (client: Socket, [address, ...others]: readonly string[]): void => {
    if (address === undefined) {
      client.destroy();
      return;
    }
    const server = connect({ host: address, port });
    keep(server);
    const next = (): void => forward(client, others);
    server.once('error', next);
    server.once('connect', () => {
      if (client.destroyed) server.destroy();
      server.off('error', next);
      server.on('error', () => client.destroy());
      client.on('error', () => server.destroy());
      client.pipe(server).pipe(client);
      client.once('close', () => server.destroy());
    });
  };
  const keep = (socket: Socket): void => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  };
  const listener = createServer((client) => {
    keep(client);
    client.on('error', () => {});
    forward(client, addresses);
  });
  return {
    port: await listening(listener),
    async close() {
      const closed = new Promise((resolve) => listener.close(resolve));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
