import { describe, expect, it, test } from 'vitest';
import { kubeletMetrics } from '../../../../lambdas/audit/sources/kubelet-metrics.ts';
import type { MemberObservation, RenewalObservation } from '../../../../lambdas/contracts/observation.ts';
import { createProcessorBudget } from '../../../../lambdas/processor-time.ts';
import { type Answers, contextOf, failure, fakeClient, observe, outline, TOLD } from './fake-cluster.ts';

const path = (node: string) => `/api/v1/nodes/${node}/proxy/metrics`;

const member = (node: string, change: Partial<MemberObservation> = {}): MemberObservation => ({
  kind: 'member',
  source: 'nodes',
  ...TOLD,
  role: 'worker',
  name: `Node ${node}`,
  node,
  createdAt: '2026-01-01T00:00:00.000Z',
  addresses: [],
  ...change,
});

const metrics = (values: Readonly<Record<string, string>>) =>
  `# HELP go_goroutines Number of goroutines that currently exist.
# TYPE go_goroutines gauge
go_goroutines 321
# HELP kubelet_certificate_manager_server_ttl_seconds [ALPHA] Gauge of the shortest TTL
# TYPE kubelet_certificate_manager_server_ttl_seconds gauge
${Object.entries(values)
  .map(([name, value]) => `kubelet_${name} ${value}\n`)
  .join('')}`;

const of = async (text: string, provider: 'eks' | 'eks-anywhere' = 'eks-anywhere') =>
  observe(kubeletMetrics, { [path('worker-1')]: text }, { provider, members: [member('worker-1')] });

/**
 * As a kubelet writes the histogram: bounds, names and help of NewKubeletServerCertificateManager, in the text format of component-base. Source:
 * pkg/kubelet/certificate/kubelet.go of Kubernetes 1.36.
 */
const rotation = (
  count: string,
  sum: string,
) => `# HELP kubelet_certificate_manager_server_rotation_seconds [ALPHA] Histogram of the number of seconds the previous certificate lived before being rotated.
# TYPE kubelet_certificate_manager_server_rotation_seconds histogram
${[
  '60',
  '3600',
  '14400',
  '86400',
  '604800',
  '2.592e+06',
  '7.776e+06',
  '1.5552e+07',
  '3.1104e+07',
  '1.24416e+08',
  '+Inf',
]
  .map(
    (bound) =>
      `kubelet_certificate_manager_server_rotation_seconds_bucket{le="${bound}"} ${bound === '+Inf' ? count : 0}\n`,
  )
  .join('')}kubelet_certificate_manager_server_rotation_seconds_sum ${sum}
kubelet_certificate_manager_server_rotation_seconds_count ${count}
`;

describe('what a kubelet says of its rotations', () => {
  const of3 = { count: 3, meanSeconds: 2_764_800 };
  it.each<[string, string, string, unknown]>([
    ['three', '3', '8.2944e+06', of3],
    ['a mean that is rounded', '3', '8.2944004e+06', of3],
    ['one, at once', '1', '0', { count: 1, meanSeconds: 0 }],
    ['none yet', '0', '0', undefined],
    ['a sum that is no number', '3', 'NaN', undefined],
    ['a sum without end', '3', '+Inf', undefined],
    ['a sum below 0', '3', '-60', undefined],
    ['a mean beyond all calendars', '1', '252979200000', undefined],
    ['half a rotation', '0.5', '60', undefined],
    ['fewer than none', '-3', '-60', undefined],
    ['a count without end', '+Inf', '60', undefined],
    ['no numbers', 'x', '\u001b[2Jx', undefined],
  ])('%s', async (_, count, sum, rotations) => {
    const text = metrics({ certificate_manager_server_ttl_seconds: '60' }) + rotation(count, sum);
    const { observations } = await of(text);
    expect(observations[0]).toMatchObject({ kind: 'renewal', what: 'kubelet-serving' });
    expect((observations[0] as RenewalObservation).rotations).toEqual(rotations);
  });

  it('is of serving certificates alone', async () => {
    const text = metrics({ certificate_manager_client_ttl_seconds: '60' }) + rotation('3', '8.2944e+06');
    expect((await of(text)).observations).toMatchObject([
      { kind: 'renewal', what: 'kubelet-client' },
      { kind: 'certificate' },
    ]);
    expect((await of(text)).observations[0]).not.toHaveProperty('rotations', expect.anything());
  });
});

