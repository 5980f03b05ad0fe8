import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { InstanceQuery } from '../../../lambdas/aws/ec2-instances.ts';
import type { RecoveryWindow } from '../../../lambdas/contracts/recovery-window.ts';
import { createProcessorBudget } from '../../../lambdas/processor-time.ts';
import { type RecoveryTarget, readControlPlane } from '../../../lambdas/recovery/observe.ts';
import { type RecoveryRow, sweepRecovery } from '../../../lambdas/recovery/sweep-recovery.ts';
import { DUBLIN, instance } from '../approval/fixtures.ts';
import { apiError, CSRS, type FakeCluster, fakeCluster, LEASE, LEASES } from './fake-cluster.ts';
import { clientCsr, controlPlaneMachine, NOW, windowOf } from './fixtures.ts';

const signal = new AbortController().signal;

const sweep = (target: RecoveryTarget, window: RecoveryWindow = windowOf(), clock = () => NOW) =>
  sweepRecovery(target, window, { clock, signal });
const tell = ({ csr, reason, outcome }: RecoveryRow) => `${csr} ${reason} ${outcome}`;
/** A Lease as certmarshal leaves it. */
function leaseOf(record: unknown): NonNullable<FakeCluster['lease']> {
  return {
    metadata: {
      name: 'certmarshal-recovery',
      uid: 'uid-of-lease',
      resourceVersion: '7',
      annotations: { 'certmarshal.dev/recovery': JSON.stringify(record), 'example.com/kept': 'yes' },
    },
    spec: { holderIdentity: 'certmarshal recovery w-1' },
  };
}

