import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { judgeEndpoint, type ProbedEndpoint } from '../../../bin/commands/probe/judgement.ts';
import { type ProbeOptions, parseEndpoint, probeCommand } from '../../../bin/commands/probe/probe.ts';
import { probeLines } from '../../../bin/commands/probe/view.ts';
import { UsageError } from '../../../bin/exit-codes.ts';
import { draw } from '../../../bin/terminal/draw.ts';
import { DEFAULT_THRESHOLDS } from '../../../lambdas/audit/rules/thresholds.ts';
import { FINDING_CODES, type FindingCode, type Severity } from '../../../lambdas/tables/finding-codes.ts';
import { readable } from '../../../lambdas/x509/certificate.ts';
import { decodeBundle } from '../../../lambdas/x509/certificate-bundle.ts';
import { VERIFICATIONS_A_HANDSHAKE } from '../../../lambdas/x509/issued-by.ts';
import type { CertificateAuthority } from '../../peculiar.ts';
import { hostileCertificate, hostileCrowd } from '../tls/hostile.ts';
import { createAuthority, createServing, listen, listenRaw, listenTls } from '../tls/tls-servers.ts';
import { certificate, cn, name, pem, utcTime } from '../x509/certificate-writer.ts';
import { boolean, sequence, tlv } from '../x509/der-writer.ts';
import { extension } from '../x509/request-factory.ts';
import { outcomeOf, recordedIo } from './io.ts';

let authority: CertificateAuthority;
let ca: string;

beforeAll(async () => {
  authority = await createAuthority('Test CA');
  const directory = await mkdtemp(join(tmpdir(), 'probe-'));
  ca = join(directory, 'ca.pem');
  await writeFile(ca, authority.certificate);
  return () => rm(directory, { recursive: true });
});

interface Line {
  readonly endpoint: string;
  readonly observations: readonly Record<string, unknown>[];
  readonly findings: readonly { readonly code: string; readonly severity: string; readonly message: string }[];
}

async function probe(endpoints: readonly string[], options: Partial<ProbeOptions> = {}, columns?: number) {
  const io = recordedIo({ columns, now: Date.now() });
  const { status, stdout } = await outcomeOf(
    io,
    probeCommand(
      endpoints,
      { output: 'json', program: 'certmarshal', timeout: '2s', ...options },
      new AbortController().signal,
      io,
    ),
  );
  return { status, text: stdout };
}

async function probeJson(endpoints: readonly string[], options: Partial<ProbeOptions> = {}) {
  const { status, text } = await probe(endpoints, options);
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line): Line => JSON.parse(line));
  return { status, lines, codes: lines.map(({ findings }) => findings.map(({ code }) => code)) };
}

describe('endpoints', () => {
  test.each([
    ['10.0.1.31:6443', '10.0.1.31', 6443],
    ['db.example.com', 'db.example.com', 443],
    ['[::1]:8443', '::1', 8443],
    ['[fd00::1]', 'fd00::1', 443],
    ['fd00::1', 'fd00::1', 443],
    ['localhost:1', 'localhost', 1],
  ])('%s', (text, host, port) => {
    expect(parseEndpoint(text)).toEqual({ host, port });
  });

  const none = '|:443|a:|a:0|a:65536|a:b|https://a|a/b|[a]:1|[::1|[::1]x|a b:1|1.2.3:4|-x:1|a:1:2'.split('|');
  test.each(none)('%j is none', (text) => {
    expect(parseEndpoint(text)).toBeTypeOf('string');
  });

  test.each([
    ['::1:9111', '::1:9111 needs brackets: write [::1]:9111, or [::1:9111] if all of it is the address'],
    [
      'fd00::a:6443',
      'fd00::a:6443 needs brackets: write [fd00::a]:6443, or [fd00::a:6443] if all of it is the address',
    ],
    ['::1:12345', '::1:12345 needs brackets: write [::1]:12345'],
    ['1:2:3:4:5:6:7:8:443', '1:2:3:4:5:6:7:8:443 needs brackets: write [1:2:3:4:5:6:7:8]:443'],
  ])('%s asks for brackets', async (text, problem) => {
    expect(parseEndpoint(text)).toBe(problem);
    await expect(probe([text])).rejects.toThrow(UsageError);
  });

  test.each(['::1', 'fd00::1', '1:2:3:4:5:6:7:8', 'fd00::1:abcd', '[::1:9111]'])('%s is an address', (text) => {
    expect(parseEndpoint(text)).toEqual({ host: text.replaceAll(/[[\]]/g, ''), port: 443 });
  });
});

