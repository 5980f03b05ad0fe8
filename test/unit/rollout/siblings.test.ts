import { describe, expect, it } from 'vitest';
import { formatRolloutMark } from '../../../lambdas/contracts/rollout-mark.ts';
import { planRollout } from '../../../lambdas/rollout/plan.ts';
import { markOf } from '../../../lambdas/rollout/rollout-mark.ts';
import { seenControlPlane, siblingMachine, siblingOf } from '../../../lambdas/rollout/siblings.ts';
import { DAY, days, healthyRollout, history, NAME, NOW, policy, rawControlPlane, rawMachine } from './fixtures.ts';

type Fields = Record<string, unknown>;

function readSibling(object: unknown, version: 'v1beta1' | 'v1beta2', machines: readonly unknown[], agreed = false) {
  const seen = seenControlPlane(object, version);
  return seen && siblingOf(seen, machines.map(siblingMachine), agreed);
}

/** A deep copy in which the field at the path is another one; undefined takes it away. */
function set(object: Fields, path: string, value: unknown): Fields {
  const copy = structuredClone(object);
  const keys = path.split('>');
  const parent = keys.slice(0, -1).reduce((at, key) => (at[key] ??= {}) as Fields, copy);
  const last = keys.at(-1) ?? '';
  if (value === undefined) delete parent[last];
  else parent[last] = value;
  return copy;
}
const ANNOTATIONS = 'metadata>annotations';

/** A KubeadmControlPlane of v1beta2 that is well, of someone else, with a value of Cluster API's own annotation. Source: Cluster API, `PausedAnnotation`. */
const pausedWith = (value: string | undefined) => ({
  metadata: {
    namespace: 'tenant-x',
    name: 'theirs',
    uid: 'u',
    resourceVersion: '1',
    generation: 1,
    labels: { 'cluster.x-k8s.io/cluster-name': 'theirs' },
    annotations: value === undefined ? {} : { 'cluster.x-k8s.io/paused': value },
  },
  spec: { replicas: 1, version: 'v1.33.0' },
  status: {
    observedGeneration: 1,
    replicas: 1,
    readyReplicas: 1,
    availableReplicas: 1,
    upToDateReplicas: 1,
    conditions: ['RollingOut', 'ScalingUp', 'ScalingDown', 'Remediating', 'Deleting'].map((type) => ({
      type,
      status: 'False',
    })),
  },
});
const MACHINES = [
  { metadata: { name: 'm', creationTimestamp: '2026-01-01T00:00:00Z' }, status: { nodeRef: { name: 'n' } } },
];

describe('a cluster of the same management cluster that somebody paused', () => {
  it.each([
    undefined,
    '',
    'true',
    'certmarshal',
    'certmarshal/x',
    'certmarshal-x',
    'CERTMARSHAL-ROLLOUT/x',
    'x/certmarshal-rollout/x',
  ])('keeps no other from rolling: %j', (value) => {
    const sibling = readSibling(pausedWith(value), 'v1beta2', MACHINES);
    if (sibling === undefined) throw new Error('not read');
    for (const trigger of ['schedule', 'person'] as const) {
      const step = planRollout({ ...healthyRollout(), siblings: [sibling] }, policy(), history(), NOW, trigger);
      expect(step.checks.filter(({ passed }) => !passed)).toEqual([]);
      expect(step).toMatchObject({ write: { kind: 'roll-control-plane' } });
    }
  });
});

