import { isIP, type Socket, connect as tcpConnect } from 'node:net';
import { Duplex } from 'node:stream';
import { createSecureContext, type SecureContext, type TLSSocket, connect as tlsConnect } from 'node:tls';
import { type AddressRule, allowedLookup, isAllowedAddress } from '../allowed-addresses.ts';
import type { DecodedCertificate } from '../x509/certificate.ts';
import { decodeCertificate } from '../x509/decode-certificate.ts';
import { aborted, failureOf, forbidden, noCertificate, tooLarge } from './handshake-failure.ts';
import { certificatesSent } from './handshake-messages.ts';

export interface HandshakeTarget {
  /** Name or address; an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
  /** Sent as SNI. @default the host, if it is a name */
  readonly serverName?: string;
}

export type HandshakeFailureKind =
  | 'refused'
  | 'unreachable'
  | 'name'
  | 'timeout'
  | 'not-tls'
  | 'old-tls'
  | 'closed'
  | 'no-certificate'
  | 'too-large'
  | 'forbidden'
  | 'aborted';

export interface HandshakeFailure {
  readonly kind: HandshakeFailureKind;
  readonly message: string;
  /** One sentence. */
  readonly remedy: string;
}

/** What one server showed. Nothing is trusted, and only bytes of a handshake are sent. */
export type HandshakeResult =
  | {
      readonly ok: true;
      /** As the server sent it, leaf first. */
      readonly chain: readonly DecodedCertificate[];
      /** `TLSv1.3`; absent if the handshake did not finish. */
      readonly protocol?: string;
      /** The handshake finished, which proves that the server has the private key of the leaf. */
      readonly keyProven?: true;
    }
  | { readonly ok: false; readonly failure: HandshakeFailure };

export interface HandshakeOptions {
  /** For the whole handshake, including the DNS lookup. Milliseconds. @default 5000 */
  readonly timeoutMs?: number;
  readonly signal: AbortSignal;
  readonly addresses: AddressRule;
}

const DEFAULT_TIMEOUT_MS = 5_000;
/** Bytes that a server may send before its handshake is done. OpenSSL accepts chains of 100 KiB. */
const MAX_BYTES = 1024 * 1024;
/** Limit for closing a connection, in addition to the handshake. Milliseconds. */
const HANG_UP_MS = 250;

/**
 * Reads the certificates of a server with a TLS client, 1.2 or later, without a client certificate. It trusts nothing,
 * verifies nothing, and disconnects after the handshake. A server that demands a client certificate shows its own
 * before it rejects the client.
 *
 * The certificates are read from the bytes of the handshake: Node.js exposes only the part of a chain that it can
 * order, and nothing of a failed handshake. Never throws.
 */
export async function handshake(target: HandshakeTarget, options: HandshakeOptions): Promise<HandshakeResult> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, signal, addresses } = options;
  if (signal.aborted) return { ok: false, failure: aborted() };
  if (isIP(target.host) !== 0 && !isAllowedAddress(target.host, addresses)) {
    return { ok: false, failure: forbidden(target.host) };
  }
  const { transcript, secret, protocol, proven, end } = await shakeHands(target, timeoutMs, signal, addresses);
  const sent = certificatesSent(transcript, secret);
  switch (sent.kind) {
    case 'certificates': {
      const chain = sent.certificates.map((der) => decodeCertificate(der));
      const [leaf] = sent.certificates;
      // Not proven if OpenSSL read another leaf from these bytes.
      const keyProven = proven !== undefined && leaf?.equals(proven) ? true : undefined;
      return { ok: true, chain, protocol, keyProven };
    }
    case 'too-large':
      return { ok: false, failure: tooLarge(sent.message) };
    case 'empty':
      return { ok: false, failure: noCertificate() };
    case 'none':
      return { ok: false, failure: failureOf(target, end, transcript, timeoutMs) };
  }
}

/** How a connection ended. */
export type End =
  | { readonly kind: 'done' | 'aborted' | 'flood' | 'closed' }
  | { readonly kind: 'timeout'; readonly connected: boolean }
  | { readonly kind: 'error'; readonly error: Error };

interface Shaken {
  readonly transcript: Buffer;
  /** The server's handshake traffic secret; only with TLS 1.3. */
  readonly secret: Buffer | undefined;
  readonly protocol: string | undefined;
  /** DER of the certificate whose private key the server has proven to have. */
  readonly proven: Buffer | undefined;
  readonly end: End;
}

