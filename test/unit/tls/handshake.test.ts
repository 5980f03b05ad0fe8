import { X509Certificate } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type HandshakeResult, handshake } from '../../../lambdas/tls/handshake.ts';
import { failureOf } from '../../../lambdas/tls/handshake-failure.ts';
import { handshakes } from '../../../lambdas/tls/handshakes.ts';
import type { CertificateAuthority, CertificatePair } from '../../peculiar.ts';
import { createAuthority, createServing, listen, listenRaw, listenTls } from './tls-servers.ts';

const host = '127.0.0.1';
const { signal } = new AbortController();
const options = { signal, timeoutMs: 3000, addresses: 'local' } as const;

let authority: CertificateAuthority;
let unrelated: CertificateAuthority;
let serving: CertificatePair;
/** Leaf, an authority that has nothing to do with it, and its own. */
let untidy: CertificatePair;

beforeAll(async () => {
  authority = await createAuthority('kubernetes');
  unrelated = await createAuthority('unrelated');
  serving = await createServing(authority, { dnsNames: ['server'] });
  untidy = { key: serving.key, cert: serving.cert + unrelated.certificate + authority.certificate };
});

function fingerprints(result: HandshakeResult): readonly string[] {
  if (!result.ok) throw new Error(result.failure.message);
  return result.chain.map((read) => (read.ok ? read.certificate.fingerprint : read.problem));
}

function fingerprintOf(pem: string): string {
  return new X509Certificate(pem).fingerprint256.replaceAll(':', '').toLowerCase();
}

function failure(result: HandshakeResult) {
  if (result.ok) throw new Error('it succeeded');
  return result.failure;
}

describe('shows the chain as it was sent', () => {
  const whole = () => [serving.cert, unrelated.certificate, authority.certificate].map(fingerprintOf);

  test.each([
    ['TLSv1.2', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
    ['TLSv1.3', 'TLS_AES_128_GCM_SHA256'],
    ['TLSv1.3', 'TLS_AES_256_GCM_SHA384'],
    ['TLSv1.3', 'TLS_CHACHA20_POLY1305_SHA256'],
  ] as const)('%s %s', async (version, ciphers) => {
    const port = await listenTls({ ...untidy, minVersion: version, maxVersion: version, ciphers });
    const result = await handshake({ host, port }, options);
    expect(fingerprints(result)).toEqual(whole());
    expect(result).toMatchObject({ protocol: version });
  });

  test.each(['TLSv1.2', 'TLSv1.3'] as const)('%s of a server that demands a client certificate', async (version) => {
    const demanding = { requestCert: true, rejectUnauthorized: true, ca: [authority.certificate] };
    const port = await listenTls({ ...untidy, ...demanding, minVersion: version, maxVersion: version });
    expect(fingerprints(await handshake({ host, port }, options))).toEqual(whole());
  });

  test('after a HelloRetryRequest', async () => {
    const port = await listenTls({ ...untidy, minVersion: 'TLSv1.3', ecdhCurve: 'P-521' });
    expect(fingerprints(await handshake({ host, port }, options))).toEqual(whole());
  });

  test('100 certificates, and no more', async () => {
    const key = serving.key;
    const chain = (count: number) => serving.cert + authority.certificate.repeat(count - 1);
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const just = await listenTls({ key, cert: chain(100), maxVersion: version });
      expect(fingerprints(await handshake({ host, port: just }, options))).toHaveLength(100);
      const over = await listenTls({ key, cert: chain(101), maxVersion: version });
      expect(failure(await handshake({ host, port: over }, options)).kind).toBe('too-large');
    }
  });

  test('with the name of SNI that is asked for, the host where it is a name, none for an address', async () => {
    const names: unknown[] = [];
    const server = createTlsServer({
      ...serving,
      SNICallback: (name, done) => {
        names.push(name);
        done(null);
      },
    });
    server.on('secureConnection', (socket) => names.push(socket.getPeerCertificate()));
    const port = await listen(server);
    await handshake({ host, port, serverName: 'node-1' }, options);
    await handshake({ host: 'localhost', port }, options);
    await handshake({ host, port }, options);
    expect(names.filter((name) => typeof name === 'string')).toEqual(['node-1', 'localhost']);
  });

  test('sends no byte of an application, and leaves the handshake complete', async () => {
    let bytes = 0;
    let complete = 0;
    let broken = 0;
    let closed = 0;
    const server = createTlsServer(serving);
    server.on('tlsClientError', () => {
      broken += 1;
    });
    server.on('secureConnection', (socket) => {
      complete += 1;
      socket.on('error', () => {});
      socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      socket.on('close', () => {
        closed += 1;
      });
    });
    const port = await listen(server);
    for (let round = 0; round < 5; round++) expect((await handshake({ host, port }, options)).ok).toBe(true);
    await expect.poll(() => closed).toBe(5);
    expect({ bytes, complete, broken }).toEqual({ bytes: 0, complete: 5, broken: 0 });
  });
});

