import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { createServer, type Server } from 'node:tls';
import { listening } from '../support/loopback.ts';
import type { Admin } from './admin.ts';
import { approveCsr, createCsr, createNode, signedCertificate } from './fixtures.ts';
import { createAuthority, createKubeletRequest, type KeyedCertificate } from './pki.ts';

/** The serving side of a kubelet: its port, with the certificate that the cluster's signer issued to it. */
export interface Kubelet {
  readonly node: string;
  readonly address: string;
  readonly selfSigned: boolean;
  /** What it serves now, PEM. */
  readonly certPem: string;
  /** Asks for a new certificate and serves it, as a kubelet does that rotates. */
  renew(): Promise<void>;
  stop(): Promise<void>;
  start(): Promise<void>;
}

export interface KubeletWanted {
  readonly node: string;
  /** Of the loopback network. */
  readonly address: string;
  readonly port: number;
  /** It makes its certificate itself, as a kubelet without `serverTLSBootstrap` does. @default false */
  readonly selfSigned?: boolean;
  /** @default none */
  readonly labels?: Readonly<Record<string, string>>;
}

/** As short as Kubernetes allows. */
const KUBELET_LIFE_S = 600;

/** Creates a Node and starts its kubelet. Its request is made as the node, and approved by the administrator. */
export async function startKubelet(admin: Admin, wanted: KubeletWanted): Promise<Kubelet> {
  const { node, address, port, labels = {}, selfSigned = false } = wanted;
  await createNode(admin, {
    name: node,
    labels,
    addresses: [
      { type: 'InternalIP', address },
      { type: 'Hostname', address: node },
    ],
  });
  const newPair = async () => (selfSigned ? ownCertificate(node) : issue(admin, node, address));
  let pair = await newPair();
  let server: Server | undefined;
  const open = new Set<Socket>();
  const kubelet: Kubelet = {
    node,
    address,
    selfSigned,
    get certPem() {
      return pair.certPem;
    },
    async renew() {
      pair = await newPair();
      server?.setSecureContext({ cert: pair.certPem, key: pair.keyPem });
    },
    async stop() {
      const closed = new Promise((resolve) => server?.close(resolve) ?? resolve(undefined));
      for (const socket of open) socket.destroy();
      await closed;
      server = undefined;
    },
    async start() {
      const started = createServer({ cert: pair.certPem, key: pair.keyPem });
      // Who only looks at the certificate leaves in the middle of the handshake.
      started.on('tlsClientError', () => {});
      started.on('connection', (socket) => {
        open.add(socket);
        socket.once('close', () => open.delete(socket));
      });
      started.on('secureConnection', (socket) => socket.on('error', () => {}));
      await listening(started, address, port);
      server = started;
    },
  };
  await kubelet.start();
  return kubelet;
}

async function issue(admin: Admin, node: string, address: string): Promise<KeyedCertificate> {
  const name = `csr-${randomUUID().slice(0, 8)}`;
  const { requestPem, keyPem } = await createKubeletRequest({
    nodeName: node,
    dnsNames: [node],
    ipAddresses: [address],
  });
  await createCsr(admin, { name, nodeName: node, requestPem, expirationSeconds: KUBELET_LIFE_S });
  await approveCsr(admin, name);
  return { certPem: await signedCertificate(admin, name), keyPem };
}

/** With the authority that signed it behind it. Source: client-go, util/cert, GenerateSelfSignedCertKey. */
async function ownCertificate(node: string): Promise<KeyedCertificate> {
  const second = Math.floor(Date.now() / 1000);
  const inOneYear = new Date(Date.now() + 365 * 86_400_000);
  const authority = await createAuthority(`${node}-ca@${second}`, inOneYear);
  const { certPem, keyPem } = await authority.certificate({
    commonName: `${node}@${second}`,
    usages: ['server'],
    dnsNames: [node],
    notAfter: inOneYear,
  });
  return { certPem: certPem + authority.certPem, keyPem };
}
