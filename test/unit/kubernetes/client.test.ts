import { X509Certificate } from 'node:crypto';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  type ApiCall,
  type ClientOptions,
  createKubernetesClient,
  type KubernetesClient,
} from '../../../lambdas/kubernetes/client.ts';
import type { Connection } from '../../../lambdas/kubernetes/connection.ts';
import { KubernetesError, type KubernetesErrorKind } from '../../../lambdas/kubernetes/errors.ts';
import {
  answer,
  createAuthority,
  defaultCertificates,
  type Handler,
  LOOPBACK,
  listen,
  startTlsServer,
  statusBody,
  TOKEN,
} from './tls-server.ts';

const LIST: ApiCall = { method: 'GET', path: '/apis/certificates.k8s.io/v1/certificatesigningrequests' };
const WRITE: ApiCall = { method: 'PUT', path: `${LIST.path}/csr-1/approval`, body: {} };

/** Of a server that needs no CA bundle, for it is never believed. */
const unproven = (server: string, more: Partial<Connection> = {}): Connection => ({
  server,
  credentials: { kind: 'token', token: TOKEN },
  addresses: 'local',
  ...more,
});

/** A client that ends with the test and does not wait between tries, but tells how long it would have. */
function connect(
  connection: Connection,
  options: ClientOptions = {},
): { readonly client: KubernetesClient; readonly waits: number[] } {
  const waits: number[] = [];
  const client = createKubernetesClient(connection, {
    requestTimeoutMs: 5_000,
    random: () => 0.5,
    sleep: async (ms) => {
      waits.push(ms);
    },
    ...options,
  });
  onTestFinished(() => client.close());
  return { client, waits };
}

async function failure(call: Promise<unknown>): Promise<KubernetesError> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof KubernetesError)) throw new Error('expected a KubernetesError', { cause: error });
  for (const text of [error.message, error.stack ?? '', JSON.stringify(error)]) expect(text).not.toContain(TOKEN);
  return error;
}

const ok: Handler = (_, response) => answer(response, 200, { kind: 'APIGroup' });

