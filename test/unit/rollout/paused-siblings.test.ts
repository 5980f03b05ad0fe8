import { describe, expect, it } from 'vitest';
import { planRollout } from '../../../lambdas/rollout/plan.ts';
import { readSibling } from '../../../lambdas/rollout/read-sibling.ts';
import { healthyRollout, history, NOW, policy } from './fixtures.ts';

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
const MACHINES = [{ metadata: { creationTimestamp: '2026-01-01T00:00:00Z' }, status: { nodeRef: { name: 'n' } } }];

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
