import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { approve } from '../../../lambdas/approval/approve.ts';
import { type Evidence, indexEvidence, type SourceReading } from '../../../lambdas/approval/evidence/evidence.ts';
import { ownerFromMachine } from '../../../lambdas/approval/evidence/machine.ts';
import { collectAsked, tellFates } from '../../../lambdas/approval/fates.ts';
import { collectOpenRequests } from '../../../lambdas/approval/open-requests.ts';
import { type ApprovalPolicy, DEFAULT_POLICY, everywhere } from '../../../lambdas/approval/policy.ts';
import { type FateRow, type SloLedger, type ToldRow, WAIT_BOUNDS } from '../../../lambdas/contracts/fates.ts';
import type { KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { KubernetesError } from '../../../lambdas/kubernetes/errors.ts';
import type { SigningCondition, SigningRequest } from '../../../lambdas/resources/signing-request.ts';
import { readSigningRequest } from '../../../lambdas/resources/signing-request.ts';
import { FATES, type Fate } from '../../../lambdas/slo/fates.ts';
import { fatesBetween, foldFates } from '../../../lambdas/slo/ledger.ts';
import { sloState } from '../../../lambdas/slo/objective.ts';
import { addressOf, csrOf, machineOf, requestOf } from '../../bench/fixtures.ts';

const MINUTE = 60_000;
const NOW = Date.parse('2026-11-21T12:00:00Z');
const CLUSTER = { name: 'bench', provider: 'eks-anywhere' as const };
const idle = () => new AbortController().signal;

/** Nodes 1 and 2 have a Machine, 3 has none, 4 has one and asks for the name of 1. */
const PEMS = [1, 2, 3, 4].map((index) => requestOf(index, index === 4 ? { steals: 1 } : {}));

const machines: SourceReading = {
  source: 'machine',
  ok: true,
  lookedAt: 3,
  owners: [1, 2, 4].flatMap((index) => ownerFromMachine(machineOf(index), 'bench') ?? []),
};
const unread: SourceReading = { source: 'machine', ok: false, problem: 'it does not answer', remedy: 'Wait.' };
const READ = indexEvidence([machines]);
const UNREAD = indexEvidence([unread]);

let serial = 0;

function csr(node: number, createdAt: number, change: Partial<SigningRequest> = {}): SigningRequest {
  const read = readSigningRequest(
    csrOf(node, PEMS[node - 1] ?? Buffer.alloc(0), new Date(createdAt).toISOString().replace('.000Z', 'Z')),
  );
  if (!read.ok) throw new Error(read.problem);
  serial += 1;
  return { ...read.csr, name: `csr-${serial}`, uid: `uid-${serial}`, ...change };
}

const condition = (type: string, reason = ''): SigningCondition => ({ type, status: 'True', reason });

interface Situation {
  readonly evidence?: Evidence;
  readonly policies?: readonly ApprovalPolicy[];
  readonly at?: number;
  readonly signal?: AbortSignal;
}

/** What one look tells, as a sweep does it. */
async function told(
  requests: readonly SigningRequest[],
  { evidence = READ, policies = [DEFAULT_POLICY], at = NOW, signal = idle() }: Situation = {},
): Promise<readonly ToldRow[]> {
  const asked = collectAsked(at);
  const open = collectOpenRequests();
  for (const request of requests) {
    asked.add(request);
    if (request.conditions.length === 0 && !request.issued && !request.deleting)
      open.add(request, { name: request.name, uid: request.uid, resourceVersion: '1', metadata: {}, conditions: [] });
  }
  return tellFates(asked.all(), { cluster: CLUSTER, open: open.all(), evidence, acted: [], policies, signal });
}

const fateRow = (minute: number, counts: Partial<Record<Fate, number>> = {}): FateRow => [
  minute,
  ...(FATES.map((fate) => counts[fate] ?? 0) as [number, number, number, number, number]),
];
const AGED = NOW - 30 * MINUTE;
const MINUTE_OF_AGED = AGED / MINUTE;

describe('the fate of a request that is decided', () => {
  it.each<[string, Partial<SigningRequest>, Fate | undefined]>([
    ['issued to certmarshal', { issued: true, conditions: [condition('Approved', 'CertMarshalApproved')] }, 'us'],
    ['issued to somebody else', { issued: true, conditions: [condition('Approved', 'AutoApproved')] }, 'others'],
    ['approved by certmarshal', { conditions: [condition('Approved', 'CertMarshalApproved')] }, 'missed'],
    ['approved by somebody else', { conditions: [condition('Approved', 'AutoApproved')] }, 'missed'],
    ['issued, its condition lost', { issued: true }, 'others'],
    ['denied', { conditions: [condition('Denied', 'CertMarshalDenied')] }, 'refused'],
    [
      'approved by certmarshal, refused by the signer',
      { conditions: [condition('Failed', 'SignerValidationFailure'), condition('Approved', 'CertMarshalApproved')] },
      'missed',
    ],
    [
      'approved by somebody else, refused by the signer',
      { conditions: [condition('Approved', 'kubectl'), condition('Failed')] },
      'refused',
    ],
    ['failed without approval', { conditions: [condition('Failed')] }, 'refused'],
    ['of somebody with a name that no node can have', { username: `system:node:${'x'.repeat(254)}` }, 'refused'],
    ['of a node with the longest name', { username: `system:node:${'x'.repeat(253)}`, issued: true }, 'others'],
    ['not of a node', { username: 'system:serviceaccount:a:b', issued: true }, undefined],
    ['of another signer', { signerName: 'kubernetes.io/kube-apiserver-client-kubelet', issued: true }, undefined],
    ['being deleted', { deleting: true, issued: true }, undefined],
    ['of no time', { createdAt: undefined, issued: true }, undefined],
  ])('%s', async (_, change, fate) => {
    expect(await told([csr(1, AGED, change)])).toEqual(
      fate === undefined ? [] : [fateRow(MINUTE_OF_AGED, { [fate]: 1 })],
    );
  });

  it.each<[string, number, number]>([
    ['an hour old', 60 * MINUTE, 1],
    ['older, and perhaps cleaned up', 60 * MINUTE + 1_000, 0],
    ['in the minute that is just over', 15 * MINUTE + 1_000, 1],
    ['in a minute that still waits', 15 * MINUTE, 0],
    ['new', 0, 0],
  ])('counts one that is %s, or not', async (_, age, rows) => {
    expect(await told([csr(1, NOW - age, { issued: true })])).toHaveLength(rows);
  });
});

describe('the wait of a request that is approved', () => {
  const approvedAfter = (seconds: number, reason = 'CertMarshalApproved'): Partial<SigningRequest> => ({
    issued: true,
    conditions: [{ ...condition('Approved', reason), updated: new Date(AGED + seconds * 1_000).toISOString() }],
  });
  const waits = (...bounds: readonly number[]) =>
    WAIT_BOUNDS.map((bound) => bounds.filter((one) => one === bound).length);

  it.each<[string, readonly Partial<SigningRequest>[], readonly number[]]>([
    ['at once', [approvedAfter(0)], [1]],
    ['before it was made, by another clock', [approvedAfter(-90)], [1]],
    ['within a second, and after it', [approvedAfter(1), approvedAfter(2)], [1, 5]],
    ['by somebody else', [approvedAfter(61, 'AutoApproved')], [180]],
    ['as long as a kubelet waits, and longer', [approvedAfter(900), approvedAfter(901)], [900, 3_600]],
    ['longer than it can be seen, by another clock', [approvedAfter(90_000)], [3_600]],
    [
      'by two conditions, of which the first counts',
      [{ issued: true, conditions: [...(approvedAfter(9).conditions ?? []), ...(approvedAfter(99).conditions ?? [])] }],
      [15],
    ],
  ])('%s', async (_, changes, bounds) => {
    const us = changes.filter(({ conditions }) => conditions?.[0]?.reason === 'CertMarshalApproved').length;
    const row = fateRow(MINUTE_OF_AGED, { us, others: changes.length - us });
    expect(await told(changes.map((change) => csr(1, AGED, change)))).toEqual([[...row, ...waits(...bounds)]]);
  });

  it.each<[string, Partial<SigningRequest>]>([
    ['nobody says when', { issued: true, conditions: [condition('Approved', 'CertMarshalApproved')] }],
    [
      'the time is none',
      { issued: true, conditions: [{ ...condition('Approved', 'CertMarshalApproved'), updated: 'yesterday' }] },
    ],
    ['its condition is lost', { issued: true }],
    ['it is denied', { conditions: [{ ...condition('Denied'), updated: new Date(AGED).toISOString() }] }],
    ['no node can have its name', { ...approvedAfter(1), username: `system:node:${'x'.repeat(254)}` }],
  ])('is not told where %s', async (_, change) => {
    const [row] = await told([csr(1, AGED, change)]);
    expect(row).toHaveLength(6);
  });

  it('is not told of what nobody promised', async () => {
    const observing: ApprovalPolicy = { ...DEFAULT_POLICY, mode: everywhere('observe') };
    expect(await told([csr(1, AGED, approvedAfter(1))], { policies: [observing] })).toEqual([fateRow(MINUTE_OF_AGED)]);
  });
});

it('are in the order of their minutes, however they are listed', async () => {
  const ages = [40, 20, 30].map((minutes) => csr(1, NOW - minutes * MINUTE, { issued: true }));
  const minutes = (await told(ages)).map(([minute]) => minute);
  expect(minutes).toEqual([40, 30, 20].map((age) => NOW / MINUTE - age));
});

describe('the fate of a request that is undecided', () => {
  const observing: ApprovalPolicy = { ...DEFAULT_POLICY, name: 'shadow', mode: everywhere('observe') };
  const elsewhere: ApprovalPolicy = { ...DEFAULT_POLICY, clusters: ['paris'] };
  const denying: ApprovalPolicy = { ...DEFAULT_POLICY, onHostile: 'deny' };
  const onlyNodes: ApprovalPolicy = { ...DEFAULT_POLICY, evidence: ['node'] };
  const late: ApprovalPolicy = {
    ...DEFAULT_POLICY,
    age: { ...DEFAULT_POLICY.age, 'eks-anywhere': { minSeconds: 600, maxSeconds: 900 } },
  };
  const rsa: ApprovalPolicy = { ...DEFAULT_POLICY, keys: { ...DEFAULT_POLICY.keys, ecdsaCurves: ['P-521'] } };

  /** A Node 2 that shows what node 1 asks for. */
  const shownByOther: Extract<SourceReading, { ok: true }> = {
    source: 'node',
    ok: true,
    lookedAt: 1,
    owners: [
      {
        source: 'node',
        object: 'Node worker-2',
        nodes: ['worker-2'],
        dnsNames: ['worker-1'],
        addresses: [addressOf(1)],
      },
    ],
  };
  const alsoInstance: SourceReading = {
    ...shownByOther,
    source: 'ec2',
    owners: shownByOther.owners.map((owner) => ({ ...owner, source: 'ec2' })),
  };
  const alsoNodes: ApprovalPolicy = { ...DEFAULT_POLICY, evidence: ['machine', 'node'] };
  const noMachines: SourceReading = { source: 'machine', ok: true, lookedAt: 0, owners: [] };

  it.each<[string, number, Situation, Fate | undefined]>([
    [
      'for what another Node shows',
      1,
      { policies: [alsoNodes], evidence: indexEvidence([noMachines, shownByOther]) },
      'unprovable',
    ],
    [
      'for what another Node shows, Machines not read, which could have outranked it',
      1,
      { policies: [alsoNodes], evidence: indexEvidence([unread, shownByOther]) },
      'missed',
    ],
    ['for what another instance shows too', 1, { evidence: indexEvidence([machines, alsoInstance]) }, 'unprovable'],
    ['proven', 1, {}, 'missed'],
    ['proven, at an age at which the policy judges none', 1, { policies: [late] }, 'missed'],
    ['proven for one of two policies', 1, { policies: [onlyNodes, DEFAULT_POLICY] }, 'missed'],
    ['of a node without a Machine', 3, {}, 'unprovable'],
    ['of a node without a Machine, Machines not read', 3, { evidence: UNREAD }, 'missed'],
    ['provable, Machines not read', 1, { evidence: UNREAD }, 'missed'],
    [
      'as before, beside a policy that trusts only Nodes',
      3,
      { policies: [onlyNodes, DEFAULT_POLICY], evidence: UNREAD },
      'missed',
    ],
    [
      'of a node without a Machine, a source not read that no policy trusts',
      3,
      { evidence: indexEvidence([machines, { ...unread, source: 'node' }]) },
      'unprovable',
    ],
    ['for the name of another node', 4, {}, 'refused'],
    ['for the name of another node, where that is denied', 4, { policies: [denying] }, 'refused'],
    ['with a key that is not allowed', 1, { policies: [rsa] }, 'refused'],
    ['with a key that is not allowed, Machines not read', 1, { policies: [rsa], evidence: UNREAD }, 'refused'],
    ['where the policy only observes', 1, { policies: [observing] }, undefined],
    ['where one policy observes and one is enforced', 1, { policies: [observing, DEFAULT_POLICY] }, 'missed'],
    ['that only an observing policy would approve', 1, { policies: [observing, rsa] }, 'refused'],
    ['that no policy selects', 1, { policies: [elsewhere] }, undefined],
  ])('%s', async (_, node, situation, fate) => {
    expect(await told([csr(node, AGED)], situation)).toEqual([
      fateRow(MINUTE_OF_AGED, fate === undefined ? {} : { [fate]: 1 }),
    ]);
  });

  it('counts nothing in a cluster that nothing is promised to, and says that it looked', async () => {
    const requests = [csr(1, AGED, { issued: true }), csr(3, AGED)];
    expect(await told(requests, { policies: [observing] })).toEqual([fateRow(MINUTE_OF_AGED)]);
  });

  it('of one requester is that of the newest, also of one that is too young to be counted', async () => {
    const hidden = { request: Buffer.from('no request') };
    const requests = [
      csr(1, AGED, hidden),
      csr(1, AGED + MINUTE, hidden),
      csr(1, AGED + MINUTE + 1_000, hidden),
      csr(1, NOW + 10 * MINUTE),
    ];
    expect(await told(requests)).toEqual([
      fateRow(MINUTE_OF_AGED, { missed: 1 }),
      fateRow(MINUTE_OF_AGED + 1, { missed: 2 }),
    ]);
  });

  it.each([
    [50, 'missed'],
    [51, 'refused'],
  ] as const)('of a requester with %i at once: %s', async (count, fate) => {
    const requests = Array.from({ length: count }, () => csr(1, AGED));
    expect(await told(requests)).toEqual([fateRow(MINUTE_OF_AGED, { [fate]: count })]);
  });

  it('of a requester counts as many at once as the longest wait of a policy has', async () => {
    const quick = { ...late, age: { ...late.age, 'eks-anywhere': { minSeconds: 0, maxSeconds: 300 } } };
    const requests = [...Array.from({ length: 50 }, () => csr(1, AGED - 10 * MINUTE)), csr(1, AGED)];
    expect(await told(requests, { policies: [quick, DEFAULT_POLICY] })).toEqual([
      fateRow(MINUTE_OF_AGED - 10, { refused: 50 }),
      fateRow(MINUTE_OF_AGED, { refused: 1 }),
    ]);
  });

  it('that is too large to be judged is refused, whatever it asks for', async () => {
    const asked = collectAsked(NOW);
    const large = csr(1, AGED);
    asked.add(large);
    const open = [{ csr: large, subject: undefined, askedAt: [AGED] }];
    const look = { cluster: CLUSTER, open, evidence: READ, acted: [], policies: [DEFAULT_POLICY], signal: idle() };
    expect(await tellFates(asked.all(), look)).toEqual([fateRow(MINUTE_OF_AGED, { refused: 1 })]);
  });

  it('is that of the verdict which was just carried out, without judging again', async () => {
    const asked = collectAsked(NOW);
    asked.add(csr(3, AGED));
    const look = { cluster: CLUSTER, open: [], evidence: READ, policies: [DEFAULT_POLICY], signal: idle() };
    const acted = (mode: 'enforce' | 'observe') => ({
      csr: csr(3, NOW),
      verdict: { verdict: 'approve' as const, reason: 'Proven' as const, message: '', hostile: false, mode },
      outcome: { kind: 'written' as const },
    });
    expect(await tellFates(asked.all(), { ...look, acted: [acted('enforce')] })).toEqual([
      fateRow(MINUTE_OF_AGED, { missed: 1 }),
    ]);
    expect(await tellFates(asked.all(), { ...look, acted: [acted('observe')] })).toEqual([fateRow(MINUTE_OF_AGED)]);
  });

  it('is left to the next look when the time is over; minutes that need no judging are told', async () => {
    const requests = [csr(1, AGED), csr(2, AGED, { issued: true }), csr(2, AGED + MINUTE, { issued: true })];
    expect(await told(requests, { signal: AbortSignal.abort() })).toEqual([fateRow(MINUTE_OF_AGED + 1, { others: 1 })]);
  });
});

it('a request that a bug keeps from being judged is missed', async () => {
  const broken = Object.defineProperty(csr(1, AGED), 'expirationSeconds', {
    get: () => {
      throw new TypeError('a bug');
    },
  });
  expect(await told([broken])).toEqual([fateRow(MINUTE_OF_AGED, { missed: 1 })]);
});

describe('a storm', () => {
  it('keeps no more than counters, of as many requesters as four clusters have', () => {
    const asked = collectAsked(NOW);
    const one = csr(1, AGED);
    for (let index = 0; index < 100_000; index += 1) asked.add({ ...one, username: `system:node:n-${index}` });
    for (let index = 0; index < 400_000; index += 1) asked.add(one.issued ? one : { ...one, issued: true });
    const { decided, undecided } = asked.all();
    expect(undecided.size).toBe(20_000);
    expect([...decided]).toEqual([[MINUTE_OF_AGED, [0, 400_000, 0, 0, 0, ...WAIT_BOUNDS.map(() => 0)]]]);
  });

  it('is judged for some seconds at most, and others get their turn meanwhile', async () => {
    const one = csr(1, AGED, { request: Buffer.from('no request') });
    const asked = collectAsked(NOW);
    const open = collectOpenRequests();
    for (let index = 0; index < 6_000; index += 1) {
      const request = { ...one, uid: `${index}`, username: `system:node:n-${index}` };
      asked.add(request);
      open.add(request, { name: 'n', uid: 'u', resourceVersion: '1', metadata: {}, conditions: [] });
    }
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 1);
    const rows = await tellFates(asked.all(), {
      cluster: CLUSTER,
      open: open.all(),
      evidence: READ,
      acted: [],
      policies: [DEFAULT_POLICY],
      signal: idle(),
    });
    clearInterval(timer);
    expect(rows).toEqual([fateRow(MINUTE_OF_AGED, { refused: 2_000 })]);
    expect(turns).toBeGreaterThan(0);
  });
});

