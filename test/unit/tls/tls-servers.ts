import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { onTestFinished } from 'vitest';
import {
  type CertificateAuthority,
  type CertificatePair,
  createCertificateAuthority,
  createKeyPair,
  issuePair,
  type KeyKind,
} from '../../peculiar.ts';

const DAY = 86_400_000;

export async function createAuthority(commonName: string, kind: KeyKind = 'P-256'): Promise<CertificateAuthority> {
  const now = Date.now();
  return createCertificateAuthority({
    commonName,
    notBefore: new Date(now - 10 * DAY),
    notAfter: new Date(now + 3650 * DAY),
    keys: await createKeyPair(kind),
  });
}

export interface ServingOptions {
  readonly commonName?: string;
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly kind?: KeyKind;
  /** Days from now. */
  readonly from?: number;
  readonly to?: number;
}

export async function createServing(
  authority: CertificateAuthority,
  { commonName = 'server', kind = 'P-256', from = -5, to = 360, ...names }: ServingOptions = {},
): Promise<CertificatePair> {
  return issuePair(authority, {
    commonName,
    ...names,
    keys: await createKeyPair(kind),
    notBefore: new Date(Date.now() + from * DAY),
    notAfter: new Date(Date.now() + to * DAY),
  });
}

/** A server on a free port of 127.0.0.1, which is closed when the test is over. */
export async function listen(server: Server, host = '127.0.0.1'): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, host);
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

export function listenTls(options: TlsOptions): Promise<number> {
  const server = createTlsServer(options);
  server.on('tlsClientError', () => {});
  return listen(server);
}

export function listenRaw(onConnection: (socket: Socket) => void): Promise<number> {
  return listen(createServer(onConnection));
}
