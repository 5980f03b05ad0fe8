import { expect, it } from 'vitest';
import { progressOf } from '../../../lambdas/rollout/progress.ts';
import { troublesOf } from '../../../lambdas/rollout/watch.ts';
import { controlPlane, DAY, healthyRollout, NOW } from './fixtures.ts';

it('a control plane that is to have no machine is stuck, and does not wait for new certificates', () => {
  const observed = healthyRollout({ machines: [], controlPlane: controlPlane({ replicas: 0 }) });
  const since = NOW - 2 * DAY;
  const troubles = troublesOf(observed, { since, progress: progressOf(observed, since, NOW) }, NOW);
  expect(troubles.map(({ id }) => id)).toEqual(['stuck']);
});
