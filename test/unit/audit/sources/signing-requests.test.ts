import { beforeAll, describe, expect, it, test } from 'vitest';
import { signingRequests } from '../../../../lambdas/audit/sources/signing-requests.ts';
import { KubernetesError } from '../../../../lambdas/kubernetes/errors.ts';
import { base64, createPki, type Pki } from './certificates.ts';
import { certificatesOf, contextOf, failure, fakeClient, NOW, observe, outline, TOLD } from './fake-cluster.ts';

const PATH = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const SERVING = 'kubernetes.io/kubelet-serving';
const CLIENT_KUBELET = 'kubernetes.io/kube-apiserver-client-kubelet';
const CLIENT = 'kubernetes.io/kube-apiserver-client';
const APP_SERVING = 'beta.eks.amazonaws.com/app-serving';

let pki: Pki;
let leafs = new Map<string, string>();
beforeAll(async () => {
  pki = await createPki();
  const names = ['system:node:worker-1', 'system:node:worker-2', 'web', 'alice', 'bob'];
  leafs = new Map(await Promise.all(names.map(async (name) => [name, base64(await pki.leaf(name))] as const)));
});

interface Given {
  readonly name?: unknown;
  readonly signer?: unknown;
  readonly by?: unknown;
  /** Minutes. */
  readonly age?: number | undefined;
  readonly conditions?: unknown;
  readonly certificate?: unknown;
  readonly asks?: string;
}

function groupsOf(user: unknown): readonly string[] {
  return String(user).startsWith('system:node:') ? ['system:nodes', 'system:authenticated'] : ['system:authenticated'];
}

function request(given: Given) {
  const { name = 'csr-1', signer = SERVING, by = 'system:node:worker-1', age = 5, asks = 'LS0t', ...status } = given;
  return {
    metadata: { name, creationTimestamp: new Date(NOW - age * 60_000).toISOString().replace('.000', '') },
    spec: { signerName: signer, username: by, request: asks, usages: [], groups: groupsOf(by) },
    status,
  };
}

const condition = (type: string, reason = 'r', message = 'm') => ({ type, status: 'True', reason, message });
const APPROVED = condition('Approved');

describe('states', () => {
  it.each<[string, Given, string]>([
    ['undecided', {}, 'pending'],
    ['approved', { conditions: [APPROVED] }, 'approved'],
    ['denied', { conditions: [condition('Denied')] }, 'denied'],
    ['refused by the signer', { conditions: [APPROVED, condition('Failed')] }, 'failed'],
    ['another condition', { conditions: [condition('example.com/Seen')] }, 'pending'],
    ['conditions of another type', { conditions: 7 }, 'pending'],
    ['a condition that is not so', { conditions: [{ ...APPROVED, status: 'False' }] }, 'pending'],
  ])('%s', async (_, given, state) => {
    const { observations } = await observe(signingRequests, { [PATH]: [request(given)] });
    expect(observations).toMatchObject([{ kind: 'requests', state }]);
  });

  it('issued', async () => {
    const given = { conditions: [APPROVED], certificate: leafs.get('system:node:worker-1') };
    expect(outline(await observe(signingRequests, { [PATH]: [request(given)] }))).toEqual([
      `requests issued 1 of system:node:worker-1 at ${SERVING}`,
      'certificate kubelet-serving @ kubelet serving of worker-1, issued by request #0',
    ]);
  });
});

test('requests of one requester are counted, with the newest of them', async () => {
  const failed = (message: string) => [APPROVED, condition('Failed', 'SignerValidationFailure', message)];
  const items = [
    request({ name: 'csr-a', age: 90, conditions: failed('old') }),
    request({ name: 'csr-b', age: 10, conditions: failed('new\u0000') }),
    request({ name: 'csr-c', age: 20, conditions: failed('older') }),
    request({ name: 'csr-d', age: 59, conditions: failed('oldest') }),
  ];
  const { observations, count } = await observe(signingRequests, { [PATH]: items });
  expect(count).toBe(4);
  expect(observations).toEqual([
    {
      kind: 'requests',
      source: 'signing-requests',
      ...TOLD,
      signer: SERVING,
      requester: 'system:node:worker-1',
      state: 'failed',
      count: 4,
      lastHour: 3,
      oldestAt: '2026-11-21T10:30:00.000Z',
      newestAt: '2026-11-21T11:50:00.000Z',
      examples: ['csr-b', 'csr-c', 'csr-d'],
      message: 'SignerValidationFailure: new\\u{0}',
    },
  ]);
});

