// The library's decorators need this before anything else is loaded.
// oxlint-disable-next-line import/no-unassigned-import
import 'reflect-metadata';
import { webcrypto, X509Certificate } from 'node:crypto';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import { createServer } from 'node:tls';
import * as x509 from '@peculiar/x509';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ExpiredServer } from '../../../lambdas/contracts/order.ts';
import { createKubernetesClient, type KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import type { Connection } from '../../../lambdas/kubernetes/connection.ts';
import { KubernetesError } from '../../../lambdas/kubernetes/errors.ts';
import { answer, listen, TOKEN } from './tls-server.ts';

const DAY = 86_400_000;
const P256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const RSA = (bits: number, hash = 'SHA-256') => ({
  name: 'RSASSA-PKCS1-v1_5',
  hash,
  publicExponent: new Uint8Array([1, 0, 1]),
  modulusLength: bits,
});

interface Wanted {
  readonly name?: string;
  /** Days from now. @default -10 */
  readonly from?: number;
  /** @default -1: it has ended */
  readonly until?: number;
  readonly address?: string;
  readonly algorithm?: typeof P256 | ReturnType<typeof RSA>;
  readonly extensions?: readonly x509.Extension[];
}

interface Made {
  readonly certificate: x509.X509Certificate;
  readonly keys: webcrypto.CryptoKeyPair;
  readonly algorithm: NonNullable<Wanted['algorithm']>;
}

const CA = new x509.BasicConstraintsExtension(true, undefined, true);

async function make(wanted: Wanted, by?: Made): Promise<Made> {
  const { name = 'kube-apiserver', from = -10, until = -1, algorithm = P256, extensions = [] } = wanted;
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.create({
    subject: [{ CN: [name] }],
    issuer: by?.certificate.subjectName ?? new x509.Name([{ CN: [name] }]),
    publicKey: keys.publicKey,
    signingKey: (by?.keys ?? keys).privateKey,
    signingAlgorithm: by?.algorithm ?? algorithm,
    notBefore: new Date(Date.now() + from * DAY),
    notAfter: new Date(Date.now() + until * DAY),
    extensions: [...extensions],
  });
  return { certificate, keys, algorithm };
}

const authority = (wanted: Wanted = {}, by?: Made) =>
  make({ name: 'kubernetes', until: 10, extensions: [CA], ...wanted }, by);
const leaf = (by: Made | undefined, { address = '127.0.0.1', extensions = [], ...wanted }: Wanted = {}) =>
  make(
    {
      ...wanted,
      extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'ip', value: address }]), ...extensions],
    },
    by,
  );

const pemOf = (...all: readonly Made[]) => all.map(({ certificate }) => certificate.toString('pem')).join('\n');
const keyOf = async ({ keys }: Made) =>
  x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
const sha256Of = ({ certificate }: Made) =>
  new X509Certificate(Buffer.from(certificate.rawData)).fingerprint256.replaceAll(':', '').toLowerCase();

interface Server {
  readonly port: number;
  /** Bytes that came decrypted: of HTTP. */
  received(): string;
  connections(): number;
}

async function serve(
  chain: readonly [Made, ...Made[]],
  options: { maxVersion?: 'TLSv1.2' | 'TLSv1.3' } = {},
): Promise<Server> {
  const key = await keyOf(chain[0]);
  let received = '';
  let connections = 0;
  const server = createServer({ cert: pemOf(...chain), key, ...options }, (socket) => {
    connections += 1;
    socket.on('error', () => {});
    socket.on('data', (piece) => {
      received += piece.toString('latin1');
      const body = '{"ok":true}';
      const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
      if (received.endsWith('\r\n\r\n')) socket.write(head + body);
    });
    onTestFinished(() => void socket.destroy());
  });
  server.on('tlsClientError', () => {});
  return { port: await listen(server), received: () => received, connections: () => connections };
}

