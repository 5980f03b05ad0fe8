import { describe, expect, it } from 'vitest';
import type { Acted } from '../../../lambdas/approval/act.ts';
import type { SweepTarget } from '../../../lambdas/approval/observe.ts';
import type { InstanceQuery } from '../../../lambdas/aws/ec2-instances.ts';
import { createProcessorBudget } from '../../../lambdas/processor-time.ts';
import { readControlPlane } from '../../../lambdas/recovery/observe.ts';
import { type RecoverOptions, recoverNodes } from '../../../lambdas/recovery/recover-nodes.ts';
import type { Recovery } from '../../../lambdas/recovery/recovery.ts';
import { verdictSentence } from '../../../lambdas/words/verdict-words.ts';
import { DUBLIN, instance } from '../approval/fixtures.ts';
import { apiError, CSRS, fakeCluster, NODE_LEASES } from './fake-cluster.ts';
import { clientCsr, controlPlaneMachine, NOW, recoveryOf } from './fixtures.ts';

const signal = new AbortController().signal;
const MINUTE = 60_000;

/** Decisions as `csr reason outcome`, and what else is known. */
async function recover(
  target: SweepTarget,
  recovery: Recovery = recoveryOf(),
  options: Partial<Omit<RecoverOptions, 'onActed'>> = {},
) {
  const acted: Acted[] = [];
  const onActed = (one: Acted): void => void acted.push(one);
  const { ignored, problems } = await recoverNodes(target, recovery, { clock: () => NOW, signal, onActed, ...options });
  return {
    rows: acted.map(({ csr, verdict, outcome }) => `${csr.name} ${verdict.reason} ${outcome.kind}`),
    messages: acted.map(({ verdict }) => verdictSentence(verdict.facts)),
    ignored: Object.fromEntries(ignored),
    problems,
  };
}

function clusterWith(...csrs: readonly Parameters<ReturnType<typeof fakeCluster>['addCsr']>[0][]) {
  const cluster = fakeCluster();
  for (const csr of csrs) cluster.addCsr(csr);
  return cluster;
}

/** The answer to every approval. */
const answering =
  (error: Error): ReturnType<typeof fakeCluster>['before'] =>
  ({ path }) => {
    if (path.endsWith('/approval')) throw error;
  };

/** A request that somebody approved. */
function approvedCsr(name: string, { reason = 'CertMarshalRecovered', node = 'cp-1', more = 0 } = {}) {
  const conditions = [{ type: 'Approved', status: 'True', reason, message: 'm' }];
  const further = Array.from({ length: more }, (_, index) => ({ type: `x-${index}`, status: 'True' }));
  return { ...clientCsr({ name, node }), status: { conditions: [...conditions, ...further] } };
}

