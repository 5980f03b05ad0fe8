import { describe, expect, it, vi } from 'vitest';
import { type OrderMessage, UnsentOrdersError } from '../../../lambdas/aws/queues.ts';
import { DEFAULT_FLEET, type Fleet } from '../../../lambdas/config/fleet.ts';
import { decodeOrders, type Order } from '../../../lambdas/contracts/order.ts';
import type { DispatchOutcome } from '../../../lambdas/contracts/outcome.ts';
import { parseRegistry, type Registry } from '../../../lambdas/contracts/registry.ts';
import type { Target } from '../../../lambdas/contracts/target.ts';
import type { SourceResult } from '../../../lambdas/fleet/discover.ts';
import { decodeOutcomes } from '../../../lambdas/fleet/outcome-message.ts';
import { createDispatchTick, type DispatchOptions } from '../../../lambdas/functions/dispatch-tick.ts';
import { createLogger, createMetrics } from '../../../lambdas/telemetry/telemetry.ts';
import {
  DUBLIN,
  discovery,
  fleetCluster,
  HUB,
  index,
  indexed,
  MINUTE,
  NOW,
  OTHER_SECRET,
  PARIS,
  registered,
  TROUBLE,
} from '../fleet/values.ts';
import { writtenByEachTest } from '../telemetry/capture-stdout.ts';
import { awsError, type MemoryObjects, memoryObjects } from './memory-objects.ts';

const EKS = `eks ${HUB.account}/${HUB.region}`;
const FLEET: Fleet = { ...DEFAULT_FLEET, discovery: [discovery()], clusters: [fleetCluster()] };
const FOUND: SourceResult = { source: EKS, ok: true, clusters: [{ id: DUBLIN.id, target: DUBLIN }] };

