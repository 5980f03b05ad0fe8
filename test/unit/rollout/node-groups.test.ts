import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { PastRollout } from '../../../lambdas/contracts/rollout-ledger.ts';
import type { ObservedEksCluster, ObservedNodeGroup } from '../../../lambdas/resources/eks.ts';
import type { NodeKind } from '../../../lambdas/resources/node.ts';
import type { RolloutHistory } from '../../../lambdas/rollout/history.ts';
import { NODE_GROUP_CHECK_IDS, type NodeGroupCheckId } from '../../../lambdas/rollout/node-group-checks.ts';
import {
  NODE_GROUP_HOLD_IDS,
  type NodeGroupHoldId,
  type NodeGroupStep,
  planNodeGroups,
} from '../../../lambdas/rollout/node-groups.ts';
import type { ObservedNodeGroups } from '../../../lambdas/rollout/observed-node-groups.ts';
import type { RolloutPolicy } from '../../../lambdas/rollout/policy.ts';
import { endOfWindow, type WeeklyWindow } from '../../../lambdas/window/window.ts';
import { runs } from '../../runs.ts';
import {
  APPENDED,
  DAY_MS,
  group,
  HOUR_MS,
  history,
  NEW,
  NOW,
  node,
  OLD,
  OUTGOING,
  observed,
  policy,
  SUCCESSOR,
  version,
} from './node-group-fixtures.ts';

const MINUTE_MS = 60_000;
const SATURDAY: WeeklyWindow = { days: ['sat'], from: '02:00', until: '06:00', timeZone: 'Europe/Berlin' };

const { firstAutoActivation: _first, finalAutoActivation: _final, ...UNDATED } = SUCCESSOR;

interface Case {
  readonly observed?: ObservedNodeGroups;
  readonly policy?: RolloutPolicy;
  readonly history?: RolloutHistory;
  readonly now?: number;
}

const plan = (one: Case = {}): NodeGroupStep =>
  planNodeGroups(one.observed ?? observed(), one.policy ?? policy(), one.history ?? history(), one.now ?? NOW);
const failing = ({ checks }: NodeGroupStep) => checks.filter(({ passed }) => !passed).map(({ id }) => id);
const cluster = (change: Partial<ObservedEksCluster>) => observed({ cluster: { ...observed().cluster, ...change } });
const blue = (change: Partial<ObservedNodeGroup>) => observed({ groups: [group('blue', change), group('green')] });
const successor = (change: Partial<typeof SUCCESSOR>) =>
  observed({ authorities: [OUTGOING, { ...SUCCESSOR, ...change }] });
const token = (): string => {
  const step = plan();
  if (step.kind !== 'act') throw new Error(`not act but ${step.kind}: ${step.message}`);
  return step.clientRequestToken;
};
const past = (change: Partial<PastRollout> = {}): PastRollout => ({
  id: token(),
  cluster: 'eu/dublin',
  trigger: 'schedule',
  startedAt: NOW - 10 * MINUTE_MS,
  ...change,
});

describe('when all is well', () => {
  it('updates the group with old nodes, and says that it may bring a newer image', () => {
    const step = plan();
    expect(step).toMatchObject({
      kind: 'act',
      state: 'ready',
      cluster: 'dublin',
      nodegroup: 'blue',
      asks: [],
      ended: [],
    });
    expect(step.message).toBe(
      '2 Nodes in 1 node group (blue) may be older than the successor of the cluster CA of 2026-10-01 00:00 UTC; node group blue is updated, which may also bring a newer image of Kubernetes 1.34 than 1.34.1-20260901',
    );
    expect(failing(step)).toEqual([]);
    expect(step.checks.map(({ id }) => id)).toEqual(NODE_GROUP_CHECK_IDS);
    // 10 days before the first activation.
    expect(step.deadline).toBe(Date.UTC(2027, 10, 25));
  });

  it('gives an update the id of a rollout: 26 characters that EKS and the fleet take', () => {
    expect(token()).toMatch(/^ng-[0-9a-f]{23}$/);
  });
});

/** Each breaks one thing. */
const BROKEN: Readonly<
  Record<
    NodeGroupCheckId,
    readonly (readonly [what: string, one: Case, kind: NodeGroupStep['kind'], state: NodeGroupStep['state']])[]
  >
