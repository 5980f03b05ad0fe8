import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Acted } from '../../../lambdas/approval/act.ts';
import { approve } from '../../../lambdas/approval/approve.ts';
import { collectDue, countDue } from '../../../lambdas/approval/due-csrs.ts';
import { type Evidence, indexEvidence, type SourceReading } from '../../../lambdas/approval/evidence/evidence.ts';
import { ownerFromMachine } from '../../../lambdas/approval/evidence/machine.ts';
import { collectOpenRequests } from '../../../lambdas/approval/open-requests.ts';
import { type ApprovalPolicy, DEFAULT_POLICY, everywhere } from '../../../lambdas/approval/policy.ts';
import type { CsrCounts, SweepOutcome } from '../../../lambdas/contracts/outcome.ts';
import { newCounts } from '../../../lambdas/fleet/count-csrs.ts';
import { foldOutcomes } from '../../../lambdas/fleet/fold-outcomes.ts';
import type { KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { KubernetesError } from '../../../lambdas/kubernetes/errors.ts';
import type { SigningCondition, SigningRequest } from '../../../lambdas/resources/signing-request.ts';
import { readSigningRequest } from '../../../lambdas/resources/signing-request.ts';
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
  readonly from?: number | undefined;
  readonly evidence?: Evidence;
  readonly policies?: readonly ApprovalPolicy[];
  readonly at?: number;
  readonly signal?: AbortSignal;
}

const HOUR_AGO = NOW - 60 * MINUTE;
const AGED = NOW - 30 * MINUTE;

/** As a sweep counts. */
async function countedOf(
  requests: readonly SigningRequest[],
  situation: Situation = {},
): Promise<CsrCounts | undefined> {
  const { evidence = READ, policies = [DEFAULT_POLICY], at = NOW, signal = idle() } = situation;
  const due = collectDue('from' in situation ? situation.from : HOUR_AGO, at);
  const open = collectOpenRequests();
  for (const request of requests) {
    due.add(request);
    if (request.conditions.length === 0 && !request.issued && !request.deleting)
      open.add(request, { name: request.name, uid: request.uid, resourceVersion: '1', metadata: {}, conditions: [] });
  }
  return countDue(due.all(), { cluster: CLUSTER, open: open.all(), evidence, acted: [], policies, signal });
}

type Result = 'issued' | 'late' | 'notProvable' | undefined;
const countsOf = (result: Result, csrs = 1): CsrCounts => ({
  from: HOUR_AGO,
  to: NOW,
  issued: 0,
  late: 0,
  notProvable: 0,
  ...(result === undefined ? {} : { [result]: csrs }),
});

describe('a CSR that is decided', () => {
  const approved = (reason: string, afterSeconds?: number): SigningCondition => ({
    ...condition('Approved', reason),
    ...(afterSeconds === undefined ? {} : { updated: new Date(AGED + afterSeconds * 1_000).toISOString() }),
  });

  const issuedAs = (...how: Parameters<typeof approved>) => ({
    issued: true,
    conditions: [approved(...how)],
  });
  const only = (...conditions: readonly SigningCondition[]) => ({ conditions });
  const failed = condition('Failed', 'SignerValidationFailure');

  it.each<[string, Partial<SigningRequest>, Result]>([
    ['issued after certmarshal approved it', issuedAs('CertMarshalApproved', 1), 'issued'],
    ['issued after another approver approved it', issuedAs('AutoApproved', 1), 'issued'],
    ['approved before it was made, by another clock', issuedAs('A', -90), 'issued'],
    ['approved at the last moment', issuedAs('A', 900), 'issued'],
    ['approved later, and issued', issuedAs('A', 901), 'late'],
    ['issued, and nobody says when it was approved', issuedAs('A'), 'issued'],
    ['issued, its condition lost', { issued: true }, 'issued'],
    ['approved by certmarshal, and not issued', only(approved('CertMarshalApproved', 1)), 'late'],
    ['approved by another, and not issued', only(approved('AutoApproved', 1)), 'late'],
    ['denied', only(condition('Denied', 'CertMarshalDenied')), undefined],
    [
      'approved by certmarshal, refused by the signer',
      only(failed, condition('Approved', 'CertMarshalApproved')),
      'late',
    ],
    ['approved by another, refused by the signer', only(condition('Approved', 'kubectl'), failed), undefined],
    ['failed without approval', { conditions: [condition('Failed')] }, undefined],
    ['of a name that no node can have', { username: `system:node:${'x'.repeat(254)}`, issued: true }, undefined],
    ['of a node with the longest name', { username: `system:node:${'x'.repeat(253)}`, issued: true }, 'issued'],
    ['not of a node', { username: 'system:serviceaccount:a:b', issued: true }, undefined],
    ['of another signer', { signerName: 'kubernetes.io/kube-apiserver-client-kubelet', issued: true }, undefined],
    ['being deleted', { deleting: true, issued: true }, undefined],
    ['of no time', { createdAt: undefined, issued: true }, undefined],
  ])('%s', async (_, change, result) => {
    expect(await countedOf([csr(1, AGED, change)])).toEqual(countsOf(result));
  });
});