function connect(
  port: number,
  trusted: readonly Made[],
  expiredServer: ExpiredServer | undefined,
  more: Partial<Connection> = {},
  requestTimeoutMs = 5_000,
): KubernetesClient {
  const client = createKubernetesClient(
    {
      server: `https://127.0.0.1:${port}`,
      caPem: trusted.length === 0 ? undefined : pemOf(...trusted),
      credentials: { kind: 'token', token: TOKEN },
      addresses: 'local',
      expiredServer,
      ...more,
    },
    { requestTimeoutMs, sleep: async () => {} },
  );
  onTestFinished(() => client.close());
  return client;
}

const get = async (client: KubernetesClient) => client.request({ method: 'GET', path: '/api/v1/nodes' });

async function failure(client: KubernetesClient): Promise<KubernetesError> {
  const error: unknown = await get(client).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof KubernetesError) return error;
  throw new Error('expected a KubernetesError', { cause: error });
}

const AUTHORITY: ExpiredServer = { pin: 'authority' };

describe('a server whose certificate has expired', () => {
  test.each(['TLSv1.2', 'TLSv1.3'] as const)('is used when its authority issued it (%s)', async (maxVersion) => {
    const ca = await authority();
    const expired = await leaf(ca);
    const server = await serve([expired], { maxVersion });
    const client = connect(server.port, [ca], AUTHORITY);
    expect(client.recovering).toBeUndefined();
    expect(await get(client)).toEqual({ ok: true });
    expect(await get(client)).toEqual({ ok: true });
    expect(server.connections()).toBe(1);
    expect(server.received()).toContain(`Bearer ${TOKEN}`);
    expect(client.recovering).toEqual({
      notBefore: expired.certificate.notBefore.getTime(),
      notAfter: expired.certificate.notAfter.getTime(),
      sha256: sha256Of(expired),
      pin: 'authority',
    });
  });

  test('is used by way of an authority that it sent along, or that is trusted without its root', async () => {
    const ca = await authority();
    const between = await authority({ name: 'between' }, ca);
    const expired = await leaf(between);
    expect(await get(connect((await serve([expired, between])).port, [ca], AUTHORITY))).toEqual({ ok: true });
    expect(await get(connect((await serve([expired])).port, [between], AUTHORITY))).toEqual({ ok: true });
  });

  test('is used when an old authority of the bundle has expired and the new one of the same name has not', async () => {
    const old = await authority({ until: -2 });
    const ca = await authority();
    const server = await serve([await leaf(ca)]);
    expect(await get(connect(server.port, [old, ca], AUTHORITY))).toEqual({ ok: true });
  });

  test('is used when it is exactly the one that was named', async () => {
    const [ca, unknown] = [await authority(), await authority({ name: 'unknown' })];
    const expired = await leaf(unknown);
    const server = await serve([expired]);
    const client = connect(server.port, [ca], { pin: 'fingerprint', sha256: sha256Of(expired) });
    expect(await get(client)).toEqual({ ok: true });
    expect(client.recovering).toMatchObject({ pin: 'fingerprint', sha256: sha256Of(expired) });
  });

  test('is used by the name that the kubeconfig gives', async () => {
    const ca = await authority();
    const named = await make(
      { extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: 'api.berlin' }])] },
      ca,
    );
    const server = await serve([named]);
    expect(await get(connect(server.port, [ca], AUTHORITY, { tlsServerName: 'api.berlin' }))).toEqual({ ok: true });
    expect(await failure(connect(server.port, [ca], AUTHORITY))).toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
  });

  test('asks for a client certificate as ever', async () => {
    const ca = await authority();
    const expired = await leaf(ca);
    const own = await make({ name: 'certmarshal', until: 10 }, ca);
    const server = createHttpsServer(
      { cert: pemOf(expired), key: await keyOf(expired), ca: pemOf(ca), requestCert: true, rejectUnauthorized: true },
      (_, response) => answer(response, 200, { ok: true }),
    );
    onTestFinished(() => server.closeAllConnections());
    const credentials = { kind: 'certificate', certificatePem: pemOf(own), keyPem: await keyOf(own) } as const;
    expect(await get(connect(await listen(server), [ca], AUTHORITY, { credentials }))).toEqual({ ok: true });
  });
});