> = {
  'opted-in-by-fleet': [['nodeGroups is false', { policy: policy({ nodeGroups: false }) }, 'nothing', 'off']],
  'opted-in-by-owner': [
    ['no tag', { observed: { ...observed(), cluster: withoutMode() } }, 'nothing', 'off'],
    ['another value', { observed: cluster({ mode: 'Auto' }) }, 'nothing', 'off'],
  ],
  'everything-read': [
    [
      'a list is missing',
      {
        observed: observed({
          unread: [{ kind: 'denied', object: 'eks:ListUpdates', message: 'access is denied', remedy: 'Allow it.' }],
        }),
      },
      'hold',
      'refused',
    ],
  ],
  'successor-distributed': [
    ['in progress', { observed: successor({ distributionStatus: 'IN_PROGRESS' }) }, 'nothing', 'waiting'],
    ['failed', { observed: successor({ distributionStatus: 'FAILED' }) }, 'hold', 'refused'],
  ],
  'not-too-late': [
    ['9 days before', { now: Date.UTC(2027, 10, 26) }, 'hold', 'refused'],
    [
      'only the final activation is named, and close',
      {
        observed: observed({ authorities: [OUTGOING, { ...UNDATED, finalAutoActivation: NOW + DAY_MS }] }),
      },
      'hold',
      'refused',
    ],
    ['a time that is none', { observed: successor({ firstAutoActivation: Number.NaN }) }, 'hold', 'refused'],
  ],
  'maintenance-window': [
    ['closed', { policy: policy({ windows: [SATURDAY] }) }, 'nothing', 'waiting'],
    [
      'never again',
      { policy: policy({ windows: [{ from: '2026-01-01T00:00:00Z', until: '2026-01-02T00:00:00Z' }] }) },
      'hold',
      'refused',
    ],
  ],
  'fleet-budget': [
    [
      'another rolls',
      { history: history({ rollouts: [past({ id: 'x', cluster: 'berlin', startedAt: NOW - 2 * HOUR_MS })] }) },
      'nothing',
      'waiting',
    ],
    [
      'another began just now',
      { history: history({ rollouts: [past({ id: 'x', cluster: 'berlin', endedAt: NOW })] }) },
      'nothing',
      'waiting',
    ],
    ['no memory', { history: history({ unread: 'access is denied' }) }, 'hold', 'refused'],
  ],
  'eks-cluster-settled': [
    ['UPDATING', { observed: cluster({ status: 'UPDATING' }) }, 'nothing', 'waiting'],
    [
      'an update of it',
      { observed: cluster({ updates: [version({ status: 'InProgress', type: 'CertificateAuthorityUpdate' })] }) },
      'nothing',
      'waiting',
    ],
    ['FAILED', { observed: cluster({ status: 'FAILED' }) }, 'hold', 'refused'],
  ],
  'one-node-group': [
    [
      'another is updated',
      { observed: observed({ groups: [group('blue'), group('green', { status: 'UPDATING' })] }) },
      'nothing',
      'waiting',
    ],
    [
      'another is made',
      { observed: observed({ groups: [group('blue'), group('green', { status: 'CREATING' })] }) },
      'nothing',
      'waiting',
    ],
    [
      'its size is changed',
      { observed: blue({ updates: [version({ type: 'ConfigUpdate', status: 'InProgress' })] }) },
      'nothing',
      'rolling',
    ],
  ],
  'node-group-healthy': [
    ['DEGRADED', { observed: blue({ status: 'DEGRADED' }) }, 'hold', 'refused'],
    ['an issue', { observed: blue({ issues: ['NodeCreationFailure'] }) }, 'hold', 'refused'],
  ],
  'node-group-version': [['older', { observed: blue({ version: '1.33' }) }, 'hold', 'refused']],
  'node-group-surge': [['MINIMAL', { observed: blue({ strategy: 'MINIMAL' }) }, 'hold', 'refused']],
};

function withoutMode(): ObservedEksCluster {
  const { mode: _, ...others } = observed().cluster;
  return others;
}

