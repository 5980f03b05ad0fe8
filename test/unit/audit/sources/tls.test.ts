import { X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { AuditContext } from '../../../../lambdas/audit/audit-source.ts';
import { DEFAULT_PORTS } from '../../../../lambdas/audit/audit-target.ts';
import type { IssuedJudge } from '../../../../lambdas/audit/issued-certificates.ts';
import { issuedOf } from '../../../../lambdas/audit/rules/issued.ts';
import { tlsSource } from '../../../../lambdas/audit/sources/tls.ts';
import { placeOf, serversOf } from '../../../../lambdas/audit/sources/tls-targets.ts';
import type { MemberObservation, Observation } from '../../../../lambdas/contracts/observation.ts';
import type { HandshakeFailureKind, HandshakeResult } from '../../../../lambdas/tls/handshake.ts';
import type { handshakes } from '../../../../lambdas/tls/handshakes.ts';
import { type Certificate, readable } from '../../../../lambdas/x509/certificate.ts';
import { decodeBundle } from '../../../../lambdas/x509/certificate-bundle.ts';
import { VERIFICATIONS_A_HANDSHAKE } from '../../../../lambdas/x509/issued-by.ts';
import type { CertificateAuthority } from '../../../peculiar.ts';
import { hostileCrowd } from '../../tls/hostile.ts';
import { createAuthority, createServing, listenRaw, listenTls } from '../../tls/tls-servers.ts';
import { cn, certificate as der, name as dn, pem as toPem, utcTime } from '../../x509/certificate-writer.ts';
import { sequence, tlv } from '../../x509/der-writer.ts';
import { extension } from '../../x509/request-factory.ts';
import { NO_EVIDENCE } from './fake-cluster.ts';

/** Instead of real handshakes, where a test says so. */
const answers = vi.hoisted(() => ({
  result: undefined as HandshakeResult | undefined,
  until: undefined as Promise<void> | undefined,
}));
vi.mock('../../../../lambdas/tls/handshakes.ts', async (original) => {
  const real = await original<{ handshakes: typeof handshakes }>();
  return {
    handshakes: (async (targets, options) => {
      await answers.until;
      const { result } = answers;
      return result === undefined ? real.handshakes(targets, options) : targets.map(() => result);
    }) satisfies typeof handshakes,
  };
});

function answering(result: HandshakeResult): void {
  answers.result = result;
  onTestFinished(() => {
    answers.result = undefined;
  });
}

const NOW = Date.parse('2026-11-21T12:00:00Z');

function member(name: string, more: Partial<MemberObservation> = {}): MemberObservation {
  return {
    kind: 'member',
    source: name.startsWith('Node') ? 'nodes' : 'machines',
    observedAt: '2026-11-21T12:00:00.000Z',
    role: 'worker',
    name,
    createdAt: '2026-01-01T00:00:00Z',
    addresses: [],
    ...more,
  };
}

let authority: CertificateAuthority;
let authorities: readonly Certificate[];

beforeAll(async () => {
  authority = await createAuthority('kubernetes');
  authorities = certificates(authority.certificate);
});

function certificates(pem: string): readonly Certificate[] {
  return readable(decodeBundle(pem).certificates);
}

interface Wanted {
  readonly server: string;
  readonly members?: readonly MemberObservation[];
  readonly handshakes?: boolean;
  readonly authorities?: readonly Certificate[];
  readonly ports?: Partial<typeof DEFAULT_PORTS>;
  readonly provider?: 'eks' | 'eks-anywhere';
  readonly signal?: AbortSignal;
}

function contextOf(wanted: Wanted): AuditContext {
  const { provider = 'eks-anywhere', handshakes = true, signal = new AbortController().signal } = wanted;
  return {
    target: {
      id: 'berlin',
      cluster: { name: 'berlin', provider },
      workload: { server: wanted.server, addresses: 'local' } as AuditContext['target']['workload'],
      machinesNamespace: 'eksa-system',
      reach: { handshakes, secrets: false, kubeletMetrics: false },
      ...(wanted.ports && { ports: { ...DEFAULT_PORTS, ...wanted.ports } }),
    },
    now: () => NOW,
    signal,
    members: wanted.members ?? [],
    authorities: wanted.authorities ?? authorities,
    issuedJudge: async () => NO_EVIDENCE,
    remembered: new Set(),
  };
}

async function observe(wanted: Wanted): Promise<readonly Observation[]> {
  return (await tlsSource.observe(contextOf(wanted))).observations;
}

test.each<[string, (own: CertificateAuthority) => Promise<CertificateAuthority>, number]>([
  ['of this cluster is judged', async (own) => own, 1],
  ['of another authority is not', async () => createAuthority('kubernetes'), 0],
])('the certificate of a kubelet %s', async (_, signerOf, times) => {
  const serving = await createServing(await signerOf(authority), { commonName: 'system:node:w' });
  const port = await listenTls(serving);
  const context = contextOf({
    server: `https://127.0.0.1:${port}`,
    members: [member('Node w', { node: 'w', addresses: ['127.0.0.1'] })],
    ports: { kubelet: port },
  });
  const shown = vi.fn<IssuedJudge>(() => ({ verdict: 'proven' }));
  const { observations } = await tlsSource.observe({ ...context, issuedJudge: async () => shown });
  const by = { node: 'w', address: '127.0.0.1', keyProven: true };
  expect(shown.mock.calls.map((call) => call[1])).toEqual(Array.from({ length: times }, () => by));
  const judged = observations.filter((one) => one.kind === 'certificate' && one.issued !== undefined);
  expect(judged).toMatchObject(times === 0 ? [] : [{ what: 'kubelet-serving' }]);
});

test('the certificate of a kubelet that cannot be decoded is not proven', async () => {
  answering({ ok: true, chain: decodeBundle(toPem(Buffer.from('3003020101', 'hex'))).certificates });
  const context = contextOf({
    server: 'https://127.0.0.1',
    members: [member('Node w', { node: 'w', addresses: ['127.0.0.1'] })],
  });
  const { observations, count } = await tlsSource.observe(context);
  const malformed = { kind: 'unread', problem: 'malformed', broken: true };
  expect(count).toBe(2);
  expect(observations).toEqual([
    expect.objectContaining({ ...malformed, what: 'kube-apiserver', where: '127.0.0.1:443' }),
    expect.objectContaining({ ...malformed, what: 'kubelet-serving', member: 'w' }),
  ]);
  const why = expect.stringMatching(/^its names cannot be read: /);
  expect(observations.map(issuedOf)).toEqual([undefined, { verdict: 'not-proven', why }]);
});

test('evidence is read beside the handshakes, if any of them is with a kubelet', async () => {
  let isAsked: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve;
  });
  // No handshake ends before the judge was asked.
  answers.until = asked;
  answering({ ok: true, chain: [] });
  onTestFinished(() => {
    answers.until = undefined;
  });
  const issuedJudge = vi.fn<AuditContext['issuedJudge']>(async () => {
    isAsked();
    return NO_EVIDENCE;
  });
  const observeOne = async (one: MemberObservation) =>
    tlsSource.observe({ ...contextOf({ server: 'https://127.0.0.1:1', members: [one] }), issuedJudge });
  const cp = { role: 'control-plane', addresses: ['127.0.0.1'] } as const;
  await observeOne(member('Node cp', { ...cp, node: 'cp' }));
  // It has no kubelet yet.
  await observeOne(member('Machine ns/cp', cp));
  expect(issuedJudge).toHaveBeenCalledOnce();
});