test('all signers are asked for at once', async () => {
  const client = fakeClient({ [PATH]: [] });
  await signingRequests.observe(contextOf(client));
  expect(client.calls.map(({ path, query }) => ({ path, query }))).toEqual([{ path: PATH, query: { limit: '1000' } }]);
});

describe('certificates', () => {
  const places = async (...items: readonly Given[]) =>
    certificatesOf(await observe(signingRequests, { [PATH]: items.map(request) })).map(({ what, where, member }) => [
      what,
      where,
      member,
    ]);

  it('have a place that the next one of the same takes', async () => {
    const [one, two] = [leafs.get('system:node:worker-1'), leafs.get('system:node:worker-2')];
    expect(
      await places(
        { age: 30, certificate: two },
        { age: 10, certificate: one },
        { age: 20, certificate: two },
        { by: 'system:node:worker-2', certificate: two },
      ),
    ).toEqual([
      ['kubelet-serving', 'kubelet serving of worker-2, issued by request', 'worker-2'],
      ['kubelet-serving', 'kubelet serving of worker-1, issued by request', 'worker-1'],
      ['kubelet-serving', 'kubelet serving of worker-1, issued by request', 'worker-1'],
    ]);
    const { observations } = await observe(signingRequests, {
      [PATH]: [request({ age: 10, certificate: one }), request({ age: 20, certificate: two })],
    });
    expect(certificatesOf({ observations, count: 0 })[0]?.commonName).toBe('system:node:worker-1');
  });

  it('of kubelets that have just begun are told apart by their names', async () => {
    const by = 'system:bootstrap:abcdef';
    expect(
      await places(
        { signer: CLIENT_KUBELET, by, age: 2, certificate: leafs.get('system:node:worker-1') },
        { signer: CLIENT_KUBELET, by, age: 3, certificate: leafs.get('system:node:worker-2') },
        { signer: CLIENT_KUBELET, by: 'system:node:worker-1', age: 1, certificate: leafs.get('system:node:worker-1') },
      ),
    ).toEqual([
      ['kubelet-client', 'kubelet client of worker-1, issued by request', 'worker-1'],
      ['kubelet-client', 'kubelet client of worker-2, issued by request', 'worker-2'],
    ]);
  });

  it('of a kubelet that cannot be read are those of who asked', async () => {
    const read = await observe(signingRequests, { [PATH]: [request({ signer: CLIENT_KUBELET, certificate: '!' })] });
    expect(outline(read).slice(1)).toEqual([
      'unread kubelet-client @ kubelet client of worker-1, issued by request: malformed',
    ]);
  });

  it('of servers of kubelets are those of who asked, whatever name they have', async () => {
    expect(await places({ certificate: leafs.get('system:node:worker-2') })).toEqual([
      ['kubelet-serving', 'kubelet serving of worker-1, issued by request', 'worker-1'],
    ]);
  });

  it('without a subject are told by the first of their names', async () => {
    const certificate = base64(await pki.leaf(undefined, { dnsNames: ['a.example.com', 'b.example.com'] }));
    expect(await places({ signer: CLIENT, by: 'admin', certificate })).toEqual([
      ['issued-client', `a.example.com, issued by ${CLIENT} to admin`, undefined],
    ]);
  });

  it('of other signers are told apart by subject, signer and requester', async () => {
    const by = 'system:serviceaccount:shop:web';
    expect(
      await places(
        { signer: APP_SERVING, by, age: 1, certificate: leafs.get('web') },
        { signer: APP_SERVING, by, age: 2, certificate: leafs.get('web') },
        { signer: CLIENT, by: 'admin', age: 3, certificate: leafs.get('alice') },
        { signer: CLIENT, by: 'admin', age: 4, certificate: leafs.get('bob') },
        { signer: 'example.com/x', by: 'admin', age: 5, certificate: leafs.get('bob') },
      ),
    ).toEqual([
      ['app-serving', `CN=web, issued by ${APP_SERVING} to system:serviceaccount:shop:web`, undefined],
      ['issued-client', `CN=alice, issued by ${CLIENT} to admin`, undefined],
      ['issued-client', `CN=bob, issued by ${CLIENT} to admin`, undefined],
      ['issued-other', 'CN=bob, issued by example.com/x to admin', undefined],
    ]);
  });

  it.each<[string, unknown]>([
    ['no base64', '!'],
    ['no PEM', base64('hello')],
    ['larger than any', 'A'.repeat(64 * 1024 + 4)],
  ])('that are none: %s', async (_, certificate) => {
    const read = await observe(signingRequests, { [PATH]: [request({ certificate })] });
    expect(outline(read)).toEqual([
      `requests issued 1 of system:node:worker-1 at ${SERVING}`,
      'unread kubelet-serving @ kubelet serving of worker-1, issued by request: malformed',
    ]);
  });

  it('of one subject are others, up to a few', async () => {
    const by = 'admin';
    const all = await Promise.all(Array.from({ length: 18 }, async () => base64(await pki.leaf('ci'))));
    const items = all.map((certificate, age) => request({ signer: CLIENT, by, age, certificate }));
    const read = await observe(signingRequests, {
      [PATH]: [...items, request({ signer: CLIENT, by, age: 50, certificate: all[0] })],
    });
    const certificates = certificatesOf(read);
    expect(new Set(certificates.map(({ where }) => where))).toEqual(new Set([`CN=ci, issued by ${CLIENT} to admin`]));
    expect(new Set(certificates.map(({ fingerprint }) => fingerprint)).size).toBe(16);
    // A kubelet uses one, and has the keys of all.
    const own = all.map((certificate, age) => request({ age, certificate }));
    expect(certificatesOf(await observe(signingRequests, { [PATH]: own }))).toHaveLength(16);
    const client = all.map((certificate, age) => request({ signer: CLIENT_KUBELET, age, certificate }));
    expect((await observe(signingRequests, { [PATH]: client })).observations).toHaveLength(2);
  });

  it('more of one requester than are read are told', async () => {
    const items = Array.from({ length: 2_003 }, () => request({ signer: CLIENT, by: 'admin', certificate: 'A' }));
    const read = await observe(signingRequests, { [PATH]: items });
    expect(read.observations.at(-1)).toMatchObject({
      kind: 'unread',
      message: expect.stringMatching(/^3 more certificates/),
    });
  });
});

