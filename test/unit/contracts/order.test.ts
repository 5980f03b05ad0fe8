import { build } from 'esbuild';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeOrders, deduplicationIdOf, encodeOrders, type SweepOrder } from '../../../lambdas/contracts/order.ts';
import { anyOrder } from '../fleet/arbitraries.ts';
import { BERLIN, DUBLIN, NOW, onlyOrder, PARIS, SECRET } from '../fleet/values.ts';

const ORDER: SweepOrder = { target: DUBLIN, tick: NOW, deadlineMs: 45_000 };

describe('decodeOrder', () => {
  it('reads back every order', () => {
    fc.assert(
      fc.property(anyOrder, (order) => {
        expect(onlyOrder(encodeOrders([order]))).toEqual({ ok: true, value: order });
      }),
      { seed: 3, numRuns: 500 },
    );
  });

  it('has room for the largest CA bundle that is rotated', () => {
    const certificateAuthority = 'A'.repeat(16_000);
    const order = { ...ORDER, target: { ...DUBLIN, access: { ...DUBLIN.access, certificateAuthority } as never } };
    expect(onlyOrder(encodeOrders([order])).ok).toBe(true);
  });

  it('ignores fields it does not know', () => {
    const body = message({ later: 1, target: { ...DUBLIN, later: 1, access: { ...DUBLIN.access, later: 1 } } });
    expect(onlyOrder(body)).toEqual({ ok: true, value: ORDER });
  });

  it('takes every time up to the year 9999', () => {
    const last = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
    expect([last, last + 1].map((tick) => onlyOrder(message({ tick })).ok)).toEqual([true, false]);
  });

  it.each([
    ['', 'the message is not JSON'],
    ['{', 'the message is not JSON'],
    ['null', 'the message is not an object'],
    ['[]', 'the message is not an object'],
    [' '.repeat(262_145), 'the message is longer than 262144 bytes'],
    ['{"version":2,"orders":[]}', 'version is not 3'],
    ['{"version":3}', 'orders is not a list of at most 100 entries'],
    [JSON.stringify({ version: 3, orders: Array(101).fill(null) }), 'orders is not a list of at most 100 entries'],
    ['{"version":3,"orders":[null]}', 'the order is not an object'],
    [message({ tick: '0' }), 'tick is not a time in milliseconds since the epoch'],
    [message({ tick: -1 }), 'tick is not a time in milliseconds since the epoch'],
    [message({ tick: 1.5 }), 'tick is not a time in milliseconds since the epoch'],
    [message({ tick: 9e15 }), 'tick is not a time in milliseconds since the epoch'],
    [message({ deadlineMs: undefined }), 'deadlineMs is not a whole number'],
    [message({ deadlineMs: 0 }), 'deadlineMs is not between 1 and 900000'],
    [message({ deadlineMs: 900_001 }), 'deadlineMs is not between 1 and 900000'],
    [message({ lastHeard: '0' }), 'lastHeard is not a time in milliseconds since the epoch'],
    [message({ holdWrites: true }), 'holdWrites is not text of at most 1000 characters'],
    [message({ holdWrites: 'a'.repeat(1_001) }), 'holdWrites is not text of at most 1000 characters'],
    [message({ lookForClusters: true }), 'lookForClusters is not a list of at most 50 entries'],
    [message({ lookForClusters: Array(51).fill('n') }), 'lookForClusters is not a list of at most 50 entries'],
    [message({ lookForClusters: ['A'] }), 'lookForClusters[0] is not the name of a namespace'],
    [eks({ instances: { ...DUBLIN.instances, vpcId: 'vpc' } }), 'target.instances.vpcId is not the id of a VPC'],
    [message({ target: [] }), 'target is not an object'],
    [eks({ id: '' }), 'target.id is not the id of a cluster'],
    [eks({ id: '../etc' }), 'target.id is not the id of a cluster'],
    [eks({ id: 'a/b/c/d' }), 'target.id is not the id of a cluster'],
    [eks({ id: 'a\nb' }), 'target.id is not the id of a cluster'],
    [eks({ cluster: 'dublin' }), 'target.cluster is not an object'],
    [withCluster({ name: 'a\nb' }), 'target.cluster.name is not a cluster name'],
    [withCluster({ name: 'a'.repeat(101) }), 'target.cluster.name is not a cluster name'],
    [withCluster({ provider: 'gke' }), 'target.cluster.provider is not one of eks, eks-anywhere'],
    [withCluster({ serviceCidrs: null }), 'target.cluster.serviceCidrs is not a list of CIDRs'],
    [withCluster({ serviceCidrs: [8] }), 'target.cluster.serviceCidrs[0] is not text'],
    [withCluster({ serviceCidrs: ['10.0.0.0/33'] }), 'target.cluster.serviceCidrs is not a list of CIDRs'],
    [withCluster({ serviceCidrs: Array(17).fill('10.0.0.0/8') }), 'target.cluster.serviceCidrs is not a list of CIDRs'],
    [eks({ lane: 'On Prem' }), 'target.lane is not the name of a lane'],
    [eks({ access: undefined }), 'target.access is not an object'],
    [withAccess({ kind: 'exec' }), 'target.access.kind is not one of eks, kubeconfig, cluster-api'],
    [withAccess({ endpoint: 'http://a' }), 'target.access.endpoint is not an https URL'],
    [withAccess({ endpoint: 'https://user:secret@a' }), 'target.access.endpoint is not an https URL'],
    [withAccess({ certificateAuthority: '' }), 'target.access.certificateAuthority is not a CA bundle in base64'],
    [withAccess({ certificateAuthority: 'a b' }), 'target.access.certificateAuthority is not a CA bundle in base64'],
    [withAccess({ scope: undefined }), 'target.access.scope is not an object'],
    [
      withAccess({ scope: { account: '1', region: 'eu-central-1' } }),
      'target.access.scope.account is not an account id',
    ],
    [
      withAccess({ scope: { account: '111122223333', region: 'mars' } }),
      'target.access.scope.region is not the name of a Region',
    ],
    [eks({ instances: null }), 'target.instances is not an object'],
    [withRole({ arn: 'arn:aws:iam::1:user/x' }), 'target.instances.role.arn is not the ARN of a role'],
    [withRole({ externalId: 'a b' }), 'target.instances.role.externalId is not an external id'],
    [withRole({ sessionTags: { '\u0000': '' } }), 'a key of target.instances.role.sessionTags is not allowed'],
    [
      withRole({ sessionTags: { team: 7 } }),
      'target.instances.role.sessionTags.team is not text of at most 256 characters',
    ],
    [
      withRole({ sessionTags: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, ''])) }),
      'target.instances.role.sessionTags has more than 50 entries',
    ],
    [listed({ access: { kind: 'kubeconfig', secret: 'berlin' } }), 'target.access.secret is not the ARN of a secret'],
    [
      listed({ access: { kind: 'kubeconfig', secret: SECRET.slice(0, -7) } }),
      'target.access.secret is not the ARN of a secret',
    ],
    [
      listed({ access: { kind: 'kubeconfig', secret: SECRET, authenticatorId: 'a\r\nb' } }),
      'target.access.authenticatorId is not a cluster id of aws-iam-authenticator',
    ],
    [listed({ management: {} }), 'target.management.namespace is not the name of a namespace'],
    [listed({ management: { namespace: 'A' } }), 'target.management.namespace is not the name of a namespace'],
    [
      listed({ management: { access: { kind: 'eks', secret: SECRET } } }),
      'target.management.access.kind is not kubeconfig',
    ],
    [message({ target: { ...BERLIN, management: undefined } }), 'target.management.access is missing'],
    [
      message({ target: { ...BERLIN, access: { kind: 'cluster-api', namespace: 'a/b' } } }),
      'target.access.namespace is not the name of a namespace',
    ],
  ])('refuses %.60s', (body, problem) => {
    expect(onlyOrder(body)).toEqual({ ok: false, problem });
  });

  it('gives a value for every text', () => {
    const json = fc.json({ maxDepth: 4 });
    const nearly = fc.jsonValue().map((value) => eks({ cluster: value }));
    const almost = fc
      .tuple(
        fc.constantFrom('id', 'cluster', 'access', 'lane'),
        fc.jsonValue().filter((value) => typeof value !== 'string'),
      )
      .map(([field, value]) => eks({ [field]: value }));
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), json, nearly, almost), (body) => {
        expect(onlyOrder(body).ok).toBe(false);
      }),
      { seed: 4, numRuns: 150 },
    );
  });

  it('quotes nothing of the content', () => {
    const marker = 'zzqq';
    const fields = ['id', 'cluster', 'access', 'lane', 'instances', 'management'];
    for (const field of fields) {
      const decoded = onlyOrder(listed({ [field]: { [marker]: marker, kind: marker } }));
      expect(decoded.ok).toBe(false);
      expect(JSON.stringify(decoded)).not.toContain(marker);
    }
  });
});

