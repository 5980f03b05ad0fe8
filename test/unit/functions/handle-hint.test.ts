import type { SQSEvent } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import type { OrderMessage } from '../../../lambdas/aws/queues.ts';
import type { Lane } from '../../../lambdas/config/fleet.ts';
import { deduplicationIdOf } from '../../../lambdas/contracts/order.ts';
import type { RegisteredCluster } from '../../../lambdas/contracts/registry.ts';
import type { Target } from '../../../lambdas/contracts/target.ts';
import { decodeWaitingHint, encodeWaitingHint } from '../../../lambdas/contracts/waiting-hint.ts';
import { factsOf } from '../../../lambdas/fleet/fits-fleet.ts';
import { createHintHandler } from '../../../lambdas/functions/handle-hint.ts';
import { createLogger, createMetrics } from '../../../lambdas/telemetry/telemetry.ts';
import { valueOf } from '../contracts/value-of.ts';
import {
  at,
  DUBLIN,
  discovery,
  fleetCluster,
  HUB,
  index,
  indexed,
  NOW,
  onlyOrder,
  PARIS,
  registered,
  registry,
} from '../fleet/values.ts';
import { writtenByEachTest } from '../telemetry/capture-stdout.ts';
import { memoryObjects } from './memory-objects.ts';

const SOURCE = `eks ${HUB.account}/${HUB.region}`;
const SHARD = 'default.ordinary.7';
const PLACE = { name: SHARD, waitingSince: NOW };
const KNOWN = [
  registered(DUBLIN.id, { target: DUBLIN, source: SOURCE, shard: PLACE }),
  registered(PARIS.id, { target: PARIS }),
];

const dueEvent = (...bodies: string[]) => ({ Records: bodies.map((body) => ({ body })) }) as SQSEvent;