test('a requester or a name of a megabyte hides no certificate', async () => {
  const long = 'a'.repeat(1024 * 1024);
  const certificate = leafs.get('system:node:worker-1');
  const items = [request({ by: long, certificate }), request({ name: long, certificate })];
  const read = await observe(signingRequests, { [PATH]: items });
  expect(certificatesOf(read).map(({ where }) => where)).toEqual([
    `${'a'.repeat(253)}…, issued by ${SERVING}`,
    'kubelet serving of worker-1, issued by request',
  ]);
  expect(read.observations.some(({ kind }) => kind === 'unread')).toBe(false);
});

test.each<[string, unknown]>([
  ['no object', 7],
  ['no spec', { metadata: { name: 'a', creationTimestamp: '2026-11-21T11:00:00Z' } }],
  ['no time', { ...request({}), metadata: { name: 'a' } }],
  ['a signer that is no text', request({ signer: 7 })],
])('strange: %s', async (_, item) => {
  const read = await observe(signingRequests, { [PATH]: [item, request({})] });
  expect(outline(read)).toEqual([
    `requests pending 1 of system:node:worker-1 at ${SERVING}`,
    'unread - @ (source): malformed',
  ]);
  expect(read.observations[1]).toMatchObject({ message: expect.stringMatching(/^1 /) });
});

