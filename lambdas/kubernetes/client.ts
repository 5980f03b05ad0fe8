import type { X509Certificate } from 'node:crypto';
import { Agent, type AgentOptions, type RequestOptions } from 'node:https';
import { isIP } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createSecureContext, type SecureContext } from 'node:tls';
import { type AddressRule, allowedLookup, ForbiddenAddressError, isAllowedAddress } from '../allowed-addresses.ts';
import { charged, ProcessorTimeError } from '../processor-time.ts';
import type { JsonObject } from '../resources/fields.ts';
import { type AnswerContext, readAnswer, readTextAnswer } from './answer.ts';
import { createBearer } from './bearer-token.ts';
import { connectionError, forbiddenAddress } from './broken-connection.ts';
import { parseCaBundle } from './ca-bundle.ts';
import { type Connection, hostOf, parseServerUrl } from './connection.ts';
import { describeCall } from './describe-call.ts';
import { KubernetesError } from './errors.ts';
import { ExchangeFailure, exchange, type Reply } from './exchange.ts';
import { type Recovering, RecoveryAgent } from './expired-server.ts';
import type { Right } from './missing-right.ts';
import type { PageRoom } from './page-room.ts';
import { retryDelayMs } from './retry.ts';
import { type ServerClock, serverClock } from './server-clock.ts';

/** etcd rejects objects over 1.5 MiB; their JSON is somewhat larger. */
const MAX_OBJECT_BYTES = 4 * 1024 * 1024;

/** Most addresses of one API server. A load balancer has a few, and changes them now and then. */
const MAX_ADDRESSES = 16;

/** A PATCH is a JSON merge patch (RFC 7386). */
export type ApiMethod = 'GET' | 'PUT' | 'POST' | 'PATCH';

export interface ApiCall {
  readonly method: ApiMethod;
  /** Absolute path of the API, every segment percent-encoded: `/apis/certificates.k8s.io/v1/…`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** @default that of plain `certmarshal rbac` */
  readonly right?: Right | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Aborts the call at once, also between two tries. */
  readonly signal?: AbortSignal;
  /** Largest answer, unless the client's limit is smaller. Bytes. @default 4 MiB: no single object is larger */
  readonly maxResponseBytes?: number;
  /** A list as the table that kubectl prints, without its objects. @default the objects */
  readonly asTable?: boolean;
  /** An item of a list with more members, at any depth, is answered as null. @default no limit of its own */
  readonly maxItemMembers?: number | undefined;
  /** The answer's part of the memory that all clusters share. @default none: it is small */
  readonly room?: PageRoom;
}

/** Counts of a client since its creation; for the summary of a sweep, and for pacing writes. */
export interface ClientStats {
  /** Requests sent, retries included. */
  readonly requests: number;
  readonly writes: number;
  /** Second and later tries among them. */
  readonly retries: number;
  /** Answers with status 429. */
  readonly throttled: number;
  /** Bytes of answers, headers not counted. */
  readonly bytes: number;
}

export interface KubernetesClient {
  /** URL of the API server, for messages. */
  readonly server: string;
  /**
   * Names and addresses of the API server: the host of `server`, the name in its certificate, and the newest 16
   * addresses that answered.
   */
  readonly endpoints?: readonly string[];
  /** PEM of the only CAs trusted for this server; absent for Node's built-in roots. */
  readonly caPem?: string;
  readonly clientCertificatePem?: string;
  /** The rule of the connection. @default cluster */
  readonly addresses?: AddressRule;
  readonly stats: ClientStats;
  /** From the newest answer with a date; absent before. */
  readonly clock?: ServerClock | undefined;
  /** Set once a connection was made despite an expired serving certificate; only if the connection allows it. */
  readonly recovering?: Recovering | undefined;
  /**
   * The JSON object of the answer.
   *
   * @throws KubernetesError
   */
  request(call: ApiCall): Promise<JsonObject>;
  /**
   * The plain text from something behind the server, such as the metrics of a kubelet.
   *
   * @throws KubernetesError
   */
  requestText?(call: ApiCall): Promise<string>;
  /** Closes every connection; current and later calls fail as `aborted`. */
  close(): void;
}