/** Bytes that are still in use after a full collection. */
function memoryInUse(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function') throw new Error('no collector');
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe('answers', () => {
  const htmlPage = '<html><body>Please log in</body></html>';
  const status =
    (code: number, reason: string, message: string): Handler =>
    (_, response) =>
      answer(response, code, statusBody(code, reason, message));
  const typed =
    (code: number, body: string, type = 'application/json', more = {}): Handler =>
    (_, response) =>
      answer(response, code, body, { 'content-type': type, ...more });
  const notUtf8: Handler = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]));
  };
  const cutOff: Handler = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1_000 });
    response.write('{"items":', () => response.destroy());
  };
  const inPieces = `bad ${TOKEN.slice(0, 5)}\u0007${TOKEN.slice(5)} there`;
  const half = `{"items":[{"metadata":{"name":"${TOKEN}`;
  const REFUSED = /answered 401 Unauthorized \(Unauthorized\)\. The token is not accepted: renew the credentials\.$/;
  const DENIED =
    /^list certificatesigningrequests on https:.*User "x" cannot list.*: certmarshal rbac \| kubectl apply -f - /;
  const NOT_JSON = /not one whole JSON object/;
  const BROKE = /the connection broke \(ECONNRESET\)/;

  test.each<[name: string, handler: Handler, kind: KubernetesErrorKind, says: RegExp, requests: number]>([
    ['401', status(401, 'Unauthorized', 'Unauthorized'), 'unauthorized', REFUSED, 1],
    ['the token in pieces', status(401, 'Unauthorized', inPieces), 'unauthorized', /bad \[redacted\] there/, 1],
    ['403', status(403, 'Forbidden', 'User "x" cannot list'), 'forbidden', DENIED, 1],
    ['404 in plain text', typed(404, '404 page not found', 'text/plain'), 'not-found', /answered 404\. It is gone/, 1],
    ['409', status(409, 'Conflict', 'the object has been modified'), 'conflict', /the object has been modified/, 1],
    ['410', status(410, 'Expired', 'too old'), 'gone', /410 Expired/, 1],
    ['422', status(422, 'Invalid', 'spec: wrong'), 'invalid', /422 Invalid \(spec: wrong\)/, 1],
    ['429 without Retry-After', typed(429, 'Too many requests', 'text/plain'), 'throttled', /answered 429\./, 4],
    ['500', status(500, 'InternalError', 'etcd is away'), 'server', /etcd is away/, 4],
    [
      'HTML with 200',
      typed(200, htmlPage, 'text/html; charset=utf-8'),
      'not-kubernetes',
      /The endpoint answers HTML: is there a proxy/,
      1,
    ],
    ['HTML with 403', typed(403, htmlPage, 'text/html'), 'not-kubernetes', /answered 403 with HTML/, 1],
    ['HTML of a load balancer', typed(503, htmlPage, 'text/html'), 'not-kubernetes', /answered 503 with HTML/, 4],
    [
      'protobuf',
      typed(200, 'k8s', 'application/vnd.kubernetes.protobuf'),
      'not-kubernetes',
      /answered with application\/vnd\.kubernetes\.protobuf/,
      1,
    ],
    ['no content type', (_, response) => response.end('{}'), 'not-kubernetes', /without a content type/, 1],
    ['half a JSON', typed(200, half), 'not-kubernetes', NOT_JSON, 1],
    ['JSON that is no object', typed(200, '[]'), 'not-kubernetes', NOT_JSON, 1],
    ['JSON that is not UTF-8', notUtf8, 'not-kubernetes', NOT_JSON, 1],
    ['an empty body', typed(200, ''), 'not-kubernetes', /an empty body/, 1],
    [
      'a redirect',
      typed(302, htmlPage, 'text/html', { location: '/login' }),
      'not-kubernetes',
      /a redirect\. Redirects are never followed/,
      1,
    ],
    ['a body cut off by the end of the connection', cutOff, 'unreachable', BROKE, 4],
    ['a connection that ends without an answer', (_, response) => response.destroy(), 'unreachable', BROKE, 4],
  ])('%s', async (_name, handler, kind, says, requests) => {
    const server = await startTlsServer(handler);
    const { client } = connect(server.connection);
    const error = await failure(client.request(LIST));
    expect(error.kind).toBe(kind);
    expect(error.message).toMatch(says);
    expect(error.object).toBe(`list certificatesigningrequests on ${server.connection.server}`);
    expect(server.received).toHaveLength(requests);
    expect(client.stats).toMatchObject({ requests, writes: 0, retries: requests - 1 });
  });

  test('text of a Status is cleaned and shortened', async () => {
    const server = await startTlsServer((_, response) =>
      answer(response, 403, statusBody(403, 'Forbidden', `\u001B[31mred\u202E\u0000\nline ${'x'.repeat(100_000)}`)),
    );
    const { problem } = await failure(connect(server.connection).client.request(LIST));
    expect(problem).toMatch(/^answered 403 Forbidden \(\[31mred line x+…\)$/);
    expect(problem.length).toBeLessThan(350);
  });

  test('a refused client certificate is not called a token', async () => {
    const { authority } = await defaultCertificates();
    const server = await startTlsServer((_, response) => answer(response, 401, statusBody(401, 'Unauthorized', 'no')));
    const own = await authority.issue({ type: 'dns', value: 'client' });
    const { client } = connect({
      ...server.connection,
      credentials: { kind: 'certificate', ...own },
      addresses: 'local',
    });
    expect((await failure(client.request(LIST))).remedy).toContain('client certificate is not accepted');
    expect(server.received[0]?.headers.authorization).toBeUndefined();

    const at = new X509Certificate(own.certificatePem).validToDate.getTime() + 35 * 24 * 60 * 60_000;
    const dated = await startTlsServer((_, response) =>
      answer(response, 401, statusBody(401, 'Unauthorized', 'no'), { date: new Date(at).toUTCString() }),
    );
    const later = createKubernetesClient(
      { ...dated.connection, credentials: { kind: 'certificate', ...own }, addresses: 'local' },
      { now: () => at },
    );
    onTestFinished(() => later.close());
    expect(later.clientCertificatePem).toBe(own.certificatePem);
    const expired = await failure(later.request(LIST));
    expect(expired.problem).toMatch(/; the client certificate expired 35 days ago, on .* UTC: /);
    expect(expired.remedy).toContain('admin.conf');
  });
});

