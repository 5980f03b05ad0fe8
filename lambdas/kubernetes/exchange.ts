import type { IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';

/** A complete answer. `body` is undefined if it exceeded the limit for its status. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer | undefined;
  /** Its sender; undefined once the connection is gone. */
  readonly remoteAddress: string | undefined;
}

/** Why the answer is missing or incomplete. */
export class ExchangeFailure extends Error {
  override readonly name = 'ExchangeFailure';
  readonly failure: 'timeout' | 'aborted' | 'connection';
  /** Code of the system or TLS error; only with `connection`. */
  readonly code: string;

  constructor(failure: ExchangeFailure['failure'], code = '', options?: ErrorOptions) {
    super(code === '' ? failure : code, options);
    this.failure = failure;
    this.code = code;
  }
}

interface ExchangeLimits {
  /** For the whole try: a free connection, the handshake, headers and body. Milliseconds. */
  readonly timeoutMs: number;
  /** Largest body of a 2xx answer, in bytes. */
  readonly maxBytes: number;
}

/** A Status of the API is far smaller; an error page is not worth reading further. */
const MAX_ERROR_BYTES = 256 * 1024;

/**
 * One try of one HTTPS request, without redirects or decompression.
 *
 * A body over its limit breaks the connection at once: reading on to keep it would let an endless body hold the try
 * until its deadline.
 *
 * @param signals any of them ends the try, also while it waits for a connection
 * @param onBytes called with the size of every piece of the body; returning false ends the body as its limit does
 * @throws ExchangeFailure
 */
export async function exchange(
  options: RequestOptions,
  body: string | undefined,
  limits: ExchangeLimits,
  signals: readonly AbortSignal[],
  onBytes: (count: number) => boolean,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    if (signals.some(({ aborted }) => aborted)) {
      reject(new ExchangeFailure('aborted'));
      return;
    }
    const request = httpsRequest(options);
    const finish = (): void => {
      clearTimeout(deadline);
      for (const signal of signals) signal.removeEventListener('abort', onAbort);
    };
    const fail = (failure: ExchangeFailure): void => {
      finish();
      // Set the reason first: destroying the request reports a hang-up of its own.
      reject(failure);
      request.destroy();
    };
    const onAbort = (): void => fail(new ExchangeFailure('aborted'));
    const onError = (error: NodeJS.ErrnoException): void =>
      fail(new ExchangeFailure('connection', codeOf(error), { cause: error }));
    const deadline = setTimeout(() => fail(new ExchangeFailure('timeout')), limits.timeoutMs);
    for (const signal of signals) signal.addEventListener('abort', onAbort, { once: true });

    request.on('error', onError);
    request.on('response', (response) => {
      const status = response.statusCode ?? 0;
      const { headers } = response;
      const { remoteAddress } = response.socket;
      const maxBytes = status < 300 ? limits.maxBytes : Math.min(limits.maxBytes, MAX_ERROR_BYTES);
      const received = createBodyBuffer();
      let size = 0;
      const succeed = (whole: Buffer | undefined): void => {
        finish();
        resolve({ status, headers, body: whole, remoteAddress });
      };
      const giveUp = (): void => {
        succeed(undefined);
        request.destroy();
      };
      response.on('error', onError);
      if (Number(headers['content-length'] ?? 0) > maxBytes) {
        giveUp();
        return;
      }
      response.on('data', (piece: Buffer) => {
        size += piece.length;
        if (!onBytes(piece.length) || size > maxBytes) giveUp();
        else received.add(piece);
      });
      response.on('end', () => succeed(received.bytes()));
    });
    request.end(body);
  });
}

/** A failed handshake is EPROTO with OpenSSL's reason in the text, or a code that Node derives from that reason. */
function codeOf({ code, message }: NodeJS.ErrnoException): string | undefined {
  const reason = code === 'EPROTO' ? /:SSL routines:[^:]*:([^:]+)/.exec(message)?.[1] : undefined;
  return reason === undefined ? code : `ERR_SSL_${reason.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;
}

const SMALLEST = 16 * 1024;

/** Collects bytes that arrive in pieces of any size; uses at most twice their size, and at least 16 KiB. */
interface BodyBuffer {
  /** Copies the piece: even one byte would keep its whole source buffer, and an object, alive. */
  add(piece: Buffer): void;
  /** Everything added so far; shares the memory. */
  bytes(): Buffer;
}

export function createBodyBuffer(): BodyBuffer {
  let room = Buffer.alloc(0);
  let size = 0;
  return {
    add(piece) {
      const total = size + piece.length;
      if (total > room.length) {
        // Not from Node's pool, which is shared with other buffers.
        const larger = Buffer.allocUnsafeSlow(Math.max(SMALLEST, total, 2 * size));
        room.copy(larger, 0, 0, size);
        room = larger;
      }
      piece.copy(room, size);
      size = total;
    },
    bytes: () => room.subarray(0, size),
  };
}
