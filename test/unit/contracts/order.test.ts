import { build } from 'esbuild';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Order, readItem, readOrders } from '../../../lambdas/contracts/order.ts';
import { factsOf } from '../../../lambdas/fleet/fits-fleet.ts';
import { anyOrder } from '../fleet/arbitraries.ts';
import { BERLIN, DUBLIN, NOW, PARIS, readOrder } from '../fleet/values.ts';

const ORDER: Order = { id: DUBLIN.id, facts: factsOf(DUBLIN), tick: NOW, deadlineMs: 45_000 };

describe('an order', () => {
  it('reads back every order', () => {
    fc.assert(
      fc.property(anyOrder, (order) => {
        expect(readOrder(order)).toEqual({ ok: true, value: order });
      }),
      { seed: 3, numRuns: 500 },
    );
  });

  it('has room for the largest CA bundle that is rotated', () => {
    const certificateAuthority = 'A'.repeat(16_000);
    const order = { ...ORDER, facts: { ...ORDER.facts, certificateAuthority } };
    expect(readOrder(order).ok).toBe(true);
  });

  it('ignores fields it does not know', () => {
    const body = message({ later: 1, facts: { ...ORDER.facts, later: 1 } });
    expect(readOrder(body)).toEqual({ ok: true, value: ORDER });
  });

  it('takes every time up to the year 9999', () => {
    const last = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
    expect([last, last + 1].map((tick) => readOrder(message({ tick })).ok)).toEqual([true, false]);
  });

  it.each([
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
    expect(readOrder(body)).toEqual({ ok: false, problem });
  });

  it('gives a value for everything', () => {
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
      fc.property(fc.oneof(nearly, almost), (body) => {
        expect(readOrder(body).ok).toBe(false);
      }),
      { seed: 4, numRuns: 150 },
    );
  });

  it('quotes nothing of the content', () => {
    const marker = 'zzqq';
    const fields = ['id', 'tick', 'deadlineMs', 'server', 'holdWrites'];
    for (const field of fields) {
      const decoded = readOrder(message({ [field]: { [marker]: marker, kind: marker } }));
      expect(decoded.ok).toBe(false);
      expect(JSON.stringify(decoded)).not.toContain(marker);
    }
  });
});

describe('readOrders', () => {
  const object = (changed: object = {}) => ({ version: 5, lane: 'default', tick: NOW, shards: [], ...changed });
  const shard = (orders: readonly unknown[], number = 0) => ({ shard: number, orders });

  it('reads each order for itself, and says whose the others are', () => {
    const orders = [ORDER, { ...ORDER, id: PARIS.id, deadlineMs: 0 }, { id: 7 }];
    const other = { ...ORDER, id: BERLIN.id };
    expect(readOrders(object({ shards: [shard(orders), shard([other], 7)] }), 'default')).toEqual({
      ok: true,
      value: new Map([
        [
          0,
          [
            { ok: true, id: DUBLIN.id, value: ORDER },
            { ok: false, id: PARIS.id, problem: 'deadlineMs is not between 1 and 900000' },
            { ok: false, problem: 'id is not the id of a cluster' },
          ],
        ],
        [7, [{ ok: true, id: BERLIN.id, value: other }]],
      ]),
    });
  });

  it.each([
    ['is damaged', undefined, 'the object is not an object'],
    ['is of another version', object({ version: 4 }), 'version is not 5'],
    ['is of another lane', object({ lane: 'onprem' }), 'it is of lane onprem'],
    [
      'has more shards than are written',
      object({ shards: Array.from({ length: 9 }, () => shard([])) }),
      'shards is not a list of at most 8 entries',
    ],
    [
      'has 100,000 orders',
      object({ shards: [shard(Array.from({ length: 100_000 }, () => ORDER))] }),
      'shards[0].orders is not a list of at most 64 entries',
    ],
  ])('refuses an object that %s', (_, value, problem) => {
    const reading = readOrders(value, 'default');
    expect(reading).toEqual({ ok: false, problem });
  });
});

it('an item names a lane, a tick, an object and a shard', () => {
  const item = { function: 'Hub-Sweep', lane: 'default', tick: NOW, object: 0, shard: 3 };
  expect(readItem(item)).toEqual({ ok: true, value: item });
  expect(readItem({ ...item, lane: '../other' })).toEqual({ ok: false, problem: 'lane is not the name of a lane' });
  expect(readItem({ ...item, shard: -1 })).toEqual({ ok: false, problem: 'shard is not a whole number' });
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

function message(changed: Readonly<Record<string, unknown>>): object {
  return { ...ORDER, ...changed };
}