describe('size', () => {
  test('an endless body is given up at the limit', async () => {
    const server = await startTlsServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const more = (): void => {
        while (!response.destroyed && response.write(' '.repeat(16_384)));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    });
    const { client } = connect(server.connection, { maxResponseBytes: 100_000 });
    const error = await failure(client.request(LIST));
    expect(error.kind).toBe('too-large');
    expect(client.stats.bytes).toBeGreaterThan(100_000);
    expect(client.stats.bytes).toBeLessThan(400_000);
    expect(client.stats.requests).toBe(1);
  });

  test('a body in pieces of one byte takes no more memory than it has bytes', async () => {
    const pieces = 200_000;
    const server = await startTlsServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' });
      response.flushHeaders();
      response.socket?.write('1\r\n \r\n'.repeat(pieces));
    });
    const { client } = connect(server.connection);
    const before = memoryInUse();
    const call = failure(client.request(LIST));
    await expect.poll(() => client.stats.bytes).toBe(pieces);
    expect(memoryInUse() - before).toBeLessThan(8 * 1024 * 1024);
    client.close();
    await call;
  });

  test('an announced size over the limit is not read; the smaller of both limits counts', async () => {
    const server = await startTlsServer((_, response) => answer(response, 200, { padding: 'x'.repeat(5_000) }));
    const { client } = connect(server.connection, { maxResponseBytes: 4_000 });
    expect((await failure(client.request({ ...LIST, maxResponseBytes: 10_000 }))).kind).toBe('too-large');
  });

  test('an endless error page keeps its status', async () => {
    const server = await startTlsServer((_, response) => {
      response.writeHead(403, { 'content-type': 'application/json' });
      response.write(' '.repeat(400_000));
    });
    expect((await failure(connect(server.connection).client.request(LIST))).kind).toBe('forbidden');
  });
});