describe('ends, and says why', () => {
  test('a server that accepts and says nothing', async () => {
    const port = await listenRaw(() => {});
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const within = async (timeoutMs: number) =>
      handshake({ host, port }, { signal: stop.signal, timeoutMs, addresses: 'local' });
    // The deadline is the one that was asked for: the longer one is not over yet.
    const first = await Promise.race([within(60_000), within(200)]);
    expect(failure(first)).toMatchObject({
      kind: 'timeout',
      message: 'it accepts connections, but says nothing within 0.2 s',
      remedy: 'The route is open: check that what listens there speaks TLS, and check its load.',
    });
  });

  test('a connection that is never made', () => {
    const end = { kind: 'timeout', connected: false } as const;
    expect(failureOf({ host, port: 6443 }, end, Buffer.alloc(0), 5_000)).toEqual({
      kind: 'timeout',
      message: 'no answer within 5 s',
      remedy: 'Check the route, and that security groups and firewalls let port 6443 pass.',
    });
  });

  test('a server that drips one byte at a time', async () => {
    const record = Buffer.from([22, 3, 3, 0x3f, 0xff, 2, 0, 0x3f, 0]);
    const port = await listenRaw((socket) => {
      let at = 0;
      const drip = () => socket.write(Buffer.from([record[at++] ?? 0]));
      const timer = setInterval(drip, 20);
      drip();
      socket.once('close', () => clearInterval(timer));
    });
    const { kind, message } = failure(await handshake({ host, port }, { signal, timeoutMs: 400, addresses: 'local' }));
    expect(kind).toBe('timeout');
    expect(message).toBe('it began to answer, but showed no certificate within 0.4 s');
  });

  test('a server that never stops sending', async () => {
    const part = Buffer.alloc(64 * 1024);
    // Handshake records with the body of one endless message.
    for (let at = 0; at < part.length; at += 1024) part.set([22, 3, 3, 0x03, 0xfb], at);
    let closed = false;
    const port = await listenRaw((socket) => {
      const pour = () => {
        while (!socket.destroyed && socket.write(part));
      };
      socket.on('drain', pour);
      socket.once('close', () => {
        closed = true;
      });
      pour();
    });
    expect(['too-large', 'closed']).toContain(failure(await handshake({ host, port }, options)).kind);
    await expect.poll(() => closed).toBe(true);
  });

  test.each([
    ['HTTP/1.0 400 Bad Request\r\n\r\n', 'plain HTTP answers there, not TLS'],
    ['SSH-2.0-OpenSSH_9.6\r\n', 'SSH answers there, not TLS'],
    ['\u001b[2J hello', 'what answers there is not TLS'],
  ])('%j', async (text, message) => {
    const port = await listenRaw((socket) => socket.end(text));
    expect(failure(await handshake({ host, port }, options))).toMatchObject({ kind: 'not-tls', message });
  });

  test('a server that closes without a word', async () => {
    const port = await listenRaw((socket) => socket.destroy());
    expect(failure(await handshake({ host, port }, options)).kind).toBe('closed');
  });

  test('a server of TLS 1.1', async () => {
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const;
    const port = await listenTls({ ...serving, ...old });
    expect(failure(await handshake({ host, port }, options))).toMatchObject({
      kind: 'old-tls',
      message: 'it speaks only TLS 1.0 or 1.1',
    });
  });

  test('a server that has no certificate for a name', async () => {
    const server = createTlsServer({ SNICallback: (_name, done) => done(new Error('unknown')) });
    server.on('tlsClientError', () => {});
    const port = await listen(server);
    expect(failure(await handshake({ host, port, serverName: 'x' }, options)).kind).toBe('closed');
  });

  test('a port where nothing listens', async () => {
    const port = await listenRaw(() => {});
    const free = await freePort(port);
    expect(failure(await handshake({ host, port: free }, options))).toMatchObject({
      kind: 'refused',
      message: 'connection refused',
    });
  });

  test('a name that does not exist', async () => {
    expect(failure(await handshake({ host: 'nothing.invalid', port: 443 }, options)).kind).toMatch(/^name|timeout$/);
  });

  test('an abort, before and meanwhile', async () => {
    const port = await listenRaw(() => {});
    const controller = new AbortController();
    const under = handshake({ host, port }, { signal: controller.signal, timeoutMs: 5000, addresses: 'local' });
    await delay(50);
    controller.abort();
    expect(failure(await under).kind).toBe('aborted');
    expect(failure(await handshake({ host, port }, { signal: controller.signal, addresses: 'local' })).kind).toBe(
      'aborted',
    );
  });
});