describe('one thing that is wrong fails one check', () => {
  const cases = NODE_GROUP_CHECK_IDS.flatMap((id) => BROKEN[id].map(([what, ...rest]) => [id, what, ...rest] as const));
  it.each(cases)('%s: %s', (id, _, one, kind, state) => {
    const step = plan(one);
    expect(failing(step)).toEqual([id]);
    expect(step).toMatchObject({ kind, state });
    const check = step.checks.find((each) => each.id === id);
    expect(step.message).toContain(
      kind === 'nothing' && state === 'rolling' ? 'being changed' : id === 'one-node-group' ? 'green' : check?.found,
    );
    expect(check?.remedy).toMatch(/\.$/);
    expect(step.kind === 'hold' ? step.reasons.map((reason) => reason.id) : [id]).toEqual([id]);
  });

  it('reports all of them together', () => {
    const step = plan({
      observed: {
        ...blue({ status: 'DEGRADED', strategy: 'MINIMAL' }),
        cluster: { ...observed().cluster, status: 'FAILED' },
      },
      policy: policy({ windows: [SATURDAY] }),
    });
    expect(failing(step)).toEqual([
      'maintenance-window',
      'eks-cluster-settled',
      'node-group-healthy',
      'node-group-surge',
    ]);
    // What passes by itself is no reason for a page.
    expect(step.kind === 'hold' && step.reasons.map(({ id }) => id)).toEqual([
      'eks-cluster-settled',
      'node-group-healthy',
      'node-group-surge',
    ]);
  });

  it('takes what a person vouches for', () => {
    expect(plan({ observed: blue({ strategy: 'MINIMAL' }), policy: policy({ accepted: ['no-surge'] }) }).kind).toBe(
      'act',
    );
  });

  it('tells when the next window opens', () => {
    expect(plan({ policy: policy({ windows: [SATURDAY] }) }).nextWindow).toBe(Date.UTC(2026, 10, 28, 1));
    expect(plan({ policy: policy({ windows: [SATURDAY] }), now: Date.UTC(2026, 10, 28, 2) })).toMatchObject({
      kind: 'act',
    });
  });
});

describe('what is due', () => {
  it.each<[string, ObservedNodeGroups]>([
    ['no successor', observed({ authorities: [OUTGOING] })],
    ['a successor that is being deleted', successor({ distributionStatus: 'DELETING' })],
    ['new nodes only', observed({ nodes: [node('a', 'blue', { createdAt: NEW })] })],
    [
      'new nodes only, of a group that is being changed',
      { ...blue({ status: 'UPDATING' }), nodes: [node('a', 'blue', { createdAt: NEW })] },
    ],
    [
      'new nodes only, of a cluster that failed',
      { ...cluster({ status: 'FAILED' }), nodes: [node('a', 'blue', { createdAt: NEW })] },
    ],
    ['old nodes that go', observed({ nodes: [node('a', 'blue', { deleting: true })] })],
    [
      'nodes that EKS replaces by itself',
      observed({ nodes: [node('a', '', { kind: 'auto-mode' }), node('b', '', { kind: 'fargate' })] }),
    ],
  ])('nothing: %s', (_, one) => {
    expect(plan({ observed: one })).toMatchObject({ kind: 'nothing', state: 'idle', asks: [] });
  });

  it('says who replaces nodes of Auto Mode and Fargate', () => {
    const nodes = [...observed().nodes, node('a', '', { kind: 'auto-mode' }), node('b', '', { kind: 'fargate' })];
    expect(plan({ observed: observed({ nodes }) }).message).toContain(
      'EKS replaces 2 Nodes of Auto Mode or Fargate automatically',
    );
  });

  // EKS does not tell when the distribution of a successor was complete.
  it.each([
    [0, 'act'],
    [HOUR_MS - 1, 'act'],
    [HOUR_MS, 'nothing'],
  ])('a node that was made %i ms after the successor: %s', (after, kind) => {
    expect(plan({ observed: observed({ nodes: [node('a', 'blue', { createdAt: APPENDED + after })] }) }).kind).toBe(
      kind,
    );
  });

  it('has to begin before the last tenth of the time between a successor and its activation, where that is short', () => {
    const step = plan({ observed: successor({ firstAutoActivation: APPENDED + 60 * DAY_MS }) });
    expect(step.deadline).toBe(APPENDED + 54 * DAY_MS);
  });

  it.each([
    ['first', [{ ...OUTGOING, createdAt: APPENDED }, SUCCESSOR]],
    ['last', [SUCCESSOR, { ...OUTGOING, createdAt: APPENDED }]],
  ])('of two authorities of the same time the one in use, listed %s, is no successor', (_, authorities) => {
    const step = plan({ observed: observed({ authorities }) });
    expect(step.checks.find(({ id }) => id === 'successor-distributed')?.found).toBe('the CA ca-2 is distributed');
  });

  it('does not need a date of the activation', () => {
    const step = plan({ observed: observed({ authorities: [OUTGOING, UNDATED] }) });
    expect(step.kind).toBe('act');
    expect(step).not.toHaveProperty('deadline', expect.anything());
  });

  it('opted out of: nothing, whatever is unread', () => {
    const nothing = { ...observed({ authorities: [], groups: [], nodes: [] }), cluster: withoutMode() };
    expect(plan({ observed: nothing, policy: policy({ nodeGroups: false }) })).toMatchObject({
      kind: 'nothing',
      state: 'off',
    });
    expect(planNodeGroups(nothing, undefined, history(), NOW)).toMatchObject({ kind: 'nothing', state: 'off' });
  });

  it('unknown is not nothing', () => {
    const unread = [
      { kind: 'denied', object: 'eks:ListCertificateAuthorities', message: 'denied', remedy: 'Allow it.' },
    ];
    expect(plan({ observed: observed({ authorities: [], unread }) })).toMatchObject({ kind: 'hold', state: 'refused' });
    expect(plan({ observed: observed({ nodes: [], unread }) })).toMatchObject({ kind: 'hold', state: 'refused' });
    const { status: _, mode: __, ...unknown } = observed().cluster;
    expect(plan({ observed: observed({ cluster: unknown, unread }) })).toMatchObject({
      kind: 'hold',
      state: 'refused',
    });
  });
});