describe('time', () => {
  test('a server that never answers costs one deadline a try', async () => {
    const server = await startTlsServer(() => {});
    const { client } = connect(server.connection, { requestTimeoutMs: 30 });
    const error = await failure(client.request(LIST));
    expect(error.kind).toBe('timeout');
    expect(error.problem).toBe('no complete answer within 30 ms');
    expect(client.stats).toMatchObject({ requests: 4, retries: 3 });
  });

  test('a body that drips is under the same deadline', async () => {
    const server = await startTlsServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const drip = setInterval(() => response.write(' '), 5);
      response.on('close', () => clearInterval(drip));
    });
    const { client } = connect(server.connection, { requestTimeoutMs: 40 });
    expect((await failure(client.request(LIST))).kind).toBe('timeout');
  });

  test('a port that accepts and says nothing ends with the deadline, during the handshake', async () => {
    const mute = createServer(() => {});
    const port = await listen(mute);
    const { client } = connect(unproven(`https://127.0.0.1:${port}`), { requestTimeoutMs: 30 });
    expect((await failure(client.request(WRITE))).kind).toBe('timeout');
  });

  test('a write that timed out is not repeated', async () => {
    const server = await startTlsServer(() => {});
    const { client } = connect(server.connection, { requestTimeoutMs: 30 });
    expect((await failure(client.request(WRITE))).remedy).toMatch(/may have been done anyway/);
    expect(client.stats).toMatchObject({ requests: 1, writes: 1 });
  });

  test('the signal ends a try under way', async () => {
    const stop = new AbortController();
    const server = await startTlsServer(() => stop.abort(new Error('enough')));
    const error = await failure(connect(server.connection).client.request({ ...LIST, signal: stop.signal }));
    expect(error.kind).toBe('aborted');
    expect(error.cause).toEqual(new Error('enough'));
    expect(server.received).toHaveLength(1);
  });

  test.each(['PUT', 'PATCH'] as const)(
    'finishes a %s that was sent, for who asks for that, and begins none',
    async (method) => {
      const stop = new AbortController();
      const server = await startTlsServer((_, response) => {
        stop.abort();
        answer(response, 200, { done: true });
      });
      const { client } = connect(server.connection, { finishesWrites: true });
      const call = { ...WRITE, method, signal: stop.signal };
      expect(await client.request(call)).toEqual({ done: true });
      expect((await failure(client.request(call))).kind).toBe('aborted');
      expect(server.received).toHaveLength(1);
    },
  );

  test('finishes no write beyond its deadline, and no read', async () => {
    const stop = new AbortController();
    const server = await startTlsServer(() => stop.abort());
    const { client } = connect(server.connection, { finishesWrites: true, requestTimeoutMs: 1_000 });
    expect((await failure(client.request({ ...WRITE, signal: stop.signal }))).kind).toBe('aborted');
    const again = new AbortController();
    const silent = await startTlsServer(() => again.abort());
    const reader = connect(silent.connection, { finishesWrites: true }).client;
    expect((await failure(reader.request({ ...LIST, signal: again.signal }))).kind).toBe('aborted');
  });

  test('the signal ends the wait between two tries', async () => {
    const stop = new AbortController();
    const server = await startTlsServer((_, response) => answer(response, 429, '{}', { 'retry-after': '20' }));
    const client = createKubernetesClient(server.connection);
    onTestFinished(() => client.close());
    const failed = failure(client.request({ ...LIST, signal: stop.signal }));
    await expect.poll(() => client.stats.throttled).toBe(1);
    stop.abort();
    // No timer is over before what the signal ends at once.
    const waiting = delay(1_000).then(() => ({ kind: 'still waiting' }));
    expect((await Promise.race([failed, waiting])).kind).toBe('aborted');
  });

  test('an aborted signal sends nothing', async () => {
    const server = await startTlsServer((_, response) => answer(response, 200, {}));
    const { client } = connect(server.connection);
    expect((await failure(client.request({ ...LIST, signal: AbortSignal.abort() }))).kind).toBe('aborted');
    expect(client.stats.requests).toBe(0);
    expect(server.connections()).toBe(0);
  });

  test('no listener stays on a signal that outlives the calls', async () => {
    const { signal } = new AbortController();
    const added: unknown[] = [];
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (type: string, listener: () => void, options?: object) => {
      added.push(listener);
      add(type, listener, options);
    };
    signal.removeEventListener = (type: string, listener: () => void) => {
      added.splice(added.indexOf(listener), 1);
      remove(type, listener);
    };
    const server = await startTlsServer((_, response) => answer(response, 200, {}));
    const { client } = connect(server.connection);
    for (let call = 0; call < 5; call += 1) await client.request({ ...LIST, signal });
    expect(added).toEqual([]);
  });

  test('close ends what waits for a connection: nothing is written after it', async () => {
    const server = await startTlsServer(() => client.close());
    const { client } = connect(server.connection, { maxSockets: 1 });
    const errors = await Promise.all([1, 2, 3].map(async () => failure(client.request(WRITE))));
    expect(errors.map(({ kind }) => kind)).toEqual(['aborted', 'aborted', 'aborted']);
    expect(server.received).toHaveLength(1);
  });

  test('close ends what is under way and what comes later', async () => {
    const server = await startTlsServer(() => client.close());
    const { client } = connect(server.connection);
    const error = await failure(client.request(LIST));
    expect([error.kind, error.problem]).toEqual(['aborted', 'the client was closed']);
    expect((await failure(client.request(LIST))).kind).toBe('aborted');
    expect(server.received).toHaveLength(1);
  });
});

