import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createSimulatedApi, type SimulatedApi } from './api.ts';
import { ApiError } from './api-error.ts';
import { type ApiResponse, json } from './api-response.ts';
import { authenticate, authenticated, type PolicyRule, type User } from './authorization.ts';
import type { Clock } from './clock.ts';
import { createFaults, type FaultRule } from './faults.ts';
import { answerFaultily } from './faulty-response.ts';
import type { Random } from './random.ts';
import { createServingCertificate } from './serving-certificate.ts';

/** A user who proves itself with a bearer token. */
export interface TokenUser {
  readonly name: string;
  /** `system:authenticated` is added. @default [] */
  readonly groups?: readonly string[];
  /** What RBAC grants it. @default [] */
  readonly rules?: readonly PolicyRule[];
}

export interface SimulatedApiServerOptions {
  readonly clock: Clock;
  /** Name of the cluster; its authority is named after it. */
  readonly name: string;
  /** Users besides `admin`, who is in `system:masters`. @default [] */
  readonly users?: readonly TokenUser[];
  /** Served versions of Machine, the preferred one first; none: not a management cluster. @default v1beta2, v1beta1 */
  readonly machineVersions?: readonly string[];
  /** Whether it serves KubeadmControlPlanes, KubeadmConfigs, MachineHealthChecks and machine templates. @default false */
  readonly controlPlanes?: boolean;
  /** When the serving certificate ends, in real time. @default tomorrow */
  readonly certificateNotAfter?: Date;
  /** When it begins. @default a day ago */
  readonly certificateNotBefore?: Date;
  /** Who owns a token that no user has, as an authentication webhook tells. @default nobody */
  readonly authenticateToken?: (token: string) => User | undefined;
  /** For generated names, in [0, 1). @default that of node:crypto */
  readonly random?: Random;
}

/** A request that came in through the network, faulty answers included. */
export interface ServedRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  /** Of the answer; absent until there is one, and where a fault made it. */
  status?: number;
}

/** An API server that exists in this process only, listening on 127.0.0.1 with TLS. */
export interface SimulatedApiServer {
  readonly name: string;
  /** `https://127.0.0.1:<port>` */
  readonly server: string;
  /** The authority of its certificate, PEM. */
  readonly caPem: string;
  /** Token of `admin`, who may do everything and impersonate anybody. */
  readonly adminToken: string;
  /** What is behind the network. */
  readonly api: SimulatedApi;
  /** All requests so far, in the order of their arrival. */
  readonly requests: readonly ServedRequest[];
  /** @throws Error when the user was not defined at the start. */
  tokenFor(user: string): string;
  /** Makes the server misbehave from now on. @returns how to end it. */
  inject(rule: FaultRule): () => void;
  /** Has a new serving certificate from now on, of the same authority; nobody stays connected. @param notAfter in real time */
  serveUntil(notAfter: Date): Promise<void>;
  /** Breaks all connections and ends it. Harmless when called again. */
  stop(): Promise<void>;
  /** How far its clock is ahead of everybody's. Milliseconds. */
  skewMs: number;
}

/** As upstream. */
const MAX_BODY_BYTES = 3 * 1024 * 1024;