describe('client certificates of named nodes', () => {
  it.each(['push', 'unshift'] as const)(
    'takes a Machine for one that goes when it began to while it was listed: %s',
    async (add) => {
      const cluster = clusterWith(clientCsr());
      cluster.machines[add](controlPlaneMachine('cp-1', { deleting: true }));
      expect((await recover(cluster.target())).rows).toEqual(['csr-1 MachineGoing none']);
    },
  );

  it('is charged for every request that it judges, and approves nothing when its processor time is spent', async () => {
    const cluster = fakeCluster();
    for (let number = 0; number < 40; number += 1) cluster.addCsr(clientCsr({ name: `csr-${number}` }));
    let looks = 0;
    const cpuMs = () => (looks += 1);
    // One for each piece of work: less than forty requests are.
    const budget = createProcessorBudget({ limitMs: 20, cpuMs });
    const { rows, problems } = await budget.run(async () =>
      recover(cluster.target(), recoveryOf(), { signal: budget.signal }),
    );
    expect(cluster.approved()).toEqual([]);
    expect(rows).toEqual([]);
    expect(problems).toContainEqual(
      expect.objectContaining({
        kind: 'recovery-unfinished',
        object: '40 CertificateSigningRequests',
        message: 'the sweep ran out of time before they were judged',
      }),
    );
  });

  it('approves what passes, and says why of everything else', async () => {
    const cluster = clusterWith(
      clientCsr({ name: 'csr-1' }),
      clientCsr({ name: 'csr-2', node: 'cp-2' }),
      clientCsr({ name: 'csr-3', node: 'cp-3' }),
      clientCsr({ name: 'csr-4', request: { organizations: ['system:masters'] } }),
      clientCsr({ name: 'csr-5', conditions: ['Denied'] }),
    );
    const { rows, ignored, problems } = await recover(cluster.target());
    expect(rows.toSorted()).toEqual([
      'csr-1 Recovered written',
      'csr-2 Recovered written',
      'csr-3 NodeNotNamed none',
      'csr-4 OrganizationMismatch none',
    ]);
    expect({ ignored, problems }).toEqual({ ignored: { AlreadyDenied: 1 }, problems: [] });
    expect(cluster.writes.toSorted()).toEqual([`PUT ${CSRS}/csr-1/approval`, `PUT ${CSRS}/csr-2/approval`]);
    expect(cluster.csrs.get('csr-1')).toMatchObject({
      status: {
        conditions: [
          {
            type: 'Approved',
            status: 'True',
            reason: 'CertMarshalRecovered',
            message: `recovery until ${recoveryOf().until}, by fleet.yaml: cp-1 ← Machine eksa-system/berlin-cp-1`,
          },
        ],
      },
    });
  });

  it('writes nothing in a dry run', async () => {
    const cluster = clusterWith(clientCsr());
    expect((await recover(cluster.target(), recoveryOf(), { dryRun: true })).rows).toEqual([
      'csr-1 Recovered observed',
    ]);
    expect(cluster.writes).toEqual([]);
  });

  it('believes EC2 where no Machine is read, and asks it for the named nodes', async () => {
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
    const { rows, messages } = await recover(target, recoveryOf({ nodes: [node] }));
    expect(rows).toEqual(['csr-1 Recovered written']);
    expect(messages[0]).toContain(`${node} ← EC2 instance i-0a`);
    expect(asked).toEqual([{ nodes: [node], vpcId: 'vpc-1' }]);
  });

  it('has no problem with a named node that is awake', async () => {
    const cluster = fakeCluster();
    cluster.nodes.set('cp-1', {
      metadata: { name: 'cp-1' },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
    cluster.addCsr(clientCsr());
    expect(await recover(cluster.target())).toMatchObject({ rows: ['csr-1 StillValid none'], problems: [] });
  });

  it('has nothing to do with the requests for other signers, should a server show them too', async () => {
    const cluster = fakeCluster();
    const others = ['kubernetes.io/kubelet-serving', 'kubernetes.io/kube-apiserver-client', 'example.com/any'];
    for (const signerName of others) cluster.addCsr(clientCsr({ name: signerName.replace('/', '-'), signerName }));
    cluster.addCsr(clientCsr());
    const { rows, ignored } = await recover(cluster.target());
    expect({ rows, ignored }).toEqual({ rows: ['csr-1 Recovered written'], ignored: { NotKubeletClient: 3 } });
    expect(cluster.approved()).toEqual(['csr-1']);
  });

  it('judges about a thousand requests, none that is too large for a kubelet’s, and says what it leaves out', async () => {
    const cluster = fakeCluster();
    cluster.addCsr(clientCsr({ name: 'a-large', pem: Buffer.alloc(16 * 1024 + 1, 'x') }));
    for (let number = 0; number < 1_300; number += 1)
      cluster.addCsr(clientCsr({ name: `csr-${number}`, node: 'cp-9' }));
    const { rows, problems } = await recover(cluster.target());
    expect(rows.length).toBeGreaterThan(900);
    expect(rows.length).toBeLessThan(1_150);
    expect(new Set(problems.map(({ message }) => message))).toEqual(
      new Set([
        'spec.request is larger than that of any kubelet',
        'there are more open requests than one sweep can hold',
        'not readable either',
      ]),
    );
  });

  it('costs one request when nobody asks', async () => {
    const cluster = fakeCluster();
    const calls: string[] = [];
    cluster.before = ({ method, path }) => void calls.push(`${method} ${path}`);
    expect(await recover(cluster.target())).toMatchObject({ rows: [], problems: [] });
    expect(calls).toEqual([`GET ${CSRS}`]);
  });
});

describe('the end', () => {
  it.each([
    ['at its end', recoveryOf(), NOW + 20 * MINUTE],
    ['with an end that is none', recoveryOf({ until: 'soon' }), NOW],
  ])('reads and writes nothing %s', async (_, recovery, now) => {
    const cluster = clusterWith(clientCsr());
    cluster.before = () => {
      throw new Error('nothing is to be read');
    };
    expect(await recover(cluster.target(), recovery, { clock: () => now })).toMatchObject({ rows: [], problems: [] });
  });

  it.each([
    ['while the nodes are read', NODE_LEASES, 'csr-1 RecoveryOver none'],
    ['between the judgement and the write', '', 'csr-1 Recovered unfinished'],
  ])('that comes %s: no approval is written', async (_, moment, row) => {
    const cluster = clusterWith(clientCsr());
    let looks = 0;
    let now = NOW;
    cluster.before = ({ path }) => {
      if (path === moment) now = NOW + 20 * MINUTE;
    };
    const clock = () => {
      looks += 1;
      // The start, the liveness of both nodes and the judgement; then each write looks itself.
      return moment === '' && looks > 4 ? NOW + 20 * MINUTE : now;
    };
    expect((await recover(cluster.target(), recoveryOf(), { clock })).rows).toEqual([row]);
    expect(cluster.writes).toEqual([]);
  });

  it('that comes while the object is read again after a conflict: no approval is written', async () => {
    const cluster = clusterWith(clientCsr());
    let now = NOW;
    cluster.before = ({ method, path }) => {
      if (path.endsWith('/approval')) throw apiError('conflict', 409);
      if (method === 'GET' && path.endsWith('/csr-1')) now = NOW + 20 * MINUTE;
    };
    const { rows } = await recover(cluster.target(), recoveryOf(), { clock: () => now });
    expect(rows).toEqual(['csr-1 RecoveryOver none']);
    expect(cluster.approved()).toEqual([]);
  });

  it('ends what waits to be sent again', async () => {
    const cluster = clusterWith(clientCsr({ name: 'csr-1' }));
    const recovery = recoveryOf();
    // A server that asks to wait, until the client is told not to.
    cluster.before = async ({ path, signal: waiting }) => {
      if (!path.endsWith('/approval')) return;
      await new Promise<void>((resolve) => waiting?.addEventListener('abort', () => resolve(), { once: true }));
    };
    const clock = () => Date.parse(recovery.until) - 200;
    expect((await recover(cluster.target(), recovery, { clock })).rows).toEqual(['csr-1 Recovered unknown']);
    expect(cluster.approved()).toEqual([]);
  });

  it('stops when it is told to', async () => {
    const cluster = clusterWith(clientCsr());
    const stop = new AbortController();
    cluster.before = ({ path }) => {
      if (path === NODE_LEASES) stop.abort();
    };
    const { problems } = await recover(cluster.target(), recoveryOf(), { signal: stop.signal });
    expect(problems.length).toBeGreaterThan(0);
    expect(cluster.writes).toEqual([]);
  });
});

describe('two an hour', () => {
  it('approves no third request of a node while two that it approved are in the list', async () => {
    const cluster = fakeCluster();
    const rows: string[] = [];
    for (const name of ['csr-1', 'csr-2', 'csr-3', 'csr-4']) {
      cluster.addCsr(clientCsr({ name }));
      rows.push(...(await recover(cluster.target())).rows);
    }
    expect(rows).toEqual([
      'csr-1 Recovered written',
      'csr-2 Recovered written',
      'csr-3 ApprovalsSpent none',
      'csr-3 ApprovalsSpent none',
      'csr-4 ApprovalsSpent none',
    ]);
    expect(cluster.approved()).toEqual(['csr-1', 'csr-2']);
    // kube-controller-manager removes the first after an hour.
    cluster.csrs.delete('csr-1');
    expect((await recover(cluster.target())).rows).toEqual(['csr-3 Superseded none', 'csr-4 Recovered written']);
  });

  it.each([
    [0, ['csr-5']],
    [1, ['csr-5']],
    [2, []],
  ])('in one sweep of five requests, with %i before: %j', async (before, written) => {
    const cluster = fakeCluster();
    for (let number = 0; number < before; number += 1) cluster.addCsr(approvedCsr(`before-${number}`));
    for (const name of ['csr-1', 'csr-2', 'csr-3', 'csr-4', 'csr-5']) cluster.addCsr(clientCsr({ name }));
    await recover(cluster.target());
    expect(cluster.approved().filter((name) => name.startsWith('csr-'))).toEqual(written);
  });

  it.each([
    ['of others', ['KubectlApprove', 'AutoApproved', 'CertMarshalApproved'], 'Recovered'],
    ['that others forge', ['CertMarshalRecovered', 'CertMarshalRecovered', 'KubectlApprove'], 'ApprovalsSpent'],
  ])('approvals %s make it no more', async (_, reasons, reason) => {
    const cluster = fakeCluster();
    reasons.forEach((one, index) => cluster.addCsr(approvedCsr(`other-${index}`, { reason: one })));
    cluster.addCsr(clientCsr());
    expect((await recover(cluster.target())).rows[0]).toContain(reason);
  });

  it('counts those of each node alone, issued, failed or on their way out', async () => {
    const cluster = clusterWith(approvedCsr('other-1', { node: 'cp-2' }), approvedCsr('other-2', { node: 'cp-2' }));
    const [issued, failed] = [approvedCsr('issued'), approvedCsr('failed')];
    cluster.addCsr({ ...issued, status: { ...issued.status, certificate: 'eA==' } });
    cluster.addCsr({
      ...failed,
      metadata: { ...failed.metadata, deletionTimestamp: new Date(NOW).toISOString() },
      status: { conditions: [...failed.status.conditions, { type: 'Failed', status: 'True' }] },
    });
    cluster.addCsr(clientCsr());
    expect((await recover(cluster.target())).rows).toEqual(['csr-1 ApprovalsSpent none']);
  });

  it('hides no approval behind conditions that cannot be read', async () => {
    const cluster = clusterWith(approvedCsr('first'), approvedCsr('second', { more: 300 }), clientCsr());
    const { rows, messages, problems } = await recover(cluster.target());
    expect(rows).toEqual(['csr-1 ApprovalsSpent none']);
    expect(messages[0]).toContain('a request in the list cannot be read');
    expect(problems).toMatchObject([{ kind: 'recovery-unreadable', object: 'CertificateSigningRequest second' }]);
  });

  it('approves nothing by the first page of a list', async () => {
    const cluster = clusterWith(clientCsr());
    const client = cluster.client();
    const workload: typeof client = {
      ...client,
      async request(call) {
        if (call.path !== CSRS) return client.request(call);
        if (call.query?.['continue'] !== undefined) throw apiError('timeout');
        return { ...(await client.request(call)), metadata: { continue: 'next' } };
      },
    };
    expect(await recover(cluster.target({ workload }))).toMatchObject({
      rows: [],
      problems: [{ kind: 'recovery-timeout' }],
    });
    expect(cluster.writes).toEqual([]);
  });
});

it('keeps of all Machines only those of the named nodes', async () => {
  const { readings } = await readControlPlane(fakeCluster().target(), ['cp-2'], signal);
  expect(readings).toMatchObject([{ ok: true, lookedAt: 3, owners: [{ nodes: ['cp-2'] }] }]);
});

describe('what cannot be read', () => {
  it.each([
    ['Nodes', '/api/v1/nodes', 'NodeUnreadable'],
    ['Leases of Nodes', NODE_LEASES, 'NodeUnreadable'],
    ['Machines', '/apis/cluster.x-k8s.io/v1beta2/namespaces/eksa-system/machines', 'EvidenceUnreadable'],
    ['requests', CSRS, undefined],
  ])('%s: nothing is approved, and the report says so', async (_, path, reason) => {
    const cluster = clusterWith(clientCsr());
    cluster.before = (call) => {
      if (call.path === path) throw apiError('forbidden', 403);
    };
    const { rows, problems } = await recover(cluster.target());
    expect(rows).toEqual(reason === undefined ? [] : [`csr-1 ${reason} none`]);
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.every(({ kind }) => kind.startsWith('recovery-'))).toBe(true);
    expect(cluster.writes).toEqual([]);
  });

  it('is nothing of another namespace: Machines there change nothing', async () => {
    const cluster = clusterWith(clientCsr());
    const foreign = cluster.machines.map((machine) => ({
      ...machine,
      metadata: { ...(machine['metadata'] as object), namespace: 'mallory' },
    }));
    cluster.machines.push(...foreign);
    expect((await recover(cluster.target())).rows).toEqual(['csr-1 Recovered written']);
  });

  it('leaves every node where the namespace has no Machine of the cluster, and says which was asked', async () => {
    const cluster = clusterWith(clientCsr());
    const { rows, messages } = await recover(cluster.target({ machinesNamespace: 'team-a' }));
    expect(rows).toEqual(['csr-1 EvidenceUnreadable none']);
    expect(messages[0]).toContain('namespace team-a has no Machine of cluster');
    expect(cluster.writes).toEqual([]);
  });

  it('judges a request with odd credentials by that alone', async () => {
    const extra = { 'authentication.kubernetes.io/credential-id': 'X' };
    const cluster = clusterWith(clientCsr({ name: 'extra', extra }), clientCsr());
    const { rows } = await recover(cluster.target());
    expect(rows).toEqual(['extra ObjectMalformed none', 'csr-1 Recovered written']);
  });
});

describe('a write that goes wrong', () => {
  it.each([
    ['was refused', apiError('forbidden', 403), 'failed', 1],
    ['has no answer', apiError('timeout'), 'unknown', 1],
    ['met another', apiError('conflict', 409), 'overtaken', 0],
    ['came too late', apiError('not-found', 404), 'overtaken', 0],
  ] as const)('an approval that %s', async (_, error, outcome, count) => {
    const cluster = clusterWith(clientCsr());
    cluster.before = answering(error);
    const { rows, problems } = await recover(cluster.target());
    expect(rows).toEqual([`csr-1 Recovered ${outcome}`]);
    expect(problems).toHaveLength(count);
  });

  it('a bug comes out once it is told', async () => {
    const cluster = clusterWith(clientCsr());
    cluster.before = answering(new TypeError('a bug'));
    const acted: Acted[] = [];
    const options = { clock: () => NOW, signal, onActed: (one: Acted) => void acted.push(one) };
    await expect(recoverNodes(cluster.target(), recoveryOf(), options)).rejects.toThrow('a bug');
    expect(acted).toMatchObject([{ outcome: { kind: 'unknown' } }]);
  });

  it('an object of which the labels changed is judged again, and approved once', async () => {
    const cluster = clusterWith(clientCsr());
    cluster.before = ({ path }) => {
      if (path !== NODE_LEASES) return;
      const csr = clientCsr();
      cluster.addCsr({ ...csr, metadata: { ...csr.metadata, resourceVersion: '43', labels: { seen: 'yes' } } });
    };
    expect((await recover(cluster.target())).rows).toEqual(['csr-1 Recovered written']);
    expect(cluster.approved()).toEqual(['csr-1']);
  });

  it('an approval that was sent twice, because the first answer was lost, is one', async () => {
    const cluster = clusterWith(clientCsr());
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
    expect((await recover(cluster.target({ workload }))).rows).toEqual(['csr-1 Recovered written']);
  });

  it.each([
    ['decided', undefined],
    ['replaced', 'another'],
  ])('an object that somebody %s meanwhile is left as it is', async (_, uid) => {
    const cluster = clusterWith(clientCsr());
    cluster.before = ({ path }) => {
      if (path !== NODE_LEASES) return;
      const csr = clientCsr(uid === undefined ? { conditions: ['Denied'] } : {});
      cluster.addCsr({ ...csr, metadata: { ...csr.metadata, resourceVersion: '43', uid: uid ?? csr.metadata.uid } });
    };
    expect((await recover(cluster.target())).rows).toEqual(['csr-1 Recovered overtaken']);
    expect(cluster.approved()).toEqual([]);
  });
});

it('two sweeps at once approve one request once', async () => {
  const cluster = clusterWith(clientCsr({ name: 'csr-a' }), clientCsr({ name: 'csr-b' }));
  const both = await Promise.all([recover(cluster.target()), recover(cluster.target())]);
  expect(cluster.approved()).toEqual(['csr-b']);
  expect(both.flatMap(({ rows }) => rows).filter((row) => row.endsWith('written'))).toHaveLength(1);
});