test('all that is wrong with the usage at once', async () => {
  const wrong = probe(['https://a', 'b:0', 'ok:1'], { ca: '/no/such/file', sni: '10.0.0.1', timeout: 'soon' });
  await expect(wrong).rejects.toThrow(UsageError);
  await expect(wrong).rejects.toThrow(
    [
      'https://a is not a HOST:PORT: leave out the scheme and the path.',
      'b:0 has no port from 1 to 65535.',
      '--sni takes a DNS name; got 10.0.0.1.',
      '--timeout takes a duration from 1s to 10m, for example 5s; got soon.',
      'There is no file /no/such/file, which --ca names.',
    ].join('\n'),
  );
  await expect(probe([])).rejects.toThrow('Name at least one HOST:PORT');
});

test('CAs in DER', async () => {
  await writeFile(`${ca}.der`, new X509Certificate(authority.certificate).raw);
  const problem = 'it is DER (openssl x509 -inform der -in FILE -out FILE.pem) or PKCS #12; write PEM.';
  await expect(probe(['a:1'], { ca: `${ca}.der` })).rejects.toThrow(problem);
});

describe('JSON', () => {
  test('a line an endpoint, in their order', async () => {
    const serving = await createServing(authority, { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] });
    const slow = await listenTls({ ...serving, cert: serving.cert + authority.certificate });
    const refused = await listenRaw((socket) => socket.destroy());
    const endpoints = [`127.0.0.1:${slow}`, `127.0.0.1:${refused}`, `localhost:${slow}`];
    const { status, lines, codes } = await probeJson(endpoints, { ca });
    expect(lines.map(({ endpoint }) => endpoint)).toEqual(endpoints);
    expect(codes).toEqual([[], ['Unreachable'], []]);
    expect(status).toBe(1);
    const leaf = new X509Certificate(serving.cert);
    expect(lines[0]?.observations[0]).toMatchObject({
      position: 0,
      notBefore: new Date(leaf.validFrom).toISOString(),
      notAfter: new Date(leaf.validTo).toISOString(),
      subject: 'CN=server',
      issuer: 'CN=Test CA',
      fingerprint: leaf.fingerprint256.replaceAll(':', '').toLowerCase(),
    });
    expect(lines[0]?.observations).toHaveLength(2);
  });

  test('an API server has the name and the class that an audit gives it', async () => {
    const serving = await createServing(authority, { commonName: 'kube-apiserver', from: -360, to: 5 });
    const port = await listenTls(serving);
    const { lines } = await probeJson([`127.0.0.1:${port}`], { ca });
    expect(lines[0]?.observations).toMatchObject([{ what: 'kube-apiserver' }]);
    expect(lines[0]?.findings[0]?.message).toMatch(/^the kube-apiserver certificate /);
  });

  test.each([
    ['well', { dnsNames: ['localhost'] }, [], 0],
    ['expired', { dnsNames: ['localhost'], from: -90, to: -1 }, ['CertificateExpired'], 1],
    ['expiring', { dnsNames: ['localhost'], from: -360, to: 5 }, ['CertificateExpiring'], 1],
    ['not yet valid', { dnsNames: ['localhost'], from: 2, to: 360 }, ['CertificateNotYetValid'], 1],
    ['very long lived', { dnsNames: ['localhost'], from: -1, to: 3640 }, ['VeryLongLived'], 0],
    ['outlives its issuer', { dnsNames: ['localhost'], from: -1, to: 4000 }, ['OutlivesIssuer', 'VeryLongLived'], 1],
    ['of another name', { dnsNames: ['elsewhere', '*.localhost'] }, ['NameMismatch'], 1],
    ['without names', {}, ['NameMismatch'], 1],
  ] as const)('%s', async (_name, options, expected, status) => {
    const port = await listenTls(await createServing(authority, options));
    const found = await probeJson([`localhost:${port}`], { ca });
    expect(found.codes).toEqual([expected]);
    expect(found.status).toBe(status);
    for (const { code, severity, message } of found.lines[0]?.findings ?? []) {
      const entry = FINDING_CODES[code as keyof typeof FINDING_CODES];
      expect(entry.severities).toContain(severity);
      expect(message).not.toMatch(/\.$/);
    }
  });

  test('an issuer that is not in the file, and one that is reached by way of the chain', async () => {
    const stranger = await createAuthority('stranger');
    const port = await listenTls(await createServing(stranger, { dnsNames: ['localhost'] }));
    expect((await probeJson([`localhost:${port}`])).codes).toEqual([[]]);
    expect((await probeJson([`localhost:${port}`], { ca })).codes).toEqual([['IssuerUnknown']]);
  });

  // Source: prometheus/blackbox_exporter#340.
  test('an expired cross-signed root that no client needs is no outage', () => {
    const isCa = [extension('2.5.29.19', sequence(boolean(true)))];
    const from2020 = { notBefore: utcTime('200101000000Z'), extensions: isCa };
    const caOf = (subject: string, issuer: string, notAfter = '291001000000Z') =>
      pem(
        certificate({ ...from2020, subject: name(cn(subject)), issuer: name(cn(issuer)), notAfter: utcTime(notAfter) }),
      );
    const leaf = pem(
      certificate({
        issuer: name(cn('Issuing')),
        notBefore: utcTime('261001000000Z'),
        notAfter: utcTime('271001000000Z'),
        extensions: [extension('2.5.29.17', sequence(tlv(0x87, [10, 0, 0, 1])))],
      }),
    );
    const crossSigned = caOf('New Root', 'Old Root', '260928000000Z');
    const judged = (shown: string, trusted: string) =>
      judgeEndpoint(
        'a:443',
        { host: '10.0.0.1', port: 443 },
        { ok: true, protocol: 'TLSv1.3', chain: decodeBundle(shown).certificates },
        {
          authorities: readable(decodeBundle(trusted).certificates),
          thresholds: DEFAULT_THRESHOLDS,
          now: Date.parse('2026-11-27T12:00:00Z'),
        },
      ).findings.map(({ severity, code, message, remedy }) => `${severity} ${code}: ${message} → ${remedy}`);
    const chain = leaf + caOf('Issuing', 'New Root') + crossSigned;
    expect(judged(chain, caOf('New Root', 'New Root'))).toEqual([
      expect.stringMatching(
        /^info CertificateExpired: certificate 3 of the chain at 10.*→ Leave it out of the chain.$/,
      ),
    ]);
    expect(judged(chain, caOf('Old Root', 'Old Root'))[0]).toMatch(/^critical CertificateExpired: .* → Renew it/);
    const never = certificate({ notBefore: utcTime('280101000000Z'), notAfter: utcTime('270101000000Z') });
    expect(judged(pem(never), '')[0]).toMatch(/^critical CertificateNotYetValid: .* → Issue it again.$/);
  });

  test.each([
    ['P-256', VERIFICATIONS_A_HANDSHAKE],
    // They took 33 s.
    ['sect571r1', 0],
  ])('99 certificates of one name, signed with %s: at most %i are verified', async (curve, most) => {
    const verify = vi.spyOn(X509Certificate.prototype, 'verify');
    onTestFinished(() => verify.mockRestore());
    const port = await listenTls(hostileCrowd(curve));
    const { lines, status } = await probeJson([`localhost:${port}`], { ca });
    expect(status).toBe(1);
    expect(lines[0]?.findings).toContainEqual(
      expect.objectContaining({ code: 'IssuerUnknown', message: expect.stringContaining('would take too long') }),
    );
    expect(verify.mock.calls.length).toBeLessThanOrEqual(most);
  });

  test('weak keys and signatures, chain and root', async () => {
    const { leaf, key } = hostileCertificate({ weak: true });
    const port = await listenTls({ cert: leaf, key, ciphers: 'DEFAULT:@SECLEVEL=0' });
    const { codes } = await probeJson([`127.0.0.1:${port}`]);
    expect(codes[0]).toEqual(expect.arrayContaining(['WeakKey', 'WeakSignature']));
  });

  test('the name of --sni', async () => {
    const port = await listenTls(await createServing(authority, { dnsNames: ['*.example.com'] }));
    expect((await probeJson([`127.0.0.1:${port}`], { sni: 'db.example.com' })).codes).toEqual([[]]);
    expect((await probeJson([`127.0.0.1:${port}`], { sni: 'a.b.example.com' })).codes).toEqual([['NameMismatch']]);
  });

  test('an address of IPv6', async () => {
    const { createServer } = await import('node:tls');
    const port = await listen(createServer(await createServing(authority)), '::1').catch(() => undefined);
    if (port === undefined) return;
    const { lines } = await probeJson([`[::1]:${port}`]);
    expect(lines[0]?.endpoint).toBe(`[::1]:${port}`);
    expect(lines[0]?.observations[0]).toMatchObject({ where: `[::1]:${port}` });
  });
});