function shakeHands(
  { host, port, serverName }: HandshakeTarget,
  timeoutMs: number,
  signal: AbortSignal,
  addresses: AddressRule,
): Promise<Shaken> {
  return new Promise((resolve) => {
    const servername = serverName ?? (isIP(host) === 0 ? host : undefined);
    let settled = false;
    let secret: Buffer | undefined;
    const finish = (end: End) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      const protocol = end.kind === 'done' ? (secure.getProtocol() ?? undefined) : undefined;
      const proven = end.kind === 'done' ? secure.getPeerX509Certificate()?.raw : undefined;
      const result: Shaken = { transcript: recording.received(), secret, protocol, proven, end };
      if (end.kind === 'done') {
        hangUp(secure, socket, () => resolve(result));
        return;
      }
      secure.destroy();
      socket.destroy();
      resolve(result);
    };
    const onAbort = () => finish({ kind: 'aborted' });
    const timer = setTimeout(() => finish({ kind: 'timeout', connected: !socket.connecting }), timeoutMs);
    signal.addEventListener('abort', onAbort, { once: true });

    const socket = tcpConnect({ host, port, lookup: allowedLookup(addresses), noDelay: true });
    const recording = recordingStream(socket, MAX_BYTES, () => finish({ kind: 'flood' }));
    const secure = tlsConnect({
      socket: recording.stream,
      servername,
      rejectUnauthorized: false,
      checkServerIdentity: () => undefined,
      secureContext: context(),
    });
    secure.on('keylog', (line: Buffer) => {
      secret ??= serverSecret(line);
    });
    secure.once('secureConnect', () => finish({ kind: 'done' }));
    secure.once('close', () => finish({ kind: 'closed' }));
    // Several can occur, and each needs a listener.
    secure.on('error', (error) => finish({ kind: 'error', error }));
    socket.on('error', (error) => finish({ kind: 'error', error }));
    socket.once('close', () => finish({ kind: 'closed' }));
  });
}

let shared: SecureContext | undefined;

/** Shared: creating one takes longer than most of a handshake. */
function context(): SecureContext {
  shared ??= createSecureContext({
    // Nothing shown is trusted, so servers with weak keys are read too.
    ca: [],
    minVersion: 'TLSv1.2',
    ciphers: 'DEFAULT:@SECLEVEL=0',
    // No post-quantum key shares: nothing secret is sent, and a ClientHello of one packet passes everywhere.
    ecdhCurve: 'X25519:P-256:P-384:P-521',
  });
  return shared;
}

/** Sends the last message of the handshake, so that the server does not log a broken one. */
function hangUp(secure: TLSSocket, socket: Socket, done: () => void): void {
  const timer = setTimeout(() => socket.destroy(), HANG_UP_MS);
  socket.once('close', () => {
    clearTimeout(timer);
    secure.destroy();
    done();
  });
  secure.end(() => socket.destroySoon());
}

/** `SERVER_HANDSHAKE_TRAFFIC_SECRET <client random> <secret>`. Source: NSS key log format. */
function serverSecret(line: Buffer): Buffer | undefined {
  const [label, , secret] = line.toString('latin1').trim().split(' ');
  return label === 'SERVER_HANDSHAKE_TRAFFIC_SECRET' && secret !== undefined ? Buffer.from(secret, 'hex') : undefined;
}

interface Recording {
  /** Forwards everything, both ways. */
  readonly stream: Duplex;
  received(): Buffer;
}

/**
 * Forwards a socket and keeps its incoming bytes.
 *
 * @param maxBytes nothing more is kept or forwarded
 * @param onFull called once, when more arrives
 */
function recordingStream(socket: Socket, maxBytes: number, onFull: () => void): Recording {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let full = false;
  const stream = new Duplex({
    read: () => {
      socket.resume();
    },
    write: (chunk: Buffer, _encoding, done) => {
      socket.write(chunk, done);
    },
    final: (done) => {
      socket.end(done);
    },
    destroy: (error, done) => {
      done(error);
    },
  });
  socket.on('data', (chunk: Buffer) => {
    if (full) return;
    if (bytes + chunk.length > maxBytes) {
      full = true;
      onFull();
      return;
    }
    bytes += chunk.length;
    chunks.push(chunk);
    if (!stream.push(chunk)) socket.pause();
  });
  socket.once('end', () => {
    if (!stream.destroyed) stream.push(null);
  });
  return { stream, received: () => Buffer.concat(chunks, bytes) };
}