describe('what only a person can do', () => {
  it('an image of its own: the command, and no update', () => {
    const step = plan({ observed: blue({ amiType: 'CUSTOM', launchTemplate: 'lt-0abc' }) });
    expect(step).toMatchObject({
      kind: 'ask',
      state: 'assist',
      command:
        'aws eks update-nodegroup-version --cluster-name dublin --nodegroup-name blue --region eu-west-1 --launch-template id=lt-0abc,version=VERSION',
    });
  });

  it('a launch template of its own: the command, and no update', () => {
    const step = plan({ observed: blue({ launchTemplate: 'lt-0abc' }) });
    expect(step).toMatchObject({
      kind: 'ask',
      state: 'assist',
      asks: [{ object: 'node group blue', message: expect.stringContaining('launch template of its own') }],
      command: 'aws eks update-nodegroup-version --cluster-name dublin --nodegroup-name blue --region eu-west-1',
    });
  });

  it.each<[NodeKind, string]>([
    [
      'self-managed',
      'aws autoscaling start-instance-refresh --auto-scaling-group-name AUTO_SCALING_GROUP --region eu-west-1',
    ],
    ['karpenter', 'kubectl get nodeclaims.karpenter.sh --sort-by=.metadata.creationTimestamp'],
    ['hybrid', 'kubectl get nodes -l eks.amazonaws.com/compute-type=hybrid --sort-by=.metadata.creationTimestamp'],
  ])('%s', (kind, command) => {
    expect(plan({ observed: observed({ nodes: [node('a', '', { kind })] }) })).toMatchObject({ kind: 'ask', command });
  });

  it('a node that names a group which EKS does not know is self-managed', () => {
    const step = plan({ observed: observed({ nodes: [node('a', 'made-up')] }) });
    expect(step.asks).toEqual([expect.objectContaining({ object: '1 self-managed Node (a)' })]);
  });

  it('is told beside what certmarshal does', () => {
    const nodes = [...observed().nodes, node('x', '', { kind: 'self-managed' })];
    expect(plan({ observed: observed({ nodes }) })).toMatchObject({
      kind: 'act',
      asks: [{ object: '1 self-managed Node (x)' }],
    });
  });

  it('puts nothing into a command that is not a name', () => {
    const evil = { ...observed().cluster, name: '$(reboot)', region: 'eu;x' };
    const step = plan({ observed: { ...blue({ amiType: 'CUSTOM', launchTemplate: '`x`' }), cluster: evil } });
    expect(step.kind === 'ask' && step.command).toBe(
      'aws eks update-nodegroup-version --cluster-name CLUSTER --nodegroup-name blue --region REGION --launch-template id=LAUNCH_TEMPLATE,version=VERSION',
    );
  });
});