describe('which servers', () => {
  const told = (members: readonly MemberObservation[], provider: 'eks' | 'eks-anywhere' = 'eks-anywhere') =>
    serversOf(members, provider, DEFAULT_PORTS, NOW).map(
      (server) =>
        `${server.what} ${server.member} ${server.addresses.map((host) => placeOf(host, server.port)).join(' ')}${server.usuallyHidden ? ' hidden' : ''}`,
    );

  test('a Node and its Machine are one, and the addresses of the Machine come first', () => {
    const machine = member('Machine eksa-system/x7k2', { node: 'worker-3', addresses: ['10.0.1.3', 'host'] });
    const node = member('Node worker-3', { node: 'worker-3', addresses: ['10.0.9.9', '10.0.1.3', 'fd00::3'] });
    expect(told([node, machine])).toEqual(['kubelet-serving worker-3 10.0.1.3:10250 10.0.9.9:10250']);
  });

  test('a control plane with etcd on it', () => {
    const cp = member('Node cp-1', { node: 'cp-1', role: 'control-plane', addresses: ['fd00::1'] });
    expect(told([cp])).toEqual([
      'kube-apiserver cp-1 [fd00::1]:6443',
      'kube-controller-manager cp-1 [fd00::1]:10257 hidden',
      'kube-scheduler cp-1 [fd00::1]:10259 hidden',
      'etcd-server cp-1 [fd00::1]:2379',
      'etcd-peer cp-1 [fd00::1]:2380',
      'kubelet-serving cp-1 [fd00::1]:10250',
    ]);
  });

  test('a control plane with etcd on machines of its own', () => {
    const cp = member('Machine ns/cp', { role: 'control-plane', addresses: ['10.0.0.1'] });
    const etcd = member('Machine ns/etcd', { role: 'etcd', addresses: ['10.0.0.2'] });
    expect(told([cp, etcd])).toEqual([
      'kube-apiserver Machine ns/cp 10.0.0.1:6443',
      'kube-controller-manager Machine ns/cp 10.0.0.1:10257 hidden',
      'kube-scheduler Machine ns/cp 10.0.0.1:10259 hidden',
      'etcd-server Machine ns/etcd 10.0.0.2:2379',
      'etcd-peer Machine ns/etcd 10.0.0.2:2380',
    ]);
  });

  test('EKS shows nothing of its control plane, and Fargate has no port', () => {
    const node = member('Node ip-1', { node: 'ip-1', addresses: ['10.0.0.1'] });
    const cp = member('Node odd', { node: 'odd', role: 'control-plane', addresses: ['10.0.0.2'] });
    const fargate = member('Node f', { node: 'f', kindOfNode: 'fargate', addresses: ['10.0.0.3'] });
    expect(told([node, cp, fargate, member('Machine ns/f', { node: 'f' })], 'eks')).toEqual([
      'kubelet-serving ip-1 10.0.0.1:10250',
      'kubelet-serving odd 10.0.0.2:10250',
    ]);
  });

  test('a machine without an address is being made, for a day; a Node without one is told', async () => {
    const yesterday = new Date(NOW - 86_400_000).toISOString();
    expect(told([member('Machine ns/new', { role: 'etcd', createdAt: yesterday })])).toEqual([]);
    expect(told([member('Machine ns/old', { role: 'etcd' })])).toEqual([
      'etcd-server Machine ns/old ',
      'etcd-peer Machine ns/old ',
    ]);
    const port = await listenTls(await createServing(authority));
    const seen = await observe({
      server: `https://127.0.0.1:${port}`,
      members: [member('Node w', { node: 'w' })],
    });
    expect(seen).toContainEqual(
      expect.objectContaining({
        kind: 'unread',
        where: 'w:10250',
        member: 'w',
        what: 'kubelet-serving',
        problem: 'unreachable',
        message: 'port 10250: it has no known address',
      }),
    );
  });
});