test('control characters of a requester are made visible', async () => {
  const given = { name: 'a\u001b[2J', by: 'system:node:\u202eworker', signer: 'x\u0007/y' };
  const { observations } = await observe(signingRequests, { [PATH]: [request(given)] });
  expect(observations).toMatchObject([{ requester: 'system:node:\\u{202e}worker', signer: 'x\\u{7}/y' }]);
});

describe('what certmarshal approved', () => {
  const approvedAgo = (minutes: number, worker: number, more: Given = {}) => {
    const lastUpdateTime = new Date(NOW - minutes * 60_000).toISOString().replace('.000', '');
    const approved = { ...condition('Approved', 'CertMarshalApproved'), lastUpdateTime };
    return request({
      name: `csr-${worker}`,
      by: `system:node:worker-${worker}`,
      age: 16,
      conditions: [approved],
      ...more,
    });
  };
  const idle = async (...requests: readonly object[]) => {
    const { observations } = await observe(signingRequests, { [PATH]: requests });
    return observations.filter((one) => one.kind === 'requests' && one.signerIdle === true).length;
  };

  it('and the signer issues nothing of it: its requesters are marked', async () => {
    expect(await idle(approvedAgo(15, 1), approvedAgo(15, 2))).toBe(2);
    expect(await idle(approvedAgo(15, 1), approvedAgo(5, 2))).toBe(0);
    expect(await idle(approvedAgo(15, 1), approvedAgo(15, 2), approvedAgo(1, 3, { certificate: 'LS0t' }))).toBe(0);
  });

  it('in a list that its deadline cuts is a lower bound, and says of what', async () => {
    let pages = 0;
    const items = Array.from({ length: 2_400 }, (_, n) => approvedAgo(15, n % 2));
    const read = await observe(signingRequests, {
      [PATH]: async () => {
        pages += 1;
        if (pages > 2) throw failure('aborted', 'list certificatesigningrequests');
        return items;
      },
    });
    expect(read.count).toBe(2_000);
    expect(outline(read)).toEqual([
      `requests approved 1000 of system:node:worker-0 at ${SERVING}`,
      `requests approved 1000 of system:node:worker-1 at ${SERVING}`,
      'unread - @ (source): timeout',
    ]);
    // The signer may have issued one that was not read.
    expect(JSON.stringify(read)).not.toContain('signerIdle');
    expect(read.observations[2]).toMatchObject({
      message: 'list certificatesigningrequests: not done in time; 2000 requests were counted',
    });
  });
});

it('reads alone what is too large for the list, and says how many cannot be read', async () => {
  const large = request({ name: 'large', conditions: [APPROVED], certificate: leafs.get('system:node:worker-1') });
  const items = [
    { name: 'large' },
    { name: 'refused', signerName: SERVING },
    { name: 'gone' },
    { name: 'client', signerName: CLIENT },
  ];
  const pages = [{ items: [request({})], metadata: { continue: 'next' } }];
  const read = await observe(signingRequests, {
    [PATH]: async () => {
      const page = pages.shift();
      if (page !== undefined) return page;
      const about = { object: 'the list', problem: 'some are too large', remedy: 'Look.' };
      throw new KubernetesError({ kind: 'server', ...about, skipped: { items, count: 7 } });
    },
    [`${PATH}/large`]: large,
    [`${PATH}/refused`]: failure('forbidden'),
  });
  expect(certificatesOf(read)).toHaveLength(1);
  expect(read.observations).toContainEqual(
    expect.objectContaining({
      what: 'kubelet-serving',
      message: '4 requests too large to be read',
      issued: { verdict: 'not-proven', why: 'it may be that of 4 requests too large to be read' },
    }),
  );
});