describe('a sweep of a recovery window', () => {
  it.each(['push', 'unshift'] as const)(
    'takes a Machine for one that goes when it began to while it was listed: %s',
    async (add) => {
      const cluster = fakeCluster();
      cluster.addCsr(clientCsr());
      cluster.machines[add](controlPlaneMachine('cp-1', { deleting: true }));
      expect((await sweep(cluster.target())).rows.map(({ reason }) => reason)).toEqual(['MachineGoing']);
    },
  );

  it('is charged for every request that it judges, and approves nothing when its processor time is spent', async () => {
    const cluster = fakeCluster();
    for (let number = 0; number < 40; number += 1) cluster.addCsr(clientCsr({ name: `csr-${number}` }));
    let looks = 0;
    const cpuMs = () => {
      looks += 1;
      return looks;
    };
    // One for each piece of work: less than forty requests are.
    const budget = createProcessorBudget({ limitMs: 20, cpuMs });
    const report = await budget.run(async () =>
      sweepRecovery(cluster.target(), windowOf(), { clock: () => NOW, signal: budget.signal }),
    );
    expect(cluster.approved()).toEqual([]);
    expect(report.rows).toEqual([]);
    expect(report.complete).toBe(false);
    expect(report.problems).toContainEqual(
      expect.objectContaining({
        kind: 'unfinished',
        object: '40 CertificateSigningRequests',
        message: 'the sweep ran out of time before they were judged',
      }),
    );
  });

  it('approves what passes, counts it first, and reports everything', async () => {
    const cluster = fakeCluster();
    for (const csr of [
      clientCsr({ name: 'csr-1' }),
      clientCsr({ name: 'csr-2', node: 'cp-2' }),
      clientCsr({ name: 'csr-3', node: 'cp-3' }),
      clientCsr({ name: 'csr-4', request: { organizations: ['system:masters'] } }),
      clientCsr({ name: 'csr-5', conditions: ['Denied'] }),
    ])
      cluster.addCsr(csr);
    const rows: RecoveryRow[] = [];
    const report = await sweepRecovery(cluster.target(), windowOf(), {
      clock: () => NOW,
      signal,
      onRow: (row) => rows.push(row),
    });
    expect(report.rows.map(tell).toSorted()).toEqual([
      'csr-1 Recovered written',
      'csr-2 Recovered written',
      'csr-3 NodeNotNamed none',
      'csr-4 OrganizationMismatch none',
    ]);
    expect(rows).toEqual(report.rows);
    expect(report).toMatchObject({
      version: 1,
      window: 'w-1',
      startedAt: '2026-03-02T12:00:00.000Z',
      complete: true,
      ignored: { AlreadyDenied: 1 },
      approved: [
        { node: 'cp-1', approvals: 1 },
        { node: 'cp-2', approvals: 1 },
      ],
      problems: [],
    });
    expect(report).not.toHaveProperty('closed', expect.anything());
    expect(cluster.writes).toEqual([
      `POST ${LEASES}`,
      `PUT ${CSRS}/csr-1/approval`,
      `PUT ${LEASE}`,
      `PUT ${CSRS}/csr-2/approval`,
    ]);
    expect(cluster.recorded()).toEqual({ window: 'w-1', until: windowOf().until, approvals: { 'cp-1': 1, 'cp-2': 1 } });
    expect(cluster.csrs.get('csr-1')).toMatchObject({
      status: {
        conditions: [
          {
            type: 'Approved',
            status: 'True',
            reason: 'CertMarshalRecovered',
            message: expect.stringContaining('Machine eksa-system/berlin-cp-1'),
          },
        ],
      },
    });
  });

  it('approves no more than the window has for a node, sweep after sweep', async () => {
    const cluster = fakeCluster();
    const outcomes: string[] = [];
    for (const name of ['csr-1', 'csr-2', 'csr-3', 'csr-4']) {
      cluster.addCsr(clientCsr({ name }));
      outcomes.push(...(await sweep(cluster.target())).rows.map(tell));
    }
    expect(outcomes).toEqual([
      'csr-1 Recovered written',
      'csr-2 Recovered written',
      'csr-3 ApprovalsSpent none',
      'csr-3 ApprovalsSpent none',
      'csr-4 ApprovalsSpent none',
    ]);
    expect(cluster.approved()).toEqual(['csr-1', 'csr-2']);
  });

  it('believes EC2 where no Machine is read, and asks it for the nodes of the window', async () => {
    const cluster = fakeCluster();
    const made = instance('i-0a', '10.0.1.1');
    const node = made.PrivateDnsName;
    const Tags = [...made.Tags, { Key: 'sigs.k8s.io/cluster-api-provider-aws/role', Value: 'control-plane' }];
    cluster.nodes.set(node, { metadata: { name: node }, status: {} });
    cluster.addCsr(clientCsr({ node }));
    const asked: InstanceQuery[] = [];
    const target = cluster.target({
      cluster: DUBLIN,
      management: undefined,
      vpcId: 'vpc-1',
      async *listInstances(query) {
        asked.push(query);
        yield [
          { ...made, Tags, VpcId: 'vpc-1' },
          { ...made, Tags, VpcId: 'vpc-2', InstanceId: 'i-0b' },
        ];
      },
    });
    const report = await sweep(target, windowOf({ nodes: [node] }));
    expect(report.rows.map(tell)).toEqual(['csr-1 Recovered written']);
    expect(report.rows[0]?.message).toContain(`${node} ← EC2 instance i-0a`);
    expect(asked).toEqual([{ nodes: [node], vpcId: 'vpc-1' }]);
  });

  it('has no problem with a node of the window that is awake', async () => {
    const cluster = fakeCluster();
    cluster.nodes.set('cp-1', {
      metadata: { name: 'cp-1' },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
    cluster.addCsr(clientCsr());
    const report = await sweep(cluster.target());
    expect(report.rows.map(tell)).toEqual(['csr-1 StillValid none']);
    expect(report).toMatchObject({ complete: true, problems: [] });
  });

  it('has nothing to do with the requests for other signers, should a server show them too', async () => {
    const cluster = fakeCluster();
    const others = ['kubernetes.io/kubelet-serving', 'kubernetes.io/kube-apiserver-client', 'example.com/any'];
    for (const signerName of others) cluster.addCsr(clientCsr({ name: signerName.replace('/', '-'), signerName }));
    cluster.addCsr(clientCsr());
    const report = await sweep(cluster.target());
    expect(report.rows.map(tell)).toEqual(['csr-1 Recovered written']);
    expect(report.ignored).toEqual({ NotKubeletClient: 3 });
    expect(cluster.approved()).toEqual(['csr-1']);
  });

  it('judges about a thousand requests, none that is too large for a kubelet’s, and says what it leaves out', async () => {
    const cluster = fakeCluster();
    cluster.addCsr(clientCsr({ name: 'a-large', pem: Buffer.alloc(16 * 1024 + 1, 'x') }));
    for (let number = 0; number < 1_300; number += 1)
      cluster.addCsr(clientCsr({ name: `csr-${number}`, node: 'cp-9' }));
    const report = await sweep(cluster.target());
    expect(report.rows.length).toBeGreaterThan(900);
    expect(report.rows.length).toBeLessThan(1_150);
    expect(new Set(report.problems.map(({ message }) => message))).toEqual(
      new Set([
        'spec.request is larger than that of any kubelet',
        'there are more open requests than one sweep can hold',
        'not readable either',
      ]),
    );
  });

  it.each([
    ['that is closed', windowOf(), NOW + 20 * 60_000],
    ['that has not opened', windowOf(), NOW - 11 * 60_000],
    ['of another cluster', windowOf({ cluster: 'other' }), NOW],
    ['that is none', windowOf({ approvals: 100 }), NOW],
  ])('reads and writes nothing in a window %s', async (_, window, now) => {
    const cluster = fakeCluster();
    cluster.addCsr(clientCsr());
    cluster.before = () => {
      throw new Error('nothing is to be read');
    };
    const report = await sweep(cluster.target(), window, () => now);
    expect(report).toMatchObject({ closed: expect.any(String), rows: [], problems: [] });
  });

  it('costs two requests when nobody asks', async () => {
    const cluster = fakeCluster();
    const calls: string[] = [];
    cluster.before = ({ method, path }) => void calls.push(`${method} ${path}`);
    expect(await sweep(cluster.target())).toMatchObject({ rows: [], complete: true });
    expect(calls).toEqual([`GET ${LEASE}`, `GET ${CSRS}`]);
  });
});

describe('a window that closes while it is swept', () => {
  it.each([
    ['before the approval is counted', (path: string) => path === LEASE, []],
    ['before the approval is given', (path: string) => path === LEASES, [`POST ${LEASES}`]],
  ])('%s, writes no approval', async (_, isMoment, writes) => {
    const cluster = fakeCluster();
    cluster.addCsr(clientCsr());
    let now = NOW;
    let seen = 0;
    cluster.before = ({ path }) => {
      // The first look at the Lease is before anything is decided.
      if (isMoment(path)) seen += path === LEASE ? 1 : 2;
      if (seen >= 2) now = NOW + 20 * 60_000;
    };
    const report = await sweep(cluster.target(), windowOf(), () => now);
    expect(report.rows.map(tell)).toEqual(['csr-1 Recovered unfinished']);
    expect(cluster.writes).toEqual(writes);
    expect(cluster.approved()).toEqual([]);
  });

  it('stops when it is told to', async () => {
    const cluster = fakeCluster();
    cluster.addCsr(clientCsr());
    const stop = new AbortController();
    cluster.before = ({ path }) => {
      if (path.endsWith('/leases')) stop.abort();
    };
    const report = await sweepRecovery(cluster.target(), windowOf(), { clock: () => NOW, signal: stop.signal });
    expect(report.complete).toBe(false);
    expect(cluster.writes).toEqual([]);
  });
});

describe('the Lease that counts', () => {
  const ours = { window: 'w-1', until: windowOf().until, approvals: { 'cp-1': 1 } };
  const ended = new Date(NOW - 30 * 60_000).toISOString();
  it.each([
    ['of this window', ours, 'written'],
    ['of a window that ended before', { window: 'w-0', until: ended, approvals: { 'cp-1': 9 } }, 'written'],
    ['of this window, with nothing given', { ...ours, approvals: { 'cp-1': 0 } }, 'written'],
    ['of this window, spent', { ...ours, approvals: { 'cp-1': 2 } }, 'none'],
    ['with a count below zero', { ...ours, approvals: { 'cp-1': -5 } }, 'none'],
    ['with a count that is text', { ...ours, approvals: { 'cp-1': '0' } }, 'none'],
    ['of another window that is open', { ...ours, window: 'w-2' }, undefined],
    [
      'of another window that ended after this one began',
      { ...ours, window: 'w-2', until: new Date(NOW - 1000).toISOString() },
      undefined,
    ],
    ['of this window with another end', { ...ours, until: new Date(NOW + 60_000).toISOString() }, undefined],
    ['without counts', { window: 'w-1', until: ours.until }, undefined],
    ['without an end', { window: 'w-1', approvals: {} }, undefined],
    ['of something else', null, undefined],
  ])('%s', async (_, record, outcome) => {
    const cluster = fakeCluster();
    cluster.addCsr(clientCsr());
    cluster.lease = leaseOf(record);
    const report = await sweep(cluster.target());
    expect(report.rows.map((row) => row.outcome)).toEqual(outcome === undefined ? [] : [outcome]);
    expect(cluster.approved()).toEqual(outcome === 'written' ? ['csr-1'] : []);
    const command = 'kubectl -n kube-system delete lease certmarshal-recovery';
    const told = report.problems.map(({ kind, object, remedy }) => `${kind} ${object} ${remedy.includes(command)}`);
    expect(told).toEqual(outcome === undefined ? ['refused Lease kube-system/certmarshal-recovery true'] : []);
  });

  it('keeps what others wrote on it', async () => {
    const cluster = fakeCluster();
    cluster.addCsr(clientCsr());
    cluster.lease = leaseOf(ours);
    await sweep(cluster.target());
    expect(cluster.lease.metadata['annotations']).toMatchObject({ 'example.com/kept': 'yes' });
    expect(cluster.recorded()).toMatchObject({ approvals: { 'cp-1': 2 } });
  });

  it('is made whole where it is odd', async () => {
    const cluster = fakeCluster();
    cluster.addCsr(clientCsr());
    cluster.lease = { ...leaseOf(ours), spec: 'odd' };
    await sweep(cluster.target());
    expect(cluster.lease).toHaveProperty('spec', { holderIdentity: 'certmarshal recovery w-1' });
  });

  it('is no Lease without a resourceVersion: a write would be unconditional', async () => {
    const cluster = fakeCluster();
    cluster.addCsr(clientCsr());
    cluster.lease = { ...leaseOf(ours), metadata: { ...leaseOf(ours).metadata, resourceVersion: '' } };
    expect((await sweep(cluster.target())).problems).toMatchObject([{ kind: 'not-kubernetes' }]);
    expect(cluster.writes).toEqual([]);
  });
});

it('keeps of all Machines only those of the nodes of the window', async () => {
  const { readings } = await readControlPlane(fakeCluster().target(), ['cp-2'], signal);
  expect(readings).toMatchObject([{ ok: true, lookedAt: 3, owners: [{ nodes: ['cp-2'] }] }]);
});

describe('what cannot be read', () => {
  it.each([
    ['Nodes', '/api/v1/nodes', 'NodeUnreadable'],
    ['Leases of Nodes', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases', 'NodeUnreadable'],
    ['Machines', '/apis/cluster.x-k8s.io/v1beta2/namespaces/eksa-system/machines', 'EvidenceUnreadable'],
    ['the Lease', LEASE, undefined],
    ['requests', CSRS, undefined],
  ])('%s: nothing is approved, and the report says so', async (_, path, reason) => {
    const cluster = fakeCluster();
    cluster.addCsr(clientCsr());
    cluster.before = (call) => {
      if (call.path === path) throw apiError('forbidden', 403);
    };
    const report = await sweep(cluster.target());
    expect(report.rows.map((row) => row.reason)).toEqual(reason === undefined ? [] : [reason]);
    expect(report.complete).toBe(false);
    expect(report.problems.length).toBeGreaterThan(0);
    expect(cluster.writes).toEqual([]);
  });

  it('is nothing of another namespace: Machines there change nothing', async () => {
    const cluster = fakeCluster();
    cluster.addCsr(clientCsr());
    const foreign = cluster.machines.map((machine) => ({
      ...machine,
      metadata: { ...(machine['metadata'] as object), namespace: 'mallory' },
    }));
    cluster.machines.push(...foreign);
    expect((await sweep(cluster.target())).rows.map((row) => row.reason)).toEqual(['Recovered']);
  });

  it('leaves every node where the namespace has no Machine of the cluster, and says which was asked', async () => {
    const cluster = fakeCluster();
    cluster.addCsr(clientCsr());
    const { rows } = await sweep(cluster.target({ machinesNamespace: 'team-a' }));
    expect(rows).toMatchObject([
      {
        reason: 'EvidenceUnreadable',
        message: expect.stringContaining('namespace team-a has no Machine of cluster'),
      },
    ]);
    expect(cluster.writes).toEqual([]);
  });

  it('reports a request that is none, and judges the others', async () => {
    const cluster = fakeCluster();
    cluster.addCsr({ metadata: { name: 'odd', uid: 'u', resourceVersion: '1' }, spec: {} });
    cluster.addCsr(clientCsr({ name: 'extra', extra: { 'authentication.kubernetes.io/credential-id': 'X' } }));
    cluster.addCsr(clientCsr());
    const report = await sweep(cluster.target());
    expect(report.rows.map(tell)).toEqual(['extra ObjectMalformed none', 'csr-1 Recovered written']);
    expect(report.problems).toMatchObject([{ kind: 'unreadable', object: 'CertificateSigningRequest odd' }]);
  });
});

describe('a write that goes wrong', () => {
  it.each([
    ['was refused', apiError('forbidden', 403), 'failed', 1, 1],
    ['has no answer', apiError('timeout'), 'unknown', 1, 1],
    // Tried twice, and counted each time.
    ['met another', apiError('conflict', 409), 'overtaken', 0, 2],
    ['came too late', apiError('not-found', 404), 'overtaken', 0, 1],
  ] as const)('an approval that %s', async (_, error, outcome, problems, counted) => {
    const cluster = fakeCluster();
    cluster.addCsr(clientCsr());
    cluster.before = ({ path }) => {
      if (path.endsWith('/approval')) throw error;
    };
    const report = await sweep(cluster.target());
    expect(report.rows.map((row) => row.outcome)).toEqual([outcome]);
    expect(report.problems).toHaveLength(problems);
    // It is counted all the same.
    expect(cluster.recorded()).toMatchObject({ approvals: { 'cp-1': counted } });
  });

  it('a count that cannot be written gives nothing', async () => {
    const cluster = fakeCluster();
    cluster.addCsr(clientCsr());
    let tried = 0;
    cluster.before = ({ method }) => {
      if (method !== 'POST') return;
      tried += 1;
      throw apiError('timeout');
    };
    const report = await sweep(cluster.target());
    expect(report.rows.map((row) => row.outcome)).toEqual(['failed']);
    expect(report.problems).toMatchObject([{ kind: 'timeout', object: 'CertificateSigningRequest csr-1' }]);
    expect(cluster.approved()).toEqual([]);
    // Nobody knows whether it was counted.
    expect(tried).toBe(1);
  });

  it('a bug while it is counted gives nothing, and comes out once it is told', async () => {
    const cluster = fakeCluster();
    cluster.addCsr(clientCsr());
    cluster.before = ({ method }) => {
      if (method === 'POST') throw new TypeError('a bug');
    };
    const rows: RecoveryRow[] = [];
    const options = { clock: () => NOW, signal, onRow: (row: RecoveryRow) => void rows.push(row) };
    await expect(sweepRecovery(cluster.target(), windowOf(), options)).rejects.toThrow('a bug');
    expect(rows.map(tell)).toEqual(['csr-1 Recovered unknown']);
    expect(cluster.approved()).toEqual([]);
  });

  it('a count that others write all the time gives nothing', async () => {
    const cluster = fakeCluster();
    cluster.addCsr(clientCsr());
    cluster.before = ({ method, path }) => {
      if (path.startsWith(LEASES) && method !== 'GET') throw apiError('conflict', 409);
    };
    const { rows, problems } = await sweep(cluster.target());
    expect(rows.map((row) => row.outcome)).toEqual(['failed']);
    expect(problems).toMatchObject([
      { kind: 'refused', message: expect.stringContaining('other writers change it all the time') },
    ]);
    expect(cluster.approved()).toEqual([]);
  });

  it.each([
    [1, 'csr-1 ApprovalsSpent none', []],
    [2, 'csr-1 Recovered written', ['csr-1']],
  ])(
    'an object of which the labels changed is judged again, and counted again: with %i approvals',
    async (approvals, told, approved) => {
      const cluster = fakeCluster();
      cluster.addCsr(clientCsr());
      cluster.before = ({ path }) => {
        if (path !== LEASES) return;
        const csr = clientCsr();
        cluster.addCsr({ ...csr, metadata: { ...csr.metadata, resourceVersion: '43', labels: { seen: 'yes' } } });
      };
      expect((await sweep(cluster.target(), windowOf({ approvals }))).rows.map(tell)).toEqual([told]);
      expect(cluster.approved()).toEqual(approved);
      expect(cluster.recorded()).toMatchObject({ approvals: { 'cp-1': approvals } });
    },
  );

  it('an approval that was sent twice, because the first answer was lost, is one', async () => {
    const cluster = fakeCluster();
    cluster.addCsr(clientCsr());
    const client = cluster.client();
    const workload: typeof client = {
      ...client,
      async request(call) {
        const answer = await client.request(call);
        if (!call.path.endsWith('/approval')) return answer;
        Object.assign(client.stats, { retries: 1 });
        throw apiError('conflict', 409);
      },
    };
    expect((await sweep(cluster.target({ workload }))).rows.map(tell)).toEqual(['csr-1 Recovered written']);
    expect(cluster.recorded()).toMatchObject({ approvals: { 'cp-1': 1 } });
  });

  it('an object that somebody decided meanwhile is left as it is', async () => {
    const cluster = fakeCluster();
    cluster.addCsr(clientCsr());
    cluster.before = ({ path }) => {
      if (path !== LEASES) return;
      const csr = clientCsr({ conditions: ['Denied'] });
      cluster.addCsr({ ...csr, metadata: { ...csr.metadata, resourceVersion: '43' } });
    };
    expect((await sweep(cluster.target())).rows.map(tell)).toEqual(['csr-1 Recovered overtaken']);
    expect(cluster.approved()).toEqual([]);
  });

  it('an object that changed after it was judged is not approved', async () => {
    const cluster = fakeCluster();
    cluster.addCsr(clientCsr());
    cluster.before = ({ path }) => {
      if (path !== LEASES) return;
      cluster.addCsr({ ...clientCsr(), metadata: { ...clientCsr().metadata, uid: 'another' } });
    };
    expect((await sweep(cluster.target())).rows.map((row) => row.outcome)).toEqual(['overtaken']);
    expect(cluster.approved()).toEqual([]);
  });
});

describe('two sweeps at once', () => {
  it('never give one approval more than the window has, however they meet', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.integer({ min: 1, max: 2 }),
        fc.boolean(),
        async (scheduler, approvals, sameList) => {
          const cluster = fakeCluster();
          for (const name of ['csr-a', 'csr-b']) cluster.addCsr(clientCsr({ name }));
          cluster.before = async ({ method, path }) =>
            scheduler.schedule(Promise.resolve(undefined), `${method} ${path}`);
          const window = windowOf({ approvals });
          // What is listed in one moment is not what is listed in the next.
          const targets = ['csr-a', 'csr-b'].map((hidden) => {
            const client = cluster.client((name) => sameList || name !== hidden);
            return cluster.target({ workload: client, management: client });
          });
          const sweeps = Promise.all(targets.map((target) => sweep(target, window)));
          await scheduler.waitFor(sweeps);
          const reports = await sweeps;
          expect(cluster.approved().length).toBeLessThanOrEqual(approvals);
          const written = reports.flatMap(({ rows }) => rows).filter(({ outcome }) => outcome === 'written');
          expect(written.map(({ csr }) => csr).toSorted()).toEqual(cluster.approved());
          // At worst one fewer.
          expect(cluster.approved().length).toBeGreaterThanOrEqual(sameList ? 1 : Math.min(approvals, 2));
        },
      ),
      { seed: 42, numRuns: 150 },
    );
  });
});

