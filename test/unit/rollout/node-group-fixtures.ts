import type {
  ObservedAuthority,
  ObservedEksNode,
  ObservedNodeGroup,
  ObservedUpdate,
} from '../../../lambdas/resources/eks.ts';
import type { RolloutHistory } from '../../../lambdas/rollout/history.ts';
import type { ObservedNodeGroups } from '../../../lambdas/rollout/observed-node-groups.ts';
import { DEFAULT_ROLLOUT_POLICY, type RolloutPolicy } from '../../../lambdas/rollout/policy.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
/** A Sunday. */
export const NOW = Date.UTC(2026, 10, 22, 12);
export const APPENDED = Date.UTC(2026, 9, 1);
export const OLD = APPENDED - 100 * DAY_MS;
export const NEW = APPENDED + 2 * DAY_MS;

export const OUTGOING: ObservedAuthority = {
  id: 'ca-1',
  createdAt: Date.UTC(2018, 5, 5),
  signingStatus: 'IN_USE',
  distributionStatus: 'COMPLETE',
};
export const SUCCESSOR: ObservedAuthority = {
  id: 'ca-2',
  createdAt: APPENDED,
  signingStatus: 'NOT_USED',
  distributionStatus: 'COMPLETE',
  firstAutoActivation: Date.UTC(2027, 11, 5),
  finalAutoActivation: Date.UTC(2028, 0, 19),
};

export const policy = (change: Partial<RolloutPolicy> = {}): RolloutPolicy => ({
  ...DEFAULT_ROLLOUT_POLICY,
  clusters: ['dublin'],
  nodeGroups: true,
  ...change,
});

export const group = (name: string, change: Partial<ObservedNodeGroup> = {}): ObservedNodeGroup => ({
  name,
  createdAt: OLD,
  status: 'ACTIVE',
  issues: [],
  version: '1.34',
  releaseVersion: '1.34.1-20260901',
  amiType: 'AL2023_x86_64_STANDARD',
  updates: [],
  ...change,
});

export const node = (name: string, nodegroup: string, change: Partial<ObservedEksNode> = {}): ObservedEksNode => ({
  name,
  createdAt: OLD,
  deleting: false,
  kind: 'managed',
  nodegroup,
  ...change,
});

export const version = (change: Partial<ObservedUpdate> = {}): ObservedUpdate => ({
  id: 'd1c0ffee-0000-4000-8000-000000000000',
  status: 'Successful',
  type: 'VersionUpdate',
  createdAt: NOW - 2 * HOUR_MS,
  errors: [],
  ...change,
});

/** Opted in, with a successor, and two groups of two nodes: those of blue are old. */
export const observed = (change: Partial<ObservedNodeGroups> = {}): ObservedNodeGroups => ({
  cluster: {
    id: 'eu/dublin',
    name: 'dublin',
    account: '111122223333',
    region: 'eu-west-1',
    status: 'ACTIVE',
    version: '1.34',
    mode: 'auto',
    updates: [],
  },
  authorities: [OUTGOING, SUCCESSOR],
  groups: [group('blue'), group('green')],
  nodes: [
    node('ip-10-0-0-1', 'blue'),
    node('ip-10-0-0-2', 'blue'),
    node('ip-10-0-0-3', 'green', { createdAt: NEW }),
    node('ip-10-0-0-4', 'green', { createdAt: NEW }),
  ],
  unread: [],
  ...change,
});

export const history = (change: Partial<RolloutHistory> = {}): RolloutHistory => ({
  rollouts: [],
  limits: { atOnce: 1, pauseMs: HOUR_MS },
  ...change,
});