describe('a server that is refused', () => {
  interface Scene {
    readonly chain: readonly [Made, ...Made[]];
    readonly trusted: readonly Made[];
    readonly expired?: ExpiredServer;
  }
  const KEY_USAGE = (flags: x509.KeyUsageFlags) => new x509.KeyUsagesExtension(flags, true);
  const EKU = (usage: x509.ExtendedKeyUsage) => new x509.ExtendedKeyUsageExtension([usage]);
  const unknown = async () => authority({ name: 'unknown' });
  const plain = async (wanted: Wanted, ofAuthority: Wanted = {}): Promise<Scene> => {
    const ca = await authority(ofAuthority);
    return { chain: [await leaf(ca, wanted)], trusted: [ca] };
  };
  /** The leaf of an authority that is not trusted. */
  const stranger = async (by: Promise<Made>, wanted: Wanted = {}): Promise<Scene> => ({
    chain: [await leaf(await by, wanted)],
    trusted: [await authority()],
  });
  const below = async (between: Wanted, wanted: Wanted = {}, ofAuthority: Wanted = {}): Promise<Scene> => {
    const ca = await authority(ofAuthority);
    const made = await authority({ name: 'between', ...between }, ca);
    return { chain: [await leaf(made, wanted), made], trusted: [ca] };
  };
  const named = async (scene: Promise<Scene>): Promise<Scene> => ({
    ...(await scene),
    expired: { pin: 'fingerprint', sha256: sha256Of((await scene).chain[0]) },
  });

  const UNVERIFIED = 'UNABLE_TO_VERIFY_LEAF_SIGNATURE';
  const NO_ISSUER = 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY';
  const OTHER_NAME = 'ERR_TLS_CERT_ALTNAME_INVALID';
  const NONE_BELOW = [new x509.BasicConstraintsExtension(true, 0, true)];
  const ON_NAMES = [CA, new x509.Extension('2.5.29.30', false, Uint8Array.of(0x30, 0).buffer)];
  const NOBODY_KNOWS = [new x509.Extension('1.2.3.4', true, Uint8Array.of(0x05, 0).buffer)];
  const CRL_ONLY = [CA, KEY_USAGE(x509.KeyUsageFlags.cRLSign)];
  const SIGNS_ONLY = [KEY_USAGE(x509.KeyUsageFlags.keyCertSign)];
  const CLIENT = [EKU(x509.ExtendedKeyUsage.clientAuth)];

  test.each<[name: string, make: () => Promise<Scene>, code: string]>([
    ['an expired certificate of an unknown authority', async () => stranger(unknown()), UNVERIFIED],
    ['one of an authority that only has the name of the real one', async () => stranger(authority()), UNVERIFIED],
    [
      'an expired certificate, its authority sent along and unknown',
      async () => {
        const other = await unknown();
        return { chain: [await leaf(other), other], trusted: [await authority()] };
      },
      UNVERIFIED,
    ],
    [
      'an expired certificate that signed itself',
      async () => ({ chain: [await leaf(undefined)], trusted: [await authority()] }),
      UNVERIFIED,
    ],
    [
      'an expired certificate that is in the bundle itself',
      async () => {
        const own = await leaf(undefined);
        return { chain: [own], trusted: [own] };
      },
      'INVALID_CA',
    ],
    ['an expired authority', async () => plain({}, { until: -1 }), 'CERT_HAS_EXPIRED'],
    ['an authority not valid yet', async () => plain({}, { from: 1 }), 'CERT_NOT_YET_VALID'],
    ['an expired intermediate', async () => below({ until: -1 }), 'CERT_HAS_EXPIRED'],
    ['a valid certificate under one', async () => below({ until: -1 }, { until: 10 }), 'CERT_HAS_EXPIRED'],
    [
      'an expired certificate issued by a server',
      async () => {
        const ca = await authority();
        const other = await make({ name: 'other', until: 10 }, ca);
        return { chain: [await leaf(other), other], trusted: [ca] };
      },
      'INVALID_CA',
    ],
    [
      'an expired certificate below an authority that may have none below it',
      async () => below({}, {}, { extensions: NONE_BELOW }),
      'PATH_LENGTH_EXCEEDED',
    ],
    ['an intermediate that is called as the authority', async () => below({ name: 'kubernetes' }), UNVERIFIED],
    ['an authority that may not sign certificates', async () => plain({}, { extensions: CRL_ONLY }), 'INVALID_CA'],
    ['an authority with constraints on names', async () => plain({}, { extensions: ON_NAMES }), 'CERT_REJECTED'],
    ['an expired certificate for another address', async () => plain({ address: '127.0.0.2' }), OTHER_NAME],
    ['a certificate not valid yet', async () => plain({ from: 1, until: 2 }), 'CERT_NOT_YET_VALID'],
    ['an expired client certificate', async () => plain({ extensions: CLIENT }), 'INVALID_PURPOSE'],
    ['a key that may only sign certificates', async () => plain({ extensions: SIGNS_ONLY }), 'INVALID_PURPOSE'],
    ['a critical extension that nobody knows', async () => plain({ extensions: NOBODY_KNOWS }), 'CERT_REJECTED'],
    ['a signature with SHA-1', async () => plain({}, { algorithm: RSA(2048, 'SHA-1') }), 'CERT_REJECTED'],
    ['a CA with a weak key', async () => plain({}, { algorithm: RSA(1024) }), 'CERT_REJECTED'],
    ['a valid certificate of an unknown authority', async () => stranger(unknown(), { until: 10 }), NO_ISSUER],
    ['a valid certificate for another address', async () => plain({ until: 10, address: '127.0.0.2' }), OTHER_NAME],
    [
      'another expired certificate than the one that was named, of the right authority',
      async () => {
        const ca = await authority();
        const sha256 = sha256Of(await leaf(ca));
        return { chain: [await leaf(ca)], trusted: [ca], expired: { pin: 'fingerprint', sha256 } };
      },
      'CERTMARSHAL_OTHER_CERTIFICATE',
    ],
    ['the named certificate under another name', async () => named(plain({ address: '127.0.0.2' })), OTHER_NAME],
    [
      'the named certificate while it is valid, of an unknown authority',
      async () => named(stranger(unknown(), { until: 10 })),
      NO_ISSUER,
    ],
  ])('%s', async (_name, makeScene, code) => {
    const { chain, trusted, expired = AUTHORITY } = await makeScene();
    const server = await serve(chain);
    const client = connect(server.port, trusted, expired);
    expect(await failure(client)).toMatchObject({ kind: expect.stringMatching(/./), code });
    expect(client.recovering).toBeUndefined();
    // Not even the beginning of a request, and never the token.
    expect(server.received()).toBe('');
  });

  test('an expired certificate, where nobody asked for recovery', async () => {
    const ca = await authority();
    const server = await serve([await leaf(ca)]);
    const error = await failure(connect(server.port, [ca], undefined));
    expect(error).toMatchObject({ kind: 'certificate-expired', code: 'CERT_HAS_EXPIRED' });
    expect(error.remedy).toMatch(/recovery/);
    expect(server.received()).not.toContain(TOKEN);
  });

  test('an expired certificate of an authority, where no bundle is given', async () => {
    const ca = await authority();
    const server = await serve([await leaf(ca), ca]);
    expect(await failure(connect(server.port, [], AUTHORITY))).toMatchObject({ kind: 'certificate' });
    expect(server.received()).toBe('');
  });
});