test.each([
  ['3', 3],
  ['1e+06', 1_000_000],
  ['1e300', 1_000_000_000],
  ['+Inf', 0],
  ['-1', 0],
  ['NaN', 0],
])('renewals that failed: %s', async (said, errors) => {
  const { observations } = await of(
    metrics({ certificate_manager_server_ttl_seconds: '60', server_expiration_renew_errors: said }),
  );
  expect(observations[0]).toMatchObject({ kind: 'renewal', errors });
});

test('both certificates of a kubelet', async () => {
  const text = metrics({
    certificate_manager_server_ttl_seconds: '2.592e+06',
    server_expiration_renew_errors: '0',
    certificate_manager_client_ttl_seconds: '86400',
    certificate_manager_client_expiration_renew_errors: '4',
  });
  const told = { source: 'kubelet-metrics', ...TOLD };
  const seen = {
    ...told,
    where: 'metrics of kubelet worker-1',
    member: 'worker-1',
    basis: 'status',
    precisionMs: 60_000,
  };
  expect(await of(text)).toEqual({
    count: 1,
    observations: [
      { kind: 'renewal', ...told, what: 'kubelet-serving', node: 'worker-1', errors: 0, none: false },
      {
        kind: 'certificate',
        ...seen,
        what: 'kubelet-serving',
        notAfter: '2026-12-21T12:00:00.000Z',
        renewedBy: 'the kubelet, automatically, once its request is approved',
      },
      { kind: 'renewal', ...told, what: 'kubelet-client', node: 'worker-1', errors: 4, none: false },
      {
        kind: 'certificate',
        ...seen,
        what: 'kubelet-client',
        notAfter: '2026-11-22T12:00:00.000Z',
        renewedBy: 'the kubelet, automatically; kube-controller-manager approves it',
      },
    ],
  });
});

describe('what a kubelet can say', () => {
  const server = (value: string) => metrics({ certificate_manager_server_ttl_seconds: value });
  const client = (value: string) => metrics({ certificate_manager_client_ttl_seconds: value });
  const unread = 'unread kubelet-serving @ metrics of kubelet worker-1: malformed';
  const renewal = 'renewal kubelet-serving of worker-1: 0 errors';

  it.each<[string, string, readonly string[]]>([
    ['+Inf: it has none', server('+Inf'), [`${renewal}, none`]],
    ['negative: it ended', server('-60'), [renewal, 'certificate kubelet-serving @ metrics of kubelet worker-1 #0']],
    [
      'a timestamp after the value',
      server('60 1700000000000'),
      [renewal, 'certificate kubelet-serving @ metrics of kubelet worker-1 #0'],
    ],
    ['nothing of certificates', metrics({}), []],
    ['nothing', '', []],
    ['NaN', server('NaN'), [renewal, unread]],
    ['-Inf', server('-Inf'), [renewal, unread]],
    ['no number', server('\u001b[2Jx'), [renewal, unread]],
    ['no value', server(''), [renewal, unread]],
    ['beyond all calendars', server('252979200000'), [renewal, unread]],
    ['a name within a name', 'x_kubelet_certificate_manager_server_ttl_seconds 60\n', []],
    ['a megabyte', server('9'.repeat(1024 * 1024)), [renewal, unread]],
  ])('%s', async (_, text, expected) => {
    expect(outline(await of(text))).toEqual(expected);
  });

  it.each([
    ['-2.5e+11', '0000-01-01T00:00:00.000Z'],
    ['2.529e+11', '9999-12-31T23:59:59.999Z'],
  ])('a time that RFC 3339 cannot write: %s', async (seconds, notAfter) => {
    const { observations } = await of(server(seconds));
    expect(observations[1]).toMatchObject({ kind: 'certificate', notAfter });
  });

  it('on the first line', async () => {
    expect(outline(await of('kubelet_certificate_manager_server_ttl_seconds 60'))).toHaveLength(2);
  });

  it('no client certificate, which on EKS is as it should be', async () => {
    expect(outline(await of(client('+Inf'), 'eks'))).toEqual([]);
    expect(outline(await of(client('+Inf')))).toEqual(['renewal kubelet-client of worker-1: 0 errors, none']);
  });
});