test.each([
  ['169.254.169.254', 'cluster'],
  ['::ffff:169.254.169.254', 'cluster'],
  ['fe80::1', 'cluster'],
  ['fe80::1%eth0', 'cluster'],
  ['fd00:ec2::254', 'cluster'],
  ['0.0.0.0', 'local'],
  ['::', 'local'],
  ['224.0.0.1', 'cluster'],
  ['ff02::1', 'cluster'],
  ['255.255.255.255', 'cluster'],
  ['127.0.0.1', 'cluster'],
  ['::1', 'cluster'],
  ['::ffff:127.0.0.1', 'cluster'],
  ['localhost', 'cluster'],
] as const)('%s is not connected to by the rule %s', async (address, addresses) => {
  const port = await listenTls(serving);
  expect(failure(await handshake({ host: address, port }, { ...options, addresses })).kind).toBe('forbidden');
});

test('loopback is connected to where the rule says so', async () => {
  const port = await listenTls(serving);
  const result = await handshake({ host, port }, { ...options, addresses: 'local' });
  expect(result.ok).toBe(true);
});

describe('handshakes', () => {
  test('in the order of the targets, no more at a time than said', async () => {
    const delays = [300, 0, 150, 20, 80, 10];
    const seen: number[] = [];
    let begun = 0;
    let most = 0;
    const ports = await Promise.all(
      delays.map((wait) =>
        listenRaw((socket) => {
          socket.resume();
          begun += 1;
          most = Math.max(most, begun - seen.length);
          setTimeout(() => socket.end(`HTTP/1.1 ${wait}`), wait);
        }),
      ),
    );
    const results = await handshakes(
      [...ports.map((port) => ({ host, port })), { host, port: await listenTls(serving) }],
      { ...options, concurrency: 3, onResult: (index) => seen.push(index) },
    );
    expect(results.map((result) => (result.ok ? 'ok' : result.failure.kind))).toEqual([
      ...delays.map(() => 'not-tls'),
      'ok',
    ]);
    expect(seen.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(most).toBeLessThanOrEqual(3);
  });

  test('those that are not started when it is aborted are not', async () => {
    let connections = 0;
    const port = await listenRaw(() => {
      connections += 1;
    });
    const controller = new AbortController();
    onTestFinished(() => controller.abort());
    const targets = Array.from({ length: 10 }, () => ({ host, port }));
    const under = handshakes(targets, {
      concurrency: 2,
      timeoutMs: 5000,
      signal: controller.signal,
      addresses: 'local',
    });
    await expect.poll(() => connections).toBe(2);
    controller.abort();
    expect((await under).map((result) => failure(result).kind)).toEqual(targets.map(() => 'aborted'));
    expect(connections).toBe(2);
  });
});

/** One that was just given back. */
async function freePort(taken: number): Promise<number> {
  const { createServer } = await import('node:net');
  const server = createServer().listen(0, host);
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : taken;
}

test.each([
  [10_250, 80, /tls: internal error\): the kubelet has no serving certificate yet/, /kubectl get csr/],
  [6443, 80, /internal_error/, /log of the server/],
  [10_250, 40, /handshake_failure/, /log of the server/],
])('at port %i, alert %i says whether a kubelet waits for its certificate', (port, alert, message, remedy) => {
  const transcript = Buffer.from([21, 3, 3, 0, 2, 2, alert]);
  expect(failureOf({ host, port }, { kind: 'closed' }, transcript, 3_000)).toEqual({
    kind: 'closed',
    message: expect.stringMatching(message),
    remedy: expect.stringMatching(remedy),
  });
});
