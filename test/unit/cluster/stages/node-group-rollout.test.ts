import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRolloutStage, type EksOfClusters } from '../../../../lambdas/cluster/stages/rollout.ts';
import { read } from '../../../../lambdas/contracts/contract.ts';
import { RolloutSummary } from '../../../../lambdas/contracts/rollout-summary.ts';
import { nodeGroupSummaryOf } from '../../../../lambdas/rollout/node-group-summary.ts';
import { planNodeGroups } from '../../../../lambdas/rollout/node-groups.ts';
import type { ObservedNodeGroups } from '../../../../lambdas/rollout/observed-node-groups.ts';
import { type NodeGroupWritten, stepNodeGroups } from '../../../../lambdas/rollout/step-node-groups.ts';
import { valueOf } from '../../contracts/value-of.ts';
import { DUBLIN, TROUBLE } from '../../fleet/values.ts';
import {
  APPENDED,
  group,
  history,
  NOW,
  node,
  OUTGOING,
  observed,
  policy,
  SUCCESSOR,
  version,
} from '../../rollout/node-group-fixtures.ts';
import { contextOf } from '../stage-context.ts';

const AT = new Date(NOW).toISOString();
const summaryOf = (seen: ObservedNodeGroups, written?: NodeGroupWritten) =>
  nodeGroupSummaryOf({
    observed: seen,
    step: planNodeGroups(seen, policy(), history(), NOW),
    at: AT,
    written,
  });

describe('nodeGroupSummaryOf', () => {
  it('tells an update that was begun, and until when one may begin', () => {
    const summary = summaryOf(observed(), { kind: 'written' });
    expect(summary).toMatchObject({
      state: 'ready',
      message: expect.stringContaining('node group blue is updated'),
      at: AT,
      failed: [],
      failedCount: 0,
      reasons: [],
      span: { from: new Date(APPENDED).toISOString(), until: expect.stringMatching(/^2027-1/) },
      write: { kind: 'update-node-group', outcome: 'written' },
    });
    expect(valueOf(read(RolloutSummary, summary))).toEqual(summary);
  });

  it('asks a person about what EKS refused', () => {
    const summary = summaryOf(observed(), { kind: 'refused', problem: TROUBLE });
    const { object, message, remedy } = TROUBLE;
    expect(valueOf(read(RolloutSummary, summary))).toMatchObject({
      state: 'refused',
      reasons: [{ id: 'node-group-not-updated', object, message, remedy }],
      write: { kind: 'update-node-group', outcome: 'refused' },
    });
  });

  it.each(['failed', 'unknown', 'overtaken'] as const)('waits for the next look where a try %s', (kind) => {
    expect(summaryOf(observed(), { kind, problem: TROUBLE })).toMatchObject({ state: 'ready', reasons: [] });
  });

  it.each<[string, Partial<ObservedNodeGroups>, object]>([
    [
      'what is held',
      { groups: [group('blue', { updates: [version({ status: 'Failed' })] })] },
      { state: 'held', reasons: [{ id: 'node-group-update-failed' }] },
    ],
    [
      'what a check refuses',
      { cluster: { ...observed().cluster, version: '1.35' } },
      { state: 'refused', failed: [{ id: 'node-group-version' }], failedCount: 1 },
    ],
    [
      'what only a person can do, with the way to it',
      { nodes: [node('ip-10-0-0-9', '', { kind: 'karpenter' })] },
      {
        state: 'assist',
        reasons: [
          {
            id: 'nodes-by-hand',
            object: '1 Node of Karpenter (ip-10-0-0-9)',
            remedy: expect.stringMatching(/^kubectl /),
          },
        ],
      },
    ],
    ['nothing without a successor', { authorities: [OUTGOING] }, { state: 'idle', reasons: [], failed: [] }],
  ])('tells %s', (_, changed, expected) => {
    const summary = summaryOf(observed(changed));
    expect(summary).toMatchObject(expected);
    expect(valueOf(read(RolloutSummary, summary))).toEqual(summary);
  });

  it('is bounded and readable again, whatever a cluster says', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 50 }),
      fc.constantFrom('‮'.repeat(3_000), '\ud800'.repeat(3_000), '"'.repeat(3_000)),
    );
    const seen = fc
      .record({
        version: text,
        mode: fc.oneof(fc.constant('auto'), text),
        names: fc.array(text, { maxLength: 40, size: 'max' }),
        first: fc.oneof(fc.constantFrom(NaN, Infinity, -1, 1e300), fc.integer()),
      })
      .map(({ names, first, ...cluster }) =>
        observed({
          cluster: { ...observed().cluster, ...cluster },
          authorities: [OUTGOING, { ...SUCCESSOR, firstAutoActivation: first }],
          nodes: names.flatMap((name, index) => [
            node(name, 'blue'),
            node(name, `${index}`),
            node(name, '', { kind: 'hybrid' }),
          ]),
        }),
      );
    fc.assert(
      fc.property(seen, (each) => {
        const summary = summaryOf(each);
        expect(Buffer.byteLength(JSON.stringify(summary))).toBeLessThan(20_000);
        expect(valueOf(read(RolloutSummary, JSON.parse(JSON.stringify(summary))))).toEqual(summary);
      }),
      { seed: 22, numRuns: 60 },
    );
  });
});