describe('retries', () => {
  test('Retry-After is waited for, with jitter on top', async () => {
    const server = await startTlsServer((_, response) =>
      server.received.length === 1 ? answer(response, 429, '{}', { 'retry-after': '2' }) : answer(response, 200, {}),
    );
    const { client, waits } = connect(server.connection);
    await client.request(WRITE);
    expect(waits).toEqual([2_100]);
    expect(client.stats).toMatchObject({ requests: 2, writes: 2, retries: 1, throttled: 1 });
  });

  test('reads back off exponentially and in the end succeed', async () => {
    const server = await startTlsServer((_, response) =>
      server.received.length <= 3 ? answer(response, 503, '{}') : answer(response, 200, { kind: 'List' }),
    );
    const { client, waits } = connect(server.connection);
    expect(await client.request(LIST)).toEqual({ kind: 'List' });
    expect(waits).toEqual([100, 200, 400]);
  });

  test.each([
    ['500', 500, {}, 1],
    ['503 without Retry-After', 503, {}, 1],
    ['503 with Retry-After', 503, { 'retry-after': '1' }, 4],
    ['409', 409, {}, 1],
    ['429 that asks for a minute', 429, { 'retry-after': '60' }, 1],
  ] as const)('a write is not repeated unless nothing was done: %s', async (_name, status, headers, times) => {
    const server = await startTlsServer((_, response) => answer(response, status, '{}', headers));
    const { client } = connect(server.connection);
    await failure(client.request(WRITE));
    expect(server.received).toHaveLength(times);
  });

  test('a write whose connection broke is not repeated', async () => {
    const server = await startTlsServer((_, response) => response.destroy());
    expect((await failure(connect(server.connection).client.request(WRITE))).kind).toBe('unreachable');
    expect(server.received).toHaveLength(1);
  });

  test.each([LIST, WRITE])('$method: a refused connection is tried again', async (call) => {
    const probe = createServer();
    const port = await listen(probe);
    await new Promise((resolve) => {
      probe.close(resolve);
    });
    const { client } = connect(unproven(`https://127.0.0.1:${port}`));
    const error = await failure(client.request(call));
    expect([error.kind, error.code]).toEqual(['unreachable', 'ECONNREFUSED']);
    expect(client.stats.requests).toBe(4);
  });
});