describe('createDispatchTick', () => {
  const output = writtenByEachTest();

  /** A hub whose ticks are run one after the other. */
  function hub(changed: Partial<DispatchOptions> & { readonly state?: MemoryObjects } = {}) {
    const state = changed.state ?? memoryObjects();
    const steps: string[] = [];
    const outcomes: DispatchOutcome[] = [];
    const started: number[] = [];
    const metrics = createMetrics('dispatch');
    let now = NOW;
    const dispatchTick = createDispatchTick({
      fleet: FLEET,
      hub: HUB,
      discover: async function* discover(sources) {
        steps.push(`discover ${sources.join()}`);
        yield FOUND;
      },
      send: new Map([
        [
          'default',
          async (messages: readonly OrderMessage[]) => {
            steps.push(
              `send ${ordersOf(messages)
                .map(({ id }) => id)
                .toSorted()
                .join()}`,
            );
          },
        ],
      ]),
      sendStart: async (body, delay) => {
        expect(delay).toEqual({ delaySeconds: 30 });
        started.push(JSON.parse(body).tick);
      },
      sendOutcome: async (body) => {
        for (const read of decodeOutcomes(body))
          if (read.ok && read.value.kind === 'dispatch') outcomes.push(read.value);
      },
      clock: () => now,
      logger: createLogger('dispatch'),
      metrics,
      ...changed,
      state,
    });
    const never = new AbortController().signal;
    return {
      state,
      steps,
      outcomes,
      started,
      registry: (): Registry | undefined => parseRegistry(state.objects.get('registry.json.gz')?.value, now),
      tick: async (minute = 0): Promise<void> => {
        now = NOW + minute * MINUTE;
        try {
          await dispatchTick(now, { discovery: never, all: never });
        } finally {
          metrics.publishStoredMetrics();
        }
      },
    };
  }

  const ordersOf = (messages: readonly OrderMessage[]): readonly Order[] =>
    messages.flatMap(({ body }) => {
      const decoded = decodeOrders(body);
      if (!decoded.ok) throw new Error(decoded.problem);
      return decoded.value.flatMap((read) => (read.ok ? [read.value] : []));
    });

  it('discovers before it sends, when nothing was ever found', async () => {
    const { tick, steps, registry, outcomes } = hub();
    await tick();
    expect(steps).toEqual([`discover ${EKS}`, `send ${DUBLIN.id},paris`]);
    expect(Object.keys(registry()?.clusters ?? {})).toEqual([DUBLIN.id, 'paris']);
    expect(outcomes).toMatchObject([{ kind: 'dispatch', registered: 2, dispatched: 2, problems: [] }]);
    expect(output.records().map(({ metrics }) => metrics)).toEqual([{ Dispatched: [2], Registered: [2] }]);
  });

  it('sends before it discovers, once there is a registry, and discovers when it is time', async () => {
    const { tick, steps } = hub();
    for (const minute of [0, 1, 20]) await tick(minute);
    const sent = `send ${DUBLIN.id},paris`;
    expect(steps).toEqual([`discover ${EKS}`, sent, sent, sent, `discover ${EKS}`]);
  });

  it('sends nothing twice for one tick, and again for the next', async () => {
    const messages: OrderMessage[] = [];
    const send = new Map([['default', async (sent: readonly OrderMessage[]) => void messages.push(...sent)]]);
    const { tick } = hub({ send });
    for (const minute of [0, 0, 1]) await tick(minute);
    const ids = messages.map(({ deduplicationId }) => deduplicationId);
    expect(ids).toHaveLength(3);
    expect(ids[0]).toBe(ids[1]);
    expect(ids[2]).not.toBe(ids[0]);
  });

  it('sweeps the listed clusters when S3 cannot be read, and writes nothing there', async () => {
    const state = memoryObjects();
    state.broken.add('registry.json.gz').add('fleet-index.json.gz');
    const { tick, steps, outcomes } = hub({ state });
    await tick();
    expect(steps).toEqual(['send paris']);
    expect(state.objects.size).toBe(0);
    expect(outcomes[0]?.problems.map(({ kind, object }) => `${kind} ${object}`)).toEqual([
      'unavailable s3:GetObject registry.json.gz',
      'unavailable s3:GetObject fleet-index.json.gz',
    ]);
    expect(output.records()).toMatchObject([{ metrics: { DiscoveryProblems: [2] } }]);
  });

  it('starts report in every tick, whatever S3 and the queues of the orders do', async () => {
    const state = memoryObjects();
    state.broken.add('registry.json.gz').add('fleet-index.json.gz');
    const refused = async () => {
      throw new UnsentOrdersError([], 0);
    };
    const { tick, started } = hub({ state, send: new Map([['default', refused]]) });
    for (const minute of [0, 1]) await expect(tick(minute)).rejects.toThrow('clusters will not be swept');
    expect(started).toEqual([NOW, NOW + MINUTE]);
  });

  it('sends its orders without waiting for the start of report, and says that it failed', async () => {
    const answer = Promise.withResolvers<void>();
    const { tick, steps, outcomes } = hub({ sendStart: async () => answer.promise });
    const ticked = tick();
    await vi.waitFor(() => expect(steps).toHaveLength(2));
    answer.reject(awsError('denied', 'sqs:SendMessage to starts'));
    await ticked;
    expect(outcomes[0]?.problems).toMatchObject([{ kind: 'denied', object: 'sqs:SendMessage to starts' }]);
  });

  it('holds writes while no sweep is known, and says nothing of it', async () => {
    const held: (string | undefined)[] = [];
    const send = async (messages: readonly OrderMessage[]) => {
      for (const { id, holdWrites } of ordersOf(messages)) if (id === 'paris') held.push(holdWrites);
    };
    const { tick, state, outcomes } = hub({ send: new Map([['default', send]]) });
    await tick();
    state.objects.set('fleet-index.json.gz', { value: index(indexed('paris', { server: 'a:443' })), etag: '"1"' });
    await tick(1);
    state.broken.add('fleet-index.json.gz');
    await tick(2);
    const unknown = expect.stringContaining('the fleet index is not known');
    expect(held).toEqual([unknown, undefined, unknown]);
    expect(outcomes.map(({ problems }) => problems.map(({ kind }) => kind))).toEqual([[], [], ['unavailable']]);
  });

  it.each([{ version: 99 }, {}, undefined])('writes the damaged registry %j anew, and says so once', async (value) => {
    const { tick, steps, registry, outcomes } = hub({ state: memoryObjects({ 'registry.json.gz': value }) });
    await tick();
    expect(steps).toHaveLength(2);
    expect(Object.keys(registry()?.clusters ?? {})).toHaveLength(2);
    await tick();
    const problem = expect.objectContaining({ kind: 'invalid', object: 'registry.json.gz' });
    expect(outcomes.map(({ problems }) => problems)).toEqual([[problem], []]);
    expect(output.text().match(/"state rebuilt"/g)).toHaveLength(1);
  });

  it('takes from a forged or day-old registry only what was found: secrets, roles and lanes are those of fleet.yaml', async () => {
    const sent: Order[] = [];
    const send = new Map([
      [
        'default',
        async (messages: readonly OrderMessage[]) => {
          sent.push(...ordersOf(messages));
        },
      ],
    ]);
    const { tick, state, registry } = hub({ send });
    await tick();
    const role = { arn: 'arn:aws:iam::999900001111:role/attacker' };
    const scope = { account: HUB.account, region: HUB.region, role };
    const forged = {
      ...DUBLIN,
      access: { ...DUBLIN.access, scope },
      instances: { ...scope, vpcId: 'vpc-0a1b2c3d4e5f60718' },
      audit: { secrets: true },
    };
    const oslo = { ...PARIS, id: 'oslo', access: { kind: 'kubeconfig', secret: OTHER_SECRET } };
    const clusters = { ...registry()?.clusters };
    for (const target of [forged, oslo])
      clusters[target.id] = registered(target.id, { source: EKS, target: target as Target });
    await state.write(
      'registry.json.gz',
      { ...registry(), clusters },
      state.objects.get('registry.json.gz')?.etag,
      new AbortController().signal,
    );
    sent.length = 0;
    await tick(1);
    expect(JSON.stringify(sent)).not.toMatch(/attacker|secrets/);
    expect(sent.map(({ id }) => id).toSorted()).toEqual([DUBLIN.id, 'paris']);
    expect(registry()?.clusters[DUBLIN.id]?.target).toEqual(DUBLIN);
  });

  it('leaves the registry to a dispatch that was faster', async () => {
    const { tick, state, outcomes } = hub();
    const theirs = { value: { theirs: true }, etag: '"theirs"' };
    state.before = () => state.objects.set('registry.json.gz', theirs);
    await tick();
    expect(state.objects.get('registry.json.gz')).toEqual(theirs);
    expect(outcomes[0]?.problems).toEqual([]);
    expect(output.text()).toContain('another dispatch wrote the registry');
  });

  it('reports a registry that cannot be written', async () => {
    const state = memoryObjects();
    state.write = async () => {
      throw awsError('denied', 's3:PutObject registry.json.gz');
    };
    const { tick, outcomes } = hub({ state });
    await tick();
    expect(outcomes[0]).toMatchObject({ dispatched: 2, problems: [{ kind: 'denied' }] });
  });

  it('keeps what it knows when a discovery fails, and reports it in each tick', async () => {
    const results = [FOUND, { source: EKS, ok: false, problem: TROUBLE } as const];
    const { tick, steps, outcomes } = hub({
      discover: async function* discover() {
        const result = results.shift();
        if (result !== undefined) yield result;
      },
    });
    for (const minute of [0, 20, 21]) await tick(minute);
    expect(new Set(steps)).toEqual(new Set([`send ${DUBLIN.id},paris`]));
    expect(outcomes[2]?.problems).toContainEqual(TROUBLE);
  });

  it('takes what was found before a discovery threw', async () => {
    const { tick, registry, outcomes } = hub({
      discover: async function* discover() {
        yield FOUND;
        throw new Error('a bug');
      },
    });
    await tick();
    expect(Object.keys(registry()?.clusters ?? {})).toHaveLength(2);
    expect(outcomes[0]?.problems).toMatchObject([{ kind: 'bug', message: 'Error: a bug' }]);
  });

  it('fails when an order is not in its queue, after all the rest is done', async () => {
    const unsent = new UnsentOrdersError([{ group: 'paris', clusters: 1, problem: 'AccessDenied' }], 1);
    const { tick, registry, outcomes } = hub({ send: new Map([['default', async () => Promise.reject(unsent)]]) });
    await expect(tick()).rejects.toThrow('1 of 2 clusters will not be swept: paris (AccessDenied)');
    expect(registry()).toBeDefined();
    expect(outcomes).toMatchObject([{ dispatched: 1, problems: [{ kind: 'unsent', object: 'lane default' }] }]);
    expect(output.records()).toMatchObject([{ metrics: { Dispatched: [1], DiscoveryProblems: [1] } }]);
  });

  it('reports clusters of a lane that is not deployed, and sweeps the others', async () => {
    const elsewhere = { ...DUBLIN, lane: 'onprem' };
    const { tick, steps, outcomes } = hub({
      discover: async function* discover() {
        yield { source: EKS, ok: true, clusters: [{ id: DUBLIN.id, target: elsewhere }] };
      },
    });
    await tick();
    expect(steps).toEqual(['send paris']);
    expect(outcomes[0]?.problems).toMatchObject([{ kind: 'lane' }]);
  });

  it('logs an outcome that cannot be sent, and does not fail for it', async () => {
    const { tick } = hub({ sendOutcome: async () => Promise.reject(awsError('denied')) });
    await tick();
    expect(output.text()).toContain('outcome not sent');
  });

  it('tells report of a fleet without clusters too', async () => {
    const { tick, steps, outcomes } = hub({ fleet: { ...FLEET, discovery: [], clusters: [] } });
    await tick();
    expect(steps).toEqual([]);
    expect(outcomes).toMatchObject([{ registered: 0, dispatched: 0, problems: [] }]);
    expect(output.records()).toMatchObject([{ metrics: { Dispatched: [0] } }]);
  });
});