describe('what is told', () => {
  test('the whole chain of the API endpoint, also where machines are out of reach', async () => {
    const serving = await createServing(authority, { commonName: 'kube-apiserver' });
    const port = await listenTls({ ...serving, cert: serving.cert + authority.certificate });
    const where = `127.0.0.1:${port}`;
    const server = `https://${where}`;
    const seen = await observe({
      server,
      handshakes: false,
      members: [member('Node w', { node: 'w', addresses: ['127.0.0.1'] })],
    });
    const observedAt = '2026-11-21T12:00:00.000Z';
    expect(seen).toEqual([
      expect.objectContaining({
        kind: 'certificate',
        what: 'kube-apiserver',
        where,
        position: 0,
        commonName: 'kube-apiserver',
        issuedByCluster: true,
      }),
      expect.objectContaining({ what: 'ca-bundle', where, position: 1, commonName: 'kubernetes', isAuthority: true }),
      { kind: 'off', source: 'tls', observedAt, why: 'handshakes with machines are off' },
    ]);
    expect(await observe({ server, handshakes: false, provider: 'eks' })).toContainEqual(
      expect.objectContaining({ what: 'eks-api-server', where, position: 0 }),
    );
  });

  test('whether the key was proven; not of etcd, which hangs up in TLS 1.2 before it tells', async () => {
    const serving = await createServing(authority, { commonName: 'kube-apiserver' });
    const demanding = { requestCert: true, rejectUnauthorized: true, ca: [authority.certificate] };
    const proven = await listenTls(serving);
    const hangsUp = await listenTls({ ...serving, ...demanding, maxVersion: 'TLSv1.2' });
    const members = [member('Node cp', { node: 'cp', role: 'control-plane', addresses: ['127.0.0.1'] })];
    const shownAt = async (port: number) => {
      const ports = { kubeApiserver: port, etcdClient: port };
      const seen = await observe({ server: `https://127.0.0.1:${proven}`, members, ports });
      return Object.fromEntries(
        seen.flatMap((each) =>
          each.kind === 'certificate' && each.member === 'cp' && each.position === 0
            ? [[each.what, [each.keyProven, each.issuedByCluster]]]
            : [],
        ),
      );
    };
    // Whether the CA of the cluster signed it is not told of etcd either, which has a CA of its own.
    expect(await shownAt(proven)).toEqual({ 'kube-apiserver': [true, true], 'etcd-server': [true, undefined] });
    expect(await shownAt(hangsUp)).toEqual({ 'kube-apiserver': [false, true], 'etcd-server': [undefined, undefined] });
  });

  test('an endpoint that does not answer, and then nothing is off', async () => {
    const port = await listenRaw((socket) => socket.destroy());
    expect(await observe({ server: `https://127.0.0.1:${port}`, handshakes: false })).toEqual([
      expect.objectContaining({
        kind: 'unread',
        where: `127.0.0.1:${port}`,
        what: 'kube-apiserver',
        problem: 'closed',
        message: `127.0.0.1:${port}: it closed the connection without an answer`,
      }),
    ]);
  });

  test('kubelets: of the cluster, of a stranger, and self-signed as kubelets do it', async () => {
    const server = `https://127.0.0.1:${await listenTls(await createServing(authority))}`;
    const kubeletCa = await createAuthority('worker-1-ca@1763700000');
    const own = await createServing(kubeletCa, { commonName: 'worker-1@1763700000' });
    const cases = [
      [await createServing(authority), { what: 'kubelet-serving', issuedByCluster: true }],
      [await createServing(await createAuthority('other')), { what: 'kubelet-serving', issuedByCluster: false }],
      [{ ...own, cert: own.cert + kubeletCa.certificate }, { what: 'kubelet-self-signed' }],
    ] as const;
    for (const [serving, expected] of cases) {
      const kubelet = await listenTls(serving);
      const members = [member('Node worker-1', { node: 'worker-1', addresses: ['127.0.0.1'] })];
      const seen = await observe({ server, members, ports: { kubelet } });
      const leaf = seen.find((each) => each.kind === 'certificate' && each.member !== undefined);
      expect(leaf).toMatchObject({ ...expected, where: `127.0.0.1:${kubelet}`, member: 'worker-1', position: 0 });
      expect(leaf !== undefined && 'issuedByCluster' in leaf).toBe('issuedByCluster' in expected);
      const without = await observe({ server, members, ports: { kubelet }, authorities: [] });
      expect(without.some((each) => 'issuedByCluster' in each)).toBe(false);
      expect(without.find((each) => each.kind === 'certificate' && each.member !== undefined)).toMatchObject({
        what: expected.what,
      });
    }
  });

  test.each([
    ['valid from now on', '261121120000Z', '270101000000Z', true],
    ['not valid yet', '261121120001Z', '270101000000Z', undefined],
    ['not valid any more', '260101000000Z', '261121120000Z', undefined],
  ])('a kubelet that sends a CA between its certificate and that of the cluster, %s', async (_, from, to, told) => {
    const [root, between] = [dn(cn('root')), dn(cn('between'))];
    const extensions = [extension('2.5.29.19', sequence(tlv(1, [0xff])))];
    const validity = { notBefore: utcTime(from), notAfter: utcTime(to) };
    const sent =
      toPem(der({ issuer: between })) + toPem(der({ subject: between, issuer: root, extensions, ...validity }));
    answering({ ok: true, chain: decodeBundle(sent).certificates });
    const [, , leaf] = await observe({
      server: 'https://127.0.0.1:1',
      members: [member('Node w', { node: 'w', addresses: ['10.0.0.1'] })],
      authorities: certificates(toPem(der({ subject: root, issuer: root }))),
    });
    expect(leaf).toMatchObject({ what: 'kubelet-serving', position: 0 });
    expect(leaf?.kind === 'certificate' && leaf.issuedByCluster).toBe(told);
  });

  test('a kubelet says nothing of the address of its Node', async () => {
    const server = `https://127.0.0.1:${await listenTls(await createServing(authority))}`;
    const kubelet = await listenTls(await createServing(authority, { ipAddresses: ['127.0.0.1'] }));
    const machine = { role: 'worker', node: 'worker-1', addresses: ['127.0.0.1'] } as const;
    const lacked = async (addresses: readonly string[]) => {
      const members = [member('Machine m/worker-1', machine), member('Node worker-1', { ...machine, addresses })];
      const seen = await observe({ server, members, ports: { kubelet } });
      return seen.flatMap((one) => (one.kind === 'certificate' ? (one.lacksAddress ?? []) : []));
    };
    expect(await lacked(['127.0.0.1', '10.0.0.7'])).toEqual([]);
    expect(await lacked(['worker-1', '10.0.0.7', '127.0.0.1'])).toEqual(['10.0.0.7']);
    expect(await lacked([])).toEqual([]);
  });

  describe('kubelets that send 99 certificates of one name', () => {
    const observeKubelets = async (count: number, curve: string) => {
      const verify = vi.spyOn(X509Certificate.prototype, 'verify');
      onTestFinished(() => verify.mockRestore());
      const server = `https://127.0.0.1:${await listenTls(await createServing(authority))}`;
      const kubelet = await listenTls(hostileCrowd(curve));
      const members = Array.from({ length: count }, (_, index) =>
        member(`Node w${index}`, { node: `w${index}`, addresses: ['127.0.0.1'] }),
      );
      const mine = await createAuthority('crowd');
      const trusted = [...authorities, ...certificates(mine.certificate)];
      const seen = await observe({ server, members, ports: { kubelet }, authorities: trusted });
      const leaves = seen.filter((each) => each.kind === 'certificate' && each.position === 0);
      const toldOf = (what: string) =>
        leaves.flatMap((each) => ('issuedByCluster' in each && each.what === what ? [each.issuedByCluster] : []));
      expect(leaves).toHaveLength(count + 1);
      expect(toldOf('kube-apiserver')).toEqual([true]);
      const curves = verify.mock.calls.map(([key]) => key.asymmetricKeyDetails?.namedCurve);
      return { calls: curves.length, curves, told: toldOf('kubelet-serving') };
    };

    test('cost no more than a handshake may, and are not believed', async () => {
      const { calls, told } = await observeKubelets(2, 'P-256');
      expect(told).toEqual([false, false]);
      expect(calls).toBe(2 * VERIFICATIONS_A_HANDSHAKE + 1);
    });

    test('cost next to nothing where their keys take long', async () => {
      const { calls, curves, told } = await observeKubelets(3, 'sect571r1');
      expect(told).toEqual([false, false, false]);
      // Each under the one authority whose key is quick, and under its own.
      expect(calls).toBe(3 * 2 + 1);
      expect(new Set(curves)).toEqual(new Set(['prime256v1']));
    });

    test('take no more together than all servers may', async () => {
      const { calls, told } = await observeKubelets(12, 'P-256');
      const most = 2 * 13 + 200;
      expect(calls).toBeLessThanOrEqual(most + 12);
      expect(calls).toBeGreaterThan(most - VERIFICATIONS_A_HANDSHAKE);
      expect(told).toHaveLength(Math.floor((most - 1) / VERIFICATIONS_A_HANDSHAKE));
      expect(new Set(told)).toEqual(new Set([false]));
    });
  });

  test.each<[HandshakeFailureKind, boolean]>([
    ['refused', true],
    ['unreachable', true],
    ['timeout', true],
    ['closed', true],
    ['aborted', true],
    ['old-tls', false],
  ])('a controller manager that listens on loopback may be %s, etcd may not', async (kind, isUsual) => {
    answering({ ok: false, failure: { kind, message: 'm', remedy: 'r' } });
    const members = [member('Machine ns/cp', { role: 'control-plane', addresses: ['10.0.0.1'] })];
    const seen = await observe({ server: 'https://127.0.0.1:1', members });
    const usual = seen.flatMap((each) => (each.kind === 'unread' ? [[each.what, each.usual ?? false]] : []));
    expect(usual).toEqual([
      ['kube-apiserver', false],
      ['kube-apiserver', false],
      ['kube-controller-manager', isUsual],
      ['kube-scheduler', isUsual],
      ['etcd-server', false],
      ['etcd-peer', false],
    ]);
  });

  test('the second address where the first does not answer', async () => {
    const server = `https://127.0.0.1:${await listenTls(await createServing(authority))}`;
    const kubelet = await listenTls(await createServing(authority));
    const addresses = ['127.0.0.2', '127.0.0.1'];
    const seen = await observe({ server, members: [member('Node w', { node: 'w', addresses })], ports: { kubelet } });
    expect(seen).toContainEqual(expect.objectContaining({ member: 'w', where: `127.0.0.1:${kubelet}` }));
    const none = await observe({
      server,
      members: [member('Node w', { node: 'w', addresses: ['127.0.0.2', '127.0.0.3'] })],
      ports: { kubelet },
    });
    expect(none).toContainEqual(
      expect.objectContaining({
        where: `127.0.0.2:${kubelet}`,
        problem: 'refused',
        message: `127.0.0.2:${kubelet} and 127.0.0.3:${kubelet}: connection refused`,
      }),
    );
  });

  test('addresses of this machine are not asked for a cluster elsewhere', async () => {
    const members = ['127.0.0.1', '169.254.169.254', '::1'].map((address, index) =>
      member(`Node w${index}`, { node: `w${index}`, addresses: [address] }),
    );
    // A name of loopback that does not say so.
    const seen = await observe({ server: 'https://elsewhere.localhost:1', members });
    expect(seen.flatMap((each) => (each.kind === 'unread' && each.member ? [each.problem] : []))).toEqual([
      'forbidden',
      'forbidden',
      'forbidden',
    ]);
  });

  test('what is not done when the time is over is told place by place', async () => {
    const silent = await listenRaw(() => {});
    const controller = new AbortController();
    const members = Array.from({ length: 200 }, (_, index) =>
      member(`Node w${index}`, { node: `w${index}`, addresses: ['127.0.0.1'] }),
    );
    setTimeout(() => controller.abort(), 200);
    const seen = await observe({
      server: `https://127.0.0.1:${silent}`,
      members,
      ports: { kubelet: silent },
      signal: controller.signal,
    });
    expect(seen).toHaveLength(201);
    expect(new Set(seen.map((each) => (each.kind === 'unread' ? each.problem : 'read')))).toEqual(new Set(['aborted']));
  });

  test('more servers than are looked at', async () => {
    const port = await listenTls(await createServing(authority));
    const members = Array.from({ length: 20_001 }, (_, index) =>
      member(`Node w${index}`, { node: `w${index}`, addresses: ['169.254.0.1'] }),
    );
    const seen = await observe({ server: `https://127.0.0.1:${port}`, members });
    const whole = seen.filter((each) => each.kind === 'unread' && each.where === undefined);
    expect(whole).toEqual([
      expect.objectContaining({
        problem: 'too-large',
        message: '20001 servers, of which the first 20000 are checked',
      }),
    ]);
  });
});