describe('a try', () => {
  it('is made again with the same token while nobody knows whether EKS has it', () => {
    const step = plan({ history: history({ rollouts: [past()] }) });
    expect(step).toMatchObject({ kind: 'act', clientRequestToken: token(), ended: [] });
  });

  it('goes before another group, which would be a second one', () => {
    const both = observed({ groups: [group('amber'), group('blue')], nodes: [node('a', 'amber'), node('b', 'blue')] });
    expect(plan({ observed: both })).toMatchObject({ nodegroup: 'amber' });
    expect(plan({ observed: both, history: history({ rollouts: [past()] }) })).toMatchObject({
      nodegroup: 'blue',
      clientRequestToken: token(),
    });
  });

  it('waits while EKS updates', () => {
    const updating = blue({
      status: 'UPDATING',
      updates: [version({ status: 'InProgress', createdAt: NOW - 9 * MINUTE_MS })],
    });
    expect(plan({ observed: updating, history: history({ rollouts: [past()] }) })).toMatchObject({
      kind: 'nothing',
      state: 'rolling',
      ended: [],
    });
  });

  it('has ended when its update has, and its last nodes may go', () => {
    const done = blue({ updates: [version({ createdAt: NOW - 10 * MINUTE_MS })] });
    expect(plan({ observed: done, history: history({ rollouts: [past()] }) })).toMatchObject({
      kind: 'nothing',
      state: 'verifying',
      ended: [token()],
    });
  });

  it('ended, with new nodes: nothing is left to do', () => {
    const updates = [version({ createdAt: NOW - 10 * MINUTE_MS })];
    const done = observed({ groups: [group('blue', { updates })], nodes: [node('z', 'blue', { createdAt: NOW })] });
    expect(plan({ observed: done, history: history({ rollouts: [past()] }) })).toMatchObject({
      kind: 'nothing',
      state: 'idle',
      ended: [token()],
    });
  });

  it('makes place for the next group, after the pause', () => {
    const updates = [version({ createdAt: NOW - 2 * HOUR_MS })];
    const next = observed({
      groups: [group('blue', { updates }), group('green')],
      nodes: [node('z', 'blue', { createdAt: NOW - HOUR_MS }), node('g', 'green')],
    });
    const mine = past({ startedAt: NOW - 2 * HOUR_MS });
    expect(plan({ observed: next, history: history({ rollouts: [mine] }) })).toMatchObject({
      kind: 'act',
      nodegroup: 'green',
      ended: [token()],
    });
    const soon = history({ rollouts: [mine], limits: { atOnce: 1, pauseMs: DAY_MS } });
    expect(plan({ observed: next, history: soon })).toMatchObject({ kind: 'nothing', state: 'waiting' });
  });

  it('has ended when no node is old any more: its updates are not read then', () => {
    const fresh = observed({ nodes: [node('z', 'blue', { createdAt: NOW })] });
    expect(plan({ observed: fresh, history: history({ rollouts: [past()] }) })).toMatchObject({
      state: 'idle',
      ended: [token()],
    });
  });

  it('of a group that is gone has ended once: what is written down already is not written again', () => {
    const gone = observed({ groups: [group('green')], nodes: [node('g', 'green', { createdAt: NEW })] });
    const ended = history({ rollouts: [past({ endedAt: NOW - MINUTE_MS })] });
    expect(plan({ observed: gone, history: ended }).ended).toEqual([]);
  });

  it('of a group that is gone has ended; not of one that could not be read', () => {
    const gone = observed({ groups: [group('green')], nodes: [node('g', 'green', { createdAt: NEW })] });
    expect(plan({ observed: gone, history: history({ rollouts: [past()] }) }).ended).toEqual([token()]);
    const unread = [{ kind: 'denied', object: 'eks:ListNodegroups', message: 'denied', remedy: 'Allow it.' }];
    expect(plan({ observed: { ...gone, groups: [], unread }, history: history({ rollouts: [past()] }) }).ended).toEqual(
      [],
    );
  });

  it('another successor or another group of the same name is another try', () => {
    const tokens = [
      successor({ id: 'ca-3' }),
      blue({ createdAt: OLD + 1 }),
      cluster({ region: 'eu-west-2' }),
      cluster({ account: '444455556666' }),
    ].map((one) => {
      const step = plan({ observed: one });
      return step.kind === 'act' && step.clientRequestToken;
    });
    expect(new Set([token(), ...tokens]).size).toBe(5);
  });
});