describe('the window', () => {
  const issuedAt = (age: number) => csr(1, NOW - age, { issued: true });

  it.each<[string, number, number | undefined, number]>([
    ['as old as a kubelet waits: the next sweep counts it', 15 * MINUTE, HOUR_AGO, 0],
    ['a second older', 15 * MINUTE + 1_000, HOUR_AGO, 1],
    ['due when the last counts end', 16 * MINUTE, NOW - MINUTE, 1],
    ['due before', 16 * MINUTE + 1_000, NOW - MINUTE, 0],
    ['due an hour ago, after a day', 75 * MINUTE, NOW - 1_440 * MINUTE, 1],
    ['due more than an hour ago, after a day', 75 * MINUTE + 1_000, NOW - 1_440 * MINUTE, 0],
    ['due in a first sweep', 20 * MINUTE, undefined, 0],
    ['due where the clock was set back', 15 * MINUTE + 1_000, NOW + MINUTE, 0],
  ])('%s', async (_, age, from, issued) => {
    expect(await countedOf([issuedAt(age)], { from })).toEqual({ from, to: NOW, issued, late: 0, notProvable: 0 });
  });
});

describe('a CSR that is pending', () => {
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
  const nodeTwo = { object: 'Node worker-2', nodes: ['worker-2'], dnsNames: ['worker-1'], addresses: [addressOf(1)] };
  const shownBy = (source: 'node' | 'ec2'): SourceReading => ({
    source,
    ok: true,
    lookedAt: 1,
    owners: [{ ...nodeTwo, source }],
  });
  const shownByOther = shownBy('node');
  const alsoNodes: ApprovalPolicy = { ...DEFAULT_POLICY, evidence: ['machine', 'node'] };
  const noMachines: SourceReading = { source: 'machine', ok: true, lookedAt: 0, owners: [] };

  const nodesToo = (...readings: readonly SourceReading[]) => ({
    policies: [alsoNodes],
    evidence: indexEvidence([...readings, shownByOther]),
  });
  const other = indexEvidence([machines, { ...unread, source: 'node' }]);
  it.each<[string, number, Situation, Result]>([
    ['for what another Node shows', 1, nodesToo(noMachines), 'notProvable'],
    ['for what another Node shows, Machines not read, which could have outranked it', 1, nodesToo(unread), 'late'],
    ['for what another instance shows too', 1, { evidence: indexEvidence([machines, shownBy('ec2')]) }, 'notProvable'],
    ['proven', 1, {}, 'late'],
    ['proven, at an age at which the policy judges none', 1, { policies: [late] }, 'late'],
    ['proven for one of two policies', 1, { policies: [onlyNodes, DEFAULT_POLICY] }, 'late'],
    ['of a node without a Machine', 3, {}, 'notProvable'],
    ['of a node without a Machine, Machines not read', 3, { evidence: UNREAD }, 'late'],
    ['provable, Machines not read', 1, { evidence: UNREAD }, 'late'],
    ['as before, beside a policy of Nodes', 3, { policies: [onlyNodes, DEFAULT_POLICY], evidence: UNREAD }, 'late'],
    ['of a node without a Machine, a source not read that no policy trusts', 3, { evidence: other }, 'notProvable'],
    ['for the name of another node', 4, {}, undefined],
    ['for the name of another node, where that is denied', 4, { policies: [denying] }, undefined],
    ['with a key that is not allowed', 1, { policies: [rsa] }, undefined],
    ['with a key that is not allowed, Machines not read', 1, { policies: [rsa], evidence: UNREAD }, undefined],
    ['where the policy only observes', 1, { policies: [observing] }, undefined],
    ['where one policy observes and one is enforced', 1, { policies: [observing, DEFAULT_POLICY] }, 'late'],
    ['that only an observing policy would approve', 1, { policies: [observing, rsa] }, undefined],
    ['that no policy selects', 1, { policies: [elsewhere] }, undefined],
  ])('%s', async (_, node, situation, result) => {
    expect(await countedOf([csr(node, AGED)], situation)).toEqual(countsOf(result));
  });

  it('counts nothing in a cluster that nothing is promised to, and says that it looked', async () => {
    const requests = [
      csr(1, AGED, { issued: true }),
      csr(2, AGED, { conditions: [condition('Approved')] }),
      csr(3, AGED),
    ];
    expect(await countedOf(requests, { policies: [observing] })).toEqual(countsOf(undefined));
  });

  it('has the result of the newest of its requester, also of one that is not due', async () => {
    const hidden = { request: Buffer.from('no request') };
    const requests = [csr(1, AGED, hidden), csr(1, AGED + MINUTE, hidden), csr(1, NOW + 10 * MINUTE)];
    expect(await countedOf(requests)).toEqual(countsOf('late', 2));
  });

  it.each([
    [50, 'late'],
    [51, undefined],
  ] as const)('of a requester with %i at once: %s', async (count, result) => {
    const requests = Array.from({ length: count }, () => csr(1, AGED));
    expect(await countedOf(requests)).toEqual(countsOf(result, count));
  });

  it('has as many siblings as the longest wait of a policy', async () => {
    const quick = { ...late, age: { ...late.age, 'eks-anywhere': { minSeconds: 0, maxSeconds: 300 } } };
    const requests = [...Array.from({ length: 50 }, () => csr(1, AGED - 10 * MINUTE)), csr(1, AGED)];
    expect(await countedOf(requests, { policies: [quick, DEFAULT_POLICY] })).toEqual(countsOf(undefined));
  });

  it.each([
    ['too large to be judged', []],
    ['approved by this very sweep', ['enforce']],
    ['what this sweep would approve', ['observe']],
  ] as const)('%s', async (_, modes) => {
    const due = collectDue(HOUR_AGO, NOW);
    const large = csr(1, AGED);
    due.add(large);
    const verdict = { verdict: 'approve', reason: 'Approved', message: '', hostile: false, checks: [] } as const;
    const acted = modes.map(
      (mode) => ({ csr: large, verdict: { ...verdict, mode }, outcome: { kind: 'written' } }) as unknown as Acted,
    );
    const open = [{ csr: large, subject: undefined, askedAt: [AGED] }];
    const sweep = { cluster: CLUSTER, open, evidence: READ, acted, policies: [DEFAULT_POLICY], signal: idle() };
    expect(await countDue(due.all(), sweep)).toEqual(countsOf(modes[0] === 'enforce' ? 'late' : undefined));
  });

  it('is left to the next sweep when the time is over, and so is all else', async () => {
    const requests = [csr(1, AGED), csr(2, AGED, { issued: true })];
    expect(await countedOf(requests, { signal: AbortSignal.abort() })).toBeUndefined();
  });

  it('is late if a bug keeps it from being judged', async () => {
    const broken = Object.defineProperty(csr(1, AGED), 'expirationSeconds', {
      get: () => {
        throw new TypeError('a bug');
      },
    });
    expect(await countedOf([broken])).toEqual(countsOf('late'));
  });
});

