import type { Credentials, TokenSource } from './connection.ts';
import { KubernetesError } from './errors.ts';
import { ExchangeFailure } from './exchange.ts';

/** The bearer token of one client, and every token it has sent. */
export interface Bearer {
  /**
   * Secrets that a server must not be able to echo into a message. Grows by one token about every quarter of an hour.
   */
  readonly secrets: readonly string[];
  /**
   * The `authorization` header of one try; undefined for a client with a certificate.
   *
   * @throws KubernetesError if the source fails or its token cannot be sent, ExchangeFailure if a signal aborts
   */
  header(timeoutMs: number, signals: readonly AbortSignal[]): Promise<string | undefined>;
}

/** @throws KubernetesError of kind `invalid` for a fixed token that is not a valid header */
export function createBearer(server: string, credentials: Credentials): Bearer {
  if (credentials.kind === 'certificate') return { secrets: [], header: async () => undefined };
  const { token } = credentials;
  if (typeof token === 'string') {
    const header = `Bearer ${checkedToken(server, token)}`;
    return { secrets: [token], header: async () => header };
  }
  const secrets: string[] = [];
  return {
    secrets,
    async header(timeoutMs, signals) {
      const current = checkedToken(server, await askFor(server, token, timeoutMs, signals));
      if (!secrets.includes(current)) secrets.push(current);
      return `Bearer ${current}`;
    },
  };
}

/** A source has no signal, so waiting for it ends with the try. */
async function askFor(
  server: string,
  source: TokenSource,
  timeoutMs: number,
  signals: readonly AbortSignal[],
): Promise<string> {
  if (signals.some(({ aborted }) => aborted)) throw new ExchangeFailure('aborted');
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(new ExchangeFailure('aborted'));
  const deadline = setTimeout(() => reject(noToken(server, `there was none within ${timeoutMs} ms`)), timeoutMs);
  for (const signal of signals) signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([source(), ended]);
  } catch (error) {
    if (error instanceof KubernetesError || error instanceof ExchangeFailure) throw error;
    // Without its message: a token signer may quote what it signs with.
    throw noToken(server, `its source failed (${error instanceof Error ? error.name : typeof error})`);
  } finally {
    clearTimeout(deadline);
    for (const signal of signals) signal.removeEventListener('abort', onAbort);
  }
}

function noToken(server: string, problem: string): KubernetesError {
  return new KubernetesError({
    kind: 'credentials',
    object: `the token for ${server}`,
    problem,
    remedy: 'The next sweep asks again; if it persists, check the credentials that tokens are made with.',
  });
}

/** Only valid header characters (RFC 6750 §2.1 is stricter), and never empty: that would be an anonymous call. */
function checkedToken(server: string, token: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new KubernetesError({
    kind: 'invalid',
    object: `the token for ${server}`,
    problem: token === '' ? 'it is empty' : 'it has white space or characters that a token cannot have',
    remedy: 'Renew the credentials.',
  });
}
