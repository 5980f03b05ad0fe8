// The library's decorators need this before anything else is loaded.
// oxlint-disable-next-line import/no-unassigned-import
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Server } from 'node:net';
import * as x509 from '@peculiar/x509';
import { onTestFinished } from 'vitest';
import { createKubernetesClient, type KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import type { Connection } from '../../../lambdas/kubernetes/connection.ts';

/** A certificate with its key, PEM. */
export interface Keyed {
  readonly certificatePem: string;
  readonly keyPem: string;
}

export interface Authority extends Keyed {
  /** @param offsetDays how far from now the one day of validity starts. @default 0 */
  issue(name: x509.JsonGeneralNames[number], offsetDays?: number): Promise<Keyed>;
  /** An authority below this one. */
  intermediate(): Promise<Authority>;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY = 86_400_000;

/** @param offsetDays how far from now its two days of validity start. */
export async function createAuthority(commonName: string, offsetDays = -1): Promise<Authority> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [commonName] }],
    keys,
    notBefore: new Date(Date.now() + offsetDays * DAY),
    notAfter: new Date(Date.now() + (offsetDays + 2) * DAY),
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  return authorityOf(certificate, keys);
}

async function authorityOf(certificate: x509.X509Certificate, keys: webcrypto.CryptoKeyPair): Promise<Authority> {
  const issue = async (
    subject: string,
    notBefore: number,
    extensions: x509.Extension[],
  ): Promise<{ readonly certificate: x509.X509Certificate; readonly keys: webcrypto.CryptoKeyPair }> => {
    const own = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
    const issued = await x509.X509CertificateGenerator.create({
      subject: [{ CN: [subject] }],
      issuer: certificate.subjectName,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      notBefore: new Date(notBefore),
      notAfter: new Date(notBefore + DAY),
      extensions,
    });
    return { certificate: issued, keys: own };
  };
  return {
    ...(await keyed(certificate, keys)),
    async issue(name, offsetDays = 0) {
      const issued = await issue('kube-apiserver', Date.now() - 3_600_000 + offsetDays * DAY, [
        new x509.SubjectAlternativeNameExtension([name]),
      ]);
      return keyed(issued.certificate, issued.keys);
    },
    async intermediate() {
      const issued = await issue('intermediate', Date.now() - 3_600_000, [
        new x509.BasicConstraintsExtension(true, undefined, true),
      ]);
      return authorityOf(issued.certificate, issued.keys);
    },
  };
}

async function keyed(certificate: x509.X509Certificate, keys: webcrypto.CryptoKeyPair): Promise<Keyed> {
  const key = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { certificatePem: certificate.toString('pem'), keyPem: x509.PemConverter.encode(key, 'PRIVATE KEY') };
}

export const LOOPBACK: x509.JsonGeneralNames[number] = { type: 'ip', value: '127.0.0.1' };

/** A request as it arrived. */
export interface Received {
  readonly method: string;
  /** With the query. */
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Handler = (received: Received, response: ServerResponse) => void;

export interface TlsServer {
  /** How to reach it, with a token. */
  readonly connection: Connection & { readonly caPem: string };
  readonly received: readonly Received[];
  /** TLS connections accepted so far. */
  connections(): number;
}

export const TOKEN = 'test-token-0123456789';

let shared: Promise<{ readonly authority: Authority; readonly serving: Keyed }> | undefined;

/** One authority and one serving certificate for all tests of a file that do not care. */
export async function defaultCertificates(): Promise<{ readonly authority: Authority; readonly serving: Keyed }> {
  shared ??= (async () => {
    const authority = await createAuthority('test-ca');
    return { authority, serving: await authority.issue(LOOPBACK) };
  })();
  return shared;
}

export interface ServerOptions {
  readonly serving?: Keyed;
  readonly caPem?: string;
}

/** An HTTPS server on 127.0.0.1 that ends with the test. */
export async function startTlsServer(handler: Handler, options: ServerOptions = {}): Promise<TlsServer> {
  const { authority, serving: own } = await defaultCertificates();
  const serving = options.serving ?? own;
  const received: Received[] = [];
  let connections = 0;
  const server = createServer({ cert: serving.certificatePem, key: serving.keyPem }, (request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const arrived = { method, url, headers, body: Buffer.concat(pieces).toString() };
      received.push(arrived);
      handler(arrived, response);
    });
  });
  server.on('secureConnection', () => {
    connections += 1;
  });
  const port = await listen(server);
  onTestFinished(() => server.closeAllConnections());
  return {
    connection: {
      server: `https://127.0.0.1:${port}`,
      caPem: options.caPem ?? authority.certificatePem,
      credentials: { kind: 'token', token: TOKEN },
      addresses: 'local',
    },
    received,
    connections: () => connections,
  };
}

/** A server and its client, which does not wait between tries. */
export async function serve(
  handler: Handler,
): Promise<{ readonly server: TlsServer; readonly client: KubernetesClient }> {
  const server = await startTlsServer(handler);
  const client = createKubernetesClient(server.connection, { sleep: async () => {} });
  onTestFinished(() => client.close());
  return { server, client };
}

/** Lets a server listen on 127.0.0.1 until the test ends. Returns the port. */
export async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server does not listen on a port');
  return address.port;
}

export function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** A Status object of the Kubernetes API. */
export function statusBody(code: number, reason: string, message: string): object {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, reason, message };
}