/** Starts a simulated kube-apiserver with nothing in it. */
export async function startSimulatedApiServer(options: SimulatedApiServerOptions): Promise<SimulatedApiServer> {
  const {
    clock: commonClock,
    name,
    users = [],
    machineVersions = ['v1beta2', 'v1beta1'],
    controlPlanes = false,
    certificateNotAfter = new Date(Date.now() + 86_400_000),
    certificateNotBefore,
    random = () => randomInt(2 ** 32) / 2 ** 32,
    authenticateToken,
  } = options;
  const served = { skewMs: 0 };
  const clock: Clock = { ...commonClock, now: () => commonClock.now() + served.skewMs };
  const defined: readonly TokenUser[] = [{ name: 'admin', groups: ['system:masters'] }, ...users];
  const tokens = new Map(defined.map((user) => [user.name, randomBytes(24).toString('base64url')]));
  const tokenFor = (user: string): string => {
    const token = tokens.get(user);
    if (token === undefined) throw new Error(`no such user: ${user} (define it in options.users)`);
    return token;
  };
  const credentials = new Map(
    defined.map((user) => [tokenFor(user.name), authenticated(user.name, user.groups ?? [])]),
  );
  const rules = new Map(defined.map((user) => [user.name, user.rules ?? []]));

  const rulesOf = (user: User) => rules.get(user.name) ?? [];
  const api = createSimulatedApi({ clock, random, machineVersions, controlPlanes, rulesOf });
  const faults = createFaults();
  const requests: ServedRequest[] = [];

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '' } = request;
    const seen: ServedRequest = { method, url };
    requests.push(seen);
    // Clients compare it with their own clock, which is real.
    if (served.skewMs !== 0) response.setHeader('date', new Date(Date.now() + served.skewMs).toUTCString());
    const fault = faults.next({ method, url });
    const body = await readBody(request);
    const right = (): ApiResponse => {
      const answer = rightAnswer();
      seen.status = answer.status;
      return answer;
    };
    const rightAnswer = (): ApiResponse => {
      const user = identify(request, credentials, authenticateToken);
      if (user instanceof ApiError) return json(user.code, user.body);
      return body === undefined ? TOO_LARGE : api.handle({ method, url, user, body });
    };
    if (fault !== undefined) return answerFaultily(fault, response, right);
    const { status, contentType, body: text } = right();
    response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(text) }).end(text);
  };

  const { certificate, key, caPem, reissue } = await createServingCertificate(
    `${name} (simulated)`,
    certificateNotAfter,
    certificateNotBefore,
  );
  const listener = createServer({ cert: certificate, key }, (request, response) => {
    serve(request, response).catch((error: unknown) => {
      // A client that goes away in the middle of its request is no fault of ours.
      if (!request.destroyed) throw error;
    });
  });
  // As long as upstream's: else pooled connections end just when a client wants to use them.
  listener.keepAliveTimeout = 180_000;
  // Clients that do not trust us, or break off the handshake, are what some tests are about.
  listener.on('tlsClientError', () => undefined);
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- listening on a port, not on a pipe
  const { port } = listener.address() as AddressInfo;

  let stopped: Promise<unknown> | undefined;
  return Object.assign(served, {
    name,
    server: `https://127.0.0.1:${port}`,
    caPem,
    adminToken: tokenFor('admin'),
    api,
    requests,
    tokenFor,
    inject: (rule: FaultRule) => faults.inject(rule),
    async serveUntil(notAfter: Date) {
      listener.setSecureContext({ cert: await reissue(notAfter), key });
      listener.closeAllConnections();
    },
    async stop() {
      if (stopped === undefined) {
        stopped = once(listener, 'close');
        listener.close();
        listener.closeAllConnections();
      }
      await stopped;
    },
  });
}

function identify(
  { headers, headersDistinct }: IncomingMessage,
  credentials: ReadonlyMap<string, User>,
  authenticateToken: SimulatedApiServerOptions['authenticateToken'],
): User | ApiError {
  try {
    return authenticate(
      credentials,
      {
        authorization: headers.authorization,
        impersonateUser: headersDistinct['impersonate-user']?.[0],
        impersonateGroups: headersDistinct['impersonate-group'] ?? [],
      },
      authenticateToken,
    );
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

const TOO_LARGE = ((): ApiResponse => {
  const message = `Request entity too large: limit is ${MAX_BODY_BYTES}`;
  return json(413, new ApiError(413, 'RequestEntityTooLarge', message).body);
})();

/** @returns undefined when the body is too large. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size <= MAX_BODY_BYTES) pieces.push(piece);
  }
  return size > MAX_BODY_BYTES ? undefined : Buffer.concat(pieces).toString('utf8');
}
