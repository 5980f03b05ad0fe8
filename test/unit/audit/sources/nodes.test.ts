import { describe, expect, it, test } from 'vitest';
import { nodes } from '../../../../lambdas/audit/sources/nodes.ts';
import { failure, observe, outline, TOLD } from './fake-cluster.ts';

const PATH = '/api/v1/nodes';
const CREATED = '2026-01-01T00:00:00Z';

const node = (name: unknown, labels: unknown = {}, addresses: unknown = []) => ({
  metadata: { name, labels, creationTimestamp: CREATED },
  status: { addresses },
});
const at = (type: string, address: unknown) => ({ type, address });

test('a Node is a member', async () => {
  const { observations, count } = await observe(nodes, {
    [PATH]: [
      node('worker-3', { 'kubernetes.io/os': 'linux' }, [
        at('Hostname', 'worker-3'),
        at('ExternalIP', '203.0.113.7'),
        at('InternalIP', '10.0.1.23'),
        at('InternalIP', '2001:DB8:0::1'),
        at('InternalIP', '10.0.1.23'),
        at('InternalDNS', '10.9.9.9'),
      ]),
    ],
  });
  expect(count).toBe(1);
  expect(observations).toEqual([
    {
      kind: 'member',
      source: 'nodes',
      ...TOLD,
      role: 'worker',
      name: 'Node worker-3',
      node: 'worker-3',
      createdAt: '2026-01-01T00:00:00.000Z',
      addresses: ['10.0.1.23', '2001:db8::1', '203.0.113.7'],
    },
  ]);
});

const computeType = (type: string) => ({ 'eks.amazonaws.com/compute-type': type });

test.each<[string, object, object]>([
  ['a control plane', { 'node-role.kubernetes.io/control-plane': '' }, { role: 'control-plane' }],
  ['an old control plane', { 'node-role.kubernetes.io/master': '' }, { role: 'control-plane' }],
  ['EKS Auto Mode', computeType('auto'), { kindOfNode: 'auto-mode' }],
  ['a hybrid node', computeType('hybrid'), { kindOfNode: 'hybrid' }],
  ['another value', computeType('ec2'), { role: 'worker' }],
  // A kubelet writes its own labels, and nobody looks at the certificates of Fargate.
  ['Fargate, as anybody can say', computeType('fargate'), { role: 'worker' }],
])('by its labels: %s', async (_, labels, expected) => {
  const { observations } = await observe(nodes, { [PATH]: [node('a', labels)] }, { provider: 'eks' });
  expect(observations).toEqual([expect.objectContaining(expected)]);
  expect(observations).toMatchObject([{ kindOfNode: Reflect.get(expected, 'kindOfNode') }]);
});

test('Fargate by its name too, and only on EKS', async () => {
  const answers = { [PATH]: [node('fargate-ip-10-0-1-7.ec2.internal', computeType('fargate'))] };
  const { observations } = await observe(nodes, answers, { provider: 'eks' });
  expect(observations).toEqual([expect.objectContaining({ kindOfNode: 'fargate' })]);
  const elsewhere = await observe(nodes, answers, { provider: 'eks-anywhere' });
  expect(elsewhere.observations[0]).not.toHaveProperty('kindOfNode', expect.anything());
});

describe('what is strange', () => {
  it.each<[string, unknown, string]>([
    ['no object', 7, 'unread - @ Node (without a name): malformed'],
    ['no name', { metadata: { creationTimestamp: CREATED } }, 'unread - @ Node (without a name): malformed'],
    ['a name that is no text', node(['a']), 'unread - @ Node (without a name): malformed'],
    ['no time', { metadata: { name: 'a' } }, 'unread - @ Node a: malformed'],
    ['labels and addresses of other types', node('a', 'b', 'c'), 'member worker Node a'],
    ['control characters', node('a\u001b[2J\u202e'), 'member worker Node a\\u{1b}[2J\\u{202e}'],
  ])('%s', async (_, item, expected) => {
    expect(outline(await observe(nodes, { [PATH]: [item, node('b')] }))).toEqual([expected, 'member worker Node b']);
  });

  it('a name of a megabyte', async () => {
    const { observations } = await observe(nodes, { [PATH]: [node('a'.repeat(1024 * 1024))] });
    expect(observations).toEqual([expect.objectContaining({ kind: 'unread', problem: 'malformed' })]);
  });

  it('addresses that are none, and more than are looked at', async () => {
    const addresses = [
      at('InternalIP', 'x'),
      at('InternalIP', 7),
      at('InternalIP', 'fe80::1%eth0'),
      ...Array.from({ length: 500 }, (_, n) => at('InternalIP', `10.0.${n >> 8}.${n & 255}`)),
    ];
    const { observations } = await observe(nodes, { [PATH]: [node('a', {}, addresses)] });
    const [member] = observations;
    expect(member?.kind === 'member' && member.addresses.length).toBe(16);
    expect(member?.kind === 'member' && member.addresses[0]).toBe('10.0.0.0');
  });

  it('more Nodes than a cluster can have: the source is not read to its end', async () => {
    const many = Array.from({ length: 20_001 }, (_, n) => node(`n-${n}`));
    const { observations, count } = await observe(nodes, { [PATH]: many });
    expect(count).toBe(20_000);
    expect(observations).toHaveLength(20_001);
    expect(observations.at(-1)).toMatchObject({ kind: 'unread', problem: 'too-large' });
    expect(observations.at(-1)).not.toHaveProperty('where', expect.anything());
  });
});

test('a list that breaks off keeps what it had, and says so', async () => {
  let pages = 0;
  const items = Array.from({ length: 300 }, (_, n) => node(`n-${n}`));
  const read = await observe(nodes, {
    [PATH]: async () => {
      pages += 1;
      if (pages > 1) throw failure('aborted');
      return items;
    },
  });
  expect(read.count).toBe(200);
  expect(read.observations.at(-1)).toEqual({
    kind: 'unread',
    source: 'nodes',
    ...TOLD,
    problem: 'timeout',
    message: 'list things: not done in time',
    remedy: 'Check the load of the server and the route to it.',
  });
});

test('a list that cannot be read at all is thrown', async () => {
  await expect(observe(nodes, { [PATH]: failure('forbidden') })).rejects.toMatchObject({ kind: 'forbidden' });
});