describe('a certificate that ended long ago', () => {
  const refusal = async (days: number, expired: ExpiredServer) => {
    const ca = await authority({ from: -1_000 });
    const server = await serve([await leaf(ca, { from: -900, until: -days })]);
    const client = connect(server.port, [ca], expired);
    const error = await get(client).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (error !== undefined) expect(server.received()).toBe('');
    return error;
  };

  test.each([
    [89, AUTHORITY],
    [179, { pin: 'authority', expiredAtMostMs: 180 * DAY }],
    [40, { pin: 'authority', replacedBefore: Date.now() - 41 * DAY }],
  ] as const)('is used, %d days ago, where that is allowed', async (days, expired) => {
    expect(await refusal(days, expired)).toBeUndefined();
  });

  test.each([
    [91, AUTHORITY, 'expired 91 days ago, more than the 90 days that recovery mode allows'],
    [800, AUTHORITY, 'expired 800 days ago, more than the 90 days'],
    [
      181,
      { pin: 'authority', expiredAtMostMs: 180 * DAY },
      'expired 181 days ago, more than the 180 days that recovery mode allows',
    ],
    [
      40,
      { pin: 'authority', replacedBefore: Date.now() - 39 * DAY },
      'expired 40 days ago, and the last audit saw none that expires before',
    ],
  ] as const)('is refused, %d days ago, before anything is sent', async (days, expired, problem) => {
    expect(await refusal(days, expired)).toMatchObject({
      kind: 'certificate',
      code: 'CERTMARSHAL_OLD_CERTIFICATE',
      problem: expect.stringContaining(problem),
      remedy: expect.stringContaining('a fingerprint is accepted at any age'),
    });
  });

  test('is used at any age where it is the one that was named', async () => {
    const ca = await authority({ from: -3_000 });
    const expired = await leaf(ca, { from: -2_900, until: -2_000 });
    const server = await serve([expired]);
    const client = connect(server.port, [ca], { pin: 'fingerprint', sha256: sha256Of(expired) });
    expect(await get(client)).toEqual({ ok: true });
  });
});