describe('another control plane of the same management cluster', () => {
  const machines = [1, 2, 3].map((number) => rawMachine(number));
  const settled = {
    namespace: 'eksa-system',
    cluster: NAME,
    rolling: false,
    optedIn: false,
    soonestEnd: NOW + 40 * DAY,
  };

  it('is settled', () => {
    expect(readSibling(rawControlPlane(), 'v1beta2', machines)).toEqual(settled);
    expect(readSibling(rawControlPlane('v1beta1', true), 'v1beta1', machines, true)).toEqual({
      ...settled,
      optedIn: true,
    });
    const expiry = 'status>certificatesExpiryDate';
    const sooner = [set(rawMachine(1), expiry, days(30)), rawMachine(2), set(rawMachine(3), expiry, undefined)];
    expect(readSibling(rawControlPlane(), 'v1beta2', sooner)?.soonestEnd).toBe(NOW + 30 * DAY);
    const done = set(rawControlPlane(), 'spec>rollout>after', days(-325));
    expect(readSibling(done, 'v1beta2', machines)).toEqual(settled);
  });

  it.each([
    ['its label', 'milan-prod', 'milan-prod'],
    ['its own name where the label is empty', '', NAME],
    ['its own name where it has no label', undefined, NAME],
  ])('is named by %s', (_, label, cluster) => {
    const raw = set(rawControlPlane(), 'metadata>labels>cluster.x-k8s.io/cluster-name', label);
    expect(readSibling(raw, 'v1beta2', machines)).toEqual({ ...settled, cluster });
  });

  it.each([
    ['machines older than rollout.after', set(rawControlPlane(), 'spec>rollout>after', days(-1))],
    ['one machine too many', set(rawControlPlane(), 'spec>replicas', 2)],
    ['RollingOut', set(rawControlPlane(), 'status>conditions', [{ type: 'RollingOut', status: 'True' }])],
    ['no uid', set(rawControlPlane(), 'metadata>uid', undefined)],
  ])('rolls: %s', (_, raw) => {
    expect(readSibling(raw, 'v1beta2', machines)?.rolling).toBe(true);
  });

  it.each([
    ['a hold', { 'certmarshal.dev/rollout-hold': 'x' }],
    ['a mark', { 'certmarshal.dev/rollout': formatRolloutMark(markOf('mine', NOW, 'x', 'person')) }],
    ['a mark that nobody can read', { 'certmarshal.dev/rollout': 'x' }],
    ['our pause', { 'cluster.x-k8s.io/paused': 'certmarshal-rollout/a' }],
  ])('is settled, whatever its owner writes: %s', (_, annotations) => {
    expect(readSibling(set(rawControlPlane(), ANNOTATIONS, annotations), 'v1beta2', machines)).toEqual(settled);
  });

  it.each([
    ['that goes', 'metadata>deletionTimestamp', days(0)],
    ['without a Node', 'status>nodeRef', undefined],
  ])('rolls: a machine %s', (_, path, value) => {
    const changed = [set(rawMachine(1), path, value), rawMachine(2), rawMachine(3)];
    expect(readSibling(rawControlPlane(), 'v1beta2', changed)?.rolling).toBe(true);
  });
});

it('keeps nothing that a stranger may fill', () => {
  const large = 'x'.repeat(100_000);
  const raw = rawControlPlane();
  const filled = {
    metadata: {
      ...Object(raw['metadata']),
      finalizers: [large],
      managedFields: [large],
      ownerReferences: [large],
      annotations: { mine: large, 'certmarshal.dev/rollout': large },
      labels: { mine: large },
    },
    spec: { ...Object(raw['spec']), machineTemplate: large, mine: large, kubeadmConfigSpec: { files: [large] } },
    status: {
      failureMessage: large,
      conditions: Array.from({ length: 1000 }, () => ({ type: large, message: large })),
    },
  };
  expect(seenControlPlane(filled, 'v1beta2')?.read).toBeDefined();
  expect(JSON.stringify(seenControlPlane(filled, 'v1beta2')).length).toBeLessThan(16_384);
  expect(JSON.stringify(siblingMachine(filled)).length).toBeLessThan(1024);
  expect(siblingMachine({}).node).toBeUndefined();
  for (const none of [undefined, null, 'text', [], { metadata: 1, spec: null, status: [] }])
    expect(seenControlPlane(none, 'v1beta2')).toBeUndefined();
});
