import { createHash, type X509Certificate } from 'node:crypto';
import { Agent, type AgentOptions, type RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, checkServerIdentity, connect, type TLSSocket } from 'node:tls';
import type { ExpiredByAuthority, ExpiredServer } from '../contracts/order.ts';
import { proveExpired } from '../x509/expired-server.ts';
import { DEFAULT_EXPIRED_AT_MOST_MS } from './connection.ts';

/** A connection made despite an expired serving certificate. */
export interface Recovering {
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
  /** When that certificate expired. Milliseconds since the epoch. */
  readonly notAfter: number;
  /** Its SHA-256, 64 lowercase hexadecimal digits. */
  readonly sha256: string;
  /** The proof used instead. */
  readonly pin: ExpiredServer['pin'];
}

interface Trust {
  readonly expired: ExpiredServer;
  /** The name that the serving certificate must contain. */
  readonly serverName: string;
  /** Of the pinned bundle. */
  readonly authorities: readonly X509Certificate[];
  /** Of a handshake, in milliseconds. */
  readonly timeoutMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Error code: the certificate expired and is not the named one. */
export const OTHER_CERTIFICATE = 'CERTMARSHAL_OTHER_CERTIFICATE';

/** Code of {@link OldCertificateError}. */
export const OLD_CERTIFICATE = 'CERTMARSHAL_OLD_CERTIFICATE';

/** A trusted CA issued the certificate, but it expired too long ago: its key may be an old one. */
export class OldCertificateError extends Error {
  override readonly name = 'OldCertificateError';
  readonly code = OLD_CERTIFICATE;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
  readonly expiredAtMostMs: number;
  /** Only if that is the reason. Milliseconds since the epoch. */
  readonly replacedBefore: number | undefined;

  constructor(notAfter: number, expiredAtMostMs: number, replacedBefore?: number) {
    super(OLD_CERTIFICATE);
    this.notAfter = notAfter;
    this.expiredAtMostMs = expiredAtMostMs;
    this.replacedBefore = replacedBefore;
  }
}

/**
 * Connections that tolerate an expired certificate: a server proves its identity before HTTP, and so a bearer token, is
 * handed to the connection. A certificate that passes ordinary verification is used as usual; one that fails only by
 * its expiry is verified again, in full; all others are rejected with the ordinary error. A client certificate is
 * presented in the handshake as usual, which reveals nothing but the certificate.
 *
 * Sessions are never resumed: a resumed one shows no certificate.
 */
export class RecoveryAgent extends Agent {
  /** The newest tolerated connection; undefined if none was needed. */
  recovering: Recovering | undefined;
  readonly #trust: Trust;
  /** Not yet a connection of the pool, which would end it. */
  readonly #handshakes = new Set<TLSSocket>();

  constructor(options: AgentOptions, trust: Trust) {
    super({ ...options, maxCachedSessions: 0 });
    this.#trust = trust;
  }

  override createConnection(options: RequestOptions, callback?: (error: Error | null, stream: Duplex) => void): null {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the pool hands over what tls.connect takes, by its own documentation
    const socket = connect({ ...options, session: undefined, rejectUnauthorized: false } as ConnectionOptions);
    this.#handshakes.add(socket);
    const end = (refusal?: string | Error): void => {
      if (!this.#handshakes.delete(socket)) return;
      socket.setTimeout(0).off('error', onError).off('close', onClose).off('timeout', onTimeout);
      if (refusal !== undefined) {
        // It was rejected; later data is ignored.
        socket.on('error', () => {}).destroy();
      }
      const error = typeof refusal === 'string' ? Object.assign(new Error(refusal), { code: refusal }) : refusal;
      callback?.(error ?? null, socket);
    };
    const onError = (error: NodeJS.ErrnoException): void => {
      if (!this.#handshakes.delete(socket)) return;
      callback?.(error, socket);
    };
    const onClose = (): void => end('ECONNRESET');
    const onTimeout = (): void => end('ETIMEDOUT');
    socket.setTimeout(this.#trust.timeoutMs).on('error', onError).on('close', onClose).on('timeout', onTimeout);
    socket.once('secureConnect', () => end(this.#refusal(socket)));
    return null;
  }

  override destroy(): void {
    for (const socket of this.#handshakes) socket.destroy();
    super.destroy();
  }

  /** Why a server is rejected, usually a code; undefined once it has proven its identity. */
  #refusal(socket: TLSSocket): string | Error | undefined {
    if (socket.isSessionReused()) return 'CERT_REJECTED';
    if (socket.authorized) return undefined;
    // Typed as an Error; documented, and in fact, the code of one.
    const code = String(socket.authorizationError);
    if (code !== 'CERT_HAS_EXPIRED') return code;
    const { expired, serverName, authorities, now } = this.#trust;
    const shown = socket.getPeerCertificate(true);
    const wrongName = checkServerIdentity(serverName, shown);
    if (wrongName !== undefined) return 'ERR_TLS_CERT_ALTNAME_INVALID';
    const proof = prove(socket, expired, authorities, now());
    if (typeof proof === 'string') return proof;
    const old = expired.pin === 'authority' ? tooOld(proof.notAfter, expired, now()) : undefined;
    if (old !== undefined) return old;
    this.recovering = { ...proof, pin: expired.pin };
    return undefined;
  }
}

function tooOld(
  notAfter: number,
  { expiredAtMostMs = DEFAULT_EXPIRED_AT_MOST_MS, replacedBefore }: ExpiredByAuthority,
  now: number,
): OldCertificateError | undefined {
  if (now - notAfter > expiredAtMostMs) return new OldCertificateError(notAfter, expiredAtMostMs);
  return replacedBefore !== undefined && notAfter < replacedBefore
    ? new OldCertificateError(notAfter, expiredAtMostMs, replacedBefore)
    : undefined;
}

/** @returns the error code, or the expired certificate */
function prove(
  socket: TLSSocket,
  expired: ExpiredServer,
  authorities: readonly X509Certificate[],
  now: number,
): string | Omit<Recovering, 'pin'> {
  const chain = shownChain(socket);
  const [leaf] = chain;
  if (leaf === undefined) return 'CERT_REJECTED';
  const sha256 = createHash('sha256').update(leaf.raw).digest('hex');
  if (expired.pin === 'authority') {
    const der = { chain: chain.map(({ raw }) => raw), authorities: authorities.map(({ raw }) => raw) };
    const proof = proveExpired({ ...der, now });
    return proof.ok ? { notBefore: proof.leaf.notBefore, notAfter: proof.leaf.notAfter, sha256 } : proof.code;
  }
  if (sha256 !== expired.sha256) return OTHER_CERTIFICATE;
  const notBefore = leaf.validFromDate.getTime();
  if (now < notBefore) return 'CERT_NOT_YET_VALID';
  const notAfter = leaf.validToDate.getTime();
  return now > notAfter ? { notBefore, notAfter, sha256 } : 'CERT_HAS_EXPIRED';
}

/** No chain is longer. */
const MAX_CHAIN = 10;

/** In the order received, the serving certificate first. */
function shownChain(socket: TLSSocket): readonly X509Certificate[] {
  const chain: X509Certificate[] = [];
  let next = socket.getPeerX509Certificate();
  while (next !== undefined && chain.length < MAX_CHAIN) {
    chain.push(next);
    next = next.issuerCertificate;
  }
  return chain;
}