describe('recovery mode', () => {
  test('verifies a valid certificate as ever, and says nothing of recovery', async () => {
    const ca = await authority();
    const server = await serve([await leaf(ca, { until: 10 })]);
    const client = connect(server.port, [ca], AUTHORITY);
    expect(await get(client)).toEqual({ ok: true });
    expect(client.recovering).toBeUndefined();
  });

  test('resumes no session, so that every connection shows its certificate', async () => {
    const ca = await authority();
    const expired = await leaf(ca);
    const reused: boolean[] = [];
    const server = createServer({ cert: pemOf(expired), key: await keyOf(expired) }, (socket) => {
      reused.push(socket.isSessionReused());
      socket.on('error', () => {});
      socket.once('data', () =>
        socket.end(
          'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}',
        ),
      );
    });
    const client = connect(await listen(server), [ca], AUTHORITY);
    await get(client);
    await get(client);
    expect(reused).toEqual([false, false]);
  });

  test('ends a handshake that does not end, and one under way when it is closed', async () => {
    const silent = createTcpServer((socket) => {
      socket.resume();
      socket.on('error', () => {});
      onTestFinished(() => void socket.destroy());
    });
    const port = await listen(silent);
    const ca = await authority();
    const hurried = connect(port, [ca], AUTHORITY, {}, 50);
    const count = () => new Promise<number>((resolve) => silent.getConnections((_, n) => resolve(n)));
    expect(await failure(hurried)).toMatchObject({ kind: expect.stringMatching(/timeout|unreachable/) });
    const patient = connect(port, [ca], AUTHORITY);
    const failed = failure(patient);
    await expect.poll(count).toBeGreaterThan(0);
    patient.close();
    expect(await failed).toMatchObject({ kind: 'aborted' });
    await expect.poll(count).toBe(0);
  });
});