describe('what is held', () => {
  const cases: Readonly<Record<NodeGroupHoldId, readonly (readonly [string, Case])[]>> = {
    'successor-activated': [
      ['active', { observed: successor({ signingStatus: 'IN_USE' }) }],
      ['being activated', { observed: successor({ signingStatus: 'ACTIVATING' }) }],
      [
        'only self-managed nodes',
        { observed: { ...successor({ signingStatus: 'IN_USE' }), nodes: [node('a', '', { kind: 'self-managed' })] } },
      ],
    ],
    'node-group-update-failed': [
      ['failed', { observed: blue({ updates: [version({ status: 'Failed', errors: ['PodEvictionFailure'] })] }) }],
      ['cancelled', { observed: blue({ updates: [version({ status: 'Cancelled' })] }) }],
      ['something newer', { observed: blue({ updates: [version({ status: 'Perhaps' })] }) }],
    ],
    'node-group-still-old': [
      ['somebody updated it', { observed: blue({ updates: [version()] }) }],
      [
        'certmarshal did',
        {
          observed: blue({ updates: [version()] }),
          history: history({ rollouts: [past({ startedAt: NOW - 2 * HOUR_MS, endedAt: NOW - HOUR_MS })] }),
        },
      ],
    ],
    'node-group-not-updated': [
      ['EKS refused', { history: history({ rollouts: [past({ endedAt: NOW - 10 * MINUTE_MS })] }) }],
      ['nobody knows, for too long', { history: history({ rollouts: [past({ startedAt: NOW - 61 * MINUTE_MS })] }) }],
    ],
  };
  const rows = Object.entries(cases).flatMap(([id, all]) => all.map(([what, one]) => [id, what, one] as const));

  it.each(rows)('%s: %s', (id, _, one) => {
    const step = plan(one);
    expect(step).toMatchObject({ kind: 'hold', state: 'held', reasons: [{ id }] });
    expect(step.kind === 'hold' && step.reasons[0]?.remedy).toBe(NODE_GROUP_HOLD_IDS[id as NodeGroupHoldId].remedy);
  });

  it('names what EKS says, and the command', () => {
    const step = plan({ observed: blue({ updates: [version({ status: 'Failed', errors: ['PodEvictionFailure'] })] }) });
    expect(step.message).toContain(
      'is Failed: PodEvictionFailure; repeat it by hand: aws eks update-nodegroup-version --cluster-name dublin --nodegroup-name blue --region eu-west-1',
    );
  });

  it('does not count updates from before nodes know the successor', () => {
    expect(plan({ observed: blue({ updates: [version({ createdAt: APPENDED + HOUR_MS - 1 })] }) }).kind).toBe('act');
    expect(plan({ observed: blue({ updates: [version({ type: 'ConfigUpdate' })] }) }).kind).toBe('act');
  });

  it('one group that failed stops all of them', () => {
    const groups = [group('amber'), group('blue', { updates: [version({ status: 'Failed' })] })];
    expect(plan({ observed: observed({ groups, nodes: [node('a', 'amber'), node('b', 'blue')] }) }).kind).toBe('hold');
  });

  it('is not told of a successor that is active and known to all', () => {
    const known = {
      ...successor({ signingStatus: 'IN_USE' }),
      nodes: [node('a', 'blue', { createdAt: NEW }), node('b', '', { kind: 'fargate' })],
    };
    expect(plan({ observed: known })).toMatchObject({ kind: 'nothing', state: 'idle' });
  });
});

/* What holds for whatever is there. Values are drawn so that updates are ordinary among them: the last test counts. */