export interface ClientOptions {
  /** Deadline of one try, from the wait for a free connection to the last byte. Milliseconds. @default 10 000 */
  readonly requestTimeoutMs?: number;
  /** Upper bound of every call's limit. Bytes. @default none: every call has its own */
  readonly maxResponseBytes?: number;
  /** Connections, and so requests in flight; further ones wait. @default 64 */
  readonly maxSockets?: number;
  /** Whether a PUT or PATCH that was sent is waited for, up to its deadline, although the signal of the call aborts. @default false */
  readonly finishesWrites?: boolean;
  /** Milliseconds since the epoch. @default Date.now */
  readonly now?: () => number;
  /** In [0, 1). @default Math.random */
  readonly random?: () => number;
  /** Rejects when the signal aborts. @default a timer */
  readonly sleep?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/**
 * A client of one API server with its own pool of keep-alive connections (docs/decisions/0003-http1-keep-alive.md).
 * TLS 1.2 or later, only the given CA bundle trusted, no redirect followed, no proxy used, whatever the environment says. Each
 * connection is made to an address that the connection's rule allows.
 *
 * @throws KubernetesError of kind `invalid` or `certificate` when the connection itself cannot be used.
 */
export function createKubernetesClient(connection: Connection, options: ClientOptions = {}): KubernetesClient {
  const {
    requestTimeoutMs = 10_000,
    maxResponseBytes = Infinity,
    maxSockets = 64,
    finishesWrites = false,
    now = Date.now,
    random = Math.random,
    sleep = async (ms, signal) => delay(ms, undefined, signal === undefined ? {} : { signal }),
  } = options;
  const url = parseServerUrl(connection.server);
  if (typeof url === 'string') {
    throw new KubernetesError({
      kind: 'invalid',
      object: 'the server of the cluster',
      problem: url,
      remedy: 'Give the https:// URL of the API server.',
    });
  }
  const server = url.origin + url.pathname.replace(/\/+$/, '');
  const { credentials } = connection;
  const bundle = connection.caPem === undefined ? undefined : readBundle(server, connection.caPem);
  const hostname = hostOf(url);
  const { addresses } = connection;
  // A socket looks up only names.
  if (isIP(hostname) !== 0 && !isAllowedAddress(hostname, addresses))
    throw forbiddenAddress(`the server ${server}`, new ForbiddenAddressError(hostname, hostname));
  const serverName = connection.tlsServerName ?? hostname;
  const agentOptions: AgentOptions = {
    keepAlive: true,
    maxSockets,
    lookup: allowedLookup(addresses),
    // Not left to the environment: NODE_TLS_REJECT_UNAUTHORIZED=0 must not reach a cluster.
    rejectUnauthorized: true,
    // Built once: otherwise every connection parses the bundle again.
    secureContext: secureContextOf(server, connection, bundle),
    servername: connection.tlsServerName,
  };
  const { expiredServer: expired } = connection;
  const recovery =
    expired === undefined || expired === 'never'
      ? undefined
      : new RecoveryAgent(agentOptions, {
          expired,
          serverName,
          authorities: bundle ?? [],
          timeoutMs: requestTimeoutMs,
          now,
        });
  const agent = recovery ?? new Agent(agentOptions);
  const target: RequestOptions = { agent, hostname, port: url.port === '' ? 443 : url.port };
  const bearer = createBearer(server, credentials);
  let clock: ServerClock | undefined;
  const answered = new Set<string>();
  const cameFrom = (address: string | undefined): void => {
    if (address === undefined || answered.has(address)) return;
    const [oldest] = answered;
    if (answered.size === MAX_ADDRESSES && oldest !== undefined) answered.delete(oldest);
    answered.add(address);
  };
  const stats = { requests: 0, writes: 0, retries: 0, throttled: 0, bytes: 0 };
  const closing = new AbortController();

  const attempt = async <T>(
    call: ApiCall,
    object: string,
    body: string | undefined,
    { accept, read }: Form<T>,
  ): Promise<T> => {
    const { method, signal } = call;
    const query = call.query === undefined ? '' : `?${new URLSearchParams(call.query).toString()}`;
    const signals = signal === undefined ? [closing.signal] : [closing.signal, signal];
    try {
      const authorization = await bearer.header(requestTimeoutMs, signals);
      const headers = {
        accept: call.asTable === true ? TABLE : accept,
        'user-agent': 'certmarshal',
        ...(authorization === undefined ? {} : { authorization }),
        ...(body === undefined
          ? {}
          : { 'content-type': contentTypeOf(method), 'content-length': Buffer.byteLength(body) }),
      };
      const path = url.pathname.replace(/\/+$/, '') + call.path + query;
      const outgoing: RequestOptions = { ...target, method, path, headers };
      const limits = {
        timeoutMs: requestTimeoutMs,
        maxBytes: Math.min(call.maxResponseBytes ?? MAX_OBJECT_BYTES, maxResponseBytes),
      };
      stats.requests += 1;
      if (method !== 'GET') stats.writes += 1;
      call.room?.release();
      const sentAt = now();
      const isFinished = finishesWrites && (method === 'PUT' || method === 'PATCH');
      const reply = await exchange(outgoing, body, limits, isFinished ? [closing.signal] : signals, (count) => {
        stats.bytes += count;
        return call.room?.take(count) ?? true;
      });
      cameFrom(reply.remoteAddress);
      clock = serverClock(reply.headers.date, sentAt, now()) ?? clock;
      if (reply.status === 429) stats.throttled += 1;
      const context: AnswerContext = {
        object,
        right: call.right,
        credentials,
        secrets: bearer.secrets,
        maxItemMembers: call.maxItemMembers,
        now: now(),
        clock,
      };
      return charged(() => read(reply, context));
    } catch (error) {
      if (!(error instanceof ExchangeFailure)) throw error;
      // The first cause counts: the deadline of a try may pass at the same moment.
      if (error.failure === 'aborted' || closing.signal.aborted || signal?.aborted) throw aborted(object, signal);
      if (error.failure === 'connection') {
        throw connectionError(error, { object, serverName, bundle, expiredServer: expired, now: now() });
      }
      throw new KubernetesError({
        kind: 'timeout',
        object,
        problem: `no complete answer within ${requestTimeoutMs} ms`,
        remedy:
          method === 'GET'
            ? 'Check the load of the API server and the route to it.'
            : 'It may have been done anyway: read the object again before writing it again.',
      });
    }
  };

  async function request(call: ApiCall): Promise<JsonObject>;
  async function request<T>(call: ApiCall, form: Form<T>): Promise<T>;
  async function request(call: ApiCall, form: Form<unknown> = JSON_FORM): Promise<unknown> {
    const object = describeCall(call.method, call.path, server);
    const body = call.body === undefined ? undefined : jsonOf(call.body, object);
    for (let retries = 0; ; retries += 1) {
      if (closing.signal.aborted || call.signal?.aborted) throw aborted(object, call.signal);
      if (retries > 0) stats.retries += 1;
      try {
        return await attempt(call, object, body, form);
      } catch (error) {
        if (!(error instanceof KubernetesError)) throw error;
        const wait = retryDelayMs(error, { method: call.method, retries, random: random() });
        if (wait === undefined) throw error;
        await sleep(wait, call.signal).catch((interruption: unknown) => {
          throw call.signal?.aborted ? aborted(object, call.signal) : interruption;
        });
      }
    }
  }

  return {
    server,
    get endpoints() {
      return [...new Set([hostname, serverName, ...answered])];
    },
    caPem: connection.caPem,
    ...(credentials.kind === 'certificate' ? { clientCertificatePem: credentials.certificatePem } : {}),
    addresses,
    stats,
    get clock() {
      return clock;
    },
    get recovering() {
      return recovery?.recovering;
    },
    request,
    requestText: async (call) => request(call, TEXT_FORM),
    close() {
      // Calls first: a pool that only loses its connections opens new ones for waiting calls.
      closing.abort();
      agent.destroy();
    },
  };
}

function contentTypeOf(method: ApiMethod): string {
  return method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
}

/** The expected answer, and how it is read. */
interface Form<T> {
  readonly accept: string;
  readonly read: (reply: Reply, context: AnswerContext) => T;
}

/** Source: Kubernetes API concepts, "Receiving resources as Tables". */
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';

const JSON_FORM: Form<JsonObject> = { accept: 'application/json', read: readAnswer };
const TEXT_FORM: Form<string> = { accept: 'text/plain', read: readTextAnswer };

function readBundle(server: string, pem: string): readonly X509Certificate[] {
  try {
    return parseCaBundle(pem);
  } catch (error) {
    throw new KubernetesError({
      kind: 'certificate',
      object: `the CA bundle for ${server}`,
      problem: error instanceof RangeError ? error.message : 'it cannot be read',
      remedy: "Give the cluster's CA certificates as PEM.",
    });
  }
}

function secureContextOf(
  server: string,
  { credentials }: Connection,
  bundle: readonly X509Certificate[] | undefined,
): SecureContext {
  try {
    return createSecureContext({
      minVersion: 'TLSv1.2',
      // Like Go, and so kubectl: an intermediate in the bundle is trusted without its root.
      ...(bundle ? { ca: bundle.map((certificate) => certificate.toString()), allowPartialTrustChain: true } : {}),
      ...(credentials.kind === 'certificate' ? { cert: credentials.certificatePem, key: credentials.keyPem } : {}),
    });
  } catch {
    // OpenSSL's message may quote the input; the only input left that can be wrong is our key pair.
    throw new KubernetesError({
      kind: 'certificate',
      object: `the client certificate for ${server}`,
      problem: 'certificate and key cannot be read or do not belong together',
      remedy: 'Renew the credentials: a PEM certificate and its unencrypted PEM key.',
    });
  }
}

/** JSON.parse accepts any depth, JSON.stringify does not: data from a cluster may fail to serialize. */
function jsonOf(body: unknown, object: string): string {
  try {
    return JSON.stringify(body);
  } catch {
    throw new KubernetesError({
      kind: 'invalid',
      object,
      problem: 'the object to send cannot be written as JSON',
      remedy: 'Find an object that is nested thousands of levels deep.',
    });
  }
}

function aborted(object: string, signal: AbortSignal | undefined): KubernetesError {
  const reason: unknown = signal?.reason;
  if (reason instanceof ProcessorTimeError)
    return new KubernetesError(
      { kind: 'aborted', object, problem: reason.message, remedy: reason.remedy },
      { cause: reason },
    );
  return new KubernetesError(
    {
      kind: 'aborted',
      object,
      problem: signal?.aborted ? 'canceled, or out of time' : 'the client was closed',
      remedy: 'Run it again, with more time if it timed out; if it happens again, check the load of the API server.',
    },
    signal?.aborted ? { cause: signal.reason } : {},
  );
}
