import { X509Certificate } from 'node:crypto';
import { Agent, type AgentOptions } from 'node:https';
import { checkServerIdentity, createSecureContext } from 'node:tls';
import { allowedLookup } from '../../lambdas/allowed-addresses.ts';
import { connectionError } from '../../lambdas/kubernetes/broken-connection.ts';
import { parseCaBundle } from '../../lambdas/kubernetes/ca-bundle.ts';
import { type Connection, hostOf } from '../../lambdas/kubernetes/connection.ts';
import type { KubernetesError } from '../../lambdas/kubernetes/errors.ts';
import { ExchangeFailure, exchange } from '../../lambdas/kubernetes/exchange.ts';
import { type Recovering, RecoveryAgent } from '../../lambdas/kubernetes/expired-server.ts';
import { type ServerClock, serverClock } from '../../lambdas/kubernetes/server-clock.ts';

/** The answer of an API server to an unauthenticated request, or why there is no answer. */
export type Probe =
  | {
      readonly answered: true;
      readonly status: number;
      /** From the `Date` header. */
      readonly clock?: ServerClock;
      readonly certificate?: X509Certificate;
      /** Set if the certificate has expired and is tolerated. */
      readonly recovering?: Recovering | undefined;
    }
  | { readonly answered: false; readonly timedOut: true }
  | { readonly answered: false; readonly timedOut: false; readonly error: KubernetesError };

const DEADLINE_MS = 10_000;
/** /version is a few hundred bytes. */
const MAX_BYTES = 64 * 1024;

/** Requests /version without credentials, so that a failure comes from the network, the name or the certificate. */
export async function probeServer(
  { server, caPem, tlsServerName, addresses, expiredServer: expired }: Connection,
  now: () => number,
  signal: AbortSignal,
): Promise<Probe> {
  const url = new URL(server);
  const bundle = caPem === undefined ? undefined : parseCaBundle(caPem);
  let certificate: X509Certificate | undefined;
  const hostname = hostOf(url);
  const options: AgentOptions = {
    rejectUnauthorized: true,
    lookup: allowedLookup(addresses),
    secureContext: createSecureContext({
      minVersion: 'TLSv1.2',
      ...(bundle ? { ca: bundle.map(String), allowPartialTrustChain: true } : {}),
    }),
    servername: tlsServerName,
    checkServerIdentity: (name, peer) => {
      certificate = new X509Certificate(peer.raw);
      return checkServerIdentity(name, peer);
    },
  };
  const serverName = tlsServerName ?? hostname;
  const recovery =
    expired === undefined || expired === 'never'
      ? undefined
      : new RecoveryAgent(options, { expired, serverName, authorities: bundle ?? [], timeoutMs: DEADLINE_MS, now });
  const agent = recovery ?? new Agent(options);
  const startedAt = now();
  try {
    const reply = await exchange(
      {
        agent,
        hostname,
        port: url.port === '' ? 443 : url.port,
        method: 'GET',
        path: `${url.pathname.replace(/\/+$/, '')}/version`,
        headers: { accept: 'application/json', 'user-agent': 'certmarshal' },
      },
      undefined,
      { timeoutMs: DEADLINE_MS, maxBytes: MAX_BYTES },
      [signal],
      () => true,
    );
    const clock = serverClock(reply.headers.date, startedAt, now());
    return {
      answered: true,
      status: reply.status,
      clock,
      certificate,
      recovering: recovery?.recovering,
    };
  } catch (error) {
    if (!(error instanceof ExchangeFailure) || error.failure === 'aborted') throw error;
    if (error.failure === 'timeout') return { answered: false, timedOut: true };
    const context = { object: `get /version on ${server}`, serverName, bundle, expiredServer: expired, now: now() };
    return { answered: false, timedOut: false, error: connectionError(error, context) };
  } finally {
    agent.destroy();
  }
}