describe('createHintHandler', () => {
  const output = writtenByEachTest();

  const handle = async (event: SQSEvent, ...options: Parameters<typeof hinter>) => hinter(...options).handle(event);

  function hinter(
    clusters: readonly RegisteredCluster[] = KNOWN,
    policies = [DEFAULT_POLICY],
    lanes: readonly Lane[] = [],
  ) {
    const waiting: { id: string; inSeconds: number; delay: number }[] = [];
    const sent: OrderMessage[] = [];
    const metrics = createMetrics('hint');
    const state = memoryObjects(
      clusters.length === 0
        ? {}
        : {
            'registry.json.gz': registry(...clusters),
            'fleet-index.json.gz': index(
              indexed(DUBLIN.id, { server: 'one:443' }),
              indexed('twin', { server: 'one:443' }),
            ),
          },
    );
    const handleHint = createHintHandler({
      state,
      policies,
      fleet: {
        discovery: [discovery()],
        managementClusters: [],
        clusters: [fleetCluster(), fleetCluster({ id: 'twin' })],
        lanes,
        recovery: [],
      },
      hub: HUB,
      wait: async (body, delay) => {
        const { id, due } = valueOf(decodeWaitingHint(body));
        waiting.push({ id, inSeconds: (due - NOW) / 1000, delay });
      },
      send: new Map(
        ['default', 'onprem'].map((lane) => [
          lane,
          async (messages: readonly OrderMessage[]) => void sent.push(...messages),
        ]),
      ),
      clock: () => NOW,
      logger: createLogger('hint'),
      metrics,
    });
    return {
      state,
      async handle(event: SQSEvent) {
        await handleHint(event, new AbortController().signal);
        metrics.publishStoredMetrics();
        return { waiting, sent };
      },
    };
  }

  it('hints nothing before the first discovery', async () => {
    const hint = encodeWaitingHint({ id: DUBLIN.id, due: NOW, fresh: true });
    expect(await handle(dueEvent(hint), [])).toEqual({ waiting: [], sent: [] });
  });

  it('reads a registry and an index once, however many hints come, and each new version of them', async () => {
    const one = hinter();
    const { state } = one;
    const read: string[] = [];
    const watched = (key: string): void => {
      const { value, etag } = state.objects.get(key) ?? { value: {}, etag: '' };
      // Whoever checks it looks at its clusters.
      const { clusters } = value as { clusters: unknown };
      const look = { enumerable: true, get: () => (read.push(key), clusters) };
      state.objects.set(key, { value: Object.defineProperty({ ...(value as object) }, 'clusters', look), etag });
    };
    watched('registry.json.gz');
    watched('fleet-index.json.gz');
    const due = (interval: number) => dueEvent(encodeWaitingHint({ id: DUBLIN.id, due: NOW + interval * 3_000 }));
    expect((await one.handle(due(0))).sent).toHaveLength(1);
    const once = read.length;
    expect(new Set(read).size).toBe(2);
    expect((await one.handle(due(1))).sent).toHaveLength(2);
    expect(read).toHaveLength(once);
    const key = 'registry.json.gz';
    state.objects.set(key, { value: registry(), etag: '"new"' });
    expect((await one.handle(due(2))).sent).toHaveLength(2);
  });

  it('orders a sweep when a hint is due, once for all hints of its interval', async () => {
    const hint = encodeWaitingHint({ id: DUBLIN.id, due: NOW });
    const { sent } = await handle(dueEvent(hint, hint, encodeWaitingHint({ id: 'unknown', due: NOW })));
    const occasion = `hint ${NOW} ${DUBLIN.id}`;
    expect(sent).toMatchObject([{ group: SHARD, deduplicationId: deduplicationIdOf(SHARD, occasion), clusters: 1 }]);
    expect(onlyOrder(sent[0]?.body ?? '')).toMatchObject({
      ok: true,
      value: { id: DUBLIN.id, facts: factsOf(DUBLIN), tick: NOW, deadlineMs: 10_000 },
    });
    expect(output.records()).toMatchObject([{ metrics: { HintedSweeps: [1] } }]);
  });

  describe('of a webhook', () => {
    const placed = [
      registered(DUBLIN.id, { target: DUBLIN, source: SOURCE, shard: PLACE }),
      registered(PARIS.id, { target: PARIS, shard: PLACE }),
    ];
    const fresh = (id: string) => encodeWaitingHint({ id, due: NOW, fresh: true });

    it('orders a sweep at once where requests are judged from the first second', async () => {
      const { waiting, sent } = await handle(dueEvent(fresh(PARIS.id), fresh(PARIS.id)), placed);
      expect(waiting).toEqual([]);
      expect(sent).toMatchObject([{ group: SHARD, clusters: 1 }]);
      expect(onlyOrder(sent[0]?.body ?? '')).toMatchObject({
        ok: true,
        value: { id: PARIS.id, tick: NOW, deadlineMs: 10_000, hinted: true },
      });
      expect(output.records()).toMatchObject([{ metrics: { Hints: [1], HintedSweeps: [1] } }]);
    });

    it('waits on where EKS approves first', async () => {
      const { waiting, sent } = await handle(dueEvent(fresh(DUBLIN.id)), placed);
      expect(waiting).toEqual([{ id: DUBLIN.id, inSeconds: 120, delay: 120 }]);
      expect(sent).toEqual([]);
    });

    it('waits no longer than SQS can', async () => {
      const age = { ...DEFAULT_POLICY.age, eks: { minSeconds: 3_600, maxSeconds: 7_200 } };
      const { waiting } = await handle(dueEvent(fresh(DUBLIN.id)), placed, [{ ...DEFAULT_POLICY, age }]);
      expect(waiting).toMatchObject([{ delay: 900 }]);
    });

    it.each([
      ['a cluster that nobody knows', 'rome', [DEFAULT_POLICY]],
      ['a cluster of no policy', PARIS.id, [{ ...DEFAULT_POLICY, clusters: ['other'] }]],
    ])('is dropped for %s', async (_, id, policies) => {
      expect(await handle(dueEvent(fresh(id)), placed, policies)).toEqual({ waiting: [], sent: [] });
      expect(output.records()).toEqual([]);
    });
  });

  it('orders a target as fleet.yaml says, whatever the registry has, and none that fleet.yaml has not', async () => {
    const role = { arn: 'arn:aws:iam::999999999999:role/attacker', sessionTags: {} };
    const access = { ...DUBLIN.access, scope: { account: HUB.account, region: HUB.region, role } };
    const forged = { ...DUBLIN, access, audit: { secrets: true } } as Target;
    const cork = {
      ...DUBLIN,
      id: `${HUB.account}/eu-west-1/cork`,
      access: { ...access, scope: { account: HUB.account, region: 'eu-west-1' } },
    };
    const clusters = [forged, cork].map((target) => registered(target.id, { target, shard: PLACE }));
    const bodies = [DUBLIN.id, cork.id].map((id) => encodeWaitingHint({ id, due: NOW }));
    const { sent } = await handle(dueEvent(...bodies), clusters);
    expect(sent.map(({ body }) => onlyOrder(body))).toMatchObject([{ ok: true, value: { id: DUBLIN.id } }]);
    expect(sent[0]?.body).not.toMatch(/attacker|secrets/);
  });

  it('orders nothing of a cluster that no tick has placed yet: the next one orders it anyway', async () => {
    const due = dueEvent(encodeWaitingHint({ id: DUBLIN.id, due: NOW }));
    expect((await handle(due, [registered(DUBLIN.id, { target: DUBLIN })])).sent).toEqual([]);
  });

  it('holds the writes that a tick would hold', async () => {
    const twin = registered('twin', { target: { ...PARIS, id: 'twin' }, seenAt: at() });
    const { sent } = await handle(dueEvent(encodeWaitingHint({ id: DUBLIN.id, due: NOW })), [...KNOWN, twin]);
    expect(onlyOrder(sent[0]?.body ?? '')).toMatchObject({ value: { holdWrites: expect.stringContaining('twin') } });
  });

  it.each(['nonsense', '[]', 'null', '{"id":"a b","due":1}', '{"id":"a","due":"1"}', '{"id":"a","due":0.5}'])(
    'drops the message %s',
    async (body) => {
      expect((await handle(dueEvent(body))).sent).toEqual([]);
      expect(output.records()).toMatchObject([{ metrics: { MessagesUnreadable: [1] } }]);
    },
  );
});