test('asks each kubelet once, and none of Fargate', async () => {
  const client = fakeClient({});
  const members = [
    member('a'),
    member('a', { name: 'Machine ns/a', source: 'machines' }),
    member('b', { role: 'control-plane' }),
    member('f', { kindOfNode: 'fargate' }),
    member('f', { name: 'Machine ns/f' }),
    member('etcd-1', { role: 'etcd' }),
  ];
  const { count } = await kubeletMetrics.observe(contextOf(client, { members }));
  expect(count).toBe(2);
  expect(client.calls.map((call) => call.path)).toEqual([path('a'), path('b')]);
});

test('a kubelet that cannot be asked is a place of its own', async () => {
  const answers: Answers = {
    [path('a')]: failure('server'),
    [path('b')]: failure('aborted'),
    [path('c')]: metrics({}),
  };
  const members = ['a', 'b', 'c', '../secrets'].map((node) => member(node));
  const read = await observe(kubeletMetrics, answers, { members });
  expect(outline(read)).toEqual([
    'unread kubelet-serving @ metrics of kubelet ../secrets: invalid',
    'unread kubelet-client @ metrics of kubelet ../secrets: invalid',
    'unread kubelet-serving @ metrics of kubelet a: server',
    'unread kubelet-client @ metrics of kubelet a: server',
    'unread kubelet-serving @ metrics of kubelet b: timeout',
    'unread kubelet-client @ metrics of kubelet b: timeout',
  ]);
  const eks = await observe(
    kubeletMetrics,
    { [path('a')]: failure('server') },
    { members: [member('a')], provider: 'eks' },
  );
  expect(outline(eks)).toEqual(['unread kubelet-serving @ metrics of kubelet a: server']);
});

test('at most 16 at once', async () => {
  let now = 0;
  let most = 0;
  const slow = async () => {
    now += 1;
    most = Math.max(most, now);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    now -= 1;
    return '';
  };
  const names = Array.from({ length: 100 }, (_, n) => `n-${n}`);
  const answers = Object.fromEntries(names.map((name) => [path(name), slow]));
  const { count } = await observe(kubeletMetrics, answers, { members: names.map((name) => member(name)) });
  expect([count, most, now]).toEqual([100, 16, 0]);
});

test('to look for metrics in what a kubelet sends is at the expense of its cluster', async () => {
  let cpuMs = 0;
  const budget = createProcessorBudget({ limitMs: 1, cpuMs: () => (cpuMs += 2) });
  await budget.run(async () => of(metrics({})));
  expect(budget.signal.aborted).toBe(true);
});

test('kubelets that were not asked in time are one problem', async () => {
  const stop = new AbortController();
  const stopping = async () => {
    stop.abort();
    throw failure('aborted');
  };
  const members = ['a', 'b', 'c'].map((node) => member(node));
  const answers: Answers = { [path('a')]: metrics({}), [path('b')]: stopping, [path('c')]: failure('aborted') };
  const read = await observe(kubeletMetrics, answers, { members, signal: stop.signal });
  expect(outline(read)).toEqual(['unread - @ (source): timeout']);
  expect(read.count).toBe(1);
  expect(read.observations[0]).toMatchObject({ message: expect.stringContaining('1 of 3 kubelets') });
});

test('is off unless opted in', () => {
  expect(kubeletMetrics.off(contextOf(fakeClient({})).target)).toBeUndefined();
  expect(kubeletMetrics.off(contextOf(fakeClient({}), { reach: { kubeletMetrics: false } }).target)).toBe(
    'not opted in (kubeletMetrics)',
  );
});