describe('sweep', () => {
  const aged = new Date(AGED).toISOString().replace('.000Z', 'Z');

  /** A cluster with an old open request of node 1, and its Machine. */
  function clusterOf(list: () => object): KubernetesClient {
    return {
      server: 'https://127.0.0.1',
      stats: { requests: 0, writes: 0, retries: 0, throttled: 0, bytes: 0 },
      request: async (call) => {
        if (call.path.includes('certificatesigningrequests')) return { ...list() };
        if (call.path.endsWith('/cluster.x-k8s.io')) return { versions: [{ version: 'v1beta2' }] };
        return { items: [machineOf(1)], metadata: {} };
      },
      close() {},
    };
  }
  const reportOf = (client: KubernetesClient, ...more: [policies: readonly ApprovalPolicy[], ApprovalPolicy[]?]) =>
    approve(
      { cluster: CLUSTER, workload: client, management: client, machinesNamespace: 'eksa-system' },
      more[0],
      () => NOW,
      idle(),
      {},
      { promised: more[1] },
    );
  const withOne = () => clusterOf(() => ({ items: [csrOf(1, PEMS[0] ?? Buffer.alloc(0), aged)], metadata: {} }));
  const observing: ApprovalPolicy = { ...DEFAULT_POLICY, mode: everywhere('observe') };

  it('counts the retries of its own', async () => {
    const stats = { requests: 7, writes: 2, retries: 5, throttled: 0, bytes: 0 };
    const list = () => {
      stats.retries += 1;
      return { items: [], metadata: {} };
    };
    const client = { ...clusterOf(list), stats };
    expect((await reportOf(client, [DEFAULT_POLICY])).requests).toMatchObject({ sent: 0, writes: 0, retries: 1 });
  });

  it('counts the requests to a management cluster of its own', async () => {
    const management = { ...withOne(), stats: { requests: 0, writes: 0, retries: 0, throttled: 0, bytes: 0 } };
    const stats = { requests: 0, writes: 0, retries: 0, throttled: 0, bytes: 0 };
    const list = () => {
      management.stats.requests += 3;
      stats.requests += 1;
      return { items: [], metadata: {} };
    };
    const workload = { ...clusterOf(list), stats };
    const target = { cluster: CLUSTER, workload, management, machinesNamespace: 'eksa-system' };
    const { requests } = await approve(target, [DEFAULT_POLICY], () => NOW, idle());
    expect(requests).toMatchObject({ sent: 4 });
  });

  it.each([true, false])('tells how the clocks differ where a server answered: %s', async (hasAnswered) => {
    const list = () => {
      if (hasAnswered) client.clock = { skewMs: 90_000 };
      return { items: [], metadata: {} };
    };
    const client: KubernetesClient & { clock: object } = { ...clusterOf(list), clock: { skewMs: 90_000 } };
    const { problems } = await reportOf(client, [DEFAULT_POLICY]);
    expect(problems.map(({ object }) => object)).toEqual(hasAnswered ? ['API server https://127.0.0.1'] : []);
  });

  it('writes nothing in a dry run', async () => {
    const target = { cluster: CLUSTER, workload: withOne(), management: withOne(), machinesNamespace: 'eksa-system' };
    const at = () => AGED + 60_000;
    expect(await approve(target, [DEFAULT_POLICY], at, idle(), {}, { dryRun: true })).toMatchObject({
      counts: { approved: 0, wouldWrite: 1 },
    });
  });

  it('throws what is a bug, where nothing was decided yet', async () => {
    const broken = clusterOf(() => {
      throw new TypeError('a bug');
    });
    await expect(reportOf(broken, [DEFAULT_POLICY])).rejects.toThrow(new TypeError('a bug'));
  });

  it('tells the fates of what it listed', async () => {
    expect(await reportOf(withOne(), [DEFAULT_POLICY])).toMatchObject({
      ignored: { Orphaned: 1 },
      fates: [fateRow(MINUTE_OF_AGED, { missed: 1 })],
    });
  });

  it('tells how long it waited, as the API server wrote it down', async () => {
    const approved = { type: 'Approved', status: 'True', reason: 'AutoApproved', message: 'Auto approved' };
    const list = (lastUpdateTime: string) => ({
      items: [
        {
          ...csrOf(1, PEMS[0] ?? Buffer.alloc(0), aged),
          status: {
            certificate: 'LS0t',
            conditions: [{ ...approved, lastUpdateTime, lastTransitionTime: lastUpdateTime }],
          },
        },
      ],
      metadata: {},
    });
    const later = new Date(AGED + 42_000).toISOString().replace('.000Z', 'Z');
    const { fates } = await reportOf(
      clusterOf(() => list(later)),
      [DEFAULT_POLICY],
    );
    const waits = WAIT_BOUNDS.map((bound) => Number(bound === 60));
    expect(fates).toEqual([[...fateRow(MINUTE_OF_AGED, { others: 1 }), ...waits]]);
  });

  it('counts as missed what is held, by the policies that would have been enforced', async () => {
    expect(await reportOf(withOne(), [observing])).toMatchObject({ fates: [fateRow(MINUTE_OF_AGED)] });
    expect(await reportOf(withOne(), [observing], [DEFAULT_POLICY])).toMatchObject({
      fates: [fateRow(MINUTE_OF_AGED, { missed: 1 })],
    });
  });

  it('tells none where there are none, and nothing where the requests cannot be listed', async () => {
    const empty = clusterOf(() => ({ items: [], metadata: {} }));
    expect(await reportOf(empty, [DEFAULT_POLICY])).toMatchObject({ fates: [] });
    const failing = clusterOf(() => {
      throw new KubernetesError({ kind: 'server', object: 'list', problem: 'HTTP 500', remedy: 'Wait.' });
    });
    expect(await reportOf(failing, [DEFAULT_POLICY])).not.toHaveProperty('fates', expect.anything());
  });
});

