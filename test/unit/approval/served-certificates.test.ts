import { createServer } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { approve } from '../../../lambdas/approval/approve.ts';
import type { Owner, SourceReading } from '../../../lambdas/approval/evidence/evidence.ts';
import { type ApprovalPolicy, DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { type Handshake, readServedCertificates } from '../../../lambdas/approval/served-certificates.ts';
import type { KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { type HandshakeResult, handshake as shakeHands } from '../../../lambdas/tls/handshake.ts';
import { decodeBundle } from '../../../lambdas/x509/certificate-bundle.ts';
import { listen, listenTls } from '../tls/tls-servers.ts';
import { csrObject, dns, ips, NOW, nodeObject } from './fixtures.ts';
import { CLUSTER_CA, OTHER_CA, servingCertificate, servingPair } from './served-certificate-fixtures.ts';

const caPem = CLUSTER_CA.certificate;
const shows = (pem: string): HandshakeResult => ({
  ok: true,
  chain: decodeBundle(pem).certificates,
  protocol: 'TLSv1.3',
  keyProven: true,
});
const refused: HandshakeResult = {
  ok: false,
  failure: { kind: 'refused', message: 'the connection was refused', remedy: 'Start it.' },
};
const good = shows(await servingCertificate());
const stranger = shows(await servingCertificate({ signedBy: OTHER_CA }));
const other = shows(await servingCertificate({ node: 'node-2' }));

const owner = (source: Owner['source'], node: string, ...addresses: string[]): Owner => ({
  source,
  object: `${source} ${node}`,
  nodes: [node],
  dnsNames: [],
  addresses,
});
const reading = (source: Owner['source'], ...owners: Owner[]): SourceReading => ({
  source,
  ok: true,
  lookedAt: owners.length,
  owners,
});
const NODE = reading('node', owner('node', 'node-1', '10.0.0.1'));

/** Hosts that were dialled, in order, and what came of it. */
async function look(
  answers: Readonly<Record<string, HandshakeResult>>,
  change: Partial<Parameters<typeof readServedCertificates>[0]> = {},
) {
  const dialled: string[] = [];
  const handshake: Handshake = async ({ host, port }) => {
    expect(port).toBe(10_250);
    dialled.push(host);
    return answers[host] ?? refused;
  };
  const result = await readServedCertificates({
    cluster: { name: 'berlin', provider: 'eks-anywhere', endpoints: ['10.0.0.200'], serviceCidrs: ['10.96.0.0/12'] },
    nodes: new Set(['node-1']),
    readings: [NODE],
    handshake,
    caPem,
    now: () => NOW,
    signal: new AbortController().signal,
    ...change,
  });
  return { result, dialled };
}

const why = (result: SourceReading, node = 'node-1') => (result.ok ? result.without?.get(node) : result.problem);

describe('readServedCertificates', () => {
  it('makes the certificate that a node serves its evidence', async () => {
    const { result, dialled } = await look({ '10.0.0.1': good });
    expect(dialled).toEqual(['10.0.0.1']);
    expect(result).toEqual({
      source: 'renewal',
      ok: true,
      lookedAt: 1,
      owners: [
        {
          source: 'renewal',
          object: 'certificate that node-1 serves at 10.0.0.1:10250',
          nodes: ['node-1'],
          dnsNames: ['node-1'],
          addresses: ['10.0.0.1'],
        },
      ],
      without: new Map(),
    });
  });

  it.each<[string, HandshakeResult, string]>([
    ['refuses the connection', refused, '10.0.0.1:10250 shows no certificate: the connection was refused'],
    ['shows one of an unknown CA', stranger, 'is not signed by a CA that the connection'],
    ['shows that of another node', other, 'is not of system:node:node-1'],
    ['does not end the handshake', { ...good, ok: true, chain: good.ok ? good.chain : [] }, ''],
    ['shows none', { ok: true, chain: [], protocol: 'TLSv1.3', keyProven: true }, 'is not a certificate'],
  ])('takes nothing from a server that %s', async (what, answer, says) => {
    const unfinished = what === 'does not end the handshake' && answer.ok;
    const { result } = await look({
      '10.0.0.1': unfinished ? { ok: true, chain: answer.chain, protocol: 'TLSv1.2' } : answer,
    });
    expect(result).toMatchObject({ ok: true, lookedAt: 1, owners: [] });
    expect(why(result)).toContain(unfinished ? '10.0.0.1:10250 did not finish the handshake' : says);
  });

  it('leaves a server behind that hangs and minds no signal, and asks the next address', async () => {
    vi.useFakeTimers();
    const timeouts = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(), ms);
      return controller.signal;
    });
    try {
      const hung = reading(
        'node',
        owner('node', 'node-1', '10.0.0.9', '10.0.0.1'),
        owner('node', 'node-2', '10.0.0.8'),
      );
      const looking = look(
        {},
        {
          nodes: new Set(['node-1', 'node-2']),
          readings: [hung],
          handshake: async ({ host }) => (host === '10.0.0.1' ? good : new Promise<never>(() => {})),
        },
      );
      await vi.advanceTimersByTimeAsync(3_000);
      const { result } = await looking;
      expect(result).toMatchObject({ lookedAt: 2, owners: [{ nodes: ['node-1'] }] });
      expect(why(result, 'node-2')).toBe('10.0.0.8:10250 did not answer within 3 s');
    } finally {
      timeouts.mockRestore();
      vi.useRealTimers();
    }
  });

  it('dials two addresses of a node at most, and none that no node may have', async () => {
    const odd = ['169.254.169.254', '127.0.0.1', '10.96.0.1', '10.0.0.200', 'fe80::1', '0.0.0.0', '::ffff:10.0.0.7'];
    const many = [...odd, '10.0.0.1', 'fd00::1', '10.0.0.3'];
    const { result, dialled } = await look({}, { readings: [reading('node', owner('node', 'node-1', ...many))] });
    expect(dialled).toEqual(['10.0.0.1', 'fd00::1']);
    expect(why(result)).toContain('[fd00::1]:10250');
    expect((await look({}, { readings: [reading('node', owner('node', 'node-1', ...odd))] })).dialled).toEqual([]);
  });

  it('says that a node has no address', async () => {
    const { result } = await look({}, { readings: [reading('node', owner('node', 'node-1'))] });
    expect(why(result)).toBe('it has no known address');
  });

  it.each(['machine', 'ec2'] as const)(
    'dials the addresses that the node cannot write, where there are some: %s',
    async (source) => {
      const readings = [reading(source, owner(source, 'node-1', '10.0.0.4')), NODE];
      expect((await look({}, { readings })).dialled).toEqual(['10.0.0.4']);
      const none = [NODE, reading(source, owner(source, 'node-1'), owner(source, 'node-3', '10.0.0.3'))];
      expect((await look({}, { readings: none })).dialled).toEqual(['10.0.0.1']);
    },
  );

  it('looks at no node that does not ask, and at none that is gone', async () => {
    const readings = [
      reading('node', owner('node', 'node-2', '10.0.0.2')),
      reading('machine', owner('machine', 'node-1', '10.0.0.1')),
    ];
    const { result, dialled } = await look({ '10.0.0.1': good, '10.0.0.2': other }, { readings });
    expect(dialled).toEqual([]);
    expect(result).toMatchObject({ ok: true, lookedAt: 0, owners: [] });
  });

  it('looks at 500 nodes, 32 at once', async () => {
    const names = Array.from({ length: 502 }, (_, index) => `node-${index}`);
    let now = 0;
    let most = 0;
    const { result } = await look(
      {},
      {
        nodes: new Set(names),
        readings: [
          reading('node', ...names.map((name, index) => owner('node', name, `10.1.${index >> 8}.${index & 255}`))),
        ],
        handshake: async () => {
          now += 1;
          most = Math.max(most, now);
          await new Promise(setImmediate);
          now -= 1;
          return refused;
        },
      },
    );
    expect(most).toBe(32);
    expect(result).toMatchObject({ lookedAt: 500 });
    expect(why(result, 'node-501')).toBe('its certificate was not checked: more than 500 nodes ask at once');
  });

  it('dials nobody any more when the time of the sweep is over', async () => {
    const { result, dialled } = await look({ '10.0.0.1': good }, { signal: AbortSignal.abort() });
    expect(dialled).toEqual([]);
    expect(why(result)).toBe('its certificate was not checked: the time for all nodes was used up');
  });

  it.each<[string, Parameters<typeof look>[1], string]>([
    ['the lane does not reach nodes', { handshake: undefined }, 'this lane cannot reach nodes'],
    ['the Nodes were not read', { readings: [] }, 'Nodes could not be read'],
    [
      'the Nodes cannot be read',
      { readings: [{ source: 'node', ok: false, problem: '403', remedy: 'Grant.' }] },
      'Nodes could not',
    ],
    ['the connection has no CA bundle', { caPem: undefined }, 'trusts no CA bundle'],
    ['the CA bundle cannot be read', { caPem: 'nonsense' }, 'trusts no CA bundle'],
  ])('proves nothing and says so when %s', async (_, change, problem) => {
    const { result, dialled } = await look({ '10.0.0.1': good }, change);
    expect(dialled).toEqual([]);
    expect(result).toMatchObject({
      source: 'renewal',
      ok: false,
      problem: expect.stringContaining(problem),
      remedy: expect.stringContaining('remove renewal from evidence'),
    });
  });
});