describe('decodeOrders', () => {
  it('reads each order for itself, and says whose the others are', () => {
    const orders = [
      ORDER,
      { ...ORDER, target: { ...PARIS, lane: 'On Prem' } },
      { target: 7 },
      { ...ORDER, target: BERLIN },
    ];
    expect(decodeOrders(JSON.stringify({ version: 3, orders }))).toEqual({
      ok: true,
      value: [
        { ok: true, id: DUBLIN.id, value: ORDER },
        { ok: false, id: PARIS.id, problem: 'target.lane is not the name of a lane' },
        { ok: false, problem: 'target is not an object' },
        { ok: true, id: BERLIN.id, value: { ...ORDER, target: BERLIN } },
      ],
    });
  });

  it('carries out neither of two orders for one cluster, also where one of them cannot be read', () => {
    const problem = 'the message has another order for the same cluster';
    for (const other of [ORDER, { ...ORDER, tick: NOW + 1 }, { ...ORDER, deadlineMs: 0 }]) {
      const read = decodeOrders(JSON.stringify({ version: 3, orders: [ORDER, { ...ORDER, target: PARIS }, other] }));
      expect(read.ok && read.value.map(({ ok, id }) => [ok, id])).toEqual([
        [false, DUBLIN.id],
        [true, PARIS.id],
        [false, DUBLIN.id],
      ]);
      expect(read).toMatchObject({ value: [{ problem }, {}, {}] });
    }
  });
});