describe('hostile material is bounded and harmless', () => {
  // oxlint-disable-next-line no-control-regex
  const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/;
  const both = async (endpoint: string, timeout = '2s') => {
    const json = await probe([endpoint], { timeout });
    const table = await probe([endpoint], { output: 'table', timeout });
    expect(json.text).not.toMatch(CONTROL);
    expect(table.text).not.toMatch(CONTROL);
    return { line: JSON.parse(json.text) as Line, table: table.text };
  };

  test('NUL, escape sequences and right-to-left marks in a subject, and the year 9999', async () => {
    const { leaf, key } = hostileCertificate({ commonName: 'a\0b\u001b[2J\u202etxt\r\nINJECTED' });
    const { line, table } = await both(`127.0.0.1:${await listenTls({ cert: leaf, key })}`);
    expect(line.observations[0]).toMatchObject({
      notAfter: '9999-12-31T23:59:59.000Z',
      subject: String.raw`CN=a\00b\u{1b}[2J\u{202e}txt\u{d}\u{a}INJECTED`,
    });
    expect(table).toContain('9999-12-31');
    expect(line.findings.map(({ code }) => code)).toEqual(['NameMismatch', 'VeryLongLived']);
  });

  test('a chain of 100 certificates', async () => {
    const { leaf, key } = hostileCertificate({ commonName: 'x'.repeat(40) });
    const cert = leaf + authority.certificate.repeat(99);
    const { line, table } = await both(`127.0.0.1:${await listenTls({ cert, key })}`);
    expect(line.observations.map(({ position }) => position)).toEqual(Array.from({ length: 100 }, (_, index) => index));
    expect(table).toContain('… and 92 more certificates: --output json has all');
    expect(table.split('\n').length).toBeLessThan(60);
  });

  test.each([
    ['of 1 MiB', 1024 * 1024, 'TLSv1.2'],
    ['that is larger than what is read, in a chain that is not', 70 * 1024, 'TLSv1.3'],
  ] as const)('a certificate %s', async (_name, padding, maxVersion) => {
    const { leaf, key } = hostileCertificate({ padding });
    const { line } = await both(`127.0.0.1:${await listenTls({ cert: leaf, key, maxVersion })}`);
    expect(line.observations).toEqual([]);
    expect(line.findings).toEqual([expect.objectContaining({ code: 'CertificateUnreadable', severity: 'warning' })]);
  });

  test('a server that drips one byte a second', async () => {
    const port = await listenRaw((socket) => {
      const timer = setInterval(() => socket.write('\u0016'), 1000);
      socket.once('close', () => clearInterval(timer));
    });
    const { line } = await both(`127.0.0.1:${port}`, '2s');
    expect(line.findings).toEqual([
      expect.objectContaining({ code: 'Unreachable', message: expect.stringContaining('within 2 s') }),
    ]);
  });

  test('a server that draws on the terminal', async () => {
    const port = await listenRaw((socket) => socket.end('\u001b]0;owned\u0007'));
    const { line } = await both(`127.0.0.1:${port}`);
    expect(line.findings[0]?.message).toContain('what answers there is not TLS');
  });
});

