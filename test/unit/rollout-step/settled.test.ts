import { describe, expect, it } from 'vitest';
import type { ObservedRollout } from '../../../lambdas/rollout/observed.ts';
import { isSettled } from '../../../lambdas/rollout-step/settled.ts';
import { controlPlane, controlPlaneConditions, healthyRollout, machine } from '../rollout/fixtures.ts';

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