const RUNS = { seed: 20_261_122, numRuns: runs(1_000) } as const;
const times = fc.constantFrom(OLD, APPENDED, NEW, NOW - 2 * HOUR_MS, NOW - 5 * MINUTE_MS, Number.NaN);
const mostly = <T>(usual: T, ...others: readonly T[]) =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(usual, ...others) });
const updates = fc.record({
  id: fc.constantFrom('u-1', 'u-2'),
  status: fc.constantFrom('InProgress', 'Successful', 'Failed', 'Cancelled'),
  type: fc.constantFrom('VersionUpdate', 'ConfigUpdate'),
  createdAt: times,
  errors: fc.constant([]),
});
const groups = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom('amber', 'blue', 'green'),
    createdAt: fc.constant(OLD),
    status: mostly('ACTIVE', 'UPDATING', 'DEGRADED', 'CREATING', 'DELETING', 'NEWER'),
    issues: mostly<readonly string[]>([], ['NodeCreationFailure']),
    version: mostly('1.34', '1.33'),
    amiType: mostly('AL2023_x86_64_STANDARD', 'CUSTOM'),
    launchTemplate: mostly<string | undefined>(undefined, 'lt-0abc'),
    strategy: mostly('DEFAULT', 'MINIMAL'),
    updates: fc.oneof(
      { weight: 4, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(updates, { maxLength: 2 }) },
    ),
  }),
  { maxLength: 3, selector: ({ name }) => name },
);
const nodes = fc.array(
  fc.record({
    name: fc.constantFrom('a', 'b', 'c'),
    createdAt: times,
    deleting: mostly(false, true),
    kind: mostly<NodeKind>('managed', 'auto-mode', 'fargate', 'hybrid', 'karpenter', 'self-managed'),
    nodegroup: fc.constantFrom('amber', 'blue', 'green', 'none'),
  }),
  { maxLength: 5 },
);
const worlds = fc.record({
  observed: fc.record({
    cluster: fc.record({
      id: fc.constant('eu/dublin'),
      name: fc.constant('dublin'),
      account: fc.constant('111122223333'),
      region: fc.constant('eu-west-1'),
      status: mostly('ACTIVE', 'UPDATING', 'FAILED'),
      version: fc.constant('1.34'),
      mode: mostly('auto', 'off'),
      updates: fc.oneof(
        { weight: 9, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: fc.array(updates, { maxLength: 2 }) },
      ),
    }),
    authorities: fc
      .record({
        signingStatus: mostly<'NOT_USED' | 'ACTIVATING' | 'IN_USE'>('NOT_USED', 'ACTIVATING', 'IN_USE'),
        distributionStatus: mostly<'COMPLETE' | 'IN_PROGRESS' | 'FAILED' | 'DELETING'>(
          'COMPLETE',
          'IN_PROGRESS',
          'FAILED',
          'DELETING',
        ),
        firstAutoActivation: mostly(NOW + 300 * DAY_MS, NOW + DAY_MS, NOW - DAY_MS),
      })
      .map((change) => [OUTGOING, { ...SUCCESSOR, ...change }]),
    groups,
    nodes,
    unread: mostly<ObservedNodeGroups['unread']>([], [{ kind: 'denied', object: 'o', message: 'm', remedy: 'r' }]),
  }),
  policy: fc
    .record({ nodeGroups: mostly(true, false), windows: mostly<readonly WeeklyWindow[]>([], [SATURDAY]) })
    .map(policy),
  history: fc
    .array(
      fc.record({
        id: fc.constantFrom('x', 'own'),
        cluster: fc.constantFrom('eu/dublin', 'berlin'),
        startedAt: fc.constantFrom(NOW - DAY_MS, NOW - 2 * HOUR_MS, NOW - 10 * MINUTE_MS),
        ended: fc.boolean(),
      }),
      { maxLength: 1 },
    )
    .map((all) =>
      history({
        rollouts: all.map(({ id, cluster: of, startedAt, ended }) =>
          past({ id: id === 'own' ? token() : id, cluster: of, startedAt, endedAt: ended ? NOW : undefined }),
        ),
      }),
    ),
  now: fc.integer({ min: 0, max: 7 * 24 }).map((hours) => NOW + hours * HOUR_MS),
});