describe('createRolloutStage, of an EKS cluster', () => {
  const open = {
    cluster: {} as never,
    workload: { server: 'https://a' } as never,
    machinesNamespace: 'eksa-system',
    close: () => undefined,
  };
  const context = contextOf(DUBLIN, { due: true as const, open });
  const asked: string[] = [];
  const eks: EksOfClusters = {
    reader: ({ account, region }, name) => {
      asked.push(`reader ${account}/${region}/${name}`);
      return { authorities: async () => [] };
    },
    nodeGroups: ({ account, region }, name) => {
      asked.push(`node groups ${account}/${region}/${name}`);
      return {} as never;
    },
  };

  it('steps its node groups, with its policy, by the credentials of its account', async () => {
    const steps: Parameters<typeof stepNodeGroups>[] = [];
    const stepped = {
      observed: observed(),
      step: planNodeGroups(observed(), policy(), history(), NOW),
      written: { kind: 'written' },
      problems: [TROUBLE],
      at: AT,
    } as const;
    const ledger = {} as never;
    const roll = createRolloutStage({
      policies: [policy({ clusters: ['*/*/dub*'] })],
      ledger,
      program: '1.2.3',
      clock: () => NOW,
      eks,
      stepGroups: async (...args) => {
        steps.push(args);
        return stepped;
      },
    });
    const rolled = await roll({ ...context, held: 'why' });
    expect(rolled).toMatchObject({
      result: { state: 'ready', write: { kind: 'update-node-group', outcome: 'written' } },
      problems: [TROUBLE],
      decisions: [{ kind: 'rollout', cluster: DUBLIN.id, write: 'update-node-group', program: '1.2.3' }],
    });
    const scope = { account: '111122223333', region: 'eu-central-1' };
    expect(steps).toMatchObject([
      [
        { id: DUBLIN.id, name: 'dublin', ...scope },
        { policy: { nodeGroups: true }, holdWrites: 'why', signal: context.signal },
      ],
    ]);
    expect(steps[0]?.[1].ledger).toBe(ledger);
    expect(asked).toEqual(['reader 111122223333/eu-central-1/dublin', 'node groups 111122223333/eu-central-1/dublin']);
  });

  it('asks nothing where fleet.yaml does not opt in', async () => {
    const common = { program: '1.2.3', clock: () => NOW };
    const roll = createRolloutStage({ policies: [policy({ clusters: ['reno'] })], ...common, eks });
    expect(await roll(context)).toMatchObject({ result: { state: 'off' }, problems: [] });
    const without = createRolloutStage({ policies: [policy({ clusters: ['*/*/dub*'] })], ...common });
    expect(await without(context)).toMatchObject({ result: { state: 'off' } });
  });
});