describe('trust', () => {
  test('another CA', async () => {
    const stranger = await createAuthority('test-ca');
    const server = await startTlsServer(ok, { caPem: stranger.certificatePem });
    const error = await failure(connect(server.connection).client.request(LIST));
    expect(error.kind).toBe('certificate');
    expect(error.remedy).toMatch(/^The CA bundle does not sign this endpoint/);
    expect(server.received).toEqual([]);
  });

  test('no CA at all: only public roots are trusted', async () => {
    const server = await startTlsServer(ok);
    const { caPem: _, ...connection } = server.connection;
    const error = await failure(connect(connection).client.request(LIST));
    expect(error.kind).toBe('certificate');
    expect(error.remedy).toMatch(/^No CA bundle is given/);
  });

  test('NODE_TLS_REJECT_UNAUTHORIZED=0 changes nothing', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    // Node warns about the variable once; here it is on purpose.
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    onTestFinished(() => {
      vi.restoreAllMocks();
      vi.unstubAllEnvs();
    });
    const stranger = await createAuthority('test-ca');
    const server = await startTlsServer(ok, { caPem: stranger.certificatePem });
    expect((await failure(connect(server.connection).client.request(LIST))).kind).toBe('certificate');
  });

  test('an expired serving certificate is told apart from a wrong CA', async () => {
    const { authority } = await defaultCertificates();
    const server = await startTlsServer(ok, { serving: await authority.issue(LOOPBACK, -3) });
    const error = await failure(connect(server.connection).client.request(LIST));
    expect([error.kind, error.code]).toEqual(['certificate-expired', 'CERT_HAS_EXPIRED']);
    expect(error.problem).toBe('a certificate of the endpoint has expired');
    const old = await createAuthority('old-ca', -10);
    const caPem = `${server.connection.caPem}${old.certificatePem}`;
    const unsure = await failure(connect({ ...server.connection, caPem }).client.request(LIST));
    expect(unsure.problem).toBe('a certificate of the endpoint, or its CA, has expired');
    expect(error.remedy).toMatch(
      /^Renew the certificate of the API server: certmarshal runbook recovery\. To connect until then, add --tolerate-expired authority; /,
    );
    const proving = connect({ ...server.connection, expiredServer: 'never' });
    expect((await failure(proving.client.request(LIST))).remedy).toMatch(
      /^Renew the certificate of the API server: certmarshal runbook recovery\. Neither --tolerate-expired nor recovery in fleet.yaml applies here: its Machines prove names/,
    );
  });

  test('an expired CA bundle is told apart from an expired serving certificate', async () => {
    const old = await createAuthority('old-ca', -10);
    const server = await startTlsServer(ok, { serving: await old.issue(LOOPBACK), caPem: old.certificatePem });
    const error = await failure(connect(server.connection).client.request(LIST));
    expect(error.problem).toBe('every certificate of the CA bundle has expired');
  });

  test('a serving certificate that is not valid yet', async () => {
    const { authority } = await defaultCertificates();
    const server = await startTlsServer(ok, { serving: await authority.issue(LOOPBACK, 3) });
    expect((await failure(connect(server.connection).client.request(LIST))).problem).toMatch(/not valid yet/);
  });

  test('a wrong server name, and tls-server-name', async () => {
    const { authority } = await defaultCertificates();
    const serving = await authority.issue({ type: 'dns', value: 'api.example.com' });
    const server = await startTlsServer(ok, { serving });
    const error = await failure(connect(server.connection).client.request(LIST));
    expect(error.problem).toBe('the certificate of the endpoint is not for 127.0.0.1');
    const { client } = connect({ ...server.connection, tlsServerName: 'api.example.com' });
    expect(await client.request(LIST)).toEqual({ kind: 'APIGroup' });
  });

  test('any certificate of a bundle will do, also an intermediate without its root', async () => {
    const [first, second] = await Promise.all([createAuthority('first'), createAuthority('second')]);
    const below = await second.intermediate();
    for (const [signer, trusted] of [
      [first, first],
      [second, second],
      [below, below],
    ] as const) {
      const others = (await createAuthority('other')).certificatePem;
      const server = await startTlsServer(ok, {
        serving: await signer.issue(LOOPBACK),
        caPem: `# comment\r\n${others}\n${trusted.certificatePem}\n`,
      });
      expect(await connect(server.connection).client.request(LIST)).toEqual({ kind: 'APIGroup' });
    }
  });

  test('plain HTTP behind an https URL', async () => {
    const plain = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const port = await listen(plain);
    const { client } = connect(unproven(`https://127.0.0.1:${port}`));
    expect((await failure(client.request(LIST))).problem).toBe('the endpoint does not speak TLS');
  });
});

