import { setTimeout as sleep } from 'node:timers/promises';
import { createServer, type Server } from 'node:tls';
import { createAuthority, type KeyedCertificate, type TestAuthority } from '../control-plane/pki.ts';
import { freePorts, listening } from '../support/loopback.ts';
import type { ControlPlaneCluster, Machine } from './control-plane-cluster.ts';

/** When a certificate is valid. */
export interface Lifetime {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/**
 * Plays the API server and the stacked etcd of each control plane machine as far as a handshake goes: TLS servers with certificates
 * of their own on an address of its own. The in-memory backend has one server and one certificate for a whole cluster, and no addresses.
 */
export interface ApiserverEndpoints {
  /** The same at every address. */
  readonly port: number;
  /** Signs all certificates. */
  readonly authority: TestAuthority;
  /**
   * Gives every machine of a cluster a server, says its address in the Machine's status, and does so for those that come later,
   * until stop. Resolves when the machines that there are now have one.
   *
   * @param lifetimeOf of a machine's certificate. @default from the machine's creation for a year
   * @param etcdLifetimeOf of those of its etcd. @default the same
   */
  follow(
    cluster: Followed,
    lifetimeOf?: (machine: Machine) => Lifetime,
    etcdLifetimeOf?: (machine: Machine) => Lifetime,
  ): Promise<void>;
  /** The address of a machine. @throws Error when it has none yet */
  addressOf(machine: string): string;
  /** Replaces a machine's certificate, or those of its etcd, with one of this lifetime, and a new key. */
  serve(machine: string, lifetime: Lifetime, of?: 'etcd'): Promise<void>;
  /** Closes all servers. @throws Error that a follower met, if any */
  stop(): Promise<void>;
}

/** What is asked of a cluster whose machines get addresses. */
export type Followed = Pick<ControlPlaneCluster, 'machines' | 'giveAddress' | 'waitFor'>;

/** Who answers there, instead of kube-apiserver. */
export interface Played {
  readonly authority: TestAuthority;
  readonly commonName: string;
  readonly dnsNames: readonly string[];
}

interface Endpoint {
  readonly address: string;
  readonly server: Server;
  /** At 2379 and 2380, and the kubelet; empty where something else is played. */
  readonly etcd: readonly Server[];
}

/** Other processes have other addresses: etcd is at the same ports everywhere. */
const NETWORK = `127.${100 + ((process.pid >> 8) % 100)}.${process.pid % 256}`;
let lastAddress = 0;

/**
 * Opens nothing yet: see {@link ApiserverEndpoints.follow}. Linux, where all of 127.0.0.0/8 is this machine.
 *
 * @param played @default kube-apiserver, with an authority of its own
 */
export async function openApiserverEndpoints(played?: Played): Promise<ApiserverEndpoints> {
  const [port = 0] = await freePorts(1);
  const authority =
    played?.authority ?? (await createAuthority('kubernetes', new Date(Date.now() + 3650 * 86_400_000)));
  const { commonName = 'kube-apiserver', dnsNames = ['kubernetes', 'kubernetes.default.svc'] } = played ?? {};
  const etcdAuthority = await createAuthority('etcd-ca', new Date(Date.now() + 3650 * 86_400_000));
  // And a kubelet with a certificate of its own: of no CA of the cluster.
  const etcdPorts = played === undefined ? [2379, 2380, 10_250] : [];
  const endpoints = new Map<string, Endpoint>();
  const followers: Promise<void>[] = [];
  const stopping = new AbortController();

  const certificate = (address: string, lifetime: Lifetime): Promise<KeyedCertificate> =>
    authority.certificate({
      commonName,
      usages: ['server'],
      dnsNames,
      ipAddresses: [address],
      ...lifetime,
    });
  const etcdCertificate = (name: string, address: string, lifetime: Lifetime): Promise<KeyedCertificate> =>
    etcdAuthority.certificate({ commonName: name, usages: ['server'], ipAddresses: [address], ...lifetime });

  const welcome = async (
    cluster: Followed,
    machine: Machine,
    lifetime: Lifetime,
    etcdLifetime: Lifetime,
  ): Promise<void> => {
    const { name } = machine.metadata;
    let endpoint = endpoints.get(name);
    if (endpoint === undefined) {
      lastAddress += 1;
      const address = `${NETWORK}.${lastAddress}`;
      const server = await listen(await certificate(address, lifetime), address, port);
      const etcd = etcdPorts.map(async (at) => listen(await etcdCertificate(name, address, etcdLifetime), address, at));
      endpoint = { address, server, etcd: await Promise.all(etcd) };
      endpoints.set(name, endpoint);
    }
    await cluster.giveAddress(machine, endpoint.address);
  };

  type LifetimeOf = (machine: Machine) => Lifetime;
  const look = async (cluster: Followed, lifetimeOf: LifetimeOf, etcdLifetimeOf: LifetimeOf): Promise<boolean> => {
    const machines = await cluster.machines();
    const nameless = machines.filter(({ status }) => status?.addresses === undefined);
    // A Machine comes a moment before what it runs on.
    const welcomed = nameless.map((one) => welcome(cluster, one, lifetimeOf(one), etcdLifetimeOf(one)));
    await Promise.all(welcomed.map((one) => one.catch(onlyIfMissing)));
    return nameless.length === 0;
  };

  return {
    port,
    authority,
    async follow(cluster, lifetimeOf = sinceCreation, etcdLifetimeOf = lifetimeOf) {
      await cluster.waitFor('an address for every machine', () => look(cluster, lifetimeOf, etcdLifetimeOf));
      const keepLooking = async (): Promise<void> => {
        while (!stopping.signal.aborted) {
          await look(cluster, lifetimeOf, etcdLifetimeOf);
          await sleep(1_000, undefined, { signal: stopping.signal }).catch(() => {});
        }
      };
      const follower = keepLooking();
      // Told by stop; a test may fail before it.
      follower.catch(() => {});
      followers.push(follower);
    },
    addressOf: (machine) => known(machine).address,
    async serve(machine, lifetime, of) {
      const { address, server, etcd } = known(machine);
      for (const one of of === 'etcd' ? etcd : [server]) {
        const made = of === 'etcd' ? etcdCertificate(machine, address, lifetime) : certificate(address, lifetime);
        const { certPem: cert, keyPem: key } = await made;
        one.setSecureContext({ cert, key });
      }
    },
    async stop() {
      stopping.abort();
      const ends = await Promise.allSettled(followers);
      for (const { server, etcd } of endpoints.values()) for (const one of [server, ...etcd]) one.close();
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
    },
  };

  function known(machine: string): Endpoint {
    const endpoint = endpoints.get(machine);
    if (endpoint === undefined) throw new Error(`no endpoint plays ${machine}`);
    return endpoint;
  }
}

function onlyIfMissing(error: unknown): void {
  if (!(error instanceof Error && 'status' in error && error.status === 404)) throw error;
}

function sinceCreation({ metadata }: Machine): Lifetime {
  const notBefore = new Date(String(metadata['creationTimestamp']));
  return { notBefore, notAfter: new Date(notBefore.getTime() + 365 * 86_400_000) };
}

async function listen(
  { certPem: cert, keyPem: key }: KeyedCertificate,
  address: string,
  port: number,
): Promise<Server> {
  // As kube-apiserver: asks for a client certificate and does without.
  const server = createServer({ cert, key, requestCert: true, rejectUnauthorized: false }, (socket) => {
    socket.on('error', () => {}).resume();
  });
  server.on('tlsClientError', () => {});
  await listening(server, address, port);
  return server;
}