describe('a storm', () => {
  it('leaves no more than counters, of as many requesters as four clusters have', () => {
    const due = collectDue(HOUR_AGO, NOW);
    const one = csr(1, AGED);
    for (let index = 0; index < 100_000; index += 1) due.add({ ...one, username: `system:node:n-${index}` });
    for (let index = 0; index < 400_000; index += 1) due.add({ ...one, issued: true });
    const { issued, pending } = due.all();
    expect([issued, pending.size]).toEqual([400_000, 20_000]);
  });

  it('is judged for some seconds at most, and others get their turn meanwhile', async () => {
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 1);
    const storm = Array.from({ length: 6_000 }, (_, index) => ({
      ...csr(3, AGED),
      username: `system:node:n-${index}`,
    }));
    const counts = await countedOf(storm, { evidence: UNREAD });
    clearInterval(timer);
    expect(counts?.late).toBeLessThanOrEqual(2_000);
    expect(turns).toBeGreaterThan(0);
  });
});

describe('sweep', () => {
  const aged = new Date(AGED).toISOString().replace('.000Z', 'Z');

  const noStats = () => ({ requests: 0, writes: 0, retries: 0, throttled: 0, bytes: 0 });
  const empty = { items: [], metadata: {} };
  /** A cluster with an old open request of node 1, and its Machine. */
  const clusterOf = (list: () => object, stats = noStats()): KubernetesClient => ({
    server: 'https://127.0.0.1',
    stats,
    request: async (call) => {
      if (call.path.includes('certificatesigningrequests')) return { ...list() };
      if (call.path.endsWith('/cluster.x-k8s.io')) return { versions: [{ version: 'v1beta2' }] };
      return { items: [machineOf(1)], metadata: {} };
    },
    close() {},
  });
  const targetOf = (workload: KubernetesClient, management = workload) => ({
    cluster: CLUSTER,
    workload,
    management,
    machinesNamespace: 'eksa-system',
  });
  const reportOf = (client: KubernetesClient, policies: readonly ApprovalPolicy[], promised?: ApprovalPolicy[]) =>
    approve(targetOf(client), policies, () => NOW, idle(), {}, { counting: { countedTo: HOUR_AGO }, promised });
  const withOne = () => clusterOf(() => ({ items: [csrOf(1, PEMS[0] ?? Buffer.alloc(0), aged)], metadata: {} }));
  const observing: ApprovalPolicy = { ...DEFAULT_POLICY, mode: everywhere('observe') };

  it('counts the requests and retries of its own, and those to a management cluster', async () => {
    const stats = { ...noStats(), requests: 7, writes: 2, retries: 5 };
    const of = noStats();
    const list = () => {
      of.requests += 3;
      stats.requests += 1;
      stats.retries += 1;
      return empty;
    };
    const target = targetOf(clusterOf(list, stats), { ...withOne(), stats: of });
    const { requests } = await approve(target, [DEFAULT_POLICY], () => NOW, idle());
    expect(requests).toMatchObject({ sent: 4, writes: 0, retries: 1 });
  });

  it.each([true, false])('tells how the clocks differ where a server answered: %s', async (hasAnswered) => {
    const list = () => {
      if (hasAnswered) client.clock = { skewMs: 90_000 };
      return empty;
    };
    const client: KubernetesClient & { clock: object } = { ...clusterOf(list), clock: { skewMs: 90_000 } };
    const { problems } = await reportOf(client, [DEFAULT_POLICY]);
    expect(problems.map(({ object }) => object)).toEqual(hasAnswered ? ['API server https://127.0.0.1'] : []);
  });

  it('writes nothing in a dry run', async () => {
    const at = () => AGED + 60_000;
    expect(await approve(targetOf(withOne()), [DEFAULT_POLICY], at, idle(), {}, { dryRun: true })).toMatchObject({
      counts: { approved: 0, wouldWrite: 1 },
    });
  });

  it('throws what is a bug, where nothing was decided yet', async () => {
    const broken = clusterOf(() => {
      throw new TypeError('a bug');
    });
    await expect(reportOf(broken, [DEFAULT_POLICY])).rejects.toThrow(new TypeError('a bug'));
  });

  it('counts what it listed', async () => {
    expect(await reportOf(withOne(), [DEFAULT_POLICY])).toMatchObject({
      ignored: { Orphaned: 1 },
      counted: countsOf('late'),
    });
  });

  it('counts as late what is held, by the policies that would have been enforced', async () => {
    expect(await reportOf(withOne(), [observing])).toMatchObject({ counted: countsOf(undefined) });
    expect(await reportOf(withOne(), [observing], [DEFAULT_POLICY])).toMatchObject({ counted: countsOf('late') });
  });

  it('counts nothing where the CSRs cannot be listed, or nobody asked for it', async () => {
    const failing = clusterOf(() => {
      throw new KubernetesError({ kind: 'server', object: 'list', problem: 'HTTP 500', remedy: 'Wait.' });
    });
    expect(await reportOf(failing, [DEFAULT_POLICY])).not.toHaveProperty('counted', expect.anything());
    const report = await approve(targetOf(withOne()), [DEFAULT_POLICY], () => NOW, idle());
    expect(report).not.toHaveProperty('counted', expect.anything());
  });
});