describe('a real server', () => {
  /** The port of a kubelet is not free everywhere, and loopback is no address of a node. */
  const at =
    (port: number, timeoutMs = 3_000): Handshake =>
    (_, within) =>
      shakeHands({ host: '127.0.0.1', port }, { signal: within, timeoutMs, addresses: 'local' });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('proves its certificate with its private key: %s', async (version) => {
    const port = await listenTls({
      ...(await servingPair()),
      minVersion: version,
      maxVersion: version,
      // As a kubelet does.
      requestCert: true,
      rejectUnauthorized: false,
    });
    const { result } = await look({}, { handshake: at(port) });
    expect(result).toMatchObject({ owners: [{ nodes: ['node-1'], dnsNames: ['node-1'], addresses: ['10.0.0.1'] }] });
  });

  it('of another CA proves nothing', async () => {
    const port = await listenTls(await servingPair({ signedBy: OTHER_CA }));
    const { result } = await look({}, { handshake: at(port) });
    expect(why(result)).toContain('is not signed by a CA');
  });

  it('that ends the handshake after it has shown its certificate proves nothing', async () => {
    const { cert } = await servingPair();
    const handshake: Handshake = async () => ({ ok: true, chain: decodeBundle(cert).certificates });
    const { result } = await look({}, { handshake });
    expect(why(result)).toBe('10.0.0.1:10250 did not finish the handshake, so it may not have the private key');
  });

  it('that takes the connection and says nothing is left behind', async () => {
    const port = await listen(createServer(() => {}));
    const { result } = await look({}, { handshake: at(port, 100) });
    expect(why(result)).toContain('10.0.0.1:10250 shows no certificate: ');
  });
});

