import { isIP, type Socket, connect as tcpConnect } from 'node:net';
import { createSecureContext, type SecureContext, type TLSSocket, connect as tlsConnect } from 'node:tls';
import { type AddressRule, allowedLookup, isAllowedAddress } from '../allowed-addresses.ts';
import type { DecodedCertificate } from '../x509/certificate.ts';
import { decodeCertificate } from '../x509/decode-certificate.ts';
import { aborted, failureOf, forbidden, noCertificate, tooLarge } from './handshake-failure.ts';
import { certificatesSent } from './handshake-messages.ts';
import { recordingStream } from './recording-stream.ts';

/** One server to shake hands with. */
export interface HandshakeTarget {
  /** Name or address; an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
  /** Sent as SNI. @default the host, where that is a name */
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
  /** What happened, without a full stop. */
  readonly message: string;
  /** One sentence. */
  readonly remedy: string;
}

/** What one server showed. Nothing is trusted, and no byte but those of a handshake is sent. */
export type HandshakeResult =
  | {
      readonly ok: true;
      /** As the server sent it, the leaf first. */
      readonly chain: readonly DecodedCertificate[];
      /** `TLSv1.3`; absent where the handshake ended before. */
      readonly protocol?: string;
      /** The handshake was finished, and so with the private key of the leaf. */
      readonly keyProven?: true;
    }
  | { readonly ok: false; readonly failure: HandshakeFailure };

export interface HandshakeOptions {
  /** For all of it, from the look-up of the name on. @default 5000 */
  readonly timeoutMs?: number;
  readonly signal: AbortSignal;
  /** Where the server may be. */
  readonly addresses: AddressRule;
}

const DEFAULT_TIMEOUT_MS = 5_000;
/** Bytes that a server may send before its handshake is done. OpenSSL takes chains of 100 KiB. */
const MAX_BYTES = 1024 * 1024;
/** Time for the end of a connection, beside that of the handshake. */
const HANG_UP_MS = 250;

/**
 * Shows what certificates a server has: a TLS client from 1.2 on, without a certificate of its own, that trusts nothing, verifies nothing and
 * leaves when the handshake is done. A server that demands a client certificate shows its own before it refuses us.
 *
 * What was sent is read from the bytes of the handshake itself: Node.js shows only the part of a chain that it can put in order, and nothing of a handshake
 * that failed. Never throws.
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
      // What we read of the bytes counts for nothing where OpenSSL read something else.
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
  /** All that the server sent. */
  readonly transcript: Buffer;
  /** Of TLS 1.3: what its encrypted part of the handshake is read with. */
  readonly secret: Buffer | undefined;
  readonly protocol: string | undefined;
  /** DER of the certificate whose private key the server has. */
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
    // More than one may come; none may be without a listener.
    secure.on('error', (error) => finish({ kind: 'error', error }));
    socket.on('error', (error) => finish({ kind: 'error', error }));
    socket.once('close', () => finish({ kind: 'closed' }));
  });
}

let shared: SecureContext | undefined;

/** One for all: to make one takes longer than most of a handshake. */
function context(): SecureContext {
  shared ??= createSecureContext({
    // Nothing is believed of what is shown, so a server whose keys are weak is to show them as well.
    ca: [],
    minVersion: 'TLSv1.2',
    ciphers: 'DEFAULT:@SECLEVEL=0',
    // Without the shares for quantum computers: nothing secret is said, and a ClientHello of one packet passes everywhere.
    ecdhCurve: 'X25519:P-256:P-384:P-521',
  });
  return shared;
}

/** Lets the last message of the handshake out, so that the server has no broken one in its log. */
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