describe('a Lease that was removed', () => {
  const removedEachTime = async (forget: boolean, given?: Map<string, number>) => {
    const cluster = fakeCluster();
    const window = windowOf({ approvals: 1 });
    const reasons: string[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      cluster.addCsr(clientCsr({ name: `csr-${turn}` }));
      const { rows } = await sweepRecovery(cluster.target(), window, {
        clock: () => NOW + turn,
        signal,
        given,
      });
      reasons.push(...rows.map(tell));
      cluster.lease = undefined;
      if (forget) cluster.csrs.clear();
    }
    return { cluster, reasons };
  };

  it('begins no new count while the requests that were approved are there', async () => {
    const { cluster, reasons } = await removedEachTime(false);
    expect(cluster.approved()).toEqual(['csr-0']);
    expect(reasons).toEqual([
      'csr-0 Recovered written',
      'csr-1 ApprovalsSpent none',
      'csr-1 ApprovalsSpent none',
      'csr-2 ApprovalsSpent none',
    ]);
  });

  it('nor in a process that remembers, when they are gone too', async () => {
    const given = new Map<string, number>();
    const { reasons } = await removedEachTime(true, given);
    expect(reasons).toEqual(['csr-0 Recovered written', 'csr-1 ApprovalsSpent none', 'csr-2 ApprovalsSpent none']);
    expect(given).toEqual(new Map([['cp-1', 1]]));
  });

  it('between two approvals of one sweep begins none', async () => {
    const cluster = fakeCluster();
    cluster.addCsr(clientCsr({ name: 'csr-1' }));
    cluster.before = ({ method, path }) => {
      if (method === 'GET' && path === LEASE && cluster.writes.length === 0) cluster.lease = undefined;
    };
    const given = new Map([['cp-1', 1]]);
    const { rows } = await sweepRecovery(cluster.target(), windowOf({ approvals: 2 }), {
      clock: () => NOW,
      signal,
      given,
    });
    expect(rows.map(tell)).toEqual(['csr-1 Recovered written']);
    expect(given).toEqual(new Map([['cp-1', 2]]));
    expect(cluster.recorded()).toMatchObject({ approvals: { 'cp-1': 2 } });
  });

  it('counts approvals of this window only, and of recoveries only', async () => {
    const cluster = fakeCluster();
    const approvedAt = (name: string, reason: string, lastUpdateTime: string) => {
      const csr = clientCsr({ name });
      cluster.addCsr({
        ...csr,
        status: { conditions: [{ type: 'Approved', status: 'True', reason, lastUpdateTime }] },
      });
    };
    const window = windowOf({ approvals: 1 });
    approvedAt('before', 'CertMarshalRecovered', new Date(Date.parse(window.openedAt) - 1000).toISOString());
    approvedAt('other', 'KubectlApprove', window.openedAt);
    cluster.addCsr(clientCsr({ name: 'csr-1' }));
    expect((await sweep(cluster.target(), window)).rows.map(tell)).toEqual(['csr-1 Recovered written']);
  });
});

it('what waits to be sent again is not sent after the window', async () => {
  const cluster = fakeCluster();
  cluster.addCsr(clientCsr({ name: 'csr-1' }));
  const window = windowOf();
  // A server that asks to wait, until the client is told not to.
  cluster.before = async ({ path, signal: waiting }) => {
    if (!path.endsWith('/approval')) return;
    await new Promise<void>((resolve) => waiting?.addEventListener('abort', () => resolve(), { once: true }));
  };
  const report = await sweep(cluster.target(), window, () => Date.parse(window.until) - 200);
  expect(report.rows.map(tell)).toEqual(['csr-1 Recovered unknown']);
  expect(cluster.approved()).toEqual([]);
});