describe('laws', () => {
  const holds = (law: (world: Required<Case>, step: NodeGroupStep) => void) =>
    fc.assert(
      fc.property(worlds, (world) => law(world, plan(world))),
      RUNS,
    );
  const ifActs = (law: (world: Required<Case>, step: Extract<NodeGroupStep, { kind: 'act' }>) => void) =>
    holds((world, step) => {
      if (step.kind === 'act') law(world, step);
    });

  it('never two node groups at once', () =>
    ifActs(({ observed: { cluster: of, groups: all } }) => {
      for (const { status, updates: theirs } of [...all, of]) {
        expect(['UPDATING', 'CREATING', 'DELETING']).not.toContain(status);
        expect(theirs.filter((update) => update.status === 'InProgress')).toEqual([]);
      }
    }));

  it('never without both opt-ins', () =>
    ifActs((world) => {
      expect(world.policy.nodeGroups).toBe(true);
      expect(world.observed.cluster.mode).toBe('auto');
    }));

  it('never forced, nor anything but the group', () =>
    ifActs((_, step) => {
      expect(Object.keys(step).toSorted()).toEqual([
        'asks',
        'checks',
        'clientRequestToken',
        'cluster',
        'deadline',
        'ended',
        'kind',
        'message',
        ...('nextWindow' in step ? ['nextWindow'] : []),
        'nodegroup',
        'state',
      ]);
    }));

  it('never outside of a window', () =>
    ifActs(({ policy: { windows }, now }) => {
      expect(windows.length === 0 || windows.some((window) => endOfWindow(window, now) !== undefined)).toBe(true);
    }));

  it('never after the activation, nor in the last days before', () =>
    ifActs(({ observed: { authorities }, now }) => {
      expect(authorities[1]?.signingStatus).toBe('NOT_USED');
      expect(now).toBeLessThanOrEqual((authorities[1]?.firstAutoActivation ?? 0) - 10 * DAY_MS);
    }));

  it('never twice for one successor', () =>
    ifActs(({ observed: { groups: all }, history: { rollouts } }, { nodegroup, clientRequestToken }) => {
      const since = all.filter(({ name }) => name === nodegroup).map(({ updates: theirs }) => theirs);
      expect(since).toHaveLength(1);
      expect(
        since[0]?.filter(({ type, createdAt }) => type === 'VersionUpdate' && createdAt >= APPENDED + HOUR_MS),
      ).toEqual([]);
      expect(
        rollouts.filter(
          ({ id, cluster: of, endedAt }) => id === clientRequestToken && of === 'eu/dublin' && endedAt !== undefined,
        ),
      ).toEqual([]);
    }));

  it('never beside another rollout of the fleet', () =>
    ifActs(({ history: { rollouts }, now }, { clientRequestToken, ended }) => {
      const others = rollouts.filter(
        ({ id, startedAt, endedAt }) =>
          id !== clientRequestToken && endedAt === undefined && now - startedAt < 6 * HOUR_MS && !ended.includes(id),
      );
      expect(others).toEqual([]);
    }));

  it('only for a node that is old, of a group whose image and launch template are of EKS', () =>
    ifActs(({ observed: { groups: all, nodes: theirs } }, { nodegroup }) => {
      expect(
        theirs.some(
          (each) =>
            each.nodegroup === nodegroup &&
            each.kind === 'managed' &&
            !each.deleting &&
            !(each.createdAt >= APPENDED + HOUR_MS),
        ),
      ).toBe(true);
      const updated = all.find(({ name }) => name === nodegroup);
      expect(updated).toMatchObject({ amiType: 'AL2023_x86_64_STANDARD', launchTemplate: undefined });
    }));

  it('the same token for a try that is repeated', () =>
    ifActs((world, step) => {
      const again = history({
        ...world.history,
        rollouts: [...world.history.rollouts, past({ id: step.clientRequestToken, startedAt: world.now })],
      });
      const next = plan({ ...world, history: again });
      expect(next).toMatchObject({
        kind: 'act',
        nodegroup: step.nodegroup,
        clientRequestToken: step.clientRequestToken,
      });
    }));

  it('a hold always says why and what to do', () =>
    holds((_, step) => {
      if (step.kind !== 'hold') return;
      expect(step.reasons.length).toBeGreaterThan(0);
      for (const { message, remedy } of step.reasons) expect(message.length * remedy.length).toBeGreaterThan(0);
    }));

  it('all kinds of steps are among these worlds', () => {
    const kinds = new Map<string, number>();
    holds((_, { kind }) => void kinds.set(kind, (kinds.get(kind) ?? 0) + 1));
    const rare = ['nothing', 'hold', 'ask', 'act'].filter((kind) => (kinds.get(kind) ?? 0) < RUNS.numRuns / 100);
    expect(rare).toEqual([]);
  });
});