describe('a sweep', () => {
  const csr = csrObject({ request: { sans: [...dns('node-1'), ...ips('10.0.0.1')] } });
  const run = async (change: {
    readonly handshake?: Handshake;
    readonly evidence?: ApprovalPolicy['evidence'];
    readonly serviceCidrs?: readonly string[];
    readonly decided?: boolean;
  }) => {
    const paths: string[] = [];
    const workload: KubernetesClient = {
      server: 'https://127.0.0.1',
      caPem,
      stats: { requests: 0, writes: 0, retries: 0, throttled: 0, bytes: 0 },
      request: async ({ method, path }) => {
        paths.push(`${method} ${path}`);
        if (method === 'PUT') return csr;
        const requests =
          change.decided === true
            ? [{ ...csr, status: { conditions: [{ type: 'Approved', status: 'True' }] } }]
            : [csr];
        const shown = nodeObject('node-1', { Hostname: ['node-1'], InternalIP: ['10.0.0.1'] });
        const items = path.endsWith('/nodes') ? [shown] : requests;
        return { items, metadata: {} };
      },
      close() {},
    };
    const { serviceCidrs = ['10.96.0.0/12'], evidence = ['renewal'] } = change;
    const report = await approve(
      {
        cluster: { name: 'berlin', provider: 'eks-anywhere', serviceCidrs },
        workload,
        machinesNamespace: 'eksa-system',
        handshake: change.handshake,
      },
      [{ ...DEFAULT_POLICY, evidence }],
      () => NOW,
      new AbortController().signal,
    );
    return { report, paths };
  };

  it('approves what the node serves now already', async () => {
    const { report, paths } = await run({ handshake: async () => good });
    expect(report.counts).toMatchObject({ approved: 1, left: 0 });
    expect(report.evidence).toEqual([
      { source: 'node', lookedAt: 1 },
      { source: 'renewal', lookedAt: 1 },
    ]);
    expect(paths.filter((path) => path.startsWith('GET'))).toHaveLength(2);
  });

  it('leaves it where the certificate proves nothing, and says why', async () => {
    const { report } = await run({ handshake: async () => stranger });
    expect(report.counts).toMatchObject({ approved: 0, left: 1 });
    expect(report.rows[0]?.message).toContain('is not signed by a CA that the connection to the API server trusts');
  });

  it('without handshakes leaves it, and says that the lane reaches no node', async () => {
    const { report } = await run({});
    expect(report.rows).toMatchObject([{ reason: 'EvidenceUnreadable' }]);
    expect(report.problems).toMatchObject([{ object: 'evidence renewal', message: 'this lane cannot reach nodes' }]);
  });

  it('dials nobody while the service CIDRs are not known, where no policy trusts renewals, or where nothing is open', async () => {
    const handshake = vi.fn<Handshake>(async () => good);
    const { report } = await run({ handshake, serviceCidrs: [] });
    expect(report.counts.approved).toBe(0);
    expect(report.problems.map(({ object }) => object)).toEqual(['evidence node', 'evidence renewal']);
    await run({ handshake, evidence: ['node'] });
    await run({ handshake, decided: true });
    expect(handshake).not.toHaveBeenCalled();
  });
});
