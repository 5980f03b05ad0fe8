import type { RolloutOptions, RolloutPorts, RolloutSubject } from '../../../bin/commands/rollout/commands.ts';
import type { KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import type { ObservedRollout } from '../../../lambdas/rollout/observed.ts';
import type { RolloutProgress } from '../../../lambdas/rollout/progress.ts';
import type { RolloutCheck, RolloutStep } from '../../../lambdas/rollout/step.ts';
import type { RolloutStepped } from '../../../lambdas/rollout/step-rollout.ts';
import { controlPlane, DAY, HOUR, healthyRollout, MINUTE, NOW, policy, served } from '../rollout/fixtures.ts';
import { recordedIo } from './io.ts';

const management: KubernetesClient = {
  server: 'https://10.0.1.10:6443',
  stats: { requests: 0, writes: 0, retries: 0, throttled: 0, bytes: 0 },
  close: () => {},
  request: () => Promise.reject(new Error('these tests ask no server')),
};

export const SUBJECT: RolloutSubject = {
  target: {
    id: 'berlin-prod',
    name: 'berlin-prod',
    management,
    managesItself: false,
    server: { context: 'admin', address: '10.0.1.10:6443' },
    close: () => {},
  },
  policy: policy(),
  waivers: [],
  ofFleet: true,
};

export const MARK = {
  id: 'r-berlin-prod-1',
  start: '2026-11-28T02:29:55Z',
  reason: 'certificates end',
  trigger: 'person',
} as const;

const PASSED: readonly RolloutCheck[] = [
  { id: 'everything-read', passed: true, found: 'all of it' },
  { id: 'due', passed: true, found: '40 days before the end' },
  { id: 'etcd-healthy', passed: true, found: 'EtcdClusterHealthy is True' },
];
const FACTS = { soonestEnd: NOW + 40 * DAY, span: { from: NOW - 5 * DAY, until: NOW + 30 * DAY } };

export const UNHEALTHY: RolloutCheck = {
  id: 'health-checks',
  passed: false,
  object: 'MachineHealthCheck eksa-system/berlin-prod-kcp-unhealthy',
  found: '2 of 3 machines healthy',
  remedy: 'Run certmarshal audit, and see what is wrong with the machine',
};
export const NO_CAPACITY: RolloutCheck = {
  id: 'spare-capacity',
  passed: false,
  found: 'nobody vouches for it',
  remedy: 'Add spare-capacity to accepted',
};
export const CLOSED: RolloutCheck = {
  id: 'maintenance-window',
  passed: false,
  passing: true,
  found: 'opens in 3 hours',
};

/** A step before anything began, with these checks in the way. */
export function refused(...checks: readonly RolloutCheck[]): RolloutStep {
  return {
    kind: 'hold',
    state: 'refused',
    message: `a rollout of 3 control plane machines is refused: ${checks.length} of ${checks.length + 3} checks fail`,
    checks: [...PASSED, ...checks],
    reasons: checks.map(({ id, found }) => ({ id, message: found, remedy: 'Mend it' })),
    ...FACTS,
  };
}

/** The one write that begins it. */
export function ready(...waived: readonly RolloutCheck[]): RolloutStep {
  return {
    kind: 'act',
    state: 'ready',
    message: 'would roll 3 control plane machines, 40 days before their certificates expire',
    checks: [...PASSED, ...waived.map((check) => ({ ...check, waived: true as const }))],
    mark: MARK,
    write: { kind: 'roll-control-plane', object: controlPlane(), mark: MARK },
    ...FACTS,
  };
}

/** A rollout of three machines, the first `verified` of which are done. */
export function rolling(verified: number, state: 'rolling' | 'verifying' | 'done' = 'rolling'): RolloutStep {
  return {
    kind: 'nothing',
    state,
    message: `${state}: ${verified} of 3 control plane machines replaced`,
    checks: [],
    mark: MARK,
    progress: progress(verified),
    ...FACTS,
  };
}

export function held(): RolloutStep {
  return {
    kind: 'hold',
    state: 'held',
    message: 'held: no machine was made for 45 minutes',
    checks: [],
    reasons: [
      { id: 'stuck', object: 'Machine eksa-system/berlin-prod-4', message: 'in Provisioning', remedy: 'Look at it' },
    ],
    mark: MARK,
    progress: progress(0),
    ...FACTS,
  };
}

function progress(verified: number): RolloutProgress {
  const machines = [1, 2, 3].map((number) =>
    number <= verified
      ? {
          name: `berlin-prod-${number + 3}`,
          node: `node-${number + 3}`,
          state: 'verified' as const,
          createdAt: NOW - number * MINUTE,
          served: served({ notBefore: NOW - HOUR, notAfter: NOW + 365 * DAY }),
          unhealthy: [],
        }
      : {
          name: `berlin-prod-${number}`,
          node: `node-${number}`,
          state: 'old' as const,
          createdAt: NOW - 325 * DAY,
          served: served(),
          unhealthy: [],
        },
  );
  return { wanted: 3, replaced: verified, verified, machines, movedAt: NOW - 3 * MINUTE };
}

export interface Script {
  readonly observed?: ObservedRollout;
  readonly schedule?: RolloutStep;
  readonly person?: RolloutStep;
  readonly stepped?: Partial<RolloutStepped>;
  readonly columns?: number;
}

/** Ports of a command that reads what is in a script, and what it did with them. */
export function scripted({
  observed = healthyRollout(),
  schedule = refused(UNHEALTHY),
  person = refused(UNHEALTHY),
  stepped,
  columns,
}: Script = {}) {
  const io = recordedIo({ now: NOW, columns });
  const done = { steps: [] as string[], acts: [] as string[] };
  const ports: RolloutPorts = {
    ...io,
    observe: async () => observed,
    plan: (_observed, _policy, _history, _now, trigger) => (trigger === 'person' ? person : schedule),
    step: async (_target, { trigger }) => {
      done.steps.push(trigger);
      return {
        observed: healthyRollout(),
        step: person,
        problems: [],
        at: new Date(NOW).toISOString(),
        ...stepped,
      };
    },
    act: async (write, { cluster }) => {
      done.acts.push(`${write.kind} ${cluster}`);
      return { kind: 'written' };
    },
  };
  return { ports, done, stdout: io.stdout, stderr: io.stderr };
}

export const OPTIONS: RolloutOptions = { output: 'table', program: 'certmarshal', repeat: ' --kubeconfig berlin.yaml' };