describe('deduplicationIdOf', () => {
  it('is the same for the same occasion of the same cluster, and no other', () => {
    const id = deduplicationIdOf('a', '1');
    expect(id).toMatch(/^[0-9a-f]{64}$/);
    expect(deduplicationIdOf('a', '1')).toBe(id);
    const others = [deduplicationIdOf('a', '2'), deduplicationIdOf('b', '1'), deduplicationIdOf('a1', '')];
    expect(new Set([id, ...others]).size).toBe(4);
  });
});

it('brings no configuration reader into the sweep function', async () => {
  const entry = new URL('../../../lambdas/contracts/order.ts', import.meta.url).pathname;
  const { metafile } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
  });
  expect(Object.keys(metafile.inputs).filter((file) => /node_modules\/(?!zod\/)|lambdas\/config/.test(file))).toEqual(
    [],
  );
});

function message(changed: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ version: 3, orders: [{ ...ORDER, ...changed }] });
}

function eks(changed: Readonly<Record<string, unknown>>): string {
  return message({ target: { ...DUBLIN, ...changed } });
}

function listed(changed: Readonly<Record<string, unknown>>): string {
  return message({ target: { ...PARIS, ...changed } });
}

function withCluster(changed: Readonly<Record<string, unknown>>): string {
  return eks({ cluster: { ...DUBLIN.cluster, ...changed } });
}

function withAccess(changed: Readonly<Record<string, unknown>>): string {
  return eks({ access: { ...DUBLIN.access, ...changed } });
}

function withRole(changed: Readonly<Record<string, unknown>>): string {
  const role = { arn: 'arn:aws:iam::444455556666:role/certmarshal-spoke', ...changed };
  return eks({ instances: { ...DUBLIN.instances, role } });
}
