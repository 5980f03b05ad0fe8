import { build } from 'esbuild';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeOrders, deduplicationIdOf, encodeOrders, type Order } from '../../../lambdas/contracts/order.ts';
import { factsOf } from '../../../lambdas/fleet/fits-fleet.ts';
import { anyOrder } from '../fleet/arbitraries.ts';
import { BERLIN, DUBLIN, NOW, onlyOrder, PARIS } from '../fleet/values.ts';

const ORDER: Order = { id: DUBLIN.id, facts: factsOf(DUBLIN), tick: NOW, deadlineMs: 45_000 };

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
    const order = { ...ORDER, facts: { ...ORDER.facts, certificateAuthority } };
    expect(onlyOrder(encodeOrders([order])).ok).toBe(true);
  });

  it('ignores fields it does not know', () => {
    const body = message({ later: 1, facts: { ...ORDER.facts, later: 1 } });
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
    ['{"version":2,"orders":[]}', 'version is not 4'],
    ['{"version":4}', 'orders is not a list of at most 100 entries'],
    [JSON.stringify({ version: 4, orders: Array(101).fill(null) }), 'orders is not a list of at most 100 entries'],
    ['{"version":4,"orders":[null]}', 'the order is not an object'],
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
    [message({ id: '../etc' }), 'id is not the id of a cluster'],
    [message({ id: 'a/b/c/d' }), 'id is not the id of a cluster'],
    [message({ facts: undefined }), 'facts is not an object'],
    [message({ facts: { endpoint: 'http://a' } }), 'facts.endpoint is not an https URL'],
    [message({ facts: { certificateAuthority: 'a b' } }), 'facts.certificateAuthority is not a CA bundle in base64'],
    [message({ facts: { vpcId: 'vpc' } }), 'facts.vpcId is not the id of a VPC'],
    [message({ facts: { serviceCidrs: ['10.0.0.0/33'] } }), 'facts.serviceCidrs is not a list of CIDRs'],
    [message({ rollout: false }), 'rollout is not true'],
  ])('refuses %.60s', (body, problem) => {
    expect(onlyOrder(body)).toEqual({ ok: false, problem });
  });

  it('gives a value for every text', () => {
    const json = fc.json({ maxDepth: 4 });
    const nearly = fc
      .jsonValue()
      .filter((value) => typeof value !== 'object' || value === null)
      .map((value) => message({ facts: value }));
    const almost = fc
      .tuple(
        fc.constantFrom('id', 'facts', 'tick', 'deadlineMs'),
        fc.jsonValue().filter((value) => value === null || typeof value === 'boolean'),
      )
      .map(([field, value]) => message({ [field]: value }));
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), json, nearly, almost), (body) => {
        expect(onlyOrder(body).ok).toBe(false);
      }),
      { seed: 4, numRuns: 150 },
    );
  });

  it('quotes nothing of the content', () => {
    const marker = 'zzqq';
    const fields = ['id', 'tick', 'deadlineMs', 'server', 'holdWrites'];
    for (const field of fields) {
      const decoded = onlyOrder(message({ [field]: { [marker]: marker, kind: marker } }));
      expect(decoded.ok).toBe(false);
      expect(JSON.stringify(decoded)).not.toContain(marker);
    }
  });
});

describe('decodeOrders', () => {
  it('reads each order for itself, and says whose the others are', () => {
    const orders = [ORDER, { ...ORDER, id: PARIS.id, deadlineMs: 0 }, { id: 7 }, { ...ORDER, id: BERLIN.id }];
    expect(decodeOrders(JSON.stringify({ version: 4, orders }))).toEqual({
      ok: true,
      value: [
        { ok: true, id: DUBLIN.id, value: ORDER },
        { ok: false, id: PARIS.id, problem: 'deadlineMs is not between 1 and 900000' },
        { ok: false, problem: 'id is not the id of a cluster' },
        { ok: true, id: BERLIN.id, value: { ...ORDER, id: BERLIN.id } },
      ],
    });
  });

  it('carries out neither of two orders for one cluster, also where one of them cannot be read', () => {
    const problem = 'the message has another order for the same cluster';
    for (const other of [ORDER, { ...ORDER, tick: NOW + 1 }, { ...ORDER, deadlineMs: 0 }]) {
      const read = decodeOrders(JSON.stringify({ version: 4, orders: [ORDER, { ...ORDER, id: PARIS.id }, other] }));
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
  return JSON.stringify({ version: 4, orders: [{ ...ORDER, ...changed }] });
}