test('the table: the whole story first, a bar a certificate, a remedy a finding', async () => {
  const port = await listenTls(await createServing(authority, { dnsNames: ['localhost'], from: -360, to: 5 }));
  const { text, status } = await probe([`localhost:${port}`], { output: 'table', ca });
  const lines = text.split('\n');
  expect(lines[0]).toMatch(/^✖ localhost:\d+: 1 critical · 4 d left, \d{4}-\d\d-\d\d$/);
  expect(lines[2]).toMatch(/^localhost:\d+ · TLSv1.3 · 1 certificate$/);
  expect(lines[3]).toMatch(/^ {2}█{19}░ {2}4 d left {2}\d{4}-\d\d-\d\d {2}CN=server, P-256, by CN=Test CA$/);
  expect(lines[4]).toBe('  for localhost');
  expect(lines[5]).toMatch(/^ {2}✖ critical CertificateExpiring: .* expires in 4 days, on /);
  expect(lines[6]).toBe('    → Renew it where the server keeps it, and let the server load it.');
  expect(status).toBe(1);

  const narrow = await probe([`localhost:${port}`], { output: 'table', ca }, 80);
  // oxlint-disable-next-line no-control-regex
  const widths = narrow.text.split('\n').map((line) => line.replaceAll(/\u001b\[\d+m/g, '').length);
  expect(Math.max(...widths)).toBeLessThanOrEqual(80);
});

describe('what a person sees', () => {
  const NOW = Date.parse('2026-11-21T10:00:00Z');
  const leaf = (changes: object = {}): ProbedEndpoint['observations'][number] => ({
    kind: 'certificate',
    source: 'tls',
    observedAt: '2026-11-21T10:00:00.000Z',
    what: 'endpoint',
    where: 'x',
    basis: 'certificate',
    notBefore: '2026-01-01T00:00:00.000Z',
    notAfter: '2027-01-01T00:00:00.000Z',
    subject: 'CN=x',
    ...changes,
  });
  const shown = (changes: Partial<ProbedEndpoint> = {}): ProbedEndpoint => ({
    endpoint: 'x:443',
    observations: [leaf()],
    findings: [],
    ...changes,
  });
  const having = (severity: Severity, observations = [leaf()]) =>
    shown({ observations, findings: [{ code: 'CertificateExpiring', severity, message: 'm', remedy: 'r' }] });
  const CHECKED = { authorities: [], now: NOW };
  const drawn = (probed: readonly ProbedEndpoint[], rules: Parameters<typeof probeLines>[1] = CHECKED) =>
    draw(probeLines(probed, rules, 'certmarshal'));
  const headline = (...probed: readonly ProbedEndpoint[]) => drawn(probed).split('\n')[0];
  const critical = having('critical');
  const warning = having('warning');
  const only = (code: FindingCode, severity: Severity) =>
    shown({ findings: [{ code, severity, message: 'm', remedy: 'r' }] });
  const expired = only('CertificateExpired', 'critical');
  const silent = { ...only('Unreachable', 'warning'), observations: [] };
  const well = shown();

  test.each([
    [
      '9',
      [critical, critical, warning, silent, silent, silent, well, well, having('info')],
      '✖ 9 endpoints: 2 critical, 4 with warnings, 3 healthy · 3 show no certificate · x:443 first: ',
    ],
    ['healthy ones', [well, well], '✔ 2 endpoints: 2 healthy · x:443 first: '],
    ['critical ones', [critical, well], '✖ 2 endpoints: 1 critical, 1 healthy · x:443 first: '],
    ['unwell ones', [warning, warning], '! 2 endpoints: 2 with warnings · x:443 first: '],
    ['silent ones', [silent, silent], '! 2 endpoints: 2 with warnings · 2 show no certificate · no certificate'],
    [
      'a silent one',
      [silent, well],
      '! 2 endpoints: 1 with warnings, 1 healthy · 1 shows no certificate · x:443 first',
    ],
  ])('endpoints count as the worst of them: %s', (_name, probed, expected) => {
    expect(headline(...probed)?.slice(0, expected.length)).toBe(expected);
  });

  test('what has expired has the fingerprint that --tolerate-expired takes', () => {
    const observations = [leaf({ notAfter: '2026-11-20T10:00:00.000Z', fingerprint: 'ab'.repeat(32) })];
    expect(drawn([shown({ observations })])).toContain(`sha256:${'ab'.repeat(32)}`);
  });

  test('the last line names the runbook of what expires, first of what has expired', () => {
    const next = (...probed: readonly ProbedEndpoint[]) =>
      / {2}Next .*$/.exec(draw(probeLines(probed, CHECKED, 'npx certmarshal')))?.[0];
    expect(next(well, silent, only('CertificateExpired', 'info'))).toBeUndefined();
    expect(next(only('NameMismatch', 'warning'))).toBe('  Next  npx certmarshal runbook name-mismatch');
    expect(next(critical, well)).toBe('  Next  npx certmarshal runbook certificate-expiring');
    expect(next(critical, expired)).toBe('  Next  npx certmarshal runbook certificate-expired');
    const server = (changed: object, at = 'x:443') => ({
      ...expired,
      endpoint: at,
      observations: expired.observations.map((seen) => ({
        ...seen,
        what: 'kube-apiserver' as const,
        notAfter: new Date(NOW).toISOString(),
        ...changed,
      })),
    });
    expect(next(critical, server({}))).toBe('  Next  npx certmarshal runbook recovery');
    // Its CA has expired, or AWS renews it.
    const eks = '0123456789ABCDEF0123456789ABCDEF.gr7.eu-central-1.eks.amazonaws.com:443';
    for (const other of [
      server({ notAfter: new Date(NOW + 86_400_000).toISOString() }),
      server({ what: 'eks-api-server' }, eks),
    ])
      expect(next(other)).toBe('  Next  npx certmarshal runbook certificate-expired');
  });

  test('without --ca, a line says where the CA of an API server is', () => {
    const where = '--ca FILE: certificate-authority-data of your kubeconfig, base64 -d';
    const of = (what: 'kube-apiserver' | 'endpoint') => [shown({ observations: [leaf({ what })] })];
    expect(drawn(of('kube-apiserver'), { now: NOW })).toContain(where);
    expect(drawn(of('kube-apiserver'))).not.toContain(where);
    expect(drawn(of('endpoint'), { now: NOW })).not.toContain(where);
  });

  test('nothing is healthy whose issuer is not checked', () => {
    const line = (...probed: readonly ProbedEndpoint[]) => drawn(probed, { now: NOW }).split('\n')[0];
    const selfSigned = shown({ observations: [leaf({ issuer: leaf().subject })] });
    const issued = shown({ observations: [leaf({ issuer: 'CN=some CA' })] });
    expect(line(issued)).toMatch(/^· x:443: not checked against a CA: add --ca · /);
    expect(line(selfSigned)).toMatch(/^· x:443: self-signed, not checked against a CA: add --ca · /);
    expect(line(issued, selfSigned)).toMatch(/^· 2 endpoints: 2 not checked against a CA: add --ca · x:443 first: /);
    expect(line(warning)).toMatch(/^! x:443: 1 warning · /);
    expect(headline(selfSigned)).toMatch(/^✔ x:443: healthy · /);
  });

  test('a life that is still to come is told with the date it begins on', () => {
    const future = leaf({ notBefore: '2026-11-23T09:00:00.000Z', notAfter: '2027-09-17T00:00:00.000Z' });
    const lines = drawn([shown({ observations: [future] })]).split('\n');
    expect(lines[0]).toBe('✔ x:443: healthy · begins in 47 h, 2026-11-23');
    expect(lines[3]).toContain('begins in 47 h  2026-11-23  CN=x');
    expect(headline(well, shown({ endpoint: 'next:443', observations: [future] }))).toMatch(
      / · next:443 first: begins in 47 h, 2026-11-23$/,
    );
    const never = leaf({ notBefore: '2026-11-23T09:00:00.000Z', notAfter: '2026-11-20T10:00:00.000Z' });
    expect(headline(shown({ observations: [never] }))).toBe('✔ x:443: healthy · never valid, 2026-11-20');
  });

  test('names are printable, few and short', () => {
    const names = ['a\u001b[2J', 'b'.repeat(200), 'c', 'd', 'e', 'f', 'g'];
    expect(drawn([shown({ names })]).split('\n')[4]).toBe(
      String.raw`  for a\u{1b}[2J, ${'b'.repeat(60)}…, c, d, e and 2 more`,
    );
    expect(drawn([shown({ names: [] })])).toMatch(/\n {2}no DNS names and no addresses$/);
  });
});

test('the names of a certificate, and whether the one that was asked for is among them', async () => {
  const names = { dnsNames: ['other.example', '*.other.example'], ipAddresses: ['192.0.2.7'] };
  const other = await listenTls(await createServing(authority, names));
  const own = await listenTls(await createServing(authority, { ipAddresses: ['127.0.0.1'] }));
  const shown = ['other.example', '*.other.example', '192.0.2.7'];
  const message = `the certificate at 127.0.0.1:${other} is not for 127.0.0.1; it has other.example, *.other.example, 192.0.2.7`;
  const mismatch = expect.objectContaining({ code: 'NameMismatch', severity: 'warning', message });
  const linesOf = async (port: number, options = {}) => (await probeJson([`127.0.0.1:${port}`], options)).lines;
  expect(await linesOf(other)).toEqual([expect.objectContaining({ names: shown, findings: [mismatch] })]);
  const asked = await linesOf(other, { sni: 'a.other.example' });
  expect(asked).toEqual([expect.objectContaining({ names: shown, findings: [] })]);
  expect(await linesOf(own)).toEqual([expect.objectContaining({ names: ['127.0.0.1'], findings: [] })]);
  const refused = await listenRaw((socket) => socket.destroy());
  const [line] = await linesOf(refused);
  expect(Object.keys(line ?? {})).toEqual(['endpoint', 'observations', 'findings']);
});

test('Ctrl-C ends it, and says what was not done', async () => {
  const port = await listenRaw(() => {});
  const controller = new AbortController();
  const io = recordedIo();
  const under = probeCommand([`127.0.0.1:${port}`], { output: 'json', program: 'certmarshal' }, controller.signal, io);
  onTestFinished(() => controller.abort());
  setTimeout(() => controller.abort(), 100);
  expect(await under).toBe(1);
  expect(io.stdout.text()).toContain('not done');
});