describe('histories', () => {
  /** Seconds from NOW. */
  interface Asked {
    readonly node: 1 | 2 | 3 | 4;
    readonly at: number;
    readonly decision?: { readonly by: 'us' | 'others' | 'denied'; readonly after: number };
    /** After the hour that the cleaner of Kubernetes waits, and whatever more. */
    readonly cleanedAfter: number;
  }
  interface Look {
    readonly at: number;
    readonly machinesRead: boolean;
    /** Milliseconds until its outcome comes, once for each; none: it is lost. */
    readonly delays: readonly number[];
  }

  const LENGTH = 3 * 3_600;
  const KINDS = { us: 'us', others: 'others', denied: 'refused' } as const;
  const CONDITIONS = {
    us: condition('Approved', 'CertMarshalApproved'),
    others: condition('Approved', 'EKS'),
    denied: condition('Denied'),
  };

  const history = (latestDecision: number) =>
    fc.array(
      fc.record(
        {
          node: fc.constantFrom(1 as const, 2 as const, 3 as const, 4 as const),
          at: fc.integer({ min: 0, max: LENGTH }),
          decision: fc.record({
            by: fc.constantFrom('us' as const, 'others' as const, 'denied' as const),
            after: fc.integer({ min: 0, max: latestDecision }),
          }),
          cleanedAfter: fc.integer({ min: 3_600, max: 7_200 }),
        },
        { requiredKeys: ['node', 'at', 'cleanedAfter'] },
      ),
      { maxLength: 12 },
    );

  const decidedAt = ({ at, decision }: Asked) => (decision === undefined ? undefined : at + decision.after);

  /** The requests as a list at that second shows them. */
  function listed(requests: readonly Asked[], second: number): SigningRequest[] {
    return requests.flatMap((asked) => {
      const { node, at, decision, cleanedAfter } = asked;
      const decided = decidedAt(asked);
      if (at > second || (decided !== undefined && second > decided + cleanedAfter)) return [];
      const isDecided = decision !== undefined && decided !== undefined && decided <= second;
      return [
        csr(
          node,
          NOW + at * 1_000,
          isDecided ? { issued: decision.by !== 'denied', conditions: [CONDITIONS[decision.by]] } : {},
        ),
      ];
    });
  }

  function fateAt(asked: Asked, { at, machinesRead }: Pick<Look, 'at' | 'machinesRead'>): Fate {
    const decided = decidedAt(asked);
    if (asked.decision !== undefined && decided !== undefined && decided <= at) return KINDS[asked.decision.by];
    // The name of another node is known to be that only from its Machine.
    if (!machinesRead || asked.node <= 2) return 'missed';
    return asked.node === 3 ? 'unprovable' : 'refused';
  }

  interface Sent {
    readonly rows: readonly ToldRow[];
    readonly lookedAt: number;
    readonly deliveredAt: number;
  }

  async function outcomes(requests: readonly Asked[], looks: readonly Look[]): Promise<readonly Sent[]> {
    const sent = await Promise.all(
      looks.map(async ({ at, machinesRead, delays }) => {
        const lookedAt = NOW + at * 1_000;
        const rows = await told(listed(requests, at), { at: lookedAt, evidence: machinesRead ? READ : UNREAD });
        return delays.map((delay) => ({ rows, lookedAt, deliveredAt: lookedAt + delay }));
      }),
    );
    return sent.flat().toSorted((a, b) => a.deliveredAt - b.deliveredAt);
  }

  const START: SloLedger = { open: [], hours: [], days: [], since: 0, closedBefore: 0 };
  const END = NOW + (LENGTH + 5 * 3_600) * 1_000;
  const folded = (sent: readonly Sent[]): SloLedger =>
    foldFates(
      sent.reduce((ledger, { rows, lookedAt, deliveredAt }) => foldFates(ledger, rows, lookedAt, deliveredAt), START),
      [],
      END,
      END,
    );
  const totals = (ledger: SloLedger) => fatesBetween([ledger], 0, Number.POSITIVE_INFINITY);

  const schedule = fc.array(
    fc.record({
      at: fc.integer({ min: 0, max: LENGTH + 3_600 }),
      machinesRead: fc.boolean(),
      delays: fc.array(fc.integer({ min: 0, max: 15 * MINUTE }), { maxLength: 3 }),
    }),
    { maxLength: 12 },
  );

  it('count each request once, in the fate of the first look whose outcome came', async () => {
    await fc.assert(
      fc.asyncProperty(history(4_000), schedule, async (requests, looks) => {
        const counts = totals(folded(await outcomes(requests, looks)));

        const expected = { us: 0, others: 0, missed: 0, refused: 0, unprovable: 0 };
        for (const asked of requests) {
          const begin = Math.floor((NOW / 1_000 + asked.at) / 60) * 60 - NOW / 1_000;
          const telling = looks
            .filter(({ at, delays }) => delays.length > 0 && begin >= at - 3_600 && begin + 60 <= at - 900)
            .toSorted((a, b) => a.at - b.at);
          const [first] = telling;
          // Of two at the same second the worse counts, which only their reading of Machines makes different.
          const same = telling.filter(({ at }) => at === first?.at);
          if (first === undefined) continue;
          if (same.some(({ machinesRead }) => machinesRead !== first.machinesRead)) return;
          expected[fateAt(asked, first)] += 1;
        }
        expect(counts).toEqual(expected);
        expect(Object.values(counts).reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(requests.length);
      }),
      { seed: 6, numRuns: 120 },
    );
  });

  it('are the same as with a sweep every minute, as long as no more than 40 minutes of them are lost', async () => {
    const everyMinute = Array.from({ length: LENGTH / 60 + 75 }, (_, index) => index * 60);
    const lost = fc.array(fc.tuple(fc.nat(everyMinute.length), fc.integer({ min: 1, max: 39 })), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(history(900), lost, fc.integer({ min: 0, max: 59 }), async (requests, gaps, phase) => {
        const isLost = (index: number) => gaps.some(([begin, length]) => index >= begin && index < begin + length);
        const look = (at: number) => ({ at: at + phase, machinesRead: true, delays: [0] });
        // Gaps that touch are one that may be too long.
        const longest = everyMinute.reduce(
          ({ run, most }, _, index) =>
            isLost(index) ? { run: run + 1, most: Math.max(most, run + 1) } : { run: 0, most },
          { run: 0, most: 0 },
        ).most;
        fc.pre(longest <= 40);
        const sent = await outcomes(requests, everyMinute.map(look));
        const some = sent.filter((_, index) => !isLost(index));
        const asked = (ledger: SloLedger) => ({ hours: ledger.hours, days: ledger.days });
        // The last sweeps must have come, or there is none that makes it good.
        const last = sent.slice(-30);
        expect(asked(folded([...some, ...last]))).toEqual(asked(folded(sent)));
        expect(Object.values(totals(folded(sent))).reduce((sum, each) => sum + each, 0)).toBe(requests.length);
      }),
      { seed: 7, numRuns: 15 },
    );
  });

  it('never look better because Machines could not be read', async () => {
    await fc.assert(
      fc.asyncProperty(history(4_000), schedule, fc.array(fc.boolean()), async (requests, looks, fails) => {
        const worse = looks.map((look, index) => (fails[index] === true ? { ...look, machinesRead: false } : look));
        const state = async (given: readonly Look[]) => sloState([folded(await outcomes(requests, given))], 0.999, END);
        const [before, after] = [await state(looks), await state(worse)];
        expect(after.attainment ?? 1).toBeLessThanOrEqual(before.attainment ?? 1);
        expect(after.counts.missed).toBeGreaterThanOrEqual(before.counts.missed);
      }),
      { seed: 8, numRuns: 80 },
    );
  });
});