describe('a history', () => {
  /** Seconds from NOW. */
  interface Asked {
    readonly node: 1 | 2 | 3 | 4;
    readonly at: number;
    readonly decision?: { readonly by: 'us' | 'others' | 'denied'; readonly after: number };
    /** After the hour that the cleaner of Kubernetes waits, and whatever more. */
    readonly cleanedAfter: number;
  }

  const MINUTES = 180;
  const CONDITIONS = {
    us: condition('Approved', 'CertMarshalApproved'),
    others: condition('Approved', 'EKS'),
    denied: condition('Denied'),
  };
  const asked = {
    node: fc.constantFrom(1 as const, 2 as const, 3 as const, 4 as const),
    at: fc.integer({ min: 0, max: MINUTES * 60 }),
    decision: fc.record({
      by: fc.constantFrom('us' as const, 'others' as const, 'denied' as const),
      after: fc.integer({ min: 0, max: 900 }),
    }),
    cleanedAfter: fc.integer({ min: 3_600, max: 7_200 }),
  };
  const history = fc.array(fc.record(asked, { requiredKeys: ['node', 'at', 'cleanedAfter'] }), { maxLength: 12 });

  /** The CSRs as a list at that second shows them. */
  function listed(requests: readonly Asked[], second: number): SigningRequest[] {
    return requests.flatMap(({ node, at, decision, cleanedAfter }) => {
      const decidedAt = decision === undefined ? Number.POSITIVE_INFINITY : at + decision.after;
      if (at > second || second > decidedAt + cleanedAfter) return [];
      const createdAt = NOW + at * 1_000;
      if (decision === undefined || decidedAt > second) return [csr(node, createdAt)];
      const conditions = [{ ...CONDITIONS[decision.by], updated: new Date(NOW + decidedAt * 1_000).toISOString() }];
      return [csr(node, createdAt, { issued: decision.by !== 'denied', conditions })];
    });
  }

  /** What becomes of the outcome of a minute: it is lost, or arrives so many minutes late, so many times. */
  type Fault = 'lost' | { readonly lateBy: number; readonly times: number };
  const WELL: Fault = { lateBy: 0, times: 1 };

  async function sumsOf(requests: readonly Asked[], faultOf: (minute: number) => Fault): Promise<object> {
    const mail: { readonly arrivesIn: number; readonly outcome: SweepOutcome }[] = [];
    const sums = { issued: 0, late: 0, notProvable: 0, notCountedMs: 0 };
    let index = foldOutcomes(undefined, [], NOW);
    for (let minute = 0; minute < MINUTES + 75; minute += 1) {
      const at = NOW + minute * MINUTE;
      const counted = await countedOf(listed(requests, minute * 60), { at, from: index.clusters['a']?.countedTo });
      const startedAt = new Date(at).toISOString();
      const sweep = { id: 'a', startedAt, durationMs: 1, readable: true, complete: true } as const;
      const outcome: SweepOutcome = { ...sweep, problems: [], problemCount: 0, counted };
      const fault = faultOf(minute);
      if (fault !== 'lost')
        for (let time = 0; time < fault.times; time += 1)
          mail.push({ arrivesIn: minute + fault.lateBy + time, outcome });
      const arrived = mail.filter(({ arrivesIn }) => arrivesIn === minute).map((one) => one.outcome);
      for (const { issued, late, notProvable, notCountedMs } of newCounts(index, arrived, at).values()) {
        sums.issued += issued;
        sums.late += late;
        sums.notProvable += notProvable;
        sums.notCountedMs += notCountedMs;
      }
      index = foldOutcomes(index, arrived, at);
    }
    return sums;
  }

  it('has the same sums, whatever outcomes are lost, late or repeated, if none is missing for 40 minutes', async () => {
    const faults = fc.dictionary(
      fc.integer({ min: 1, max: MINUTES }).map(String),
      fc.oneof(fc.constant('lost' as const), fc.record({ lateBy: fc.nat(5), times: fc.integer({ min: 1, max: 3 }) })),
      { maxKeys: 60 },
    );
    const outages = fc.array(fc.tuple(fc.integer({ min: 1, max: MINUTES }), fc.integer({ min: 1, max: 15 })), {
      maxLength: 2,
    });
    await fc.assert(
      fc.asyncProperty(history, faults, outages, async (requests, given, away) => {
        const isAway = (minute: number) => away.some(([begin, length]) => minute >= begin && minute < begin + length);
        const faulty = await sumsOf(requests, (minute) => (isAway(minute) ? 'lost' : (given[minute] ?? WELL)));
        expect(faulty).toEqual(await sumsOf(requests, () => WELL));
      }),
      { seed: 7, numRuns: 25 },
    );
  });

  it('of an outage of two hours says how much of it is not counted', async () => {
    const away = (minute: number) => (minute >= 20 && minute < 140 ? 'lost' : WELL);
    expect(await sumsOf([{ node: 1, at: 60 * 70, cleanedAfter: 3_600 }], away)).toEqual({
      issued: 0,
      late: 1,
      notProvable: 0,
      notCountedMs: 61 * MINUTE,
    });
  });
});
