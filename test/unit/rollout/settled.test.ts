import { describe, expect, it } from 'vitest';
import type { ObservedRollout } from '../../../lambdas/rollout/observed.ts';
import { markOf } from '../../../lambdas/rollout/rollout-mark.ts';
import { endsSettled, isSettled } from '../../../lambdas/rollout/settled.ts';
import type { RolloutWrite } from '../../../lambdas/rollout/step.ts';
import {
  CLUSTER_ID,
  CONTROL_PLANE_UID,
  controlPlane,
  controlPlaneConditions,
  healthyRollout,
  machine,
  NAME,
  NAMESPACE,
  NOW,
} from './fixtures.ts';

const others = [machine(1), machine(2)];
const rollingOut = (status: 'Unknown' | 'True' | 'Missing') =>
  controlPlane({ conditions: controlPlaneConditions({ RollingOut: { status } }) });
const { node: _node, ...booting } = machine(3);
const { controlPlane: _controlPlane, ...without } = healthyRollout();

describe('a control plane at which nothing moves', () => {
  it.each<[string, ObservedRollout]>([
    ['is one that is well', healthyRollout()],
    ['is one of a version that does not say whether it rolls', healthyRollout({ controlPlane: rollingOut('Missing') })],
  ])('%s', (_, observed) => {
    expect(isSettled(observed)).toBe(true);
  });

  it.each<[string, ObservedRollout]>([
    ['rolls', healthyRollout({ controlPlane: rollingOut('True') })],
    ['may roll', healthyRollout({ controlPlane: rollingOut('Unknown') })],
    ['was changed a moment ago', healthyRollout({ controlPlane: controlPlane({ generation: 5 }) })],
    ['counts a machine too many', healthyRollout({ controlPlane: controlPlane({ status: { replicas: 4 } }) })],
    ['has a machine too few', healthyRollout({ machines: others })],
    ['has a machine that goes', healthyRollout({ machines: [...others, machine(3, { deleting: true })] })],
    ['has a machine without a Node', healthyRollout({ machines: [...others, booting] })],
    ['cannot be read', without],
  ])('is none that %s', (_, observed) => {
    expect(isSettled(observed)).toBe(false);
  });
});

const object = {
  apiVersion: 'v1beta2',
  namespace: NAMESPACE,
  name: NAME,
  uid: CONTROL_PLANE_UID,
  resourceVersion: '812345',
} as const;
const mark = markOf(CLUSTER_ID, NOW, 'certificates end soon', 'schedule');
const abort = { kind: 'abort', object, mark, clearAfter: true, unpause: false, unhold: false } as const;

it.each<[string, RolloutWrite, boolean]>([
  ['an abort leaves a control plane settled at which nothing moves', abort, true],
  ['an abort that ends a pause leaves none settled: it may roll then', { ...abort, unpause: true }, false],
  ['another write leaves none settled', { kind: 'unpause-control-plane', object, mark }, false],
])('%s', (_, write, settled) => {
  expect(endsSettled(write, healthyRollout())).toBe(settled);
});