describe('connection', () => {
  test('calls one after the other share one connection', async () => {
    const server = await startTlsServer((_, response) => answer(response, 200, {}));
    const { client } = connect(server.connection);
    for (let call = 0; call < 20; call += 1) await client.request(call % 2 ? LIST : WRITE);
    expect(server.connections()).toBe(1);
    expect(client.stats).toEqual({ requests: 20, writes: 10, retries: 0, throttled: 0, bytes: 40 });
  });

  test('tells under which names and at which addresses it reaches the server', async () => {
    const { authority } = await defaultCertificates();
    const serving = await authority.issue({ type: 'dns', value: 'api.example.com' });
    const server = await startTlsServer((_, response) => answer(response, 200, {}), { serving });
    const { client } = connect({
      ...server.connection,
      server: server.connection.server.replace('127.0.0.1', 'localhost'),
      tlsServerName: 'api.example.com',
    });
    expect(client.endpoints).toEqual(['localhost', 'api.example.com']);
    await client.request(LIST);
    await client.request(LIST);
    expect(client.endpoints).toEqual(['localhost', 'api.example.com', '127.0.0.1']);
  });

  test('no more connections than allowed', async () => {
    const server = await startTlsServer((_, response) => answer(response, 200, {}));
    const { client } = connect(server.connection, { maxSockets: 3 });
    await Promise.all(Array.from({ length: 30 }, async () => client.request(LIST)));
    expect(server.connections()).toBe(3);
    expect(server.received).toHaveLength(30);
  });

  test('what is sent', async () => {
    const server = await startTlsServer((_, response) => answer(response, 200, {}));
    const { client } = connect({ ...server.connection, server: `${server.connection.server}/k8s/clusters/c-1/` });
    await client.request({ ...WRITE, query: { dryRun: 'All', fieldManager: 'a b&c' }, body: { text: 'ü' } });
    expect(server.received[0]).toMatchObject({
      method: 'PUT',
      url: `/k8s/clusters/c-1${WRITE.path}?dryRun=All&fieldManager=a+b%26c`,
      headers: { authorization: `Bearer ${TOKEN}`, accept: 'application/json', 'content-type': 'application/json' },
      body: '{"text":"ü"}',
    });
  });

  test('a body that cannot be written as JSON is an error of the call', async () => {
    const server = await startTlsServer((_, response) => answer(response, 200, {}));
    const body: unknown = JSON.parse('['.repeat(200_000) + ']'.repeat(200_000));
    expect((await failure(connect(server.connection).client.request({ ...WRITE, body }))).kind).toBe('invalid');
    expect(server.received).toEqual([]);
  });

  test('proxies of the environment are not used', async () => {
    vi.stubEnv('HTTPS_PROXY', 'http://127.0.0.1:9');
    onTestFinished(() => void vi.unstubAllEnvs());
    const server = await startTlsServer((_, response) => answer(response, 200, {}));
    expect(await connect(server.connection).client.request(LIST)).toEqual({});
  });

  const bad = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  const withToken = (token: string) => unproven('https://h', { credentials: { kind: 'token', token } });
  const credentials = { kind: 'certificate', certificatePem: TOKEN, keyPem: TOKEN } as const;
  test.each<[string, Connection, KubernetesErrorKind, RegExp]>([
    ['http', unproven('http://10.0.0.1'), 'invalid', /is not an https/],
    ['no URL', unproven('https://'), 'invalid', /is not a URL/],
    ['user name', unproven(`https://u:${TOKEN}@h`), 'invalid', /carries a user name/],
    ['empty bundle', unproven('https://h', { caPem: '' }), 'certificate', /holds no PEM certificate/],
    [
      'broken bundle',
      unproven('https://h', { caPem: bad }),
      'certificate',
      /certificate 1 of 1 in the CA bundle cannot be read/,
    ],
    ['empty token', withToken(''), 'invalid', /it is empty/],
    ['token with a line break', withToken(`${TOKEN}\r\nx: y`), 'invalid', /white space/],
    ['broken key', unproven('https://h', { credentials }), 'certificate', /certificate and key cannot be read/],
  ])('unusable: %s', async (_name, connection, kind, says) => {
    const error = await failure((async () => createKubernetesClient(connection))());
    expect(error.kind).toBe(kind);
    expect(error.message).toMatch(says);
  });
});
